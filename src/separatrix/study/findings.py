"""What a study found that its reader should know before trusting it: warnings with codes.

They are about results, where :mod:`separatrix.study.checks` is about the table before the fit. Each
asks for more than chance gives: ordinary tables, pure noise among them, raise none.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from separatrix.arrays import Floats
from separatrix.formatting import (
    ScoreInfo,
    join_words,
    number,
    plural,
    score_info,
    score_text,
)
from separatrix.messages import warn
from separatrix.rows.schema import unit_weights
from separatrix.study.candidates import BASELINE, display_name
from separatrix.study.comparison import EXACT_SHARE
from separatrix.study.design import with_warnings
from separatrix.study.measure import average, standard_error
from separatrix.study.result import Entry, Predictions, Score, Study

#: Test rows below which an interval is too wide to compare models by.
FEW_TEST_ROWS = 30
#: Standard errors by which a reversed coefficient, and the correlation that it contradicts, differ
#: from zero; of many columns some would by two alone.
REVERSED = 3.0
#: Names that a warning lists.
NAMED = 4


def warnings_about(study: Study) -> tuple[str, ...]:
    """The warnings on the results of a finished study."""
    return with_warnings(lambda: _warn(study))[1]


def _warn(study: Study) -> None:
    _warn_few(study)
    if study.winner == BASELINE:
        return
    _warn_no_better(study)
    _warn_overfit(study)
    _warn_low_recall(study)
    _warn_inflated(study)
    _warn_uneven(study)
    _warn_reversed(study)


def _warn_few(study: Study) -> None:
    if study.n_test < FEW_TEST_ROWS:
        warn(
            "SEP022",
            f"the test set has {plural(study.n_test, 'row')}: its scores say little about new "
            "rows, and the cross-validated ones say more.",
        )


def _warn_no_better(study: Study) -> None:
    score, base = main_scores(study) or (None, None)
    if score is None or base is None:
        return
    values = (
        f"{score_text(score.value, score.metric)} against {score_text(base.value, base.metric)}"
    )
    shown = f"{score_info(score.metric).short} on {plural(study.n_test, 'test row')}: {values}"
    name = display_name(study.winner)
    if is_worse(score, base):
        warn("SEP023", f"{name} is worse than the baseline, which uses no column ({shown}).")
    elif may_be_chance(study, score, base):
        warn("SEP023", f"{name} is not shown to be better than the baseline ({shown}).")
    elif (pair := _log_losses(study)) and is_worse(*pair):
        own, plain = (score_text(score.value, score.metric) for score in pair)
        warn(
            "SEP023",
            f"{name} decides better than the baseline ({shown}), and its probabilities are worse: "
            f"log loss {own} against {plain}. Use its decisions alone.",
        )


def _log_losses(study: Study) -> tuple[Score, Score] | None:
    """Those of the winner and of the baseline, where both have probabilities."""
    own, base = score_in(study, score_info("log_loss")), counterpart(study, "log_loss")
    return None if own is None or base is None else (own, base)


def _warn_overfit(study: Study) -> None:
    curve = study.learning_curve
    base = next((entry for entry in study.leaderboard if entry.name == BASELINE), None)
    if curve is None or base is None or score_info(curve.metric).higher_is_better:
        return
    train, validation = curve.train[-1], curve.validation[-1]
    error, beyond = float(train.mean()), float(validation.mean())
    scale = next(
        (s.mean for s in (base, base.secondary) if s is not None and s.metric == curve.metric),
        beyond,
    )
    exact = error < EXACT_SHARE * beyond  # SEP021
    # A training error below this share of the validation error, which is that of a least-squares
    # fit with three coefficients for five rows.
    # The gap between the two counts from this share of the baseline's error on.
    far = error < 0.5 * beyond and beyond - error > 0.1 * scale
    if far and not exact and (validation > train).all():
        warn(
            "SEP024",
            f"{display_name(study.winner)} has {score_info(curve.metric).description} of "
            f"{score_text(error, curve.metric)} on its training rows and of "
            f"{score_text(beyond, curve.metric)} on rows left out.",
        )


def _warn_low_recall(study: Study) -> None:
    for one in study.class_scores:
        found = one.recall
        # A class is rarely found if the interval of its recall is below this.
        if found.value > 0.0 and found.high < 0.5:
            warn(
                "SEP027",
                f"of {number(one.support)} test rows of class {one.label!r} "
                f"{score_text(found.value, 'recall')} were found (95 % interval "
                f"{score_text(found.low, 'recall')} to {score_text(found.high, 'recall')}).",
            )


def _warn_inflated(study: Study) -> None:
    """Of columns alone: powers and products are collinear by construction."""
    model = study.description.inference
    if model is None or model.variance_inflation is None or study.description.name != LINEAR:
        return
    factors = np.nan_to_num(model.variance_inflation)
    # Variance inflation above which collinearity is usually called severe.
    high = [j for j in np.argsort(-factors, kind="stable") if factors[j] > 10.0]
    if high:
        named = join_words([f"{model.names[j]} ({number(factors[j], 3)})" for j in high[:NAMED]])
        more = f" and {len(high) - NAMED} more" if len(high) > NAMED else ""
        warn("SEP025", f"variance inflation factors above 10: {named}{more}.")


#: The models whose summary assumes constant variance, and whose terms are columns.
LINEAR = "LinearRegression"


def _warn_uneven(study: Study) -> None:
    """Koenker's form of the test of Breusch and Pagan, along the predictions."""
    rows = study.training
    if study.task != "regression" or study.description.name != LINEAR or rows is None:
        return
    if rows.predicted is None or rows.leverage is None:
        return
    fitted, leverage = np.asarray(rows.predicted, dtype=float), np.asarray(rows.leverage)
    usable = np.isfinite(fitted) & (leverage < 1.0 - 1e-9)
    residuals = (np.asarray(rows.y, dtype=float) - fitted)[usable] / np.sqrt(1.0 - leverage[usable])
    fitted = fitted[usable]
    if len(fitted) < FEW_TEST_ROWS or not np.ptp(fitted) or not np.ptp(residuals):
        return
    squares = residuals**2
    statistic = len(fitted) * float(np.corrcoef(fitted, squares)[0, 1]) ** 2
    low, high = _spread_at_the_ends(fitted, np.abs(residuals))
    ratio = max(low, high) / max(min(low, high), np.finfo(float).tiny)
    # The spread of residuals grows if chance alone would show it so once in a thousand tables, and
    # by this factor from the third with the smallest predictions to that with the largest.
    if stats.chi2.sf(statistic, 1) < 1e-3 and ratio > 1.5:
        way = "grows" if high > low else "falls"
        warn(
            "SEP026",
            f"the spread of the residuals {way} with the predictions, by a factor of "
            f"{number(ratio, 2)} from their lowest to their highest third. Standard errors are "
            'wrong then; `summary(covariance="HC3")` has robust ones.',
        )


def _spread_at_the_ends(fitted: Floats, sizes: Floats) -> tuple[float, float]:
    """Mean absolute residuals of the rows with the lowest and with the highest predictions."""
    order = np.argsort(fitted, kind="stable")
    third = len(order) // 3
    return float(sizes[order[:third]].mean()), float(sizes[order[-third:]].mean())


def _warn_reversed(study: Study) -> None:
    """Coefficients whose sign is not that of the correlation of their column with the target."""
    model, r = study.description.inference, study.correlations
    if model is None or model.t_values is None or r is None or study.target not in r.columns:
        return
    at = {name: j for j, name in enumerate(r.columns)}
    target, reversed_terms = at[study.target], []
    for name, t in zip(model.names, model.t_values, strict=True):
        own = float(r.matrix[at[name], target]) if name in at else 0.0
        sure = abs(t) > REVERSED and abs(own) * math.sqrt(r.n_rows) > REVERSED
        if not sure or t * own > 0.0:
            continue
        others = [
            (abs(r.matrix[at[name], j]), o) for o, j in at.items() if o not in (name, study.target)
        ]
        size, other = max(others, default=(0.0, ""))
        beside = (
            f", collinear with {other}, r = {r.matrix[at[name], at[other]]:.2f}"
            if size > 0.5
            else ""
        )
        reversed_terms.append(
            f"{name} (its own correlation with {study.target} is {own:.2f}{beside})"
        )
    if reversed_terms:
        more = f" and {len(reversed_terms) - NAMED} more" if len(reversed_terms) > NAMED else ""
        warn(
            "SEP028", f"coefficients of reversed sign: {join_words(reversed_terms[:NAMED])}{more}."
        )


# -------------------------------------------------------------------------------------------------
# The test score that counts, and whether it differs from the baseline's by more than chance.


def winner_of(study: Study) -> Entry | None:
    """The leaderboard's line of the chosen model."""
    return next((e for e in study.leaderboard if e.name == study.winner), None)


def is_baseline(name: str) -> bool:
    """Whether a candidate is the baseline, which uses no column."""
    return name == BASELINE


def is_worse(score: Score, base: Score) -> bool:
    """Whether the baseline has the better score."""
    if score_info(score.metric).higher_is_better:
        return score.value < base.value
    return score.value > base.value


def main_scores(study: Study) -> tuple[Score, Score | None] | None:
    """The headline test score, and the baseline's: the error rate, or the leaderboard's metric."""
    if not study.test:
        return None
    wanted = score_info("error")
    if study.task != "classification":
        entry = winner_of(study)
        wanted = score_info(entry.metric if entry else study.test[0].metric)
    score = score_in(study, wanted) or chosen_by(study) or study.test[0]
    return score, counterpart(study, score.metric)


def score_in(study: Study, wanted: ScoreInfo) -> Score | None:
    """The test score in one measure."""
    return next((s for s in study.test if score_info(s.metric) == wanted), None)


def chosen_by(study: Study) -> Score | None:
    """The test score in the measure that the leaderboard goes by."""
    entry = winner_of(study)
    return None if entry is None else score_in(study, score_info(entry.metric))


def counterpart(study: Study, metric: str) -> Score | None:
    """The baseline's score in the same measure."""
    return next(
        (s for s in study.baseline_test if score_info(s.metric) == score_info(metric)), None
    )


def may_be_chance(study: Study, score: Score, base: Score) -> bool:
    """Whether the test set leaves open which is better; by rows where they can be paired.

    The baseline predicts one class for every row, so that its errors are known. R² compares with
    the mean of the test set, which is at least as good as the baseline.
    """
    if score.metric == "error" and study.test_predictions is not None:
        paired = _paired_errors(study, study.test_predictions, base)
        if paired is not None:
            gain, error = paired
            return gain <= 2.0 * error
    r2 = score_in(study, score_info("r2"))
    if r2 is not None and math.isfinite(r2.low):
        return r2.low <= 0.0
    return _overlap(score, base)


def _paired_errors(study: Study, test: Predictions, base: Score) -> tuple[float, float] | None:
    """Mean and standard error of the baseline's errors minus the model's, row by row."""
    truth = np.asarray(test.truth).astype(str)
    w = unit_weights(test.w, len(truth))
    called = np.asarray(test.predicted).astype(str)
    if study.decision is not None and test.probabilities is not None:
        called = np.asarray(study.classes)[test.probabilities.argmax(axis=1)]
    for label in study.classes:
        errors = (truth != label).astype(float)
        if math.isclose(average(errors, w), base.value, abs_tol=1e-9):
            gain = errors - (truth != called)
            return average(gain, w), standard_error(gain, w)
    return None


def _overlap(score: Score, base: Score) -> bool:
    ends = (score.low, score.high, base.low, base.high)
    return all(map(math.isfinite, ends)) and score.low <= base.high and base.low <= score.high

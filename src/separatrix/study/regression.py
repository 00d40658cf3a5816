"""A study of a numeric target from its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.estimators.averages import AveragedRegressor
from separatrix.linear.ridge import RidgePath
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Kind, unit_weights
from separatrix.selection.averaging import Average, squared_error_average
from separatrix.statistics.moments import Grouped, Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred, measure, result, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.comparison import (
    CandidateLosses,
    RowComparison,
    Scored,
    cross_validate,
    mute_warnings,
    score_candidates,
)
from separatrix.study.describe import describe
from separatrix.study.description import RegularizationPath
from separatrix.study.design import (
    MIN_TEST_ROWS,
    MIN_TRAINING_ROWS,
    SHOWN_ROWS,
    Metadata,
    MomentFolds,
    RowFolds,
    StudyDesign,
    mse,
    thin,
    too_small,
    truth_of,
    with_warnings,
)
from separatrix.study.explanation import display_of, with_features
from separatrix.study.options import StudyOptions
from separatrix.study.out_of_fold import (
    ComparedRows,
    ModelSelection,
    OutOfFold,
    Winner,
    predictive_for,
)
from separatrix.study.progress import Step, stages, tell_compared, tell_inferred
from separatrix.study.tasks import REGRESSION

METRIC = "rmse"
#: Winners beside whose coefficients the path of ridge is drawn; those with a penalty have their
#: own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


class RegressionSelection(ModelSelection):
    """Regression models, compared by losses of numbers."""

    task, curve = REGRESSION, METRIC

    @property
    def metrics(self) -> tuple[str, str]:
        """The metric that decides, and the other."""
        return self.metric, "mae" if self.metric in ("rmse", "r2") else "rmse"

    def moments(self, design: StudyDesign) -> MomentFolds | None:
        """Moments by fold, from one pass over the rows.

        None where imputation by regression needs the rows again, where columns outnumber rows, or
        where folds are predicted from earlier ones alone.
        """
        table, folds = design.table, design.folds
        if folds.ordered or table.schema.missing == "regress" or folds.design is not table:
            return None
        split = table.with_parts(folds.labels)
        return MomentFolds.of(split.schema, split.reduce(Grouped(Moments())))

    def losses(self, out_of_fold: OutOfFold) -> CandidateLosses:
        """Losses of predictions by both metrics."""
        values = {
            metric: measure.row_losses(
                metric, out_of_fold.truth, out_of_fold.predicted, out_of_fold.w
            )
            for metric in self.metrics
        }
        return CandidateLosses(out_of_fold.rows, out_of_fold.fold, out_of_fold.w, values)

    def weigh(self, out_of_fold: OutOfFold) -> Sequence[Callable[[Floats, Ints], Average]]:
        """The weights of least squared error."""
        y, w = out_of_fold.truth, out_of_fold.w
        return [lambda known, rows: squared_error_average(known[:, rows].T, y[rows], w[rows])]

    def fitted(self, compared: ComparedRows, name: str) -> tuple[Any, Any]:
        """A penalty is tuned on the folds of the comparison; the others get the rows.

        Rows have more digits than moments, and residuals and leverage.
        """
        candidate, tuning = compared.design.named(name), compared.predictions[name].tuning
        if compared.moments is not None and candidate.from_moments and candidate.tuned:
            model = compared.moments.fit(candidate)
        else:
            model = compared.design.folds.fit(candidate, tuning)
        return model, model

    def average(self, models: Sequence[Any], folds: int, pool: str) -> AveragedRegressor:  # noqa: ARG002
        """An unfitted average of models."""
        return AveragedRegressor(models, cv=folds)

    def predict(self, winner: Winner, rows: InMemory) -> result.Predictions:
        """Predictions, with the ends of intervals where there are distributions."""
        predictive = predictive_for(winner.model, rows)
        intervals = None if predictive is None else predictive.interval(self.options.level)
        truth, predicted = truth_of(rows), winner.model.predict(rows)
        return result.Predictions(
            rows.row_ids, truth, predicted, None, rows.block.w, intervals=intervals
        )

    def judge(self, predictions: result.Predictions) -> Floats:
        """Losses of answers to other rows."""
        w = unit_weights(predictions.w, len(predictions.truth))
        return measure.row_losses(self.metric, predictions.truth, predictions.predicted, w)

    def record(
        self, design: StudyDesign, winner: Winner, test: result.Predictions
    ) -> dict[str, Any]:
        """Scores, predictive distributions, and the path of ridge beside coefficients."""
        folds, model, name = design.folds, winner.model, winner.name
        baseline, _ = with_warnings(lambda: folds.fit(design.baseline))
        rows = folds.table.take(folds.test)
        other = result.Predictions(rows.row_ids, test.truth, baseline.predict(rows), None, test.w)
        out_of_fold, seed = winner.out_of_fold, design.parts.seed
        without = name in WITHOUT_PENALTY
        return {
            "test": measure.regression_scores(test.truth, test.predicted, test.w, seed),
            "baseline_test": measure.regression_scores(other.truth, other.predicted, other.w, seed),
            "ridge_path": ridge_path(_design_of(model, design)) if without else None,
            "uncertainty": uncertainty(
                model, rows, self.options.level, check_predictive(folds, out_of_fold)
            ),
        }


def _design_of(model: Any, design: StudyDesign) -> Moments | ArrayRows:
    """Moments of the encoded columns; the rows, where they are no more than the columns."""
    rows = design.folds.table.take(design.folds.training)
    block = model.encoding_.apply(rows.block)
    if block.n <= block.x.shape[1]:
        return ArrayRows(block.x, block.y, block.w)
    moments = Moments()
    moments.update(block)
    return moments


def ridge_path(source: Moments | ArrayRows) -> RegularizationPath:
    """The path of ridge regression on standardized columns, beside a winner without penalty.

    b(α) = argmin Σ w (y − a − b·z)² + α ‖b‖²;  one decomposition gives every α.
    """
    with mute_warnings():
        # Penalties from "all coefficients near zero" to "least squares"; enough for a smooth line.
        path = RidgePath(60, standardize=True).fit(source)
    return RegularizationPath(path.alphas_, path.coefs_)


# -------------------------------------------------------------------------------------------------
# Predictive distributions in a study: out of fold, on the test set, along the only column.


#: Places along the column at which a band is computed.
PLACES = 120


def check_predictive(folds: RowFolds, found: OutOfFold) -> result.PredictiveCheck | None:
    """Out-of-fold rows under their predictive distributions, as a study stores them."""
    if found.judged is None:
        return None
    some = thin(np.arange(len(found.rows)), SHOWN_ROWS)
    part, judged = found.take(some), found.judged.take(some)
    numbers = folds.table.take(part.rows).row_ids
    weights = None if (found.w == 1.0).all() else part.w
    return result.PredictiveCheck(numbers, part.predicted, judged.residuals, judged.pit, weights)


def uncertainty(
    model: Any,
    rows: InMemory,
    level: float,
    check: result.PredictiveCheck | None,
) -> result.Uncertainty | None:
    """Intervals and densities of the test rows; None for a model without distributions."""
    predictive = predictive_for(model, rows)
    if predictive is None:
        return None
    y = truth_of(rows)
    w = unit_weights(rows.block.w, len(y))
    scores = []
    for level_drawn in sorted({*result.TEST_LEVELS, level}):
        low, high = predictive.interval(level_drawn).T
        inside = measure.proportion_score("interval_coverage", (y >= low) & (y <= high), w)
        scores.append(
            result.IntervalScore(level_drawn, inside, float(np.average(high - low, weights=w)))
        )
    loss = measure.mean_score("nlpd", -predictive.log_density(y), w)
    return result.Uncertainty(level, tuple(scores), loss, check, _band(model, rows, level))


def _band(model: Any, rows: InMemory, level: float) -> result.PredictiveBand | None:
    """The band along the only column of the table, if it is one of numbers that vary."""
    columns = [c for c in rows.schema.columns if c.kind is Kind.NUMERIC]
    block = rows.block
    if len(rows.schema.columns) != 1 or len(columns) != 1 or block.x.shape[1] != 1:
        return None
    values = np.ravel(block.dense())
    low, high = float(np.min(values)), float(np.max(values))
    if not np.isfinite([low, high]).all() or low == high:
        return None
    x = np.linspace(low, high, PLACES)
    predictive_distribution = predictive_for(
        model, with_features(rows.take(np.zeros(PLACES, int)), x[:, None])
    )
    if predictive_distribution is None:
        return None
    return result.PredictiveBand(
        columns[0].name,
        x,
        predictive_distribution.mean,
        predictive_distribution.interval(level),
        np.stack([values, truth_of(rows)], axis=1),
        display_of(rows, columns[0].name),
    )


# -------------------------------------------------------------------------------------------------
# A study of a numeric target of which there are only moments: a table too large, or not shared.


def study_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    options: StudyOptions,
    progress: Any,
    metadata: Metadata,
    messages: tuple[str, ...],
) -> result.Study:
    """Compare the models that need only moments: of a table too large, or not to be shared.

    Regression alone: an error rate is not a function of moments.
    """
    parts, schema = stored.parts, stored.schema
    target = inferred.one_target(schema)
    tasks.refuse_task(REGRESSION, target)
    folds = MomentFolds.of(schema, stored.numeric)
    test, training = folds.test, folds.folds.reduce(Moments())
    if test is None or test.count < MIN_TEST_ROWS or training.count < MIN_TRAINING_ROWS:
        raise too_small(stored.numeric.total().count)
    if training.yy[0, 0] <= 0:
        inferred.refuse_constant_target(np.repeat(training.y_mean[0], 2), target.name)
    compared, _ = candidates(REGRESSION, models, Size(training.count, 0))
    by_name = {c.name: c for c in inferred.refuse_rows_needed(compared, models)}
    columns = inferred.columns_of_moments(schema, stored.numeric.total())
    messages += inferred.about_moments(training, test, columns, parts, schema)
    tell_inferred(progress, messages, by_name.values())
    with stages(progress, len(by_name) + 2) as step:
        comparison = _compare_moments([*by_name.values()], folds, step)
        choice = comparison.choose(options.rule)
        leaderboard, winner = comparison.entries, choice.winner
        tell_compared(progress, leaderboard, winner, choice.reason)
        step(f"fitting {winner} to all training rows")
        model, warned = with_warnings(lambda: folds.fit(by_name[winner]))
        step("scoring on the test set")
        baseline = folds.fit(by_name[BASELINE])
    return result.Study(
        source=metadata.source,
        command=metadata.command,
        target=target.name,
        task=REGRESSION,
        seed=parts.seed,
        test_fraction=parts.test,
        n_train=training.count,
        n_test=test.count,
        columns=columns,
        leaderboard=leaderboard,
        winner=winner,
        reason=choice.reason,
        choice=choice,
        test=measure.scores_from_moments(test, mse(model, test)),
        baseline_test=measure.scores_from_moments(test, mse(baseline, test)),
        model=model,
        description=describe(model),
        messages=messages,
        warnings=warned,
        ridge_path=ridge_path(model.moments_) if winner in WITHOUT_PENALTY else None,
    )


def _compare_moments(
    compared: Sequence[Candidate], folds: MomentFolds, step: Step
) -> RowComparison:
    """Mean squared errors by fold: there are no rows to pair."""
    numbers = np.arange(folds.k)
    weights = np.array([part.weight for part in folds.folds.parts.values()])

    def score(candidate: Candidate) -> Scored:
        errors, values = cross_validate(
            candidate, folds, lambda model, fold: folds.squared_error(model, fold)
        )
        losses = CandidateLosses(numbers, numbers, weights, {METRIC: np.array(errors)})
        return Scored(candidate, losses, values)

    return RowComparison(score_candidates(compared, score, step), METRIC)

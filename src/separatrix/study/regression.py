"""A study of a numeric target from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from separatrix.arrays import Floats, Ints
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.averages import AveragedRegressor
from separatrix.linear.ridge import RidgePath
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Kind, unit_weights
from separatrix.selection.averaging import Average, squared_error_average
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.moments import Grouped, Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.comparison import (
    AveragedCandidates,
    CandidateLosses,
    Comparison,
    ComparisonOutcome,
    Scored,
    average_candidates,
    choose_winner,
    cross_validate,
    learning_curve,
    muted,
    reference_predictions,
    scored_or_refused,
    tuning_data,
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
    thinned,
    too_small,
    training_rows,
    truth_of,
    with_warnings,
)
from separatrix.study.explanation import display_of, with_features
from separatrix.study.measure import (
    mean_score,
    proportion_score,
    regression_scores,
    row_losses,
    scores_from_moments,
)
from separatrix.study.options import StudyOptions
from separatrix.study.progress import Step, stages, tell_compared, tell_inferred, work_of
from separatrix.study.result import (
    LEVEL,
    TEST_LEVELS,
    Entry,
    IntervalScore,
    LearningCurve,
    Predictions,
    PredictiveBand,
    PredictiveCheck,
    Score,
    Study,
    Uncertainty,
)
from separatrix.study.tasks import REGRESSION
from separatrix.study.validation import (
    Procedure,
    Selected,
    choose_validated,
    closed_form,
    fold_models,
    leave_out,
)

METRIC = "rmse"
#: Penalties from "all coefficients near zero" to "least squares"; enough for a smooth line.
PATH_POINTS = 60
#: Winners beside whose coefficients the path of ridge is drawn; those with a penalty have their
#: own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


def study_regression(design: StudyDesign, options: StudyOptions) -> Study:
    """Compare on the folds, choose, and score on the test set once."""
    folds, moments = design.folds, _moment_folds(design)
    metric = options.metric_for(REGRESSION)
    tell_inferred(design.progress, design.announced, design.candidates)
    work = work_of(design.candidates, len(folds.training), reference=options.reference)
    work = options.validation.stages(work, len(design.candidates), folds.k)
    with stages(design.progress, work) as step:
        compared = compare_numbers(design, moments, options, metric, step)
        compared, chosen, judged = choose_validated(
            compared, design, options, _procedure(options), step
        )
        choice = chosen.choice
        step(f"fitting {choice.winner} to all training rows")
        model, warned = with_warnings(lambda: _fit_winner(design, moments, compared, chosen))
        step("reference")
        reference = compared.reference(choice.best) if options.reference else None
        step("scoring on the test set")
        test_rows = folds.table.take(folds.test)
        predictive = predictive_for(model, test_rows)
        test_predictions = _predicted(model, test_rows, predictive, options.level)
        baseline, _ = with_warnings(lambda: _fitted(design.baseline, design, moments, None))
        step("learning curve")
        curve = None if chosen.averaged is not None else _curve(choice.winner, design, compared)
    description, check = describe(model), compared.check(choice.winner)
    return Study(
        source=design.metadata.source,
        command=design.metadata.command,
        target=design.target,
        task=REGRESSION,
        seed=design.parts.seed,
        test_fraction=design.parts.test,
        n_train=len(folds.training),
        n_test=len(folds.test),
        columns=design.columns,
        leaderboard=chosen.entries,
        winner=choice.winner,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        test=_scores(test_predictions, design),
        baseline_test=_scores(_predicted(baseline, test_rows), design),
        model=model,
        description=description,
        messages=(
            *design.messages,
            *inferred.about_model(model.encoding_, description.stored_rows),
        ),
        warnings=(*design.warnings, *warned),
        test_predictions=test_predictions,
        learning_curve=curve,
        training=training_rows(model, model, folds, model.encoding_),
        ridge_path=ridge_path(_design_of(model, design))
        if choice.winner in WITHOUT_PENALTY
        else None,
        uncertainty=uncertainty(model, test_rows, predictive, options.level, check),
        **judged,
    )


def _procedure(options: StudyOptions) -> Procedure:
    """The selection as a whole: compare, choose, fit."""
    metric = options.metric_for(REGRESSION)

    def compare(design: StudyDesign, step: Step) -> ComparedNumbers:
        return compare_numbers(design, _moment_folds(design), options, metric, step)

    def select(design: StudyDesign, step: Step) -> Selected:
        compared = compare(design, step)
        chosen = choose_winner(compared, options)
        model = _fit_winner(design, _moment_folds(design), compared, chosen)
        return Selected(chosen, lambda rows: _predicted(model, rows))

    def losses(found: Predictions) -> Floats:
        w = unit_weights(found.w, len(found.truth))
        return row_losses(metric, found.truth, found.predicted, w)

    return Procedure(metric, compare, select, losses)


def _curve(winner: str, design: StudyDesign, compared: ComparedNumbers) -> LearningCurve | None:
    tuning = compared.predictions[winner].tuning
    return learning_curve(design.named(winner), design.folds, METRIC, design.parts.seed, tuning)


def _fit_winner(
    design: StudyDesign,
    moments: MomentFolds | None,
    compared: ComparedNumbers,
    chosen: ComparisonOutcome,
) -> Any:
    """The winner on all folds: one candidate, or several with their weights."""

    def fit(name: str) -> Any:
        return _fitted(design.named(name), design, moments, compared.predictions[name].tuning)

    averaged = chosen.averaged
    if averaged is None:
        return fit(chosen.choice.winner)
    models = [fit(name) for name in averaged.weights]
    blank = AveragedRegressor([clone(model) for model in models], cv=design.folds.k)
    return blank.from_fitted(models, averaged.average)


def _fitted(
    candidate: Candidate, design: StudyDesign, moments: MomentFolds | None, tuning: Tuning | None
) -> Any:
    """A penalty is tuned on the folds of the comparison; the others get the rows.

    Rows have more digits than moments, and residuals and leverage.
    """
    if moments is not None and candidate.from_moments and candidate.tuned:
        return moments.fit(candidate)
    return design.folds.fit(candidate, tuning)


def _moment_folds(design: StudyDesign) -> MomentFolds | None:
    """Moments by fold, from one pass over the rows.

    None where imputation by regression needs the rows again, where columns outnumber rows, or where
    folds are predicted from earlier ones alone.
    """
    table, folds = design.table, design.folds
    if folds.ordered or table.schema.missing == "regress" or folds.design is not table:
        return None
    split = table.with_parts(folds.labels)
    return MomentFolds.of(split.schema, split.reduce(Grouped(Moments())))


def _predicted(
    model: Any,
    rows: InMemory,
    predictive: PredictiveDistribution | None = None,
    level: float = LEVEL,
) -> Predictions:
    """Predictions of the test rows, with the ends of intervals where there are distributions."""
    intervals = None if predictive is None else predictive.interval(level)
    truth, predicted = truth_of(rows), model.predict(rows)
    return Predictions(rows.row_ids, truth, predicted, None, rows.block.w, intervals=intervals)


def _scores(test: Predictions, design: StudyDesign) -> tuple[Score, ...]:
    return regression_scores(test.truth, test.predicted, test.w, design.parts.seed)


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
    with muted():
        path = RidgePath(PATH_POINTS, standardize=True).fit(source)
    return RegularizationPath(path.alphas_, path.coefs_)


# -------------------------------------------------------------------------------------------------
# Comparison of regression models: out-of-fold predictions, and their losses row by row.


@dataclass(frozen=True)
class OutOfFoldNumbers:
    """Predictions of training rows, by position and in order, and the search that made them.

    ``judged`` are their targets under predictive distributions, None where the model has none.
    """

    rows: Ints
    values: Floats
    tuning: Tuning | None = None
    judged: Judged | None = None

    @classmethod
    def of(cls, rows: Ints, values: Floats, tuning: Tuning | None, judged: Judged | None) -> Self:
        """From rows in any order."""
        order = np.argsort(rows)
        inside = None if judged is None else judged.take(order)
        return cls(rows[order], values[order], tuning, inside)


@dataclass(frozen=True)
class ComparedNumbers:
    """The comparison, and the out-of-fold predictions of each candidate."""

    comparison: Comparison
    predictions: dict[str, OutOfFoldNumbers]
    data: TuningData
    folds: RowFolds

    def losses(self, found: OutOfFoldNumbers) -> CandidateLosses:
        """Losses of out-of-fold predictions, by both metrics."""
        own = self.comparison
        return _losses(self.data, found, self.folds, (own.metric, own.secondary or own.metric))

    def check(self, winner: str) -> PredictiveCheck | None:
        """The training rows under the predictive distributions of a candidate, out of fold."""
        found = self.predictions.get(winner)
        if found is None or found.judged is None:
            return None
        w = self.data.w[found.rows]
        return checked(self.folds, found.rows, found.values, found.judged, w)

    def reference(self, winner: str) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        found = reference_predictions(self.data)
        if found is None:
            return None
        order = np.argsort(found.rows)
        answers = OutOfFoldNumbers(found.rows[order], found.predictions[order])
        return self.comparison.reference(self.losses(answers), winner, found.n_folds)

    def average(self, best: str) -> AveragedCandidates | None:
        """The average of all candidates; None if there are fewer than two."""
        common = np.flatnonzero(np.isin(self.folds.training, self.comparison.rows))
        found = {name: self.predictions[name] for name in self.comparison.complete}
        known = {name: f.values[np.isin(f.rows, common)] for name, f in found.items()}
        if len(known) < 2:
            return None
        y, w = self.data.y[common], self.data.w[common]

        def weigh(stacked: Floats, rows: Ints) -> Average:
            return squared_error_average(stacked[:, rows].T, y[rows], w[rows])

        def losses_of(values: Floats) -> CandidateLosses:
            return self.losses(OutOfFoldNumbers(common, values))

        own = self.comparison
        least = own.losses[best].by_metric[own.metric]
        return average_candidates(known, self.data.fold[common], weigh, losses_of, least)


def compare_numbers(
    design: StudyDesign, moments: MomentFolds | None, options: StudyOptions, metric: str, step: Step
) -> ComparedNumbers:
    """Cross-validate every candidate, simplest first; one that refuses the data says why."""
    folds = design.folds
    data = tuning_data(folds, (), metric, options.effort.work)
    secondary = "mae" if metric in ("rmse", "r2") else "rmse"
    predictions: dict[str, OutOfFoldNumbers] = {}

    def score(candidate: Candidate) -> Scored:
        values: Mapping[str, tuple[Any, ...]]
        if folds.leave_one_out:
            found, values = _left_out(candidate, folds, data)
        elif candidate.tunable:
            with muted():
                tuning = candidate.make(folds.k).tune(data.with_share(candidate.share))
            values, found = tuning.parameters_by_fold, _from_tuning(data, tuning)
        else:
            source: Any = moments if moments is not None and candidate.from_moments else folds
            parts, values = cross_validate(
                candidate,
                source,
                lambda model, fold: _answers(model, _rows_of(folds, candidate, fold)),
            )
            rows = np.concatenate([test for _, test in data.folds.pairs])
            found = _together(rows, parts, None)
        predictions[candidate.name] = found
        losses = _losses(data, found, folds, (metric, secondary))
        note = "" if found.tuning is None else found.tuning.note
        return Scored(candidate, losses, values, note)

    scored = []
    for candidate in design.candidates:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return ComparedNumbers(
        Comparison(scored, metric, secondary, folds.units), predictions, data, folds
    )


def _left_out(
    candidate: Candidate, folds: RowFolds, data: TuningData
) -> tuple[OutOfFoldNumbers, Mapping[str, tuple[Any, ...]]]:
    """Every row predicted by a model of all others."""
    models = fold_models(candidate, folds, data)
    closed = closed_form(models, folds, data)
    if closed is not None:
        found = OutOfFoldNumbers(np.arange(data.n), closed, models.tuning)
        return found, models.hyperparameters
    source = folds.source(candidate)
    parts = leave_out(
        models, folds, data, lambda model, rows, _: (rows, *_answers(model, source.take(rows)))
    )
    rows = np.searchsorted(folds.training, np.concatenate([rows for rows, *_ in parts]))
    found = _together(rows, [answers for _, *answers in parts], models.tuning)
    return found, models.hyperparameters


def _together(rows: Ints, parts: Sequence[Any], tuning: Tuning | None) -> OutOfFoldNumbers:
    """The answers of several models, one after the other."""
    known = [judged for _, judged in parts if judged is not None]
    judged = Judged.joined(known) if len(known) == len(parts) else None
    predicted = np.concatenate([answers for answers, _ in parts])
    return OutOfFoldNumbers.of(rows, predicted, tuning, judged)


def _answers(model: Any, rows: InMemory) -> tuple[Floats, Judged | None]:
    """Predictions, and the targets under predictive distributions where the model has them."""
    predictive = predictive_for(model, rows)
    if predictive is None:
        return model.predict(rows), None
    return predictive.mean, Judged.of(truth_of(rows), predictive)


def _from_tuning(data: TuningData, tuning: Tuning) -> OutOfFoldNumbers:
    """The predictions that a search made on its way."""
    values, judged = np.ravel(tuning.predictions), None
    if tuning.deviations is not None:
        predictive = PredictiveDistribution(values, tuning.deviations)
        judged = Judged.of(data.y[tuning.rows], predictive)
    return OutOfFoldNumbers.of(tuning.rows, values, tuning, judged)


def _rows_of(folds: RowFolds, candidate: Candidate, fold: int) -> InMemory:
    """The rows of one fold, as a candidate reads them."""
    rows = folds.table if candidate.from_moments else folds.source(candidate)
    return rows.take(folds.split(fold)[1])


def _losses(
    data: TuningData, found: OutOfFoldNumbers, folds: RowFolds, metrics: tuple[str, ...]
) -> CandidateLosses:
    at = found.rows
    truth, w, fold = data.y[at], data.w[at], data.fold[at]
    values = {metric: row_losses(metric, truth, found.values, w) for metric in metrics}
    return CandidateLosses(folds.training[at], fold, w, values)


# -------------------------------------------------------------------------------------------------
# Predictive distributions in a study: out of fold, on the test set, along the only column.


#: Places along the column at which a band is computed.
PLACES = 120


@dataclass(frozen=True)
class Judged:
    """Targets under their predictive distributions: residuals (y − m)/s and F(y)."""

    residuals: Floats
    pit: Floats

    @classmethod
    def of(cls, y: Floats, predictive: PredictiveDistribution) -> Judged:
        """Targets of the same rows."""
        return cls(predictive.residuals(y), predictive.pit(y))

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """One after the other."""
        return cls(
            np.concatenate([part.residuals for part in parts]),
            np.concatenate([part.pit for part in parts]),
        )

    def take(self, at: Ints) -> Judged:
        """Some of the rows."""
        return Judged(self.residuals[at], self.pit[at])


def predictive_for(model: Any, rows: InMemory) -> PredictiveDistribution | None:
    """The predictive distribution of each row; None where the estimator has none."""
    if not hasattr(model, "predictive"):
        return None
    found: PredictiveDistribution = model.predictive(rows)
    return found


def checked(
    folds: RowFolds, rows: Ints, values: Floats, judged: Judged, w: Floats
) -> PredictiveCheck:
    """Out-of-fold rows, by position among the training rows, as a study stores them."""
    some = thinned(np.arange(len(rows)), SHOWN_ROWS)
    numbers = folds.table.take(folds.training[rows[some]]).row_ids
    part = judged.take(some)
    weights = None if (w == 1.0).all() else w[some]
    return PredictiveCheck(numbers, values[some], part.residuals, part.pit, weights)


def uncertainty(
    model: Any,
    rows: InMemory,
    predictive: PredictiveDistribution | None,
    level: float,
    check: PredictiveCheck | None,
) -> Uncertainty | None:
    """Intervals and densities of the test rows; None for a model without distributions."""
    if predictive is None:
        return None
    y = truth_of(rows)
    w = unit_weights(rows.block.w, len(y))
    scores = []
    for one in sorted({*TEST_LEVELS, level}):
        low, high = predictive.interval(one).T
        inside = proportion_score("interval_coverage", (y >= low) & (y <= high), w)
        scores.append(IntervalScore(one, inside, float(np.average(high - low, weights=w))))
    loss = mean_score("nlpd", -predictive.log_density(y), w)
    return Uncertainty(level, tuple(scores), loss, check, _band(model, rows, level))


def _band(model: Any, rows: InMemory, level: float) -> PredictiveBand | None:
    """The band along the only column of the table, if it is one of numbers that vary."""
    columns = [c for c in rows.schema.columns if c.kind is Kind.NUMERIC]
    block = rows.block
    if len(rows.schema.columns) != 1 or len(columns) != 1 or block.x.shape[1] != 1:
        return None
    own = np.ravel(block.dense())
    low, high = float(np.min(own)), float(np.max(own))
    if not np.isfinite([low, high]).all() or low == high:
        return None
    x = np.linspace(low, high, PLACES)
    found = predictive_for(model, with_features(rows.take(np.zeros(PLACES, int)), x[:, None]))
    if found is None:
        return None
    return PredictiveBand(
        columns[0].name,
        x,
        found.mean,
        found.interval(level),
        np.stack([own, truth_of(rows)], axis=1),
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
) -> Study:
    """Compare the models that need only moments: of a table too large, or not to be shared.

    Regression alone: an error rate is no function of moments.
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
    return Study(
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
        test=scores_from_moments(test, mse(model, test)),
        baseline_test=scores_from_moments(test, mse(baseline, test)),
        model=model,
        description=describe(model),
        messages=messages,
        warnings=warned,
        ridge_path=ridge_path(model.moments_) if winner in WITHOUT_PENALTY else None,
    )


def _compare_moments(compared: Sequence[Candidate], folds: MomentFolds, step: Step) -> Comparison:
    """Mean squared errors by fold: there are no rows to pair."""
    numbers = np.arange(folds.k)
    weights = np.array([part.weight for part in folds.folds.parts.values()])

    def score(candidate: Candidate) -> Scored:
        errors, values = cross_validate(
            candidate, folds, lambda model, fold: folds.squared_error(model, fold)
        )
        losses = CandidateLosses(numbers, numbers, weights, {METRIC: np.array(errors)})
        return Scored(candidate, losses, values)

    scored = []
    for candidate in compared:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return Comparison(scored, METRIC)

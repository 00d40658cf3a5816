"""Studies of a numeric target, compared by root mean squared error: from rows, or from moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.linear.ridge.ridge_path import RidgePath
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.comparison.cross_validation import cross_validate, muted
from separatrix.study.comparison.learning_curve import learning_curve
from separatrix.study.comparison.losses import Comparison, Losses, Scored, scored_or_refused
from separatrix.study.comparison.options import Options
from separatrix.study.comparison.reference import reference_predictions
from separatrix.study.comparison.tuning import tuning_data
from separatrix.study.describe import describe
from separatrix.study.description import RegularizationPath
from separatrix.study.design import Metadata, StudyDesign, training_rows, with_warnings
from separatrix.study.folds import (
    MIN_TEST_ROWS,
    MIN_TRAINING_ROWS,
    MomentFolds,
    RowFolds,
    mse,
    too_small,
    truth_of,
)
from separatrix.study.measure import regression_scores, row_losses, scores_from_moments
from separatrix.study.progress import Step, stages, tell_compared, tell_inferred
from separatrix.study.result import Entry, Predictions, Score, Study
from separatrix.study.tasks import REGRESSION

METRIC = "rmse"
#: Penalties from "all coefficients near zero" to "least squares"; enough for a smooth line.
PATH_POINTS = 60
#: Winners beside whose coefficients the path of ridge is drawn; those with a penalty have their
#: own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


def study_regression(design: StudyDesign, options: Options) -> Study:
    """Compare on the folds, choose, and score on the test set once."""
    folds, moments = design.folds, _moment_folds(design)
    metric = options.metric_for(REGRESSION)
    tell_inferred(design.progress, design.announced, design.candidates)
    with stages(design.progress, len(design.candidates) + 4) as step:
        compared = _compare(design, moments, metric, options, step)
        choice = compared.comparison.choose(options.rule)
        winner, tuning = choice.winner, compared.tuned.get(choice.winner)
        tell_compared(design.progress, compared.comparison.entries, winner, choice.reason)
        best = design.named(winner)
        step(f"fitting {winner} to all training rows")
        model, warned = with_warnings(lambda: _fitted(best, design, moments, tuning))
        step("reference")
        reference = compared.reference(winner, folds) if options.reference else None
        step("scoring on the test set")
        test_predictions, scores = _scored(model, design)
        baseline, _ = with_warnings(lambda: _fitted(design.baseline, design, moments, None))
        step("learning curve")
        curve = learning_curve(best, folds, "rmse", design.parts.seed, tuning)
    description = describe(model)
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
        leaderboard=compared.comparison.entries,
        winner=winner,
        reason=choice.reason,
        choice=choice,
        reference=reference,
        test=scores,
        baseline_test=_scored(baseline, design)[1],
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
        ridge_path=_ridge_path(_design_of(model, design)) if winner in WITHOUT_PENALTY else None,
    )


@dataclass(frozen=True)
class ComparedNumbers:
    """The comparison, and what the candidates that tune found."""

    comparison: Comparison
    tuned: dict[str, Tuning]
    data: TuningData

    def reference(self, winner: str, folds: RowFolds) -> Entry | None:
        """Gradient-boosted trees against the winner; None where they would take too long."""
        found, own = reference_predictions(self.data), self.comparison
        if found is None:
            return None
        metrics = (own.metric, own.secondary or own.metric)
        losses = _losses(self.data, found.rows, found.predictions, folds, metrics)
        return own.reference(losses, winner, found.n_folds)


def _compare(
    design: StudyDesign, moments: MomentFolds | None, metric: str, options: Options, step: Step
) -> ComparedNumbers:
    """Cross-validate every candidate, simplest first; one that refuses the data says why."""
    folds = design.folds
    data = tuning_data(folds, (), metric, options.effort.work)
    secondary = "mae" if metric in ("rmse", "r2") else "rmse"
    tuned: dict[str, Tuning] = {}

    def score(candidate: Candidate) -> Scored:
        if candidate.tunable:
            with muted():
                found = candidate.make(folds.k).tune(data)
            tuned[candidate.name] = found
            chosen = [found.grid[i] for i in found.by_fold]
            values = {name: tuple(theta[name] for theta in chosen) for name in chosen[0]}
            losses = _losses(data, found.rows, found.predictions, folds, (metric, secondary))
            return Scored(candidate, losses, values, found.note)
        source: Any = moments if moments is not None and candidate.from_moments else folds
        parts, values = cross_validate(
            candidate, source, lambda model, fold: model.predict(_rows_of(folds, candidate, fold))
        )
        rows = np.concatenate([test for _, test in data.folds.pairs])
        losses = _losses(data, rows, np.concatenate(parts), folds, (metric, secondary))
        return Scored(candidate, losses, values)

    scored = []
    for candidate in design.candidates:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return ComparedNumbers(Comparison(scored, metric, secondary), tuned, data)


def _rows_of(folds: RowFolds, candidate: Candidate, fold: int) -> InMemory:
    """The rows of one fold, as a candidate reads them."""
    rows = folds.table if candidate.from_moments else folds.source(candidate)
    return rows.take(folds.split(fold)[1])


def _losses(
    data: TuningData, rows: Ints, predicted: Floats, folds: RowFolds, metrics: tuple[str, ...]
) -> Losses:
    """Losses of predictions out of fold, of training rows at these positions."""
    order = np.argsort(rows)
    at, values = rows[order], np.ravel(predicted)[order]
    truth, w, fold = data.y[at], data.w[at], data.fold[at]
    found = {metric: row_losses(metric, truth, values, w) for metric in metrics}
    return Losses(folds.training[at], fold, w, found)


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


def _scored(model: Any, design: StudyDesign) -> tuple[Predictions, tuple[Score, ...]]:
    rows = design.folds.table.take(design.folds.test)
    truth, predicted, w = truth_of(rows), model.predict(rows), rows.block.w
    found = Predictions(rows.row_ids, truth, predicted, None, w)
    return found, regression_scores(truth, predicted, w, design.parts.seed)


def _design_of(model: Any, design: StudyDesign) -> Moments | ArrayRows:
    """Moments of the encoded columns; the rows, where they are no more than the columns."""
    rows = design.folds.table.take(design.folds.training)
    block = model.encoding_.apply(rows.block)
    if block.n <= block.x.shape[1]:
        return ArrayRows(block.x, block.y, block.w)
    moments = Moments()
    moments.update(block)
    return moments


def _ridge_path(source: Moments | ArrayRows) -> RegularizationPath:
    """The path of ridge regression on standardized columns, beside a winner without penalty.

    b(α) = argmin Σ w (y − a − b·z)² + α ‖b‖²;  one decomposition gives every α.
    """
    with muted():
        path = RidgePath(PATH_POINTS, standardize=True).fit(source)
    return RegularizationPath(path.alphas_, path.coefs_)


# -- from moments ----------------------------------------------------------------------------------


def study_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    options: Options,
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
    folds = MomentFolds.of(schema, stored.groups)
    test, training = folds.test, folds.folds.reduce(Moments())
    if test is None or test.count < MIN_TEST_ROWS or training.count < MIN_TRAINING_ROWS:
        raise too_small(stored.groups.total().count)
    if training.yy[0, 0] <= 0:
        inferred.refuse_constant_target(np.repeat(training.y_mean[0], 2), target.name)
    compared, _ = candidates(REGRESSION, models, Size(training.count, 0))
    by_name = {c.name: c for c in inferred.refuse_rows_needed(compared, models)}
    columns = inferred.columns_of_moments(schema, stored.groups.total())
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
        ridge_path=_ridge_path(model.moments_) if winner in WITHOUT_PENALTY else None,
    )


def _compare_moments(compared: Sequence[Candidate], folds: MomentFolds, step: Step) -> Comparison:
    """Mean squared errors by fold: there are no rows to pair."""
    numbers = np.arange(folds.k)
    weights = np.array([part.weight for part in folds.folds.parts.values()])

    def score(candidate: Candidate) -> Scored:
        errors, values = cross_validate(
            candidate, folds, lambda model, fold: folds.squared_error(model, fold)
        )
        losses = Losses(numbers, numbers, weights, {METRIC: np.array(errors)})
        return Scored(candidate, losses, values)

    scored = []
    for candidate in compared:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return Comparison(scored, METRIC)

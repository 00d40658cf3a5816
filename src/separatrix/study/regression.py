"""Studies of a numeric target, compared by root mean squared error: from rows, or from moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.linear.ridge.ridge_path import RidgePath
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.cross_validation import Folds, choose, compare, learning_curve, muted
from separatrix.study.describe import describe
from separatrix.study.description import RegularizationPath
from separatrix.study.design import Metadata, StudyDesign, training_rows, with_warnings
from separatrix.study.folds import (
    MIN_TEST_ROWS,
    MIN_TRAINING_ROWS,
    MomentFolds,
    mse,
    too_small,
    truth_of,
)
from separatrix.study.measure import regression_scores, scores_from_moments
from separatrix.study.progress import stages, tell_compared, tell_inferred
from separatrix.study.result import Predictions, Score, Study
from separatrix.study.tasks import REGRESSION

METRIC = "rmse"
#: Penalties from "all coefficients near zero" to "least squares"; enough for a smooth line.
PATH_POINTS = 60
#: Winners beside whose coefficients the path of ridge is drawn; those with a penalty have their
#: own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


def study_regression(design: StudyDesign) -> Study:
    """Compare on the folds, choose, and score on the test set once."""
    folds, moments = design.folds, _moment_folds(design)

    def folds_for(candidate: Candidate) -> Folds:
        return moments if moments is not None and candidate.from_moments else folds

    def fitted(candidate: Candidate) -> Any:
        """A penalty is tuned on the folds of the comparison; the others get the rows.

        Rows have more digits than moments, and residuals and leverage.
        """
        if moments is not None and candidate.from_moments and candidate.tuned:
            return moments.fit(candidate)
        return folds.fit(candidate)

    tell_inferred(design.progress, design.messages, design.candidates)
    with stages(design.progress, len(design.candidates) + 3) as step:
        leaderboard = compare(design.candidates, folds_for, METRIC, step)
        winner, reason = choose(leaderboard)
        tell_compared(design.progress, leaderboard, winner, reason)
        best = design.named(winner)
        step(f"fitting {winner} to all training rows")
        model, warned = with_warnings(lambda: fitted(best))
        step("scoring on the test set")
        test_predictions, scores = _scored(model, design)
        baseline, _ = with_warnings(lambda: fitted(design.baseline))
        step("learning curve")
        curve = learning_curve(best, folds, METRIC, design.parts.seed)
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
        leaderboard=leaderboard,
        winner=winner,
        reason=reason,
        test=scores,
        baseline_test=_scored(baseline, design)[1],
        model=model,
        description=description,
        messages=(
            *design.messages,
            *inferred.about_model(model.encoding_, description.stored_rows),
        ),
        warnings=warned,
        test_predictions=test_predictions,
        learning_curve=curve,
        training=training_rows(model, model, folds, model.encoding_),
        ridge_path=_ridge_path(_design_of(model, design)) if winner in WITHOUT_PENALTY else None,
    )


def _moment_folds(design: StudyDesign) -> MomentFolds | None:
    """Moments by fold, from one pass over the rows.

    None where imputation by regression needs the rows again, or where columns outnumber rows.
    """
    table, folds = design.table, design.folds
    if table.schema.missing == "regress" or folds.design is not table:
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
        leaderboard = compare([*by_name.values()], lambda _: folds, METRIC, step)
        winner, reason = choose(leaderboard)
        tell_compared(progress, leaderboard, winner, reason)
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
        reason=reason,
        test=scores_from_moments(test, mse(model, test)),
        baseline_test=scores_from_moments(test, mse(baseline, test)),
        model=model,
        description=describe(model),
        messages=messages,
        warnings=warned,
        ridge_path=_ridge_path(model.moments_) if winner in WITHOUT_PENALTY else None,
    )

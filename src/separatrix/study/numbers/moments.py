"""A study of a numeric target of which there are only moments: a table too large, or not shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.comparison.cross_validation import cross_validate
from separatrix.study.comparison.losses import Comparison, Losses, Scored, scored_or_refused
from separatrix.study.comparison.options import Options
from separatrix.study.describe import describe
from separatrix.study.design import Metadata, with_warnings
from separatrix.study.folds import MIN_TEST_ROWS, MIN_TRAINING_ROWS, MomentFolds, mse, too_small
from separatrix.study.measure import scores_from_moments
from separatrix.study.numbers.run import METRIC, WITHOUT_PENALTY, ridge_path
from separatrix.study.progress import Step, stages, tell_compared, tell_inferred
from separatrix.study.result import Study
from separatrix.study.tasks import REGRESSION


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
        losses = Losses(numbers, numbers, weights, {METRIC: np.array(errors)})
        return Scored(candidate, losses, values)

    scored = []
    for candidate in compared:
        step(f"comparing {candidate.name}")
        scored.append(scored_or_refused(candidate, score))
    return Comparison(scored, METRIC)

"""A study of which only moments are left: a table too large for memory, or one that may not travel.

Regression alone: an error rate is no moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred as announce
from separatrix.study import tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.compare import choose, compare
from separatrix.study.data import FEWEST_HELD, FEWEST_TRAINING, MomentFolds, mse, too_small
from separatrix.study.design import with_warnings
from separatrix.study.measure import scores_from_moments
from separatrix.study.path import ridge_path
from separatrix.study.progress import stages
from separatrix.study.result import Study
from separatrix.study.tasks import REGRESSION


def study_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    progress: Any,
    told: dict[str, Any],
    said: tuple[str, ...],
) -> Study:
    """Compare the models that moments suffice for; scores come from moments of the test part."""
    parts, schema = stored.parts, stored.schema
    target = announce.one_target(schema)
    tasks.refuse_task(REGRESSION, target)
    bench = MomentFolds.of(schema, stored.groups)
    test = bench.test
    training = bench.folds.reduce(Moments())
    if test is None or test.count < FEWEST_HELD or training.count < FEWEST_TRAINING:
        raise too_small(stored.groups.total().count)
    announce.refuse_no_spread(training, target.name)
    entrants, _ = candidates(REGRESSION, models, Size(training.count, 0))
    entrants = announce.refuse_rows_needed(entrants, models)
    with stages(progress, len(entrants) + 2) as step:
        leaderboard = compare(entrants, lambda _: bench, "rmse", step)
        winner, reason = choose(leaderboard)
        step(f"fitting {winner} to the training part")
        model, rejects = with_warnings(lambda: bench.fit(_named(entrants, winner)))
        step("opening the test part")
        baseline = bench.fit(_named(entrants, BASELINE))
    columns = announce.columns_of_moments(schema, stored.groups.total())
    said += announce.about_moments(training, test, columns, parts, schema)
    return Study(
        **{**told, "seed": parts.seed},
        target=target.name,
        task=REGRESSION,
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
        said=said,
        warnings=rejects,
        path=ridge_path(winner, model, None),
    )


def _named(entrants: list[Candidate], name: str) -> Candidate:
    return next(c for c in entrants if c.name == name)

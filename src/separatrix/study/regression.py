"""A study of a target that is measured: compared by root mean squared error."""

from __future__ import annotations

from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.study import inferred as announce
from separatrix.study.candidates import Candidate
from separatrix.study.compare import Folding, choose, compare
from separatrix.study.curve import learning_curve
from separatrix.study.data import MomentFolds, RowFolds
from separatrix.study.design import StudyDesign, shown, with_warnings
from separatrix.study.measure import regression_scores
from separatrix.study.path import ridge_path
from separatrix.study.progress import stages
from separatrix.study.result import Predictions, Score, Study
from separatrix.study.tasks import REGRESSION
from separatrix.study.test_predictions import judged

METRIC = "rmse"


def study_numbers(setting: StudyDesign) -> Study:
    """Compare, choose, and open the test part once."""
    bench, moments = setting.bench, _moments(setting)

    def bench_for(candidate: Candidate) -> Folding:
        return moments if moments is not None and candidate.from_moments else bench

    def fitted(candidate: Candidate) -> object:
        """A penalty is tuned on the folds of the comparison; the others get the rows.

        Rows hold more digits than moments and allow residuals and leverage to be shown.
        """
        if moments is not None and candidate.from_moments and candidate.tuned:
            return moments.fit(candidate)
        return bench.fit(candidate)

    with stages(setting.progress, len(setting.entrants) + 3) as step:
        leaderboard = compare(setting.entrants, bench_for, METRIC, step)
        winner, reason = choose(leaderboard)
        best = setting.named(winner)
        step(f"fitting {winner} to the training part")
        model, rejects = with_warnings(lambda: fitted(best))
        step("opening the test part")
        held, scores = _measured(model, setting)
        baseline, _ = with_warnings(lambda: fitted(setting.baseline))
        step("learning curve")
        curve = learning_curve(best, bench, METRIC, setting.parts.seed)
    return setting.story(
        task=REGRESSION,
        leaderboard=leaderboard,
        winner=winner,
        reason=reason,
        test=scores,
        baseline_test=_measured(baseline, setting)[1],
        model=model,
        said=(*setting.said, *announce.about_core(model)),
        warnings=rejects,
        held=held,
        curve=curve,
        training=shown(model, model, bench),
        path=ridge_path(winner, model, bench),
    )


def _moments(setting: StudyDesign) -> MomentFolds | None:
    """Moments by part, from one pass over the rows.

    None where filling gaps by regression needs the rows again, or where columns outnumber rows.
    """
    table, bench = setting.table, setting.bench
    if table.schema.missing == "regress" or bench.given is not table:
        return None
    split = table.with_parts(bench.labels)
    return MomentFolds.of(split.schema, split.reduce(Grouped(Moments())))


def _measured(model: object, setting: StudyDesign) -> tuple[Predictions, tuple[Score, ...]]:
    bench: RowFolds = setting.bench
    held = judged(model, bench.table.take(bench.held))
    return held, regression_scores(held.truth, held.predicted, held.w, setting.parts.seed)

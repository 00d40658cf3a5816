"""The main job: split first, compare on the folds, open the test part once.

rows ─ split ─┬─ folds ─ cross-validation ─ choice ─ fit to all folds ─┐
              └─ test part ────────────────────────────────────────────┴─ scores, once
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.messages import InputError, Notice
from separatrix.rows.parts import Parts
from separatrix.rows.profile import profile
from separatrix.rows.rows import InMemory, Rows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import announce, tasks
from separatrix.study.candidates import BASELINE, Candidate, candidates
from separatrix.study.compare import Bench, choose, compare
from separatrix.study.curve import learning_curve
from separatrix.study.data import MomentBench, RowBench, mse, too_small, truth_of
from separatrix.study.held import SHOWN_ROWS, judged, left_out, thinned
from separatrix.study.measure import (
    classification_scores,
    regression_scores,
    scores_from_moments,
)
from separatrix.study.path import ridge_path
from separatrix.study.plane import plane_of
from separatrix.study.progress import stages
from separatrix.study.result import Held, Score, Study, Training
from separatrix.study.size import reason_to_stream
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

METRIC = {REGRESSION: "rmse", CLASSIFICATION: "error"}
FEWEST_HELD, FEWEST_TRAINING = 2, 4


def run_study(
    rows: Rows | StoredMoments,
    *,
    task: str | None = None,
    models: Sequence[str] | None = None,
    seed: int = 0,
    test: float = 0.2,
    folds: int = 5,
    progress: Any = None,
    source: str = "",
    command: str = "",
) -> Study:
    """Compare models on ``rows`` and measure the winner once on rows that none of them saw.

    ``progress`` is called with (stage, done, total), or is a callback of scikit-learn's interface.
    A table too large for memory, or one of which only moments are left, is studied from moments.
    """
    told = {"seed": seed, "source": source, "command": command}
    if isinstance(rows, StoredMoments):
        return _from_moments(rows, models, progress, told, announce.only_moments())
    parts = Parts(seed, test, folds)
    target = announce.one_target(rows.schema)
    if task is not None:
        tasks.refuse_task(task, target)
    streamed = reason_to_stream(rows)
    if not streamed:
        return _from_rows(rows.read(), parts, task, models, progress, told)
    taken = tasks.take_for(target, rows.blocks())
    if (task or taken.task) == CLASSIFICATION:
        raise announce.cannot_classify(streamed)
    groups = rows.with_parts(parts).reduce(Grouped(Moments()))
    stored = StoredMoments(rows.schema, parts, groups)
    said = ((taken.said,) if task is None else ()) + announce.read_once(rows, streamed)
    return _from_moments(stored, models, progress, told, said)


# -- rows in memory --------------------------------------------------------------------------------


def _from_rows(
    table: InMemory,
    parts: Parts,
    task: str | None,
    models: Sequence[str] | None,
    progress: Any,
    told: dict[str, Any],
) -> Study:
    table, task, said = _with_task(table, task)
    columns = profile(table)
    bench, moments = _benches(table, parts, task)
    entrants, omitted = candidates(task, models, len(table.block.terms))
    said += announce.about(table, columns, bench, parts) + omitted

    def bench_for(candidate: Candidate) -> Bench:
        return moments if moments is not None and candidate.from_moments else bench

    with stages(progress, len(entrants) + 3) as step:
        leaderboard = compare(entrants, bench_for, METRIC[task], step)
        winner, reason = choose(leaderboard)
        best = _named(entrants, winner)
        step(f"fitting {winner} to the training part")
        model, doubts = _fitted(best, bench, moments)
        step("opening the test part")
        held, scores = _measured(model, bench, parts.seed)
        baseline = _fitted(_named(entrants, BASELINE), bench, moments)[0]
        step("learning curve")
        curve = learning_curve(best, bench, METRIC[task], parts.seed)
    classes = tuple(str(c) for c in getattr(model, "classes_", ()))
    said += announce.about_classes(classes) + announce.about_completion(model)
    return Study(
        target=table.schema.targets[0].name,
        task=task,
        test_fraction=parts.test,
        n_train=len(bench.training),
        n_test=len(bench.held),
        columns=columns,
        leaderboard=leaderboard,
        winner=winner,
        reason=reason,
        test=scores,
        baseline_test=_measured(baseline, bench, parts.seed)[1],
        model=model,
        said=tuple(said),
        warnings=doubts,
        classes=classes,
        held=held,
        curve=curve,
        training=_shown(model, bench),
        path=ridge_path(winner, model, bench),
        left_out=left_out(best, bench, len(classes)),
        plane=plane_of(model, bench, held) if task == CLASSIFICATION else None,
        **told,
    )


def _with_task(table: InMemory, task: str | None) -> tuple[InMemory, str, list[str]]:
    """The table with its target read as the task wants it; the task; what was inferred."""
    said: list[str] = []
    if task is None:
        taken = tasks.take_for(table.schema.targets[0], [table.block])
        task = taken.task
        said.append(taken.said)
    if task == CLASSIFICATION:
        table = tasks.with_classes(table)
    announce.refuse_constant_target(truth_of(table), table.schema.targets[0].name)
    return table, task, said


def _benches(table: InMemory, parts: Parts, task: str) -> tuple[RowBench, MomentBench | None]:
    """Rows split into parts, and moments by part from one pass over them.

    No moments for classes (an error rate is no moment), where filling gaps by regression needs the
    rows again, or where columns outnumber rows.
    """
    split = table.with_parts(parts)
    bench = RowBench(table, np.asarray(split.block.parts))
    if len(bench.held) < FEWEST_HELD or len(bench.training) < FEWEST_TRAINING or bench.k < 2:
        raise too_small(len(bench.labels))
    if task != REGRESSION or table.schema.missing == "regress":
        return bench, None
    if bench.given is not table:
        return bench, None
    return bench, MomentBench.of(split.schema, split.reduce(Grouped(Moments())))


def _fitted(
    candidate: Candidate, bench: RowBench, moments: MomentBench | None
) -> tuple[Any, tuple[str, ...]]:
    """The candidate on all folds, and its doubts.

    A penalty is tuned on the folds that the comparison used; the others get the rows, which hold
    more digits than moments and allow residuals and leverage to be shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        if moments is not None and candidate.tuned:
            model = moments.fit(candidate)
        else:
            model = bench.fit(candidate)
    doubts = [str(w.message) for w in caught if issubclass(w.category, Notice)]
    return model, tuple(dict.fromkeys(doubts))


def _measured(model: Any, bench: RowBench, seed: int) -> tuple[Held, tuple[Score, ...]]:
    held = judged(model, bench.table.take(bench.held))
    truth, predicted = held.truth, held.predicted
    if truth.dtype.kind == "f":
        return held, regression_scores(truth, predicted, held.w, seed)
    two = held.scores is not None and len(model.classes_) == 2
    single = np.asarray(held.scores, dtype=float).ravel() if two else None
    return held, classification_scores(truth, predicted, single, model.classes_[-1], held.w)


def _shown(model: Any, bench: RowBench) -> Training:
    """The training part for pictures: all of it, or an even selection of a large one."""
    n = len(bench.training)
    some = thinned(np.arange(n), SHOWN_ROWS)
    rows = bench.table.take(bench.training[some])
    x, w = model.encoding_.apply(rows.block).dense(), rows.block.w
    scale = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    leverage = _leverage(model)
    return Training(
        None,
        truth_of(rows),
        w,
        model.encoding_.names,
        model.predict(rows),
        model.decision_function(rows) if hasattr(model, "decision_function") else None,
        rows.row_ids,
        scale,
        None if leverage is None or len(leverage) != n else leverage[some],
    )


def _leverage(model: Any) -> Any:
    """How far each training row pulls its own fitted value, where the model can tell."""
    try:
        return model.summary().leverage
    except (AttributeError, InputError):
        return None


def _named(entrants: list[Candidate], name: str) -> Candidate:
    return next(c for c in entrants if c.name == name)


# -- moments alone ---------------------------------------------------------------------------------


def _from_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    progress: Any,
    told: dict[str, Any],
    said: tuple[str, ...],
) -> Study:
    parts, schema = stored.parts, stored.schema
    target = announce.one_target(schema)
    tasks.refuse_task(REGRESSION, target)
    bench = MomentBench.of(schema, stored.groups)
    test = bench.test
    training = bench.folds.reduce(Moments())
    if test is None or test.count < FEWEST_HELD or training.count < FEWEST_TRAINING:
        raise too_small(stored.groups.total().count)
    announce.refuse_no_spread(training, target.name)
    entrants, _ = candidates(REGRESSION, models, 0)
    entrants = announce.refuse_rows_needed(entrants, models)
    with stages(progress, len(entrants) + 2) as step:
        leaderboard = compare(entrants, lambda _: bench, METRIC[REGRESSION], step)
        winner, reason = choose(leaderboard)
        step(f"fitting {winner} to the training part")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", Notice)
            model = bench.fit(_named(entrants, winner))
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
        warnings=tuple(dict.fromkeys(str(w.message) for w in caught)),
        path=ridge_path(winner, model, None),
    )

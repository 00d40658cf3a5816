"""The main job: split first, compare on the folds, open the test part once.

rows ─ split ─┬─ folds ─ cross-validation ─ choice ─ fit to all folds ─┐
              └─ test part ────────────────────────────────────────────┴─ scores, once
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.rows.parts import Parts
from separatrix.rows.profile import profile
from separatrix.rows.rows import InMemory, Rows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments
from separatrix.study import inferred as announce
from separatrix.study import tasks
from separatrix.study.candidates import Size, candidates
from separatrix.study.classes.run import Options, study_classes
from separatrix.study.data import FEWEST_HELD, FEWEST_TRAINING, RowFolds, too_small, truth_of
from separatrix.study.design import StudyDesign
from separatrix.study.from_moments import study_moments
from separatrix.study.regression import study_numbers
from separatrix.study.result import Study
from separatrix.study.size import reason_to_stream
from separatrix.study.tasks import CLASSIFICATION, REGRESSION


def run_study(
    rows: Rows | StoredMoments,
    *,
    task: str | None = None,
    models: Sequence[str] | None = None,
    metric: str | None = None,
    costs: Any = None,
    reject: float | None = None,
    seed: int = 0,
    test: float = 0.2,
    folds: int = 5,
    progress: Any = None,
    source: str = "",
    command: str = "",
) -> Study:
    """Compare models on ``rows`` and measure the winner once on rows that none of them saw.

    Of classes, ``metric`` is what the choice goes by ("log_loss", or "error"); ``costs`` is
    {truth: {answer: cost}} or a matrix by class in order, and ``reject`` the price of doubt: with
    either, the model answers what costs least. ``progress`` is called with (stage, done, total), or
    is a callback of scikit-learn's interface. A table too large for memory, or one of which only
    moments are left, is studied from moments.
    """
    told = {"seed": seed, "source": source, "command": command}
    wishes = Options(metric, costs, reject)
    if isinstance(rows, StoredMoments):
        wishes.refuse_for(REGRESSION)
        return study_moments(rows, models, progress, told, announce.only_moments())
    parts = Parts(seed, test, folds)
    target = announce.one_target(rows.schema)
    if task is not None:
        tasks.refuse_task(task, target)
    streamed = reason_to_stream(rows)
    if not streamed:
        return _from_rows(rows.read(), parts, task, models, wishes, progress, told)
    taken = tasks.take_for(target, rows.blocks())
    if (task or taken.task) == CLASSIFICATION:
        raise announce.cannot_classify(streamed)
    wishes.refuse_for(REGRESSION)
    groups = rows.with_parts(parts).reduce(Grouped(Moments()))
    stored = StoredMoments(rows.schema, parts, groups)
    said = ((taken.said,) if task is None else ()) + announce.read_once(rows, streamed)
    return study_moments(stored, models, progress, told, said)


def _from_rows(
    table: InMemory,
    parts: Parts,
    task: str | None,
    models: Sequence[str] | None,
    wishes: Options,
    progress: Any,
    told: dict[str, Any],
) -> Study:
    table, task, said = _with_task(table, task)
    wishes.refuse_for(task)
    columns = profile(table)
    bench = _split(table, parts)
    targets = table.block.y.shape[1] if task == CLASSIFICATION else 1
    size = Size(len(bench.training), len(table.block.terms), targets)
    entrants, omitted = candidates(task, models, size)
    said += announce.about(table, columns, bench, parts) + omitted
    setting = StudyDesign(table, parts, bench, columns, entrants, said, told, progress)
    if task == REGRESSION:
        return study_numbers(setting)
    return study_classes(setting, wishes, size, asked=models is not None)


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


def _split(table: InMemory, parts: Parts) -> RowFolds:
    """Rows with the part of each; refuses a table that cannot be split."""
    bench = RowFolds(table, np.asarray(table.with_parts(parts).block.parts))
    if len(bench.held) < FEWEST_HELD or len(bench.training) < FEWEST_TRAINING or bench.k < 2:
        raise too_small(len(bench.labels))
    return bench

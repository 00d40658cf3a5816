"""The chosen classifier of a stream: fitted to all training rows, then tested in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.rows.block import concatenate
from separatrix.rows.row_sample import Both
from separatrix.rows.rows import InMemory
from separatrix.study import inferred
from separatrix.study.candidates import BASELINE
from separatrix.study.checks.rare_classes import missed_classes
from separatrix.study.classes.calibration import Calibrated, with_calibration
from separatrix.study.classes.costs import DecisionCosts
from separatrix.study.classes.covariances import covariance_tests
from separatrix.study.classes.out_of_fold import by_fold
from separatrix.study.classes.planes import surface_of
from separatrix.study.classes.streaming.choice import ComparedStream
from separatrix.study.classes.streaming.data import ClassData
from separatrix.study.classes.streaming.scores import (
    stream_class_scores,
    stream_decision,
    stream_scores,
)
from separatrix.study.classes.streaming.test_sums import TestSums
from separatrix.study.classes.winner import Winner
from separatrix.study.describe import describe
from separatrix.study.design import Metadata, training_rows, with_warnings
from separatrix.study.explanation.run import explained
from separatrix.study.folds import TEST, RowFolds
from separatrix.study.result import Choice, Study
from separatrix.study.stream_record import StreamRecord
from separatrix.study.tasks import CLASSIFICATION


def finish(
    data: ClassData,
    compared: ComparedStream,
    choice: Choice,
    costs: DecisionCosts | None,
    metadata: Metadata,
    reason: str,
) -> Study:
    """Fit the winner, test it once, and describe it; the comparison is filled in by the caller."""
    winner = _fitted(data, compared, choice, costs)
    baseline = with_warnings(compared.named(BASELINE).contender.fit)[0]
    own = None if costs is None else costs.among(data.classes)
    data.announce("the test part")
    schema, targets = data.schema, data.targets
    tested = data.rows.reduce(
        Both(
            TestSums(schema, targets, winner.core, winner.model, own),
            TestSums(schema, targets, baseline, baseline, own),
        )
    )
    sums, base = tested.first, tested.second
    if data.simulated:
        for found in (sums, base):
            found.counted_as(data.test.count)
    decision = None if costs is None or own is None else stream_decision(sums, costs, own)
    base_decision = None if costs is None or own is None else stream_decision(base, costs, own)
    names = tuple(str(c) for c in data.classes)
    description = describe(winner.model)
    record = _record(data, sums, reason)
    study = Study(
        source=metadata.source,
        command=metadata.command,
        target=schema.targets[0].name,
        task=CLASSIFICATION,
        seed=data.parts.seed,
        test_fraction=data.parts.test,
        n_train=data.total.count,
        n_test=data.test.count,
        columns=(),
        leaderboard=(),
        winner=choice.winner,
        reason=choice.reason,
        choice=choice,
        test=stream_scores(sums, decision),
        baseline_test=stream_scores(base, base_decision),
        model=winner.model,
        description=description,
        messages=(
            *winner.messages,
            *inferred.about_model(winner.encoding, description.stored_rows),
            *inferred.about_passes(record, data),
        ),
        warnings=winner.warnings,
        classes=names,
        calibration=winner.check,
        decision=decision,
        class_scores=stream_class_scores(sums),
        stream=record,
    )
    return study if data.simulated else _with_sample(study, data, winner)


def _fitted(
    data: ClassData, compared: ComparedStream, choice: Choice, costs: DecisionCosts | None
) -> Winner:
    """The winner on all folds, with its calibration and the costs of its decisions."""
    one = compared.named(choice.winner)
    data.announce(f"fitting {choice.winner} to all training rows")
    candidate, method = one.contender.candidate, compared.method(one)
    core, warned = with_warnings(one.contender.fit)
    check = compared.checks.get(one.name)
    model: Any = with_calibration(candidate, core, Calibrated(one.sampled, method, check))
    if costs is not None:
        model = costs.from_fitted(model)
    summary = () if check is None else (check.summary,)
    return Winner(core, model, one.sampled, costs, candidate, warned, check, summary)


def _record(data: ClassData, sums: TestSums, reason: str) -> StreamRecord:
    weight, confidence, right = sums.bins
    safe = np.where(weight > 0, weight, 1.0)
    rankings = sums.rankings.values()
    return StreamRecord(
        reason,
        data.n_passes,
        data.sample.n,
        data.test_sample.n,
        sums.cells[0],
        np.stack([confidence / safe, right / safe, weight]),
        float(sums.losses.mean[1]) if sums.losses.count else float("nan"),
        max((ranking.resolution for ranking in rankings), default=0.0),
        data.simulated,
    )


def _with_sample(study: Study, data: ClassData, winner: Winner) -> Study:
    """The study with what pictures show: of the sample of rows, not of all."""
    block = concatenate([data.sample, data.test_sample])
    table = InMemory(data.schema, block)
    labels = np.asarray(block.parts)
    folds = RowFolds(table, labels)
    test = winner.predict(table.take(np.flatnonzero(labels == TEST)), data.classes)
    shown = by_fold(winner.out_of_fold, folds) if study.winner != BASELINE else ()
    trained = training_rows(winner.core, winner.model, folds, winner.encoding, len(data.classes))
    missed = missed_classes(test, study.classes)
    study = replace(
        study,
        warnings=(*study.warnings, *missed),
        test_predictions=replace(test, rows=None),
        training=replace(trained, rows=None),
        out_of_fold=tuple(replace(part, rows=None) for part in shown),
        covariance_tests=covariance_tests(folds, data.classes),
        decision_surface=surface_of(winner.model, folds, test),
    )
    return explained(study, folds)

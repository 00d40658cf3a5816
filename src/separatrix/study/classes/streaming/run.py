"""A study of classes in a table beyond memory: a few passes, each over all rows.

pass 1            moments by part and class, and a sample ─ closed forms, warm starts
passes 2 …        logistic regression and linear SVM: all penalties and folds together
one pass          losses out of fold, under every calibration ─ choice
one pass          the test part, once
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.reservoir import Reservoir
from separatrix.rows.row_sample import Both, RowSample
from separatrix.rows.rows import Rows
from separatrix.statistics.by_class.parts import ClassMomentsByPart
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates
from separatrix.study.checks.table import check_stream
from separatrix.study.classes.costs import DecisionCosts, about_costs, decision_costs
from separatrix.study.classes.streaming.choice import ComparedStream
from separatrix.study.classes.streaming.comparison import OutOfFoldSums, calibratable
from separatrix.study.classes.streaming.contenders import (
    BY_PASSES,
    CLOSED_FORMS,
    ON_REQUEST,
    Contender,
    closed_form,
    iterative_contenders,
)
from separatrix.study.classes.streaming.data import ClassData
from separatrix.study.classes.streaming.passes import (
    CLOSED_FORM_PASSES,
    DESCENT_PASSES,
    Passes,
)
from separatrix.study.classes.streaming.simulation import simulated_data
from separatrix.study.classes.streaming.targets import ClassifiedRows
from separatrix.study.classes.streaming.winner import finish
from separatrix.study.comparison.options import Options
from separatrix.study.comparison.tuning import LOSSES
from separatrix.study.design import Metadata, with_warnings
from separatrix.study.folds import MIN_TEST_ROWS, MIN_TRAINING_ROWS, TEST, too_small
from separatrix.study.progress import stages, tell_compared, tell_inferred
from separatrix.study.result import Study
from separatrix.study.tasks import CLASSIFICATION
from separatrix.threads import one_blas_thread

#: Metrics that are means over rows, which one pass adds up.
STREAM_METRICS = ("log_loss", "error", "cost")


def study_class_stream(
    rows: Rows,
    parts: Parts,
    models: Sequence[str] | None,
    options: Options,
    progress: Any,
    metadata: Metadata,
    messages: tuple[str, ...],
    reason: str,
) -> Study:
    """Compare classifiers over a table that is read pass by pass."""
    refuse_stream_options(options, rows)
    wanted = stream_candidates(models)
    iterative = [c.name for c in wanted if c.name in BY_PASSES]
    planned = CLOSED_FORM_PASSES + (DESCENT_PASSES if iterative else 0)
    planned += isinstance(rows, ClassifiedRows)
    with stages(progress, planned + 1) as step, one_blas_thread():
        stream = Passes(rows.with_parts(parts), step, planned)
        stream.count += isinstance(rows, ClassifiedRows)  # its values were counted before
        stream.named("moments by class and fold")
        statistic = Both(ClassMomentsByPart(), Both(Reservoir(parts.seed, TEST), RowSample()))
        once = stream.reduce(statistic)
        sample, copies = once.second.first, once.second.second
        data = _data(stream, parts, once.first, sample)
        _, warned = with_warnings(lambda: check_stream(copies))
        study = study_class_data(data, wanted, options, progress, metadata, messages, reason)
        return replace(study, warnings=(*warned, *study.warnings))


def study_class_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    options: Options,
    progress: Any,
    metadata: Metadata,
) -> Study:
    """Compare what follows from moments of classes; their losses are those of simulated rows."""
    refuse_stream_options(options)
    wanted = _closed_forms(models)
    assert stored.by_class is not None
    with stages(progress, 1) as step, one_blas_thread():
        step("simulating rows with these moments")
        data = simulated_data(stored.schema, stored.parts, stored.by_class)
        messages = inferred.only_class_moments()
        return study_class_data(
            data, wanted, options, progress, metadata, messages, "only its moments are available"
        )


def _closed_forms(models: Sequence[str] | None) -> list[Candidate]:
    """Candidates that follow from moments; one requested by name that does not is refused."""
    if models is None:
        models = [name for name in CLOSED_FORMS if name not in ON_REQUEST]
    compared = candidates(CLASSIFICATION, models, Size(0, 0))[0]
    for candidate in compared:
        if candidate.name not in CLOSED_FORMS:
            others = ", ".join(name for name in CLOSED_FORMS if name != BASELINE)
            raise InputError(
                f"{candidate.name} needs the rows, and only moments of their classes are "
                "available.",
                remedy=f"Fit it to the table itself, or choose among {others}.",
            )
    return compared


def _data(stream: Passes, parts: Parts, groups: ClassMomentsByPart, sample: Reservoir) -> ClassData:
    """Everything that the first pass found; refuses what cannot be split."""
    some, test = sample.rows(test=False), sample.rows(test=True)
    if some is None or test is None:
        raise too_small(sum(sample.count.values()))
    return ClassData(stream, stream.schema, parts, groups, some, test)


def stream_candidates(models: Sequence[str] | None) -> list[Candidate]:
    """Those that a stream can compare; a model requested by name that cannot is refused."""
    known = (*CLOSED_FORMS, *BY_PASSES)
    size = Size(0, 0)
    if models is None:
        usual = [name for name in known if name not in ON_REQUEST]
        return candidates(CLASSIFICATION, usual, size)[0]
    compared = candidates(CLASSIFICATION, models, size)[0]
    for candidate in compared:
        if candidate.name not in known:
            raise InputError(
                f"{candidate.name} needs all rows in memory, and these are read as a stream.",
                remedy="Choose among " + ", ".join(n for n in known if n != BASELINE) + "; or "
                "raise the limit for files (SEPARATRIX_MEMORY=megabytes).",
            )
    return compared


def refuse_stream_options(options: Options, rows: Rows | None = None) -> None:
    """What needs all rows at once: averages, metrics of pairs of rows, imputation by regression."""
    metric = options.metric_for(CLASSIFICATION)
    if metric not in STREAM_METRICS:
        raise InputError(
            f"{metric!r} is no mean over rows, and these are read as a stream.",
            remedy=f"Compare by {', '.join(map(repr, STREAM_METRICS))}; the others are measured on "
            "the test set.",
        )
    if options.average:
        raise InputError(
            "An average of the candidates needs their predictions of all rows in memory.",
            remedy="Leave `average` out.",
        )
    if rows is not None and rows.schema.missing == "regress":
        raise InputError(
            "Imputation by regression reads the rows again for every fold.",
            remedy="Read the table with missing='mean' or missing='indicator'.",
        )


def study_class_data(
    data: ClassData,
    wanted: Sequence[Candidate],
    options: Options,
    progress: Any,
    metadata: Metadata,
    messages: tuple[str, ...],
    reason: str,
) -> Study:
    """Compare, choose, fit and test on data of which the moments are known."""
    _refuse_data(data)
    metric = options.metric_for(CLASSIFICATION)
    costs = _costs(options, data)
    columns = inferred.columns_of_moments(data.schema, data.total + data.test)
    messages += inferred.about_class_stream(data, columns)
    messages += tuple(about_costs(costs, data.classes))
    tell_inferred(progress, messages, wanted)
    loss = LOSSES.get(metric, "log_loss")
    found, refused = _contenders(data, wanted, loss, options.effort.work)
    compared = _compared(data, found, metric, costs)
    choice = compared.choose(options.rule, refused)
    entries = compared.entries(wanted, refused)
    tell_compared(progress, entries, choice.winner, choice.reason)
    study = finish(data, compared, choice, costs, metadata, reason)
    return replace(
        study,
        columns=columns,
        leaderboard=entries,
        messages=(*messages, *study.messages),
    )


def _contenders(
    data: ClassData, wanted: Sequence[Candidate], loss: str, work: float
) -> tuple[list[Contender], dict[str, str]]:
    """Every candidate fitted without each fold, and why others refuse the data."""
    found: list[Contender] = []
    refused: dict[str, str] = {}

    def attempt(names: Sequence[str], make: Callable[[], Sequence[Contender]]) -> None:
        try:
            found.extend(make())
        except InputError as refusal:
            if BASELINE in names:
                raise
            refused.update(dict.fromkeys(names, refusal.what))

    for one in wanted:
        if one.name in CLOSED_FORMS:
            attempt([one.name], lambda one=one: [closed_form(one, data, loss, work)])  # type: ignore[misc]
    by_passes = [c for c in wanted if c.name in BY_PASSES]
    if by_passes:
        data.announce("linear models, all folds and penalties")
        attempt(
            [c.name for c in by_passes], lambda: iterative_contenders(by_passes, data, loss, work)
        )
    order = {candidate.name: i for i, candidate in enumerate(wanted)}
    return sorted(found, key=lambda c: order[c.candidate.name]), refused


def _compared(
    data: ClassData, found: list[Contender], metric: str, costs: DecisionCosts | None
) -> ComparedStream:
    """Score all contenders out of fold in one pass."""
    ready = [calibratable(contender, data) for contender in found]
    data.announce("losses out of fold")
    own = None if costs is None else costs.among(data.classes)
    metrics = tuple(dict.fromkeys(("log_loss", "error", metric)))
    scorers = [one.scorer for one in ready]
    sums = data.rows.reduce(OutOfFoldSums(data.schema, data.targets, scorers, metrics, own))
    if data.simulated:  # rows of the table count, and not how many stand for them
        counts = {f: sum(m.count for m in data.groups.parts[f].parts.values()) for f in data.folds}
        sums.squares = {f: sums.moments[f].weight ** 2 / counts[f] for f in data.folds}
    return ComparedStream(ready, sums, metric)


def _refuse_data(data: ClassData) -> None:
    """Too few rows, one class, or too many."""
    if len(data.folds) < 2 or data.test.count < MIN_TEST_ROWS:
        raise too_small(data.total.count + data.test.count)
    if data.total.count < MIN_TRAINING_ROWS:
        raise too_small(data.total.count + data.test.count)
    name = data.schema.targets[0].name
    known = [*data.training, *data.groups.parts[TEST].parts]
    if len(set(known)) == 1:
        inferred.refuse_constant_target(np.repeat(str(known[0].level), 2), name)
    if len(data.targets) < 2:
        raise InputError(
            f"all {data.total.count} training rows are of class {data.classes[0]!r}; there are too "
            "few of any other.",
            column=name,
            remedy="Give more rows of the other classes, or split otherwise (`seed`, `test`).",
        )
    rows = data.total.count + data.test.count
    tasks.refuse_many_classes(len(data.targets), rows, data.schema.targets[0])


def _costs(options: Options, data: ClassData) -> DecisionCosts | None:
    """Costs checked against the classes of the table."""
    others = {str(t.level) for t in data.groups.parts[TEST].parts} - set(data.classes.tolist())
    labels = np.array(sorted({*data.classes.tolist(), *others}), dtype=object)
    costs = decision_costs(options.costs, options.reject, labels)
    if costs is not None and others:
        raise InputError(
            f"class {min(others)!r} is in the test part alone: what its rows cost cannot be "
            "measured from sums.",
            remedy="Give more rows of it, or split otherwise (`seed`, `test`).",
        )
    return costs

"""A study of classes in a table beyond memory: a few passes, each over all rows.

pass 1            moments by part and class, and a sample ─ closed forms, warm starts
two passes        logistic regression and linear SVM: all penalties and folds together
one pass          losses out of fold, under every calibration ─ choice; it certifies those fits
one pass          the certificate of a logistic regression of all rows, if that was chosen
one pass          the test part, once
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, MappedRows, Rows
from separatrix.rows.sampling import Reservoir, RowSample, Together
from separatrix.rows.schema import Block, Column, Kind, Schema, Term, Terms, concatenate
from separatrix.rows.sources.stream import TableRows
from separatrix.rows.split import TEST
from separatrix.statistics.class_preparation import ClassMomentsByPart
from separatrix.statistics.moments import Grouped, Moments
from separatrix.storage import StoredMoments
from separatrix.study import classification, design, inferred, tasks
from separatrix.study.candidates import BASELINE, Candidate, Size, candidates, compared_models
from separatrix.study.checks import check_stream, missed_classes
from separatrix.study.class_scores import DecisionCosts, about_costs, decision_costs
from separatrix.study.class_views import covariance_tests, surface_of
from separatrix.study.comparison import LOSSES
from separatrix.study.describe import describe
from separatrix.study.explanation import explain
from separatrix.study.options import StudyOptions
from separatrix.study.out_of_fold import Winner
from separatrix.study.progress import stages, tell_compared, tell_inferred
from separatrix.study.result import Choice, StreamRecord, Study
from separatrix.study.streaming import scores
from separatrix.study.streaming.candidates import (
    ClassData,
    CountedRows,
    FoldFits,
    LinearCandidates,
    closed_form,
    work_of_passes,
)
from separatrix.study.streaming.comparison import (
    Calibratable,
    OutOfFoldSums,
    StreamComparison,
    calibratable,
)
from separatrix.study.tasks import (
    CLASSIFICATION,
    MOST_NUMBERED_CLASSES,
    REGRESSION,
    InferredTask,
    counted_task,
    infer_task,
    level_name,
)
from separatrix.threads import one_blas_thread

#: Metrics that are means over rows, which one pass adds up.
STREAM_METRICS = ("log_loss", "error", "cost")


def study_class_stream(
    rows: Rows,
    parts: Parts,
    models: Sequence[str] | None,
    options: StudyOptions,
    progress: Any,
    metadata: design.Metadata,
    messages: tuple[str, ...],
    reason: str,
    task: str | None = None,
) -> Study:
    """Compare classifiers over a table that is read pass by pass.

    ``task`` is the one that was requested: it allows many classes, as in memory.
    """
    refuse_stream_options(options, rows)
    wanted = stream_candidates(models)
    work = work_of_passes(wanted)
    if isinstance(rows, ClassifiedRows):
        work.insert(0, 1.0)
    with stages(progress, [*work, 1.0]) as step, one_blas_thread():
        stream = CountedRows(rows.with_parts(parts), step, len(work))
        stream.passes += isinstance(rows, ClassifiedRows)  # its values were counted before
        stream.named("moments by class and fold")
        statistic = Together(ClassMomentsByPart(), Reservoir(parts.seed, TEST), RowSample())
        moments, sample, copies = stream.reduce(statistic).statistics
        data = _data(stream, parts, moments, sample)
        _, warned = design.with_warnings(lambda: check_stream(copies))
        study = study_class_data(data, wanted, options, progress, metadata, messages, reason, task)
        return replace(study, warnings=(*warned, *study.warnings))


def study_class_moments(
    stored: StoredMoments,
    models: Sequence[str] | None,
    options: StudyOptions,
    progress: Any,
    metadata: design.Metadata,
    task: str | None = None,
) -> Study:
    """Compare what follows from moments of classes; their losses are those of simulated rows."""
    refuse_stream_options(options)
    wanted = _closed_forms(models)
    assert stored.by_class is not None
    with stages(progress, 1) as step, one_blas_thread():
        step("simulating rows with these moments")
        data = simulated_data(stored.schema, stored.parts, stored.by_class)
        messages = inferred.only_class_moments()
        reason = "only its moments are available"
        return study_class_data(data, wanted, options, progress, metadata, messages, reason, task)


def _closed_forms(models: Sequence[str] | None) -> list[Candidate]:
    """Candidates that follow from moments; one requested by name that does not is refused."""
    known = {c.name: c for c in compared_models(CLASSIFICATION).values() if c.stream == "moments"}
    if models is None:
        models = [name for name, c in known.items() if not c.stream_on_request]
    compared = candidates(CLASSIFICATION, models, Size(0, 0))[0]
    for candidate in compared:
        if candidate.name not in known:
            others = ", ".join(name for name in known if name != BASELINE)
            raise InputError(
                f"{candidate.name} needs the rows, and only moments of their classes are "
                "available.",
                remedy=f"Fit it to the table itself, or choose among {others}.",
            )
    return compared


def _data(
    stream: CountedRows, parts: Parts, groups: ClassMomentsByPart, sample: Reservoir
) -> ClassData:
    """Everything that the first pass found; refuses what cannot be split."""
    some, test = sample.rows(test=False), sample.rows(test=True)
    if some is None or test is None:
        raise design.too_small(sum(sample.count.values()))
    return ClassData(stream, stream.schema, parts, groups, some, test)


def stream_candidates(models: Sequence[str] | None) -> list[Candidate]:
    """Those that a stream can compare; a model requested by name that cannot is refused."""
    streamed = [c for c in compared_models(CLASSIFICATION).values() if c.stream]
    known = [c.name for c in sorted(streamed, key=lambda c: c.stream == "passes")]
    size = Size(0, 0)
    if models is None:
        usual = [c.name for c in streamed if not c.stream_on_request]
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


def refuse_stream_options(options: StudyOptions, rows: Rows | None = None) -> None:
    """What needs all rows at once: metrics of pairs of rows, imputation by regression."""
    metric = options.metric_for(CLASSIFICATION)
    if metric not in STREAM_METRICS:
        raise InputError(
            f"{metric!r} is not a mean over rows, and these are read as a stream.",
            remedy=f"Compare by {', '.join(map(repr, STREAM_METRICS))}; the others are measured on "
            "the test set.",
        )
    if rows is not None and rows.schema.missing == "regress":
        raise InputError(
            "Imputation by regression reads the rows again for every fold.",
            remedy="Read the table with missing='mean' or missing='indicator'.",
        )


def study_class_data(
    data: ClassData,
    wanted: Sequence[Candidate],
    options: StudyOptions,
    progress: Any,
    metadata: design.Metadata,
    messages: tuple[str, ...],
    reason: str,
    task: str | None,
) -> Study:
    """Compare, choose, fit and test on data of which the moments are known."""
    messages += tuple(_refuse_data(data, task))
    metric = options.metric_for(CLASSIFICATION)
    costs = _costs(options, data)
    columns = inferred.columns_of_moments(data.schema, data.total + data.test)
    messages += inferred.about_class_stream(data, columns)
    messages += tuple(about_costs(costs, data.classes))
    tell_inferred(progress, messages, wanted)
    loss = LOSSES.get(metric, "log_loss")
    fits, linear, refused = _fits(data, wanted, loss, options.effort.work)
    selection = classification.ClassificationSelection(options, data.classes, costs)
    compared = _compare(data, wanted, fits, linear, refused, selection)
    choice, entries = compared.choose(options.rule), compared.entries
    tell_compared(progress, entries, choice.winner, choice.reason)
    study = finish(data, compared, choice, selection, metadata, reason)
    return replace(
        study,
        columns=columns,
        leaderboard=entries,
        messages=(*messages, *study.messages),
    )


def _fits(
    data: ClassData, wanted: Sequence[Candidate], loss: str, work: float
) -> tuple[list[FoldFits], LinearCandidates | None, dict[str, str]]:
    """Closed forms without each fold, candidates by passes, and why others refuse the data."""
    fold_fits: list[FoldFits] = []
    refused: dict[str, str] = {}
    for one in wanted:
        if one.stream == "moments":
            try:
                fold_fits.append(closed_form(one, data, loss, work))
            except InputError as refusal:
                if one.name == BASELINE:
                    raise
                refused[one.name] = refusal.what
    by_passes = [c for c in wanted if c.stream == "passes"]
    if not by_passes:
        return fold_fits, None, refused
    data.announce("linear models, all folds and penalties")
    try:
        return fold_fits, LinearCandidates.of(by_passes, data, loss, work), refused
    except InputError as refusal:
        refused |= dict.fromkeys([c.name for c in by_passes], refusal.what)
        return fold_fits, None, refused


def _compare(
    data: ClassData,
    wanted: Sequence[Candidate],
    closed: list[FoldFits],
    linear: LinearCandidates | None,
    refused: dict[str, str],
    selection: classification.ClassificationSelection,
) -> StreamComparison:
    """Score all candidates out of fold in one pass, which certifies those that take passes."""
    metrics = tuple(dict.fromkeys(("log_loss", "error", selection.metric)))
    known = [calibratable(fits, data) for fits in closed]
    while True:
        ready = known
        if linear is not None:
            ready = [*known, *(calibratable(fits, data) for fits in linear.fits())]
        order = {candidate.name: i for i, candidate in enumerate(wanted)}
        ready = sorted(ready, key=lambda one: order[one.name])
        data.announce("losses out of fold")
        scorers = [one.scorer for one in ready]
        sums = OutOfFoldSums(data.schema, data.targets, scorers, metrics, selection.own_costs)
        further = [] if linear is None else linear.statistics()
        sums, *found = data.rows.reduce(Together(sums, *further)).statistics
        if linear is None or linear.accept(found):
            break
    if linear is not None:
        ready = [_with_note(one, linear) for one in ready]
    if data.simulated:  # rows of the table count, and not how many stand for them
        counts = {f: sum(m.count for m in data.groups.parts[f].parts.values()) for f in data.folds}
        sums.squares = {f: sums.moments[f].weight ** 2 / counts[f] for f in data.folds}
    return StreamComparison.of(wanted, ready, refused, sums, selection.metrics)


def _with_note(one: Calibratable, linear: LinearCandidates) -> Calibratable:
    if one.name not in linear.paths:
        return one
    return replace(one, fits=linear.note_unsolved(one.fits))


def _refuse_data(data: ClassData, task: str | None) -> list[str]:
    """Refuse too few rows, one class, or too many; what the requested ``task`` allows is said."""
    if len(data.folds) < 2 or data.test.count < design.MIN_TEST_ROWS:
        raise design.too_small(data.total.count + data.test.count)
    if data.total.count < design.MIN_TRAINING_ROWS:
        raise design.too_small(data.total.count + data.test.count)
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
    return tasks.refuse_many_classes(len(data.targets), rows, data.schema.targets[0], task)


def _costs(options: StudyOptions, data: ClassData) -> DecisionCosts | None:
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


# -------------------------------------------------------------------------------------------------
# Classes of a stream: a numeric target is read as classes from its distinct values.


#: Distinct numbers beyond which a target is not counted further.
MOST_VALUES = 10 * MOST_NUMBERED_CLASSES


class TargetValues:
    """How often each number occurs in a target, of at most ``MOST_VALUES``; merges with ``+``."""

    def __init__(self, counts: Counter[float] | None = None) -> None:
        self.counts: Counter[float] = Counter() if counts is None else counts

    def fresh(self) -> Self:
        """No values."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if len(self.counts) > MOST_VALUES:
            return
        values, counts = np.unique(block.y[:, 0], return_counts=True)
        some = slice(MOST_VALUES + 1)  # more would only travel
        self.counts.update(dict(zip(values[some].tolist(), counts[some].tolist(), strict=True)))

    def __add__(self, other: Self) -> Self:
        if len(self.counts) > MOST_VALUES:
            return self
        return type(self)(self.counts + other.counts)


@dataclass(frozen=True)
class StreamTarget:
    """The task that the target of a stream suits, and the values of a numeric one.

    ``sums`` are what a regression needs, where the pass that counted the values found them.
    """

    inferred: InferredTask
    values: Counter[float] | None
    sums: tuple[Any, ...] = ()


def regression_sums() -> tuple[Any, ...]:
    """What a study of a numeric target needs: moments by part, and how many rows are copies."""
    return Grouped(Moments()), RowSample()


def stream_target(rows: Rows, target: Column, task: str | None, parts: Parts) -> StreamTarget:
    """The task by the target: the first rows decide, or a pass that counts its values."""
    if target.kind is not Kind.NUMERIC:
        return StreamTarget(infer_task(target, ()), None)
    # The first rows of files are read here, as they were for the schema; rows of a cluster stay
    # there, and their values are counted.
    first = next(iter(rows.here().blocks()), None) if isinstance(rows, TableRows) else None
    blocks = [] if first is None else [first]
    early = infer_task(target, blocks)
    values = {float(v) for block in blocks for v in np.unique(block.y[:, 0])}
    broken = any(v != np.floor(v) for v in values) and len(values) > 2
    decided = broken or len(values) > MOST_NUMBERED_CLASSES
    if task == REGRESSION or (task is None and decided):
        return StreamTarget(early, None)
    further = () if task == CLASSIFICATION else regression_sums()
    once = rows.with_parts(parts).reduce(Together(TargetValues(), *further))
    values, *sums = once.statistics
    return StreamTarget(counted_task(target, values.counts), values.counts, tuple(sums))


@dataclass(frozen=True)
class ClassTargets:
    """Indicators of the classes ``levels`` in place of a numeric target."""

    column: str
    levels: tuple[str, ...]
    values: tuple[float, ...]

    def apply(self, block: Block) -> Block:
        """The same rows with one indicator for each class."""
        order = np.argsort(self.values)
        known = np.array(self.values)[order]
        at = np.searchsorted(known, block.y[:, 0]).clip(0, len(known) - 1)
        y = np.zeros((block.n, len(self.levels)))
        y[np.arange(block.n), order[at]] = 1.0
        targets = Terms(tuple(Term(self.column, level=level) for level in self.levels))
        return replace(block, y=y, targets=targets)


class ClassifiedRows(MappedRows):
    """Rows whose numeric target is read as classes; parts are those of the numbers."""

    def __init__(self, rows: Rows, targets: ClassTargets) -> None:
        super().__init__(rows, targets)
        column = Column(targets.column, Kind.DISCRETE, levels=targets.levels)
        self.targets = targets
        self.schema = replace(rows.schema, targets=(column,))

    def with_parts(self, parts: Parts) -> ClassifiedRows:
        """Label each row with its part, by its content before the target was read as classes."""
        return ClassifiedRows(self.rows.with_parts(parts), self.targets)


def with_class_target(rows: Rows, target: Column, values: Counter[float] | None) -> Rows:
    """The same rows with a target of classes."""
    if target.kind is not Kind.NUMERIC:
        return rows
    assert values is not None
    if len(values) > MOST_VALUES:
        raise InputError(
            f"the target has more than {MOST_VALUES} distinct numbers, too many for classes.",
            column=target.name,
            remedy="Use `task='regression'`.",
        )
    names = {level_name(value): value for value in values}
    levels = tuple(sorted(names))
    return ClassifiedRows(
        rows, ClassTargets(target.name, levels, tuple(names[level] for level in levels))
    )


# -------------------------------------------------------------------------------------------------
# Rows that stand for those of which there are only moments: normal, with exactly these moments.
#
#     x = μ + z Σ^½,      z standard normal, centered and whitened within each class and part
#
# Means and covariances of linear scores are then those of the rows themselves; how often a boundary
# is crossed is that of normal scores.


#: Simulated rows in all, and of a class in a part at least.
ROWS, LEAST = 20_000, 50


def simulated_data(schema: Schema, parts: Parts, groups: ClassMomentsByPart) -> ClassData:
    """Class moments with rows that have them."""
    cells = [
        (part, term, m)
        for part in sorted(groups.parts)
        for term, m in sorted(groups.parts[part].parts.items(), key=lambda pair: str(pair[0]))
        if m.count
    ]
    total = sum(m.weight for _, _, m in cells)
    terms, targets = Terms(()), Terms(())
    for _, term, m in cells:
        terms, targets = terms.union(m.terms), targets.union(Terms((term,)))
    targets = Terms(tuple(sorted(targets, key=lambda t: str(t.level))))
    rng = np.random.default_rng(parts.seed)
    x, y, w, labels = [], [], [], []
    for part, term, m in cells:
        n = max(LEAST, 2 * len(terms), round(ROWS * m.weight / total))
        x.append(_normal(m.aligned(terms, Terms(())), n, rng))
        y.append(np.tile((np.arange(len(targets)) == targets.position[term]) * 1.0, (n, 1)))
        w.append(np.full(n, m.weight / n))
        labels.append(np.full(n, part))
    block = Block(
        np.concatenate(x), np.concatenate(y), np.concatenate(w), terms, targets,
        np.concatenate(labels),
    )  # fmt: skip
    is_test = np.asarray(block.parts) == TEST
    if not is_test.any() or is_test.all():
        raise design.too_small(sum(m.count for _, _, m in cells))
    sample, test = block.take(np.flatnonzero(~is_test)), block.take(np.flatnonzero(is_test))
    rows = InMemory(schema, block)
    return ClassData(rows, schema, parts, groups, sample, test, simulated=True)


def _normal(m: Moments, n: int, rng: np.random.Generator) -> Floats:
    """n rows with the mean and the covariance of the moments."""
    d = m.d
    z = rng.standard_normal((n, d))
    z -= z.mean(axis=0)
    scale = np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight)
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = linalg.eigh(m.xx / m.weight / np.outer(safe, safe))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    if n > d:  # exactly uncorrelated, of variance one
        z = linalg.solve_triangular(linalg.cholesky(z.T @ z / n, lower=True), z.T, lower=True).T
    return np.asarray(m.x_mean + (z @ root.T) * safe)


# -------------------------------------------------------------------------------------------------
# The chosen classifier of a stream: fitted to all training rows, then tested in one pass.


def finish(
    data: ClassData,
    compared: StreamComparison,
    choice: Choice,
    selection: classification.ClassificationSelection,
    metadata: design.Metadata,
    reason: str,
) -> Study:
    """Fit the winner, test it once, and describe it; the comparison is filled in by the caller."""
    winner = _fit_winner(data, compared, choice, selection)
    baseline = design.with_warnings(compared.fits[BASELINE].fit)[0]
    costs, costs_among = selection.costs, selection.own_costs
    data.announce("the test part")
    schema, targets = data.schema, data.targets
    tested = data.rows.reduce(
        Together(
            scores.SumsOverTestRows(schema, targets, winner.core, winner.model, costs_among),
            scores.SumsOverTestRows(schema, targets, baseline, baseline, costs_among),
        )
    )
    sums, base = tested.statistics
    if data.simulated:
        for sums_of in (sums, base):
            sums_of.counted_as(data.test.count)
    decision = (
        None
        if costs is None or costs_among is None
        else scores.stream_decision(sums, costs, costs_among)
    )
    base_decision = (
        None
        if costs is None or costs_among is None
        else scores.stream_decision(base, costs, costs_among)
    )
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
        test=scores.stream_scores(sums, decision),
        baseline_test=scores.stream_scores(base, base_decision),
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
        class_scores=scores.stream_class_scores(sums),
        stream=record,
    )
    return study if data.simulated else _with_sample(study, data, winner)


def _fit_winner(
    data: ClassData,
    compared: StreamComparison,
    choice: Choice,
    selection: classification.ClassificationSelection,
) -> Winner:
    """The winner on all folds, with its calibration and the costs of its decisions."""
    data.announce(f"fitting {choice.winner} to all training rows")
    fits, found = compared.fits[choice.winner], compared.predictions[choice.winner]
    core, warned = design.with_warnings(fits.fit)
    model = classification.with_calibration(fits.candidate, core, found)
    winner = Winner(core, model, found, None, fits.candidate, warned)
    return selection.complete(winner, choice.winner)


def _record(data: ClassData, sums: scores.SumsOverTestRows, reason: str) -> StreamRecord:
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
    folds = design.RowFolds(table, labels)
    test = classification.predictions(
        winner, table.take(np.flatnonzero(labels == TEST)), data.classes
    )
    shown = classification.by_fold(winner.out_of_fold, folds) if study.winner != BASELINE else ()
    trained = design.training_rows(
        winner.core, winner.model, folds, winner.encoding, len(data.classes)
    )
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
    return explain(study, folds)

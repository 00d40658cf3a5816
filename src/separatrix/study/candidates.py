"""The candidates of a study, simplest first: declared estimators, by their cost on a table."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.catalogue import DECLARATIONS, TASKS, Declaration, of_task
from separatrix.messages import InputError, did_you_mean

BASELINE = "baseline"
#: Names that are abbreviations, and are shown in capitals.
ABBREVIATIONS = {"gp", "lda", "qda", "rda", "svm", "svr"}
#: The beginning of the name of a model of the logarithm of the target.
LOG = "log_"


@dataclass(frozen=True)
class Size:
    """What the cost of a fit depends on: rows, columns of the design, classes (1 for numbers).

    ``work`` is what a candidate may take in operations, ``memory`` in bytes; ``folds`` are those of
    the comparison, ``levels`` those of the columns that stand for a level.
    """

    rows: int
    terms: int
    classes: int = 1
    folds: int = 5
    work: float = math.inf
    memory: float = math.inf
    levels: int = 0

    @property
    def numbers(self) -> float:
        """Numbers of the design, filled in."""
        return float(self.rows) * self.terms


@dataclass(frozen=True)
class Candidate:
    """A model to compare. ``from_moments`` says that moments are all it needs of the rows.

    ``tuned`` names the fitted attributes of its tuned hyperparameters; ``folds`` says that it tunes
    them on as many folds as the study has. ``raw`` marks a model that reads the table without
    imputation. ``too_expensive`` says why it is left out unless requested by name ("" if it is
    not), by the size of the data and not by the clock, so that the same table always gives the same
    comparison. A ``slow`` one has its learning curve from fewer fits. A ``tunable`` one tunes on
    the folds of the study, and gives its out-of-fold predictions on the way
    (:class:`separatrix.selection.tuning.Tunable`); ``share`` is its share of the work allowed.
    One ``on_request`` is compared only if named: others do as well on every table of the benchmark.
    ``several`` are options for more than two classes. ``logarithms`` says that it is also compared
    as a model of the logarithm of a skewed target; ``log_offset`` is what is added to the target
    before, None for a model of the target itself. ``only`` says of what targets it is compared
    unless it is named: "counts", which are whole and not negative, or "two classes". Where all rows
    are a stream, it follows from ``stream``: "moments" of the classes, or further "passes";
    ``stream_on_request`` only if named.
    ``rows_a_unit`` are those at which its comparison takes as long again as that of a simple one,
    ``fit_operations`` those of a single fit with given parameters, roughly.

    ``searched`` are parameters that it tunes where none of them is given.

    ``operations`` are those that it cannot do without, however few rows it tunes on, and ``copies``
    how often it holds the design with every zero filled in (0: never, or a few rows of it). One
    that needs more of either than a study may take is left out unless it is requested by name.
    """

    name: str
    label: str
    task: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    from_moments: bool = False
    tuned: tuple[str, ...] = ()
    folds: bool = False
    raw: bool = False
    slow: bool = False
    tunable: bool = False
    share: float = 1.0
    on_request: bool = False
    several: dict[str, Any] = field(default_factory=dict)
    logarithms: bool = False
    log_offset: float | None = None
    only: str = ""
    stream: str = ""
    stream_on_request: bool = False
    rows_a_unit: float = math.inf
    fit_operations: Callable[[Size], float] | None = None
    too_expensive: Callable[[Size], str] | None = None
    operations: Callable[[Size], float] | None = None
    copies: Callable[[Size], float] | None = None
    searched: tuple[str, ...] = ()

    def memory(self, size: Size) -> float:
        """Bytes that it holds at once, beside the table."""
        return 0.0 if self.copies is None else 8.0 * size.numbers * self.copies(size)

    def reason_against(self, size: Size) -> str:
        """Why it is not compared unless it is requested by name; empty if it is."""
        reason = "" if self.too_expensive is None else self.too_expensive(size)
        work = 0.0 if self.operations is None else self.operations(size)
        if reason:
            return reason
        shape = f"{size.rows:,} rows of {size.terms:,} columns"
        most = self.share * size.work
        if work > most:
            return f"{shape} are {power(work)} operations, and it may take {power(most)}"
        if self.memory(size) > size.memory:
            return (
                f"{shape} as it needs them take {self.memory(size) / 1e9:.1f} GB, and a study of "
                f"this table may take {size.memory / 1e9:.1f} GB beside it"
            )
        return ""

    def with_size(self, size: Size) -> Candidate:
        """The same with the options for so many classes."""
        if size.classes <= 2 or not self.several:
            return self
        return replace(self, options={**self.options, **self.several})

    def make(self, folds: int) -> Any:
        """An unfitted estimator; ``folds`` are for those that tune a penalty."""
        cls = DECLARATIONS[self.model].load()
        model = cls(**self.options, **({"cv": folds} if self.folds else {}))
        if self.log_offset is None:
            return model
        return DECLARATIONS["LogTargetRegressor"].load()(model, offset=self.log_offset)

    @property
    def folds_parameter(self) -> str:
        """The parameter that takes the folds of one that tunes a penalty."""
        return "cv" if self.log_offset is None else "estimator__cv"

    def with_parameters(self, given: Mapping[str, Any]) -> Candidate:
        """The same with these parameters; of one that it searches for, nothing is searched."""
        known = DECLARATIONS[self.model].load()(**self.options).get_params(deep=False)
        values = {}
        for name, value in given.items():
            grid = f"{name}s"
            if name not in known and grid in known:  # alpha=1 for alphas=[1]
                name, value = grid, value if isinstance(value, list) else [value]
            if name not in known or name == "cv":
                others = [other for other in known if other not in ("cv", "n_jobs", "verbose")]
                raise InputError(
                    f"{self.name} has no parameter {name!r} that could be given.",
                    remedy=did_you_mean(name, others) if others else "Leave it out.",
                )
            # a grid has its values, the number of them, or None by default
            grid_taken = known[name] is None or type(known[name]) in (list, tuple, int)
            if isinstance(value, list) and (name in self.searched or not grid_taken):
                raise InputError(
                    f"{self.name}.{name} takes one value, not {len(value)}.",
                    remedy="Give one, or compare studies with each of them.",
                )
            values[name] = value
        fixed = not self.searched or not set(values) & set(self.searched)
        return replace(
            self,
            options={**self.options, **values},
            several={k: v for k, v in self.several.items() if k not in values},
            tunable=self.tunable and fixed,
        )

    def of_logarithms(self, offset: float) -> Candidate:
        """The same as a model of the logarithm of the target."""
        return replace(
            self,
            name=f"{LOG}{self.name}",
            label=f"{self.label}, logarithm of the target",
            from_moments=False,
            tuned=(),
            log_offset=offset,
        )


def power(operations: float) -> str:
    """2e10 as 2·10¹⁰."""
    digits, exponent = f"{operations:.0e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def compared_models(task: str) -> dict[str, Candidate]:
    """The candidates of a task by name, simplest first: of two that are equally good, the first."""
    known = [(found.name, fields) for found in of_task(task) for fields in found.candidates]
    known.sort(key=lambda pair: float(pair[1]["rank"]))
    return {
        fields["name"]: Candidate(
            task=task, model=model, **{key: v for key, v in fields.items() if key != "rank"}
        )
        for model, fields in known
    }


def _candidate(declared: Declaration) -> Candidate:
    """A declared class as a candidate; one that studies do not compare unasked, by its name.

    Its columns are standardized and its penalty is tuned where its parameters allow it, and nothing
    is known of its costs.
    """
    if declared.candidates:
        return compared_models(declared.task)[declared.studied_as]
    summary = (inspect.getdoc(declared.load()) or declared.name).partition("\n")[0]
    return Candidate(
        declared.name,
        summary.partition(":")[0].rstrip("."),
        declared.task,
        declared.name,
        declared.free_of_units(),
        folds="cv" in declared.make().get_params(deep=False),
        slow=True,
        on_request=True,
    )


def display_name(name: str) -> str:
    """The name of a candidate for people: ``SVR``, ``learned metric``."""
    return " ".join(word.upper() if word in ABBREVIATIONS else word for word in name.split("_"))


def is_count(y: Floats, w: Floats) -> bool:
    """Whether a target is whole and not negative."""
    y = y[w > 0]
    return bool((y >= 0.0).all() and (y == np.floor(y)).all())


def logarithm_offset(y: Floats, w: Floats) -> float | None:
    """What to add to a target before its logarithm is taken; None where it should not be.

    It is skewed, and its logarithms are less so; of counts, which may be zero, it is 1.
    """
    offset = 1.0 if is_count(y, w) and not y[w > 0].all() else 0.0
    y = y[w > 0]
    if not len(y) or not (y + offset > 0.0).all():
        return None
    skewness = abs(_skewness(y))
    # Skewness from which a target is also tried in logarithms: that of the exponential distribution
    # is 2, that of a normal one 0; below 1 logarithms hardly change the order of errors.
    return offset if skewness > max(1.0, abs(_skewness(np.log(y + offset)))) else None


def _skewness(values: Floats) -> float:
    """Third moment in standard deviations; 0 of a constant."""
    z = values - values.mean()
    deviation = float(np.sqrt((z**2).mean()))
    return float(((z / deviation) ** 3).mean()) if deviation > 0.0 else 0.0


def candidates(
    task: str,
    requested: Sequence[str] | None,
    size: Size,
    log_offset: float | None = None,
    counts: bool = False,
) -> tuple[list[Candidate], list[str]]:
    """Those to compare, the baseline always among them; and a message on each that is left out.

    With ``log_offset``, models of the logarithm of the target are among them; with ``counts``
    those of counts.
    """
    known = compared_models(task)
    offset = log_offset or 0.0
    if requested is not None:
        requested = [_as_declared(name, known) for name in requested]
    if requested is None:
        kinds = {"", "counts" * counts, "two classes" * (size.classes == 2)}
        usual = [c for c in known.values() if not c.on_request and c.only in kinds]
        if log_offset is not None:
            usual += [c.of_logarithms(offset) for c in usual if c.logarithms]
        reasons = {c.name: c.reason_against(size) for c in usual}
        messages = [left_out(name, reason) for name, reason in reasons.items() if reason]
        return [c.with_size(size) for c in usual if not reasons[c.name]], messages
    plain = [name for name in requested if name in known or name.removeprefix(LOG) not in known]
    logged = [known[n.removeprefix(LOG)].of_logarithms(offset) for n in requested if n not in plain]
    wanted = {c.name: c for c in (_candidate_named(name, task, known) for name in plain)}
    others = [c for name, c in wanted.items() if name not in known]
    ordered = [c for name, c in known.items() if name in {BASELINE, *wanted}]
    return [c.with_size(size) for c in (*ordered, *logged, *others)], []


def _as_declared(name: str, known: Mapping[str, Candidate]) -> str:
    """``SVR``, ``learned metric`` or ``Learned-Metric`` as the name that is declared."""
    folded = re.sub(r"[\s-]+", "_", name.strip()).casefold()
    return folded if folded.removeprefix(LOG) in known else name


def check_models(requested: Sequence[str], tasks: Sequence[str]) -> None:
    """Refuse a name that is that of no model of any of the tasks."""
    known = {name: found for task in tasks for name, found in compared_models(task).items()}
    for name in requested:
        declared = DECLARATIONS.get(name)
        if _as_declared(name, known).removeprefix(LOG) in known:
            continue
        if declared is None or declared.task not in tasks:
            _candidate_named(name, tasks[0], known)


def _candidate_named(name: str, task: str, known: Mapping[str, Candidate]) -> Candidate:
    """The candidate of a name, which may be that of its class."""
    if name in known:
        return known[name]
    declared = DECLARATIONS.get(name)
    if declared is not None and declared.task == task and declared.example is None:
        return _candidate(declared)
    what = f"There is no model {name!r}."
    if declared is not None and declared.task == task:
        what = f"{name} is made of other models, which a study does not choose."
    elif declared is not None or any(name in compared_models(other) for other in TASKS):
        what = f"{name!r} is not a model for {task}."
    classes = [found.name for found in of_task(task, alone=True)]
    raise InputError(what, remedy=did_you_mean(name, [*known, *classes]))


def with_parameters(
    compared: Sequence[Candidate], parameters: Mapping[str, Mapping[str, Any]], task: str
) -> tuple[list[Candidate], list[str]]:
    """The candidates with the parameters given by name of the model; what that means, in words."""
    known = compared_models(task)
    given = {_as_declared(name, known): dict(values) for name, values in parameters.items()}
    names = {name.removeprefix(LOG) for c in compared for name in (c.name,)}
    for name in given:
        if name.removeprefix(LOG) not in names:
            raise InputError(
                f"Parameters are given for {name!r}, which is not compared.",
                remedy=did_you_mean(name, [c.name for c in compared]),
            )
    changed, messages = [], []
    for candidate in compared:
        base = candidate.name.removeprefix(LOG)
        values = {**given.get(base, {}), **given.get(candidate.name, {})}
        changed.append(candidate.with_parameters(values) if values else candidate)
        if values:
            listed = ", ".join(f"{key} = {value}" for key, value in values.items())
            rest = "; nothing is searched" if candidate.tunable > changed[-1].tunable else ""
            messages.append(f"{candidate.name}: {listed}, as given{rest} (override: `parameters`).")
    return changed, messages


def refuse_memory(compared: Sequence[Candidate], size: Size, available: float) -> None:
    """Refuse, before any work is done, a requested candidate that does not fit into memory."""
    for candidate in compared:
        needed = candidate.memory(size)
        if needed > available:
            raise InputError(
                f"{candidate.name} needs about {needed / 1e9:.1f} GB for {size.rows:,} rows of "
                f"{size.terms:,} columns, and this computer has {available / 1e9:.1f} GB.",
                remedy="Leave it out of `models`, or give fewer rows or columns.",
            )


def left_out(name: str, reason: str) -> str:
    """The message on a candidate that is not compared."""
    return f"{name} is left out: {reason} (override: `models=['{name}']`)."

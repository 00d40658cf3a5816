"""Messages on what a study inferred: what, why, and how to override it; and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.arrays import NDArray
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Column, Encoding, Kind, Schema, Term
from separatrix.rows.split import TEST
from separatrix.statistics.moments import Moments
from separatrix.study.candidates import Candidate
from separatrix.study.description import StoredRows
from separatrix.study.design import RowFolds

if TYPE_CHECKING:
    from separatrix.study.result import StreamRecord
    from separatrix.study.streaming.candidates import ClassData

#: How many columns are named before the rest is only counted.
NAMED = 4

#: How missing values are imputed, by ``missing``.
IMPUTATION = {
    "mean": "imputed with the mean (numbers) or the most frequent level",
    "compare": "imputed with the mean (numbers) or the most frequent level",
    "indicator": "imputed, with an indicator column",
    "regress": "imputed by regression on the other columns",
    "drop": "their rows are left out",
    "skip": "skipped wherever two rows are compared",
}


def one_target(schema: Schema) -> Column:
    """The target of a study; refuses none and several."""
    if not schema.targets:
        raise InputError("No target is named.", remedy="Name one: scan(…, target='column').")
    if len(schema.targets) > 1:
        names = ", ".join(repr(c.name) for c in schema.targets)
        raise InputError(
            f"A study has one target, but {names} were named.",
            remedy="Name one, or fit a model to several targets in Python.",
        )
    return schema.targets[0]


def about(
    table: Rows, columns: Sequence[ColumnProfile], folds: RowFolds, parts: Parts
) -> list[str]:
    """Rows, missing values, constant columns and split of a table in memory."""
    messages = [*table.notes]
    if table.dropped:
        messages.append(
            f"{table.dropped} rows are left out: their target"
            + (" or another value" if table.schema.missing == "drop" else " or weight")
            + " is missing (fill them in to use them)."
        )
    messages += about_columns(columns, table.schema)
    messages.append(_about_split(folds, parts))
    return messages


def _about_split(folds: RowFolds, parts: Parts) -> str:
    """How rows are split, by content, group or time."""
    n_train, n_test, schema = len(folds.training), len(folds.test), folds.table.schema
    if schema.time is not None:
        return (
            f"Held-out test set: the last {n_test} rows by {schema.time!r}; {folds.k} folds of the "
            f"other {n_train} follow one another, each predicted by models of earlier rows alone "
            "(override: `time`, `test`, `folds`)."
        )
    by_class = folds.table.schema.targets[0].kind is not Kind.NUMERIC
    together = ", with each class in proportion" if by_class else ""
    depends = "the content of each row"
    if schema.group is not None:
        together = (
            f", no {schema.group!r} in two parts; standard errors of the comparison count groups, "
            "intervals on the test set count rows"
        )
        depends = repr(schema.group)
    how = "leave-one-out" if folds.leave_one_out else f"{parts.folds}-fold cross-validation"
    return (
        f"Held-out test set: {n_test} rows; {how} on the other "
        f"{n_train}{together}. The split depends on {depends} and seed {parts.seed} alone "
        f"(override: {'`group`, ' if schema.group is not None else ''}`test`, `folds`, `seed`)."
    )


def about_moments(
    training: Moments,
    test: Moments,
    columns: Sequence[ColumnProfile],
    parts: Parts,
    schema: Schema,
) -> tuple[str, ...]:
    """The same for a table of which there are only moments."""
    split = (
        f"Held-out test set: {test.count} rows; {parts.folds}-fold cross-validation on the other "
        f"{training.count}. The hash of each row and seed {parts.seed} decide, one row at a time: "
        f"about {parts.test:.0%} are test rows (a table in memory is split exactly)."
    )
    return (*about_columns(columns, schema), split)


def about_columns(columns: Sequence[ColumnProfile], schema: Schema) -> list[str]:
    """Columns that are empty, have missing values, are constant or categorical."""
    messages = []
    wanted = frozenset(schema.read_names)
    features = [c for c in columns if c.name in wanted]
    empty = [c.name for c in features if c.missing == c.count]
    if empty:
        names = _list([repr(name) for name in empty])
        verb = "has" if len(empty) == 1 else "have"
        messages.append(f"{names} {verb} no value in any row and cannot be used.")
    incomplete = [c for c in features if 0 < c.missing < c.count]
    if incomplete:
        names = _list([f"{c.name!r} ({c.missing})" for c in incomplete])
        messages.append(
            f"Missing values in {names}: {IMPUTATION[schema.missing]} (override: `missing`)."
        )
    constant = [c.name for c in features if _is_constant(c)]
    if constant:
        names = _list([repr(name) for name in constant])
        messages.append(
            f"Constant, without effect: {names} (leave out: `kinds={{'NAME': 'ignore'}}`)."
        )
    words = [c for c in features if c.kind is Kind.DISCRETE and not _is_constant(c)]
    if words:
        names = _list([f"{c.name!r} ({c.distinct or len(c.levels)} levels)" for c in words])
        messages.append(f"Read as discrete: {names} (override: `kinds={{'NAME': 'numeric'}}`).")
    return messages


def _is_constant(column: ColumnProfile) -> bool:
    if column.kind is Kind.DISCRETE:
        return len(column.levels) == 1
    return column.count > column.missing and column.std == 0


def _list(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def about_logarithms(compared: Sequence[Candidate], models: Sequence[str] | None) -> list[str]:
    """That models of the logarithm of the target are compared, unasked."""
    offset = next((c.log_offset for c in compared if c.log_offset is not None), None)
    if models is not None or offset is None:
        return []
    what = "The target is positive and skewed" if not offset else "The target counts, and is skewed"
    plus = f" plus {offset:g}" if offset else ""
    return [
        f"{what}: models of its logarithm{plus} are compared as well, their predictions without "
        "bias in units of the target (override: `models`)."
    ]


def about_classes(classes: Sequence[str]) -> list[str]:
    """Which of two classes counts as positive."""
    if len(classes) != 2:
        return []
    return [f"Positive class: {classes[1]!r}, the second in order (scores and ROC refer to it)."]


def about_class_weights(table: InMemory, weights: Sequence[float]) -> str:
    """What a training row of each class counts for, and what that changes."""
    labels = [str(term.level) for term in table.block.targets]
    each = ", ".join(f"{name} × {w:.3g}" for name, w in zip(labels, weights, strict=True))
    return (
        f"Training rows count by class: {each}. Fits, comparison and probabilities are those of a "
        "population with such proportions; test rows keep their weights (override: "
        "`class_weight`)."
    )


def about_model(encoding: Encoding | None, stored: StoredRows | None) -> list[str]:
    """Imputation by regression in the chosen model, and training rows that it contains."""
    messages = []
    imputation = None if encoding is None else encoding.imputation
    if imputation is not None:
        rounds = f"{imputation.n_iter} round{'' if imputation.n_iter == 1 else 's'}"
        messages.append(
            f"Missing values were imputed by regression in {rounds}; the last one changed them by "
            f"{imputation.last_change:.1e} standard deviations."
        )
    if stored is not None:
        messages.append(
            f"The model contains {stored}, and so does model.sx: share it only with those who may "
            "see these rows."
        )
    return messages


def only_moments() -> tuple[str, ...]:
    """Why fewer models and no row-wise pictures."""
    return (
        "Only moments are available: models that need rows are not compared, and intervals assume "
        "normal errors (fit the table itself for the rest).",
    )


def read_once(rows: Rows, reason: str) -> tuple[str, ...]:
    """Why a table is read once and not stored."""
    return (
        *rows.notes,
        f"The table is {reason}: it is read once, and models that need the rows again are not "
        "compared (raise the limit for files: SEPARATRIX_MEMORY=megabytes).",
    )


def cannot_classify(reason: str) -> InputError:
    """The refusal of learning curves of classes that would need all rows in memory."""
    return InputError(
        f"The table is {reason}, and an error rate cannot be computed from moments.",
        remedy="Raise the limit for files (SEPARATRIX_MEMORY=megabytes), take a sample of the "
        "rows, or fit LeastSquaresClassifier in Python, which needs one pass.",
    )


def about_class_stream(data: ClassData, columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Columns, split and classes of a table that is read as a stream."""
    names = [str(c) for c in data.classes]
    absent = sorted(
        {str(t.level) for t, m in data.groups.parts[TEST].parts.items() if m.count} - {*names}
    )
    split = about_moments(data.total, data.test, columns, data.parts, data.schema)
    sentences = [*split, *about_classes(names)]
    if data.schema.group is not None:
        sentences.append(f"No {data.schema.group!r} is in two parts; standard errors count rows.")
    if absent:
        sentences.append(
            f"Classes in the test set alone: {_list([repr(name) for name in absent])}. No model "
            "can predict them, and their rows count as errors (give more rows of them)."
        )
    return tuple(sentences)


def read_in_passes(rows: Rows, reason: str) -> tuple[str, ...]:
    """Why a table of classes is read as a stream."""
    return (
        *rows.notes,
        f"The table is {reason}: it is read as a stream, in several passes, and models that need "
        "all rows in memory are not compared (raise the limit for files: "
        "SEPARATRIX_MEMORY=megabytes).",
    )


def about_passes(record: StreamRecord, data: ClassData) -> list[str]:
    """How many passes there were, and what a sample of the rows was used for."""
    if record.simulated:
        return []
    sentences = [f"{record.sentence} Losses and scores are those of all rows."]
    some, tested = data.total.count > record.n_sampled, data.test.count > record.n_test_sampled
    if some:
        sentences.append(
            f"Calibrations, the shrinkage of rda and starting points are learned from a random "
            f"sample of {record.n_sampled:,} of {data.total.count:,} training rows."
        )
    if tested:
        sentences.append(
            f"Pictures, importance of columns and predictions.csv show a random sample of "
            f"{record.n_test_sampled:,} of {data.test.count:,} test rows."
        )
    if record.auc_resolution > 0:
        sentences.append(
            "Areas under ROC curves are those of scores rounded to a sketch, exact within "
            f"{record.auc_resolution:.1e}."
        )
    return sentences


def only_class_moments() -> tuple[str, ...]:
    """What losses are where there are no rows to predict."""
    return (
        "Only moments of classes are available: models are fitted to them exactly, but losses and "
        "test scores are those of simulated normal rows with the means and covariances of every "
        "class and part (fit the table itself for real ones).",
    )


def refuse_constant_target(truth: NDArray[Any], name: str) -> None:
    """Nothing can be learned about a constant target."""
    if len(truth) > 1 and (truth == truth[0]).all():
        raise InputError(
            f"the target is {truth[0]!s} in every row: there is nothing to learn.",
            column=name,
            remedy="Name another column as target.",
        )


def refuse_rows_needed(
    compared: list[Candidate], requested: Sequence[str] | None
) -> list[Candidate]:
    """Those that need only moments; a model requested by name that needs rows is refused."""
    refused = [c.name for c in compared if not c.from_moments]
    if requested is not None and refused:
        raise InputError(
            f"{refused[0]} needs the rows, and only their moments are available.",
            remedy="Fit it to the table itself, or choose linear, ridge or lasso.",
        )
    return [c for c in compared if c.from_moments]


def columns_of_moments(schema: Schema, total: Moments) -> tuple[ColumnProfile, ...]:
    """Missing values, mean and deviation, counts of levels of each column, from moments."""
    position, n = total.terms.position, total.count
    scale = np.diag(total.scatter) / total.weight
    columns_known = []
    for column in schema.columns:
        indicator = position.get(Term(column.name, missing=True))
        missing = 0 if indicator is None else round(float(total.mean[indicator]) * n)
        if column.kind is Kind.DISCRETE:
            levels = {
                str(t.level): round(float(total.mean[j]) * n)
                for t, j in position.items()
                if t.column == column.name and t.level is not None
            }
            columns_known.append(ColumnProfile(column.name, column.kind, n, missing, levels=levels))
            continue
        j = position[Term(column.name)]
        mean, deviation = float(total.mean[j]), float(np.sqrt(scale[j]))
        if indicator is not None:
            mean, deviation = _of_present(total, j, indicator, column.placeholder)
        columns_known.append(
            ColumnProfile(column.name, column.kind, n, missing, mean=mean, std=deviation)
        )
    return tuple(columns_known)


def _of_present(total: Moments, j: int, indicator: int, origin: float) -> tuple[float, float]:
    """Mean and deviation over the rows with a value; missing ones are at ``origin``.

    With p the fraction missing and o the origin, E[x − o] = (1 − p) E[x − o | present]; so for
    squares.
    """
    missing = float(total.mean[indicator])
    if missing >= 1:
        return float("nan"), float("nan")
    shift = (float(total.mean[j]) - origin) / (1 - missing)
    square = (float(total.scatter[j, j]) / total.weight + (total.mean[j] - origin) ** 2) / (
        1 - missing
    )
    return origin + shift, float(np.sqrt(max(square - shift**2, 0.0)))

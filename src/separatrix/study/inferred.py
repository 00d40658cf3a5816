"""What a study takes for granted, said aloud: what, why, and how to have it otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Column, Kind, Schema, Term
from separatrix.statistics.moments import Moments
from separatrix.study.candidates import Candidate
from separatrix.study.data import RowFolds
from separatrix.study.stored_rows import memory_of

#: How many columns are named before the rest is only counted.
NAMED = 4

POLICY = {
    "mean": "gaps are filled with the mean (numbers) or the most frequent level",
    "indicator": "gaps are filled, and an indicator column says where",
    "regress": "gaps are filled with what the other columns predict",
    "drop": "rows with gaps are left out",
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
    table: Rows, columns: Sequence[ColumnProfile], bench: RowFolds, parts: Parts
) -> list[str]:
    """Rows, gaps, constant columns and split of a table in memory."""
    said = [*table.notes]
    if table.dropped:
        said.append(
            f"{table.dropped} rows are left out: their target"
            + (" or another value" if table.schema.missing == "drop" else " or weight")
            + " is missing (fill them in to use them)."
        )
    said += about_columns(columns, table.schema)
    said.append(_split(len(bench.training), len(bench.held), parts))
    return said


def about_moments(
    training: Moments,
    test: Moments,
    columns: Sequence[ColumnProfile],
    parts: Parts,
    schema: Schema,
) -> tuple[str, ...]:
    """The same for a table of which moments are left."""
    split = _split(training.count, test.count, parts)
    return (*about_columns(columns, schema), split)


def _split(n_train: int, n_test: int, parts: Parts) -> str:
    return (
        f"{n_test} rows are held back as the test part, {n_train} in {parts.folds} folds serve to "
        f"choose; a row's place depends on its content and seed {parts.seed} alone "
        "(override: --test, --folds, --seed)."
    )


def about_columns(columns: Sequence[ColumnProfile], schema: Schema) -> list[str]:
    """Columns that are empty, have gaps, never vary or hold words."""
    said = []
    features = [c for c in columns if c.name in schema.names]
    empty = [c.name for c in features if c.missing == c.count]
    if empty:
        names = _list([repr(name) for name in empty])
        verb = "has" if len(empty) == 1 else "have"
        said.append(f"{names} {verb} no value in any row and cannot be used.")
    gaps = [c for c in features if 0 < c.missing < c.count]
    if gaps:
        names = _list([f"{c.name!r} ({c.missing})" for c in gaps])
        said.append(
            f"Values are missing in {names}: {POLICY[schema.missing]} (override: --missing)."
        )
    constant = [c.name for c in features if _is_constant(c)]
    if constant:
        names = _list([repr(name) for name in constant])
        verb = "is" if len(constant) == 1 else "are"
        said.append(f"{names} {verb} constant and cannot matter (leave out: --kind NAME=ignore).")
    words = [c for c in features if c.kind is Kind.DISCRETE and not _is_constant(c)]
    if words:
        names = _list([f"{c.name!r} ({len(c.levels)} levels)" for c in words])
        said.append(f"Read as discrete: {names} (override: --kind NAME=numeric).")
    return said


def _is_constant(column: ColumnProfile) -> bool:
    if column.kind is Kind.DISCRETE:
        return len(column.levels) == 1
    return column.count > column.missing and column.std == 0


def _list(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def about_classes(classes: Sequence[str]) -> list[str]:
    """Which of two classes counts as positive."""
    if len(classes) != 2:
        return []
    return [f"Positive class: {classes[1]!r}, the second in order (scores and ROC refer to it)."]


def about_completion(model: Any) -> list[str]:
    """How filling gaps by regression went, in the model that is kept."""
    completion = getattr(getattr(model, "encoding_", None), "imputation", None)
    if completion is None:
        return []
    rounds = f"{completion.n_iter} round{'' if completion.n_iter == 1 else 's'}"
    return [
        f"Gaps were filled by regression in {rounds}; the last one changed the filled values by "
        f"{completion.last_change:.1e} standard deviations."
    ]


def about_core(model: Any) -> list[str]:
    """What is worth knowing of the model that is kept: gaps filled, rows remembered."""
    return [*about_completion(model), *about_memory(model)]


def about_memory(model: Any) -> list[str]:
    """Which training rows a stored model contains."""
    words = memory_of(model)
    if not words:
        return []
    return [
        f"The model keeps {words}, and model.sx holds them: give it only to those who may see "
        "these rows."
    ]


def only_moments() -> tuple[str, ...]:
    """Why fewer models and no row-wise pictures."""
    return (
        "Only moments were kept, so models that need rows are not compared, and intervals take "
        "errors to be normal (fit the table itself for the rest).",
    )


def read_once(rows: Rows, reason: str) -> tuple[str, ...]:
    """Why a table is read once and not kept."""
    return (
        *rows.notes,
        f"The table is {reason}: it is read once, and models that need the rows again are not "
        "compared (raise the limit for files: SEPARATRIX_MEMORY=megabytes).",
    )


def cannot_classify(reason: str) -> InputError:
    """The refusal of a classification that would need all rows in memory."""
    return InputError(
        f"The table is {reason}, and a rate of errors cannot be told from moments.",
        remedy="Raise the limit for files (SEPARATRIX_MEMORY=megabytes), take a sample of the "
        "rows, or fit LeastSquaresClassifier in Python, which needs one pass.",
    )


def refuse_constant_target(truth: NDArray[Any], name: str) -> None:
    """Nothing can be learned about a target that never changes."""
    if len(truth) > 1 and (truth == truth[0]).all():
        raise InputError(
            f"the target is {truth[0]!s} in every row: there is nothing to learn.",
            column=name,
            remedy="Name another column as target.",
        )


def refuse_no_spread(training: Moments, name: str) -> None:
    """The same, told from moments."""
    if training.yy[0, 0] <= 0:
        refuse_constant_target(np.repeat(training.y_mean[0], 2), name)


def refuse_rows_needed(entrants: list[Candidate], asked: Sequence[str] | None) -> list[Candidate]:
    """Those that moments suffice for; a model asked for by name that needs rows is refused."""
    needy = [c.name for c in entrants if not c.from_moments]
    if asked is not None and needy:
        raise InputError(
            f"{needy[0]} needs the rows, but only their moments are at hand.",
            remedy="Fit it to the table itself, or choose linear, ridge or lasso.",
        )
    return [c for c in entrants if c.from_moments]


def columns_of_moments(schema: Schema, total: Moments) -> tuple[ColumnProfile, ...]:
    """What moments still tell of each column: gaps, mean and deviation, shares of levels."""
    position, n = total.terms.position, total.count
    scale = np.diag(total.scatter) / total.weight
    found = []
    for column in schema.columns:
        gap = position.get(Term(column.name, missing=True))
        missing = 0 if gap is None else round(float(total.mean[gap]) * n)
        if column.kind is Kind.DISCRETE:
            levels = {
                str(t.level): round(float(total.mean[j]) * n)
                for t, j in position.items()
                if t.column == column.name and t.level is not None
            }
            found.append(ColumnProfile(column.name, column.kind, n, missing, levels=levels))
            continue
        j = position[Term(column.name)]
        mean, deviation = float(total.mean[j]), float(np.sqrt(scale[j]))
        if gap is not None:
            mean, deviation = _of_present(total, j, gap, column.placeholder)
        found.append(ColumnProfile(column.name, column.kind, n, missing, mean=mean, std=deviation))
    return tuple(found)


def _of_present(total: Moments, j: int, gap: int, origin: float) -> tuple[float, float]:
    """Mean and deviation over the rows without a gap; the gaps stand at ``origin``.

    With a share p of gaps and o the origin, E[x − o] = (1 − p) E[x − o | present]; so for squares.
    """
    share = float(total.mean[gap])
    if share >= 1:
        return float("nan"), float("nan")
    shift = (float(total.mean[j]) - origin) / (1 - share)
    square = (float(total.scatter[j, j]) / total.weight + (total.mean[j] - origin) ** 2) / (
        1 - share
    )
    return origin + shift, float(np.sqrt(max(square - shift**2, 0.0)))

"""Moments by class, in one pass: of raw terms, and of the design of a table.

Imputation by a constant and dummy coding are linear in the raw terms, so the raw moments of a
class become those of its design without another pass. Only regression imputation reads the rows
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows, EncodedRows, MappedStatistic, Rows, S, merge
from separatrix.rows.schema import NO_TERMS, Block, Encoding, Kind, Schema, Term, Terms
from separatrix.rows.sources.reader import no_usable_rows
from separatrix.statistics.moments import (
    Grouped,
    Means,
    Moments,
    SummedRows,
    design_moments,
    learn_encoding,
    prepare,
)


class MomentsByClass:
    """The :class:`Moments` of X for each class, by the indicator of the class; merges with ``+``.

    The scatter within a class is computed about its own mean, so that it is accurate however far
    apart the classes are.
    """

    def __init__(self, parts: dict[Term, Moments] | None = None) -> None:
        self.parts: dict[Term, Moments] = {} if parts is None else parts

    def fresh(self) -> Self:
        """An empty statistic."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block, class by class."""
        for j, term in enumerate(block.targets):
            rows = block.take(np.flatnonzero(block.y[:, j] > 0.5))
            rows = replace(rows, y=np.empty((rows.n, 0)), targets=NO_TERMS)
            self.parts.setdefault(term, Moments()).update(rows)

    def __add__(self, other: Self) -> Self:
        return type(self)(merge(self.parts, other.parts))


@dataclass(frozen=True)
class ClassCodes:
    """The class of every row as its part: the position of its indicator among ``targets``."""

    targets: Terms

    def apply(self, block: Block) -> Block:
        """Rows of these classes, without targets of their own."""
        y = np.zeros((block.n, len(self.targets)))
        for j, term in enumerate(block.targets):
            if term in self.targets.position:
                y[:, self.targets.position[term]] = block.y[:, j]
        block = replace(block, y=np.empty((block.n, 0)), targets=NO_TERMS, parts=y.argmax(axis=1))
        known = y.max(axis=1, initial=0.0) > 0.5
        return block if known.all() else block.take(np.flatnonzero(known))


@dataclass(frozen=True)
class TargetMap:
    """Linear map of the targets, y ↦ y·matrix, of blocks and of moments."""

    matrix: Floats
    targets: Terms

    def apply(self, block: Block) -> Block:
        """Map the targets of a block."""
        return replace(block, y=block.y @ self.matrix, targets=self.targets)

    def moments(self, m: Moments) -> Moments:
        """The moments of the mapped rows, from those of the rows."""
        return m.mapped(np.eye(m.d), self.matrix, m.terms, self.targets)


@dataclass(frozen=True)
class PreparedClasses:
    """The encoding of a table, and the moments of the design ``terms`` for each target class."""

    encoding: Encoding
    terms: Terms
    targets: Terms
    parts: dict[Term, Moments]

    def of(self, target: Term) -> Moments:
        """The moments of one class over the whole design; empty if no row has the class."""
        return self.parts.get(target, Moments()).aligned(self.terms, NO_TERMS)


def prepare_classes(rows: Rows) -> PreparedClasses:
    """Learn the encoding and the moments of each class in one pass (more for regression)."""
    if isinstance(rows, ArrayRows | EncodedRows) or rows.schema.missing == "regress":
        prepared = prepare(rows)
        parts = prepared.rows.reduce(MomentsByClass()).parts
        terms, targets = prepared.moments.terms, prepared.targets
        return PreparedClasses(prepared.encoding, terms, targets, parts)
    raw = rows.reduce(MomentsByClass()).parts
    total = reduce(add, raw.values(), Moments())
    if not total.count:
        raise no_usable_rows(rows.schema, rows.dropped, None)
    encoding = learn_encoding(rows.schema, _with_proportions(total, raw))
    columns = replace(encoding, targets=NO_TERMS)  # indicators are constant within a class
    parts = {
        term: design_moments(columns, part.aligned(total.terms, NO_TERMS))
        for term, part in raw.items()
    }
    return PreparedClasses(encoding, encoding.terms, encoding.targets, parts)


def _with_proportions(total: Moments, parts: dict[Term, Moments]) -> Moments:
    """Moments of all rows, with the class proportions as means of the class indicators."""
    targets = Terms(tuple(parts))
    proportions = np.array([part.weight for part in parts.values()]) / total.weight
    p = total.d + len(targets)
    scatter = np.zeros((p, p))
    scatter[: total.d, : total.d] = total.xx
    mean = np.concatenate([total.x_mean, proportions])
    return Moments(total.terms, targets, total.count, total.weight, mean, scatter)


# -------------------------------------------------------------------------------------------------
# Moments by part and class of a table, and rows of which only those of the classes are left.
#
#     μ, S of the raw terms      for every fold, the test part, and every class in them
#
# One pass over a table is all that Gaussian classes, naive Bayes and least squares on indicators
# need of it, whatever its number of rows, for every fold at once.


class ClassMomentsByPart(Grouped[MomentsByClass]):
    """:class:`MomentsByClass` for each value of ``block.parts``; merges part by part.

    Parts and classes of a block are told apart together, so that its rows are read once.
    """

    def __init__(
        self, inner: MomentsByClass | None = None, parts: dict[int, MomentsByClass] | None = None
    ) -> None:
        super().__init__(MomentsByClass() if inner is None else inner, parts)

    def update(self, block: Block) -> None:
        """Add the rows of a block, each to its part and class."""
        assert block.parts is not None, "the rows have no parts"
        k = max(len(block.targets), 1)
        labels, codes = np.unique(block.parts, return_inverse=True)
        cells = Grouped(Moments())
        cells.update(
            replace(
                block,
                y=np.empty((block.n, 0)),
                targets=NO_TERMS,
                parts=codes.reshape(-1) * k + block.y.argmax(axis=1),
            )
        )
        found: dict[int, MomentsByClass] = {}
        for cell, moments in cells.parts.items():
            if moments.count:
                part = found.setdefault(int(labels[cell // k]), MomentsByClass())
                part.parts[block.targets.items[cell % k]] = moments
        self.parts = merge(self.parts, found)
        self._refuse_size()

    def _refuse_size(self) -> None:
        numbers = sum(m.scatter.size for part in self.parts.values() for m in part.parts.values())
        # Numbers of moments of all parts and classes together: 100 MB, a few times on threads.
        max_numbers = 12_500_000
        if numbers <= max_numbers:
            return
        cells = [len(part.parts) for part in self.parts.values()]
        raise InputError(
            f"products of columns for {sum(cells)} cells (classes in {len(cells)} parts) take more "
            f"than {8e-6 * max_numbers:.0f} MB.",
            remedy="Leave out columns with many levels (kinds={'NAME': 'ignore'}), or use fewer "
            "folds.",
        )


@runtime_checkable
class FromClassMoments(Protocol):
    """A statistic that follows from the moments of the raw terms of every class."""

    def from_class_moments(self, schema: Schema, parts: Mapping[Term, Moments]) -> Any:
        """The statistic of the rows that have these moments."""


class ClassMomentRows(SummedRows):
    """A table reduced to the raw moments of its classes; statistics of single rows are refused."""

    stored = "the moments of their classes"
    models = "lda, qda, rda or naive_bayes"

    def __init__(self, schema: Schema, parts: Mapping[Term, Moments]) -> None:
        self.schema, self.parts = schema, dict(parts)

    def reduce(self, statistic: S) -> S:
        """The moments of all rows or of every class, and what follows from them."""
        if isinstance(statistic, MomentsByClass):
            return cast(S, MomentsByClass(dict(self.parts)))
        if isinstance(statistic, Moments):
            return cast(S, joint_moments(self.parts))
        if isinstance(statistic, Means):
            whole = joint_moments(self.parts)
            return cast(S, Means(whole.terms, whole.targets, whole.count, whole.weight, whole.mean))
        if isinstance(statistic, MappedStatistic):
            return cast(S, self._map(statistic))
        if isinstance(statistic, FromClassMoments):
            return cast(S, statistic.from_class_moments(self.schema, self.parts))
        return self._refuse()

    def _map(self, statistic: MappedStatistic[Any]) -> MappedStatistic[Any]:
        """A statistic of encoded rows: dummy coding and imputation are linear in the raw terms."""
        rows = self
        for encoding in statistic.maps:
            if not isinstance(encoding, Encoding) or encoding.imputation is not None:
                self._refuse()
            columns = replace(encoding, targets=NO_TERMS)
            design = {t: design_moments(columns, m) for t, m in rows.parts.items()}
            rows = type(self)(encoding.schema, design)
        return MappedStatistic(rows.reduce(statistic.inner), *statistic.maps)

    def with_parts(self, parts: Any) -> Self:  # noqa: ARG002
        """Refused: the rows cannot be told apart."""
        self._refuse()


def without_part(groups: Grouped[MomentsByClass], *left_out: int) -> dict[Term, Moments]:
    """The moments of every class over all parts but some, in the order of the classes."""
    total = MomentsByClass()
    for part in sorted(groups.parts):
        if part not in left_out:
            total = total + groups.parts[part]
    return {term: total.parts[term] for term in sorted(total.parts, key=lambda t: str(t.level))}


def joint_moments(parts: Mapping[Term, Moments]) -> Moments:
    """Moments of all rows, with one indicator per class as targets.

    S = Σₖ Sₖ + Σₖ Wₖ (μₖ − μ)(μₖ − μ)ᵀ, and likewise for the indicators, which are constant within
    a class.
    """
    total = Moments()
    for term, moments in parts.items():
        if not moments.count:
            continue
        terms = Terms((term,))
        d = moments.d
        scatter = np.zeros((d + 1, d + 1))
        scatter[:d, :d] = moments.xx
        mean = np.append(moments.x_mean, 1.0)
        total = total + Moments(moments.terms, terms, moments.count, moments.weight, mean, scatter)
    return total


# -------------------------------------------------------------------------------------------------
# Numbers of rows that moments disclose: of levels, of missing values, and of pairs of them.
#
#     n_ab = Σ 1[a] 1[b] = S_ab + n μ_a μ_b        for indicators a and b of the raw terms
#
# A sum over few rows says much about each. Every level, value and missing value has the number of
# its rows in the moments, and so has every pair of them in two columns.


@dataclass(frozen=True)
class SmallCell:
    """So many ``rows`` have what ``what`` says; ``columns`` are those that it is about."""

    rows: int
    what: str
    columns: tuple[str, ...] = ()


def smallest_cell(schema: Schema, moments: Moments, least: int) -> SmallCell | None:
    """The first cell of fewer than ``least`` rows, but some; None if there is none.

    The rows themselves come first, then single levels, then pairs of them.
    """
    if 0 < moments.count < least:
        return SmallCell(moments.count, "")
    names, columns, map_ = _indicators(schema, moments)
    if not names:
        return None
    if schema.weight is not None:
        raise InputError(
            f"under weights ({schema.weight!r}) sums do not tell how many rows have a level or a "
            "missing value, so that their least number cannot be checked.",
            remedy="Summarize without the weights, or leave out columns of text, true/false and "
            "missing values.",
        )
    counts = np.rint(map_ @ _second_moments(moments) @ map_.T).astype(np.int64)
    for i in np.flatnonzero((np.diag(counts) > 0) & (np.diag(counts) < least)):
        return SmallCell(int(counts[i, i]), names[i], (columns[i],))
    few = np.triu((counts > 0) & (counts < least), 1)
    for i, j in np.argwhere(few):
        both = f"{names[i]} and {names[j]}"
        return SmallCell(int(counts[i, j]), both, (columns[i], columns[j]))
    return None


def _second_moments(moments: Moments) -> Floats:
    """Σ u uᵀ of u = (1, raw terms)."""
    mean = np.append(1.0, moments.x_mean)
    total = moments.count * np.outer(mean, mean)
    total[1:, 1:] += moments.xx
    return total


def _indicators(schema: Schema, m: Moments) -> tuple[list[str], list[str], Floats]:
    """Indicators as linear maps of (1, raw terms): what they say, their columns, their weights.

    They are those of levels, of a missing value and of a value, of true and of false.
    """
    names: list[str] = []
    columns: list[str] = []
    rows: list[Floats] = []

    def add(column: str, what: str, weights: dict[int, float]) -> None:
        row = np.zeros(m.d + 1)
        for at, weight in weights.items():
            row[at] += weight
        names.append(what)
        columns.append(column)
        rows.append(row)

    for column in schema.columns:
        name = column.name
        missing = m.terms.position.get(Term(name, missing=True))
        absent = {} if missing is None else {missing + 1: 1.0}
        if missing is not None:
            add(name, f"no value of {name!r}", absent)
            add(name, f"a value of {name!r}", {0: 1.0, missing + 1: -1.0})
        for term, at in m.terms.position.items():
            if term.column == name and term.level is not None:
                add(name, f"{name!r} = {term.level!r}", {at + 1: 1.0})
        value = m.terms.position.get(Term(name))
        if column.kind is Kind.BOOLEAN and value is not None:
            true = {value + 1: 1.0, **dict.fromkeys(absent, -column.placeholder)}
            false = {0: 1.0, value + 1: -1.0}
            false |= dict.fromkeys(absent, column.placeholder - 1.0)
            add(name, f"{name!r} = true", true)
            add(name, f"{name!r} = false", false)
    return names, columns, np.array(rows).reshape(len(rows), m.d + 1)

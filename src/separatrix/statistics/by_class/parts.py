"""Moments by part and class of a table, and rows of which only those of the classes are left.

    μ, S of the raw terms      for every fold, the test part, and every class in them

One pass over a table is all that Gaussian classes, naive Bayes and least squares on indicators need
of it, whatever its number of rows, for every fold at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn, Protocol, Self, cast, runtime_checkable

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Block
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import MappedStatistic
from separatrix.rows.rows import InMemory, Rows, S, merged
from separatrix.rows.schema import NO_TERMS, Schema, Term, Terms
from separatrix.statistics.class_preparation import MomentsByClass
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.means import Means
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments

#: Numbers of moments of all parts and classes together: 100 MB, a few times on threads.
MAX_NUMBERS = 12_500_000


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
        self.parts = merged(self.parts, found)
        self._refuse_size()

    def _refuse_size(self) -> None:
        numbers = sum(m.scatter.size for part in self.parts.values() for m in part.parts.values())
        if numbers <= MAX_NUMBERS:
            return
        cells = [len(part.parts) for part in self.parts.values()]
        raise InputError(
            f"products of columns for {sum(cells)} cells (classes in {len(cells)} parts) take more "
            f"than {8e-6 * MAX_NUMBERS:.0f} MB.",
            remedy="Leave out columns with many levels (kinds={'NAME': 'ignore'}), or use fewer "
            "folds.",
        )


@runtime_checkable
class FromClassMoments(Protocol):
    """A statistic that follows from the moments of the raw terms of every class."""

    def from_class_moments(self, schema: Schema, parts: Mapping[Term, Moments]) -> Any:
        """The statistic of the rows that have these moments."""


class ClassMomentRows(Rows):
    """A table reduced to the raw moments of its classes; statistics of single rows are refused."""

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
            return cast(S, self._mapped(statistic))
        if isinstance(statistic, FromClassMoments):
            return cast(S, statistic.from_class_moments(self.schema, self.parts))
        return self._refuse()

    def _mapped(self, statistic: MappedStatistic[Any]) -> MappedStatistic[Any]:
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

    def blocks(self) -> Iterator[Block]:
        """Refused: there are no rows."""
        self._refuse()

    def read(self) -> InMemory:
        """Refused: there are no rows."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            "This model needs the rows, but only the moments of their classes are stored.",
            remedy="Fit it to the table itself, or choose lda, qda, rda or naive_bayes.",
        )


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
        own = Terms((term,))
        d = moments.d
        scatter = np.zeros((d + 1, d + 1))
        scatter[:d, :d] = moments.xx
        mean = np.append(moments.x_mean, 1.0)
        total = total + Moments(moments.terms, own, moments.count, moments.weight, mean, scatter)
    return total

"""Distance between rows that mix numbers with categories, gaps allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.distances.base import Metric, vectors
from separatrix.distances.loops import distances as loops
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True, eq=False)
class Gower(Metric):
    """Mean over columns of |x − z|/range, or of 1{x ≠ z} for categories; gaps are skipped.

    ``categorical`` numbers the columns of a numeric matrix that hold codes; in a table with text,
    text columns are categories by themselves. Ranges and levels are learned by :meth:`fitted`.
    ``groups`` numbers the columns of a design that are the 0/1 columns of one category each: they
    become one column of codes, behind the others.
    With gaps it is no metric: two rows may be equal in all that is known and still differ.
    """

    categorical: tuple[int, ...] = ()
    ranges: Floats | None = None
    levels: tuple[tuple[Any, ...], ...] | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """Not with gaps: a row that knows little is a shortcut between others."""
        return False

    def fitted(self, x: Any, w: Floats | None = None) -> Gower:
        """With the ranges and levels of this sample, its rows of positive weight."""
        if self.groups:
            joined = Gower(groups=self.groups).validate(x)
            last = tuple(range(joined.shape[1] - len(self.groups), joined.shape[1]))
            joined = joined if w is None else joined[w > 0]
            return Gower(last, np.ptp(joined, axis=0), None, self.groups)
        columns = _columns(x)
        levels = tuple(_levels(c) if _is_text(c) else () for c in columns)
        new = Gower(tuple(self.categorical), None, levels)
        codes = new.validate(x)
        known = ~np.isnan(codes) & np.array([True] if w is None else w > 0)[:, None]
        low = np.min(codes, axis=0, where=known, initial=np.inf)
        high = np.max(codes, axis=0, where=known, initial=-np.inf)
        return Gower(tuple(self.categorical), np.maximum(high - low, 0.0), levels)

    def validate(self, x: Any) -> Floats:
        """Numbers as they are, categories as codes; a level never seen gets a code of its own."""
        if self.groups:
            return self._joined(vectors(x))
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            return vectors(x, gaps=True)  # numbers alone, or rows that were coded before
        columns = _columns(x)
        if self.levels is None:
            raise InputError(
                "Gower() has no ranges yet.", remedy="Call Gower().fitted(X) on a sample first."
            )
        if len(columns) != len(self.levels):
            raise InputError(f"The metric knows {len(self.levels)} columns; {len(columns)} came.")
        coded = [_coded(c, known) for c, known in zip(columns, self.levels, strict=True)]
        return vectors(np.column_stack(coded), gaps=True)

    def _joined(self, x: Floats) -> Floats:
        """0/1 columns of a category as one column of codes; rows that were joined stay as is."""
        if self.ranges is not None and x.shape[1] == len(self.ranges):
            return x
        taken = {j for group in self.groups for j in group}
        others = [j for j in range(x.shape[1]) if j not in taken]
        codes = [x[:, group] @ np.arange(1.0, len(group) + 1) for group in self.groups]
        return np.column_stack([x[:, others], *codes])

    def precompute(self, z: Floats) -> Floats:
        """The points as columns."""
        if self.ranges is None:
            raise InputError(
                "Gower() has no ranges yet.", remedy="Call Gower().fitted(X) on a sample first."
            )
        return np.ascontiguousarray(z.T)

    def fill(self, x: Floats, prepared: Floats, out: Floats) -> None:
        """The mean difference of the known columns."""
        assert self.ranges is not None
        discrete = np.array([bool(known) for known in self.levels or ((),) * x.shape[1]])
        discrete[list(self.categorical)] = True
        loops.gower(x, prepared, discrete, np.asarray(self.ranges, dtype=float), out)


def _columns(x: Any) -> list[Any]:
    if isinstance(x, np.ndarray):
        return [x[:, j] for j in range(x.shape[1])]
    if hasattr(x, "columns") and hasattr(x, "__getitem__"):
        return [list(x[name]) for name in x.columns]
    rows = [tuple(row) for row in x]
    if len({len(row) for row in rows}) > 1:
        raise InputError("The rows have different numbers of columns.")
    return [list(column) for column in zip(*rows, strict=True)]


def _is_text(column: Sequence[Any]) -> bool:
    return any(isinstance(v, str | bool | np.bool_) for v in column)


def _missing(v: Any) -> bool:
    return v is None or (isinstance(v, float | np.floating) and np.isnan(v)) or str(v) == "<NA>"


def _levels(column: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sorted({str(v) for v in column if not _missing(v)}))


def _coded(column: Sequence[Any], known: tuple[Any, ...]) -> Floats:
    if not known:
        return _numbers(column)
    codes = {level: float(i) for i, level in enumerate(known)}
    new = float(len(known))
    return np.array([np.nan if _missing(v) else codes.get(str(v), new) for v in column])


def _numbers(column: Sequence[Any]) -> Floats:
    try:
        return np.array([np.nan if _missing(v) else float(v) for v in column])
    except (TypeError, ValueError):
        raise InputError(
            "A column holds neither numbers nor text.",
            remedy="Turn dates into numbers, and what stands for categories into text.",
        ) from None

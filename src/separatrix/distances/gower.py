"""Gower's distance between rows of numbers and categories, with missing values allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.arrays import Floats
from separatrix.distances import loops
from separatrix.distances.metrics import Metric, as_dense_matrix
from separatrix.messages import InputError


@dataclass(frozen=True, eq=False)
class Gower(Metric):
    """Gower's distance between rows that mix numbers and categories.

        d(x, z) = mean over columns of |xⱼ − zⱼ| / rangeⱼ, or of 1{xⱼ ≠ zⱼ} for categories

    Columns where either value is missing are skipped, which violates the axioms of a metric: two
    rows may agree in all that is known and still differ.

    Parameters
    ----------
    categorical : tuple of int, default=()
        Columns of a numeric matrix that hold codes of categories. In a table with text, the text
        columns are categories without being listed.
    ranges : array of shape (d,), optional
        Range of every column; estimated by :meth:`fitted`.
    levels : tuple of tuples, optional
        Levels of every text column, empty for numeric ones; estimated by :meth:`fitted`.
    groups : tuple of tuples of int, default=()
        Columns of a design matrix that one-hot encode one category each. Each group counts as one
        categorical column, placed after the others.

    See Also
    --------
    Euclidean : distance of numeric columns.
    Hamming : number of differing positions.

    References
    ----------
    J. C. Gower, A general coefficient of similarity and some of its properties, 1971.

    Examples
    --------
    >>> import separatrix as sx
    >>> rows = [(0.0, "red"), (5.0, "blue"), (10.0, "red")]
    >>> sx.Gower().fitted(rows).distances(rows)
    array([[0.  , 0.75, 0.5 ],
           [0.75, 0.  , 0.75],
           [0.5 , 0.75, 0.  ]])
    """

    categorical: tuple[int, ...] = ()
    ranges: Floats | None = None
    levels: tuple[tuple[Any, ...], ...] | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """False: missing values violate the triangle inequality."""
        return False

    def fitted(self, x: Any, w: Floats | None = None) -> Gower:
        """With the ranges and levels of the rows of positive weight in this sample."""
        if self.groups:
            merged = Gower(groups=self.groups).validate(x)
            last = tuple(range(merged.shape[1] - len(self._merged), merged.shape[1]))
            return Gower(last, _ranges(merged, w), None, self.groups)
        columns = _columns(x)
        levels = tuple(_levels(c) if _is_text(c) else () for c in columns)
        codes = Gower(tuple(self.categorical), None, levels).validate(x)
        return Gower(tuple(self.categorical), _ranges(codes, w), levels)

    def validate(self, x: Any) -> Floats:
        """Numbers unchanged, categories as codes; all unseen levels share one code of their own."""
        if self.groups:
            return self._merge_groups(as_dense_matrix(x, allow_missing=True))
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            return as_dense_matrix(x, allow_missing=True)  # numeric, or validated before
        columns = _columns(x)
        if self.levels is None:
            raise _refuse_unfitted()
        if len(columns) != len(self.levels):
            raise InputError(
                f"The metric was fitted on {len(self.levels)} columns; {len(columns)} were given."
            )
        coded = [_encode(c, levels) for c, levels in zip(columns, self.levels, strict=True)]
        return as_dense_matrix(np.column_stack(coded), allow_missing=True)

    def _merge_groups(self, x: Floats) -> Floats:
        """One-hot columns of a category as one column of codes; merged rows stay unchanged."""
        if not self._merged or (self.ranges is not None and x.shape[1] == len(self.ranges)):
            return x
        grouped = {j for group in self._merged for j in group}
        others = [j for j in range(x.shape[1]) if j not in grouped]
        codes = [x[:, group] @ np.arange(1.0, len(group) + 1) for group in self._merged]
        return np.column_stack([x[:, others], *codes])

    @property
    def _merged(self) -> tuple[tuple[int, ...], ...]:
        """Groups of several columns: a single one holds 0 and 1, and stays in its place."""
        return tuple(group for group in self.groups if len(group) > 1)

    def precompute(self, z: Floats) -> Floats:
        """The points as columns."""
        if self.ranges is None:
            raise _refuse_unfitted()
        return np.ascontiguousarray(z.T)

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """The mean over the columns known on both sides."""
        assert self.ranges is not None
        discrete = np.array([bool(levels) for levels in self.levels or ((),) * x.shape[1]])
        discrete[list(self.categorical)] = True
        loops.gower(x, precomputed, discrete, np.asarray(self.ranges, dtype=float), out)


def _ranges(codes: Floats, w: Floats | None) -> Floats:
    """The range of every column, over known values in rows of positive weight."""
    known = ~np.isnan(codes) & np.array([True] if w is None else w > 0)[:, None]
    low = np.min(codes, axis=0, where=known, initial=np.inf)
    high = np.max(codes, axis=0, where=known, initial=-np.inf)
    return np.asarray(np.maximum(high - low, 0.0))


def _refuse_unfitted() -> InputError:
    return InputError(
        "Gower() has no ranges yet.", remedy="Call Gower().fitted(X) on a sample first."
    )


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


def _encode(column: Sequence[Any], levels: tuple[Any, ...]) -> Floats:
    if not levels:
        return _numbers(column)
    codes = {level: float(i) for i, level in enumerate(levels)}
    unseen = float(len(levels))
    return np.array([np.nan if _missing(v) else codes.get(str(v), unseen) for v in column])


def _numbers(column: Sequence[Any]) -> Floats:
    try:
        return np.array([np.nan if _missing(v) else float(v) for v in column])
    except (TypeError, ValueError):
        raise InputError(
            "A column holds neither numbers nor text.",
            remedy="Convert dates to numbers and categories to text.",
        ) from None


# -------------------------------------------------------------------------------------------------
# Euclidean distance of rows with missing values.


@dataclass(frozen=True)
class NanEuclidean(Metric):
    """Euclidean distance over the columns known in both rows, scaled up to all columns.

        d(x, z) = √(p/m Σ (xⱼ − zⱼ)²),     over the m of p columns where neither is missing

    Rows that have no column in common are infinitely far apart. Missing values (NaN) violate the
    axioms of a metric.

    See Also
    --------
    Euclidean : The distance of complete rows.
    Gower : Skips missing values of numbers and categories.

    References
    ----------
    J. K. Dixon, Pattern recognition with partly missing data, IEEE Transactions on Systems,
    Man, and Cybernetics 9, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> round(sx.NanEuclidean()([3.0, np.nan], [0.0, 1.0]) ** 2, 12)
    18.0
    """

    @property
    def is_metric(self) -> bool:
        """False: missing values violate the triangle inequality."""
        return False

    def validate(self, x: Any) -> Floats:
        """Rows of numbers, some of which may be missing."""
        return as_dense_matrix(x, allow_missing=True)

    def precompute(self, z: Floats) -> Floats:
        """The points themselves."""
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """Column by column, of differences relative to the largest: no square overflows."""
        largest, known = np.zeros(out.shape), np.zeros(out.shape)
        for a, b in zip(x.T, precomputed.T, strict=True):
            np.fmax(largest, np.abs(a[:, None] - b), out=largest)
        scale = np.where(largest > 0.0, largest, 1.0)
        out[:] = 0.0
        for a, b in zip(x.T, precomputed.T, strict=True):
            difference = (a[:, None] - b) / scale
            there = ~np.isnan(difference)
            known += there
            out += np.where(there, difference, 0.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = out / known
        out[:] = np.where(known > 0.0, largest * np.sqrt(mean * x.shape[1]), np.inf)

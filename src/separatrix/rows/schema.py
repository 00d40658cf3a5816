"""A table as numbers: its schema and terms, blocks of rows, encoding and imputation."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.messages import InputError
from separatrix.threads import PIECE_NUMBERS, parallel_map, pieces

# -------------------------------------------------------------------------------------------------
# Schema of a table: its columns, and the terms (numbers per row) that each column yields.
#
# A numeric column yields its value; a discrete one a 0/1 indicator per level; a column with missing
# values one more indicator that is 1 where the value is missing. Terms are the columns of matrices.


class ColumnNote(str):
    """A sentence about one column, ``column``, among the notes on a table."""

    column: str

    @classmethod
    def on(cls, column: str, text: str) -> ColumnNote:
        """The sentence, and the column that it is about."""
        note = cls(text)
        note.column = column
        return note


class Kind(StrEnum):
    """The three kinds of column."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    DISCRETE = "discrete"


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One number per row: a value, or the indicator of a level or of a missing value."""

    column: str
    level: str | None = None
    missing: bool = False

    def __str__(self) -> str:
        if self.missing:
            return f"{self.column} missing"
        return self.column if self.level is None else f"{self.column}={self.level}"


@dataclass(frozen=True, slots=True)
class Notation:
    """How the values of a column are written: ``1.234,50 €``, ``12%``, ``22/07/2022``, ``?``.

    ``unit`` is the sign beside the numbers (``"%"``, ``"$"`` …), ``dates`` the order of day, month
    and year (``"day-first"``, ``"month-first"``, ``"year-first"``; empty for numbers). Texts in
    ``na`` and numbers in ``sentinels`` are missing values; the usual ones (``NA``, ``?`` …) are so
    too unless ``na_given``. ``slips`` says of new rows that single texts which are not numbers or
    dates are missing values too.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    dates: str = ""
    na: tuple[str, ...] = ()
    sentinels: tuple[float, ...] = ()
    na_given: bool = False
    slips: bool = False

    @property
    def needs_text(self) -> bool:
        """Whether values must be read as text: they are not plain numbers."""
        return bool(self.thousands or self.unit or self.dates or self.na or self.decimal != ".")


PLAIN = Notation()


@dataclass(frozen=True, slots=True)
class Column:
    """A named column. ``levels`` of a discrete column are empty until they are found by reading.

    Once they are known, a level outside them is unseen.

    ``placeholder`` stands for missing numbers until their replacement is known: near the median of
    the column, so that the later correction (a linear map) loses no digits.

    ``display`` says what the numbers are: ``"date"`` and ``"datetime"`` (days since 1970-01-01),
    ``"time"`` and ``"duration"`` (seconds), ``"year"``; empty for plain numbers. Of a target that
    holds classes it is the type of the labels: ``"integer"``, ``"number"``, ``"boolean"``; empty
    for text.

    ``part`` says that the column is not in the table: it is the ``"weekday"``, ``"month"``,
    ``"year"`` or ``"hour"`` of the dates in the column ``of``.

    ``pooled`` is the one of the levels that stands for every other: no level is unseen then. Empty
    where each level stands for itself.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[str, ...] = ()
    placeholder: float = 0.0
    notation: Notation = PLAIN
    display: str = ""
    pooled: str = ""
    of: str = ""
    part: str = ""

    # Formats that write text for a kind give text back.
    def __getstate__(self) -> list[Any]:
        return [getattr(self, part.name) for part in fields(self)]

    def __setstate__(self, state: list[Any]) -> None:
        defaults = [part.default for part in fields(self)]
        for part, value in zip(fields(self), [*state, *defaults[len(state) :]], strict=True):
            restored = Kind(value) if part.name == "kind" else value
            object.__setattr__(self, part.name, restored)


@dataclass(frozen=True)
class Schema:
    """Feature columns in order, target columns, the weight column, and the missing-value policy.

    ``missing`` is a policy of :func:`separatrix.scan`; ``unseen`` (for a level absent from
    training) is ``"missing"``, ``"zeros"`` or ``"error"``. Rows with one value of the column
    ``group`` are never parted; those that come last by the column ``time`` are the test part.
    ``beside`` holds the notations of weight and time; ``header`` is false for files whose columns
    have no names; ``na`` are the missing values that the caller gave (None: recognized).
    """

    columns: tuple[Column, ...]
    targets: tuple[Column, ...] = ()
    weight: str | None = None
    missing: str = "mean"
    unseen: str = "missing"
    group: str | None = None
    time: str | None = None
    beside: tuple[tuple[str, Notation], ...] = ()
    header: bool = True
    na: tuple[str, ...] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Feature and target columns by name."""
        return {column.name: column for column in self.columns + self.targets}

    @cached_property
    def read_names(self) -> tuple[str, ...]:
        """Names of the feature columns that a table has, without parts of dates."""
        return tuple(column.name for column in self.columns if not column.part)

    def notation(self, name: str) -> Notation:
        """How a column is written, also the weight and the time."""
        column = self.by_name.get(name)
        return dict(self.beside).get(name, PLAIN) if column is None else column.notation

    def ordered(self, terms: Iterable[Term]) -> Terms:
        """Sort terms by column: the value or the sorted levels, then the missing indicator."""
        rank = {name: i for i, name in enumerate(self.by_name)}
        return Terms(tuple(sorted(terms, key=lambda t: (rank[t.column], t.missing, t.level or ""))))


@dataclass(frozen=True)
class Terms:
    """An ordered set of terms; ``position`` maps each term to its index."""

    items: tuple[Term, ...]

    @cached_property
    def position(self) -> dict[Term, int]:
        """The index of every term: made when it is first asked for, as wide tables never do."""
        return {term: i for i, term in enumerate(self.items)}

    # Positions follow from the items; as a dict of terms they could not be written as JSON.
    def __getstate__(self) -> dict[str, tuple[Term, ...]]:
        return {"items": self.items}

    def __setstate__(self, state: dict[str, tuple[Term, ...]]) -> None:
        object.__setattr__(self, "items", tuple(state["items"]))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.items)

    def union(self, other: Terms) -> Terms:
        """These terms, followed by those that only ``other`` has."""
        if self is other or self.items == other.items:
            return self
        return Terms(self.items + tuple(t for t in other.items if t not in self.position))


NO_TERMS = Terms(())


@lru_cache(maxsize=8)
def matrix_columns(d: int) -> tuple[tuple[Column, ...], Terms]:
    """Columns x0, x1, … of a matrix without names, and their terms.

    They are the same for every matrix of ``d`` columns, so that fits share them.
    """
    names = column_names(d)
    return tuple(map(_column, names)), Terms(tuple(map(_term, names)))


def value_terms(columns: tuple[Column, ...]) -> Terms:
    """One term a column: its value."""
    if columns and columns[0].name == "x0":
        shared, terms = matrix_columns(len(columns))
        if shared is columns:
            return terms
    return Terms(tuple(_term(column.name) for column in columns))


def column_names(d: int) -> tuple[str, ...]:
    """Names for the columns of a matrix without any: x0, x1, …"""
    return tuple(f"x{j}" for j in range(d))


# The slots are set directly: five times as fast as __init__, which counts for 10⁵ columns.
_set_name, *_set_others = (getattr(Column, part.name).__set__ for part in fields(Column))
_SLOTS = tuple(zip(_set_others, (part.default for part in fields(Column)[1:]), strict=True))
_set_column, _set_level, _set_missing = (getattr(Term, part.name).__set__ for part in fields(Term))


def _column(name: str) -> Column:
    """``Column(name)``."""
    column = object.__new__(Column)
    _set_name(column, name)
    for put, default in _SLOTS:
        put(column, default)
    return column


def _term(name: str) -> Term:
    """``Term(name)``."""
    term = object.__new__(Term)
    _set_column(term, name)
    _set_level(term, None)
    _set_missing(term, False)
    return term


# -------------------------------------------------------------------------------------------------
# Scratch arrays for short-lived blocks, reused by the thread that made them.
#
# Fresh pages from the operating system cost more than filling them. A buffer is reused only when
# nothing else refers to it, so a block that is stored keeps its memory.


#: Larger arrays, in numbers, are allocated anew each time.
MAX_SIZE = 4_000_000


class _BufferPool(threading.local):
    def __init__(self) -> None:
        self.buffers: list[Floats] = []


_pool = _BufferPool()


def scratch(shape: tuple[int, int], order: Literal["C", "F"] = "F") -> Floats:
    """An uninitialized array of this shape."""
    size = math.prod(shape)
    if not 0 < size <= MAX_SIZE:
        return np.empty(shape, order=order)
    return _free_buffer(size)[:size].reshape(shape, order=order)


def _free_buffer(size: int) -> Floats:
    buffers = _pool.buffers
    best = -1
    for i in range(len(buffers)):
        # two references: that of the pool, and the argument of getrefcount
        if buffers[i].size >= size and sys.getrefcount(buffers[i]) <= 2:
            # the smallest: a large one may be needed next
            best = i if best < 0 or buffers[i].size < buffers[best].size else best
    if best >= 0:
        return buffers[best]
    buffer = np.empty(size)
    buffers.append(buffer)
    if len(buffers) > 4:  # buffers per thread
        del buffers[0]
    return buffer


# -------------------------------------------------------------------------------------------------
# Block: some rows of a table as numbers, dense or sparse, with the products that models need.


def unit_weights(w: Floats | None, n: int) -> Floats:
    """``w``, or a weight of one for each of ``n`` rows where it is None."""
    return np.ones(n) if w is None else w


def unit_of(values: Floats) -> float:
    """The power of two next below the largest absolute value: dividing by it is exact.

    Squares and products of the scaled values neither overflow nor underflow.
    """
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest else 1.0


def n_items(items: Any) -> int:
    """The number of rows of a matrix, or the length of a list."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def take_items(items: Any, indices: Any) -> Any:
    """The rows of a matrix, or the items of a list, at ``indices``."""
    if hasattr(items, "shape"):
        return items[indices]
    return [items[i] for i in np.atleast_1d(np.arange(len(items))[indices])]


def is_frame(x: Any) -> bool:
    """Whether this is a pandas, polars or PyArrow table."""
    package = type(x).__module__.split(".")[0]
    if package == "pyarrow":
        return hasattr(x, "schema") and hasattr(x, "num_rows")
    return package in ("pandas", "polars") and hasattr(x, "columns")


def to_array(x: Matrix) -> Floats:
    """A dense or sparse matrix as a dense array (itself where it is dense)."""
    return np.asarray(x.toarray() if sparse.issparse(x) else x)


#: The squares of a column's numbers are sums of at least 1e-300 and at most n times 1e300: both
#: within the normal range of doubles, 1e±308, with room for n and for products with weights.
SMALLEST, LARGEST = 1e-150, 1e150
#: Numbers up to a quarter of the largest have differences, and these differences, that are finite.
LARGEST_DIFFERENCES = sys.float_info.max / 4.0


def check_sizes(x: Matrix, names: Sequence[str] | None, *, any_size: bool = False) -> bool:
    """Refuse columns whose squares overflow or vanish; whether all numbers are finite.

    Where numbers may be of ``any_size`` only the differences of rows must not overflow.
    """
    values = x.data if sparse.issparse(x) else x
    if not values.size:
        return True
    greatest = largest_magnitude(values)
    if any_size:
        if not greatest < LARGEST:
            _check_differences(x, names)
        return bool(np.isfinite(greatest))
    if greatest <= LARGEST and _none_tiny(x):
        return True
    low, high = column_ranges(x)
    size = np.maximum(np.abs(low), np.abs(high))
    for wrong, what, remedy in (
        ((size > LARGEST) & (size < np.inf), "large: their squares overflow (beyond", "Divide"),
        ((size > 0.0) & (size < SMALLEST), "small: their squares vanish (below", "Multiply"),
    ):
        if wrong.any():
            raise InputError(
                f"holds numbers too {what} about 1e{150 if remedy == 'Divide' else -150}).",
                column=_name(names, int(np.flatnonzero(wrong)[0])),
                remedy=f"{remedy} the column by a power of ten.",
            )
    return bool(np.isfinite(greatest))


def _none_tiny(x: Matrix) -> bool:
    """Whether the first rows, or the stored entries, show that no column is tiny throughout."""
    if not sparse.issparse(x):  # 64 rows show it of most columns
        return bool((np.abs(x[:64]).max(axis=0, initial=0.0) >= SMALLEST).all())

    def part_is_not(part: slice) -> bool:
        size = np.abs(x.data[part])
        return bool(((size >= SMALLEST) | (size == 0.0)).all())

    return all(parallel_map(part_is_not, pieces(len(x.data), PIECE_NUMBERS)))


def sizes_are_safe(mean_squares: Floats, n: int) -> bool:
    """Whether Σ x²/n of every column shows that :func:`check_sizes` would refuse none."""
    with np.errstate(over="ignore"):
        return bool((mean_squares >= SMALLEST**2).all() and (mean_squares * n <= LARGEST**2).all())


def refuse_beyond(most: float, x: Matrix, names: Sequence[str] | None) -> None:
    """Refuse new rows with numbers so large that nothing finite can be computed of them."""
    entries = sparse.coo_array(x)
    beyond = np.flatnonzero(np.abs(entries.data) > most)
    if len(beyond):
        first = beyond[np.argmin(entries.row[beyond])]
        raise InputError(
            f"holds a number beyond {most:.0e}, of which nothing finite can be computed.",
            row=int(entries.row[first]) + 1,
            column=_name(names, int(entries.col[first])),
            remedy="Correct the value, or leave the row out.",
        )


def extent(x: Floats) -> tuple[float, float]:
    """Minimum and maximum; NaN if there is any, and zeros of a matrix without entries."""
    if not x.size:
        return 0.0, 0.0
    if x.size <= PIECE_NUMBERS:
        return float(x.min()), float(x.max())
    at_once = pieces(len(x), max(1, PIECE_NUMBERS // max(1, x[0].size)))
    extents = parallel_map(lambda part: (x[part].min(), x[part].max()), at_once)
    low, high = np.array(extents).T
    return float(low.min()), float(high.max())


def all_finite(x: Floats) -> bool:
    """Whether the sum is finite, in one pass: False where it overflows, too."""
    at_once = pieces(len(x), max(1, PIECE_NUMBERS // max(1, x[0].size))) if len(x) else []
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(sum(parallel_map(lambda part: float(x[part].sum()), at_once))))


def largest_magnitude(x: Floats) -> float:
    """max |x|, without a copy of x."""
    low, high = extent(x)
    return max(high, -low)


def _check_differences(x: Matrix, names: Sequence[str] | None) -> None:
    """Refuse rows whose distance, at most the sum of the ranges of all columns, overflows."""
    low, high = column_ranges(x)
    with np.errstate(over="ignore", invalid="ignore"):
        span = high - low
        too_far = span.sum() == np.inf
    if too_far and np.isfinite(low).all() and np.isfinite(high).all():
        raise InputError(
            "holds numbers too large: their differences overflow (beyond about 1e308).",
            column=_name(names, int(np.argmax(span))),
            remedy="Divide all columns by a power of ten.",
        )


def _name(names: Sequence[str] | None, j: int) -> str:
    return column_names(j + 1)[j] if names is None else str(names[j])


def column_ranges(x: Matrix) -> tuple[Floats, Floats]:
    """The least and the greatest number of every column; NaN is not considered."""
    if sparse.issparse(x):
        return _stored_ranges(sparse.csr_array(x))
    at_once = pieces(len(x), max(1, PIECE_NUMBERS // max(1, x.shape[1])))
    low, high = zip(*parallel_map(lambda part: _piece_ranges(x[part]), at_once), strict=True)
    return np.fmin.reduce(low), np.fmax.reduce(high)


def _stored_ranges(x: Any) -> tuple[Floats, Floats]:
    """Those of compressed rows: of the stored entries, and of zero where a column has others."""
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    stored = np.bincount(x.indices, minlength=x.shape[1])
    low = np.where(stored < x.shape[0], 0.0, np.nan)
    high = low.copy()
    np.fmin.at(low, x.indices, x.data)
    np.fmax.at(high, x.indices, x.data)
    return low, high


def _piece_ranges(x: Floats) -> tuple[Floats, Floats]:
    """Those of some rows; many short rows are compared as few long ones, in vector instructions."""
    n, d = x.shape
    together = max(1, 1024 // max(d, 1))  # numbers of a long row: a few kilobytes stay cached
    if not x.flags.c_contiguous or n < 2 * together:
        return np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    whole = n - n % together
    long, rest = x[:whole].reshape(-1, together * d), x[whole:]
    low, high = (f.reduce(long, axis=0).reshape(together, d) for f in (np.fmin, np.fmax))
    return np.fmin.reduce(np.vstack([low, rest])), np.fmax.reduce(np.vstack([high, rest]))


def check_sample_weight(sample_weight: Any, n: int, *, any_size: bool = False) -> Floats | None:
    """Sample weights as an array of length n, validated; None stays None.

    ``any_size`` is for those who divide them by their size.
    """
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight, dtype=float)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if w.shape != (n,):
        raise ValueError(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    if np.isfinite(w).all() and not (w > 0).any():
        raise InputError(
            "Invalid input - all samples have zero or negative weights.",
            remedy="sample_weight must be not negative, and positive for some of the rows.",
        )
    if not np.isfinite(w).all() or (w < 0).any():
        raise InputError("sample_weight must be finite and not negative.")
    # Weights are numbers of rows; sums of squares, and of their products with weights, stay finite.
    heaviest = 1e100
    if not any_size and w.max() > heaviest:
        raise InputError(
            f"sample_weight goes up to {w.max():.1g}, beyond {heaviest:.0e}, from where on sums "
            "with weights overflow.",
            remedy="A weight counts rows: divide all by a constant.",
        )
    return w


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``x`` (n x d, dense or CSR), targets ``y`` (n x k), weights ``w`` (n, or None: all one).

    ``parts`` labels each row with a part of the data (a fold, a class, the test part), for
    statistics by part.
    """

    x: Matrix
    y: Floats
    w: Floats | None
    terms: Terms
    targets: Terms
    parts: Ints | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.x.shape[0])

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n) if self.w is None else float(self.w.sum())

    @property
    def weights(self) -> Floats:
        """The weight of each row; one where none were given."""
        return unit_weights(self.w, self.n)

    def dense(self, start: int = 0, stop: int | None = None) -> Floats:
        """Rows ``start:stop`` of ``x`` as a dense array (a view where ``x`` is dense)."""
        return to_array(self.x[start:stop])

    def matvec(self, b: Floats) -> Floats:
        """X b."""
        return np.asarray(self.x @ b)

    def rmatvec(self, r: Floats) -> Floats:
        """Xᵀ r."""
        return np.asarray(self.x.T @ r)

    def gram(self) -> Floats:
        """X Xᵀ: the inner products of all pairs of rows."""
        return to_array(self.x @ self.x.T)

    def take(self, index: NDArray[Any] | slice) -> Block:
        """Select rows by position, slice or mask."""
        return Block(
            _take_rows(self.x, index),
            self.y[index],
            None if self.w is None else self.w[index],
            self.terms,
            self.targets,
            None if self.parts is None else self.parts[index],
        )

    def aligned(self, terms: Terms, targets: Terms) -> Block:
        """The block over the given terms; a term absent here (a level) is zero in every row."""
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        x = _place_columns(self.x, [terms.position[t] for t in self.terms], len(terms))
        y = _place_columns(self.y, [targets.position[t] for t in self.targets], len(targets))
        return Block(x, y, self.w, terms, targets, self.parts)

    def indicators(self, targets: Terms) -> Floats:
        """One column for each of ``targets``; zeros for those that the block does not have.

        A block may list classes that none of its rows has; those need not be among ``targets``.
        """
        shared = [
            (j, self.targets.position[t])
            for j, t in enumerate(targets)
            if t in self.targets.position
        ]
        indicators = np.zeros((self.n, len(targets)))
        indicators[:, [j for j, _ in shared]] = self.y[:, [i for _, i in shared]]
        return indicators

    def codes(self, targets: Terms) -> Ints:
        """Class codes: the position of each row's class indicator among ``targets``."""
        same = targets.items == self.targets.items
        indicators = self.y if same else self.indicators(targets)
        return np.asarray(indicators.argmax(axis=1), dtype=np.int64)


def _take_rows(x: Matrix, index: NDArray[Any] | slice) -> Matrix:
    """Rows of a matrix; a Fortran-ordered one is gathered column by column and stays so."""
    if isinstance(index, slice) and index == slice(None):  # a sparse slice would be a copy
        return x
    if isinstance(index, slice) or sparse.issparse(x) or x.flags.c_contiguous:
        return x[index]
    positions = np.flatnonzero(index) if index.dtype == bool else index
    columns = scratch((x.shape[1], len(positions)), "C")
    return np.take(x.T, positions, axis=1, out=columns, mode="wrap").T


def _place_columns(x: Matrix, at: list[int], width: int) -> Matrix:
    """Column j of x becomes column at[j] of ``width`` columns; the others are zero."""
    if sparse.issparse(x):
        indices = np.asarray(at, dtype=x.indices.dtype)[x.indices]
        moved = sparse.csr_array((x.data, indices, x.indptr), (x.shape[0], width))
        # sorting moves the values, too, which are those of x
        return moved if moved.has_sorted_indices else moved.sorted_indices()
    wide = np.zeros((x.shape[0], width), order="F")
    wide[:, at] = x
    return wide


def concatenate(blocks: list[Block]) -> Block:
    """Blocks stacked by rows, over the union of their terms."""
    if len(blocks) == 1:
        return blocks[0]
    terms, targets = blocks[0].terms, blocks[0].targets
    for block in blocks[1:]:
        terms, targets = terms.union(block.terms), targets.union(block.targets)
    blocks = [block.aligned(terms, targets) for block in blocks]
    if len({sparse.issparse(block.x) for block in blocks}) == 2:
        blocks = [replace(block, x=sparse.csr_array(block.x)) for block in blocks]
    first = blocks[0]
    stack = sparse.vstack if sparse.issparse(first.x) else np.concatenate
    weights = [b.weights for b in blocks]
    parts = [b.parts for b in blocks if b.parts is not None]
    return Block(
        stack([b.x for b in blocks]),
        np.concatenate([b.y for b in blocks]),
        None if all(b.w is None for b in blocks) else np.concatenate(weights),
        first.terms,
        first.targets,
        np.concatenate(parts) if len(parts) == len(blocks) else None,
    )


# -------------------------------------------------------------------------------------------------
# Regression imputation: a missing value is its conditional mean given the observed ones.
#
# With mean μ and precision K = Σ⁻¹ of the completed table, the best linear prediction of the
# missing terms M of a row from its observed terms O is
#
#     x_M = μ_M − K_MM⁻¹ K_MO (x_O − μ_O)
#
# For one missing value this is the regression of that column on all others; for several it is their
# joint regression. A discrete or boolean column takes the level of the largest score. μ and K are
# estimated by :mod:`separatrix.statistics.moments`.


Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Imputation:
    """Conditional means of a Gaussian with the given ``mean`` and ``precision`` over ``terms``.

    ``terms`` are values and level indicators, without missing indicators. ``categorical`` lists the
    discrete and boolean columns, which take a level and not a mean.
    """

    terms: Terms
    mean: Floats
    precision: Floats
    categorical: tuple[str, ...] = ()
    n_iter: int = 0
    last_change: float = float("inf")

    def apply(self, block: Block) -> Block:
        """Impute every missing value of a block; its missing indicators are removed."""
        at = [block.terms.position.get(term, -1) for term in self.terms]
        raw = block.dense()
        x = np.zeros((block.n, len(at)), order="F")
        for j, i in enumerate(at):
            if i >= 0:
                x[:, j] = raw[:, i]
        missing = {t.column: raw[:, i] != 0 for i, t in enumerate(block.terms) if t.missing}
        if missing:
            self._impute(x, missing)
        return replace(block, x=x, terms=self.terms)

    def _impute(self, x: Floats, missing: dict[str, Mask]) -> None:
        """Impute the rows that lack the same columns together: they share one factorization."""
        names = list(missing)
        masks = np.column_stack([missing[name] for name in names])
        incomplete = np.flatnonzero(masks.any(axis=1))
        patterns, which = np.unique(masks[incomplete], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = incomplete[np.ravel(which) == k]
            absent = {name for name, lacks in zip(names, pattern, strict=True) if lacks}
            categorical = [name for name in self.categorical if name in absent]
            self._predict(x, rows, absent)
            for name in categorical:
                self._classify(x, rows, name)
            if categorical and len(categorical) < len(absent):
                self._predict(x, rows, absent - set(categorical))

    def _predict(self, x: Floats, rows: NDArray[np.intp], absent: set[str]) -> None:
        """Conditional means of the absent columns."""
        lacks = np.array([term.column in absent for term in self.terms])
        m, o = np.flatnonzero(lacks), np.flatnonzero(~lacks)
        if not len(m):
            return
        k = self.precision
        rhs = (x[np.ix_(rows, o)] - self.mean[o]) @ k[np.ix_(o, m)]
        inner = k[np.ix_(m, m)]
        unit = np.sqrt(np.diag(inner))  # equilibrated: units of columns differ by any power of ten
        factor = linalg.cho_factor(inner / np.outer(unit, unit))
        x[np.ix_(rows, m)] = self.mean[m] - linalg.cho_solve(factor, rhs.T / unit[:, None]).T / unit

    def _classify(self, x: Floats, rows: NDArray[np.intp], name: str) -> None:
        """The level of the largest conditional mean."""
        indices = np.flatnonzero([term.column == name for term in self.terms])
        scores = x[np.ix_(rows, indices)]
        if len(indices) == 1 and self.terms.items[indices[0]].level is None:  # a boolean column
            x[np.ix_(rows, indices)] = (scores > 0.5).astype(float)
            return
        x[np.ix_(rows, indices)] = 0.0
        x[rows, indices[scores.argmax(axis=1)]] = 1.0


def without_missing(terms: Terms) -> Terms:
    """Values and level indicators only."""
    return Terms(tuple(term for term in terms if not term.missing))


# -------------------------------------------------------------------------------------------------
# Dummy coding and imputation as a linear map from raw terms to the columns of the design.
#
#     numeric:   design = value + (fill − placeholder) · missing
#     discrete:  one 0/1 column per level, except the reference level (the most frequent one)
#
# Both are linear in the raw terms (a value, level indicators, missing indicators), so the same map
# applies to blocks and to moments. Only regression imputation uses several columns of a row at a
# time; it is applied before this map.


@dataclass(frozen=True)
class TermMap:
    """Linear map of terms: new_j = Σ_i weight_ij · old_i, by its ``entries`` (i, j, weight)."""

    old: Terms
    new: Terms
    entries: tuple[tuple[int, int, float], ...]

    @property
    def is_identity(self) -> bool:
        """Whether the terms are the same, in the same order."""
        return self.old.items == self.new.items and all(
            i == j and weight == 1.0 for i, j, weight in self.entries
        )

    def rows(self, x: Matrix) -> Matrix:
        """Map rows of old terms to rows of new terms; sparse rows stay sparse."""
        if self.is_identity:
            return x
        if sparse.issparse(x):
            mapped = sparse.csr_array(x @ self.matrix)
            mapped.sort_indices()
            return mapped
        out = np.zeros((x.shape[0], len(self.new)), order="F")
        for i, j, weight in self.entries:
            out[:, j] += x[:, i] if weight == 1.0 else weight * x[:, i]
        return out

    @property
    def matrix(self) -> Matrix:
        """The matrix of the map (old terms x new terms), sparse."""
        i, j, weight = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        return sparse.csr_array(
            (np.array(weight, dtype=float), (np.array(i, np.int32), np.array(j, np.int32))),
            shape=(len(self.old), len(self.new)),
        )


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the columns of a design.

    ``is_identity`` says that the raw terms are the design (a numeric matrix). ``fill_values`` holds
    the replacement of a missing value of each numeric column, ``reference_levels`` the level of
    each discrete column that has no dummy. ``notes`` are sentences on columns that were left out.
    """

    schema: Schema
    terms: Terms
    is_identity: bool = False
    targets: Terms = NO_TERMS
    fill_values: dict[str, float] = field(default_factory=dict)
    reference_levels: dict[str, str] = field(default_factory=dict)
    imputation: Imputation | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design by name, in order."""
        return tuple(str(term) for term in self.terms)

    @property
    def n_iter(self) -> int:
        """Iterations of regression imputation (0 without it)."""
        return 0 if self.imputation is None else self.imputation.n_iter

    @property
    def last_change(self) -> float:
        """Change in the last iteration, in standard deviations (0 without imputation)."""
        return 0.0 if self.imputation is None else self.imputation.last_change

    def apply(self, block: Block) -> Block:
        """Encode a raw block as design rows; targets in the order of training."""
        if self.is_identity:
            return block
        if self.imputation is not None:
            block = self.imputation.apply(block)
        x = self.map_from(block.terms).rows(block.x)
        y, targets = block.y, block.targets
        if len(targets) and targets.items != self.targets.items:
            y = self.targets_from(targets).rows(y)
            targets = self.targets
        return replace(block, x=x, y=y, terms=self.terms, targets=targets)

    def map_from(self, raw: Terms) -> TermMap:
        """The linear map from raw terms to the design; a term absent there is zero in every row."""
        placeholder = {column.name: column.placeholder for column in self.schema.columns}
        entries = []
        for j, term in enumerate(self.terms):
            i = raw.position.get(term)
            if i is not None:
                entries.append((i, j, 1.0))
            missing = raw.position.get(Term(term.column, missing=True))
            if missing is not None and term.column in self.fill_values and not term.missing:
                shift = self.fill_values[term.column] - placeholder[term.column]
                entries.append((missing, j, shift))
        return TermMap(raw, self.terms, tuple(entries))

    def targets_from(self, terms: Terms) -> TermMap:
        """The map to the targets of training; a class absent from training becomes all zeros."""
        entries = [
            (i, self.targets.position[term], 1.0)
            for i, term in enumerate(terms)
            if term in self.targets.position
        ]
        return TermMap(terms, self.targets, tuple(entries))


def identity(schema: Schema) -> Encoding:
    """The encoding of a table that is a numeric matrix."""
    return Encoding(schema, value_terms(schema.columns), is_identity=True)

"""Block: some rows of a table as numbers, dense or sparse, with the products that models need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms, column_names

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = Any  # NDArray[float64] or scipy.sparse.csr_array


def unit_weights(w: Floats | None, n: int) -> Floats:
    """``w``, or a weight of one for each of ``n`` rows where it is None."""
    return np.ones(n) if w is None else w


def unit_of(values: Floats) -> float:
    """The power of two next below the largest absolute value: dividing by it is exact.

    Squares and products of the scaled values neither overflow nor underflow.
    """
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest else 1.0


def to_array(x: Matrix) -> Floats:
    """A dense or sparse matrix as a dense array (itself where it is dense)."""
    return np.asarray(x.toarray() if sparse.issparse(x) else x)


#: The squares of a column's numbers are sums of at least 1e-300 and at most n times 1e300: both
#: within the normal range of doubles, 1e±308, with room for n and for products with weights.
SMALLEST, LARGEST = 1e-150, 1e150
#: Rows whose numbers show of most columns that they are not tiny, before all rows are looked at.
FIRST_ROWS = 64


def check_sizes(x: Matrix, names: Sequence[str] | None, *, any_size: bool = False) -> None:
    """Refuse columns whose squares overflow or vanish; NaN and infinity are refused elsewhere.

    Where numbers may be of ``any_size`` only the differences of rows must not overflow.
    """
    values = x.data if sparse.issparse(x) else x
    if not values.size:
        return
    greatest = max(float(values.max()), -float(values.min()))
    if any_size:
        if not greatest < LARGEST:
            _check_differences(x, names)
        return
    with np.errstate(invalid="ignore"):
        first = np.fmax.reduce(np.abs(to_array(x[:FIRST_ROWS])), axis=0)
    if greatest <= LARGEST and (first >= SMALLEST).all():
        return
    low, high = _ranges(x)
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


def _check_differences(x: Matrix, names: Sequence[str] | None) -> None:
    """Refuse rows whose distance, at most the sum of the ranges of all columns, overflows."""
    low, high = _ranges(x)
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


def _ranges(x: Matrix) -> tuple[Floats, Floats]:
    """The least and the greatest number of every column; NaN is not considered."""
    if sparse.issparse(x):
        return x.nanmin(axis=0).toarray().ravel(), x.nanmax(axis=0).toarray().ravel()
    return np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)


#: Weights are numbers of rows; sums of squares, and of their products with weights, stay finite.
HEAVIEST = 1e100


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
    if not any_size and w.max() > HEAVIEST:
        raise InputError(
            f"sample_weight goes up to {w.max():.1g}, beyond {HEAVIEST:.0e}, from where on sums "
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

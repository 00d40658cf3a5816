"""Block: some rows of a table as numbers, dense or sparse, with the products that models need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = Any  # NDArray[float64] or scipy.sparse.csr_array


def unit_weights(w: Floats | None, n: int) -> Floats:
    """``w``, or a weight of one for each of ``n`` rows where it is None."""
    return np.ones(n) if w is None else w


def to_array(x: Matrix) -> Floats:
    """A dense or sparse matrix as a dense array (itself where it is dense)."""
    return np.asarray(x.toarray() if sparse.issparse(x) else x)


def check_sample_weight(sample_weight: Any, n: int) -> Floats | None:
    """Sample weights as an array of length n, validated; None stays None."""
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight, dtype=float)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if w.shape != (n,):
        raise ValueError(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    if not np.isfinite(w).all() or (w < 0).any():
        raise InputError("sample_weight must be finite and not negative.")
    if not w.any():
        raise InputError("sample_weight is zero for every row: nothing is left to fit.")
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

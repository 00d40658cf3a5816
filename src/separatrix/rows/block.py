"""A block: some rows as numbers, dense or sparse behind one set of products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = Any  # NDArray[float64] or scipy.sparse.csr_array


def unit_weights(w: Floats | None, n: int) -> Floats:
    """``w``, or a weight of one for each of ``n`` rows where it is None."""
    return np.ones(n) if w is None else w


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``x`` (n x d, dense or CSR), targets ``y`` (n x k), weights ``w`` (n, or None: all one).

    ``parts`` labels each row with the part of the data it belongs to (a fold, a class, the test
    part), for statistics that are kept by part.
    """

    x: Matrix
    y: Floats
    w: Floats | None
    terms: Terms
    targets: Terms
    parts: NDArray[np.int64] | None = None

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
        part = self.x[start:stop]
        return np.asarray(part.toarray() if sparse.issparse(part) else part)

    def matvec(self, b: Floats) -> Floats:
        """X b."""
        return np.asarray(self.x @ b)

    def rmatvec(self, r: Floats) -> Floats:
        """Xᵀ r."""
        return np.asarray(self.x.T @ r)

    def sandwich(self, curvature: Floats) -> Floats:
        """Xᵀ D X with D = diag(curvature)."""
        if sparse.issparse(self.x):
            return np.asarray((self.x.T @ self.x.multiply(curvature[:, None])).toarray())
        return np.asarray(self.x.T @ (self.x * curvature[:, None]))

    def gram(self) -> Floats:
        """X Xᵀ, all pairs of rows."""
        g = self.x @ self.x.T
        return np.asarray(g.toarray() if sparse.issparse(g) else g)

    def take(self, index: NDArray[Any] | slice) -> Block:
        """The rows of the block that ``index`` names."""
        return Block(
            _taken(self.x, index),
            self.y[index],
            None if self.w is None else self.w[index],
            self.terms,
            self.targets,
            None if self.parts is None else self.parts[index],
        )

    def aligned(self, terms: Terms, targets: Terms) -> Block:
        """Over the given terms; one unknown here (a level not met) is zero in every row."""
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        x = _spread(self.x, [terms.position[t] for t in self.terms], len(terms))
        y = _spread(self.y, [targets.position[t] for t in self.targets], len(targets))
        return Block(x, y, self.w, terms, targets, self.parts)

    def codes(self, targets: Terms) -> NDArray[np.int64]:
        """The position of each row's class among ``targets``, by its indicator.

        A block may name classes that none of its rows has; those need not be among ``targets``.
        """
        here = [
            (j, self.targets.position[t])
            for j, t in enumerate(targets)
            if t in self.targets.position
        ]
        own = np.zeros((self.n, len(targets)))
        own[:, [j for j, _ in here]] = self.y[:, [i for _, i in here]]
        return np.asarray(own.argmax(axis=1), dtype=np.int64)


def _taken(x: Matrix, index: NDArray[Any] | slice) -> Matrix:
    """Rows of a matrix; one laid out by columns is gathered column by column and stays so."""
    if isinstance(index, slice) or sparse.issparse(x) or x.flags.c_contiguous:
        return x[index]
    where = np.flatnonzero(index) if index.dtype == bool else index
    columns = scratch((x.shape[1], len(where)), "C")
    return np.take(x.T, where, axis=1, out=columns, mode="wrap").T


def _spread(x: Matrix, at: list[int], width: int) -> Matrix:
    """Column j of x becomes column at[j] of ``width`` columns; the others are zero."""
    if sparse.issparse(x):
        moved = sparse.csr_array((x.data, np.asarray(at)[x.indices], x.indptr), (x.shape[0], width))
        moved.sort_indices()
        return moved
    wide = np.zeros((x.shape[0], width), order="F")
    wide[:, at] = x
    return wide


def concatenate(blocks: list[Block]) -> Block:
    """Blocks one below the other, over all the terms that any of them has."""
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

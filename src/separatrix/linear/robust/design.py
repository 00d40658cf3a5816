"""The rows of a piecewise-linear regression, preconditioned chunk by chunk: never a second table.

Products and Gram matrices of [z, 1] are sums over chunks of the table itself; further rows (those
of a penalty) may follow its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.rows.block import Block, Floats, Ints
from separatrix.statistics.preconditioner import Preconditioner

#: Values in a chunk of rows: small, since a few such arrays are alive at a time.
CHUNK_VALUES = 100_000
#: Means, in standard deviations, up to which x·b − x̄·b has the digits of (x − x̄)·b.
NEAR = 16.0


class Design:
    """Rows [z, 1] of the block that have a weight, then the rows ``extra`` (m x p)."""

    def __init__(self, block: Block, preconditioner: Preconditioner, extra: Floats) -> None:
        self.block, self.preconditioner, self.extra = block, preconditioner, extra
        keep = None if block.w is None or (block.w > 0.0).all() else np.flatnonzero(block.w > 0.0)
        self.keep: Ints | None = keep
        self.own = block.n if keep is None else len(keep)
        self.shape = (self.own + len(extra), extra.shape[1])
        center, scale = preconditioner.center, preconditioner.scale
        #: Whether centering after a product costs no digits: the means are not far from zero.
        self.near_zero = preconditioner.rotation is None and bool(
            (np.abs(center) <= NEAR * scale).all()
        )

    def _rows(self, x: Floats) -> Floats:
        z = self.preconditioner.transform(x)
        if self.shape[1] > z.shape[1]:
            z = np.column_stack([z, np.ones(len(z))])
        return z

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """(positions, rows) of all rows in turn."""
        step, done = max(64, CHUNK_VALUES // max(self.shape[1], 1)), 0
        for start in range(0, self.block.n, step):
            x = self.block.dense(start, start + step)
            if self.keep is not None:
                inside = slice(*np.searchsorted(self.keep, [start, start + step]))
                x = x[self.keep[inside] - start]
            if len(x):
                yield slice(done, done + len(x)), self._rows(x)
            done += len(x)
        if len(self.extra):
            yield slice(done, done + len(self.extra)), self.extra

    def __matmul__(self, beta: Any) -> Floats:
        r = self.preconditioner.rank
        if self.near_zero:
            b = beta[:r] / self.preconditioner.scale
            own = self.block.matvec(b)
            own += beta[r:].sum() - self.preconditioner.center @ b
            if self.keep is None and not len(self.extra):
                return own
            found = np.empty(self.shape[0])
            found[: self.own] = own if self.keep is None else own[self.keep]
            found[self.own :] = self.extra @ beta
            return found
        found = np.empty(self.shape[0])
        for at, z in self.chunks():
            found[at] = z @ beta
        return found

    def __getitem__(self, positions: Ints) -> Floats:
        own = positions < self.own
        found = np.empty((len(positions), self.shape[1]))
        found[~own] = self.extra[positions[~own] - self.own]
        rows = positions[own] if self.keep is None else self.keep[positions[own]]
        x = self.block.x[rows]
        found[own] = self._rows(np.asarray(x.toarray() if hasattr(x, "toarray") else x))
        return found

    @property
    def T(self) -> TransposedDesign:
        """The transposed design."""
        return TransposedDesign(self)

    def gram(self, weights: Floats) -> Floats:
        """Σ weight z zᵀ."""
        total = np.zeros((self.shape[1],) * 2)
        for at, z in self.chunks():
            weighted = z * np.sqrt(weights[at])[:, None]
            total += weighted.T @ weighted
        return total

    def sizes(self, weights: Floats) -> Floats:
        """Σ weight |z|."""
        return sum((weights[at] @ np.abs(z) for at, z in self.chunks()), np.zeros(self.shape[1]))


class TransposedDesign:
    """zᵀ, for products."""

    def __init__(self, design: Design) -> None:
        self.design = design

    def __matmul__(self, u: Floats) -> Floats:
        design, p = self.design, self.design.preconditioner
        if not design.near_zero:
            return sum((u[at] @ z for at, z in design.chunks()), np.zeros(design.shape[1]))
        own = u[: design.own]
        total = float(own.sum())
        if design.keep is not None:
            own = np.bincount(design.keep, own, minlength=design.block.n).astype(float)
        found = np.full(design.shape[1], total)  # the column of ones, where there is one
        found[: p.rank] = (design.block.rmatvec(own) - p.center * total) / p.scale
        return found + u[design.own :] @ design.extra

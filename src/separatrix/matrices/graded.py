"""Columns whose units differ so much that products of rows lose the small ones.

    Z P = Q R,      b = P Rᵀc,      (R Rᵀ + αI) c = Qᵀy

Q is orthogonal, and P puts the columns in order so that the rows of R decrease. An entry of R Rᵀ
is then the sum of products no larger than the smaller of its two rows allows, where an entry of
Z Zᵀ is mostly the largest column: rounding is relative to every column, whatever its units (Cox and
Higham, Stability of Householder QR factorization for weighted least squares problems, 1998).
Singular values by Jacobi's method keep as many digits (Drmač and Veselić, New fast and accurate
Jacobi SVD algorithm, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats, Ints

#: Rounds of refinement at most; without dependent columns the first solution is exact.
ROUNDS = 3


@dataclass(frozen=True)
class GradedRows:
    """Q (n x r), R (r x d) and the order of the columns, for Z of rank r."""

    q: Floats
    r: Floats
    order: Ints

    @classmethod
    def of(cls, z: Floats) -> GradedRows:
        """The rank is the last row of R that is more than the rounding of its own column."""
        lengths = np.linalg.norm(z, axis=0)
        q, r, order = linalg.qr(z, mode="economic", pivoting=True, check_finite=False)
        diagonal, eps = np.abs(np.diag(r)), np.finfo(float).eps
        sure = np.flatnonzero(diagonal > 10 * len(z) * eps * lengths[order[: len(diagonal)]])
        rank = int(sure[-1]) + 1 if len(sure) else 0
        return cls(q[:, :rank], r[:rank], order)

    @classmethod
    def of_products(cls, products: Floats) -> GradedRows:
        """The same R, from ZᵀZ = P RᵀR Pᵀ, with Q left out; dependent columns add no row to it."""
        rest, own = products.copy(), np.diag(products).copy()
        eps, rows = 10 * len(own) * np.finfo(float).eps, []
        while (free := np.diag(rest) > eps * own).any():
            j = int(np.argmax(np.where(free, np.diag(rest), 0.0)))
            rows.append(rest[j] / np.sqrt(rest[j, j]))
            rest -= np.multiply.outer(rows[-1], rows[-1])
            rest[j], rest[:, j], own[j] = 0.0, 0.0, np.inf
        r = np.array(rows).reshape(-1, len(own))
        return cls(np.eye(len(r)), r, np.arange(len(own)))

    def solve(self, z: Floats, y: Floats, alpha: Floats) -> tuple[Floats, Floats]:
        """The solution (d x k) with one α > 0 per target, refined by its residual, and the dual."""
        coef, dual = np.zeros((len(self.order), y.shape[1])), np.zeros((len(self.r), y.shape[1]))
        levels, which = np.unique(alpha, return_inverse=True)
        systems = [self._system(float(level)) for level in levels]
        before = np.inf
        for _ in range(ROUNDS):
            left = self.q.T @ (y - z @ coef) - alpha * dual
            size = float(np.linalg.norm(left))
            if not size < 0.1 * before:
                break
            before = size
            step = np.empty_like(left)
            for i, (factor, scale) in enumerate(systems):
                right = left[:, which == i] / scale
                found = linalg.cho_solve((factor, True), right, check_finite=False)
                step[:, which == i] = found / scale
            dual += step
            coef[self.order] += self.r.T @ step
        return coef, y + self.q @ (alpha * dual - self.q.T @ y)

    def _system(self, alpha: float) -> tuple[Floats, Floats]:
        """The Cholesky factor of R Rᵀ + αI on equilibrated rows, and their scale."""
        scale = np.sqrt((self.r**2).sum(axis=1) + alpha)[:, None]
        matrix = self.r @ self.r.T
        matrix[np.diag_indices_from(matrix)] += alpha
        return linalg.cholesky(matrix / (scale * scale.T), lower=True, check_finite=False), scale

    def singular(self) -> tuple[Floats, Floats, Floats]:
        """U (n x r), the singular values, and V (d x r) of Z."""
        rank, d = self.r.shape
        if not rank:
            return self.q, np.zeros(0), np.zeros((d, 0))
        found = linalg.lapack.dgejsv(np.asfortranarray(self.r.T), joba=0, jobu=0, jobv=0, jobr=0)
        values, u, v, work = found[:4]
        directions = np.empty((d, rank))
        directions[self.order] = u[:, :rank]
        return self.q @ v, values * (work[0] / work[1]), directions

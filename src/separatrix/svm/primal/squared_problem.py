"""Linear models with a squared hinge or a squared ε-insensitive loss.

    min over w, b of  p(w, b) + Σ c e²,      p = Σ ℓⱼ|wⱼ| + ½ Σ ρⱼ wⱼ²

e is how far a score u = w·x + b is from where it costs nothing, with sign: t max(0, 1 − t u) of a
label t = ±1, or the part of t − u beyond ±ε. The dual coefficients are β = 2 c e, and at the
optimum Xᵀβ ∈ ∂p(w). The intercept is the coefficient of a column of ones; it has the last element
of ℓ and ρ, zero where it is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from separatrix.matrices.gram import column_gram
from separatrix.optimize.losses import SquaredEpsilonInsensitive, SquaredHinge
from separatrix.optimize.penalties import ElasticNet
from separatrix.rows.block import Floats, Ints, Matrix

#: Rows that are multiplied at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class SquaredProblem:
    """Rows ``x``, targets ``t``, costs ``c``, and the penalty of every coefficient.

    ``epsilon`` is None for labels ±1. Rows are measured from ``center``, which is zero unless the
    intercept is free.
    """

    x: Matrix
    t: Floats
    cost: Floats
    penalty: ElasticNet
    center: Floats
    epsilon: float | None = None
    intercept: bool = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @property
    def size(self) -> int:
        """Number of coefficients, the intercept among them."""
        return len(self.penalty.l1)

    @property
    def free_intercept(self) -> bool:
        """Whether the intercept has no penalty."""
        return bool(self.intercept and not self.penalty.l1[-1] and not self.penalty.l2[-1])

    @cached_property
    def loss(self) -> SquaredHinge | SquaredEpsilonInsensitive:
        """The loss by row."""
        return SquaredHinge() if self.epsilon is None else SquaredEpsilonInsensitive(self.epsilon)

    def argument(self, scores: Floats) -> Floats:
        """The argument z of the loss: a margin, or a residual."""
        return self.t * scores if self.epsilon is None else self.t - scores

    def excess(self, scores: Floats) -> Floats:
        """e of every row."""
        half = 0.5 * self.loss.gradient(self.argument(scores))
        return -self.t * half if self.epsilon is None else half

    def scores(self, theta: Floats) -> Floats:
        """w·(x − center) + b for every row."""
        d = self.x.shape[1]
        shift = float(theta[d]) if self.intercept else 0.0
        return np.asarray(self.x @ theta[:d]) + (shift - float(self.center @ theta[:d]))

    def pull(self, beta: Floats) -> Floats:
        """Σ β (x − center), and Σ β for the intercept."""
        total = float(beta.sum())
        own = np.asarray(self.x.T @ beta) - self.center * total
        return np.append(own, total) if self.intercept else own

    def value(self, theta: Floats, excess: Floats) -> float:
        """The objective, with the e of the scores at ``theta``."""
        return self.penalty.value(theta) + float(self.cost @ excess**2)

    def gram(self, rows: Ints, columns: Ints | None = None) -> Floats:
        """Σ 2c z zᵀ over some rows, z = (x − center, 1), for some of the coefficients."""
        size = self.size if columns is None else len(columns)
        total = np.zeros((size, size))
        for z in self._design(rows, columns):
            total += (z.T @ z).toarray() if sparse.issparse(z) else column_gram(z)
        return total

    def _design(self, rows: Ints, columns: Ints | None) -> Iterator[Matrix]:
        """√(2c) z of some rows and coefficients, some rows at a time."""
        root, d = np.sqrt(2.0 * self.cost), self.x.shape[1]
        own = None if columns is None else columns[columns < d]
        ones = self.intercept and (columns is None or len(columns) > len(own))  # type: ignore[arg-type]
        for start in range(0, len(rows), _BLOCK):
            part = rows[start : start + _BLOCK]
            z = self.x[part] if own is None else self.x[part][:, own]
            by_row = root[part][:, None]
            if sparse.issparse(z):
                z = sparse.csr_array(z).multiply(by_row)
                yield sparse.csr_array(sparse.hstack([z, by_row]) if ones else z)
                continue
            z = (z - (self.center if own is None else self.center[own])) * by_row
            yield np.hstack([z, by_row]) if ones else z

    def restore(self, theta: Floats) -> tuple[Floats, float]:
        """w and b for rows measured from zero."""
        d = self.x.shape[1]
        w = theta[:d].copy()
        return w, float(theta[d] - self.center @ w) if self.intercept else 0.0

    def rescaled(self, unit: float) -> SquaredProblem:
        """The problem of targets t/unit, whose coefficients are those of t divided by ``unit``.

        Its objective is that of t divided by unit², with ℓ/unit for the ℓ₁ part.
        """
        if self.epsilon is None:
            return self
        penalty = replace(self.penalty, l1=self.penalty.l1 / unit)
        return replace(self, t=self.t / unit, epsilon=self.epsilon / unit, penalty=penalty)


def squared_problem(
    x: Matrix,
    t: Floats,
    cost: Floats,
    *,
    epsilon: float | None = None,
    ridge: Floats,
    l1: bool = False,
    intercept_scaling: float | None = 1.0,
) -> SquaredProblem:
    """Penalty ½ Σ ρ w², or Σ √ρ |w| with ``l1``; ``ridge`` is ρ of every column.

    As in liblinear the intercept is s times the coefficient of a column of s, the
    ``intercept_scaling``, whose penalty is then ½ (b/s)² or |b|/s. Infinity leaves it free, None
    leaves it out.
    """
    intercept = intercept_scaling is not None
    if intercept_scaling is not None:
        ridge = np.append(ridge, 1.0 / float(intercept_scaling) ** 2)
    zero = np.zeros(len(ridge))
    penalty = ElasticNet(np.sqrt(ridge), zero) if l1 else ElasticNet(zero, ridge)
    found = SquaredProblem(x, t, cost, penalty, np.zeros(x.shape[1]), epsilon, intercept)
    if found.free_intercept and not sparse.issparse(x):
        mean = np.asarray(cost @ x) / float(cost.sum())
        return replace(found, center=mean)
    return found

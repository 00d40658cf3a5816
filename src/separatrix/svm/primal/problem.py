"""Hinges: the convex problem that every linear support vector machine is.

    min over w, b of  ½ Σ ρ w²  +  Σ_k c_k max(0, q_k − s_k (w·x_k + b))
    max over α of     Σ q α − ½ Σ (Xᵀu)²/ρ    with u = Σ s α,  0 ≤ α ≤ c,  Σ u = 0

Two classes have one hinge a row, with s = ±1 and q = 1. A tube of half-width ε about numbers y has
two: s = 1, q = y − ε for rows above it, and s = −1, q = −y − ε for rows below. Without intercept
b = 0 and Σ u is free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.rows.block import Floats, Matrix


@dataclass(frozen=True)
class Hinges:
    """Rows ``x`` (n x d), ``sign`` and ``offset`` (m x n), ``cost`` (n), ``ridge`` (d)."""

    x: Matrix
    sign: Floats
    offset: Floats
    cost: Floats
    ridge: Floats
    intercept: bool = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.cost)

    def take(self, rows: NDArray[np.int64], share: float = 1.0) -> Hinges:
        """Some of the rows, their costs divided by ``share``."""
        return replace(
            self,
            x=self.x[rows],
            sign=self.sign[:, rows],
            offset=self.offset[:, rows],
            cost=self.cost[rows] / share,
        )

    def scores(self, w: Floats, b: float) -> Floats:
        """w·x + b for every row."""
        return np.asarray(self.x @ w) + b

    def short(self, scores: Floats) -> Floats:
        """q − s·score for every hinge: how far a row falls short, negative where it does not."""
        return self.offset - self.sign * scores

    def slopes(self, alpha: Floats) -> Floats:
        """u = Σ s α for every row."""
        return np.asarray((self.sign * alpha).sum(axis=0))

    def objective(self, w: Floats, b: float) -> float:
        """½ Σ ρ w² + Σ c max(0, short)."""
        loss = np.maximum(self.short(self.scores(w, b)), 0.0).sum(axis=0)
        return 0.5 * float(self.ridge @ w**2) + float(self.cost @ loss)

    def best_intercepts(self, scores: Floats, near: float | None = None) -> tuple[float, float]:
        """All b that are best beside the scores w·x: the two ends of an interval.

        The slope in b is Σ c over the kinks t = s q − w·x below b, minus Σ c over hinges of s = +1.
        Where b is known to be ``near``, only kinks about it are sorted.
        """
        t = (self.sign * self.offset - scores).ravel()
        c = np.broadcast_to(self.cost, self.offset.shape).ravel()
        goal = float(c[self.sign.ravel() > 0].sum())
        noise = 1e-12 * float(c.sum())
        if near is not None and len(t) > SORTED:
            window = np.abs(t - near) <= 0.01 * (1.0 + abs(near))
            before = float(c[(t < near) & ~window].sum())
            if before < goal - noise and goal + noise < before + float(c[window].sum()):
                return _where_reached(t[window], c[window], goal - before, noise)
        return _where_reached(t, c, goal, noise)


#: Kinks that are sorted without further thought.
SORTED = 50_000


def _where_reached(t: Floats, c: Floats, goal: float, noise: float) -> tuple[float, float]:
    """Between which two of the sorted kinks Σ c reaches the goal; the same one if it passes it."""
    order = np.argsort(t)
    t, reached = t[order], np.cumsum(c[order])
    first = min(int(np.searchsorted(reached, goal - noise)), len(t) - 1)
    last = first + 1 if reached[first] <= goal + noise else first
    return float(t[first]), float(t[min(last, len(t) - 1)])


def two_classes(
    x: Matrix, positive: NDArray[np.bool_], cost: Floats, ridge: Floats, *, intercept: bool
) -> Hinges:
    """One hinge a row: s = +1 for the rows of the positive class, −1 for the others."""
    sign = np.where(positive, 1.0, -1.0)[None, :]
    return Hinges(x, sign, np.ones_like(sign), cost, ridge, intercept)


def tube(
    x: Matrix, y: Floats, epsilon: float, cost: Floats, ridge: Floats, *, intercept: bool
) -> Hinges:
    """Two hinges a row: errors beyond ε above and below."""
    sign = np.repeat(np.array([[1.0], [-1.0]]), len(y), axis=1)
    return Hinges(x, sign, np.stack([y - epsilon, -y - epsilon]), cost, ridge, intercept)


@dataclass(frozen=True)
class Columns:
    """Columns seen from their centre in units of their spread, with a column of ones.

    z = (x − μ)/σ, 1.  The intercept is free, so that moving the origin changes nothing else; a
    spread of one is only for the numbers' sake, ρ/σ² keeps the penalty as it was.
    """

    hinges: Hinges
    centre: Floats
    scale: Floats

    @property
    def ridge(self) -> Floats:
        """The penalty of each coefficient of z; none on the intercept."""
        own = self.hinges.ridge / self.scale**2
        return np.append(own, 0.0) if self.hinges.intercept else own

    def signed_rows(self, side: NDArray[np.int64], row: NDArray[np.int64]) -> Floats:
        """s·z of the hinges (side, row), dense."""
        x = self.hinges.x[row]
        z = np.ones((len(row), len(self.ridge)))
        d = len(self.scale)
        np.subtract(x.toarray() if sparse.issparse(x) else x, self.centre, out=z[:, :d])
        z[:, :d] /= self.scale
        z *= self.hinges.sign[side, row][:, None]
        return z

    def pull(self, u: Floats) -> Floats:
        """zᵀu."""
        total = float(u.sum())
        own = (np.asarray(self.hinges.x.T @ u) - self.centre * total) / self.scale
        return np.append(own, total) if self.hinges.intercept else own

    def restore(self, beta: Floats) -> tuple[Floats, float]:
        """(w, b) for x from the coefficients of z."""
        w = beta[: len(self.scale)] / self.scale
        return w, float(beta[-1] - self.centre @ w) if self.hinges.intercept else 0.0


def columns_of(hinges: Hinges, sample: NDArray[np.int64]) -> Columns:
    """Centre and spread from some of the rows; a column that is still there is looked at whole."""
    x, d = hinges.x[sample], len(hinges.ridge)
    dense = np.asarray(x.toarray() if sparse.issparse(x) else x)
    centre, scale = dense.mean(axis=0), dense.std(axis=0)
    for j in np.flatnonzero(scale <= 1e-10 * np.abs(centre)):
        whole = hinges.x[:, [j]]
        column = np.ravel(whole.toarray() if sparse.issparse(whole) else whole)
        centre[j], scale[j] = column.mean(), column.std()
    if not hinges.intercept:
        scale, centre = np.hypot(scale, centre), np.zeros(d)
    still = scale <= 1e-13 * np.abs(centre)
    return Columns(hinges, centre, np.where(still, np.where(centre == 0, 1, np.abs(centre)), scale))

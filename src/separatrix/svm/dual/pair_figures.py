"""Intercepts and the figures of certificates of the binary SVMs of all pairs of classes.

Rows are in order of their classes, class i from ``starts[i]`` to ``starts[i + 1]``. Line c of β and
of f = Kβ has the rows of every class i in its pair with class c, the lower class of which has
t = +1. A pair has two parts: what is summed over the rows of each class, lines by classes, is added
to its transpose. All is in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.optimize.losses import Hinge
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map


class PairFigures:
    """Numbers for every pair (K x K, symmetric)."""

    def __init__(self, starts: Ints, cost: Floats, beta: Floats, f: Floats) -> None:
        self.starts, self.cost, self.beta, self.f = starts, cost, beta, f
        k, sizes = len(starts) - 1, np.diff(starts)
        lines, self.own = range(k), np.repeat(np.arange(k), sizes)
        ends = np.array(parallel_map(self._gradients, lines))
        up, down = ends[:, 0], ends[:, 1]
        up, down = np.minimum(up, up.T), np.maximum(down, down.T)
        #: Violation of the worst pair of rows, and the intercept in the middle of it.
        self.violation, self.b = np.maximum(down - up, 0.0), -0.5 * (up + down)
        np.fill_diagonal(self.b, 0.0)  # a class is no pair with itself
        parts = np.array(parallel_map(lambda c: self._sums(c, np.repeat(self.b[c], sizes)), lines))
        sums, kkt = parts[:, :5].transpose(1, 0, 2), parts[:, 5]
        square, loss, excess, imbalance, total = sums + sums.transpose(0, 2, 1)
        #: ‖w‖², primal value, duality gap, KKT residual, and the objective of the best constant.
        self.square, self.primal = square, 0.5 * square + loss
        self.gap = excess + np.abs(self.b * imbalance)
        unbalanced = np.abs(imbalance) / np.where(total > 0.0, total, 1.0)
        self.kkt = np.maximum(np.maximum(kkt, kkt.T), unbalanced)
        costs = np.add.reduceat(cost, starts[:-1])
        self.scale = 2.0 * np.minimum(costs[:, None], costs)

    def _by_class(self, values: Floats, add: Any = np.add) -> Floats:
        """Sums (or extremes) over the rows of each class."""
        return np.asarray(add.reduceat(values, self.starts[:-1], axis=-1))

    def _gradients(self, c: int) -> tuple[Floats, Floats]:
        """The least up and the greatest down gradient of each class in its pair with c."""
        first, beta = self.own < c, self.beta[c]
        gradient = self.f[c] - np.where(first, 1.0, -1.0)
        up = np.where(beta < np.where(first, self.cost, 0.0), gradient, np.inf)
        down = np.where(beta > np.where(first, 0.0, -self.cost), gradient, -np.inf)
        return self._by_class(up, np.minimum), self._by_class(down, np.maximum)

    def _sums(self, c: int, b: Floats) -> Floats:
        """Sums over each class in its pair with c, and its largest KKT residual."""
        t, beta, f, loss = np.where(self.own < c, 1.0, -1.0), self.beta[c], self.f[c], Hinge()
        z, u = t * (f + b), -t * beta / self.cost
        costs = (self.cost * loss.value(z), self.cost * loss.excess(z, u))
        sums = self._by_class(np.stack([beta * f, *costs, beta, np.abs(beta)]))
        return np.vstack([sums, self._by_class(loss.violation(z, u, 1.0), np.maximum)])

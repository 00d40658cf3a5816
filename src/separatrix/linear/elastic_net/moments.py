"""Inner products from moments: for tables longer than they are wide. No row is read again."""

from __future__ import annotations

import numpy as np

from separatrix.linear.elastic_net.problem import Problem, Settings, Units
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.moments import Moments


class CorrelatedColumns:
    """Columns of length one, known by their correlations with each other and with the target."""

    def __init__(self, correlation: Floats, target: Floats) -> None:
        self.correlation, self.target = correlation, target
        self._index = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, len(target)))

    def grow(self, new: Ints) -> Floats:
        """Correlations of the enlarged set with the new columns."""
        self._index = np.concatenate([self._index, new])
        self._rows = np.concatenate([self._rows, self.correlation[new]])
        return self._rows[:, new]

    def keep(self, positions: Ints) -> None:
        """Drop the others."""
        self._index, self._rows = self._index[positions], self._rows[positions]

    def gradient(self, beta: Floats) -> tuple[Floats, float]:
        """c − Cβ and ‖r‖² = 1 − (c + g)·β."""
        grad = self.target - beta @ self._rows
        inner = (self.target[self._index] + grad[self._index]) @ beta
        return grad, max(1.0 - float(inner), 0.0)


def problem_from_moments(moments: Moments, settings: Settings, target: int = 0) -> Problem:
    """The elastic net of one target, from moments alone."""
    m = moments if settings.fit_intercept else moments.about_origin()
    units = Units(
        m.x_mean,
        np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight),
        float(m.y_mean[target]),
        float(np.sqrt(max(m.yy[target, target], 0.0) / m.weight)),
        m.weight,
    )
    live = units.live
    spread = units.x_scale[live]
    correlation = m.xx[np.ix_(live, live)] / m.weight / spread / spread[:, None]
    np.fill_diagonal(correlation, 1.0)
    cross = m.xy[live, target] / m.weight / spread / (units.y_scale or 1.0)
    return Problem(CorrelatedColumns(correlation, cross), units, settings)

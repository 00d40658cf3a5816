"""The elastic net as it is solved: columns and target about their means, of length one.

    (1/2Σw) Σ w (y − a − b·x)² + α ρ Σ vⱼ|bⱼ| + ½ α (1 − ρ) Σ vⱼ² bⱼ²

With xⱼ − x̄ⱼ = sⱼ uⱼ, y − ȳ = σ t and βⱼ = sⱼ bⱼ / σ this is σ² times

    ½ ‖t − Uβ‖² + α Σ ℓⱼ|βⱼ| + ½ α Σ qⱼ βⱼ²,    ℓⱼ = ρ vⱼ/(σ sⱼ),   qⱼ = (1 − ρ)(vⱼ/sⱼ)²

so that the numbers the solver meets do not depend on units. vⱼ is 1, or sⱼ when the penalty is
measured on columns of unit variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.linear.elastic_net.path import Geometry, Penalties, Point, Stopping, walk
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.threads import one_blas_thread

#: A column that varies by less than this share of its mean varies by rounding alone.
CONSTANT = 1e-14


@dataclass(frozen=True)
class Settings:
    """Which elastic net, and how closely it is to be solved."""

    l1_ratio: float = 1.0
    fit_intercept: bool = True
    positive: bool = False
    standardize: bool = False
    tol: float = 1e-8
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise InputError(f"l1_ratio={self.l1_ratio!r} must lie between 0 and 1.")
        if not self.tol > 0.0:
            raise InputError(f"tol={self.tol!r} must be greater than 0.")
        if self.max_iter < 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")


@dataclass(frozen=True)
class Units:
    """Means and spreads (standard deviations, 1/Σw) of the columns and of the target."""

    x_mean: Floats
    x_scale: Floats
    y_mean: float
    y_scale: float
    weight: float

    @property
    def live(self) -> NDArray[np.int64]:
        """The columns that vary, provided that the target does: only they can have a part."""
        if self.y_scale <= CONSTANT * abs(self.y_mean):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.x_scale > CONSTANT * np.abs(self.x_mean))

    def penalties(self, settings: Settings) -> Penalties:
        """ℓ and q of the live columns for α = 1."""
        spread = self.x_scale[self.live]
        v = np.ones_like(spread) if settings.standardize else 1.0 / spread
        sigma = self.y_scale or 1.0
        return Penalties(
            settings.l1_ratio / sigma * v, (1.0 - settings.l1_ratio) * v**2, settings.positive
        )


@dataclass(frozen=True)
class ElasticNetPath:
    """Solutions at ``alphas`` (m) in the table's units: ``coefs`` (m x d), ``intercepts`` (m).

    ``gaps`` bound how far each objective can be from its best value; ``squares`` are Σ w r²;
    ``freedom`` is the effective number of coefficients; ``sweeps`` counts those of the solver.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    gaps: Floats
    squares: Floats
    freedom: Floats
    reached: NDArray[np.bool_]
    sweeps: int


@dataclass(frozen=True)
class Problem:
    """One target's elastic net, ready for any α."""

    geometry: Geometry
    units: Units
    settings: Settings

    @property
    def alpha_max(self) -> float:
        """The smallest α at which every coefficient is zero: max |uⱼ·t| / ℓⱼ."""
        l1 = self.units.penalties(self.settings).l1
        pull = self.geometry.target if self.settings.positive else np.abs(self.geometry.target)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(pull > 0.0, pull / l1, 0.0), initial=0.0))

    def grid(self, size: int, eps: float) -> Floats:
        """``size`` penalties from the smallest that keeps all at zero down to ``eps`` times it."""
        if self.settings.l1_ratio == 0.0:
            raise InputError(
                "With l1_ratio=0 no penalty sets all coefficients to zero: no path starts there.",
                remedy="Give the alphas yourself, or use RidgePath.",
            )
        top = self.alpha_max
        least = float(np.finfo(float).resolution)
        if top <= least:
            return np.full(size, least)
        return np.geomspace(top, top * eps, size)

    def path(
        self, alphas: Sequence[float] | Floats, stopping: Stopping, start: Floats | None = None
    ) -> ElasticNetPath:
        """Solve at each of ``alphas``, in the order given; descending is fastest.

        ``start`` (d) are coefficients near the first solution, if some are known.
        """
        penalties = self.units.penalties(self.settings)
        levels, near = [float(a) for a in alphas], self._scaled(start)
        with one_blas_thread():
            points = tuple(walk(self.geometry, penalties, levels, stopping, near))
        return self._in_table_units(points, stopping)

    def _scaled(self, coef: Floats | None) -> Floats | None:
        u, live = self.units, self.units.live
        return None if coef is None else coef[live] * u.x_scale[live] / (u.y_scale or 1.0)

    def _in_table_units(self, points: tuple[Point, ...], stopping: Stopping) -> ElasticNetPath:
        u, live = self.units, self.units.live
        coefs = np.zeros((len(points), len(u.x_mean)))
        for row, point in zip(coefs, points, strict=True):
            at = live[point.index]
            row[at] = point.beta * (u.y_scale / u.x_scale[at])
        energy = u.y_scale**2
        return ElasticNetPath(
            alphas=np.array([p.alpha for p in points]),
            coefs=coefs,
            intercepts=u.y_mean - coefs @ u.x_mean,
            gaps=np.array([p.gap for p in points]) * energy,
            squares=np.array([p.square for p in points]) * (energy * u.weight),
            freedom=np.array([p.freedom for p in points]),
            reached=np.array([stopping.reached(p.gap, p.beta) for p in points], dtype=bool),
            sweeps=sum(p.sweeps for p in points),
        )

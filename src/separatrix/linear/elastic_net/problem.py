"""The elastic net on standardized columns and target.

    (1/2Σw) Σ w (y − a − b·x)² + α ρ Σ vⱼ|bⱼ| + ½ α (1 − ρ) Σ vⱼ² bⱼ²

With xⱼ − x̄ⱼ = sⱼ uⱼ, y − ȳ = σ t and βⱼ = sⱼ bⱼ / σ this is σ² times

    ½ ‖t − Uβ‖² + α Σ ℓⱼ|βⱼ| + ½ α Σ qⱼ βⱼ²,    ℓⱼ = ρ vⱼ/(σ sⱼ),   qⱼ = (1 − ρ)(vⱼ/sⱼ)²

so that the numbers the solver meets do not depend on units. vⱼ is 1, or sⱼ when the penalty is
measured on standardized columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.linear.elastic_net.path import (
    InnerProducts,
    PathPoint,
    StoppingRule,
    solve_path,
)
from separatrix.linear.elastic_net.sparse_path import SparseColumns, solve_sparse_path
from separatrix.messages import InputError
from separatrix.optimize.penalties import ElasticNet
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.statistics.standardizer import zero_if_constant


@dataclass(frozen=True)
class ElasticNetOptions:
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


def sparse_variances(x: Matrix, c: Floats, mean: Floats) -> Floats:
    """Σ c (x − x̄)² by column, Σ c = 1: the stored entries, then all the zeros at once."""
    entries = x.tocoo()
    centered = entries.data - mean[entries.col]
    squares = np.bincount(entries.col, c[entries.row] * centered**2, minlength=len(mean))
    stored_weight = np.bincount(entries.col, c[entries.row], minlength=len(mean))
    return np.asarray(squares + mean**2 * np.maximum(1.0 - stored_weight, 0.0))


@dataclass(frozen=True)
class Scales:
    """Means and standard deviations (1/Σw) of the columns and of the target."""

    x_mean: Floats
    x_scale: Floats
    y_mean: float
    y_scale: float
    weight: float

    @property
    def nonconstant(self) -> Ints:
        """The columns that are not constant; none where the target is constant."""
        if not zero_if_constant(np.array(self.y_scale), np.array(self.y_mean)):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(zero_if_constant(self.x_scale, self.x_mean))

    def penalty(self, options: ElasticNetOptions) -> ElasticNet:
        """ℓ and q of the nonconstant columns for α = 1."""
        scale = self.x_scale[self.nonconstant]
        v = np.ones_like(scale) if options.standardize else 1.0 / scale
        sigma = self.y_scale or 1.0
        return ElasticNet(
            options.l1_ratio / sigma * v, (1.0 - options.l1_ratio) * v**2, options.positive
        )


@dataclass(frozen=True)
class ElasticNetPath:
    """Solutions at ``alphas`` (m) in the table's units: ``coefs`` (m x d), ``intercepts`` (m).

    ``gaps`` are duality gaps; ``rss`` are Σ w r²; ``freedom`` are the effective degrees of
    freedom; ``sweeps_by_point`` counts those of coordinate descent.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    gaps: Floats
    rss: Floats
    freedom: Floats
    converged: NDArray[np.bool_]
    sweeps_by_point: tuple[int, ...]

    @property
    def sweeps(self) -> int:
        """The number of sweeps over all points."""
        return sum(self.sweeps_by_point)


@dataclass(frozen=True)
class ElasticNetProblem:
    """The elastic net of one target, for any α."""

    products: InnerProducts | SparseColumns
    scales: Scales
    options: ElasticNetOptions

    @property
    def alpha_max(self) -> float:
        """The smallest α at which every coefficient is zero: max |uⱼ·t| / ℓⱼ."""
        l1 = self.scales.penalty(self.options).l1
        cross = self.products.target if self.options.positive else np.abs(self.products.target)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(cross > 0.0, cross / l1, 0.0), initial=0.0))

    def grid(self, size: int, eps: float) -> Floats:
        """``size`` penalties from ``alpha_max`` down to ``eps`` times it, on a log scale."""
        if self.options.l1_ratio == 0.0:
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
        self, alphas: Sequence[float] | Floats, stopping: StoppingRule, start: Floats | None = None
    ) -> ElasticNetPath:
        """Solve at each of ``alphas``, in the order given; descending is fastest.

        ``start`` (d) are coefficients near the first solution, if some are known.
        """
        penalty = self.scales.penalty(self.options)
        levels, warm_start = [float(a) for a in alphas], self._standardized(start)
        if isinstance(self.products, SparseColumns):
            found = solve_sparse_path(self.products, penalty, levels, stopping, warm_start)
        else:
            found = solve_path(self.products, penalty, levels, stopping, warm_start)
        points = tuple(found)
        return self._in_table_units(points, stopping)

    def _standardized(self, coef: Floats | None) -> Floats | None:
        s, at = self.scales, self.scales.nonconstant
        return None if coef is None else coef[at] * s.x_scale[at] / (s.y_scale or 1.0)

    def _in_table_units(
        self, points: tuple[PathPoint, ...], stopping: StoppingRule
    ) -> ElasticNetPath:
        s, nonconstant = self.scales, self.scales.nonconstant
        coefs = np.zeros((len(points), len(s.x_mean)))
        for row, point in zip(coefs, points, strict=True):
            at = nonconstant[point.index]
            row[at] = point.beta * (s.y_scale / s.x_scale[at])
        y_variance = s.y_scale**2
        return ElasticNetPath(
            alphas=np.array([p.alpha for p in points]),
            coefs=coefs,
            intercepts=s.y_mean - coefs @ s.x_mean,
            gaps=np.array([p.gap for p in points]) * y_variance,
            rss=np.array([p.rss for p in points]) * (y_variance * s.weight),
            freedom=np.array([p.freedom for p in points]),
            converged=np.array([stopping.reached(p.gap, p.beta) for p in points], dtype=bool),
            sweeps_by_point=tuple(p.sweeps for p in points),
        )

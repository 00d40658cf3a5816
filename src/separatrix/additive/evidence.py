"""Blocks of coefficients with a ridge penalty each, and the evidence that chooses the penalties.

    min over b of ½ Σ w (y − b·z)² + ½ Σ_j λ_j ‖b_j‖²,      b_j ~ N(0, φ/λ_j),   y ~ N(b·z, φ/w)

From Σ w zzᵀ, Σ w z y and Σ w y² alone. With A = Σ w zzᵀ + Λ and D the minimum of twice the
objective, minus twice the log evidence is, up to a constant,

    V(ρ) = ν log (D + δ Σ w y²) + log |A| − Σ_j m_j ρ_j,      ρ = log λ,   ν = Σ w − 1

(restricted maximum likelihood: the constant is integrated out; D alone where φ is known). The small
δ keeps the noise above 3·10⁻⁴ standard deviations of the target: where curves pass through all
rows, the evidence would have no maximum. Its
derivatives are closed forms of A⁻¹, so that Newton's method finds ρ in a few factorizations of a
matrix of the coefficients. A block whose evidence falls until it is zero is left out: λ = ∞.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy import linalg
from scipy.optimize import nnls

from separatrix.additive.basis import Basis, NaturalCoordinates, SplineDesign
from separatrix.arrays import Floats, Ints, NDArray
from separatrix.optimize.convex import ROUNDING, Certificate

Mask = NDArray[np.bool_]
R = TypeVar("R")
#: Derivative of V at which a search that has no further to go counts as ended.
NEARLY_FLAT = 1e-3


@dataclass(frozen=True)
class RidgeMoments:
    """Σ w zzᵀ, Σ w z y and Σ w y² of centered coordinates and target, and ν = Σ w − 1.

    ``noise`` is φ where it is known, None where it is learned.
    """

    gram: Floats
    cross: Floats
    square: float
    freedom: float
    noise: float | None = None


@dataclass(frozen=True)
class RidgeFit:
    """Penalties (∞ for blocks that are left out), coefficients and what the evidence says.

    ``covariance`` is A⁻¹ over the coordinates ``active``.
    """

    penalty: Floats
    coef: Floats
    active: Ints
    covariance: Floats
    deviance: float
    evidence: float
    slope: float
    steps: int
    sizes: Ints

    @property
    def penalty_of_coordinates(self) -> Floats:
        """λ of the block of every coordinate."""
        return np.repeat(self.penalty, self.sizes)

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom."""
        shrunken = self.penalty_of_coordinates[self.active] * np.diag(self.covariance)
        return float(len(self.active) - shrunken.sum())


@dataclass(frozen=True)
class _EvidencePoint:
    """V at log penalties, with what its derivatives need."""

    rho: Floats
    value: float
    coef: Floats
    deviance: float
    factor: Floats


class _NotPositive(Exception):
    """A matrix of sums that is not positive definite by its rounding errors."""


class EvidenceSearch:
    """The maximum of the evidence over the penalties of the blocks.

    They are ``least`` or more; a search that is ``closed`` takes no block back that was left out.
    """

    def __init__(
        self, moments: RidgeMoments, sizes: Ints, *, least: float = 0.0, closed: bool = False
    ) -> None:
        self.m, self.sizes, self.least, self.closed = moments, sizes, least, closed
        self.starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        self.block = np.repeat(np.arange(len(sizes)), sizes)
        diagonal = np.add.reduceat(np.diag(moments.gram), self.starts) if len(sizes) else sizes
        self.scale = np.where(diagonal > 0.0, diagonal, 1.0) / np.maximum(sizes, 1)
        # Least penalty, relative to the mean sum of squares of the coordinates of a block.
        self.lowest = np.log(np.maximum(1e-9 * self.scale, least))

    def start(self) -> Floats:
        """Log penalties that shrink a coordinate by half."""
        return np.log(self.scale)

    def maximize(self, rho: Floats | None = None, max_iter: int = 100) -> RidgeFit:
        """Newton's method from ``rho``; infinite entries are blocks that are left out."""
        return self._firmly(lambda search: search._maximize(rho, max_iter))

    def _firmly(self, work: Callable[[EvidenceSearch], R]) -> R:
        """Work on these moments; on firmer ones where rounding makes them indefinite."""
        try:
            return work(self)
        except _NotPositive:  # sums of rows of very unequal weights, whose digits cancelled
            values = linalg.eigvalsh(self.m.gram, check_finite=False)
            gram = self.m.gram + 2.0 * max(abs(values[0]), 1e-12 * values[-1]) * np.eye(len(values))
            firm = replace(self.m, gram=gram)
            return work(EvidenceSearch(firm, self.sizes, least=self.least, closed=self.closed))

    def _maximize(self, rho: Floats | None, max_iter: int) -> RidgeFit:
        rho = self.start() if rho is None else np.array(rho)
        steps, tried = 0, np.zeros(len(rho), dtype=bool)
        while True:
            rho, taken, slope = self._ascend(rho, max_iter - steps)
            steps += taken
            back = self._wanted_back(rho) & ~tried
            if not back.any() or steps >= max_iter:
                return self._fit(rho, slope, steps)
            tried |= back
            rho = np.where(back, self.start(), rho)

    def _ascend(self, rho: Floats, most: int) -> tuple[Floats, int, float]:
        """Newton steps until V is flat, leaving out blocks on the way."""
        steps, slope, last = 0, 0.0, np.inf
        while steps <= most and np.isfinite(rho).any():
            active = np.isfinite(rho)
            point = self._point(rho)
            gradient, hessian, freedom = self._derivatives(point)
            # Degrees of freedom of a block below which it is left out, if the evidence still falls.
            leaving = (freedom < 1e-4) & (gradient < 0.0)
            if leaving.any():
                rho = rho.copy()
                rho[np.flatnonzero(active)[leaving]] = np.inf
                continue
            at_least = (rho[active] <= self.lowest[active]) & (gradient > 0.0)
            slope = float(np.abs(np.where(at_least, 0.0, gradient)).max())
            if slope <= 1e-9 or steps >= most:  # predictions have settled at such a derivative of V
                break
            step = _newton_step(gradient, hessian, freedom, self.sizes[active], at_least)
            steps += 1
            # Changes of V, relative to it, that its rounding errors hide: derivatives alone show
            # progress.
            if abs(float(gradient @ step)) < 1e-9 * max(1.0, abs(point.value)):
                if slope > 0.5 * last:  # derivatives have no further digits
                    break
                last, rho = slope, rho.copy()
                rho[active] = np.maximum(rho[active] + step, self.lowest[active])
                continue
            found = self._search_line(point, step, gradient)
            if found is None:  # no progress beyond rounding
                break
            rho = found
        return rho, steps, slope

    def _search_line(self, point: _EvidencePoint, step: Floats, gradient: Floats) -> Floats | None:
        """A shorter step where V would not fall; None where it falls by rounding errors at most."""
        active = np.isfinite(point.rho)
        rounding = 1e-13 * max(1.0, abs(point.value))
        for halvings in range(12):
            rho = point.rho.copy()
            rho[active] = np.maximum(rho[active] + step * 0.5**halvings, self.lowest[active])
            new = self._point(rho)
            expected = 1e-4 * float(gradient @ (rho[active] - point.rho[active]))
            if new.value <= point.value + min(expected, 0.0) + rounding:
                return None if np.array_equal(new.rho, point.rho) else rho
        return None

    def _point(self, rho: Floats) -> _EvidencePoint:
        active = np.isfinite(rho)[self.block]
        m, at = self.m, np.flatnonzero(active)
        a = m.gram[np.ix_(at, at)]
        a[np.diag_indices_from(a)] += np.exp(rho[self.block[at]])
        factor, failed = linalg.lapack.dpotrf(a, lower=1, clean=1)
        if failed:
            raise _NotPositive
        coef = linalg.cho_solve((factor, True), m.cross[at], check_finite=False)
        coef += linalg.cho_solve((factor, True), m.cross[at] - a @ coef, check_finite=False)
        # of second order in the error of the coefficients, as cᵀb alone is not
        deviance = m.square - float(coef @ (2.0 * m.cross[at] - a @ coef))
        # Least variance of the noise, relative to that of the target.
        deviance = max(deviance, 0.0) + 1e-7 * m.square
        size = 2.0 * float(np.log(np.diag(factor)).sum())
        finite = np.isfinite(rho)
        prior = float(self.sizes[finite] @ rho[finite])
        fit = m.freedom * np.log(deviance or 1.0) if m.noise is None else deviance / m.noise
        return _EvidencePoint(rho, fit + size - prior, coef, deviance, factor)

    def _derivatives(self, point: _EvidencePoint) -> tuple[Floats, Floats, Floats]:
        """Gradient and Hessian of V in ρ, and the effective degrees of freedom of the blocks."""
        m, active = self.m, np.flatnonzero(np.isfinite(point.rho))
        sizes, penalty = self.sizes[active], np.exp(point.rho[active])
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        inverse = invert(point.factor)
        traces = penalty * np.add.reduceat(np.diag(inverse), starts)
        each = np.repeat(penalty, sizes)
        b = point.coef
        squares = penalty * np.add.reduceat(b * b, starts)
        weight = m.freedom / point.deviance if m.noise is None else 1.0 / m.noise
        weighted = inverse * (each * b)
        cross = np.add.reduceat(weighted, starts, axis=1) * (each * b)[:, None]
        cross = np.add.reduceat(cross, starts, axis=0)
        norms = np.add.reduceat(np.add.reduceat(inverse**2, starts, axis=0), starts, axis=1)
        hessian = np.diag(weight * squares + traces) - 2.0 * weight * cross
        hessian -= np.outer(penalty, penalty) * norms
        if m.noise is None:
            hessian -= weight / point.deviance * np.outer(squares, squares)
        return weight * squares + traces - sizes, hessian, sizes - traces

    def _wanted_back(self, rho: Floats) -> Mask:
        """Blocks left out whose evidence rises with the first freedom they are given."""
        out = ~np.isfinite(rho)
        if self.closed or not out.any():
            return np.zeros_like(out)
        point, m = self._point(rho), self.m
        active, left = np.flatnonzero(~out[self.block]), np.flatnonzero(out[self.block])
        between = m.gram[np.ix_(active, left)]
        solved = linalg.solve_triangular(point.factor, between, lower=True, check_finite=False)
        spare = np.diag(m.gram)[left] - (solved**2).sum(axis=0)
        slope = m.cross[left] - between.T @ point.coef
        weight = m.freedom / point.deviance if m.noise is None else 1.0 / m.noise
        gain = weight * slope**2 - spare
        found = np.bincount(self.block[left], gain, len(rho))
        size = np.bincount(self.block[left], np.abs(spare), len(rho))
        # What rounding makes of a gain, and a rise too small for the block to stay, do not count.
        return out & (found > 1e-3 * size)

    def evidence(self, rho: Floats) -> float:
        """The logarithm of the evidence, up to a constant."""
        return self._firmly(lambda search: -0.5 * search._point(rho).value)

    def at(self, rho: Floats, fit: RidgeFit) -> RidgeFit:
        """The fit with given log penalties, of the search that ended in another."""
        return self._firmly(lambda search: search._fit(rho, fit.slope, fit.steps))

    def _fit(self, rho: Floats, slope: float, steps: int) -> RidgeFit:
        point = self._point(rho)
        active = np.flatnonzero(np.isfinite(rho)[self.block])
        coef = np.zeros(len(self.block))
        coef[active] = point.coef
        return RidgeFit(
            np.exp(rho),
            coef,
            active,
            invert(point.factor),
            point.deviance,
            -0.5 * point.value,
            slope,
            steps,
            self.sizes,
        )


def invert(factor: Floats) -> Floats:
    """A⁻¹ from the lower Cholesky factor of A."""
    if not len(factor):
        return np.zeros((0, 0))
    lower, _ = linalg.lapack.dpotri(factor, lower=1)
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def _newton_step(
    gradient: Floats, hessian: Floats, freedom: Floats, sizes: Ints, fixed: Mask
) -> Floats:
    """A step downhill where the Hessian is not positive definite too; longer towards infinity.

    Of a block with hardly any freedom V is V(∞) − a/λ, and the Newton step adds one to log λ
    again and again.
    """
    free = ~fixed
    values, directions = linalg.eigh(hessian[np.ix_(free, free)], check_finite=False)
    size = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max(initial=0.0)), 1e-3))
    step = np.zeros(len(gradient))
    step[free] = -directions @ ((directions.T @ gradient[free]) / size)
    # One for each unit of log λ where V is V(∞) − a/λ; less near a minimum, which is not passed by.
    vanishing = (freedom < 0.05 * sizes) & (gradient < 0.0) & (step > 0.7) & free
    largest = 4.0  # change of a log penalty in one step
    step = np.where(vanishing, np.maximum(step, largest), step)
    return np.clip(step, -largest, largest)


# -------------------------------------------------------------------------------------------------
# Coefficients under inequalities C b ≥ 0, for curves that must not fall (or rise).


def solve_constrained(a: Floats, cross: Floats, constraints: Floats) -> tuple[Floats, Floats]:
    """The minimum of ½ bᵀA b − c·b with C b ≥ 0, and the multipliers μ ≥ 0 of the constraints.

    b = A⁻¹(c + Cᵀμ), where μ ≥ 0 minimizes ‖L⁻¹(c + Cᵀμ)‖² with A = L Lᵀ: non-negative least
    squares, by an active set that ends at the exact solution.
    """
    factor = linalg.cholesky(a, lower=True, check_finite=False)
    unit = np.linalg.norm(constraints, axis=1)
    unit[unit == 0.0] = 1.0
    spread = linalg.solve_triangular(factor, (constraints / unit[:, None]).T, lower=True)
    target = -linalg.solve_triangular(factor, cross, lower=True)
    size = np.linalg.norm(spread, axis=0)
    size[size == 0.0] = 1.0
    mu = nnls(spread / size, target, maxiter=30 * len(constraints) + 100)[0] / size / unit
    return linalg.cho_solve((factor, True), cross + constraints.T @ mu), mu


def monotone_constraints(coordinates: NaturalCoordinates, signs: Mapping[str, int]) -> Floats:
    """Differences of neighboring coefficients, each times the sign of its column.

    A spline whose coefficients do not fall does not fall itself.
    """
    rows = []
    for j, basis in enumerate(coordinates.bases):
        if basis.name in signs:
            assert basis.transform is not None
            part = np.zeros((basis.size - 1, int(coordinates.starts[-1])))
            part[:, coordinates.of_term(j)] = signs[basis.name] * np.diff(basis.transform, axis=0)
            rows.append(part)
    return np.concatenate(rows) if rows else np.zeros((0, int(coordinates.starts[-1])))


def with_slopes(
    fit: RidgeFit, coordinates: NaturalCoordinates, signs: Mapping[str, int], search: EvidenceSearch
) -> RidgeFit:
    """Penalties with which monotone curves that bend may have a slope as well."""
    rho = np.log(fit.penalty)
    names = np.array([coordinates.bases[j].name for j in coordinates.term])
    for name in signs:
        blocks = names == name
        if np.isfinite(rho[blocks]).any():
            rho = np.where(blocks & ~np.isfinite(rho), search.start(), rho)
    return fit if np.array_equal(rho, np.log(fit.penalty)) else search.at(rho, fit)


# -------------------------------------------------------------------------------------------------
# Sums over rows in natural coordinates.


def natural_coordinates(design: SplineDesign, gram: Floats, w: Floats) -> NaturalCoordinates:
    """Natural coordinates of all bases, from the weighted products of their functions."""
    bases: list[Basis] = []
    for basis, start in zip(design.bases, design.offsets[:-1], strict=True):
        here = slice(int(start), int(start) + basis.size)
        bases.append(basis.with_coordinates(gram[here, here] / float(w.sum())))
    return NaturalCoordinates(bases)


# -------------------------------------------------------------------------------------------------
# The certificate of given penalties.


def certify_penalized(
    loss: float,
    gradient: Floats,
    coef: Floats,
    penalty: Floats,
    imbalance: Floats,
    *,
    claim: str,
    sizes: Floats,
    balance: float,
    constraints: Floats | None = None,
    multipliers: Floats | None = None,
    scale: float = np.nan,
    scale_of: str = "",
) -> Certificate:
    """Duality gap of P(b) = loss(b) + ½ Σ λ b² from its gradient, computed from the rows.

    P is convex with curvature λ at least, so that its minimum is above

        P(b) − ½ Σ (g + λ b − Cᵀμ)² / λ − μ·C b,      g = ∇ loss,   μ ≥ 0 under constraints C b ≥ 0

    ``imbalance`` are the derivatives by the constants, which have no penalty. ``sizes`` and
    ``balance`` are those of the sums that make up the two, by which rounding errors and ``kkt`` are
    measured.
    """
    residual = gradient + penalty * coef
    slack = 0.0
    if constraints is not None and multipliers is not None and len(constraints):
        residual = residual - constraints.T @ multipliers
        slack = float(multipliers @ np.maximum(constraints @ coef, 0.0))
    error = np.clip(residual, -ROUNDING * sizes, ROUNDING * sizes)
    charge = float(np.abs(error * coef).sum())
    residual = residual - error
    gap = 0.5 * float((residual**2 / penalty).sum()) + slack + 2.0 * charge
    primal = loss + 0.5 * float((penalty * coef**2).sum())
    known = sizes > 0.0
    violations = [np.abs(residual[known]) / sizes[known]]
    violations.append(np.abs(np.ravel(imbalance)) / (balance or 1.0))
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.concatenate(violations).max(initial=0.0)),
        tolerance=1e-9,  # promised of coefficients, given their penalties
        rounding=ROUNDING * abs(primal),
        scale=scale,
        scale_of=scale_of,
        statistic="the rows",
    )

"""Least squares with the penalty Σ|b|ᵖ, 1 ≤ p ≤ 2, from moments: between the lasso and ridge.

    min over b, a of   ½ Σ w (y − a − b·x)² + ½ α Σⱼ |bⱼ|ᵖ

With xⱼ − x̄ⱼ = sⱼ uⱼ, y − ȳ = σ t and βⱼ = sⱼ bⱼ/σ this is Σw σ² times

    ½ ‖t − Uβ‖² + Σⱼ λⱼ |βⱼ|ᵖ,    λⱼ = ½ α (σ/sⱼ)ᵖ / (Σw σ²)

Coordinates descend one after another: each takes the minimum of ½ (β − z)² + λ|β|ᵖ; Newton's step
on those that are not zero finishes. Below p = 2 the
penalty is no quadratic, and its slope at zero is steep (for p = 1 it jumps), so that small
coefficients shrink more than large ones; above p = 1 none is exactly zero.

Certificate: of any residual q, v = Uᵀq, the objective is above its minimum by at most

    ½ ‖r − q‖² + Σ [λ|β|ᵖ + (λ|·|ᵖ)*(v) − v β],    r = t − Uβ

The last sum is zero where v is a slope s of the penalty at β. Two residuals are tried: r, and the
nearest whose v is s as far as the columns span it, r + Uz with UᵀU z = s − Uᵀr. Of a tiny penalty
the first divides the rounding of v by λ, the second by the spread of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats
from separatrix.linear.elastic_net import (
    ElasticNetOptions,
    ElasticNetProblem,
    MomentColumns,
    elastic_net_problem,
)
from separatrix.linear.least_squares import NULL_MODEL, solve_moments
from separatrix.linear.loops import descend_with_powers
from separatrix.linear.working_sets import StoppingRule
from separatrix.optimize.convex import ROUNDING, Certificate, Solution, Status, joint_certificate
from separatrix.statistics.moments import Moments

#: Sweeps over all coordinates between two computations of the gap.
SWEEPS = 20
#: The gap, relative to the objective of no coefficients, below which descent ends once it stalls.
TOLERANCE = 1e-10


def power_path(
    moments: Moments, alphas: Floats, p: float, *, fit_intercept: bool
) -> Iterator[Solution]:
    """Solutions of all targets at each α, each started at the last; descending is fastest."""
    options = ElasticNetOptions(fit_intercept=fit_intercept)
    targets = [elastic_net_problem(moments, options, k) for k in range(len(moments.targets))]
    starts = [np.zeros(len(target.products.target)) for target in targets]
    assert isinstance(targets[0].products, MomentColumns)
    spread = Spread.of(targets[0].products.correlation)  # of all targets
    for alpha in alphas:
        if not alpha:
            yield solve_moments(None, moments, fit_intercept=fit_intercept)
            continue
        coef, intercepts, certificates = np.zeros((moments.d, len(targets))), [], []
        rounds = 0
        for k, target in enumerate(targets):
            s, at, columns = target.scales, target.scales.nonconstant, target.products
            assert isinstance(columns, MomentColumns)
            unit = s.weight * s.y_scale**2
            ratio = s.y_scale / s.x_scale[at]
            lam = 0.5 * alpha * ratio**p / (unit or 1.0)
            problem = PowerProblem(columns.correlation, columns.target, spread, lam, p)
            if p == 1.0:
                starts[k] = _lasso(target, alpha, starts[k])
            starts[k], gap, used = _solve(problem, starts[k])
            rounds = max(rounds, used)
            coef[at, k] = starts[k] * ratio
            intercepts.append(s.y_mean - coef[:, k] @ s.x_mean)
            certificates.append(_certificate(problem, starts[k], gap, unit))
        converged = all(c.holds for c in certificates)
        certificate = certificates[0] if len(certificates) == 1 else joint_certificate(certificates)
        status = Status.CONVERGED if converged else Status.LIMIT
        yield Solution(coef, np.array(intercepts), certificate, status, rounds * SWEEPS)


@dataclass(frozen=True)
class Spread:
    """UᵀU = V E Vᵀ by its eigenvalues beyond rounding."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, correlation: Floats) -> Spread:
        """Of correlations of columns."""
        values, vectors = np.linalg.eigh(correlation)
        positive = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
        return cls(values[positive], vectors[:, positive])

    def solve(self, diagonal: Floats, right: Floats) -> Floats:
        """(UᵀU + D⁻¹)⁻¹ of ``right``, which the columns span: D V (VᵀDV + E⁻¹)⁻¹ E⁻¹ Vᵀ."""
        inner = (self.vectors.T * diagonal) @ self.vectors + np.diag(1.0 / self.values)
        right = (self.vectors.T @ right) / self.values
        part = np.linalg.lstsq(inner, right, rcond=None)[0]  # D may spread beyond rounding
        return np.asarray(diagonal * (self.vectors @ part))


@dataclass(frozen=True)
class PowerProblem:
    """½ ‖t − Uβ‖² + Σ λ|β|ᵖ by UᵀU, Uᵀt and ‖t‖ = 1."""

    correlation: Floats
    target: Floats
    spread: Spread
    lam: Floats
    p: float

    def residual(self, beta: Floats) -> tuple[Floats, float]:
        """Uᵀr and ‖r‖²."""
        v = self.target - self.correlation @ beta
        return v, max(1.0 - float((self.target + v) @ beta), 0.0)

    def value(self, beta: Floats) -> float:
        """The objective."""
        return 0.5 * self.residual(beta)[1] + float(self.lam @ np.abs(beta) ** self.p)

    def gap(self, beta: Floats) -> float:
        """The smaller of the gaps at both residuals."""
        if not len(beta):
            return 0.0
        v, _ = self.residual(beta)
        slope = self.lam * self.p * np.sign(beta) * np.abs(beta) ** (self.p - 1.0)
        if self.p == 1.0:
            slope = np.where(beta == 0.0, np.clip(v, -self.lam, self.lam), slope)
        return min(self._gap_at(beta, np.zeros_like(v)), self._gap_at(beta, slope - v))

    def _gap_at(self, beta: Floats, change: Floats) -> float:
        """That of θ (r + Uz), UᵀUz being nearest to ``change``; of p = 1 where it is finite."""
        v, square = self.residual(beta)
        vectors = self.spread.vectors
        inner = vectors.T @ change
        z = inner / self.spread.values
        moved, along = float(inner @ z), float((vectors.T @ v) @ z)
        v = v + vectors @ inner
        theta, power = 1.0, self.p / (self.p - 1.0) if self.p > 1.0 else np.inf
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.p == 1.0:
                theta = min(1.0, float(np.min(self.lam / np.abs(v))))
                conjugate = np.zeros_like(v)
            else:
                relative = (np.abs(v) / (self.lam * self.p)) ** power
                conjugate = np.where(v == 0.0, 0.0, (self.p - 1.0) * self.lam * relative)
        excess = self.lam * np.abs(beta) ** self.p + conjugate - theta * v * beta
        apart = (1.0 - theta) ** 2 * square - 2.0 * theta * (1.0 - theta) * along + theta**2 * moved
        return 0.5 * max(apart, 0.0) + float(np.maximum(excess, 0.0).sum())

    def reweight(self, beta: Floats) -> Floats:
        """The minimum with λ|b|ᵖ replaced by the parabola ½ λ p |β|ᵖ⁻² b², which lies above it.

        It touches at β up to a constant, so that the objective decreases.
        """
        return self.spread.solve(np.abs(beta) ** (2.0 - self.p) / (self.lam * self.p), self.target)

    def newton(self, beta: Floats) -> Floats:
        """One of Newton's steps on the coefficients that are not zero, with their signs."""
        at = np.flatnonzero(beta)
        size, hessian = np.abs(beta[at]), self.correlation[np.ix_(at, at)].copy()
        if not len(at):
            return beta
        slope = np.sign(beta[at]) * self.lam[at] * self.p * size ** (self.p - 1.0)
        with np.errstate(over="ignore"):
            curvature = self.lam[at] * self.p * (self.p - 1.0) * size ** (self.p - 2.0)
        np.fill_diagonal(hessian, hessian.diagonal() + np.minimum(curvature, 1e100))
        moved, gradient = beta.copy(), self.residual(beta)[0][at] - slope
        moved[at] += np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        return moved


def _lasso(target: ElasticNetProblem, alpha: float, beta: Floats) -> Floats:
    """Coefficients in standard units by working sets, which choose among dependent columns."""
    s, at = target.scales, target.scales.nonconstant
    start = np.zeros(len(s.x_mean))
    start[at] = beta * s.y_scale / s.x_scale[at]
    path = target.path([0.5 * alpha / s.weight], StoppingRule(TOLERANCE), start)
    return np.asarray(path.coefs[0, at] * s.x_scale[at] / (s.y_scale or 1.0))


def _solve(problem: PowerProblem, beta: Floats) -> tuple[Floats, float, int]:
    """Coefficients in standard units, their duality gap, and the rounds of sweeps."""
    beta, gap, rounds = beta.copy(), problem.gap(beta), 0
    while rounds < 500:
        before, rounds = gap, rounds + 1
        descend_with_powers(
            problem.correlation, problem.target, problem.lam, problem.p, beta, SWEEPS
        )
        gap = problem.gap(beta)
        for step in (problem.reweight, problem.newton):
            moved = step(beta)
            if (closer := problem.gap(moved)) < gap:
                beta, gap = moved, closer
        if gap <= TOLERANCE * problem.value(beta) and gap > 0.5 * before:  # rounding ends it
            break
    return beta, gap, rounds


def _certificate(problem: PowerProblem, beta: Floats, gap: float, unit: float) -> Certificate:
    primal = unit * problem.value(beta)
    return Certificate(
        f"Penalized least squares, Σ|b|^{problem.p:g}: duality gap from the moments",
        primal=primal,
        dual=primal - unit * gap,
        gap=unit * gap,
        tolerance=1e-9,
        # the residuals are what cancellation leaves of ‖t‖² = 1 and of the fitted sum
        rounding=ROUNDING * unit * (1.0 + abs(1.0 - problem.residual(beta)[1])),
        scale=0.5 * unit,
        scale_of=NULL_MODEL,
        promised=("gap",),
    )

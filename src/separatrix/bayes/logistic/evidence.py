"""The Laplace approximation of the evidence, and the prior scale that maximizes it.

    log Z(σ) ≈ −Ψ(θ̂) − ½ log |A| + ½ Σ log λ,        A = ∇²Ψ(θ̂),    λ = 1/σ²

With ρ = log λ and θ̂ moving along dθ̂/dρ = −A⁻¹λθ̂, its derivative is

    d log Z/dρ = ½ (q − λ‖θ̂‖² − λ tr A⁻¹) + ½ g·A⁻¹λθ̂,      g = ∇_θ tr(A⁻¹ H(θ))

over the q coefficients of columns; the last term is how the Hessian itself depends on θ̂, which
MacKay's fixed point λ = (q − λ tr A⁻¹)/‖θ̂‖² leaves out. That gives the first step; the root of the
exact derivative is then bracketed and found by Brent's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from separatrix.bayes.logistic.curvature import CurvatureSlope
from separatrix.bayes.logistic.problem import LogisticPosterior, OnePass
from separatrix.messages import InputError
from separatrix.optimize.newton import cholesky_solver, newton
from separatrix.rows.block import Floats

#: Prior scales that are tried, of coefficients of standardized columns.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 1e3
#: Largest gradient of Ψ that ends Newton's method, for each row.
TOLERANCE = 1e-12
#: Derivative of the evidence that ends the search, for each coefficient.
SLOPE = 1e-10
#: The longest step of ρ before the maximum is bracketed.
LONGEST_STEP = 4.0


@dataclass(frozen=True)
class LaplaceFit:
    """The maximum a posteriori for one prior scale, and the evidence there.

    ``slope`` is the derivative of ``log_evidence`` by log λ, NaN where it was not needed; ``fixed``
    is the λ of MacKay's fixed point.
    """

    problem: LogisticPosterior
    prior_scale: float
    theta: Floats
    covariance: Floats
    log_evidence: float
    condition: float
    margin: float
    passes: int
    slope: float = np.nan
    fixed: float = np.nan


def laplace_fit(
    problem: LogisticPosterior, prior_scale: float, start: Floats, max_iter: int, *, slope: bool
) -> LaplaceFit:
    """Newton's method from ``start``, then the Gaussian at its end."""
    problem = problem.with_scale(prior_scale)
    one = OnePass(problem)
    found = newton(one, start, tol=TOLERANCE, max_iter=max_iter, gradient_scale=problem.weight)
    theta = _polished(one, found.coef[:, 0])
    at = one.at(theta)
    covariance, log_determinant, condition = _inverse(at.hessian)
    log_evidence = -at.value - 0.5 * log_determinant + 0.5 * float(np.log(problem.precisions).sum())
    derivative, fixed = _slope(problem, theta, covariance) if slope else (np.nan, np.nan)
    return LaplaceFit(
        problem, prior_scale, theta, covariance, log_evidence, condition, at.margin, one.passes,
        derivative, fixed,
    )  # fmt: skip


def _polished(one: OnePass, theta: Floats) -> Floats:
    """Full Newton steps while they shrink the gradient: Ψ itself has too few digits to tell."""
    at = one.at(theta)
    for _ in range(3):
        largest = float(np.abs(at.gradient).max(initial=0.0))
        if largest <= 1e-14 * one.problem.weight:
            break
        new = theta - cholesky_solver(at.hessian)(at.gradient)
        there = one.at(new)
        if not np.abs(there.gradient).max(initial=0.0) < 0.5 * largest:
            break
        theta, at = new, there
    return theta


def _inverse(hessian: Floats) -> tuple[Floats, float, float]:
    """A⁻¹, log |A| and the condition of A scaled to a unit diagonal."""
    unit = np.sqrt(np.diag(hessian))
    scaled = hessian / np.outer(unit, unit)
    values, vectors = linalg.eigh(scaled)
    if not values[0] > 0.0:
        raise InputError(
            "The curvature of the log posterior is not positive definite within rounding errors.",
            remedy="Give a smaller prior_scale.",
        )
    half = vectors / np.sqrt(values)
    covariance = (half @ half.T) / np.outer(unit, unit)
    determinant = float(np.log(values).sum() + 2.0 * np.log(unit).sum())
    return covariance, determinant, float(values[-1] / values[0])


def _slope(problem: LogisticPosterior, theta: Floats, covariance: Floats) -> tuple[float, float]:
    """d log Z/dρ, and the λ of the fixed point."""
    inside = problem.columns_of(np.ones_like(theta)) > 0.0
    if not inside.any():
        return 0.0, np.nan
    precision = float(problem.precision[0])
    columns = problem.columns_of(theta)
    square = float(columns @ columns)
    trace = precision * float(np.diag(covariance)[inside].sum())
    q = problem.n_penalized
    passed = CurvatureSlope(
        problem.design, problem.point(theta), problem.pushed_forward(covariance)
    )
    g = problem.gradient_of(problem.rows.reduce(passed).gradient)
    implicit = 0.5 * float(g @ (covariance @ (precision * columns)))
    explicit = 0.5 * (q - precision * square - trace)
    return explicit + implicit, (q - trace) / max(square, np.finfo(float).tiny)


def maximize_evidence(problem: LogisticPosterior, max_iter: int) -> LaplaceFit:
    """The prior scale of largest evidence between the smallest and the largest that are tried."""
    search = _Search(problem, max_iter)
    low, high = -2.0 * np.log(LARGEST_SCALE), -2.0 * np.log(SMALLEST_SCALE)
    at, other = 0.0, None
    here = search(at)
    while other is None:
        step = float(np.log(here.fixed)) - at if here.fixed > 0.0 else np.nan
        if not step * here.slope > 0.0:
            step = np.sign(here.slope)
        # a little beyond the fixed point, so that the maximum lies between
        step = float(np.clip(1.5 * step, -LONGEST_STEP, LONGEST_STEP))
        step = step if abs(step) > 1e-3 else 1e-3 * np.sign(here.slope or 1.0)
        there = float(np.clip(at + step, low, high))
        found = search(there)
        if found.slope * here.slope <= 0.0:
            other = there
        elif there in (low, high):
            return found  # the evidence still grows at the last scale that is tried
        else:
            at, here = there, found
    root = optimize.brentq(search.slope, min(at, other), max(at, other), xtol=1e-13, rtol=1e-13)
    best, none = search(float(root)), search(high)
    return none if none.log_evidence > best.log_evidence and none.slope >= 0.0 else best


class _Search:
    """Fits by ρ = log λ; each starts where the nearest one ended."""

    def __init__(self, problem: LogisticPosterior, max_iter: int) -> None:
        self.problem, self.max_iter = problem, max_iter
        self.fits: dict[float, LaplaceFit] = {}

    def slope(self, rho: float) -> float:
        """The derivative of the evidence, exactly zero where more digits would not matter."""
        found = self(rho).slope
        return 0.0 if abs(found) <= SLOPE * self.problem.n_penalized else found

    def __call__(self, rho: float) -> LaplaceFit:
        if rho not in self.fits:
            scale = float(np.exp(-0.5 * rho))
            start = self.problem.start()
            if self.fits:
                near = min(self.fits, key=lambda known: abs(known - rho))
                fit = self.fits[near]
                # along the path of θ̂, to first order in ρ
                columns = fit.problem.precisions * fit.problem.columns_of(fit.theta)
                start = fit.theta - np.clip(rho - near, -0.5, 0.5) * (fit.covariance @ columns)
            self.fits[rho] = laplace_fit(self.problem, scale, start, self.max_iter, slope=True)
        return self.fits[rho]

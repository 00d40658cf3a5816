"""Least squares and ridge: the minimum of a quadratic function in exact fractions.

    f(a, b) = ½ Σ w (y − a − b·x)² + ½ Σ αⱼ bⱼ²,     f(a, b) − min f = f(a, b) − f(a*, b*)

Doubles are fractions, sums of their products are too, and so is the solution of the normal
equations: nothing is rounded but what is printed. Standardized columns have αⱼ = α sⱼ², a fraction
as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from separatrix.verification.arithmetic.enclosures import step_bound
from separatrix.verification.arithmetic.roots import digits, root_above, root_below
from separatrix.verification.arithmetic.systems import product, solve_symmetric
from separatrix.verification.claims.certificate import gap_claims, kkt_claims
from separatrix.verification.claims.sums import Sums
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import PROVED, REFUTED, Claim, bound, equal, recorded

#: Relative rounding of a stored coefficient, with a margin.
ROUNDING = Fraction(1, 1 << 49)
#: Digits of coefficients that are proved where the certificate does not say how many there are.
LEAST_DIGITS = 6.0
#: A column nearer to the span of others, relative to its length, is dependent up to rounding.
DEPENDENT = 1e-7
#: More columns are enclosed: elimination in fractions would take minutes.
MANY = 40


@dataclass(frozen=True)
class Quadratic:
    """The problem of one target: Σ w z zᵀ + diag(0, α), Σ w z y and Σ w y², z = (1, x) or x."""

    a: list[list[Fraction]]
    c: list[Fraction]
    yy: Fraction

    def value(self, theta: list[Fraction]) -> Fraction:
        """f at θ = (a, b)."""
        fitted = product(self.a, theta)
        terms = (t * (f - 2 * c) for t, f, c in zip(theta, fitted, self.c, strict=True))
        return (self.yy + sum(terms, Fraction(0))) / 2

    def gradient(self, theta: list[Fraction]) -> list[Fraction]:
        """Aθ − c."""
        return [f - c for f, c in zip(product(self.a, theta), self.c, strict=True)]


def quadratic_claims(
    sums: Sums,
    coef: list[list[float]],
    intercept: list[float],
    alpha: list[list[Fraction]],
    certificate: Record,
    *,
    fit_intercept: bool,
    tolerance: float,
    dependent: Sequence[int] = (),
) -> list[Claim]:
    """Objective, gap, KKT residual and digits of coefficients; targets add up.

    The minimum is that over columns which the certificate does not name as ``dependent`` (numbers
    from 1): in exact arithmetic a column that is dependent up to rounding is a column of noise.
    """
    first = 0 if fit_intercept else 1
    at = list(range(first, sums.d + 1))
    free = [k for k, j in enumerate(at) if j not in dependent]
    value = gap = scale = Fraction(0)
    worst_kkt, allowed, least, name = Fraction(0), Fraction(0), 16.0, 0
    m, lost = sums.matrix, 0
    for target, y in enumerate(sums.targets):
        problem = Quadratic(
            [[m[i][j] + (alpha[target][i - 1] if i == j and i else 0) for j in at] for i in at],
            [m[i][y] for i in at],
            m[y][y],
        )
        own = [Fraction(b) for b in coef[target]]
        theta = [Fraction(intercept[target]), *own] if fit_intercept else own
        value += problem.value(theta)
        above, best, lost = _minimum(problem, theta, free, fit_intercept)
        gap += above
        spread = sums.centered if fit_intercept else m
        scale += spread[y][y] / 2
        size = root_above(spread[y][y]) or Fraction(1)
        kkt, rounding = _kkt(problem, theta, spread, alpha[target], size, fit_intercept)
        worst_kkt, allowed = max(worst_kkt, kkt), max(allowed, rounding)
        if not lost:
            unit = [root_above(spread[j][j]) for j in range(1, sums.d + 1)]
            found, j = _digits(own, best[-sums.d :] if sums.d else [], unit)
            least, name = min((least, name), (found, j))
    claims = [recorded("objective", "The objective", certificate["primal"], value, scale)]
    claims += gap_claims(
        certificate,
        value,
        gap,
        tolerance,
        scale=scale,
        scale_of="half the sum of squares of the target about its mean",
    )
    claims += kkt_claims(certificate, worst_kkt, allowed, tolerance)
    if dependent:
        claims.append(_dependence(m, [at[k] for k in free], dependent))
    return claims + _coefficient_claims(certificate, least, name, lost, sums.d)


def _minimum(
    problem: Quadratic, theta: list[Fraction], free: list[int], fit_intercept: bool
) -> tuple[Fraction, list[Fraction], int]:
    """f(θ) − min f, a minimizer, and how many columns are left out.

    Of many columns both are bounds: the minimizer is then θ less the bound of the step to it.
    """
    size = len(theta)
    if size > MANY and len(free) == size:
        found = _bounded(problem, theta, fit_intercept)
        if found is not None:
            return found[0], found[1], 0
    exact = solve_symmetric(
        [[problem.a[i][j] for j in free] for i in free], [[problem.c[i] for i in free]]
    )
    best = [Fraction(0)] * size
    for k, x in zip(free, exact.x[0], strict=True):
        best[k] = x
    above = max(problem.value(theta) - problem.value(best), Fraction(0))
    return above, best, size - exact.rank


def _bounded(
    problem: Quadratic, theta: list[Fraction], fit_intercept: bool
) -> tuple[Fraction, list[Fraction]] | None:
    """The same by enclosures, in centered columns: ½ W (mean residual)² + ½ gᵀA⁻¹g."""
    a, g = problem.a, problem.gradient(theta)
    mean = Fraction(0)
    if fit_intercept:
        weight = a[0][0]
        mean = g[0] ** 2 / weight / 2
        g = [v - g[0] * a[0][j] / weight for j, v in enumerate(g)][1:]
        a = [
            [v - a[0][i] * a[0][j] / weight for j, v in enumerate(row)][1:]
            for i, row in enumerate(a)
        ][1:]
    found = step_bound(a, g)
    if found is None:
        return None
    steps, square = found
    best = [b - s for b, s in zip(theta[1:] if fit_intercept else theta, steps, strict=True)]
    return mean + square / 2, [theta[0], *best] if fit_intercept else best


def _dependence(m: list[list[Fraction]], free: list[int], dependent: Sequence[int]) -> Claim:
    """How far the dependent columns are from the span of the others, relative to their length."""
    right = [[m[i][j] for i in free] for j in dependent]
    found = solve_symmetric([[m[i][j] for j in free] for i in free], right)
    distance = Fraction(0)
    for j, x, c in zip(dependent, found.x, right, strict=True):
        if m[j][j]:
            fitted = sum((u * v for u, v in zip(x, c, strict=True)), Fraction(0))
            distance = max(distance, root_above(max(m[j][j] - fitted, Fraction(0)) / m[j][j]))
    return bound(
        "dependent columns",
        "Their largest distance from the span of the others, relative to their length,",
        distance,
        DEPENDENT,
        "the rounding of",
    )


def _kkt(
    problem: Quadratic,
    theta: list[Fraction],
    spread: list[list[Fraction]],
    alpha: list[Fraction],
    size: Fraction,
    fit_intercept: bool,
) -> tuple[Fraction, Fraction]:
    """The largest cosine between a centered column and the residual; what rounding explains."""
    gradient = problem.gradient(theta)
    b = theta[1:] if fit_intercept else theta
    g = gradient[1:] if fit_intercept else gradient
    rounding = Fraction(0)
    for j, value in enumerate(b, start=1):
        rounding += abs(value) * root_above(spread[j][j]) / size * ROUNDING
    worst = Fraction(0)
    mean = gradient[0] / problem.a[0][0] if fit_intercept else Fraction(0)
    for j in range(1, len(b) + 1):
        length = root_below(spread[j][j] + alpha[j - 1])
        if length > 0:
            own = g[j - 1] - (mean * problem.a[0][j] if fit_intercept else 0)
            worst = max(worst, abs(own) / length / size)
    if fit_intercept:
        weight = problem.a[0][0]
        worst = max(worst, abs(gradient[0]) / root_below(weight) / size)
        terms = sum((abs(t * a) for t, a in zip(theta, problem.a[0], strict=True)), Fraction(0))
        rounding += (terms + abs(problem.c[0])) / root_below(weight) / size * ROUNDING
    return worst, rounding


def _digits(own: list[Fraction], best: list[Fraction], unit: list[Fraction]) -> tuple[float, int]:
    """The fewest digits of a coefficient, each by itself or against the largest contribution."""
    largest = max((abs(b) * u for b, u in zip(best, unit, strict=True)), default=Fraction(0))
    found = []
    for j, (b, exact, u) in enumerate(zip(own, best, unit, strict=True)):
        if not u:  # a constant column: its coefficient changes no fit
            continue
        size = max(abs(exact), largest / u / 1000)
        found.append((digits(b - exact, size), j))
    return min(found, default=(16.0, 0))


def _coefficient_claims(
    certificate: Record, least: float, name: int, dependent: int, d: int
) -> list[Claim]:
    stated = certificate["digits"]
    listed = len(certificate["dependent"])
    claims = []
    if certificate["rank"] is not None:
        claims.append(
            equal("rank", "Independent columns by the record", certificate["rank"], d - listed)
        )
    if dependent or listed:
        sentence = "Coefficients are not unique: columns depend on each other; the fit is unique."
        return [*claims, Claim("coefficients", PROVED, sentence)]
    known = isinstance(stated, float) and isfinite(stated)
    needed = max(0.0, min(stated - 4.0, 10.0)) if known else LEAST_DIGITS
    says = f"; the certificate says about {stated:.0f}" if known else ""
    if least < needed:
        sentence = f"Coefficient {name + 1} has {least:.1f} correct digits{says}."
        return [*claims, Claim("coefficients", REFUTED, sentence, least)]
    sentence = f"Every coefficient has {least:.0f} correct digits or more{says}."
    return [*claims, Claim("coefficients", PROVED, sentence, least)]

"""Lasso and elastic net: the duality gap from exact moments.

    P(a, b) = (1/2W) Σ w r² + Σ (ℓⱼ|bⱼ| + ½ qⱼ bⱼ²),       r = y − a − b·x,   W = Σ w
    D(t)    = −½ t² ρ² + t κ − Σ p*(t vⱼ)

with the centered residual ρ² = Σ w r̄²/W, κ = Σ w r̄ y/W and vⱼ = Σ w r̄ xⱼ/W: every t that is
feasible gives a lower bound. ℓⱼ = α ρ sⱼ has a root of a fraction where columns are standardized;
it is rounded up in P and down in D, so that P − D bounds the gap from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from separatrix.verification.arithmetic.roots import root_above, root_below
from separatrix.verification.claims.certificate import gap_claims, kkt_claims
from separatrix.verification.claims.sums import Sums
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import Claim, recorded

#: Relative rounding of a stored coefficient, with a margin.
ROUNDING = Fraction(1, 1 << 49)
#: A standard deviation below this part of the mean is a constant column's.
CONSTANT = Fraction(1, 10**13)


@dataclass(frozen=True)
class Penalty:
    """ℓ from below and from above and q of one column; whether coefficients are not negative."""

    below: Fraction
    above: Fraction
    q: Fraction
    positive: bool

    def value(self, b: Fraction) -> Fraction:
        """p(b) from above."""
        return self.above * abs(b) + self.q * b * b / 2

    def scale(self, v: Fraction) -> Fraction | None:
        """The largest t with a finite p*(t v); None where any will do."""
        if self.q > 0 or v == 0 or (self.positive and v < 0):
            return None
        return self.below / abs(v)

    def conjugate(self, v: Fraction) -> Fraction:
        """p*(v) from above, where it is finite."""
        over = v if self.positive else abs(v)
        over -= self.below
        return over * over / (2 * self.q) if over > 0 and self.q > 0 else Fraction(0)

    def distance(self, b: Fraction, v: Fraction) -> Fraction:
        """Distance of v to ∂p(b), from above up to the rounding of ℓ."""
        if b > 0:
            return abs(v - self.below - self.q * b)
        if b < 0:
            return abs(v + self.below - self.q * b)
        return max(v - self.below if self.positive else abs(v) - self.below, Fraction(0))


#: Rounding of a sum over rows in doubles, relative to that of its absolute terms.
SUMS = Fraction(1, 1 << 46)


def settled(p: Penalty, b: Fraction, v: Fraction, error: Fraction) -> tuple[Fraction, Fraction]:
    """V moved towards ∂p(b) by ``error`` at most, and |b| times the move.

    A threshold below the rounding errors of sums could not be met by any dual point in doubles.
    """
    if b:
        point = (p.below if b > 0 else -p.below) + p.q * b
    else:
        point = min(v if p.positive else max(v, -p.below), p.below)
    off = min(max(v - point, -error), error)
    return v - off, abs(b * off)


def elastic_net_claims(
    sums: Sums,
    coef: list[list[float]],
    intercept: list[float],
    certificate: Record,
    *,
    alpha: Fraction,
    l1_ratio: Fraction,
    standardize: bool,
    positive: bool,
    fit_intercept: bool,
    tolerance: float,
) -> list[Claim]:
    """Objective, gap and KKT residual; targets add up."""
    spread = sums.centered if fit_intercept else sums.matrix
    weight = sums.weight
    used = [
        j
        for j in range(1, sums.d + 1)
        if spread[j][j] > weight * (CONSTANT * sums.mean(j)) ** 2 or coef[0][j - 1]
    ]
    penalties = []
    for j in used:
        square = spread[j][j] / weight if standardize else Fraction(1)
        below, above = (root_below(square), root_above(square)) if standardize else (square, square)
        ridge = alpha * (1 - l1_ratio) * square
        penalties.append(
            Penalty(alpha * l1_ratio * below, alpha * l1_ratio * above, ridge, positive)
        )
    value = gap = scale = kkt = allowed = near = Fraction(0)
    for target, y in enumerate(sums.targets):
        b = [Fraction(coef[target][j - 1]) for j in used]
        found = _one(
            sums, spread, used, b, Fraction(intercept[target]), y, penalties, fit_intercept
        )
        value, gap = value + found[0], gap + found[1]
        kkt, allowed, near = max(kkt, found[2]), max(allowed, found[3]), near + found[4]
        scale += spread[y][y] / weight / 2
    claims = [recorded("objective", "The objective", certificate["primal"], value, scale)]
    claims += gap_claims(
        certificate,
        value,
        gap,
        tolerance,
        scale=scale,
        scale_of="half the variance of the target",
        error=gap if near <= Fraction(tolerance) * value else Fraction(0),
        how="from below and above",
    )
    return claims + kkt_claims(certificate, kkt, allowed, tolerance)


def _one(
    sums: Sums,
    spread: list[list[Fraction]],
    used: list[int],
    b: list[Fraction],
    a: Fraction,
    y: int,
    penalties: list[Penalty],
    fit_intercept: bool,
) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """P, the gap, the KKT residual and what rounding explains of it, of one target.

    Last, the gap with the rounding errors of v charged to it at the size of the coefficients.
    """
    weight = sums.weight
    v = [(spread[j][y] - _dot(spread[j], used, b)) / weight for j in used]
    yy, kappa = spread[y][y] / weight, spread[y][y] / weight - _dot(spread[y], used, b) / weight
    square = kappa - sum((bj * vj for bj, vj in zip(b, v, strict=True)), Fraction(0))
    off = Fraction(0)
    if fit_intercept:
        off = (
            sums.mean(y)
            - a
            - sum((bj * sums.mean(j) for j, bj in zip(used, b, strict=True)), Fraction(0))
        )
    primal = (square + off * off) / 2
    primal += sum((p.value(bj) for p, bj in zip(penalties, b, strict=True)), Fraction(0))
    scales = [s for p, vj in zip(penalties, v, strict=True) if (s := p.scale(vj)) is not None]
    t = min([Fraction(1), *scales])
    dual = -t * t * square / 2 + t * kappa
    dual -= sum((p.conjugate(t * vj) for p, vj in zip(penalties, v, strict=True)), Fraction(0))
    size = root_above(yy) or Fraction(1)
    kkt, rounding = abs(off) / size, Fraction(0)
    for j, p, bj, vj in zip(used, penalties, b, v, strict=True):
        unit = root_above(spread[j][j] / weight)
        rounding += abs(bj) * unit / size * ROUNDING
        if fit_intercept:
            rounding += abs(bj * sums.mean(j)) / size * ROUNDING
        if unit:
            kkt = max(kkt, p.distance(bj, vj) / unit / size)
    if fit_intercept:
        rounding += abs(sums.mean(y)) / size * ROUNDING
    gap = primal - max(dual, Fraction(0))
    near = off * off / 2
    for j, p, bj, vj in zip(used, penalties, b, v, strict=True):
        unit = root_above(spread[j][j] / weight)
        moved, charge = settled(p, bj, vj, SUMS * unit * size)
        limit = p.scale(moved)
        if limit is not None and limit < 1:
            return primal, gap, kkt, rounding, gap
        near += p.value(bj) + p.conjugate(moved) - moved * bj + 2 * charge
    return primal, gap, kkt, rounding, near


def _dot(row: list[Fraction], used: list[int], b: list[Fraction]) -> Fraction:
    return sum((row[j] * bj for j, bj in zip(used, b, strict=True) if bj), Fraction(0))

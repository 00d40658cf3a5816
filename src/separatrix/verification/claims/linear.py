"""Claims of linear models of numbers: which parameters define their objective."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any

from separatrix.messages import InputError
from separatrix.verification.arithmetic import (
    ExactMoments,
    as_float,
    digits,
    product,
    root_above,
    root_below,
    solve_symmetric,
    step_bound,
)
from separatrix.verification.design import Blocks, Design
from separatrix.verification.stored import Record, Tensor
from separatrix.verification.verdict import (
    CONSISTENT,
    PROVED,
    RECORDED_DIGITS,
    REFUTED,
    Claim,
    bound,
    claim_recorded,
    equal,
)

#: Relative gap and KKT residual that these certificates promise.
PROMISED = 1e-8
ZERO = Fraction(0)


def coefficients(model: Record) -> tuple[list[list[float]], list[float]]:
    """Coefficients, a row for each target, and intercepts."""
    coef, intercept = model["coef_"], model["intercept_"]
    rows = [coef.values] if len(coef.shape) == 1 else coef.rows
    given = intercept.values if isinstance(intercept, Tensor) else [float(intercept)]
    return rows, given if len(given) == len(rows) else [given[0]] * len(rows)


def names_of(model: Record, d: int) -> list[str]:
    """The columns of the design by name."""
    encoding = model.get("encoding_")
    if not isinstance(encoding, Record):
        return [f"x{j}" for j in range(d)]
    return [_term_name(term) for term in encoding["terms"]["items"]]


def _term_name(term: Record) -> str:
    if term["missing"]:
        return f"{term['column']} missing"
    return str(term["column"] if term["level"] is None else f"{term['column']}={term['level']}")


def least_squares(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearRegression``: f is the sum of squares; with b ≥ 0 a lasso without penalty."""
    sums = sums_of(blocks)
    fit_intercept = bool(model.params.get("fit_intercept", True))
    claims = recorded_moments(sums, model.get("moments_"))
    if model.params.get("positive"):
        return claims + _claim_penalized(model, sums, Fraction(0), Fraction(1))
    return claims + _quadratic(model, sums, [Fraction(0)] * len(sums.targets), fit_intercept)


def classes(model: Record, blocks: Blocks) -> list[Claim]:
    """``LeastSquaresClassifier``: targets ±1 of two classes, one-hot of more."""
    if model.params.get("alpha"):
        raise InputError(
            "holds penalized least squares of classes, which verify does not recompute.",
            remedy="Verify Ridge or Lasso of ±1, or a fit without penalty.",
        )
    known = model["classes_"].values
    coded = (_code_classes(block, known) for block in blocks)
    return _quadratic_of(model, sums_of(coded))


def _code_classes(block: Design, known: list[Any]) -> Design:
    codes = block.classes(known)
    columns = [1] if len(known) == 2 else range(len(known))
    low = -1.0 if len(known) == 2 else 0.0
    targets = [[1.0 if code == k else low for code in codes] for k in columns]
    return Design(block.columns, targets, block.weights)


def _quadratic_of(model: Record, sums: Sums) -> list[Claim]:
    moments = model.get("moments_")
    claims = (
        [equal("rows", "Number of training rows", moments["count"], sums.count)] if moments else []
    )
    fit_intercept = bool(model.params.get("fit_intercept", True))
    return claims + _quadratic(model, sums, [ZERO] * len(sums.targets), fit_intercept)


def ridge(model: Record, blocks: Blocks) -> list[Claim]:
    """``Ridge`` and ``RidgeCV``: the penalty α Σ (s b)²."""
    sums = sums_of(blocks)
    claims = recorded_moments(sums, model.get("moments_"))
    if model.params.get("positive"):
        return claims + _claim_penalized(
            model, sums, chosen(model, "alpha") / sums.weight, Fraction(0)
        )
    return claims + _quadratic(
        model, sums, alphas(model, sums), bool(model.params.get("fit_intercept", True))
    )


def alphas(model: Record, sums: Sums) -> list[Fraction]:
    """α of every target."""
    found = model.get("alpha_", model.params.get("alpha", 1.0))
    values = found.values if isinstance(found, Tensor) else found
    if isinstance(values, list):
        return [Fraction(value) for value in values]
    return [Fraction(values)] * len(sums.targets)


def chosen(model: Record, name: str) -> Fraction:
    """A hyperparameter that was chosen, or given."""
    value = model.get(f"{name}_")
    return Fraction(model.params[name] if value is None else value)


def _quadratic(
    model: Record, sums: Sums, alpha: list[Fraction], fit_intercept: bool
) -> list[Claim]:
    coef, intercept = coefficients(model)
    standardized = bool(model.params.get("standardize"))
    spread = sums.centered if fit_intercept else sums.matrix
    squares = [spread[j][j] / sums.weight if standardized else 1 for j in range(1, sums.d + 1)]
    listed = set(model["certificate_"]["dependent"])
    return quadratic_claims(
        sums,
        coef,
        intercept,
        [[a * s for s in squares] for a in alpha],
        model["certificate_"],
        fit_intercept=fit_intercept,
        tolerance=PROMISED,
        dependent=[j for j, name in enumerate(names_of(model, sums.d), 1) if name in listed],
    )


def elastic_net(model: Record, blocks: Blocks) -> list[Claim]:
    """``Lasso``, ``ElasticNet`` and ``LassoCV``."""
    sums = sums_of(blocks)
    l1_ratio = Fraction(model.params.get("l1_ratio", 1.0))
    claims = recorded_moments(sums, model.get("moments_"))
    return claims + _claim_penalized(model, sums, chosen(model, "alpha"), l1_ratio)


def _claim_penalized(model: Record, sums: Sums, alpha: Fraction, l1_ratio: Fraction) -> list[Claim]:
    coef, intercept = coefficients(model)
    return elastic_net_claims(
        sums,
        coef,
        intercept,
        model["certificate_"],
        alpha=alpha,
        l1_ratio=l1_ratio,
        standardize=bool(model.params.get("standardize")),
        positive=bool(model.params.get("positive")),
        fit_intercept=bool(model.params.get("fit_intercept", True)),
        tolerance=PROMISED,
    )


def mean(model: Record, blocks: Blocks) -> list[Claim]:
    """``MeanRegressor``: the intercept is the mean of the target."""
    sums = sums_of(blocks)
    claims = recorded_moments(sums, model.get("moments_"))
    _, intercept = coefficients(model)
    for y, value in zip(sums.targets, intercept, strict=True):
        claims.append(
            claim_recorded("mean", "The mean of the target", value, sums.mean(y), Fraction(0), 12)
        )
    return claims


# -------------------------------------------------------------------------------------------------
# Least squares and ridge: the minimum of a quadratic function in exact fractions.
#
#     f(a, b) = ½ Σ w (y − a − b·x)² + ½ Σ αⱼ bⱼ²,     f(a, b) − min f = f(a, b) − f(a*, b*)
#
# Doubles are fractions, sums of their products are too, and so is the solution of the normal
# equations: nothing is rounded but what is printed. Standardized columns have αⱼ = α sⱼ², a
# fraction as well.


#: Relative rounding of a stored coefficient, with a margin.
ROUNDING = Fraction(1, 1 << 49)


@dataclass(frozen=True)
class ExactLeastSquares:
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
        problem = ExactLeastSquares(
            [[m[i][j] + (alpha[target][i - 1] if i == j and i else 0) for j in at] for i in at],
            [m[i][y] for i in at],
            m[y][y],
        )
        coefs = [Fraction(b) for b in coef[target]]
        theta = [Fraction(intercept[target]), *coefs] if fit_intercept else coefs
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
            exact_digits, j = _digits(coefs, best[-sums.d :] if sums.d else [], unit)
            least, name = min((least, name), (exact_digits, j))
    claims = [claim_recorded("objective", "The objective", certificate["primal"], value, scale)]
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
    problem: ExactLeastSquares, theta: list[Fraction], free: list[int], fit_intercept: bool
) -> tuple[Fraction, list[Fraction], int]:
    """f(θ) − min f, a minimizer, and how many columns are left out.

    Of many columns both are bounds: the minimizer is then θ less the bound of the step to it.
    """
    size = len(theta)
    # More columns are enclosed: elimination in fractions would take minutes.
    if size > 40 and len(free) == size:
        bounded = _bound_dual(problem, theta, fit_intercept)
        if bounded is not None:
            return bounded[0], bounded[1], 0
    exact = solve_symmetric(
        [[problem.a[i][j] for j in free] for i in free], [[problem.c[i] for i in free]]
    )
    best = [Fraction(0)] * size
    for k, x in zip(free, exact.x[0], strict=True):
        best[k] = x
    above = max(problem.value(theta) - problem.value(best), Fraction(0))
    return above, best, size - exact.rank


def _bound_dual(
    problem: ExactLeastSquares, theta: list[Fraction], fit_intercept: bool
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
    bound_by_step = step_bound(a, g)
    if bound_by_step is None:
        return None
    steps, square = bound_by_step
    best = [b - s for b, s in zip(theta[1:] if fit_intercept else theta, steps, strict=True)]
    return mean + square / 2, [theta[0], *best] if fit_intercept else best


def _dependence(m: list[list[Fraction]], free: list[int], dependent: Sequence[int]) -> Claim:
    """How far the dependent columns are from the span of the others, relative to their length."""
    right = [[m[i][j] for i in free] for j in dependent]
    exact_solution = solve_symmetric([[m[i][j] for j in free] for i in free], right)
    distance = Fraction(0)
    for j, x, c in zip(dependent, exact_solution.x, right, strict=True):
        if m[j][j]:
            fitted = sum((u * v for u, v in zip(x, c, strict=True)), Fraction(0))
            distance = max(distance, root_above(max(m[j][j] - fitted, Fraction(0)) / m[j][j]))
    return bound(
        "dependent columns",
        "Their largest distance from the span of the others, relative to their length,",
        distance,
        1e-7,  # nearer is dependent, up to rounding
        "the rounding of",
    )


def _kkt(
    problem: ExactLeastSquares,
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
            residual = g[j - 1] - (mean * problem.a[0][j] if fit_intercept else 0)
            worst = max(worst, abs(residual) / length / size)
    if fit_intercept:
        weight = problem.a[0][0]
        worst = max(worst, abs(gradient[0]) / root_below(weight) / size)
        terms = sum((abs(t * a) for t, a in zip(theta, problem.a[0], strict=True)), Fraction(0))
        rounding += (terms + abs(problem.c[0])) / root_below(weight) / size * ROUNDING
    return worst, rounding


def _digits(
    fractions: list[Fraction], best: list[Fraction], unit: list[Fraction]
) -> tuple[float, int]:
    """The fewest digits of a coefficient, each by itself or against the largest contribution."""
    largest = max((abs(b) * u for b, u in zip(best, unit, strict=True)), default=Fraction(0))
    n_digits = []
    for j, (b, exact, u) in enumerate(zip(fractions, best, unit, strict=True)):
        if not u:  # a constant column: its coefficient changes no fit
            continue
        size = max(abs(exact), largest / u / 1000)
        n_digits.append((digits(b - exact, size), j))
    return min(n_digits, default=(16.0, 0))


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
    needed = max(0.0, min(stated - 4.0, 10.0)) if known else 6.0  # where the record is silent
    says = f"; the certificate says about {stated:.0f}" if known else ""
    if least < needed:
        sentence = f"Coefficient {name + 1} has {least:.1f} correct digits{says}."
        return [*claims, Claim("coefficients", REFUTED, sentence, least)]
    sentence = f"Every coefficient has {least:.0f} correct digits or more{says}."
    return [*claims, Claim("coefficients", PROVED, sentence, least)]


# -------------------------------------------------------------------------------------------------
# Lasso and elastic net: the duality gap from exact moments.
#
#     P(a, b) = (1/2W) Σ w r² + Σ (ℓⱼ|bⱼ| + ½ qⱼ bⱼ²),       r = y − a − b·x,   W = Σ w
#     D(t)    = −½ t² ρ² + t κ − Σ p*(t vⱼ)
#
# with the centered residual ρ² = Σ w r̄²/W, κ = Σ w r̄ y/W and vⱼ = Σ w r̄ xⱼ/W: every t that is
# feasible gives a lower bound. ℓⱼ = α ρ sⱼ has a root of a fraction where columns are standardized;
# it is rounded up in P and down in D, so that P − D bounds the gap from above.


#: A standard deviation below this part of the mean is a constant column's.
CONSTANT = Fraction(1, 10**13)


@dataclass(frozen=True)
class CoefficientPenalty:
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


def move_to_subdifferential(
    p: CoefficientPenalty, b: Fraction, v: Fraction, error: Fraction
) -> tuple[Fraction, Fraction]:
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
            CoefficientPenalty(alpha * l1_ratio * below, alpha * l1_ratio * above, ridge, positive)
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
    claims = [claim_recorded("objective", "The objective", certificate["primal"], value, scale)]
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
    penalties: list[CoefficientPenalty],
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
        moved, charge = move_to_subdifferential(p, bj, vj, SUMS * unit * size)
        limit = p.scale(moved)
        if limit is not None and limit < 1:
            return primal, gap, kkt, rounding, gap
        near += p.value(bj) + p.conjugate(moved) - moved * bj + 2 * charge
    return primal, gap, kkt, rounding, near


def _dot(row: list[Fraction], used: list[int], b: list[Fraction]) -> Fraction:
    return sum((row[j] * bj for j, bj in zip(used, b, strict=True) if bj), Fraction(0))


# -------------------------------------------------------------------------------------------------
# Exact moments of a design, and those that a model file records.


Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Sums:
    """Σ w z zᵀ over z = (1, x₁ … x_d, y₁ … y_k), exactly."""

    count: int
    d: int
    matrix: Matrix

    @property
    def weight(self) -> Fraction:
        """Σ w."""
        return self.matrix[0][0]

    @property
    def targets(self) -> range:
        """Positions of the targets."""
        return range(self.d + 1, len(self.matrix))

    @cached_property
    def centered(self) -> Matrix:
        """Σ w (z − z̄)(z − z̄)ᵀ."""
        first, weight = self.matrix[0], self.weight
        return [
            [value - first[j] * first[k] / weight for k, value in enumerate(row)]
            for j, row in enumerate(self.matrix)
        ]

    def mean(self, j: int) -> Fraction:
        """The mean of a column."""
        return self.matrix[0][j] / self.weight


def sums_of(blocks: Iterable[Design]) -> Sums:
    """The exact moments of a design, in one pass over its blocks."""
    total: ExactMoments | None = None
    d = count = 0
    for block in blocks:
        count += block.n if block.weights is None else sum(w > 0.0 for w in block.weights)
        columns = [*block.columns, *block.targets]
        if total is None:
            total, d = ExactMoments(len(columns)), len(block.columns)
        total.add(columns, block.weights)
    if total is None:
        return Sums(0, 0, [[Fraction(0)]])
    return Sums(count, d, total.matrix())


def recorded_moments(sums: Sums, moments: Any) -> list[Claim]:
    """The count, means and centered products that a model file records, against the exact ones."""
    if not isinstance(moments, Record) or moments.of != "Moments":
        return []
    claims = [equal("rows", "Number of training rows", moments["count"], sums.count)]
    mean, scatter = moments["mean"].values, moments["scatter"].rows
    size = len(sums.matrix)
    if len(mean) != size - 1:  # of other columns: those of the table before encoding
        return claims
    exact = sums.centered
    least, at = 16.0, "means"
    for j in range(1, size):
        spread = max(abs(sums.mean(j)), Fraction(0))
        n_digits = digits(
            Fraction(mean[j - 1]) - sums.mean(j), spread + _root(exact[j][j] / sums.weight)
        )
        least, at = min((least, at), (n_digits, f"mean {j}"))
        for k in range(1, j + 1):
            scale = _root(exact[j][j]) * _root(exact[k][k])
            raw = abs(sums.matrix[j][k])  # rounding is relative to this where a column is constant
            error = Fraction(scatter[j - 1][k - 1]) - exact[j][k]
            n_digits = 16.0 if abs(error) <= raw / 10**14 else digits(error, scale)
            least, at = min((least, at), (n_digits, f"product {j}, {k}"))
    verdict = PROVED if least >= RECORDED_DIGITS - 1 else REFUTED
    where = "" if verdict == PROVED else f" ({at} is the worst)"
    sentence = (
        f"Means and products of columns agree with the recorded ones to {least:.0f} digits{where}."
    )
    return [*claims, Claim("moments", verdict, sentence, least)]


def _root(value: Fraction) -> Fraction:
    """A root to double precision, for sizes."""
    from separatrix.verification.arithmetic import root_above

    return root_above(value)


# -------------------------------------------------------------------------------------------------
# What a certificate records, against what the rows give: gap, bounds and KKT residual.


#: A gap, relative to the objective, and a KKT residual that rounding in doubles may leave.
ROUNDED_GAP = Fraction(1, 10**13)
ROUNDED_KKT = Fraction(1, 10**11)
#: A measured quantity may be this much above the recorded one.
FACTOR = 10


def number(value: Any) -> Fraction | None:
    """A finite number of a record; None for anything else."""
    if isinstance(value, int | float) and isfinite(value):
        return Fraction(value)
    return None


def gap_claims(
    certificate: Record,
    value: Fraction,
    gap: Fraction,
    tolerance: float,
    *,
    scale: Fraction = ZERO,
    scale_of: str = "",
    error: Fraction = ZERO,
    how: str = "exactly",
    rounding: Fraction = ROUNDED_GAP,
) -> list[Claim]:
    """The gap is within the tolerance, is not above the recorded one, and belongs to its bounds.

    The tolerance is one of the objective's ``value``. Where the objective may truly be zero, it is
    one of ``scale``, which the data fix. A gap within ``error``, or within the rounding errors that
    the record states, is no more than consistent.
    """
    size = max(abs(value), scale)
    shown = f"The objective is above its minimum by at most {as_float(gap):.2g} ({how})"
    limit = min(Fraction(tolerance), number(certificate["tolerance"]) or Fraction(tolerance))
    stated = number(certificate["gap"])
    error = max(error, number(certificate.get("rounding", 0.0)) or ZERO)
    if stated is not None and stated > limit * size + error and gap <= FACTOR * stated:
        admitted = "; the record says that the tolerance was not reached."
        return [Claim("duality gap", PROVED, shown + admitted), *_bounds(certificate, size)]
    within = f"the tolerance is {as_float(limit):.1g}"
    if gap <= limit * abs(value):
        part = f", {as_float(gap / abs(value)):.1g} of it" if gap else ""
        claim = Claim("duality gap", PROVED, f"{shown}{part}; {within}.")
    elif gap <= limit * scale:
        part = f"{as_float(gap / scale):.1g} of {scale_of}, {as_float(scale):.3g}"
        claim = Claim("duality gap", PROVED, f"{shown}: {part}; {within} of that.")
    elif gap <= limit * size + error:
        sentence = f"{shown}: within the rounding errors of its terms, {as_float(error):.1g}."
        claim = Claim("duality gap", CONSISTENT, sentence, digits(gap, value))
    else:
        part = f"{as_float(gap / size):.2g} of it, and {within}" if size else f"{within} of it"
        return [Claim("duality gap", REFUTED, f"{shown}: {part}.")]
    if stated is not None and gap > FACTOR * max(stated, ZERO) + rounding * size + error:
        sentence = f"{shown}, and {as_float(stated):.2g} is recorded."
        return [Claim("duality gap", REFUTED, sentence)]
    return [claim, *_bounds(certificate, size)]


def _bounds(certificate: Record, size: Fraction) -> list[Claim]:
    """Primal less dual is the gap, all as recorded."""
    primal, dual, gap = (number(certificate[name]) for name in ("primal", "dual", "gap"))
    if primal is None or dual is None or gap is None:
        return []
    n_digits = digits(primal - dual - gap, size)
    if n_digits >= 9:
        return []
    sentence = (
        f"Objective less lower bound is {as_float(primal - dual):.3g}, not {as_float(gap):.3g}."
    )
    return [Claim("lower bound", REFUTED, sentence)]


def kkt_claims(
    certificate: Record, kkt: Fraction, allowed: Fraction, tolerance: float
) -> list[Claim]:
    """The KKT residual is within the tolerance, and is not above the recorded one."""
    shown = f"The optimality conditions are violated by at most {as_float(kkt):.2g}"
    limit = min(Fraction(tolerance), number(certificate["tolerance"]) or Fraction(tolerance))
    stated = number(certificate["kkt"])
    if stated is not None and stated > limit and kkt <= FACTOR * stated:
        admitted = "; the record says that the tolerance was not reached."
        return [Claim("KKT conditions", PROVED, shown + admitted)]
    if kkt > limit + allowed:
        sentence = f"{shown}, and the tolerance is {as_float(limit):.1g}."
        return [Claim("KKT conditions", REFUTED, sentence)]
    if stated is not None and kkt > FACTOR * stated + ROUNDED_KKT + allowed:
        return [
            Claim("KKT conditions", REFUTED, f"{shown}, and {as_float(stated):.2g} is recorded.")
        ]
    return [Claim("KKT conditions", PROVED, f"{shown} (tolerance {as_float(limit):.1g}).")]

"""Claims of logistic regression: the gap between the likelihood and its dual."""

from __future__ import annotations

from fractions import Fraction
from math import isinf
from typing import Any

from separatrix.verification.arithmetic.dyadic import exact_dot, exact_sum
from separatrix.verification.arithmetic.roots import root_above, root_below
from separatrix.verification.claims.certificate import gap_claims, kkt_claims
from separatrix.verification.claims.elastic_net import Penalty
from separatrix.verification.claims.hyperplanes import class_factors
from separatrix.verification.claims.linear import coefficients
from separatrix.verification.claims.logistic_dual import ZERO, Likelihood
from separatrix.verification.design import Blocks, Design, gathered
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import CONSISTENT, PROVED, REFUTED, Claim, recorded

#: The certificate promises a gap of ``tol``; coefficients are refined far below it.
RECORDED = Fraction(1, 10**11)
#: Relative rounding of a stored coefficient, with a margin.
ROUNDING = Fraction(1, 1 << 49)
#: Margins of rows on the boundary, relative to the largest.
ON_BOUNDARY = Fraction(1, 10**11)


def logistic(model: Record, blocks: Blocks) -> list[Claim]:
    """``LogisticRegression`` and ``LogisticCV``."""
    design = gathered(blocks)
    known = model["classes_"].values
    codes = design.classes(known)
    C = _cost(model)
    separation = model.get("separation_")
    if isinf(C) and isinstance(separation, Record):
        return [_separation(separation, design, codes, len(known))]
    weights = _weights(model, design, codes, len(known))
    likelihood = Likelihood.of(design.columns, codes, weights, len(known))
    coef, intercept = coefficients(model)
    theta = [[*row, a] for row, a in zip(coef, intercept, strict=True)]
    loss, probabilities = likelihood.evaluate(theta, blocks)
    factor = Fraction(1) if isinf(C) else Fraction(C)
    penalties = _penalties(model, design, weights)
    primal = factor * loss + _penalty(penalties, coef)
    certificate = model["certificate_"]
    error = factor * likelihood.error
    claims = [
        recorded("objective", "The objective", certificate["primal"], primal, ZERO, error=error)
    ]
    dual = _dual(model, likelihood, probabilities, penalties, factor)
    gap = None if dual is None else primal - dual
    claims += _gap(certificate, primal, gap, model, error)
    kkt, allowed = _kkt(model, design, weights, likelihood, probabilities, penalties, coef)
    return claims + kkt_claims(certificate, kkt, allowed, tolerance_of(model))


def _separation(found: Record, design: Design, codes: list[int], k: int) -> Claim:
    """Margins (v_y − v_k)·(x, 1) of the stored direction, by exact signs.

    Where none is negative and some are positive the likelihood has no maximum.
    """
    coef, intercept = found["coef"].rows, found["intercept"].values
    planes = [[*column, a] for column, a in zip(zip(*coef, strict=True), intercept, strict=True)]
    if len(planes) < k:
        planes = [[0.0] * len(planes[0]), *planes]
    smallest = largest = None
    for row, code in zip(design.rows, codes, strict=True):
        scores = [exact_dot([*row, 1.0], plane) for plane in planes]
        margin = min(scores[code] - other for j, other in enumerate(scores) if j != code)
        smallest = margin if smallest is None else min(smallest, margin)
        top = max(scores[code] - other for j, other in enumerate(scores) if j != code)
        largest = top if largest is None else max(largest, top)
    if smallest is None or largest is None or largest <= 0:
        return Claim("separation", REFUTED, "The stored direction separates no row.")
    if smallest > 0:
        sentence = "Every row is on its side: the likelihood has no maximum, and none is claimed."
        return Claim("separation", PROVED, sentence)
    if found["complete"] or smallest < -ON_BOUNDARY * largest:
        sentence = f"A row is on the wrong side by {float(smallest / largest):.1e} of the largest."
        return Claim("separation", REFUTED, sentence)
    sentence = "No row is on the wrong side beyond rounding; some lie on the boundary."
    return Claim("separation", CONSISTENT, sentence, 12.0)


def _gap(
    certificate: Record, primal: Fraction, gap: Fraction | None, model: Record, error: Fraction
) -> list[Claim]:
    if gap is None:
        sentence = "The probabilities of the model are not near a dual point."
        return [Claim("duality gap", CONSISTENT, sentence, 0.0)]
    return gap_claims(
        certificate,
        primal,
        max(gap, ZERO),
        tolerance_of(model),
        error=error,
        how="enclosed",
        rounding=RECORDED,
    )


def tolerance_of(model: Record) -> float:
    """What the certificate promises."""
    return max(float(model.params.get("tol", 1e-4)), 1e-9)


def _kkt(
    model: Record,
    design: Design,
    weights: list[float],
    likelihood: Likelihood,
    probabilities: list[list[int]],
    penalties: list[Penalty | None],
    coef: list[list[float]],
) -> tuple[Fraction, Fraction]:
    """The largest derivative by a coefficient of a centered column of unit variance, per row.

    Second, what the rounding of coefficients explains of it.
    """
    centered = bool(model.params.get("fit_intercept", True))
    factor = Fraction(1) if isinf(_cost(model)) else Fraction(_cost(model))
    total, pull = likelihood.total, likelihood.pull(probabilities)
    worst = rounding = ZERO
    for j, column in enumerate(design.columns):
        mean = exact_dot(column, weights) / total
        pairs = zip(map(Fraction, weights), map(Fraction, column), strict=True)
        square = sum((w * x * x for w, x in pairs), ZERO) / total
        unit = root_above(max(square - mean * mean, ZERO))
        size = max((abs(Fraction(row[j])) for row in coef), default=ZERO)
        rounding += ROUNDING * size * (abs(mean) + unit)
        for own, row in zip(pull, coef, strict=True):
            v = factor * (own[j] - (mean * own[-1] if centered else 0))
            p = penalties[j]
            distance = abs(v) if p is None else p.distance(Fraction(row[j]), v)
            if unit > mean / 10**12:
                worst = max(worst, distance / factor / unit / total)
    if centered:
        worst = max([worst, *(abs(own[-1]) / total for own in pull)])
    return worst, rounding


def _dual(
    model: Record,
    likelihood: Likelihood,
    probabilities: list[list[int]],
    penalties: list[Penalty | None],
    factor: Fraction,
) -> Fraction | None:
    """D from below; None where no dual point was found."""
    fit_intercept = bool(model.params.get("fit_intercept", True))
    pull = likelihood.pull(probabilities)
    free = [j for j, p in enumerate(penalties) if p is None]
    if not fit_intercept:
        free = [j for j in free if j != len(penalties) - 1]
    repaired = likelihood.repaired(probabilities, pull, free)
    if repaired is None:
        return None
    moved, v = repaired
    used = [(p, factor * own[j]) for own in v for j, p in enumerate(penalties) if p is not None]
    scales = [s for p, value in used if (s := p.scale(value)) is not None]
    t = min([Fraction(1), *scales])
    conjugate = sum((p.conjugate(t * value) for p, value in used), ZERO)
    return t * factor * likelihood.entropy(moved) - conjugate


def _penalties(model: Record, design: Design, weights: list[float]) -> list[Penalty | None]:
    """The penalty of every column and of the constant; None where there is none."""
    if isinf(_cost(model)):
        return [None] * (len(design.columns) + 1)
    ratio = Fraction(model.params.get("l1_ratio") or 0.0)
    found: list[Penalty | None] = []
    total = exact_sum(weights)
    for column in design.columns:
        square = Fraction(1)
        if model.params.get("standardize"):
            mean = exact_dot(column, weights) / total
            pairs = zip(map(Fraction, weights), map(Fraction, column), strict=True)
            square = sum((w * (x - mean) ** 2 for w, x in pairs), ZERO) / total
        below, above = root_below(square), root_above(square)
        if square == 1:
            below = above = Fraction(1)
        found.append(Penalty(ratio * below, ratio * above, (1 - ratio) * square, False))
    return [*found, None]


def _penalty(penalties: list[Penalty | None], coef: list[list[float]]) -> Fraction:
    total = ZERO
    for row in coef:
        for p, b in zip(penalties, row, strict=False):
            total += p.value(Fraction(b)) if p is not None else ZERO
    return total


def _weights(model: Record, design: Design, codes: list[int], k: int) -> list[float]:
    """Weights of rows times those of their classes, as the doubles that they are."""
    own = design.weights or [1.0] * design.n
    factor = class_factors(model, codes, [Fraction(w) for w in own], k)
    return [w * float(factor[code]) for w, code in zip(own, codes, strict=True)]


def _cost(model: Record) -> float:
    found = model.get("C_")
    value: Any = model.params.get("C", 1.0) if found is None else found
    return float(value)


MODELS: dict[str, Any] = dict.fromkeys(("LogisticRegression", "LogisticCV"), logistic)

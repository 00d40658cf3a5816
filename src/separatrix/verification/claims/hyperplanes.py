"""Claims of models that are hyperplanes: linear support vector machines and perceptrons."""

from __future__ import annotations

import re
from fractions import Fraction
from math import isinf
from typing import Any

from separatrix.verification.arithmetic.dyadic import exact_dot, exact_sum
from separatrix.verification.claims.certificate import gap_claims, kkt_claims, number
from separatrix.verification.claims.linear import coefficients
from separatrix.verification.claims.linear_svm import ZERO, LinearProblem
from separatrix.verification.design import Blocks, Design, class_positions, gathered
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import (
    CONSISTENT,
    PROVED,
    REFUTED,
    UNCHECKED,
    Claim,
    equal,
    recorded,
    worst,
)

#: Certificates of linear SVMs promise this, or their own ``tol`` if it is finer.
ACCURACY = 1e-6


def classifier(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearSVC`` and ``LinearSVCSearch``: each class against the rest."""
    design = gathered(blocks)
    known = model["classes_"].values
    codes = design.classes(known)
    claims = _count(model, design)
    unchecked = _unchecked(model)
    if unchecked or claims[0].verdict == REFUTED:
        return [*claims, *unchecked]
    weights = [Fraction(w) for w in design.weights or [1.0] * design.n]
    factor = class_factors(model, codes, weights, len(known))
    coef, intercept = coefficients(model)
    own = [1] if len(known) == 2 else list(range(len(known)))
    found = []
    for plane, k in enumerate(own):
        t = [1.0 if code == k else -1.0 for code in codes]
        cost = [w * factor[code] for w, code in zip(weights, codes, strict=True)]
        ridge = _ridge(model, design, cost)
        if _squared(model) and len(known) > 2:
            cost = [
                w * (factor[k] if code == k else 1) for w, code in zip(weights, codes, strict=True)
            ]
        if isinf(_cost(model)):
            found.append([_separates(design, coef[plane], intercept[plane], t)])
            continue
        cost = [c * Fraction(_cost(model)) for c in cost]
        problem = LinearProblem(
            design.rows, t, cost, ridge, _intercept_ridge(model), None, _squared(model)
        )
        found.append(
            _claims(problem, coef[plane], intercept[plane], _certificate(model, plane), model)
        )
    return claims + [
        worst([c for one in found for c in one if c.name == name]) for name in _names(found)
    ]


def regressor(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearSVR``."""
    design = gathered(blocks)
    claims = _count(model, design)
    if claims[0].verdict == REFUTED:
        return claims
    weights = [Fraction(w) for w in design.weights or [1.0] * design.n]
    cost = [w * Fraction(_cost(model)) for w in weights]
    coef, intercept = coefficients(model)
    problem = LinearProblem(
        design.rows,
        design.targets[0],
        cost,
        _ridge(model, design, weights),
        _intercept_ridge(model),
        Fraction(model.params["epsilon"]),
        _squared(model),
    )
    return claims + _claims(problem, coef[0], intercept[0], _certificate(model, 0), model)


def _claims(
    problem: LinearProblem, w: list[float], b: float, certificate: Record, model: Record
) -> list[Claim]:
    excess = problem.excesses(w, b)
    primal = problem.primal(w, b, excess)
    error = number(certificate.get("rounding", 0.0)) or ZERO
    objective = recorded(
        "objective", "The objective", certificate["primal"], primal, ZERO, error=error
    )
    beta = problem.dual_point(w, b, excess)
    gap, off = max(primal - problem.dual(beta), ZERO), ZERO
    tolerance = max(min(float(model.params.get("tol", ACCURACY)), ACCURACY), 1e-9)
    if problem.squared and problem.stationarity(w, b, beta) > Fraction(tolerance):
        # 2 c e of an excess that is next to nothing is a rounding error where c is large
        other = problem.dual_point(w, b, excess, search=True)
        smaller = max(primal - problem.dual(other), ZERO)
        if smaller <= gap:
            beta, gap, off = other, smaller, problem.excess_error(other, excess)
    if not problem.squared and gap > Fraction(tolerance) * primal + error:
        sentence = f"No dual point was found whose gap is less than {float(gap):.2g}."
        return [objective, Claim("duality gap", CONSISTENT, sentence, objective.digits)]
    rounding = Fraction(1, 10**12) if problem.squared else Fraction(tolerance)
    gaps = gap_claims(certificate, primal, gap, tolerance, rounding=rounding)
    if not problem.squared:
        return [objective, *gaps]
    kkt = problem.stationarity(w, b, beta) + off
    return [objective, *gaps, *kkt_claims(certificate, kkt, Fraction(1, 10**12), tolerance)]


def class_factors(
    model: Record, codes: list[int], weights: list[Fraction], k: int
) -> list[Fraction]:
    """The weight of every class: given, or Σw/(k Σw of the class) where balanced."""
    given = model.params.get("class_weight")
    if given is None:
        return [Fraction(1)] * k
    if given == "balanced":
        totals = [
            sum((w for w, c in zip(weights, codes, strict=True) if c == j), ZERO) for j in range(k)
        ]
        return [sum(totals, ZERO) / (k * total) for total in totals]
    place, found = class_positions(model["classes_"].values), [Fraction(1)] * k
    for label, value in given.items():
        at = place(label)
        if at is not None:
            found[at] = Fraction(value)
    return found


def _ridge(model: Record, design: Design, weights: list[Fraction]) -> list[Fraction]:
    """ρ of every column: its variance where columns are standardized, else 1."""
    if not _standardized(model):
        return [Fraction(1)] * len(design.columns)
    floats = [float(w) for w in weights]
    total = exact_sum(floats)
    found = []
    for column in design.columns:
        mean = exact_dot(column, floats) / total
        squares = sum(
            (w * (Fraction(x) - mean) ** 2 for w, x in zip(weights, column, strict=True)), ZERO
        )
        found.append(squares / total or Fraction(1))
    return found


def _standardized(model: Record) -> bool:
    return bool(model.params.get("standardize", model.of == "LinearSVCSearch"))


def _squared(model: Record) -> bool:
    return str(model.params.get("loss", "hinge")).startswith("squared")


def _cost(model: Record) -> float:
    found = model.get("C_")
    return float(model.params["C"] if found is None else found)


def _intercept_ridge(model: Record) -> Fraction | None:
    """ρ₀: hinges of classes leave the intercept free, as do standardized columns."""
    if not model.params.get("fit_intercept", True):
        return None
    scaling = model.params.get("intercept_scaling", 1)
    free = model.of != "LinearSVR" and not _squared(model)
    if free or _standardized(model) or isinf(scaling):
        return ZERO
    return 1 / Fraction(scaling) ** 2


def _certificate(model: Record, plane: int) -> Record:
    found: Any = model.get("certificates_")
    certificate: Record = model["certificate_"] if not found else found[plane]
    return certificate


def _unchecked(model: Record) -> list[Claim]:
    if (
        model.params.get("penalty", "l2") == "l1"
        or model.params.get("multi_class") == "crammer_singer"
    ):
        sentence = "The gap of this penalty, or of all classes at once, is not recomputed."
        return [Claim("duality gap", UNCHECKED, sentence)]
    return []


def _count(model: Record, design: Design) -> list[Claim]:
    return [equal("rows", "Number of training rows", model["n_samples_fit_"], design.n)]


def _names(found: list[list[Claim]]) -> list[str]:
    return list(dict.fromkeys(claim.name for one in found for claim in one))


def _separates(design: Design, w: list[float], b: float, t: list[float]) -> Claim:
    """Whether a hyperplane has every row on its side, by exact signs."""
    wrong = errors(design.rows, w, b, t)
    if wrong:
        return Claim(
            "separation", REFUTED, f"{wrong} rows are not on their side of the hyperplane."
        )
    return Claim("separation", PROVED, "Every row is on its side of the hyperplane.")


def errors(rows: list[list[float]], w: list[float], b: float, t: list[float]) -> int:
    """Rows whose score is not of the sign of t, by exact sums."""
    count = 0
    for row, sign in zip(rows, t, strict=True):
        score = exact_dot([*row, 1.0], [*w, b])
        count += score <= 0 if sign > 0 else score >= 0
    return count


def perceptron(model: Record, blocks: Blocks) -> list[Claim]:
    """``Perceptron``: how many training rows are misclassified, of how many."""
    design = gathered(blocks)
    codes = design.classes(model["classes_"].values)
    stated = re.search(r"(\d[\d,]*) of (\d[\d,]*) training rows", model["certificate_"]["claim"])
    coef, intercept = coefficients(model)
    own = [1] if len(coef) == 1 else list(range(len(coef)))
    wrong = 0
    for row, code in zip(design.rows, codes, strict=True):
        planes = zip(own, coef, intercept, strict=True)
        wrong += any(errors([row], w, b, [1.0 if code == k else -1.0]) for k, w, b in planes)
    if stated:
        claims = [equal("errors", "Misclassified rows", int(stated[1].replace(",", "")), wrong)]
        return [*claims, equal("rows", "Training rows", int(stated[2].replace(",", "")), design.n)]
    claim = Claim("separation", PROVED, "Every training row is on its side, by exact signs.")
    if wrong:
        claim = Claim("separation", REFUTED, f"{wrong} of {design.n} rows are misclassified.")
    return [claim]


MODELS: dict[str, Any] = {
    **dict.fromkeys(("LinearSVC", "LinearSVCSearch"), classifier),
    "LinearSVR": regressor,
    "Perceptron": perceptron,
}

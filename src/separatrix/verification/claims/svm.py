"""Claims of support vector models: their binary SVMs, and what predictions use of them."""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import Any

from separatrix.verification.claims.kernel_svm import KernelProblem, dual_agreement, problem_claims
from separatrix.verification.claims.kernel_values import KERNELS, kernel_values
from separatrix.verification.claims.standardizer import standardized, standardizer_claims
from separatrix.verification.design import Blocks, Design, gathered
from separatrix.verification.stored.container import Tensor
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import REFUTED, UNCHECKED, Claim, equal, worst


def classifier(model: Record, blocks: Blocks) -> list[Claim]:
    """``SVC`` and ``SVCSearch``: a binary SVM for two classes, for each pair, or for each class."""
    design = gathered(blocks)
    codes = design.classes(model["classes_"].values)
    k = len(model["classes_"].values)
    by_pair = k > 2 and model.params.get("decision", "ovo") == "ovo"
    sides: list[tuple[int, int | None]] = [(1, 0)]
    if k > 2:
        sides = list(combinations(range(k), 2)) if by_pair else [(c, None) for c in range(k)]
    targets = []
    for (plus, minus), svm in zip(sides, model["svms_"], strict=True):
        rows = svm["rows"].values
        allowed = {plus, minus}
        if minus is not None and any(codes[i] not in allowed for i in rows if i < design.n):
            return [
                Claim("classes", REFUTED, "A binary SVM has rows of other classes than its own.")
            ]
        targets.append([1.0 if codes[i] == plus else -1.0 for i in rows if i < design.n])
    weights = model.get("class_weight_")
    by_class = weights.values if isinstance(weights, Tensor) else [1.0] * k
    factors = [by_class[c] for c in codes]
    pairs = codes if by_pair else None
    return _binary_svms(model, design, blocks, targets, None, factors, pairs)


def regressor(model: Record, blocks: Blocks) -> list[Claim]:
    """``SVR`` and ``SVRSearch``."""
    design = gathered(blocks)
    y = design.targets[0]
    found = model.get("epsilon_")
    epsilon = float(model.params.get("epsilon", 0.1) if found is None else found)
    rows = model["svms_"][0]["rows"].values
    targets = [[y[i] for i in rows if i < design.n]]
    return _binary_svms(model, design, blocks, targets, epsilon, [1.0] * design.n)


def _binary_svms(
    model: Record,
    design: Design,
    blocks: Blocks,
    targets: list[list[float]],
    epsilon: float | None,
    factors: list[float],
    codes: list[int] | None = None,
) -> list[Claim]:
    claims = [equal("rows", "Number of training rows", model["n_samples_fit_"], design.n)]
    if claims[0].verdict == REFUTED:
        return claims
    kernel = model["kernel_"]
    if kernel.of not in KERNELS:
        sentence = f"The {kernel.of} kernel is not enclosed: only {', '.join(KERNELS)} are."
        return [*claims, Claim("duality gap", UNCHECKED, sentence)]
    weights = design.weights or [1.0] * design.n
    total = [w * f for w, f in zip(weights, factors, strict=True)]
    standardizer = model.get("standardizer_")
    claims += standardizer_claims(standardizer, design, total)
    rows = standardized(standardizer, design)
    values = kernel_values(kernel, rows)
    cost = _cost(model)
    found: list[list[Claim]] = []
    for svm, t in zip(model["svms_"], targets, strict=True):
        at = svm["rows"].values
        expected = [cost * total[i] for i in at]
        if any(abs(c - e) > 1e-9 * abs(e) for c, e in zip(svm["C"].values, expected, strict=True)):
            found.append([Claim("costs", REFUTED, "Costs of rows are not C times their weights.")])
            continue
        problem = KernelProblem(
            at, t, svm["C"].values, svm["beta"].values, svm["intercept"], epsilon
        )
        tolerance = float(model.params.get("tol", 1e-3))
        found.append(problem_claims(problem, values, svm["certificate"], tolerance, blocks))
    names = dict.fromkeys(claim.name for one in found for claim in one)
    for name in names:
        several = [claim for one in found for claim in one if claim.name == name]
        claims.append(worst(several))
    return claims + _predictors(model, rows, codes)


def _cost(model: Record) -> float:
    found = model.get("C_")
    value = model.params.get("C", 1.0) if found is None else found
    return inf if value is None else float(value)


def _predictors(model: Record, rows: list[list[float]], codes: list[int] | None) -> list[Claim]:
    """What predictions use: centers are rows of the table, weights the dual coefficients."""
    svms, expansions = model["svms_"], model["expansions_"]
    intercepts = [float(svm["intercept"]) for svm in svms]
    claims = []
    for expansion in expansions:
        centers = expansion["centers"]
        if not isinstance(centers, Tensor):
            return [Claim("predictor", UNCHECKED, "Sparse support vectors are not compared.")]
        known = {tuple(row) for row in rows}
        used = [any(weight) for weight in expansion["weights"].rows]
        strange = [
            row
            for row, use in zip(centers.rows, used, strict=True)
            if use and tuple(row) not in known
        ]
        if strange:
            return [Claim("predictor", REFUTED, "A support vector is not a row of the table.")]
    stored = [weights for expansion in expansions for weights in expansion["weights"].rows]
    own = _weights(model, codes)
    if any(any(weights) for weights in stored):
        claims.append(dual_agreement("predictor", stored, own))
    if len(expansions) == 1:
        claims.append(_same_intercept(expansions[0]["intercept"].values, intercepts))
    if not isinstance(model.get("hyperplane_"), Record):
        claims.append(_same_intercept(model["intercept_"].values, intercepts))
    return claims


def _weights(model: Record, codes: list[int] | None) -> list[list[float]]:
    """The coefficients of every support vector, one for each binary SVM that it may be part of.

    Of pairs of classes a row has one against each other class.
    """
    svms = model["svms_"]
    place = [dict(zip(svm["rows"].values, svm["beta"].values, strict=True)) for svm in svms]
    if codes is None:
        return [[beta.get(i, 0.0) for beta in place] for i in model["support_"].values]
    k = len(model["classes_"].values)
    found = []
    for i in model["support_"].values:
        weights = [0.0] * (k - 1)
        for (first, second), beta in zip(combinations(range(k), 2), place, strict=True):
            if codes[i] in (first, second):
                weights[second - 1 if codes[i] == first else first] = beta[i]
        found.append(weights)
    return found


def _same_intercept(stored: list[Any], own: list[float]) -> Claim:
    return equal("intercept", "Intercepts", [float(v) for v in stored], own)


MODELS: dict[str, Any] = {
    **dict.fromkeys(("SVC", "SVCSearch"), classifier),
    **dict.fromkeys(("SVR", "SVRSearch"), regressor),
}

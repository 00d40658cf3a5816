"""Gaussian classes: means, covariances and discriminant functions from exact sums by class.

    gₖ(x) = log πₖ − ½ log det Σₖ − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)

μ, π and Σ = S/n are fractions, and so are the coefficients of a shared covariance; logarithms are
enclosed. A map A stored for a covariance is its own when Aᵀ Σ A is the identity.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from separatrix.verification import arithmetic
from separatrix.verification.claims.linear import Sums, sums_of
from separatrix.verification.design import Blocks, Design, gather
from separatrix.verification.stored import Record, Tensor
from separatrix.verification.verdict import PROVED, REFUTED, UNCHECKED, Claim, equal

ZERO = Fraction(0)
#: Digits that means and products, and what is computed from them, must share with exact ones.
MOMENTS, FUNCTIONS = 8.5, 7.0


def gaussian(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearDiscriminantAnalysis``, ``QuadraticDiscriminantAnalysis``, ``GaussianNB`` and kin."""
    design = gather(blocks)
    known = model["classes_"].values
    sums = by_class(design, design.classes(known), len(known))
    moments = model["class_moments_"]
    claims = [equal("rows", "Rows of each class", moments["count"].values, [s.count for s in sums])]
    if claims[0].verdict == REFUTED:
        return claims
    claims.append(_moments(model, moments, sums))
    if model.params.get("priors") is None and isinstance(model.get("priors_"), Tensor):
        claims.append(_priors(model["priors_"].values, sums))
    return [*claims, _functions(model, sums, design)]


def by_class(design: Design, codes: list[int], k: int) -> list[Sums]:
    """The exact sums of each class."""
    moments = []
    for j in range(k):
        at = [i for i, code in enumerate(codes) if code == j]
        columns = [[column[i] for i in at] for column in design.columns]
        weights = None if design.weights is None else [design.weights[i] for i in at]
        moments.append(sums_of([Design(columns, weights=weights)]))
    return moments


def _moments(model: Record, moments: Record, sums: list[Sums]) -> Claim:
    """Means and scatter of the classes, against the recorded ones."""
    d = sums[0].d
    least = 16.0
    pooled = pooled_scatter(sums)
    size = [
        arithmetic.root_above(pooled[j][j] / sum((s.weight for s in sums), ZERO)) for j in range(d)
    ]
    for name, source in (("means_", model), ("class_means_", model), ("mean", moments)):
        stored = source.get(name)
        if not isinstance(stored, Tensor):
            continue
        for own, row in zip(sums, stored.rows, strict=True):
            for j, value in enumerate(row):
                exact = own.mean(j + 1)
                least = min(least, arithmetic.digits(Fraction(value) - exact, size[j] + abs(exact)))
    scatter = moments["scatter"]
    for exact_matrix, stored_matrix in _matrices(scatter, sums, pooled):
        for j in range(d):
            for k, value in stored_matrix(j):
                scale = arithmetic.root_above(exact_matrix[j][j]) * arithmetic.root_above(
                    exact_matrix[k][k]
                )
                error = Fraction(value) - exact_matrix[j][k]
                raw = sum((abs(s.matrix[j + 1][k + 1]) for s in sums), ZERO)
                rounding = abs(error) <= raw / 10**14  # all that a constant column has
                least = min(least, 16.0 if rounding else arithmetic.digits(error, scale))
    sentence = (
        f"Means and products of every class agree with the recorded ones to {least:.0f} digits."
    )
    return Claim("moments", PROVED if least >= MOMENTS else REFUTED, sentence, least)


def _matrices(scatter: Tensor, sums: list[Sums], pooled: list[list[Fraction]]) -> Any:
    """Exact matrices beside rows of the stored ones: pooled, by class, or diagonals by class."""
    d = sums[0].d
    if scatter.shape == (d, d) and len(sums) != d:
        yield pooled, lambda j: list(enumerate(scatter.rows[j]))
        return
    if len(scatter.shape) == 2:
        if scatter.shape == (d, d) and _is_full(scatter, pooled):
            yield pooled, lambda j: list(enumerate(scatter.rows[j]))
            return
        for moments, row in zip(sums, scatter.rows, strict=False):
            yield scatter_of(moments), lambda j, row=row: [(j, row[j])]
        return
    for moments, flat in zip(sums, scatter.rows, strict=True):
        yield scatter_of(moments), lambda j, flat=flat: list(enumerate(flat[j * d : (j + 1) * d]))


def _is_full(scatter: Tensor, pooled: list[list[Fraction]]) -> bool:
    """Whether as many classes as columns have a pooled matrix: its diagonal fits."""
    pairs = [(Fraction(scatter.rows[j][j]), pooled[j][j]) for j in range(len(pooled))]
    return all(arithmetic.digits(a - b, b) > 3 for a, b in pairs)


def scatter_of(sums: Sums) -> list[list[Fraction]]:
    """Σ w (x − x̄)(x − x̄)ᵀ."""
    return [row[1 : sums.d + 1] for row in sums.centered[1 : sums.d + 1]]


def pooled_scatter(sums: list[Sums]) -> list[list[Fraction]]:
    """The scatter within classes."""
    parts = [scatter_of(moments) for moments in sums]
    d = sums[0].d
    return [[sum((p[j][k] for p in parts), ZERO) for k in range(d)] for j in range(d)]


def _priors(stored: list[float], sums: list[Sums]) -> Claim:
    total = sum((s.weight for s in sums), ZERO)
    pairs = zip(stored, sums, strict=True)
    least = min(
        arithmetic.digits(Fraction(p) - s.weight / total, s.weight / total) for p, s in pairs
    )
    sentence = f"Priors are the proportions of the classes, to {least:.0f} digits."
    return Claim("priors", PROVED if least >= 12 else REFUTED, sentence, least)


def _functions(model: Record, sums: list[Sums], design: Design) -> Claim:
    """The discriminant functions that the moments give, against the stored ones."""
    scores = model.get("scores_")
    plain = (
        model.params.get("shrinkage") is None and model.params.get("covariance_estimator") is None
    )
    plain = plain and not model.params.get("reg_param") and model.params.get("priors") is None
    plain = plain and model.params.get("rank") is None
    least: float | None = None
    if isinstance(scores, Record) and plain:
        if scores.of == "LinearScores" and model.of == "LinearDiscriminantAnalysis":
            least = _linear(model, scores, sums)
        elif scores.of == "QuadraticScores":
            least = _quadratic(model, scores, sums)
        elif scores.of == "DiagonalScores" and model.of == "GaussianNB":
            least = _diagonal(model, scores, sums, design)
    stated = model["certificate_"]["digits"]
    trusted = stated - 3.0 if isinstance(stated, float) and stated == stated else FUNCTIONS
    rank = model["certificate_"]["rank"]
    if least is None or trusted <= 1.0 or (rank is not None and rank < sums[0].d):
        sentence = (
            "Functions of a covariance that is singular, given or of reduced rank are not "
            "recomputed."
        )
        return Claim("discriminant functions", UNCHECKED, sentence)
    sentence = f"The discriminant functions are those of the moments, to {least:.0f} digits."
    return Claim(
        "discriminant functions",
        PROVED if least >= min(FUNCTIONS, trusted) else REFUTED,
        sentence,
        least,
    )


def _linear(model: Record, scores: Record, sums: list[Sums]) -> float | None:
    """Differences of coefficients Σ⁻¹(μₖ − μ₀), and of constants."""
    total = sum((s.weight for s in sums), ZERO)
    d = sums[0].d
    sigma = [[v / total for v in row] for row in pooled_scatter(sums)]
    means = [[s.mean(j + 1) for j in range(d)] for s in sums]
    exact_solution = arithmetic.solve_symmetric(sigma, means)
    if exact_solution.rank < d:
        return None
    b = exact_solution.x
    least = 16.0
    unit = [arithmetic.root_above(sigma[j][j]) for j in range(d)]
    rows, center, offset = scores["coef"].rows, scores["center"].values, scores["offset"].values
    coef, intercept = model["coef_"].rows, model["intercept_"].values
    if len(coef) == 1:
        coef, intercept = [[0.0] * d, coef[0]], [0.0, intercept[0]]
    for k in range(1, len(sums)):
        exact = [p - q for p, q in zip(b[k], b[0], strict=True)]
        largest = max(abs(v) * u for v, u in zip(exact, unit, strict=True))
        for stored in (rows, coef):
            for j, value in enumerate(exact):
                error = Fraction(stored[k][j]) - Fraction(stored[0][j]) - value
                least = min(
                    least, arithmetic.digits(error, max(abs(value), largest / unit[j] / 1000))
                )
        terms = [_half_square(b[i], means[i]) for i in (k, 0)]
        constant = terms[1] - terms[0] + log_fraction(sums[k].weight / sums[0].weight)
        scale = abs(terms[0]) + abs(terms[1]) + 1
        least = min(
            least,
            arithmetic.digits(Fraction(intercept[k]) - Fraction(intercept[0]) - constant, scale),
        )
        at = constant + sum((v * Fraction(c) for v, c in zip(exact, center, strict=True)), ZERO)
        least = min(least, arithmetic.digits(Fraction(offset[k]) - Fraction(offset[0]) - at, scale))
    return least


def _half_square(b: list[Fraction], mean: list[Fraction]) -> Fraction:
    return sum((v * m for v, m in zip(b, mean, strict=True)), ZERO) / 2


def _covariances(model: Record, sums: list[Sums]) -> list[list[list[Fraction]]]:
    """Sₖ, or α σ²I + β S + (1 − α − β) Sₖ with σ²I in columns of unit variance."""
    covariances = [[[v / s.weight for v in row] for row in scatter_of(s)] for s in sums]
    alpha, beta = (Fraction(model.get(name) or 0.0) for name in ("alpha_", "beta_"))
    alpha = alpha or Fraction(model.params.get("alpha") or 0.0)
    beta = beta or Fraction(model.params.get("beta") or 0.0)
    if not alpha and not beta:
        return covariances
    total, d = sum((s.weight for s in sums), ZERO), sums[0].d
    pooled = [[v / total for v in row] for row in pooled_scatter(sums)]
    means = [sum((s.matrix[0][j + 1] for s in sums), ZERO) / total for j in range(d)]
    between = [
        sum((s.weight * (s.mean(j + 1) - means[j]) ** 2 for s in sums), ZERO) for j in range(d)
    ]
    variance = [pooled[j][j] + between[j] / total for j in range(d)]
    ratios = [pooled[j][j] / variance[j] for j in range(d) if variance[j]]
    mean = sum(ratios, ZERO) / len(ratios) if ratios else ZERO
    rest = max(1 - alpha - beta, ZERO)
    return [
        [
            [
                rest * sigma[j][k]
                + beta * pooled[j][k]
                + (alpha * variance[j] * mean if j == k else 0)
                for k in range(d)
            ]
            for j in range(d)
        ]
        for sigma in covariances
    ]


def _quadratic(model: Record, scores: Record, sums: list[Sums]) -> float | None:
    """Aᵀ Σ A = I/T, (μ − c)ᵀA = m and the constants, class by class; T is a temperature."""
    temperature = Fraction(model.get("temperature_") or 1.0)
    covariances = _covariances(model, sums)
    d = sums[0].d
    maps, center = scores["maps"], scores["center"].values
    if maps.shape[1:] != (d, d):
        return None
    total, least = sum((s.weight for s in sums), ZERO), 16.0
    for k, moments in enumerate(sums):
        a = [[Fraction(v) for v in maps.rows[k][j * d : (j + 1) * d]] for j in range(d)]
        sigma = covariances[k]
        columns = [[a[j][c] for j in range(d)] for c in range(d)]
        for p, column in enumerate(columns):
            image = arithmetic.product(sigma, column)
            for q in range(p + 1):
                value = sum((x * y for x, y in zip(columns[q], image, strict=True)), ZERO)
                least = min(
                    least, arithmetic.digits(value * temperature - int(p == q), Fraction(1))
                )
            shift = sum(
                (column[j] * (moments.mean(j + 1) - Fraction(center[j])) for j in range(d)), ZERO
            )
            error = Fraction(scores["means"].rows[k][p]) - shift
            least = min(least, arithmetic.digits(error, max(abs(shift), Fraction(1))))
        volume = arithmetic.determinant(sigma)
        if volume <= 0:
            return None
        constant = log_fraction(moments.weight / total) - log_fraction(volume) / 2
        error = Fraction(scores["offset"].values[k]) * temperature - constant
        least = min(least, arithmetic.digits(error, abs(constant) + 1))
    return least


def _diagonal(model: Record, scores: Record, sums: list[Sums], design: Design) -> float | None:
    """1/σ, means and constants, variances smoothed by a part of each squared half-range."""
    low, high = model["range_"].rows
    weights = design.weights or [1.0] * design.n
    for column, a, b in zip(design.columns, low, high, strict=True):
        used = [x for x, w in zip(column, weights, strict=True) if w > 0.0]
        if min(used) != a or max(used) != b:
            return 0.0
    part = Fraction(model.params["var_smoothing"])
    halves = [(Fraction(b) - Fraction(a)) / 2 for a, b in zip(low, high, strict=True)]
    total, least = sum((s.weight for s in sums), ZERO), 16.0
    for k, moments in enumerate(sums):
        constant = log_fraction(moments.weight / total)
        for j in range(moments.d):
            variance = moments.centered[j + 1][j + 1] / moments.weight + part * halves[j] ** 2
            if variance <= 0:
                return None
            scale = Fraction(scores["scale"].rows[k][j])
            least = min(least, arithmetic.digits(scale**2 * variance - 1, Fraction(1)))
            error = Fraction(model["covariance_"].rows[k][j]) - variance
            least = min(least, arithmetic.digits(error, variance))
            error = Fraction(scores["means"].rows[k][j]) - moments.mean(j + 1)
            least = min(
                least,
                arithmetic.digits(
                    error, abs(moments.mean(j + 1)) + arithmetic.root_above(variance)
                ),
            )
            constant -= log_fraction(variance) / 2
        error = Fraction(scores["offset"].values[k]) - constant
        least = min(least, arithmetic.digits(error, abs(constant) + 1))
    return least


def log_fraction(value: Fraction) -> Fraction:
    """log of a positive fraction, to 90 binary digits."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    power = Fraction(2) ** exponent
    return Fraction(
        arithmetic.log(int(value / power * arithmetic.ONE)) + exponent * arithmetic.LOG_TWO,
        1 << arithmetic.POINT,
    )

"""Claims of support vector models: their binary SVMs, and what predictions use of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf, isinf
from operator import mul
from typing import Any

from separatrix.verification.arithmetic import (
    EXP_ERROR,
    POINT,
    digits,
    exact_dot,
    exact_sum,
    exp_minus,
    fraction,
    root_above,
    scale_to_integers,
)
from separatrix.verification.claims.linear import gap_claims, kkt_claims
from separatrix.verification.design import Blocks, Design, gather
from separatrix.verification.stored import Record, Tensor
from separatrix.verification.verdict import (
    PROVED,
    REFUTED,
    UNCHECKED,
    Claim,
    claim_recorded,
    equal,
    worst,
)


def classifier(model: Record, blocks: Blocks) -> list[Claim]:
    """``SVC`` and its kin: a binary SVM for two classes, for each pair, or for each class."""
    design = gather(blocks)
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
    """``SVR`` and ``NuSVR``."""
    design = gather(blocks)
    y = design.targets[0]
    found = model.get("epsilon_")
    epsilon = float(model.params.get("epsilon", 0.1) if found is None else found)
    rows = model["svms_"][0]["rows"].values
    targets = [[y[i] for i in rows if i < design.n]]
    return _binary_svms(model, design, blocks, targets, epsilon, [1.0] * design.n)


def one_class(model: Record, blocks: Blocks) -> list[Claim]:
    """``OneClassSVM``: every row on the side away from zero."""
    design = gather(blocks)
    if any(w == 0.0 for w in design.weights or ()):
        sentence = "The gap of a fit with rows of no weight is not recomputed."
        return [Claim("duality gap", UNCHECKED, sentence)]
    targets = [[1.0] * len(svm["rows"].values) for svm in model["svms_"]]
    return _binary_svms(model, design, blocks, targets, None, [1.0] * design.n)


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
    rows = standardize_design(standardizer, design)
    values = kernel_values(kernel, rows)
    svms: list[list[Claim]] = []
    for svm, t in zip(model["svms_"], targets, strict=True):
        at = svm["rows"].values
        cost = _cost(model, svm, total)
        expected = [cost * total[i] for i in at]
        if any(abs(c - e) > 1e-9 * abs(e) for c, e in zip(svm["C"].values, expected, strict=True)):
            svms.append([Claim("costs", REFUTED, "Costs of rows are not C times their weights.")])
            continue
        problem = KernelProblem(
            at, t, svm["C"].values, svm["beta"].values, svm["intercept"], epsilon
        )
        tolerance = float(model.params.get("tol", 1e-3))
        stated, nu = svm["certificate"], model.params.get("nu")
        if nu is not None and "classes_" not in model and epsilon is None:
            svms.append(one_class_claims(problem, values, stated, tolerance, blocks, Fraction(nu)))
            continue
        svms.append(problem_claims(problem, values, stated, tolerance, blocks))
        if nu is not None:
            svms[-1].append(_fraction(problem, Fraction(nu)))
    names = dict.fromkeys(claim.name for one in svms for claim in one)
    for name in names:
        several = [claim for one in svms for claim in one if claim.name == name]
        claims.append(worst(several))
    return claims + _predictors(model, rows, codes)


def _cost(model: Record, svm: Record, total: list[float]) -> float:
    """C as given; of a model that has ν in its place, that of its binary SVM."""
    if "nu" in model.params and "C" not in model.params:
        return float(svm["C"].values[0]) / total[int(svm["rows"].values[0])]
    value = model.params.get("C", 1.0)
    return inf if value is None else float(value)


def _fraction(problem: KernelProblem, nu: Fraction) -> Claim:
    """That the SVM with these costs is the one of ν: Σ|β| = ν Σc, half of it on each side.

    A regression with ε = 0 may leave some of it.
    """
    costs = sum(map(Fraction, problem.cost), ZERO)
    sizes = [sum((Fraction(abs(b)) for b in problem.beta if b * s > 0), ZERO) for s in (1, -1)]
    least = ZERO if problem.epsilon == 0.0 else (1 - AT_BOUND) * nu * costs / 2
    right = all(least <= size <= (1 + AT_BOUND) * nu * costs / 2 for size in sizes)
    share = float(sum(sizes, ZERO) / costs)
    sentence = f"Coefficients are {share:.6g} of all costs, where ν is {float(nu):.6g}."
    return Claim("ν", PROVED if right else REFUTED, sentence)


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
    weights_here = _weights(model, codes)
    if any(any(weights) for weights in stored):
        claims.append(dual_agreement("predictor", stored, weights_here))
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


def _same_intercept(stored: list[Any], intercepts: list[float]) -> Claim:
    return equal("intercept", "Intercepts", [float(v) for v in stored], intercepts)


# -------------------------------------------------------------------------------------------------
# Support vector machines with a kernel: the duality gap of every binary SVM.
#
#     P = ½ βᵀKβ + Σ c ℓ(t, f + b),      f = Kβ
#     D = tᵀβ − ε Σ|β| − ½ βᵀKβ,         Σβ = 0,  0 ≤ tβ ≤ c  (regression: |β| ≤ c)
#
# Kernel values are integers with a bound of their error, β, b, c and t are fractions: P is rounded
# up and D down. What rounding leaves of Σβ is taken from one coefficient before D is computed.


#: Violation of a bound of β, relative to it, that rounding explains.
AT_BOUND = Fraction(1, 10**9)
#: Gap, relative to the objective, that rounding in sums of kernel values may leave.
ROUNDED = Fraction(1, 10**11)
#: Relative rounding of a term of a score, with a margin.
ROUNDING = Fraction(1, 1 << 48)
ZERO = Fraction(0)


@dataclass(frozen=True)
class KernelProblem:
    """One binary SVM: its rows, targets t (±1 or numbers), costs c, β, b and ε."""

    rows: list[int]
    t: list[float]
    cost: list[float]
    beta: list[float]
    intercept: float
    epsilon: float | None = None

    @property
    def hard(self) -> bool:
        """Whether the margin is hard."""
        return any(map(isinf, self.cost))


@dataclass(frozen=True)
class Scores:
    """f + b of every row from below and above, βᵀKβ likewise, and what ``repaired`` needs."""

    low: list[Fraction]
    high: list[Fraction]
    square: tuple[Fraction, Fraction]
    diagonal: Fraction
    own: tuple[Fraction, Fraction]


def problem_claims(
    problem: KernelProblem,
    kernel: KernelValues,
    certificate: Record,
    tolerance: float,
    blocks: Blocks,
) -> list[Claim]:
    """Bounds of β, the objective, the gap and the KKT residual of one binary SVM."""
    feasible, name = _feasible(problem)
    if not feasible:
        return [Claim("dual coefficients", REFUTED, name)]
    moved, delta = _repair(problem)
    scores = _scores(problem, kernel, moved, blocks)
    primal = _primal(problem, scores)
    dual = _dual(problem, scores, moved, delta)
    gap = max(primal[1] - dual, ZERO)
    if problem.hard and primal[0] is None:
        return [Claim("margin", REFUTED, "A row is on the wrong side of the hyperplane.")]
    size = sum((abs(Fraction(b)) for b in problem.beta), ZERO)
    slack = ROUNDING * scores.diagonal * size
    # a score enters a hard margin's P by βᵀKβ and by the square of the smallest margin, and that
    # of finite costs where its row has a loss
    lost = slack * (
        size + 2 * primal[1] if problem.hard else size + _cost_of_losses(problem, scores)
    )
    rounding = max(ROUNDED, lost / (abs(primal[1]) or 1))
    claims = [
        claim_recorded(
            "objective",
            "The objective",
            certificate["primal"],
            primal[1],
            ZERO,
            8.0,
            error=lost,
        )
    ]
    claims += gap_claims(
        certificate, primal[1], gap, tolerance, error=lost, how="enclosed", rounding=rounding
    )
    if problem.hard:
        return [*claims, Claim("margin", PROVED, "The hyperplane separates the classes.")]
    kkt = _violation(problem, scores)
    return claims + kkt_claims(certificate, kkt, Fraction(1, 10**10) + slack, tolerance)


def one_class_claims(
    problem: KernelProblem,
    kernel: KernelValues,
    certificate: Record,
    tolerance: float,
    blocks: Blocks,
    nu: Fraction,
) -> list[Claim]:
    """Bounds of α, the objective, the gap and the KKT residual of a one-class SVM.

    P = ½ αᵀKα − νρΣc + Σ c max(0, ρ − f),      D = −½ αᵀKα,      Σα = νΣc,  0 ≤ α ≤ c
    """
    alpha, costs = list(map(Fraction, problem.beta)), list(map(Fraction, problem.cost))
    rho, total = -Fraction(problem.intercept), nu * sum(costs, ZERO)
    delta = sum(alpha, ZERO) - total
    pairs = zip(alpha, costs, strict=True)
    if abs(delta) > AT_BOUND * total or any(not 0 <= a <= (1 + AT_BOUND) * c for a, c in pairs):
        sentence = "Coefficients are not between 0 and the costs, or their sum is not ν of these."
        return [Claim("dual coefficients", REFUTED, sentence)]
    if rho <= 0:
        return [Claim("duality gap", UNCHECKED, "Zero is among the rows in the feature space.")]
    moved = (max if delta > 0 else min)(range(len(alpha)), key=alpha.__getitem__)
    scores = _scores(problem, kernel, moved, blocks)
    losses = [c * max(-low, ZERO) for c, low in zip(costs, scores.low, strict=True)]
    primal = scores.square[1] / 2 - rho * total + sum(losses, ZERO)
    shift = max(-2 * delta * own for own in scores.own) + delta**2 * scores.diagonal
    gap = max(primal + (scores.square[1] + shift) / 2, ZERO)
    slack = ROUNDING * scores.diagonal * total
    lost = slack * (total + sum((c for c, loss in zip(costs, losses, strict=True) if loss), ZERO))
    claims = [
        claim_recorded(
            "objective", "The objective", certificate["primal"], primal, ZERO, 8.0, error=lost
        )
    ]
    rounding = max(ROUNDED, lost / (abs(primal) or 1))
    claims += gap_claims(
        certificate, primal, gap, tolerance, error=lost, how="enclosed", rounding=rounding
    )
    rows = zip(scores.low, alpha, costs, strict=True)
    kkt = max((_graph_distance(-low / rho, a / c) for low, a, c in rows), default=ZERO)
    return claims + kkt_claims(certificate, kkt, Fraction(1, 10**10) + slack / rho, tolerance)


def _feasible(problem: KernelProblem) -> tuple[bool, str]:
    """Whether β is within its bounds, up to rounding."""
    for t, c, b in zip(problem.t, problem.cost, problem.beta, strict=True):
        size = abs(b) if problem.epsilon is not None else t * b
        limit = c * (1.0 + float(AT_BOUND))
        if not -float(AT_BOUND) * min(c, 1.0) <= size <= limit:
            return False, f"A dual coefficient is {b:.6g}, where 0 to {c:.6g} is allowed."
    total, size = abs(sum(map(Fraction, problem.beta), ZERO)), sum(map(abs, problem.beta))
    if total > AT_BOUND * Fraction(size):
        return False, f"Dual coefficients sum to {float(total):.3g}, not to zero."
    return True, ""


def _repair(problem: KernelProblem) -> tuple[int, Fraction]:
    """The row whose β takes up δ = Σβ (exact, after clipping none), and δ."""
    delta = sum(map(Fraction, problem.beta), ZERO)
    if delta == 0 or not problem.beta:
        return 0, delta
    sign = 1 if delta > 0 else -1
    return max(range(len(problem.beta)), key=lambda j: sign * problem.beta[j]), delta


def _scores(problem: KernelProblem, kernel: KernelValues, moved: int, blocks: Blocks) -> Scores:
    support = [j for j, b in enumerate(problem.beta) if b != 0.0]
    rows = [problem.rows[j] for j in support]
    weights, shift = scale_to_integers([problem.beta[j] for j in support])
    total = sum(map(abs, weights)) * kernel.error
    down = kernel.point + shift
    b = Fraction(problem.intercept)
    low, high, interval = [], [], (ZERO, ZERO)
    square = error = 0
    place = dict(zip(support, weights, strict=True))
    for k, row in enumerate(problem.rows):
        value = sum(w * v for w, v in zip(weights, kernel.row(row, rows), strict=True))
        low.append(fraction(value - total, down) + b)
        high.append(fraction(value + total, down) + b)
        if k == moved:
            interval = low[-1] - b, high[-1] - b
        square += place.get(k, 0) * value
        error += abs(place.get(k, 0)) * total
        if k % 64 == 0:
            blocks.tell("comparing rows by the kernel", k, len(problem.rows))
    bounds = fraction(square - error, down + shift), fraction(square + error, down + shift)
    diagonal = ZERO
    if problem.rows:
        value = kernel.row(problem.rows[moved], [problem.rows[moved]])[0]
        diagonal = fraction(abs(value) + kernel.error, kernel.point)
    return Scores(low, high, bounds, diagonal, interval)


def _primal(problem: KernelProblem, scores: Scores) -> tuple[Fraction | None, Fraction]:
    """P from above; of a hard margin that of the hyperplane scaled to be feasible."""
    if problem.hard:
        margins = [
            low if t > 0 else -high
            for t, low, high in zip(problem.t, scores.low, scores.high, strict=True)
        ]
        margin = min(margins)
        if margin <= 0:
            return None, scores.square[1]
        return ZERO, scores.square[1] / 2 / margin**2
    value = scores.square[1] / 2
    rows = zip(problem.t, problem.cost, scores.low, scores.high, strict=True)
    for t, c, low, high in rows:
        value += Fraction(c) * max(_loss(problem, t, low, high), ZERO)
    return ZERO, value


def _loss(problem: KernelProblem, t: float, low: Fraction, high: Fraction) -> Fraction:
    """The loss of a row from above; zero or less where it has none."""
    if problem.epsilon is None:
        return 1 - (low if t > 0 else -high)
    return max(Fraction(t) - low, high - Fraction(t)) - Fraction(problem.epsilon)


def _dual(problem: KernelProblem, scores: Scores, moved: int, delta: Fraction) -> Fraction:
    """D from below, at β with δ taken from one coefficient and those beyond bounds charged."""
    linear = sum(
        (Fraction(t) * Fraction(b) for t, b in zip(problem.t, problem.beta, strict=True)), ZERO
    )
    if problem.epsilon is not None:
        linear -= Fraction(problem.epsilon) * (
            sum((abs(Fraction(b)) for b in problem.beta), ZERO) + abs(delta)
        )
    if problem.beta:
        linear -= Fraction(problem.t[moved]) * delta
    shift = max(-2 * delta * scores.own[0], -2 * delta * scores.own[1]) + delta**2 * scores.diagonal
    return linear - (scores.square[1] + shift) / 2


def _cost_of_losses(problem: KernelProblem, scores: Scores) -> Fraction:
    """Σ c of the rows that have a loss."""
    rows = zip(problem.t, problem.cost, scores.low, scores.high, strict=True)
    costs = (c for t, c, low, high in rows if _loss(problem, t, low, high) > 0)
    return sum(map(Fraction, costs), ZERO)


def _violation(problem: KernelProblem, scores: Scores) -> Fraction:
    """The largest distance of (z, α/c) to the graph of the loss's subdifferential."""
    worst = ZERO
    unit = Fraction(1) if problem.epsilon is None else _spread(problem)
    rows = zip(problem.t, problem.cost, problem.beta, scores.low, strict=True)
    for t, c, b, low in rows:
        if not c:
            continue
        if problem.epsilon is None:
            fraction = _graph_distance(
                (1 - Fraction(t) * low), Fraction(t) * Fraction(b) / Fraction(c)
            )
        else:
            residual = Fraction(t) - low
            sign = 1 if b > 0 or (b == 0 and residual > 0) else -1
            over = (sign * residual - Fraction(problem.epsilon)) / unit
            fraction = _graph_distance(over, sign * Fraction(b) / Fraction(c))
        worst = max(worst, fraction)
    return worst


def _graph_distance(over: Fraction, u: Fraction) -> Fraction:
    """Distance of (over, u) to the graph of the subdifferential of max(0, over)."""
    flat = max(over, abs(u), ZERO) if over > 0 else abs(u)
    steep = abs(over) if 0 <= u <= 1 else max(abs(over), abs(u - min(max(u, ZERO), Fraction(1))))
    top = abs(u - 1) if over >= 0 else max(-over, abs(u - 1))
    return min(flat, steep, top)


def _spread(problem: KernelProblem) -> Fraction:
    """The standard deviation of the targets, to double precision."""
    from statistics import pstdev

    return Fraction(pstdev(problem.t)) if len(problem.t) > 1 else Fraction(1)


def dual_agreement(name: str, stored: Sequence[Any], other: Sequence[Any]) -> Claim:
    """The claim that two records of the same numbers are equal."""
    if list(stored) == list(other):
        return Claim(name, PROVED, "Support vectors and their coefficients are those of the fit.")
    return Claim(name, REFUTED, "Support vectors or coefficients differ between records.")


# -------------------------------------------------------------------------------------------------
# Kernel values of rows of doubles as integers times 2⁻ᵖ, with a bound of their error.
#
# Linear and polynomial kernels are exact fractions; the Gaussian kernel is enclosed: the exponent
# is rounded once, and the exponential has the error of :mod:`..arithmetic.exponentials`.


Rows = Sequence[Sequence[float]]
#: Binary digits of the factor of a squared distance, beyond those of the point.
_MORE = 96
KERNELS = ("Linear", "Polynomial", "Gaussian")


@dataclass(frozen=True)
class KernelValues:
    """``row(i)``: values of row i against all rows at ``at``, in units of 2⁻ᵖ within ``error``."""

    point: int
    error: int
    row: Callable[[int, Sequence[int]], list[int]]

    def fraction(self, value: int) -> Fraction:
        """A value in units of 2⁻ᵖ."""
        return Fraction(value, 1 << self.point)


def kernel_values(kernel: Record, rows: Rows) -> KernelValues:
    """The kernel of some rows."""
    flat, shift = scale_to_integers([value for row in rows for value in row])
    width = len(rows[0]) if rows else 0
    z = [flat[i * width : (i + 1) * width] for i in range(len(rows))]
    if kernel.of == "Gaussian":
        return _gaussian(kernel["bandwidth"], z, shift)
    if kernel.of == "Polynomial":
        return _polynomial(kernel, z, shift)

    def linear(i: int, at: Sequence[int]) -> list[int]:
        row = z[i]
        return [sum(map(mul, row, z[j])) for j in at]

    return KernelValues(2 * shift, 0, linear)


def _polynomial(kernel: Record, z: list[list[int]], shift: int) -> KernelValues:
    """(s x·z + c)^p, exactly: s and c are doubles."""
    (scale, constant), factors = scale_to_integers([kernel["scale"], kernel["constant"]])
    degree = int(kernel["degree"])
    offset = constant << 2 * shift

    def values(i: int, at: Sequence[int]) -> list[int]:
        row = z[i]
        return [(scale * sum(map(mul, row, z[j])) + offset) ** degree for j in at]

    return KernelValues((2 * shift + factors) * degree, 0, values)


def _gaussian(bandwidth: float | list[float], z: list[list[int]], shift: int) -> KernelValues:
    """exp(−½ Σ ((x − z)/σ)²); columns with bandwidths of their own are multiplied first."""
    width = len(z[0]) if z else 0
    sigmas = bandwidth if isinstance(bandwidth, list) else [bandwidth] * width
    factors = [1 / (2 * Fraction(sigma) ** 2) for sigma in sigmas]
    common = min(factors, default=Fraction(1))
    down = 2 * shift + _MORE
    relative = [int(f / common * (1 << _MORE)) for f in factors]  # one where bandwidths agree
    weighted = [list(map(mul, row, relative)) for row in z]
    squares = [sum(map(mul, row, other)) for row, other in zip(z, weighted, strict=True)]
    bits = POINT + _MORE + max(0, common.denominator.bit_length() - common.numerator.bit_length())
    factor = int(common * (1 << bits))
    fall = down + bits - POINT

    def values(i: int, at: Sequence[int]) -> list[int]:
        row, square = z[i], squares[i]
        return [
            exp_minus((square + squares[j] - 2 * sum(map(mul, row, weighted[j]))) * factor >> fall)
            for j in at
        ]

    # the exponent, at most 2⁷ where the exponential counts, is low by 2⁻⁹⁵ of itself and a unit
    return KernelValues(POINT, EXP_ERROR + (1 << 8) + 1, values)


# -------------------------------------------------------------------------------------------------
# Means and standard deviations by which columns were standardized, against the exact ones.


#: A standard deviation below this part of the mean is that of a constant column.
CONSTANT = Fraction(1, 10**12)


def standardize_design(standardizer: Any, design: Design) -> list[list[float]]:
    """The doubles (x − μ)·(1/σ) that the model saw, rounded as it rounded them."""
    if not isinstance(standardizer, Record):
        return design.rows
    columns = []
    pairs = zip(
        design.columns, standardizer["mean"].values, standardizer["scale"].values, strict=True
    )
    for column, mean, scale in pairs:
        inverse = 1.0 / scale if scale > 0.0 else 0.0
        columns.append([(x - mean) * inverse for x in column])
    return [list(row) for row in zip(*columns, strict=True)]


def standardizer_claims(standardizer: Any, design: Design, weights: list[float]) -> list[Claim]:
    """The claim that means and deviations are those of the rows; none where there is no scaling."""
    if not isinstance(standardizer, Record):
        return []
    total = exact_sum(weights)
    least = 16.0
    pairs = zip(
        design.columns, standardizer["mean"].values, standardizer["scale"].values, strict=True
    )
    for column, mean, scale in pairs:
        exact = exact_dot(column, weights) / total
        weighted = [
            w * x for w, x in zip(map(Fraction, weights), map(Fraction, column), strict=True)
        ]
        square = sum((v * Fraction(x) for v, x in zip(weighted, column, strict=True)), Fraction(0))
        deviation = root_above(max(square / total - exact**2, Fraction(0)))
        size = max(deviation, abs(exact) * CONSTANT)
        least = min(least, digits(Fraction(mean) - exact, max(size, abs(exact) / 10**6)))
        if scale > 0.0 or deviation > abs(exact) * CONSTANT:
            least = min(least, digits(Fraction(scale) - deviation, size))
    sentence = (
        f"Means and deviations of columns agree with the recorded ones to {least:.0f} digits."
    )
    proved = PROVED if least >= 8.0 else REFUTED  # digits, in standard deviations
    return [Claim("standardization", proved, sentence, least)]

"""Support vector machines with a kernel: the duality gap of every binary SVM.

    P = ½ βᵀKβ + Σ c ℓ(t, f + b),      f = Kβ
    D = tᵀβ − ε Σ|β| − ½ βᵀKβ,         Σβ = 0,  0 ≤ tβ ≤ c  (regression: |β| ≤ c)

Kernel values are integers with a bound of their error, β, b, c and t are fractions: P is rounded
up and D down. What rounding leaves of Σβ is taken from one coefficient before D is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

from separatrix.verification.arithmetic.dyadic import fraction, scaled
from separatrix.verification.claims.certificate import gap_claims, kkt_claims
from separatrix.verification.claims.kernel_values import KernelValues
from separatrix.verification.design import Blocks
from separatrix.verification.stored.records import Record
from separatrix.verification.verdict import PROVED, REFUTED, Claim, recorded

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
        recorded(
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
    at = [problem.rows[j] for j in support]
    weights, shift = scaled([problem.beta[j] for j in support])
    total = sum(map(abs, weights)) * kernel.error
    down = kernel.point + shift
    b = Fraction(problem.intercept)
    low, high, own = [], [], (ZERO, ZERO)
    square = error = 0
    place = dict(zip(support, weights, strict=True))
    for k, row in enumerate(problem.rows):
        value = sum(w * v for w, v in zip(weights, kernel.row(row, at), strict=True))
        low.append(fraction(value - total, down) + b)
        high.append(fraction(value + total, down) + b)
        if k == moved:
            own = low[-1] - b, high[-1] - b
        square += place.get(k, 0) * value
        error += abs(place.get(k, 0)) * total
        if k % 64 == 0:
            blocks.tell("comparing rows by the kernel", k, len(problem.rows))
    bounds = fraction(square - error, down + shift), fraction(square + error, down + shift)
    diagonal = ZERO
    if problem.rows:
        value = kernel.row(problem.rows[moved], [problem.rows[moved]])[0]
        diagonal = fraction(abs(value) + kernel.error, kernel.point)
    return Scores(low, high, bounds, diagonal, own)


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
            found = _graph_distance(
                (1 - Fraction(t) * low), Fraction(t) * Fraction(b) / Fraction(c)
            )
        else:
            residual = Fraction(t) - low
            sign = 1 if b > 0 or (b == 0 and residual > 0) else -1
            over = (sign * residual - Fraction(problem.epsilon)) / unit
            found = _graph_distance(over, sign * Fraction(b) / Fraction(c))
        worst = max(worst, found)
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

"""Claims of logistic regression: the gap between the likelihood and its dual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isinf
from operator import mul
from typing import Any

from separatrix.verification import arithmetic, verdict
from separatrix.verification.claims import linear
from separatrix.verification.claims.hyperplanes import class_factors
from separatrix.verification.design import Blocks, Design, gather
from separatrix.verification.stored import Record, Tensor

#: The certificate promises a gap of ``tol``; coefficients are refined far below it.
RECORDED = Fraction(1, 10**11)
#: Relative rounding of a stored coefficient, with a margin.
ROUNDING = Fraction(1, 1 << 49)
#: Margins of rows on the boundary, relative to the largest.
ON_BOUNDARY = Fraction(1, 10**11)


def logistic(model: Record, blocks: Blocks) -> list[verdict.Claim]:
    """``LogisticRegression``, and paths and searches at the C that they chose."""
    if not model.params.get("refit", True):
        sentence = "Coefficients that are averages over folds minimize no objective."
        return [verdict.Claim("duality gap", verdict.UNCHECKED, sentence)]
    design = gather(blocks)
    known = model["classes_"].values
    codes = design.classes(known)
    C = _cost(model)
    separation = model.get("separation_")
    if isinf(C) and isinstance(separation, Record):
        return [_separation(separation, design, codes, len(known))]
    weights = _weights(model, design, codes, len(known))
    likelihood = Likelihood.of(design.columns, codes, weights, len(known))
    coef, intercept = linear.coefficients(model)
    theta = [[*row, a] for row, a in zip(coef, intercept, strict=True)]
    loss, probabilities = likelihood.evaluate(theta, blocks)
    factor = Fraction(1) if isinf(C) else Fraction(C)
    penalties = _penalties(model, design, weights)
    primal = factor * loss + _penalty(penalties, coef)
    certificate = model["certificate_"]
    error = factor * likelihood.error
    claims = [
        verdict.claim_recorded(
            "objective", "The objective", certificate["primal"], primal, ZERO, error=error
        )
    ]
    dual = _dual(model, likelihood, probabilities, penalties, factor)
    gap = None if dual is None else primal - dual
    claims += _gap(certificate, primal, gap, model, error)
    kkt, allowed = _kkt(model, design, weights, likelihood, probabilities, penalties, coef)
    return claims + linear.kkt_claims(certificate, kkt, allowed, tolerance_of(model))


def _separation(record: Record, design: Design, codes: list[int], k: int) -> verdict.Claim:
    """Margins (v_y − v_k)·(x, 1) of the stored direction, by exact signs.

    Where none is negative and some are positive the likelihood has no maximum.
    """
    coef, intercept = record["coef"].rows, record["intercept"].values
    planes = [[*column, a] for column, a in zip(zip(*coef, strict=True), intercept, strict=True)]
    if len(planes) < k:
        planes = [[0.0] * len(planes[0]), *planes]
    smallest = largest = None
    for row, code in zip(design.rows, codes, strict=True):
        scores = [arithmetic.exact_dot([*row, 1.0], plane) for plane in planes]
        margin = min(scores[code] - other for j, other in enumerate(scores) if j != code)
        smallest = margin if smallest is None else min(smallest, margin)
        top = max(scores[code] - other for j, other in enumerate(scores) if j != code)
        largest = top if largest is None else max(largest, top)
    if smallest is None or largest is None or largest <= 0:
        return verdict.Claim(
            "separation", verdict.REFUTED, "The stored direction separates no row."
        )
    if smallest > 0:
        sentence = "Every row is on its side: the likelihood has no maximum, and none is claimed."
        return verdict.Claim("separation", verdict.PROVED, sentence)
    if record["complete"] or smallest < -ON_BOUNDARY * largest:
        sentence = f"A row is on the wrong side by {float(smallest / largest):.1e} of the largest."
        return verdict.Claim("separation", verdict.REFUTED, sentence)
    sentence = "No row is on the wrong side beyond rounding; some lie on the boundary."
    return verdict.Claim("separation", verdict.CONSISTENT, sentence, 12.0)


def _gap(
    certificate: Record, primal: Fraction, gap: Fraction | None, model: Record, error: Fraction
) -> list[verdict.Claim]:
    if gap is None:
        sentence = "The probabilities of the model are not near a dual point."
        return [verdict.Claim("duality gap", verdict.CONSISTENT, sentence, 0.0)]
    return linear.gap_claims(
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
    penalties: list[linear.CoefficientPenalty | None],
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
        mean = arithmetic.exact_dot(column, weights) / total
        pairs = zip(map(Fraction, weights), map(Fraction, column), strict=True)
        square = sum((w * x * x for w, x in pairs), ZERO) / total
        unit = arithmetic.root_above(max(square - mean * mean, ZERO))
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
    penalties: list[linear.CoefficientPenalty | None],
    factor: Fraction,
) -> Fraction | None:
    """D from below; None where no dual point was found."""
    fit_intercept = bool(model.params.get("fit_intercept", True))
    pull = likelihood.pull(probabilities)
    free = [j for j, p in enumerate(penalties) if p is None]
    if not fit_intercept:
        free = [j for j in free if j != len(penalties) - 1]
    repaired = likelihood.repair(probabilities, pull, free)
    if repaired is None:
        return None
    moved, v = repaired
    used = [
        (p, factor * column[j]) for column in v for j, p in enumerate(penalties) if p is not None
    ]
    scales = [s for p, value in used if (s := p.scale(value)) is not None]
    t = min([Fraction(1), *scales])
    conjugate = sum((p.conjugate(t * value) for p, value in used), ZERO)
    return t * factor * likelihood.entropy(moved) - conjugate


def _penalties(
    model: Record, design: Design, weights: list[float]
) -> list[linear.CoefficientPenalty | None]:
    """The penalty of every column and of the constant; None where there is none."""
    if isinf(_cost(model)):
        return [None] * (len(design.columns) + 1)
    ratio = Fraction(_chosen(model, "l1_ratio", 0.0) or 0.0)
    coefficient_penalties: list[linear.CoefficientPenalty | None] = []
    total = arithmetic.exact_sum(weights)
    for column in design.columns:
        square = Fraction(1)
        if model.params.get("standardize"):
            mean = arithmetic.exact_dot(column, weights) / total
            pairs = zip(map(Fraction, weights), map(Fraction, column), strict=True)
            square = sum((w * (x - mean) ** 2 for w, x in pairs), ZERO) / total
        below, above = arithmetic.root_below(square), arithmetic.root_above(square)
        if square == 1:
            below = above = Fraction(1)
        coefficient_penalties.append(
            linear.CoefficientPenalty(ratio * below, ratio * above, (1 - ratio) * square, False)
        )
    return [*coefficient_penalties, None]


def _penalty(
    penalties: list[linear.CoefficientPenalty | None], coef: list[list[float]]
) -> Fraction:
    total = ZERO
    for row in coef:
        for p, b in zip(penalties, row, strict=False):
            total += p.value(Fraction(b)) if p is not None else ZERO
    return total


def _weights(model: Record, design: Design, codes: list[int], k: int) -> list[float]:
    """Weights of rows times those of their classes, as the doubles that they are."""
    weights = design.weights or [1.0] * design.n
    factor = class_factors(model, codes, [Fraction(w) for w in weights], k)
    return [w * float(factor[code]) for w, code in zip(weights, codes, strict=True)]


def _cost(model: Record) -> float:
    value = _chosen(model, "C", 1.0)
    return float(value)


def _chosen(model: Record, name: str, usual: float) -> Any:
    """A parameter as it was chosen, once or for each class alike; or as it was given."""
    found = model.get(f"{name}_")
    if isinstance(found, Tensor):
        return found.values[0]
    return model.params.get(name, usual) if found is None else found


# -------------------------------------------------------------------------------------------------
# The logistic likelihood and its dual, enclosed in fixed point.
#
#     P(θ) = C Σ w (log Σₖ e^sₖ − s_y) + Σ pen(θ),           s = θ·(x, 1)
#     D(p) = C Σ w H(p) − Σ pen*(v),      v = C Σ w (y − p) (x, 1),     H(p) = −Σ pₖ log pₖ
#
# for any probabilities p with v = 0 wherever θ has no penalty. The probabilities of the model have
# that up to rounding. They are moved by p − M z·δ, M = diag(p) − ppᵀ, with the δ that solves
# Σ w M z zᵀ δ = Σ w (p − y) z exactly: what is left is zero, not small.


ZERO = Fraction(0)
#: Binary digits of the probabilities in M: any will do, as they only say how p is moved.
_COARSE = 40
#: Units of 2⁻⁹⁶ by which a loss or an entropy of one row may be wrong.
ROW_ERROR = 1 << 12


@dataclass(frozen=True)
class Likelihood:
    """Rows (x, 1) by column as integers, the class of each, and weights as integers.

    ``planes`` are the classes with coefficients of their own: all, or the second of two.
    """

    columns: list[list[int]]
    shifts: list[int]
    codes: list[int]
    weights: list[int]
    weight_shift: int
    planes: list[int]
    classes: int

    @classmethod
    def of(
        cls, columns: Sequence[Sequence[float]], codes: list[int], weights: list[float], k: int
    ) -> Likelihood:
        """From doubles; the last column is the constant."""
        integers = [*map(arithmetic.scale_to_integers, columns), ([1] * len(codes), 0)]
        w, shift = arithmetic.scale_to_integers(weights)
        planes = [1] if k == 2 else list(range(k))
        return cls([c for c, _ in integers], [s for _, s in integers], codes, w, shift, planes, k)

    def evaluate(
        self, theta: list[list[float]], blocks: Blocks
    ) -> tuple[Fraction, list[list[int]]]:
        """Σ w loss from above, and the probabilities of every class, adding up to one."""
        scores = [self._scores(plane) for plane in theta]
        total, probabilities = 0, []
        for i, code in enumerate(self.codes):
            s = [0] * self.classes
            for k, score in zip(self.planes, scores, strict=True):
                s[k] = score[i]
            top = max(s)
            e = [arithmetic.exp_minus(top - value) for value in s]
            norm = sum(e)
            total += self.weights[i] * (arithmetic.log(norm) + top - s[code] + ROW_ERROR)
            p = [(value << arithmetic.POINT) // norm for value in e]
            p[p.index(max(p))] += arithmetic.ONE - sum(p)
            probabilities.append(p)
            if i % 512 == 0:
                blocks.tell("likelihood of rows", i, len(self.codes))
        return arithmetic.fraction(total, arithmetic.POINT + self.weight_shift), probabilities

    def _scores(self, theta: list[float]) -> list[int]:
        """θ·(x, 1) of every row in units of 2⁻⁹⁶, rounded down."""
        b, shift = arithmetic.scale_to_integers(theta)
        common = max(self.shifts) + shift
        factors = [v << (common - s - shift) for v, s in zip(b, self.shifts, strict=True)]
        rows = zip(*self.columns, strict=True)
        up = arithmetic.POINT - common
        sums = [sum(map(mul, row, factors)) for row in rows]
        return [v << up if up >= 0 else v >> -up for v in sums]

    def pull(self, probabilities: list[list[int]]) -> list[list[Fraction]]:
        """Σ w (y − p) (x, 1) for every plane, exactly."""
        pulls = []
        for k in self.planes:
            r = [
                w * ((arithmetic.ONE if code == k else 0) - p[k])
                for w, code, p in zip(self.weights, self.codes, probabilities, strict=True)
            ]
            pulls.append(
                [
                    arithmetic.fraction(
                        arithmetic.dot(column, r), s + arithmetic.POINT + self.weight_shift
                    )
                    for column, s in zip(self.columns, self.shifts, strict=True)
                ]
            )
        return pulls

    def repair(
        self, probabilities: list[list[int]], pull: list[list[Fraction]], free: list[int]
    ) -> tuple[list[list[int]], list[list[Fraction]]] | None:
        """Probabilities with v = 0 in the free columns, to the nearest unit, and their exact v.

        None where a probability would be negative.
        """
        if not free or not any(pull[a][j] for a in range(len(pull)) for j in free):
            return probabilities, pull
        coarse = [self._coarse(p) for p in probabilities]
        size, planes = len(free), len(self.planes)
        gram = self._gram(coarse, free, free)
        right = [-pull[a][j] for a in range(planes) for j in free]
        delta = arithmetic.solve_symmetric(gram, [right]).x[0]
        planes_moved = [delta[a * size : (a + 1) * size] for a in range(planes)]
        cross = self._gram(coarse, list(range(len(self.columns))), free)
        width = len(self.columns)
        v = [
            [
                pull[a][j]
                + sum((g * d for g, d in zip(cross[a * width + j], delta, strict=True)), ZERO)
                for j in range(width)
            ]
            for a in range(planes)
        ]
        moved = self._move(probabilities, coarse, planes_moved, free)
        return None if moved is None else (moved, v)

    def _move(
        self,
        probabilities: list[list[int]],
        coarse: list[list[int]],
        delta: list[list[Fraction]],
        free: list[int],
    ) -> list[list[int]] | None:
        """p − M z·δ to the nearest unit."""
        steps = []
        for column in delta:
            fixed = [
                round(d * (1 << 200) / (1 << self.shifts[j]))
                for d, j in zip(column, free, strict=True)
            ]
            rows = zip(*(self.columns[j] for j in free), strict=True)
            steps.append([sum(map(mul, row, fixed)) >> (200 - arithmetic.POINT) for row in rows])
        moved = []
        for i, p in enumerate(probabilities):
            q = coarse[i]
            mean = sum(q[k] * steps[a][i] for a, k in enumerate(self.planes)) >> _COARSE
            change = [-mean] * self.classes
            for a, k in enumerate(self.planes):
                change[k] += steps[a][i]
            new = [value - (q[k] * change[k] >> _COARSE) for k, value in enumerate(p)]
            if min(new) < 0:
                return None
            moved.append(new)
        return moved

    def _coarse(self, p: list[int]) -> list[int]:
        q = [value >> (arithmetic.POINT - _COARSE) for value in p]
        q[q.index(max(q))] += (1 << _COARSE) - sum(q)
        return q

    def _gram(self, q: list[list[int]], left: list[int], free: list[int]) -> list[list[Fraction]]:
        """Σ w M z zᵀ, planes times columns."""
        rows: list[list[Fraction]] = [[] for _ in range(len(self.planes) * len(left))]
        for a, k in enumerate(self.planes):
            for m in self.planes:
                weights = [
                    w * ((p[k] << _COARSE if k == m else 0) - p[k] * p[m])
                    for w, p in zip(self.weights, q, strict=True)
                ]
                for at, i in enumerate(left):
                    weighted = list(map(mul, weights, self.columns[i]))
                    rows[a * len(left) + at] += [
                        arithmetic.fraction(
                            arithmetic.dot(weighted, self.columns[j]),
                            2 * _COARSE + self.weight_shift + self.shifts[i] + self.shifts[j],
                        )
                        for j in free
                    ]
        return rows

    def entropy(self, probabilities: list[list[int]]) -> Fraction:
        """Σ w H(p) from below."""
        total = 0
        for w, p in zip(self.weights, probabilities, strict=True):
            entropy_of_row = 0
            for value in p:
                if (
                    value > 1 << 4
                ):  # smaller ones count for less than a row's error: every term is positive
                    entropy_of_row += (value - 2) * max(
                        0, -arithmetic.log(value + 2) - arithmetic.LOG_ERROR - arithmetic.POINT
                    ) >> arithmetic.POINT
            total += w * max(0, entropy_of_row - ROW_ERROR)
        return arithmetic.fraction(total, arithmetic.POINT + self.weight_shift)

    @property
    def error(self) -> Fraction:
        """What fixed point may lose of the loss and of the entropy together."""
        return 4 * self.total * Fraction(ROW_ERROR, arithmetic.ONE)

    @cached_property
    def total(self) -> Fraction:
        """Σ w."""
        return arithmetic.fraction(sum(self.weights), self.weight_shift)

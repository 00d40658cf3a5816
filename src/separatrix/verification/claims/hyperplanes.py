"""Claims of models that are hyperplanes: linear support vector machines and perceptrons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

from separatrix.verification import arithmetic
from separatrix.verification.claims.linear import coefficients, gap_claims, kkt_claims, number
from separatrix.verification.design import Blocks, Design, class_positions, gather
from separatrix.verification.stored import Record
from separatrix.verification.verdict import (
    CONSISTENT,
    PROVED,
    REFUTED,
    UNCHECKED,
    Claim,
    claim_recorded,
    equal,
    worst,
)

#: Certificates of linear SVMs promise this, or their own ``tol`` if it is finer.
ACCURACY = 1e-6


def classifier(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearSVC``, given or of a search: each class against the rest."""
    design = gather(blocks)
    known = model["classes_"].values
    codes = design.classes(known)
    claims = _count(model, design)
    unchecked = _list_unchecked(model)
    if unchecked or claims[0].verdict == REFUTED:
        return [*claims, *unchecked]
    weights = [Fraction(w) for w in design.weights or [1.0] * design.n]
    factor = class_factors(model, codes, weights, len(known))
    coef, intercept = coefficients(model)
    positions = [1] if len(known) == 2 else list(range(len(known)))
    found = []
    for plane, k in enumerate(positions):
        t = [1.0 if code == k else -1.0 for code in codes]
        cost = [w * factor[code] for w, code in zip(weights, codes, strict=True)]
        ridge = _ridge(model, design, cost)
        if _has_squared_loss(model) and len(known) > 2:
            cost = [
                w * (factor[k] if code == k else 1) for w, code in zip(weights, codes, strict=True)
            ]
        if isinf(_cost(model)):
            found.append([_separates(design, coef[plane], intercept[plane], t)])
            continue
        cost = [c * Fraction(_cost(model)) for c in cost]
        problem = ExactLinearProblem(
            design.rows, t, cost, ridge, _intercept_ridge(model), None, _has_squared_loss(model)
        )
        found.append(
            _claims(problem, coef[plane], intercept[plane], _certificate(model, plane), model)
        )
    return claims + [
        worst([c for claim in found for c in claim if c.name == name]) for name in _names(found)
    ]


def regressor(model: Record, blocks: Blocks) -> list[Claim]:
    """``LinearSVR``."""
    design = gather(blocks)
    claims = _count(model, design)
    if claims[0].verdict == REFUTED:
        return claims
    weights = [Fraction(w) for w in design.weights or [1.0] * design.n]
    cost = [w * Fraction(_cost(model)) for w in weights]
    coef, intercept = coefficients(model)
    problem = ExactLinearProblem(
        design.rows,
        design.targets[0],
        cost,
        _ridge(model, design, weights),
        _intercept_ridge(model),
        Fraction(model.params["epsilon"]),
        _has_squared_loss(model),
    )
    return claims + _claims(problem, coef[0], intercept[0], _certificate(model, 0), model)


def _claims(
    problem: ExactLinearProblem, w: list[float], b: float, certificate: Record, model: Record
) -> list[Claim]:
    excess = problem.excesses(w, b)
    primal = problem.primal(w, b, excess)
    error = number(certificate.get("rounding", 0.0)) or ZERO
    objective = claim_recorded(
        "objective", "The objective", certificate["primal"], primal, ZERO, error=error
    )
    beta = problem.dual_point(w, b, excess)
    gap, off = max(primal - problem.dual(beta), ZERO), ZERO
    tolerance = max(min(float(model.params.get("tol", ACCURACY)), ACCURACY), 1e-9)
    if problem.squared and problem.stationarity(w, b, beta) > Fraction(tolerance):
        # 2 c e of an excess near zero is a rounding error where c is large
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
    place, factors = class_positions(model["classes_"].values), [Fraction(1)] * k
    for label, value in given.items():
        at = place(label)
        if at is not None:
            factors[at] = Fraction(value)
    return factors


def _ridge(model: Record, design: Design, weights: list[Fraction]) -> list[Fraction]:
    """ρ of every column: its variance where columns are standardized, else 1."""
    if not _is_standardized(model):
        return [Fraction(1)] * len(design.columns)
    floats = [float(w) for w in weights]
    total = arithmetic.exact_sum(floats)
    claims = []
    for column in design.columns:
        mean = arithmetic.exact_dot(column, floats) / total
        squares = sum(
            (w * (Fraction(x) - mean) ** 2 for w, x in zip(weights, column, strict=True)), ZERO
        )
        claims.append(squares / total or Fraction(1))
    return claims


def _is_standardized(model: Record) -> bool:
    return bool(model.params["standardize"])


def _has_squared_loss(model: Record) -> bool:
    return str(model.params.get("loss", "hinge")).startswith("squared")


def _cost(model: Record) -> float:
    return float(model.params["C"])


def _intercept_ridge(model: Record) -> Fraction | None:
    """ρ₀: hinges of classes leave the intercept free, as do standardized columns."""
    if not model.params.get("fit_intercept", True):
        return None
    scaling = model.params.get("intercept_scaling", 1)
    free = model.of != "LinearSVR" and not _has_squared_loss(model)
    if free or _is_standardized(model) or isinf(scaling):
        return ZERO
    return 1 / Fraction(scaling) ** 2


def _certificate(model: Record, plane: int) -> Record:
    certificates: Any = model.get("certificates_")
    certificate: Record = model["certificate_"] if not certificates else certificates[plane]
    return certificate


def _list_unchecked(model: Record) -> list[Claim]:
    if (
        model.params.get("penalty", "l2") == "l1"
        or model.params.get("multi_class") == "crammer_singer"
    ):
        sentence = "The gap of this penalty, or of all classes at once, is not recomputed."
        return [Claim("duality gap", UNCHECKED, sentence)]
    return []


def _count(model: Record, design: Design) -> list[Claim]:
    return [equal("rows", "Number of training rows", model["n_samples_fit_"], design.n)]


def _names(claims: list[list[Claim]]) -> list[str]:
    return list(dict.fromkeys(claim.name for one in claims for claim in one))


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
        score = arithmetic.exact_dot([*row, 1.0], [*w, b])
        count += score <= 0 if sign > 0 else score >= 0
    return count


def perceptron(model: Record, blocks: Blocks) -> list[Claim]:
    """``Perceptron``: how many training rows are misclassified, of how many."""
    design = gather(blocks)
    codes = design.classes(model["classes_"].values)
    stated = re.search(r"(\d[\d,]*) of (\d[\d,]*) training rows", model["certificate_"]["claim"])
    coef, intercept = coefficients(model)
    positions = [1] if len(coef) == 1 else list(range(len(coef)))
    wrong = 0
    for row, code in zip(design.rows, codes, strict=True):
        planes = zip(positions, coef, intercept, strict=True)
        wrong += any(errors([row], w, b, [1.0 if code == k else -1.0]) for k, w, b in planes)
    if stated:
        claims = [equal("errors", "Misclassified rows", int(stated[1].replace(",", "")), wrong)]
        return [*claims, equal("rows", "Training rows", int(stated[2].replace(",", "")), design.n)]
    claim = Claim("separation", PROVED, "Every training row is on its side, by exact signs.")
    if wrong:
        claim = Claim("separation", REFUTED, f"{wrong} of {design.n} rows are misclassified.")
    return [claim]


# -------------------------------------------------------------------------------------------------
# Linear support vector machines: the duality gap of w·x + b in exact fractions.
#
#     P = ½ Σ ρⱼ wⱼ² + ½ ρ₀ b² + Σ c ℓ(e),        e = 1 − t (w·x + b)  or  |t − w·x − b| − ε
#     D = Σ (κ|β| − ℓ-part) − ½ Σ vⱼ²/ρⱼ − ½ (Σβ)²/ρ₀,      v = Xᵀβ
#
# Files do not hold β. Squared losses determine it, β = 2 c e; of the others, rows beyond their
# margin have |β| = c, and those on it are found by a search. Any β within its bounds gives a lower
# bound, so that a small P − D is a proof; a large one refutes nothing by itself.


ZERO = Fraction(0)
#: Rows so near to their margin (in its units) are on it.
ON_MARGIN = Fraction(1, 10**7)


@dataclass(frozen=True)
class ExactLinearProblem:
    """Rows, targets t (±1, or numbers with ``epsilon``), costs c, and penalties ρ and ρ₀.

    ρ₀ is None without intercept, and 0 where it is free.
    """

    x: list[list[float]]
    t: list[float]
    cost: list[Fraction]
    ridge: list[Fraction]
    intercept_ridge: Fraction | None
    epsilon: Fraction | None
    squared: bool

    def excesses(self, w: list[float], b: float) -> list[tuple[Fraction, int]]:
        """e of every row and the sign of its β."""
        weights, shift = arithmetic.scale_to_integers([*w, b])
        rows, down = arithmetic.scale_to_integers([v for row in self.x for v in row])
        d, total = len(w), shift + down
        found = []
        for i, t in enumerate(self.t):
            coefs = rows[i * d : (i + 1) * d]
            value = sum(a * c for a, c in zip(coefs, weights, strict=False)) + (weights[d] << down)
            score = arithmetic.fraction(value, total)
            if self.epsilon is None:
                found.append((1 - (score if t > 0 else -score), 1 if t > 0 else -1))
            else:
                residual = Fraction(t) - score
                found.append((abs(residual) - self.epsilon, 1 if residual >= 0 else -1))
        return found

    def primal(self, w: list[float], b: float, excess: list[tuple[Fraction, int]]) -> Fraction:
        """P."""
        norm = sum((r * Fraction(v) ** 2 for r, v in zip(self.ridge, w, strict=True)), ZERO)
        norm += (self.intercept_ridge or ZERO) * Fraction(b) ** 2
        losses = ((c, e) for c, (e, _) in zip(self.cost, excess, strict=True) if e > 0)
        return norm / 2 + sum((c * (e * e if self.squared else e) for c, e in losses), ZERO)

    def dual(self, beta: list[Fraction]) -> Fraction:
        """D at β within its bounds; Σβ = 0 where the intercept is free."""
        linear = ZERO
        for t, c, b in zip(self.t, self.cost, beta, strict=True):
            if b:
                linear += Fraction(t) * b - (self.epsilon or ZERO) * abs(b)
                linear -= b * b / (4 * c) if self.squared else 0
        v = self.pull(beta)
        linear -= sum((p * p / r for p, r in zip(v, self.ridge, strict=True)), ZERO) / 2
        if self.intercept_ridge:
            linear -= sum(beta, ZERO) ** 2 / self.intercept_ridge / 2
        return linear

    def pull(self, beta: list[Fraction]) -> list[Fraction]:
        """Xᵀβ."""
        v = [ZERO] * len(self.ridge)
        for row, b in zip(self.x, beta, strict=True):
            if b:
                v = [p + b * Fraction(value) for p, value in zip(v, row, strict=True)]
        return v

    def dual_point(
        self, w: list[float], b: float, excess: list[tuple[Fraction, int]], *, search: bool = False
    ) -> list[Fraction]:
        """β within its bounds, balanced where it has to be.

        That of squared losses is 2 c e, or with ``search`` found for the rows on their margin.
        """
        known = self.squared and not search
        return self._balance(self.squared_beta(excess) if known else self._hinges(w, b, excess))

    def excess_error(self, beta: list[Fraction], excess: list[tuple[Fraction, int]]) -> Fraction:
        """The largest |β|/2c − e of squared losses."""
        rows = zip(self.cost, beta, excess, strict=True)
        return max(abs(abs(v) / (2 * c) - max(e, ZERO)) for c, v, (e, _) in rows if c)

    def _hinges(
        self, w: list[float], b: float, excess: list[tuple[Fraction, int]]
    ) -> list[Fraction]:
        """|β| = c beyond the margin; on it what a search finds, made exact where it is inside."""
        beta = [
            s * c * (2 * e if self.squared else 1) if e > ON_MARGIN else ZERO
            for c, (e, s) in zip(self.cost, excess, strict=True)
        ]
        free = [i for i, (e, _) in enumerate(excess) if abs(e) <= ON_MARGIN]
        bounds = {i: self._bounds(i, excess[i][1]) for i in free}
        pull = self.pull(beta)
        search = arithmetic.DualSearch(
            [self.x[i] for i in free],
            [self.t[i] - excess[i][1] * float(self.epsilon or 0) for i in free],
            [float(bounds[i][0]) for i in free],
            [float(bounds[i][1]) for i in free],
            [float(r) for r in self.ridge],
            None if self.intercept_ridge is None else float(self.intercept_ridge),
            [float(v) for v in pull],
            float(sum(beta, ZERO)),
        )
        for i, value in zip(free, search.run(), strict=True):
            beta[i] = min(max(Fraction(value), bounds[i][0]), bounds[i][1])
        inside = [i for i in free if bounds[i][0] < beta[i] < bounds[i][1]]
        if len(inside) > len(self.ridge) + 1:
            return beta
        exact = self._nearest(w, b, beta, inside)
        valid = all(bounds[i][0] <= v <= bounds[i][1] for i, v in zip(inside, exact, strict=True))
        for i, better in zip(inside, exact, strict=True):
            beta[i] = better if valid else beta[i]
        return beta

    def _bounds(self, i: int, sign: int) -> tuple[Fraction, Fraction]:
        c = self.cost[i] * (2 * ON_MARGIN if self.squared else 1)
        if self.epsilon == 0:
            return -c, c
        return min(sign * c, ZERO), max(sign * c, ZERO)

    def _nearest(
        self, w: list[float], b: float, beta: list[Fraction], free: list[int]
    ) -> list[Fraction]:
        """β of the free rows for which Xᵀβ is nearest to ρw in the metric of the dual."""
        fixed = [ZERO if i in set(free) else value for i, value in enumerate(beta)]
        pull = self.pull(fixed)
        aim = [r * Fraction(v) - p for r, v, p in zip(self.ridge, w, pull, strict=True)]
        metric = [1 / r for r in self.ridge]
        columns = [[Fraction(v) for v in self.x[i]] for i in free]
        if self.intercept_ridge is not None:
            rho = self.intercept_ridge
            heavy = 1 / rho if rho else 10**12 * max(metric, default=Fraction(1))
            aim.append((rho * Fraction(b) if rho else ZERO) - sum(fixed, ZERO))
            metric, columns = [*metric, heavy], [[*c, Fraction(1)] for c in columns]
        weighted = [[_short(v * m) for v, m in zip(c, metric, strict=True)] for c in columns]
        gram = [
            [sum((p * q for p, q in zip(a, c, strict=True)), ZERO) for c in weighted]
            for a in columns
        ]
        right = [sum((p * q for p, q in zip(a, aim, strict=True)), ZERO) for a in weighted]
        symmetric = [
            [(gram[i][j] + gram[j][i]) / 2 for j in range(len(free))] for i in range(len(free))
        ]
        return [_short(v) for v in arithmetic.solve_symmetric(symmetric, [right]).x[0]]

    def _balance(self, beta: list[Fraction]) -> list[Fraction]:
        """β with Σβ = 0, by shrinking the largest coefficients of the heavier side."""
        if self.intercept_ridge is None or self.intercept_ridge:
            return beta
        delta = sum(beta, ZERO)
        sign = 1 if delta > 0 else -1
        for i in sorted(range(len(beta)), key=lambda i: -sign * beta[i]):
            if not delta:
                break
            moved = min(sign * delta, max(sign * beta[i], ZERO))
            beta[i] -= sign * moved
            delta -= sign * moved
        return beta

    def stationarity(self, w: list[float], b: float, beta: list[Fraction]) -> Fraction:
        """The largest |Xᵀβ − ρw| of a column, relative to the size of its terms."""
        worst = ZERO
        sizes = self.pull_sizes(beta)
        for v, size, r, weight in zip(self.pull(beta), sizes, self.ridge, w, strict=True):
            size += r * abs(Fraction(weight))
            worst = max(worst, abs(v - r * Fraction(weight)) / size) if size else worst
        if self.intercept_ridge is not None:
            size = sum(map(abs, beta), ZERO) + self.intercept_ridge * abs(Fraction(b))
            off = abs(sum(beta, ZERO) - self.intercept_ridge * Fraction(b))
            worst = max(worst, off / size) if size else worst
        return worst

    def pull_sizes(self, beta: list[Fraction]) -> list[Fraction]:
        """|X|ᵀ|β|."""
        absolute = ExactLinearProblem(
            [[abs(v) for v in row] for row in self.x],
            self.t,
            self.cost,
            self.ridge,
            self.intercept_ridge,
            self.epsilon,
            self.squared,
        )
        return absolute.pull([abs(value) for value in beta])

    def squared_beta(self, excess: list[tuple[Fraction, int]]) -> list[Fraction]:
        """β = 2 c e of squared losses."""
        return [s * 2 * c * max(e, ZERO) for c, (e, s) in zip(self.cost, excess, strict=True)]


def _short(value: Fraction) -> Fraction:
    """A number near by with few digits: β need not be exact, only within its bounds."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(1 << 80) / Fraction(2) ** size  # 80 binary digits
    return Fraction(round(value * unit)) / unit

"""Linear support vector machines: the duality gap of w·x + b in exact fractions.

    P = ½ Σ ρⱼ wⱼ² + ½ ρ₀ b² + Σ c ℓ(e),        e = 1 − t (w·x + b)  or  |t − w·x − b| − ε
    D = Σ (κ|β| − ℓ-part) − ½ Σ vⱼ²/ρⱼ − ½ (Σβ)²/ρ₀,      v = Xᵀβ

Files do not hold β. Squared losses determine it, β = 2 c e; of the others, rows beyond their margin
have |β| = c, and those on it are found by a search. Any β within its bounds gives
a lower bound, so that a small P − D is a proof; a large one refutes nothing by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from separatrix.verification.arithmetic.dual_search import DualSearch
from separatrix.verification.arithmetic.dyadic import fraction, scaled
from separatrix.verification.arithmetic.systems import solve_symmetric

ZERO = Fraction(0)
#: Rows so near to their margin (in its units) are on it.
ON_MARGIN = Fraction(1, 10**7)
#: Binary digits of numbers from which the β of rows on the margin are solved.
_ROUNDED = 1 << 80


@dataclass(frozen=True)
class LinearProblem:
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
        weights, shift = scaled([*w, b])
        rows, down = scaled([v for row in self.x for v in row])
        d, total = len(w), shift + down
        found = []
        for i, t in enumerate(self.t):
            own = rows[i * d : (i + 1) * d]
            value = sum(a * c for a, c in zip(own, weights, strict=False)) + (weights[d] << down)
            score = fraction(value, total)
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
        return self._balanced(self.squared_beta(excess) if known else self._hinges(w, b, excess))

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
        search = DualSearch(
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
        return [_short(v) for v in solve_symmetric(symmetric, [right]).x[0]]

    def _balanced(self, beta: list[Fraction]) -> list[Fraction]:
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
        for v, size, r, own in zip(self.pull(beta), sizes, self.ridge, w, strict=True):
            size += r * abs(Fraction(own))
            worst = max(worst, abs(v - r * Fraction(own)) / size) if size else worst
        if self.intercept_ridge is not None:
            size = sum(map(abs, beta), ZERO) + self.intercept_ridge * abs(Fraction(b))
            off = abs(sum(beta, ZERO) - self.intercept_ridge * Fraction(b))
            worst = max(worst, off / size) if size else worst
        return worst

    def pull_sizes(self, beta: list[Fraction]) -> list[Fraction]:
        """|X|ᵀ|β|."""
        absolute = LinearProblem(
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
    unit = Fraction(_ROUNDED) / Fraction(2) ** size
    return Fraction(round(value * unit)) / unit

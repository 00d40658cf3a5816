"""A search in doubles for dual coefficients of a few rows: nothing is claimed of what it finds.

    max over β of  qᵀβ − ½ ‖v + Xᵀβ‖²_{1/ρ} − ½ (s + Σβ)²/ρ₀,      low ≤ β ≤ high

Where the intercept is free (ρ₀ = 0), Σβ = −s: two coefficients move at a time, those that violate
the conditions most; else one.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Steps for each row, and violation at which the search ends.
STEPS, SMALL = 100, 1e-13


@dataclass
class DualSearch:
    """The problem of some rows, the others being fixed: v and s are their Xᵀβ and Σβ."""

    x: list[list[float]]
    q: list[float]
    low: list[float]
    high: list[float]
    ridge: list[float]
    intercept_ridge: float | None
    v: list[float]
    s: float

    def run(self) -> list[float]:
        """β of the rows, within their bounds."""
        n = len(self.x)
        beta = [min(max(0.0, a), b) for a, b in zip(self.low, self.high, strict=True)]
        if not n:
            return beta
        scaled = [[v / r for v, r in zip(row, self.ridge, strict=True)] for row in self.x]
        square = [_dot(row, z) for row, z in zip(self.x, scaled, strict=True)]
        gradient = [q - _dot(z, self.v) for q, z in zip(self.q, scaled, strict=True)]
        balanced = self.intercept_ridge == 0.0
        if balanced:
            self._spread(beta, gradient, scaled)
        rho = self.intercept_ridge or 0.0
        for _ in range(STEPS * n):
            step = self._pair(beta, gradient, scaled, square) if balanced else None
            if not balanced:
                step = self._single(beta, gradient, square, rho)
            if step is None:
                break
            for i, move in step:
                beta[i] += move
                self.s += move
                for k in range(n):
                    gradient[k] -= move * _dot(self.x[i], scaled[k])
        return [min(max(b, lo), hi) for b, lo, hi in zip(beta, self.low, self.high, strict=True)]

    def _spread(self, beta: list[float], gradient: list[float], scaled: list[list[float]]) -> None:
        """Start where Σβ = −s, if the bounds allow it."""
        missing = -self.s - sum(beta)
        for i in sorted(
            range(len(beta)), key=lambda k: -gradient[k] if missing > 0 else gradient[k]
        ):
            move = min(max(missing, self.low[i] - beta[i]), self.high[i] - beta[i])
            if move:
                beta[i] += move
                missing -= move
                self.s += move
                for k in range(len(beta)):
                    gradient[k] -= move * _dot(self.x[i], scaled[k])

    def _pair(
        self,
        beta: list[float],
        gradient: list[float],
        scaled: list[list[float]],
        square: list[float],
    ) -> list[tuple[int, float]] | None:
        up = [k for k, b in enumerate(beta) if b < self.high[k]]
        down = [k for k, b in enumerate(beta) if b > self.low[k]]
        if not up or not down:
            return None
        i, j = max(up, key=gradient.__getitem__), min(down, key=gradient.__getitem__)
        over = gradient[i] - gradient[j]
        if over <= SMALL * (1.0 + abs(gradient[i])):
            return None
        curve = square[i] + square[j] - 2.0 * _dot(self.x[i], scaled[j])
        move = over / curve if curve > 0.0 else float("inf")
        move = min(move, self.high[i] - beta[i], beta[j] - self.low[j])
        return [(i, move), (j, -move)] if 0.0 < move < float("inf") else None

    def _single(
        self, beta: list[float], gradient: list[float], square: list[float], rho: float
    ) -> list[tuple[int, float]] | None:
        best, chosen = 0.0, None
        for k, b in enumerate(beta):
            own = gradient[k] - (self.s / rho if rho else 0.0)
            curve = square[k] + (1.0 / rho if rho else 0.0)
            move = own / curve if curve > 0.0 else 0.0
            move = min(max(move, self.low[k] - b), self.high[k] - b)
            if abs(move * own) > best:
                best, chosen = abs(move * own), [(k, move)]
        return chosen if best > SMALL**2 else None


def _dot(a: list[float], b: list[float]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))

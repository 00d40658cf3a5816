"""One binary problem of a search at one C, on the Gram matrix of all rows.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β = 0, low ≤ β ≤ high

Rows are sorted by class, so that a problem has the rows of two segments of the Gram matrix, which
is read where it is. A row of the test fold has low = high = 0: it never moves, and its f = Kβ comes
with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.smo import FAR, add_rows, gradient_offsets, smo_segments

#: Iterations on all rows before some are left out: so many, and this fraction of the rows.
LEAST_BURST, BURST = 50, 4
#: Rows are left out if no more than this fraction remain; how far from violating they must be,
#: in units of the violation; and the tolerance on the others.
SHRINK, WIDTH, REDUCTION = 0.7, 0.2, 0.5
#: Rows that are optimized at a time where more than that cannot be left out.
WORKING_SET = 1_000


@dataclass(frozen=True)
class SegmentProblem:
    """Two segments (a, b, c, d) of the rows of ``gram``, their targets and bounds."""

    gram: NDArray[np.floating]
    segments: tuple[int, ...]
    diagonal: Floats
    t: Floats
    low: Floats
    high: Floats
    epsilon: float

    def solve(self, beta: Floats, f: Floats, tol: float, limit: int) -> tuple[int, float]:
        """SMO on all rows, then on those that may still move, in turn until no row violates.

        β and f change in place; returns iterations times rows, and the intercept.
        """
        m, count, work = len(beta), 0, 0
        burst = max(LEAST_BURST, m // BURST)
        while True:
            steps = min(burst, limit - count)
            done, least, most = smo_segments(
                self.gram, self.segments, self.diagonal, self.t, self.low, self.high, self.epsilon,
                beta, f, tol, steps,
            )  # fmt: skip
            count, work = count + done, work + (done + 10) * m
            if most - least <= tol or done < steps or count >= limit:
                return work, _intercept(least, most)
            up, down = self._gradients(beta, f)
            room = WIDTH * (most - least)
            moving = (up < most + room) | (down > least - room)
            active = np.flatnonzero(moving & (self.low < self.high))
            goal, most_steps = REDUCTION * tol, limit - count
            if len(active) > SHRINK * m:
                if m <= WORKING_SET:
                    continue
                active = _widest(up, down)
                goal, most_steps = max(goal, REDUCTION * (most - least)), min(most_steps, 10 * m)
            done, more = self._solve_active(beta, f, active, goal, most_steps)
            count, work = count + done * len(active) // m, work + more

    def _gradients(self, beta: Floats, f: Floats) -> tuple[Floats, Floats]:
        """The gradients as β increases, and as it decreases."""
        up, down = np.empty(len(beta)), np.empty(len(beta))
        gradient_offsets(beta, self.low, self.high, self.epsilon, self.t, up, down)
        return f + up, f + down

    def _solve_active(
        self, beta: Floats, f: Floats, active: Ints, tol: float, limit: int
    ) -> tuple[int, int]:
        """SMO on the active rows alone, then f of all rows; returns iterations and work."""
        a, b, c, _ = self.segments
        n, k = b - a, len(active)
        place = np.where(active < n, active + a, active - n + c)
        part = self.gram[place].take(place, axis=1)
        inner, score = beta[active], f[active]
        done, _, _ = smo_segments(
            part, (0, k, k, k), self.diagonal[active], self.t[active], self.low[active],
            self.high[active], self.epsilon, inner, score, tol, limit,
        )  # fmt: skip
        change = inner - beta[active]
        moved = np.flatnonzero(change)
        add_rows(f[:n], self.gram, place[moved], change[moved], a)
        add_rows(f[n:], self.gram, place[moved], change[moved], c)
        beta[active], f[active] = inner, score
        return done, done * k + k * k + len(moved) * len(beta) // 8


def _widest(up: Floats, down: Floats) -> Ints:
    """The rows of least up and of greatest down gradient."""
    chosen = np.zeros(len(up), dtype=bool)
    chosen[np.argsort(up)[: WORKING_SET // 2]] = True
    chosen[np.argsort(-down)[: WORKING_SET // 2]] = True
    return np.flatnonzero(chosen)


def _intercept(least: float, most: float) -> float:
    """The middle between the least up and the greatest down gradient; one class alone has one."""
    if least < 0.5 * FAR and most > -0.5 * FAR:
        return -0.5 * (least + most)
    if least < 0.5 * FAR:
        return -least
    return -most if most > -0.5 * FAR else 0.0

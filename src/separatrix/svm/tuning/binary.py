"""One binary problem of a search at one C.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β = 0, low ≤ β ≤ high

A row of the test fold has low = high = 0: it never moves, and its f = Kβ comes with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.smo import widest
from separatrix.svm.loops.smo import FAR, add_rows, smo
from separatrix.svm.problem import SVMProblem

#: Iterations on all rows before some are left out: so many, and this fraction of the rows.
LEAST_BURST, BURST = 50, 4
#: Rows are left out if no more than this fraction remain; how far from violating they must be,
#: in units of the violation; and the tolerance on the others.
SHRINK, WIDTH, REDUCTION = 0.7, 0.2, 0.5
#: Rows that are optimized at a time where more than that cannot be left out.
WORKING_SET = 1_000


@dataclass(frozen=True)
class BinaryProblem:
    """A problem, and the Gram matrix of its rows with its diagonal."""

    gram: NDArray[np.floating]
    diagonal: Floats
    problem: SVMProblem

    def solve(self, beta: Floats, f: Floats, tol: float, limit: int) -> tuple[int, float]:
        """SMO on all rows, then on those that may still move, in turn until no row violates.

        β and f change in place; returns iterations times rows, and the intercept.
        """
        p, m, count, work = self.problem, len(beta), 0, 0
        burst = max(LEAST_BURST, m // BURST)
        while True:
            steps = min(burst, limit - count)
            done, least, most = smo(
                self.gram, self.diagonal, p.t, p.low, p.high, p.epsilon, beta, f, tol, steps
            )
            count, work = count + done, work + (done + 10) * m
            if most - least <= tol or done < steps or count >= limit:
                return work, _intercept(least, most)
            up, down = p.up_gradient(beta, f), p.down_gradient(beta, f)
            room = WIDTH * (most - least)
            moving = (up < most + room) | (down > least - room)
            active = np.flatnonzero(moving & (p.low < p.high))
            goal, most_steps = REDUCTION * tol, limit - count
            if len(active) > SHRINK * m:
                if m <= WORKING_SET:
                    continue
                active = widest(up, down, WORKING_SET)
                goal, most_steps = max(goal, REDUCTION * (most - least)), min(most_steps, 10 * m)
            done, more = self._solve_active(beta, f, active, goal, most_steps)
            count, work = count + done * len(active) // m, work + more

    def _solve_active(
        self, beta: Floats, f: Floats, active: Ints, tol: float, limit: int
    ) -> tuple[int, int]:
        """SMO on the active rows alone, then f of all rows; returns iterations and work."""
        k, p = len(active), self.problem.take(active)
        part = self.gram[active].take(active, axis=1)
        own, score = beta[active], f[active]
        data = (part, self.diagonal[active], p.t, p.low, p.high, p.epsilon, own, score)
        done, *_ = smo(*data, tol, limit)
        change = own - beta[active]
        moved = np.flatnonzero(change)
        add_rows(self.gram, active[moved], change[moved], f, 0, len(f))
        beta[active], f[active] = own, score
        return done, done * k + k * k + len(moved) * len(beta) // 8


def _intercept(least: float, most: float) -> float:
    """The middle between the least up and the greatest down gradient; one class alone has one."""
    if least < 0.5 * FAR and most > -0.5 * FAR:
        return -0.5 * (least + most)
    if least < 0.5 * FAR:
        return -least
    return -most if most > -0.5 * FAR else 0.0

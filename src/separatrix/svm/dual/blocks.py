"""Support vectors by blocks: some rows at a time, all pairs among them, then everyone is told.

A round takes the rows with the steepest slopes, half that want up and half that want down, solves
their own small problem with everything else held still, and adds the change to all slopes by one
product with the kernel rows of what moved. Few of them do, so that only few rows are needed whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.kernel_rows import KernelRows
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.loops.smo import descend

#: Rows in a round.
BLOCK = 1536
#: Pairs in a round, per row in it.
_PAIRS = 40
#: A round is solved to this share of the violation it starts from.
_SHARE = 0.6


@dataclass
class Effort:
    """What has been spent, and what may be."""

    deadline: float = np.inf
    pairs: int = int(np.iinfo(np.int64).max)
    done: int = 0
    rounds: int = 0

    @property
    def exhausted(self) -> bool:
        """Whether the limit of pairs or of time has been reached."""
        return self.done >= self.pairs or time.perf_counter() >= self.deadline


def descend_blocks(
    rows: KernelRows,
    problem: DualProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    effort: Effort,
) -> float:
    """Rounds until the violation is at most ``tol``; β and f change in place. What is left."""
    violation, stuck = np.inf, 0
    while not effort.exhausted:
        up, down = problem.rises(beta, f), problem.falls(beta, f)
        before, violation = violation, max(float(down.max() - up.min()), 0.0)
        if violation <= tol:
            break
        stuck = stuck + 1 if violation >= before else 0
        chosen = _steepest(up, down, BLOCK)
        gram = rows.among(chosen)
        part = problem.take(chosen)
        own, slope = beta[chosen], f[chosen]
        target = max(0.5 * tol, _SHARE * violation / (1 + stuck))
        limit = min(_PAIRS * len(chosen), effort.pairs - effort.done)
        diagonal = rows.points.diagonal[rows.columns[chosen]]
        count, _ = descend(
            gram, diagonal, part.t, part.low, part.high, part.eps, own, slope, target, limit
        )
        change = own - beta[chosen]
        moved = change != 0.0
        if not moved.any():
            break
        rows.add_to(f, chosen[moved], change[moved])
        beta[chosen] = own
        effort.done += count
        effort.rounds += 1
    return violation


def _steepest(up: Floats, down: Floats, size: int) -> Ints:
    """The rows of least rise and greatest fall, in equal number; a row may be both."""
    half = size // 2
    if len(up) <= size:
        return np.arange(len(up))
    chosen = np.zeros(len(up), dtype=bool)
    chosen[np.argpartition(up, half)[:half]] = True
    chosen[np.argpartition(down, len(down) - half)[len(down) - half :]] = True
    return np.flatnonzero(chosen)

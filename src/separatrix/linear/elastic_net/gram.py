"""The elastic net on a set of columns whose inner products are all known.

    min ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²,       ‖y‖ = 1,  ‖xⱼ‖ = 1

Two kinds of step take turns. Coordinate descent finds which coefficients are zero and the signs of
the others, quickly at first and slowly when columns are nearly dependent. Given the signs the
problem is a linear system, and a Newton step on the support solves it whatever the angles between
the columns. Coefficients that reach zero on the way are left behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from separatrix.linear.elastic_net.loops import shed
from separatrix.optimize.loops.coordinate_descent import descend, duality_gap
from separatrix.rows.block import Floats

#: Sweeps of coordinate descent before the first Newton steps, and between later ones.
SWEEPS = 40
MORE_SWEEPS = 3
#: Turns of descent and Newton steps before coordinates are admitted one at a time.
PATIENCE = 60
#: Added to the unit diagonal of a support's Gram matrix: a Cholesky factor exists also when
#: columns repeat each other, and where they do not it changes only the length of one step.
DAMPING = 1e-11


@dataclass
class GramProblem:
    """m columns in play: ``gram``, ``target`` = Xᵀy, the point ``beta`` and its gradient ``grad``.

    ``gram`` may have room for more columns; its leading m x m part counts.
    """

    gram: Floats
    target: Floats
    beta: Floats
    grad: Floats
    l1: Floats
    l2: Floats
    positive: bool = False


def solve_on_gram(problem: GramProblem, gap: float, kkt: float, max_sweeps: int) -> int:
    """Descend until the duality gap is at most ``gap``; returns the number of sweeps.

    ``kkt`` is how far from its optimality condition a coordinate may remain besides.
    """
    p, done = problem, 0
    for turn in range(PATIENCE):
        most = min(MORE_SWEEPS if turn else SWEEPS, max_sweeps - done)
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        sweeps, stop = descend(
            p.gram, p.target, p.grad, p.beta, p.l1, p.l2, p.positive, most, gap, kkt
        )
        done += int(sweeps)
        if stop or done >= max_sweeps:
            return done
        support_step(p)
    return done + one_by_one(p, gap, kkt, max_sweeps - done)


def one_by_one(p: GramProblem, gap: float, kkt: float, max_steps: int) -> int:
    """Let the most eager coordinate in and solve for the support again, until none is left.

    Columns that nearly coincide push each other about when all of them move: here only one joins
    at a time, so every step ends at the lowest point of another support, and none comes twice.
    """
    max_steps = min(max_steps, 2 * len(p.beta))
    for step in range(max_steps):
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        eager = (p.grad if p.positive else np.abs(p.grad)) - p.l1
        eager[p.beta != 0.0] = -np.inf
        j = int(np.argmax(eager))
        if eager[j] <= kkt and _gap(p) <= gap:
            return step
        if eager[j] > 0.0:
            shift = np.sign(p.grad[j]) * eager[j] / (p.gram[j, j] + p.l2[j])
            p.beta[j] = shift
            p.grad -= shift * p.gram[j, : len(p.grad)]
        support_step(p)
    return max_steps


def rounding(beta: Floats, power: int) -> float:
    """What rounding does to a gradient (power 1) or a gap (2): it grows with Σ|β|.

    Columns that nearly coincide can need large coefficients of opposite signs, and then
    c − Gβ is a small difference of large numbers.
    """
    return 0.5 * float(np.finfo(float).eps) * max(1.0, float(np.abs(beta).sum())) ** power


def _gap(p: GramProblem) -> float:
    square = max(1.0 - float((p.target + p.grad) @ p.beta), 0.0)
    return float(duality_gap(square, p.grad, p.beta, p.l1, p.l2, p.positive)[1])


def support_step(p: GramProblem) -> None:
    """Move to the lowest point that has the present signs, or some of them and zeros."""
    support = np.flatnonzero(p.beta)
    if not len(support):
        return
    hessian = p.gram[support[:, None], support]
    hessian.flat[:: len(support) + 1] += p.l2[support] + DAMPING
    factor, info = lapack.dpotrf(hessian, lower=False, clean=False)
    if info:
        return
    b = p.beta[support]
    shed(np.ascontiguousarray(factor), b, p.grad[support], p.l1[support], p.l2[support], DAMPING)
    step = np.zeros_like(p.beta)
    step[support] = b - p.beta[support]
    p.beta[support] = b
    m = len(step)
    p.grad -= p.gram[:m, :m] @ step

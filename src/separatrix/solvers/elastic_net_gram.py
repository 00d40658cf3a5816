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

from separatrix.compiled.coordinate_descent import descend
from separatrix.compiled.support_steps import shed
from separatrix.rows.block import Floats

#: Sweeps of coordinate descent before the first Newton steps, and between later ones.
SWEEPS = 10
MORE_SWEEPS = 3
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
    p, done, most = problem, 0, SWEEPS
    while done < max_sweeps:
        sweeps, stop = descend(
            p.gram, p.target, p.grad, p.beta, p.l1, p.l2, p.positive, most, gap, kkt
        )
        done += sweeps
        if stop:
            break
        support_step(p)
        most = MORE_SWEEPS
    return int(done)


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

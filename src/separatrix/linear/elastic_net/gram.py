"""The elastic net on the Gram matrix of a working set.

    min ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²,       ‖y‖ = 1,  ‖xⱼ‖ = 1

Coordinate descent alternates with Newton steps on the support. Coordinate descent finds which
coefficients are zero and the signs of the others, quickly at first and slowly when columns are
nearly dependent. Given the signs the problem is a linear system, which a Newton step solves
whatever the correlations. Coefficients that reach zero on the way are dropped from the support.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from separatrix.linear.elastic_net.loops import descend, drop, gap_on_gram, gather, solve_upper
from separatrix.rows.block import Floats

#: Sweeps of coordinate descent before the first Newton steps, and between later ones.
SWEEPS = 10
MORE_SWEEPS = 3
#: Rounds of descent and Newton steps before coordinates are added one at a time.
MAX_ROUNDS = 60
#: Added to the unit diagonal of a support's Gram matrix: a Cholesky factor exists also when
#: columns repeat each other, and where they do not it changes only the length of one step.
DAMPING = 1e-11
#: Half the distance from one to the next number.
HALF_EPS = 0.5 * float(np.finfo(float).eps)


@dataclass
class GramProblem:
    """m columns: ``gram``, ``target`` = Xᵀy, the point ``beta`` and its gradient ``grad`` = Xᵀr.

    ``gram`` may be a larger buffer, of which the leading m x m part counts.
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
    for round_ in range(MAX_ROUNDS):
        most = min(MORE_SWEEPS if round_ else SWEEPS, max_sweeps - done)
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        sweeps, stop = descend(
            p.gram, p.target, p.grad, p.beta, p.l1, p.l2, p.positive, most, gap, kkt
        )
        done += int(sweeps)
        if stop or done >= max_sweeps:
            return done
        support_step(p)
    return done + add_one_by_one(p, gap, kkt, max_sweeps - done)


def add_one_by_one(p: GramProblem, gap: float, kkt: float, max_steps: int) -> int:
    """Active-set method: add the coordinate of the largest violation, solve on the support.

    With nearly equal columns alternating steps can cycle. Here one coordinate joins at a time, so
    that every step ends at the minimum over another support, and none occurs twice.
    """
    max_steps = min(max_steps, 2 * len(p.beta))
    for step in range(max_steps):
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        violation = (p.grad if p.positive else np.abs(p.grad)) - p.l1
        violation[p.beta != 0.0] = -np.inf
        j = int(np.argmax(violation))
        if (
            violation[j] <= kkt
            and gap_on_gram(p.target, p.grad, p.beta, p.l1, p.l2, p.positive) <= gap
        ):
            return step
        if violation[j] > 0.0:
            shift = np.sign(p.grad[j]) * violation[j] / (p.gram[j, j] + p.l2[j])
            p.beta[j] = shift
            p.grad -= shift * p.gram[j, : len(p.grad)]
        support_step(p)
    return max_steps


def rounding(beta: Floats, power: int) -> float:
    """Rounding error of a gradient (power 1) or a gap (2), which grows with Σ|β|.

    Nearly equal columns can have large coefficients of opposite signs, and then c − Gβ is a small
    difference of large numbers.
    """
    return HALF_EPS * max(1.0, float(np.abs(beta).sum())) ** power


def support_step(p: GramProblem) -> None:
    """Newton steps on the support of β, dropping coefficients that reach zero."""
    support = np.flatnonzero(p.beta)
    if not len(support):
        return
    k, l2 = len(support), p.l2[support]
    hessian = np.zeros((k, k))
    gather(p.gram, support, l2, DAMPING, hessian)
    # the upper triangle by rows is the lower one by columns, and the factor is written over it
    _, info = lapack.dpotrf(hessian.T, lower=True, clean=False, overwrite_a=True)
    if info:
        return
    b = p.beta[support]
    _newton_with_drops(hessian, b, p.grad[support], p.l1[support], l2)
    step = np.zeros_like(p.beta)
    step[support] = b - p.beta[support]
    p.beta[support] = b
    m = len(step)
    p.grad -= p.gram[:m, :m] @ step


def _newton_with_drops(r: Floats, b: Floats, grad: Floats, l1: Floats, l2: Floats) -> None:
    """Step to the minimum in the orthant of ``b``, dropping coefficients that reach zero.

    RᵀR is the Hessian with its damping; ``r``, ``b`` and ``grad``, the gradient on the support,
    change in place. As long as no sign changes the objective is quadratic, and b + Δ its minimum.
    """
    at = np.arange(len(b))
    while len(at):
        here = b[at]
        residual = grad[at] - l2[at] * here - np.copysign(l1[at], here)
        move = residual.copy()
        solve_upper(r, len(at), move)
        reach = np.full(len(at), np.inf)  # part of the step after which a coefficient is zero
        np.divide(-here, move, out=reach, where=here * move < 0.0)
        first = int(np.argmin(reach))
        length = min(1.0, float(reach[first]))
        b[at] = here + length * move
        grad[at] -= length * (residual - (l2[at] + DAMPING) * move)
        if reach[first] >= 1.0:
            break
        b[at[first]] = 0.0
        drop(r, len(at), first)
        at = np.delete(at, first)

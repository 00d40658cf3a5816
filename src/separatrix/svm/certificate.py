"""Certificates of support vector machines, from the rows, β and b (and w) alone.

The dual coefficients β give the dual point u = −tβ/c of the hinge loss, or u = β/c of the
ε-insensitive loss; both are handed to :mod:`separatrix.optimize.duality`. Without a Mercer kernel
the dual value is no bound, and only the KKT conditions can be shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.optimize.duality import Penalty, certify_primal_dual
from separatrix.optimize.losses import EpsilonInsensitive, Hinge, Loss
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Matrix
from separatrix.svm.problem import LinearProblem, SVMProblem

#: Relative difference of two objectives that counts as none.
_SAME = 1e-9

KERNEL_CLAIM = (
    "Support vectors: no other hyperplane in the kernel's feature space has a lower objective"
)
INDEFINITE_CLAIM = (
    "Support vectors of a kernel that is not Mercer: a KKT point, which need not have the lowest "
    "objective"
)


@dataclass(frozen=True)
class KernelNorm:
    """p(f) = ½‖f‖² = ½ βᵀKβ of a function f = Σ βᵢ k(xᵢ, ·) in the space of a kernel.

    The gradient of p at f is f itself: with v = f, as the coefficients β of a support vector
    machine have it, there is no excess, and every v has a finite conjugate.
    """

    squared_norm: float

    def value(self, b: Floats) -> float:  # noqa: ARG002
        """½‖f‖²."""
        return 0.5 * self.squared_norm

    def excess(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f; no other v is offered."""
        return np.zeros(1) if np.array_equal(b, v) else np.full(1, np.inf)

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f."""
        return self.excess(b, v)

    def offset(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f."""
        return self.excess(b, v)

    def feasible_scale(self, v: Floats) -> float:  # noqa: ARG002
        """One: nothing has to be scaled."""
        return 1.0


def certify_kernel_svm(
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    b: float,
    *,
    tolerance: float,
    mercer: bool = True,
    claim: str = KERNEL_CLAIM,
) -> Certificate:
    """Certificate of the expansion Σ β κ(x, ·) + b with f = Kβ."""
    square = float(beta @ f)
    found = _certify(problem, KernelNorm(square), beta, f + b, b, beta, beta, tolerance, claim)
    if mercer:
        return found
    return Certificate(
        INDEFINITE_CLAIM,
        primal=0.5 * square + _loss(problem, f + b),
        kkt=found.kkt,
        tolerance=tolerance,
        promised=("kkt",),
    )


def certify_linear_svm(
    problem: LinearProblem,
    w: Floats,
    b: float,
    beta: Floats,
    *,
    tolerance: float,
    claim: str,
) -> Certificate:
    """Certificate of the hyperplane w·x + b with the dual coefficients β; ρw = Xᵀβ at the optimum.

    Each column of that condition is measured against the size of its terms.
    """
    size = term_sizes(problem.x, np.abs(beta))
    size += problem.ridge * np.abs(w)
    scores, v, ridge = problem.scores(w, b), problem.gradient(beta), problem.ridge
    if problem.intercept and not problem.balances:
        w, v = np.append(w, b), np.append(v, beta.sum())
        ridge = np.append(ridge, problem.intercept_ridge)
        size = np.append(size, np.abs(beta).sum() + problem.intercept_ridge * abs(b))
    penalty = ElasticNet(np.zeros_like(ridge), ridge)
    return _certify(problem, penalty, beta, scores, b, w, v, tolerance, claim, size)


def _certify(
    problem: SVMProblem,
    penalty: Penalty,
    beta: Floats,
    scores: Floats,
    b: float,
    coef: Floats,
    v: Floats,
    tolerance: float,
    claim: str,
    v_scale: Floats | float = 1.0,
) -> Certificate:
    c = _finite_cost(problem, beta)
    loss: Loss = EpsilonInsensitive(problem.epsilon) if problem.regression else Hinge()
    z = problem.t - scores if problem.regression else problem.t * scores
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(c > 0.0, (beta if problem.regression else -problem.t * beta) / c, 0.0)
    found = certify_primal_dual(
        loss,
        penalty,
        c,
        z,
        u,
        coef,
        v,
        claim=claim,
        tolerance=tolerance,
        intercept=b,
        imbalance=float(beta.sum()) if problem.balances else 0.0,
        v_scale=v_scale,
        z_scale=problem.unit,
    )
    if not problem.hard:
        return found
    # the hyperplane scaled until no row is inside the margin is feasible, as is any α ≥ 0
    margin, dual = float(z.min()), found.dual
    primal = penalty.value(coef) / margin**2 if margin > 0.0 else np.inf
    return replace(found, primal=primal, dual=dual, gap=max(primal - dual, 0.0))


def is_better(proof: Certificate, other: Certificate) -> bool:
    """Whether a point is better than another: certified, or of lower objective, or of less gap."""
    if proof.holds != other.holds:
        return proof.holds
    if abs(proof.primal - other.primal) > _SAME * min(proof.primal, other.primal):
        return proof.primal < other.primal
    return badness(proof) < badness(other)


def badness(proof: Certificate) -> tuple[bool, float, float]:
    """A key that sorts certificates, the worst last."""
    gap = proof.relative_gap
    return not proof.holds, gap if np.isfinite(gap) else 0.0, proof.kkt


def _finite_cost(problem: SVMProblem, beta: Floats) -> Floats:
    """c; with a hard margin a bound that no coefficient reaches."""
    if not problem.hard:
        return problem.cost
    return problem.capped(2.0 * float(np.abs(beta).max(initial=0.0)) or 1.0).cost


def _loss(problem: SVMProblem, scores: Floats) -> float:
    return float(problem.cost @ problem.slack(scores))


def term_sizes(x: Matrix, weight: Floats) -> Floats:
    """|X|ᵀ weight, some rows at a time."""
    if sparse.issparse(x):
        rows: Any = sparse.csr_array(x)
        rows = sparse.csr_array((np.abs(rows.data), rows.indices, rows.indptr), rows.shape)
        return np.asarray(rows.T @ weight)
    total = np.zeros(x.shape[1])
    for start in range(0, len(weight), 2_000):
        part = slice(start, start + 2_000)
        total += weight[part] @ np.abs(x[part])
    return total

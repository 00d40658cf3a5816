"""The ridge path of logistic regression in memory, to the few digits that a comparison needs.

    F(θ) = Σ w (log Σₖ e^sₖ − s_y) + ½ λ Σⱼ Σₖ θⱼₖ²,     s = θᵀz,   z = (columns, 1)

From strong to weak penalties, each point starting from the extrapolation of the last two, by
L-BFGS. The Hessian of a sample of rows at an earlier point preconditions it, with the penalty of
the present one; where it would be too large, its block of each score does, or, where the columns
are principal components, their variances times the curvature of each score. The constant is not
penalized.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from separatrix.optimize.newton import LinearSolver, cholesky_solver
from separatrix.probability.likelihood.loops import binary_loss, softmax_by_class
from separatrix.rows.block import Floats, Ints

#: Coefficients up to which the whole Hessian preconditions.
MAX_HESSIAN = 1200
#: Multiplications that the Hessian of a sample may cost.
SAMPLE_COST = 4e8
#: Rows of the sample, at least.
MIN_SAMPLE = 1500
#: Values in a chunk of rows that stays in cache.
CHUNK_VALUES = 200_000
#: Steps at a point beyond which the Hessian is computed again.
STALE = 6
#: Pairs that L-BFGS stores.
MEMORY = 10
#: Fraction of the predicted decrease that a step must achieve (Armijo).
SUFFICIENT_DECREASE = 1e-4


@dataclass(frozen=True)
class RidgeRows:
    """Columns ``z`` with a constant at the end if ``intercept``, codes and weights of the rows.

    ``variances`` are those of principal components, None for columns that are none.
    """

    z: Floats
    codes: Ints
    w: Floats
    n_classes: int
    intercept: bool
    variances: Floats | None = None

    @property
    def n_scores(self) -> int:
        """One for two classes, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    def take(self, rows: Ints | slice) -> RidgeRows:
        """Some of the rows."""
        return replace(self, z=self.z[rows], codes=self.codes[rows], w=self.w[rows])

    def penalized(self, penalty: float) -> Floats:
        """λ for each column, 0 for the constant."""
        ridge = np.full((self.z.shape[1], 1), penalty)
        if self.intercept:
            ridge[-1] = 0.0
        return ridge

    def constant(self) -> Floats:
        """The maximum likelihood estimate without columns."""
        theta = np.zeros((self.z.shape[1], self.n_classes))
        if self.intercept:
            total = np.bincount(self.codes, self.w, self.n_classes)
            logs = np.log(np.maximum(total / self.weight, np.finfo(float).tiny))
            theta[-1] = logs - logs.mean()
        return theta if self.n_scores > 1 else theta[:, [1]] - theta[:, [0]]


@dataclass(frozen=True)
class RidgePoint:
    """F and its gradient at a point; probabilities (classes x rows; of two classes the second)."""

    value: float
    gradient: Floats
    probability: Floats


def evaluate(rows: RidgeRows, theta: Floats, ridge: Floats) -> RidgePoint:
    """One pass over the rows."""
    scores = theta.T @ rows.z.T
    residual = np.empty_like(scores)
    if rows.n_scores == 1:
        variance, positive = np.empty(scores.shape[1]), rows.codes.astype(np.float64)
        value, _ = binary_loss(scores[0], positive, rows.w, residual[0], variance)
        probability = 0.5 * (1.0 + np.tanh(0.5 * scores))
    else:
        value, probability = softmax_by_class(scores, rows.codes, rows.w, residual), scores
    shrunk = ridge * theta
    value += 0.5 * float(np.sum(theta * shrunk))
    return RidgePoint(value, (residual @ rows.z).T + shrunk, probability)


def loss_hessian(rows: RidgeRows, theta: Floats) -> Floats:
    """Σ w (diag p − p pᵀ) ⊗ z zᵀ, scores outermost."""
    d, k = theta.shape
    hessian = np.zeros((k * d, k * d))
    none = np.zeros((1, 1))
    step = max(64, CHUNK_VALUES // (k * d))
    for start in range(0, len(rows.z), step):
        part = rows.take(slice(start, start + step))
        z, w = part.z, part.w
        p = evaluate(part, theta, none).probability.T
        if k == 1:
            root = z * np.sqrt(w[:, None] * p * (1.0 - p))
            hessian += root.T @ root
            continue
        flat = ((np.sqrt(w)[:, None] * p)[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        hessian -= flat.T @ flat
        for j in range(k):
            own = slice(j * d, (j + 1) * d)
            root = z * np.sqrt(w * p[:, j])[:, None]
            hessian[own, own] += root.T @ root
    return hessian


def _sample(rows: RidgeRows, size: int) -> RidgeRows:
    """So many rows, evenly spaced, or all if there are no more."""
    n, size = len(rows.z), max(MIN_SAMPLE, size)
    return rows if size >= n else rows.take((np.arange(size) * (n / size)).astype(np.int64))


class HessianPreconditioner:
    """g ↦ H⁻¹g with the Hessian of the loss over a sample, and the present penalty."""

    def __init__(self, rows: RidgeRows, theta: Floats) -> None:
        d, k = theta.shape
        sample = _sample(rows, int(SAMPLE_COST / (d * k) ** 2))
        self.loss = loss_hessian(sample, theta) * (rows.weight / sample.weight)
        if k > 1:  # a common shift of all scores changes nothing: it is given a curvature
            shift = np.arange(d)
            blocks = self.loss.reshape(k, d, k, d)
            blocks[:, shift, :, shift] += rows.weight / k**2
        self.shape = (d, k)

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        d, k = self.shape
        full = self.loss.copy()
        np.einsum("ii->i", full)[:] += np.tile(ridge[:, 0], k)
        solve = cholesky_solver(full)
        return lambda g: np.asarray(solve(g.T.ravel()).reshape(k, d).T)


class BlockPreconditioner:
    """g ↦ H⁻¹g with the block Σ w pₖ(1 − pₖ) z zᵀ of each score over a sample, and the penalty."""

    def __init__(self, rows: RidgeRows, theta: Floats) -> None:
        d, k = theta.shape
        sample = _sample(rows, int(SAMPLE_COST / (d * d * k)))
        p = evaluate(sample, theta, np.zeros((1, 1))).probability
        self.loss = np.empty((k, d, d))
        for j in range(k):
            root = sample.z * np.sqrt(sample.w * p[j] * (1.0 - p[j]))[:, None]
            self.loss[j] = root.T @ root
        self.loss *= rows.weight / sample.weight
        # a class that the sample hardly has still has a curvature
        np.einsum("kii->ki", self.loss)[:] += 1e-6 * rows.weight

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        solvers = [cholesky_solver(block + np.diag(ridge[:, 0])) for block in self.loss]
        return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])


class ComponentPreconditioner:
    """g ↦ H⁻¹g with H = W aₖ diag(variances) for each score k, aₖ the mean of pₖ(1 − pₖ)."""

    def __init__(self, rows: RidgeRows, theta: Floats) -> None:
        assert rows.variances is not None
        p = evaluate(rows, theta, np.zeros((1, 1))).probability
        curvature = np.maximum((p * (1.0 - p)) @ rows.w, 1e-4 * rows.weight)
        one = np.ones(int(rows.intercept))
        self.loss = np.append(rows.variances, one)[:, None] * curvature

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        curvature = self.loss + ridge
        return lambda g: g / curvature


def ridge_path(rows: RidgeRows, penalties: Floats, tolerance: float) -> Iterator[Floats]:
    """θ for every penalty λ, given in decreasing order.

    ``tolerance`` is the decrease of F per unit weight that a step must promise to be taken.
    """
    theta = last = rows.constant()
    kind: type[HessianPreconditioner | BlockPreconditioner | ComponentPreconditioner]
    kind = HessianPreconditioner if theta.size <= MAX_HESSIAN else BlockPreconditioner
    kind = kind if rows.variances is None else ComponentPreconditioner
    preconditioner = kind(rows, theta)
    logs = np.log(penalties)
    steps = np.diff(logs, prepend=[logs[0], logs[0]])
    for penalty, before, step in zip(penalties, steps[:-1], steps[1:], strict=True):
        ridge = rows.penalized(float(penalty))
        ahead = min(step / before, 1.0) if before < 0.0 else 0.0
        start = theta + ahead * (theta - last)
        last = theta
        theta, count = _lbfgs(rows, start, ridge, preconditioner.with_penalty(ridge), tolerance)
        if count > STALE:
            preconditioner = kind(rows, theta)
        yield theta


def _lbfgs(
    rows: RidgeRows, theta: Floats, ridge: Floats, solve: LinearSolver, tolerance: float
) -> tuple[Floats, int]:
    """Steps until the next promises too little; also their number."""
    at = evaluate(rows, theta, ridge)
    pairs: list[tuple[Floats, Floats, float]] = []
    for count in range(200):
        step = _direction(at.gradient, pairs, solve)
        promised = float(np.sum(at.gradient * step))
        if promised <= tolerance * rows.weight:
            return theta, count
        size = 1.0
        while True:
            there = evaluate(rows, theta - size * step, ridge)
            if there.value <= at.value - SUFFICIENT_DECREASE * size * promised:
                break
            size *= 0.5
            if size < 1e-4:
                return theta, count
        change = there.gradient - at.gradient
        product = -size * float(np.sum(step * change))
        if product > 0.0:
            pairs = [*pairs[1 - MEMORY :], (-size * step, change, product)]
        theta, at = theta - size * step, there
    return theta, 200


def _direction(
    gradient: Floats, pairs: list[tuple[Floats, Floats, float]], solve: LinearSolver
) -> Floats:
    """The L-BFGS direction: H⁻¹ times the gradient, H corrected by the pairs."""
    q = gradient.copy()
    factors = []
    for step, change, product in reversed(pairs):
        factor = float(np.sum(step * q)) / product
        q -= factor * change
        factors.append(factor)
    q = solve(q)
    for (step, change, product), factor in zip(pairs, reversed(factors), strict=True):
        q += (factor - float(np.sum(change * q)) / product) * step
    return q

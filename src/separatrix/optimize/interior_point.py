"""Primal-dual interior point for piecewise-linear losses, whose dual variables live in boxes.

    min over β of Σ w max(0, |y − zβ| − ε)
    max over u of y·u − ε‖u‖₁   with zᵀu = 0, |u| ≤ w

With ε = 0 the dual variables u = v − w need one box 0 ≤ v ≤ 2w; otherwise u = v₁ − v₂ with two
boxes 0 ≤ v ≤ w. A hinge, max(0, q − zβ), has the one box 0 ≤ v ≤ w, and a quadratic ½ βᵀPβ − h·β
may be added to the losses: then Pβ = h + zᵀu. Either way one step solves (P + zᵀ D z) δ = …, a
single weighted Gram matrix of the rows, and some twenty steps suffice for any number of rows. Steps
are Mehrotra's predictor-corrector steps. What a step needs of single rows is computed in slices: of
a step only the change of v is stored, from which those of the other variables follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import column_gram

#: Rows in a slice, whose numbers stay in the cache.
SLICE_ROWS = 8192


@dataclass(frozen=True)
class InteriorSolution:
    """β and dual variables u near the optimum.

    ``diagonal`` is D of the normal equations: large where a dual variable is strictly inside its
    box. It has one row per box: 1 x n for ε = 0, else 2 x n (for residuals at +ε and at −ε).
    """

    beta: Floats
    u: Floats
    diagonal: Floats
    iterations: int
    history: Floats


#: v, s, p and q of some rows.
Slices = tuple[Floats, Floats, Floats, Floats]


@dataclass
class PrimalDualPoint:
    """Dual variables v with slacks s = upper − v, multipliers p (of v ≥ 0) and q (of s ≥ 0), β."""

    v: Floats
    s: Floats
    p: Floats
    q: Floats
    beta: Floats

    def complementarity(self) -> float:
        """p·v + q·s, the duality gap of a feasible point."""
        return float(np.vdot(self.p, self.v) + np.vdot(self.q, self.s))

    def slices(self) -> Iterator[tuple[slice, Slices]]:
        """(positions, (v, s, p, q)) of the rows, some at a time."""
        for start in range(0, self.v.shape[1], SLICE_ROWS):
            at = slice(start, start + SLICE_ROWS)
            yield at, (self.v[:, at], self.s[:, at], self.p[:, at], self.q[:, at])


class EpsilonInsensitiveProblem:
    """min Σ w max(0, |y − zβ| − ε): rows z, targets, and the sign that each box has in u."""

    ridge: Floats | None = None  # the diagonal of P
    linear: Floats | float = 0.0  # h

    def __init__(self, z: Floats, y: Floats, w: Floats, epsilon: float) -> None:
        self.z, self.y, self.epsilon = z, y, epsilon
        self.sign = np.array([[1.0]]) if epsilon == 0.0 else np.array([[1.0], [-1.0]])
        self.upper = np.tile(2.0 * w if epsilon == 0.0 else w, (len(self.sign), 1))
        self.offset = w if epsilon == 0.0 else np.zeros_like(w)

    def dual_variables(self, v: Floats) -> Floats:
        """U from the variables of the boxes."""
        return np.asarray((self.sign * v).sum(axis=0) - self.offset)

    def dual_residual(self, primal_dual_point: PrimalDualPoint) -> Floats:
        """h + zᵀu − Pβ, which vanishes at the optimum."""
        residual = self.z.T @ self.dual_variables(primal_dual_point.v) + self.linear
        return np.asarray(
            residual if self.ridge is None else residual - self.ridge * primal_dual_point.beta
        )

    def weighted_gram(self, weights: Floats) -> Floats:
        """Σ weight z zᵀ."""
        return column_gram(self.z * np.sqrt(weights)[:, None])

    def objective(self, beta: Floats) -> float:
        """Σ w max(0, |y − zβ| − ε)."""
        excess = np.maximum(np.abs(self.y - self.z @ beta) - self.epsilon, 0.0)
        return float((self.upper[0] - self.offset) @ excess)

    def reduced_cost(self, beta: Floats) -> Floats:
        """ε ∓ residual: positive where v should be 0, negative where it should be at its bound."""
        return np.asarray(self.epsilon - self.sign * (self.y - self.z @ beta))

    def start(self, beta: Floats) -> PrimalDualPoint:
        """v in the middle of the boxes (so that zᵀu = 0), multipliers that match the costs."""
        cost = self.reduced_cost(beta)
        shift = max(float(np.abs(cost).mean()), 1e-3)
        return PrimalDualPoint(
            self.upper / 2,
            self.upper / 2,
            np.maximum(cost, 0.0) + shift,
            np.maximum(-cost, 0.0) + shift,
            beta,
        )


class HingeProblem(EpsilonInsensitiveProblem):
    """min over β of ½ Σ ridge β² − linear·β + Σ w max(0, q − zβ): one box a row."""

    ridge: Floats
    linear: Floats

    def __init__(self, z: Floats, q: Floats, w: Floats, ridge: Floats, linear: Floats) -> None:
        self.z, self.y, self.epsilon = z, q, 0.0
        self.sign, self.upper, self.offset = np.array([[1.0]]), w[None, :], np.zeros_like(w)
        self.ridge, self.linear = ridge, linear


@dataclass
class _Step:
    """The changes of v (that of s is its negative) and of β; without a predictor, one itself."""

    v: Floats
    beta: Floats
    predictor: _Step | None = None
    centering: float = 0.0

    def targets(self, rows: slice, values: Slices) -> tuple[Floats, Floats]:
        """By how much v·p and s·q are to change, to first order."""
        v, s, p, q = values
        low, high = -p * v, -q * s
        if self.predictor is not None:
            change, change_p, change_q = self.predictor.changes(rows, values)
            low += self.centering - change * change_p
            high += self.centering + change * change_q
        return low, high

    def changes(self, rows: slice, values: Slices) -> tuple[Floats, Floats, Floats]:
        """The changes of v, p and q."""
        v, s, p, q = values
        low, high = self.targets(rows, values)
        change = self.v[:, rows]
        return change, (low - p * change) / v, (high + q * change) / s


class _NormalEquations:
    """The linear system at a point, factorized once for predictor and corrector."""

    def __init__(self, problem: EpsilonInsensitiveProblem, at: PrimalDualPoint) -> None:
        self.problem, self.at = problem, at
        self.d = np.empty_like(at.v)
        for rows, (v, s, p, q) in at.slices():
            self.d[:, rows] = 1.0 / (p / v + q / s)
        one_box = len(self.d) == 1
        gram = problem.weighted_gram(self.d[0] if one_box else self.d.sum(axis=0))
        if problem.ridge is not None:
            gram.flat[:: len(gram) + 1] += problem.ridge
        gram.flat[:: len(gram) + 1] *= 1.0 + 1e-14
        factor = cholesky_factor(gram)
        if factor is None:
            raise linalg.LinAlgError("The normal equations are singular up to rounding.")
        self.factor = factor
        self.dual_residual = problem.dual_residual(at)
        self.primal_residual = problem.reduced_cost(at.beta)
        self.primal_residual -= at.p
        self.primal_residual += at.q

    def step(self, predictor: _Step | None = None, centering: float = 0.0) -> _Step:
        """The step to the optimum, or with a predictor the one that it corrects."""
        problem = self.problem
        step = _Step(np.empty_like(self.d), np.zeros(0), predictor, centering)
        weighted = np.empty(self.d.shape[1])
        for rows, values in self.at.slices():
            low, high = step.targets(rows, values)
            g = low / values[0] - high / values[1] - self.primal_residual[:, rows]
            step.v[:, rows] = g
            weighted[rows] = (problem.sign * self.d[:, rows] * g).sum(axis=0)
        right = self.dual_residual + problem.z.T @ weighted
        del weighted
        step.beta = cholesky_solve(self.factor, right)
        fitted = problem.z @ step.beta
        for rows, _ in self.at.slices():
            step.v[:, rows] -= problem.sign * fitted[rows]
        step.v *= self.d
        return step


def follow_central_path(
    problem: EpsilonInsensitiveProblem, start: Floats, *, tol: float, max_iter: int
) -> InteriorSolution:
    """Follow the central path until the gap is ``tol`` of the objective, or rounding stops it.

    The dual variables of the problem live in boxes.
    """
    at = problem.start(start)
    history = [at.complementarity()]
    while len(history) <= max_iter:
        # Gap, as a fraction of the first, that is nothing where the objective itself goes to zero.
        if history[-1] <= max(tol * problem.objective(at.beta), 1e-20 * history[0]):
            break
        try:
            new = predictor_corrector_step(problem, at)
        except linalg.LinAlgError:
            break  # D is all but zero except at a vertex, which is very near
        gap = new.complementarity()
        if not np.isfinite(gap) or gap > 0.999 * history[-1]:
            break
        at = new
        history.append(gap)
    with np.errstate(divide="ignore"):
        diagonal = 1.0 / (at.p / at.v + at.q / at.s)
    u = problem.dual_variables(at.v)
    return InteriorSolution(at.beta, u, diagonal, len(history) - 1, np.array(history))


def predictor_corrector_step(
    problem: EpsilonInsensitiveProblem, primal_dual_point: PrimalDualPoint
) -> PrimalDualPoint:
    """One step of Mehrotra's method."""
    equations = _NormalEquations(problem, primal_dual_point)
    predictor = equations.step()
    gap = primal_dual_point.complementarity()
    predicted = _predicted_gap(
        primal_dual_point, predictor, *_step_lengths(problem, primal_dual_point, predictor)
    )
    centering = (predicted / gap) ** 3 * gap / (2 * primal_dual_point.v.size)
    corrected = equations.step(predictor, centering)
    del equations
    dual, primal = _step_lengths(problem, primal_dual_point, corrected)
    v, s, p, q = (np.empty_like(primal_dual_point.v) for _ in range(4))
    for rows, values in primal_dual_point.slices():
        change, change_p, change_q = corrected.changes(rows, values)
        v[:, rows] = values[0] + dual * change
        s[:, rows] = values[1] - dual * change
        p[:, rows] = values[2] + primal * change_p
        q[:, rows] = values[3] + primal * change_q
    return PrimalDualPoint(v, s, p, q, primal_dual_point.beta + primal * corrected.beta)


def _predicted_gap(
    primal_dual_point: PrimalDualPoint, step: _Step, dual: float, primal: float
) -> float:
    """The complementarity after a step of the given lengths in (v, s) and in (p, q)."""
    total = 0.0
    for rows, (v, s, p, q) in primal_dual_point.slices():
        change, change_p, change_q = step.changes(rows, (v, s, p, q))
        total += float(np.vdot(p + primal * change_p, v + dual * change))
        total += float(np.vdot(q + primal * change_q, s - dual * change))
    return total


def _step_lengths(
    problem: EpsilonInsensitiveProblem, primal_dual_point: PrimalDualPoint, step: _Step
) -> tuple[float, float]:
    """Step lengths in (v, s) and in (p, q, β) that stay inside; equal where P couples the two."""
    fastest = np.full(4, -np.inf)
    for rows, (v, s, p, q) in primal_dual_point.slices():
        change, change_p, change_q = step.changes(rows, (v, s, p, q))
        ratios = (-change / v, change / s, -change_p / p, -change_q / q)
        np.maximum(fastest, [np.max(ratio) for ratio in ratios], out=fastest)
    dual = min(_length(fastest[0]), _length(fastest[1]))
    primal = min(_length(fastest[2]), _length(fastest[3]))
    if problem.ridge is None:
        return dual, primal
    return min(dual, primal), min(dual, primal)


def _length(fastest: float) -> float:
    # Fraction of the distance to the boundary that a step may go.
    return min(1.0, 0.9995 / float(fastest)) if fastest > 0 else 1.0

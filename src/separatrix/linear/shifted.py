"""Ridge on sparse rows for several penalties and several folds at once, by products alone.

    (A + αI) c = r,      A = ZᵀZ, r = Zᵀy  with d < n,      A = ZZᵀ, r = y, b = Zᵀc  with n ≤ d

Conjugate gradients for one penalty visit the same Krylov space as those for any other: residuals
for α + σ are multiples ζ of those for α, so that the products of the least penalty solve all of
them (Frommer and Maass, Fast CG-based methods for Tikhonov–Phillips regularization, 1999). Folds
are columns of weights, zero for rows that are left out; a product with all of them reads the stored
entries once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats
from separatrix.matrices.products import Products


@dataclass
class ShiftedSolution:
    """Coefficients (m x d x k) and intercepts (m x k), and the number of steps.

    ``done`` says which penalties are solved.
    """

    coefs: Floats
    intercepts: Floats
    done: list[bool]
    steps: int


def solve_shifted(
    x: Products,
    y: Floats,
    w: Floats,
    alphas: Floats,
    *,
    fit_intercept: bool,
    enough: float,
    limit: int,
) -> ShiftedSolution:
    """Ridge with weights ``w`` (n x k) of targets ``y`` (n x k), for every α > 0.

    Ends where residuals of the equations are ``enough`` of their right sides, or after ``limit``
    steps.
    """
    system = _RowSystem if x.shape[0] <= x.shape[1] else _ColumnSystem
    problem = system(x, y, w, fit_intercept)
    solutions, done, steps = _iterate(problem, alphas, enough, limit)
    coefs = np.stack([problem.coef(solution) for solution in solutions])
    intercepts = problem.y_mean - np.einsum("dk,mdk->mk", problem.mean, coefs)
    return ShiftedSolution(coefs, intercepts, done, steps)


class _System:
    """Weighted means of the columns (d x k) and targets, and centered targets."""

    right: Floats

    def __init__(self, x: Products, y: Floats, w: Floats, fit_intercept: bool) -> None:
        self.x, self.w = x, w
        d, k = x.shape[1], w.shape[1]
        self.mean, self.y_mean = np.zeros((d, k)), np.zeros(k)
        if fit_intercept:
            self.mean = self.back(w) / w.sum(axis=0)
            self.y_mean = (w * y).sum(axis=0) / w.sum(axis=0)
        self.y = y - self.y_mean

    def forward(self, v: Floats) -> Floats:
        """X v; one column as a vector, which has the faster loop."""
        return self.x.times(v) if v.shape[1] > 1 else self.x.times(v[:, 0])[:, None]

    def back(self, r: Floats) -> Floats:
        """Xᵀ r."""
        x = self.x
        return x.transposed_times(r) if r.shape[1] > 1 else x.transposed_times(r[:, 0])[:, None]

    def size(self, residual: Floats, alpha: float) -> Floats:
        """The length of a residual of the equations."""
        raise NotImplementedError

    def times(self, v: Floats) -> Floats:
        """A v."""
        raise NotImplementedError

    def coef(self, solution: Floats) -> Floats:
        """b from the solution of the equations."""
        raise NotImplementedError


class _ColumnSystem(_System):
    """A = ZᵀZ; residuals are measured in equilibrated columns."""

    def __init__(self, x: Products, y: Floats, w: Floats, fit_intercept: bool) -> None:
        super().__init__(x, y, w, fit_intercept)
        weighted = w * self.y
        self.right = self.back(weighted) - self.mean * weighted.sum(axis=0)
        squares = np.stack([x.weighted_squares(column) for column in w.T], axis=1)
        self.squares = np.maximum(squares - w.sum(axis=0) * self.mean**2, 0.0)

    def times(self, v: Floats) -> Floats:
        fitted = self.forward(v)
        fitted -= np.einsum("dk,dk->k", self.mean, v)
        fitted *= self.w
        out = self.back(fitted)
        out -= self.mean * fitted.sum(axis=0)
        return out

    def size(self, residual: Floats, alpha: float) -> Floats:
        return np.sqrt(_lengths(residual / np.sqrt(self.squares + alpha)))

    def coef(self, solution: Floats) -> Floats:
        return solution


class _RowSystem(_System):
    """A = ZZᵀ, centered by products of the rows with the mean: no step is as long as d."""

    def __init__(self, x: Products, y: Floats, w: Floats, fit_intercept: bool) -> None:
        super().__init__(x, y, w, fit_intercept)
        self.root = np.sqrt(w)
        self.right = self.root * self.y
        self.beside = self.forward(self.mean) if fit_intercept else None
        self.square = _lengths(self.mean)

    def times(self, v: Floats) -> Floats:
        weighted = self.root * v
        out = self.forward(self.back(weighted))
        if self.beside is not None:
            total = weighted.sum(axis=0)
            out -= self.beside * total
            out += self.square * total - np.einsum("nk,nk->k", self.beside, weighted)
        out *= self.root
        return out

    def size(self, residual: Floats, alpha: float) -> Floats:  # noqa: ARG002
        return np.sqrt(_lengths(residual))

    def coef(self, solution: Floats) -> Floats:
        weighted = self.root * solution
        return np.asarray(self.back(weighted) - self.mean * weighted.sum(axis=0))


class _Shift:
    """The iterates of one penalty α + σ: its solution, direction, and ζ of the last two steps."""

    def __init__(self, sigma: float, right: Floats) -> None:
        self.sigma, self.solution, self.direction = sigma, np.zeros_like(right), right.copy()
        self.zeta = self.before = np.ones(right.shape[1])
        self.done = False

    def step(self, length: Floats, last: Floats, ratio: Floats) -> Floats:
        """Go along the direction; ``length`` and ``last`` are steps of the least penalty."""
        below = length * ratio * (self.before - self.zeta)
        below += self.before * last * (1.0 + self.sigma * length)
        zeta = _divide(self.zeta * self.before * last, below)
        self.solution += length * _divide(zeta, self.zeta) * self.direction
        self.before, self.zeta = self.zeta, zeta
        return zeta

    def turn(self, residual: Floats, ratio: Floats) -> None:
        """The next direction, from the residual of the least penalty."""
        self.direction *= ratio * _divide(self.zeta, self.before) ** 2
        self.direction += self.zeta * residual


def _iterate(
    problem: _System, alphas: Floats, enough: float, limit: int
) -> tuple[list[Floats], list[bool], int]:
    """Conjugate gradients for the least α; the others follow."""
    least = float(alphas.min())
    shifts = [_Shift(float(alpha) - least, problem.right) for alpha in alphas]
    residual, direction = problem.right.copy(), problem.right.copy()
    goal = enough * problem.size(residual, least)
    square, last = _lengths(residual), np.ones(residual.shape[1])
    ratio, steps = np.zeros_like(last), 0
    while steps < limit:
        steps += 1
        product = problem.times(direction)
        product += least * direction
        length = _divide(square, np.einsum("nk,nk->k", direction, product))
        residual -= length * product
        size = problem.size(residual, least)
        moving = [shift for shift in shifts if not shift.done]
        for shift in moving:
            zeta = shift.step(length, last, ratio)
            shift.done = bool((np.abs(zeta) * size <= goal).all())
        if all(shift.done for shift in moving):
            break
        before, square, last = square, _lengths(residual), np.where(length > 0, length, 1.0)
        ratio = _divide(square, before)
        direction *= ratio
        direction += residual
        for shift in moving:
            shift.turn(residual, ratio)
    return [shift.solution for shift in shifts], [shift.done for shift in shifts], steps


def _lengths(v: Floats) -> Floats:
    """Σ v² of every column."""
    return np.asarray(np.einsum("nk,nk->k", v, v))


def _divide(a: Floats, b: Floats) -> Floats:
    """a / b, and 0 where b is not positive: a column that is solved stays as it is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)

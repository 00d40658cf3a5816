"""Metrics for steps on a logistic likelihood: g ↦ H⁻¹g, H its curvature or one like it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import linalg

from separatrix.logistic.problem import LogisticProblem
from separatrix.rows.block import Floats

#: Parameters up to which the curvature of a sample is a full matrix; beyond it has blocks.
LARGEST_METRIC = 2500
#: Multiplications that a sample's curvature may cost.
SAMPLE_COST = 2e9

Solver = Callable[[Floats], Floats]


def sample_rows(parameters: int) -> int:
    """Rows whose curvature is cheap enough."""
    return int(max(SAMPLE_COST / max(parameters, 1) ** 2, 2000))


def metric(hessian: Floats, problem: LogisticProblem) -> Solver:
    """g ↦ H⁻¹g. Scores of several classes may all be raised alike: that direction is made stiff."""
    width, k = problem.shape
    whole = hessian.copy()
    if k > 1:
        stiff = np.kron(np.ones((k, k)), np.eye(width)) * (problem.weight / k**2)
        whole += stiff
    factor = _factor(whole)

    def solve(g: Floats) -> Floats:
        return np.asarray(factor(g.T.ravel()).reshape(k, width).T)

    return solve


def sample_metric(problem: LogisticProblem, theta: Floats) -> Solver:
    """The metric at θ of some rows: whole, by blocks, or the most that the loss can bend."""
    width, k = problem.shape
    small = width * k <= LARGEST_METRIC
    rows = sample_rows(width * k if small else width)
    sample = problem.sampled(rows) or problem.first(rows)
    ratio = problem.weight / sample.weight
    if small:
        hessian = sample.curved(theta).hessian
        assert hessian is not None
        return metric(hessian * ratio, problem)
    if width > LARGEST_METRIC:
        unit = 0.25 * problem.weight + problem.ridge
        return lambda g: g / unit[:, None]
    factors = [_factor(block * ratio) for block in sample.blocks(theta)]
    return lambda g: np.column_stack([f(g[:, j]) for j, f in enumerate(factors)])


def _factor(h: Floats) -> Solver:
    """h⁻¹ by Cholesky after equilibration; the diagonal is raised only as far as needed."""
    unit = np.sqrt(np.maximum(np.diag(h), 0.0))
    unit[unit == 0.0] = float(unit.max(initial=0.0)) or 1.0
    scaled = h / np.outer(unit, unit)
    for lift in (0.0, *10.0 ** np.arange(-14.0, 3.0)):
        try:
            factor = linalg.cho_factor(scaled + lift * np.eye(len(unit)), check_finite=False)
        except linalg.LinAlgError:
            continue
        if np.isfinite(factor[0]).all():
            return partial(_solved, factor, unit)
    return lambda g: g / unit**2


def _solved(factor: tuple[Floats, bool], unit: Floats, g: Floats) -> Floats:
    return np.asarray(linalg.cho_solve(factor, g / unit, check_finite=False) / unit)

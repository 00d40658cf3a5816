"""Solving with a symmetric matrix that is positive semi-definite up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats

#: g ↦ H⁻¹g.
LinearSolver = Callable[[Floats], Floats]


def cholesky_solver(h: Floats) -> LinearSolver:
    """H⁻¹ by Cholesky after scaling to a unit diagonal, which is raised only as far as needed."""
    unit = np.sqrt(np.maximum(np.diag(h), 0.0))
    unit[unit == 0.0] = float(unit.max(initial=0.0)) or 1.0
    scaled = h / np.outer(unit, unit)
    for ridge in (0.0, *10.0 ** np.arange(-14.0, 6.0)):
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(unit)), check_finite=False)
        except linalg.LinAlgError:
            continue
        if np.isfinite(factor[0]).all():
            return partial(_solve, factor, unit)
    return lambda g: g / unit**2


def _solve(factor: tuple[Floats, bool], unit: Floats, g: Floats) -> Floats:
    return np.asarray(linalg.cho_solve(factor, g / unit, check_finite=False) / unit)

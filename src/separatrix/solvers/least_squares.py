"""Least squares from moments."""

from __future__ import annotations

import numpy as np

from separatrix.solvers.solution import Certificate, Solution
from separatrix.statistics.moments import Moments


def solve_least_squares(moments: Moments, *, fit_intercept: bool = True) -> Solution:
    """min ‖y − a − Xb‖²."""
    m = moments if fit_intercept else moments.about_origin()
    coef = np.linalg.lstsq(m.xx, m.xy, rcond=None)[0]
    return Solution(coef, m.y_mean - m.x_mean @ coef, Certificate("Least squares"))

"""Sigmoid outputs with squared error, one output at a time.

    f(b) = ½ Σ w (σ(z·b) − r)² + ½ α ‖b without its constant‖²,    σ(s) = 1/(1 + e⁻ˢ)

f is not convex: where an output is saturated and wrong it is flat and bends downwards. Newton's
method with a raised diagonal goes down to a point where the slope vanishes and f bends upwards,
which is a minimum among its neighbours and possibly not the lowest of all.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import expit

from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats


class SigmoidSquares:
    """f, its slope and curvature for rows ``z`` (a column of ones first), targets r in [0, 1]."""

    def __init__(self, z: Floats, r: Floats, w: Floats, alpha: float) -> None:
        self.z, self.r, self.w = z, r, w
        self.penalty = np.full(z.shape[1], alpha)
        self.penalty[0] = 0.0

    def value(self, b: Floats) -> float:
        """f(b)."""
        error = expit(self.z @ b) - self.r
        return 0.5 * float(self.w @ error**2 + self.penalty @ b**2)

    def gradient(self, b: Floats) -> Floats:
        """Σ w (y − r) y (1 − y) z + α b."""
        y = expit(self.z @ b)
        return np.asarray((self.w * (y - self.r) * y * (1 - y)) @ self.z + self.penalty * b)

    def hessian(self, b: Floats) -> Floats:
        """Σ w y(1 − y) [y(1 − y) + (y − r)(1 − 2y)] z zᵀ + αI."""
        y = expit(self.z @ b)
        slope = y * (1 - y)
        bend = self.w * slope * (slope + (y - self.r) * (1 - 2 * y))
        return np.asarray((self.z.T * bend) @ self.z + np.diag(self.penalty))

    def metric(self, _: Floats) -> Floats:
        """How strongly f could bend: the slope of a sigmoid is at most ¼."""
        return np.asarray(self.w @ self.z**2 / 16 + self.penalty) + np.finfo(float).tiny

    def start(self) -> Floats:
        """Where the tangent of the sigmoid at 0, ½ + s/4, fits the targets best."""
        gram = (self.z.T * self.w) @ self.z
        gram += np.diag(np.r_[0.0, np.full(len(gram) - 1, 1e-3)])
        return np.asarray(
            4 * linalg.solve(gram, (self.w * (self.r - 0.5)) @ self.z, assume_a="pos")
        )


def fit_sigmoid_squares(
    z: Floats, r: Floats, w: Floats, *, alpha: float, tol: float, max_iter: int
) -> Solution:
    """Coefficients of (1, z), (1 + d) x k, for k outputs with targets ``r`` (n x k)."""
    found, bends = [], []
    for target in r.T:
        problem = SigmoidSquares(z, target, w, alpha)
        found.append(newton(problem, problem.start(), tol=tol, max_iter=max_iter, slope_unit=0.25))
        curvature = problem.hessian(found[-1].coef[:, 0])
        unit = np.sqrt(problem.metric(found[-1].coef[:, 0]))
        bends.append(float(linalg.eigvalsh(curvature / np.outer(unit, unit))[0]))
    lowest = min(bends)
    upwards = "bends upwards or is flat" if lowest >= -1e-9 else "still bends downwards somewhere"
    certificate = Certificate(
        "Squared error of sigmoid outputs: a minimum among its neighbours",
        primal=sum(s.certificate.primal for s in found),
        kkt=max(s.certificate.kkt for s in found),
        tolerance=tol,
        notes=(
            f"There the error {upwards} (least curvature {lowest:.1e} of the largest possible).",
            "It is not convex: that no other minimum is lower is not known.",
        ),
        promised=("kkt",),
    )
    return Solution(
        np.column_stack([s.coef[:, 0] for s in found]),
        np.zeros(len(found)),
        certificate,
        "solved" if certificate.holds else "limit reached",
        max(s.iterations for s in found),
    )

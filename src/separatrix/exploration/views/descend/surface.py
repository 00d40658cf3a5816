"""A loss of two coefficients, over rows of two features.

    squares   ½ mean (y − z·b)²
    logistic  mean ln(1 + e^{−y z·b})
    hinge     mean max(0, 1 − y z·b) + ½ λ ‖b‖²

The features are 1 and a column (intercept and slope), or two columns and no intercept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import separatrix as sx
from separatrix.messages import InputError
from separatrix.optimize.losses import Hinge
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import Standardizer

LOSSES = ("squares", "logistic", "hinge")

#: λ of the hinge loss, without which its minimum need not be at one place.
PENALTY = 0.01


@dataclass(frozen=True)
class Surface:
    """f(b) with its gradient, for ``separatrix.optimize.gradient_descent``."""

    z: Floats
    y: Floats
    loss: str

    def values(self, b: Floats) -> Floats:
        """f at many points (m × 2)."""
        score = self.z @ b.T
        if self.loss == "squares":
            return np.asarray(0.5 * ((self.y[:, None] - score) ** 2).mean(axis=0))
        margin = self.y[:, None] * score
        if self.loss == "logistic":
            return np.asarray(np.logaddexp(0.0, -margin).mean(axis=0))
        return np.asarray(Hinge().value(margin).mean(axis=0) + 0.5 * PENALTY * (b**2).sum(axis=1))

    def value(self, b: Floats) -> float:
        """f(b)."""
        return float(self.values(np.asarray(b)[None])[0])

    def gradient(self, b: Floats) -> Floats:
        """∇f(b); of the hinge loss, a subgradient."""
        return self.part(b, np.arange(len(self.z)))

    def part(self, b: Floats, rows: Any) -> Floats:
        """The gradient of the mean over some rows."""
        z, y = self.z[rows], self.y[rows]
        score = z @ b
        if self.loss == "squares":
            return np.asarray(z.T @ (score - y) / len(z))
        if self.loss == "logistic":
            return np.asarray(-z.T @ (y * expit(-y * score)) / len(z))
        return np.asarray(z.T @ (y * Hinge().gradient(y * score)) / len(z) + PENALTY * b)

    def hessian(self, b: Floats) -> Floats:
        """∇²f(b), where the loss has one."""
        weight = np.ones(len(self.z))
        if self.loss == "logistic":
            p = expit(self.z @ b)
            weight = p * (1 - p)
        return np.asarray((self.z.T * weight) @ self.z / len(self.z))

    def lipschitz(self) -> float:
        """L, the largest eigenvalue of the Hessian anywhere: ¼ of that of squares for logistic."""
        largest = float(np.linalg.eigvalsh(self.z.T @ self.z / len(self.z))[-1])
        return 0.25 * largest if self.loss == "logistic" else largest

    def optimum(self) -> tuple[Any, str]:
        """The estimator at the minimum, and its Python; it warns where there is none."""
        if self.loss == "squares":
            return sx.LinearRegression(fit_intercept=False), "LinearRegression(fit_intercept=False)"
        if self.loss == "logistic":
            model: Any = sx.LogisticRegression(C=np.inf, fit_intercept=False)
            return model, "LogisticRegression(C=np.inf, fit_intercept=False)"
        c = 1.0 / (PENALTY * len(self.z))
        model = sx.LinearSVC(loss="hinge", C=c, fit_intercept=False)
        return model, f"LinearSVC(loss='hinge', C={c!r}, fit_intercept=False)"

    def minimum(self) -> tuple[Floats | None, Any]:
        """b* and its certificate; None where the classes are separable, and b grows for ever."""
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            model = self.optimum()[0].fit(self.z, self.y)
        b = np.ravel(model.coef_).astype(float)
        endless = self.loss == "logistic" and bool(raised)
        return (None if endless or not np.isfinite(b).all() else b), model.certificate_


def surface(
    X: Any, y: Any, loss: str = "squares", *, intercept: bool = True, standardize: bool = True
) -> Surface:
    """The surface of a table: ``y`` is numbers for squares, and yes or no for other losses.

    Without an intercept columns are centered, and so are numbers ``y``.

    Examples
    --------
    >>> from separatrix.exploration.views.descend.surface import surface
    >>> found = surface([[0.0], [1.0], [3.0]], [1.0, 3.0, 7.0], standardize=False)
    >>> found.minimum()[0].round(6).tolist()
    [1.0, 2.0]
    """
    x, target = np.asarray(X, dtype=float), np.asarray(y)
    if target.dtype == bool and not 0 < target.sum() < len(target):
        raise InputError("all rows are on one side: a loss of classes needs both.")
    target = np.where(target, 1.0, -1.0) if target.dtype == bool else target.astype(float)
    if standardize:
        x = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
    if intercept:
        z = np.column_stack([np.ones(len(x)), x[:, 0]])
    else:
        z = x - x.mean(axis=0)
        target = target - target.mean() if loss == "squares" else target
    return Surface(np.ascontiguousarray(z), target, loss)

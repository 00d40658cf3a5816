"""Influence of single rows on a least-squares fit, from its sufficient statistics.

    h = xᵀ(XᵀX)⁻¹x,   t = r / (σ̂ √(1 − h)),   t₍ᵢ₎ = r / (σ̂₍ᵢ₎ √(1 − h)),
    DFFITS = t₍ᵢ₎ √(h/(1 − h))

A row of weight w stands for w equal rows, one of which is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import LeastSquares
from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.statistics.moments import Moments

#: Covariances of the coefficients: the classical one, and those that hold if variances differ.
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3")
#: Rows in a chunk.
CHUNK = 8192


@dataclass(frozen=True)
class FitStatistics:
    """Sufficient statistics of a least-squares fit for inference on its coefficients.

    ``inverse`` is a generalized inverse of XᵀX over (1, x) or x; ``total`` is Σ w (y − ȳ)² per
    target (about 0 where there is no intercept) and ``scatter`` Σ w (x − x̄)² per column, empty
    where the columns of the table are not those of the fit.
    """

    inverse: Floats
    identified: NDArray[np.bool_]
    rss: Floats
    total: Floats
    center: Floats
    weight: float
    parameters: int
    scatter: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_solution(
        cls, solution: LeastSquares, m: Moments, *, fit_intercept: bool
    ) -> FitStatistics:
        """From a solution and the moments of its rows."""
        about = m if fit_intercept else m.about_origin()
        return cls(
            solution.inverse,
            solution.identified,
            solution.rss,
            np.diag(about.yy).copy(),
            m.x_mean.copy(),
            m.weight,
            solution.rank + int(fit_intercept),
            np.diag(about.xx).copy(),
        )


@dataclass(frozen=True)
class Influence:
    """Influence of single rows on the fit: residuals, leverage, Cook's distance, DFFITS.

    ``as_fitted`` are rows that must still be those of the fit: they may have been changed in place.
    """

    block: Block
    coef: Floats
    intercept: float
    output: int
    statistics: FitStatistics
    sigma2: float
    as_fitted: bool = False

    @cached_property
    def fitted(self) -> Floats:
        """ŷ."""
        found = self.block.matvec(self.coef) + self.intercept
        if self.as_fitted:
            self._refuse_changed(found)
        return found

    def _refuse_changed(self, fitted: Floats) -> None:
        """Raise unless means and residual sum of squares are those of the fit."""
        e, w = self.statistics, unit_weights(self.block.w, self.block.n)
        rss = float(w @ (self.block.y[:, self.output] - fitted) ** 2)
        rounding = 1e-7 * e.rss[self.output] + 1e-10 * e.total[self.output]
        mean = self.block.rmatvec(w) / w.sum()
        scale = np.sqrt(np.maximum(e.scatter, 0.0) / e.weight) if e.scatter.size else np.abs(mean)
        moved = np.abs(mean - e.center) > 1e-9 * (scale + np.abs(e.center))
        if not abs(rss - e.rss[self.output]) <= rounding or moved.any():
            raise InputError(
                "The training rows were changed in place after the fit.",
                remedy="Call summary(X, y) with the rows of the fit, or fit again.",
            )

    @cached_property
    def residuals(self) -> Floats:
        """y − ŷ."""
        return np.asarray(self.block.y[:, self.output] - self.fitted)

    def _centered(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Chunk by chunk (rows, z, z(XᵀX)⁻¹) of the rows about the means."""
        d = self.block.x.shape[1]
        inverse = self.statistics.inverse[-d:, -d:] if d else np.zeros((0, 0))
        for start in range(0, self.block.n, CHUNK):
            z = self.block.dense(start, start + CHUNK)
            if self._with_intercept:
                z = z - self.statistics.center
            yield slice(start, start + len(z)), z, z @ inverse

    @property
    def _with_intercept(self) -> bool:
        return bool(len(self.statistics.inverse) > self.block.x.shape[1])

    @cached_property
    def single_leverage(self) -> Floats:
        """h = xᵀ(XᵀX)⁻¹x of one copy of each row, in blocks."""
        if self.as_fitted:
            assert self.fitted is not None  # rows changed in place are refused there
        h = np.empty(self.block.n)
        for rows, z, product in self._centered():
            h[rows] = np.einsum("ij,ij->i", product, z)
        return h + 1.0 / self.statistics.weight if self._with_intercept else h

    @cached_property
    def leverage(self) -> Floats:
        """Diagonal of the hat matrix: that of a row with all its copies."""
        h, w = self.single_leverage, self.block.w
        return np.clip(h if w is None else h * w, 0.0, 1.0)

    @cached_property
    def cooks_distance(self) -> Floats:
        """D = w r² h / (p σ̂² (1 − h)²)."""
        w = 1.0 if self.block.w is None else self.block.w
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = w * self.residuals**2 * self.leverage / (1.0 - self.leverage) ** 2
            return np.asarray(ratio / (self.statistics.parameters * self.sigma2))

    @cached_property
    def _left(self) -> Floats:
        """1 − h, NaN for a row that the fit goes through whatever its target."""
        left = 1.0 - np.clip(self.single_leverage, 0.0, 1.0)
        return np.where(left > 1e-12, left, np.nan)

    @cached_property
    def studentized(self) -> Floats:
        """Internally studentized residuals, r / (σ̂ √(1 − h))."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.residuals / np.sqrt(self.sigma2 * self._left))

    @cached_property
    def externally_studentized(self) -> Floats:
        """R / (σ̂₍ᵢ₎ √(1 − h)), with the σ̂ of the other rows: Student's t, one degree fewer."""
        freedom = self.statistics.weight - self.statistics.parameters
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (freedom - self.studentized**2) / (freedom - 1.0)
            return np.asarray(self.studentized / np.sqrt(np.maximum(others, 0.0)))

    @cached_property
    def dffits(self) -> Floats:
        """By how many standard errors ŷᵢ moves when row i is left out."""
        ratio = np.clip(self.single_leverage, 0.0, 1.0) / self._left
        return np.asarray(self.externally_studentized * np.sqrt(ratio))

    def robust_errors(self, covariance: str) -> Floats:
        """Standard errors that hold if the variances of the rows differ: HC0 to HC3.

        Σ w ω r² g gᵀ with g = (XᵀX)⁻¹x, and ω = 1, n/(n − p), 1/(1 − h) or 1/(1 − h)².
        """
        check_option("covariance", covariance, COVARIANCES)
        e, w = self.statistics, unit_weights(self.block.w, self.block.n)
        omega = w * self.residuals**2
        if covariance in ("HC2", "HC3"):
            omega = omega / self._left ** (1 if covariance == "HC2" else 2)
            omega = np.where(w * self.residuals**2 > 0.0, omega, 0.0)
        if covariance == "HC1":
            omega = omega * e.weight / (e.weight - e.parameters)
        total = np.zeros(len(e.inverse))
        for rows, _, g in self._centered():
            if self._with_intercept:
                g = np.column_stack([1.0 / e.weight - g @ e.center, g])
            total += omega[rows] @ g**2
        return np.asarray(np.sqrt(total))

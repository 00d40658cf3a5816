"""What every solver returns, and the proof that comes with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Certificate:
    """Evidence that an answer is right, checkable from the data without solving again.

    ``gap`` = primal − dual bounds how far the objective can be from its best value; ``kkt`` is the
    largest violation of the optimality conditions, relative to the size of their terms; both are
    judged against ``tolerance``, the gap relative to ``scale`` (the objective of a model without
    coefficients, say). ``digits`` is the number of decimal digits of the worst
    coefficient that rounding leaves to be trusted. A number that a method does not have is NaN.
    """

    claim: str
    primal: float = np.nan
    dual: float = np.nan
    gap: float = np.nan
    kkt: float = np.nan
    tolerance: float = np.nan
    scale: float = np.nan
    condition: float = np.nan
    rank: int | None = None
    digits: float = np.nan
    statistic: str = ""
    dependent: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every measured violation is within the tolerance."""
        if np.isnan(self.tolerance):
            return True
        sizes = [abs(v) for v in (self.primal, self.dual, self.scale) if np.isfinite(v)]
        gap = self.gap / max(*sizes, np.finfo(float).tiny) if sizes else self.gap
        return not (gap > self.tolerance or self.kkt > self.tolerance)

    def __str__(self) -> str:
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        said = [f"{self.claim}."]
        if not np.isnan(self.gap):
            said.append(
                f"The objective is {self.primal:.6g}; no model of this kind can be below "
                f"{self.dual:.6g} (gap {self.gap:.1e})."
            )
        if not np.isnan(self.kkt):
            said.append(f"The optimality conditions hold to {self.kkt:.1e}.")
        if not np.isnan(self.tolerance) and not self.holds:
            said.append(f"This is short of the tolerance asked for, {self.tolerance:.1e}.")
        if self.rank is not None:
            said.append(f"Rank {self.rank}.")
        if self.dependent:
            said.append(f"Combinations of other columns: {', '.join(self.dependent)}.")
        if not np.isnan(self.condition):
            said.append(f"Condition number {self.condition:.2g}.")
        if not np.isnan(self.digits):
            said.append(f"About {self.digits:.0f} digits can be trusted (from {self.statistic}).")
        return said + list(self.notes)


@dataclass(frozen=True)
class Solution:
    """Parameters with their status, certificate and history.

    ``coef`` is d x k and ``intercept`` has length k, for k targets; ``history`` holds one number
    (the objective or the gap) per iteration of an iterative method.
    """

    coef: Floats
    intercept: Floats
    certificate: Certificate
    status: str = "solved"
    iterations: int = 0
    history: Floats = field(default_factory=lambda: np.zeros(0))
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeastSquares(Solution):
    """A least-squares solution with what inference needs.

    ``rss`` holds Σ w r² per target; ``inverse`` is (XᵀX)⁻¹ over (1, x), or over x where there is no
    intercept, zero for dependent columns (a generalised inverse); ``identified`` marks coefficients
    that are unique; ``rank`` counts independent columns.
    """

    rss: Floats = field(default_factory=lambda: np.zeros(0))
    inverse: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    identified: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    rank: int = 0

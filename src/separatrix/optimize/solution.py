"""Solutions and certificates: what every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Certificate:
    """Proof of optimality that can be checked from the data without solving again.

    gap = primal − dual bounds how far the objective can be above its minimum, and ``kkt`` is the
    largest violation of the optimality conditions, relative to the size of their terms. The gap
    holds if gap ≤ tolerance · max(|primal|, |dual|) + rounding, where ``rounding`` is the error
    that rounding can leave in the objective. A squared error may truly be zero: its ``scale``, a
    size that the data alone fix and that ``scale_of`` names, then takes the place of a smaller
    objective. The words say so wherever the gap is not small relative to the objective itself.
    ``digits`` is the number of decimal digits of the worst coefficient that rounding errors leave.

    ``promised`` lists the quantities that the method guarantees. It fails closed: a promised
    quantity that is not finite does not hold. A method that promises neither states its property
    in ``claim``. A quantity that a method does not compute is NaN.
    """

    claim: str
    primal: float = np.nan
    dual: float = np.nan
    gap: float = np.nan
    kkt: float = np.nan
    tolerance: float = np.nan
    rounding: float = 0.0
    scale: float = np.nan
    scale_of: str = ""
    condition: float = np.nan
    rank: int | None = None
    digits: float = np.nan
    statistic: str = ""
    dependent: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    promised: tuple[str, ...] = ("gap", "kkt")

    @property
    def relative_gap(self) -> float:
        """The duality gap as a fraction of the largest of primal, dual and ``scale``.

        A certificate without an objective states its gap as such a fraction.
        """
        return self.gap / self._size if self.gap else self.gap

    @property
    def relative_rounding(self) -> float:
        """``rounding`` in the units of the relative gap."""
        return self.rounding / self._size

    @property
    def holds(self) -> bool:
        """Whether all that was promised is finite, and all that was measured within tolerance."""
        small = {"gap": self._gap_is_small, "kkt": self.kkt <= self.tolerance}
        measured = {"gap": self.gap, "kkt": self.kkt}
        return all(
            small[name] if name in self.promised else small[name] or np.isnan(value)
            for name, value in measured.items()
        )

    @property
    def _gap_is_small(self) -> bool:
        known = np.isfinite([self.gap, self.rounding]).all()
        return bool(known and self.gap <= self.tolerance * self._size + self.rounding)

    @property
    def _objective_size(self) -> float:
        """max(|primal|, |dual|), or 1 of a gap that is a fraction already; never zero."""
        sizes = [abs(value) for value in (self.primal, self.dual) if np.isfinite(value)]
        return max(*sizes, np.finfo(float).tiny) if sizes else 1.0

    @property
    def _size(self) -> float:
        """What the gap is compared with: the objective, or ``scale`` where that is larger."""
        return float(np.fmax(self._objective_size, self.scale))

    def __str__(self) -> str:
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        sentences = [f"{self.claim}."]
        if np.isfinite(self.gap) and np.isfinite(self.primal):
            sentences.append(
                f"Objective {self.primal:.6g}, lower bound {self.dual:.6g} "
                f"(duality gap {self.gap:.1e})."
            )
        elif np.isfinite(self.gap):
            sentences.append(f"Relative duality gap {self.gap:.1e}.")
        sentences += self._what_the_gap_is_compared_with()
        if np.isfinite(self.kkt):
            sentences.append(f"KKT residual {self.kkt:.1e}.")
        if self.promised and not self.holds:
            measured = [
                self.tolerance,
                *({"gap": self.gap, "kkt": self.kkt}[n] for n in self.promised),
            ]
            reached = f"The tolerance of {self.tolerance:.1e} was not reached."
            sentences.append(reached if np.isfinite(measured).all() else "This is not certified.")
        if self.rank is not None:
            sentences.append(f"Rank {self.rank}.")
        if self.dependent:
            sentences.append(f"Linearly dependent columns: {', '.join(self.dependent)}.")
        if np.isfinite(self.condition):
            sentences.append(f"Condition number {self.condition:.2g}.")
        if np.isfinite(self.digits):
            sentences.append(f"About {self.digits:.0f} correct digits (from {self.statistic}).")
        return sentences + list(self.notes)

    def _what_the_gap_is_compared_with(self) -> list[str]:
        """Said where the gap is not small relative to the objective itself."""
        objective, allowed = self._objective_size, self.tolerance * self._size
        if not self._gap_is_small:
            return []
        if objective <= self.rounding:
            return [f"The objective is zero up to rounding errors of {self.rounding:.1e}."]
        if self.gap <= self.tolerance * objective:
            return []
        if self.gap <= allowed:
            return [f"The gap is {self.relative_gap:.1e} of {self.scale_of}, {self.scale:.3g}."]
        return [f"The gap is within the rounding errors of the objective, {self.rounding:.1e}."]


class Status(StrEnum):
    """Why an iterative solver ended."""

    SOLVED = "solved"
    LIMIT = "limit reached"
    TIME = "time budget used up"
    ROUNDING = "rounding"
    CONVERGED = "converged"
    BOUND = "bound reached"
    STOPPED = "stopped early"
    DIVERGED = "diverged"
    OSCILLATING = "oscillating"
    SEPARABLE = "separable"
    UNBOUNDED = "no minimum: unbounded below"


@dataclass(frozen=True)
class Solution:
    """Parameters with their status, certificate and history.

    ``coef`` is d x k and ``intercept`` has length k, for k targets; ``history`` holds one number
    (the objective or the gap) per iteration of an iterative method.
    """

    coef: Floats
    intercept: Floats
    certificate: Certificate
    status: Status = Status.SOLVED
    iterations: int = 0
    history: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LeastSquares(Solution):
    """A least-squares solution with what inference needs.

    ``rss`` holds Σ w r² per target; ``inverse`` is (XᵀX)⁻¹ over (1, x), or over x where there is no
    intercept, zero for dependent columns (a generalized inverse); ``identified`` marks coefficients
    that are unique; ``rank`` counts independent columns.
    """

    rss: Floats = field(default_factory=lambda: np.zeros(0))
    inverse: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    identified: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    rank: int = 0

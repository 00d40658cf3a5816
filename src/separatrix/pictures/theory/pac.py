"""PAC learning: failures over the number of rows, beside the bound of theory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.points import BESIDE, annotate
from separatrix.pictures.style import BLUE, MUTED, ORANGE, percent_axis, style_axes

if TYPE_CHECKING:
    from separatrix.selection.theory.pac_simulation import PACSimulation


@dataclass(eq=False)
class PACDisplay(Display):
    """How often learning fails over the number of rows, beside what theory allows.

    Parameters
    ----------
    simulations : sequence of PACSimulation
        What :func:`separatrix.pac_simulation` returned, for the same ε and δ.

    See Also
    --------
    LearningCurveDisplay : The error over the number of rows of a table.
    ShatteringDisplay : What a class can tell apart.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import PACDisplay
    >>> display = PACDisplay.from_hypotheses(sx.Boxes(2), 0.1, 0.05, [30, 60, 176], repeats=200)
    >>> display.ax_.get_xlabel() if display.plot() else ""
    'rows'
    """

    simulations: Sequence[PACSimulation]

    title: ClassVar[str] = "Failures of learning"

    def __post_init__(self) -> None:
        pairs = {(one.epsilon, one.delta) for one in self.simulations}
        if len(pairs) != 1:
            raise InputError(f"The simulations have {len(pairs)} pairs of ε and δ; give one.")
        self.simulations = sorted(self.simulations, key=lambda one: one.n)

    @classmethod
    def from_hypotheses(
        cls,
        hypotheses: Any,
        epsilon: float,
        delta: float,
        sizes: Sequence[int],
        *,
        repeats: int = 1000,
        random_state: int = 0,
    ) -> Self:
        """Simulate learning a class from each number of rows."""
        from separatrix.selection.theory.pac_simulation import pac_simulation

        return cls(
            [
                pac_simulation(
                    hypotheses, epsilon, delta, n=n, repeats=repeats, random_state=random_state
                )
                for n in sizes
            ]
        )

    @property
    def description(self) -> str:
        """The first size that fails rarely enough, in the simulations and by theory."""
        first = self.simulations[0]
        rates = [one.failure_rate for one in self.simulations]
        sizes = [one.n for one in self.simulations]
        text = (
            f"Proportion of {plural(len(first.errors), 'repetition')} with an error above "
            f"{first.epsilon:g}: from {100 * rates[0]:.3g} % with {sizes[0]:,} rows to "
            f"{100 * rates[-1]:.3g} % with {sizes[-1]:,}. "
        )
        below = [n for n, rate in zip(sizes, rates, strict=True) if rate <= first.delta]
        enough = [one.n for one in self.simulations if one.bound <= first.delta]
        seen = f"from {min(below):,} rows on" if below else "at none of these sizes"
        proved = f"from {min(enough):,} on" if enough else "at none of them"
        return f"{text}It is at most δ = {first.delta:g} {seen}; theory promises that {proved}."

    def _draw(self, ax: Any) -> None:
        sizes = np.array([one.n for one in self.simulations], dtype=float)
        rates = np.array([one.failure_rate for one in self.simulations])
        ends = np.array([one.interval for one in self.simulations])
        bounds = np.array([one.bound for one in self.simulations])
        if np.isfinite(bounds).any():
            ax.plot(sizes, bounds, "s--", ms=4, color=ORANGE, label="bound of theory")
        reach = np.abs(ends - rates[:, None]).T
        ax.errorbar(sizes, rates, yerr=reach, fmt="o-", ms=4, color=BLUE, label="observed")
        delta = self.simulations[0].delta
        ax.axhline(delta, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        # with few rows both curves are far above
        annotate(ax, f"δ = {delta:g}", (0, delta), (2, 3), BESIDE, ha="left")
        ax.set_ylim(-0.03, 1.05)
        style_axes(ax)
        percent_axis(ax.yaxis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("rows")
        ax.set_ylabel(f"error above {self.simulations[0].epsilon:g}")
        ax.legend(frameon=False, fontsize=9, loc="best")

"""Shattered points: a small plot for each labeling, with its hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.hypotheses.classes.base import Labels
from separatrix.hypotheses.classes.shattering import Shattering, shatters
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.style import BLUE, GRID, ORANGE, TALL
from separatrix.pictures.theory.outlines import outlines
from separatrix.rows.block import Floats

#: Room around the points, as a part of their range, and between two plots.
MARGIN, BETWEEN = 0.28, 0.12


@dataclass(eq=False)
class ShatteringDisplay(Display):
    """Every labeling of some points, each with a consistent hypothesis; or the one without.

    Parameters
    ----------
    shattering : Shattering
        What :func:`separatrix.shatters` returned, of points in the plane or on a line.
    name : str, default="hypotheses"
        What the hypotheses are called, in the plural.
    max_shown : int, default=16
        Number of labelings drawn at most; those with about as many positive as negative points.

    Attributes
    ----------
    shown : list of int
        Numbers of the labelings drawn.

    See Also
    --------
    PACDisplay : Failures of learning over the number of rows.

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import ShatteringDisplay
    >>> display = ShatteringDisplay.from_hypotheses(sx.Boxes(2), [[0, 1], [1, 0], [0, -1], [-1, 0]])
    >>> display.description
    '4 points shattered by boxes: each of 16 labelings has a consistent one. 16 are drawn.'
    """

    shattering: Shattering
    name: str = "hypotheses"
    max_shown: int = 16

    title: ClassVar[str] = "Shattered points"

    def __post_init__(self) -> None:
        if self.shattering.points.shape[1] > 2:
            raise InputError(
                f"The points have {self.shattering.points.shape[1]} coordinates.",
                remedy="Draw points in the plane or on a line.",
            )

    @classmethod
    def from_hypotheses(cls, hypotheses: Any, points: Any, *, max_shown: int = 16) -> Self:
        """From a hypothesis class and points."""
        return cls(shatters(hypotheses, points), hypotheses.name, max_shown)

    @property
    def shown(self) -> list[int]:
        """Numbers of the labelings drawn; of those without a choice, spread evenly."""
        every = self.shattering.labelings if self.shattering.shattered else None
        if every is None:
            return [int(self._failing @ (1 << np.arange(len(self._failing))))]
        if len(every) <= self.max_shown:
            return list(range(len(every)))
        n = every.shape[1]
        balanced = np.argsort(np.abs(2 * every.sum(axis=1) - n), kind="stable")
        balanced = balanced[: max(self.max_shown, len(every) // 3)]
        spread = np.linspace(0, len(balanced) - 1, self.max_shown).round().astype(int)
        return sorted(int(i) for i in balanced[spread])

    @property
    def _failing(self) -> Labels:
        failing = self.shattering.failing
        return np.zeros(0, dtype=bool) if failing is None else failing

    @property
    def description(self) -> str:
        """How many labelings there are, or the one without a hypothesis and why."""
        found, n = self.shattering, len(self.shattering.points)
        if found.shattered:
            return (
                f"{plural(n, 'point')} shattered by {self.name}: each of {2**n} labelings has a "
                f"consistent one. {len(self.shown)} are drawn."
            )
        signs = " ".join("+" if y else "−" for y in self._failing)
        text = (
            f"{plural(n, 'point')} not shattered by {self.name}: none is consistent with {signs}."
        )
        return f"{text} {found.reason}".rstrip()

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the plots need."""
        columns, rows = self._grid
        return TALL[0], max(1.2, 0.3 + (TALL[0] - 0.3) * rows / columns * self._aspect)

    @property
    def _grid(self) -> tuple[int, int]:
        count = len(self.shown)
        columns = max(2, int(np.ceil(np.sqrt(count))))
        return columns, -(-count // columns)

    @property
    def _aspect(self) -> float:
        return 1.0 if self.shattering.points.shape[1] > 1 else 0.35

    def _draw(self, ax: Any) -> None:
        from matplotlib.lines import Line2D

        found, (columns, _) = self.shattering, self._grid
        low, high = self._window()
        unit = high - low
        scale = np.array([1.0, self._aspect]) * (1.0 - BETWEEN)
        curves, sides = [], ([], [])  # type: tuple[list[Floats], tuple[list[Floats], list[Floats]]]
        for k, number in enumerate(self.shown):
            origin = np.array([k % columns, -(k // columns) * self._aspect])

            def placed(x: Floats, at: Floats = origin) -> Floats:
                return np.asarray(at + scale * ((x - low[:2]) / unit))

            labels = (number >> np.arange(len(found.points))) & 1 == 1
            points = self._flat(found.points)
            sides[0].append(placed(points[labels]))
            sides[1].append(placed(points[~labels]))
            if found.shattered:
                window = (low[: found.points.shape[1]], high[: found.points.shape[1]])
                for curve in outlines(found.hypotheses[number], window):
                    if len(curve):
                        curves.append(placed(np.asarray(curve)))
            _frame(ax, placed(np.array([low, high])))
        _fill(ax, curves)
        for points, color, marker in (
            (np.vstack(sides[0]), BLUE, "o"),
            (np.vstack(sides[1]), ORANGE, "s"),
        ):
            (dots,) = ax.plot(points[:, 0], points[:, 1], marker, ms=3.2, mew=0, color=color)
            dots.set_gid(f"dots-3.2{marker}")
        handles = [
            Line2D([], [], marker=m, color=c, linestyle="none", ms=4, label=text)
            for c, m, text in ((BLUE, "o", "positive"), (ORANGE, "s", "negative"))
        ]
        ax.legend(
            handles=handles, frameon=False, fontsize=9, ncols=2, loc="lower left",
            bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1,
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.set_axis_off()

    def _flat(self, points: Floats) -> Floats:
        return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])

    def _window(self) -> tuple[Floats, Floats]:
        points = self._flat(self.shattering.points)
        low, high = points.min(axis=0), points.max(axis=0)
        width = float((high - low).max()) or 1.0
        middle, half = (low + high) / 2, (0.5 + MARGIN) * width
        tall = half if self._aspect == 1.0 else 0.35 * half
        reach = np.array([half, tall])
        return middle - reach, middle + reach


def _frame(ax: Any, ends: Floats) -> None:
    (a, b), (c, d) = ends
    ax.plot([a, c, c, a, a], [b, b, d, d, b], color=GRID, linewidth=0.8, zorder=0)


def _fill(ax: Any, curves: list[Floats]) -> None:
    """All outlines as one path: few nodes in the SVG."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not curves:
        return
    closed = [np.vstack([curve, curve[:1]]) for curve in curves]
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(curve) - 2), Path.CLOSEPOLY] for curve in closed]
    path = Path(np.vstack(closed), [code for part in codes for code in part])
    ax.add_patch(PathPatch(path, facecolor=BLUE, edgecolor=BLUE, alpha=0.22, linewidth=1.0))

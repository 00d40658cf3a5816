"""Criteria of complexity along a path: a curve for each, and the point that it chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number
from separatrix.pictures.style import BLUE, GRID, MUTED, ORANGE, label_text, log_axis, style_axes
from separatrix.rows.block import Floats
from separatrix.selection.criteria.table import CriteriaTable, Criterion

#: Points from which numbers are placed on a logarithmic axis, and of which labels are written.
MANY, LABELS = 13, 8
#: Height of a curve in the distance between two lines; values beyond this quantile are cut off.
HEIGHT, HIGHEST = 0.72, 0.75


@dataclass(eq=False)
class CriteriaDisplay(Display):
    """Criteria of complexity along a path, one line each, with the choice of each.

    Every curve is drawn in its own units between its best value, at the bottom of its line, and
    its larger values. Criteria that do not apply are left out.

    Parameters
    ----------
    table : CriteriaTable
        What :func:`separatrix.criteria` returned.

    Attributes
    ----------
    shown : list of Criterion
        Those that apply, in the order of the table.

    See Also
    --------
    ValidationCurveDisplay : Cross-validated error over the penalty.
    LearningSurfaceDisplay : Error over complexity and number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import CriteriaDisplay
    >>> x = np.random.default_rng(0).standard_normal((60, 5))
    >>> table = sx.criteria(sx.LassoPath([0.5, 0.1, 0.02]).fit(x, x[:, 0] + x[:, 1] ** 3))
    >>> [criterion.name for criterion in CriteriaDisplay(table).shown]
    ['AIC', 'AICc', 'BIC', 'MDL', 'structural risk']
    """

    table: CriteriaTable

    title: ClassVar[str] = "Choosing complexity"

    @classmethod
    def from_path(cls, path: Any, X: Any = None, y: Any = None, **options: Any) -> Self:
        """Compute the criteria of a fitted path, or of a list of models, and show them."""
        from separatrix.selection.criteria.criteria import criteria

        return cls(criteria(path, X, y, **options))

    @property
    def shown(self) -> list[Criterion]:
        """The criteria that apply."""
        return [c for c in self.table.criteria if c.chosen is not None]

    @property
    def size(self) -> tuple[float, float]:
        """Height by the number of criteria."""
        return self.figure_size[0], max(2.2, 0.9 + 0.36 * len(self.shown))

    @property
    def description(self) -> str:
        """What each criterion chooses, and which do not apply."""
        f = self.table.figures
        groups: dict[str, list[str]] = {}
        for c in self.shown:
            assert c.chosen is not None
            groups.setdefault(_text(f.values[c.chosen]), []).append(c.name)
        parts = [f"{f.parameter} {value} by {join_words(names)}" for value, names in groups.items()]
        text = f"Chosen among {len(f.values)} models: {'; '.join(parts)}."
        absent = [c.name for c in self.table.criteria if c.chosen is None]
        return f"{text} Not applicable: {join_words(absent)}." if absent else text

    def _draw(self, ax: Any) -> None:
        x, order = self._positions(ax)
        names = []
        for line, c in enumerate(reversed(self.shown)):
            assert c.chosen is not None
            names.append(c.name)
            ax.axhline(line, color=GRID, linewidth=0.7, zorder=0)
            height = np.full(len(x), np.nan) if c.values is None else _scaled(c)
            ax.plot(x[order], line + height[order], color=BLUE, linewidth=1.3)
            at = line + (0.0 if c.values is None else float(height[c.chosen]))
            ax.plot([x[c.chosen]], [at], "o", ms=5.5, color=ORANGE, zorder=3)
        style_axes(ax, grid=None)
        ax.spines["left"].set_visible(False)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(axis="y", labelcolor=MUTED)
        ax.set_ylim(-0.3, len(names) - 0.2)

    def _positions(self, ax: Any) -> tuple[Floats, Any]:
        """Where the points are on the axis, the simplest at the left; and their order."""
        f = self.table.figures
        order = np.argsort(-f.simplicity, kind="stable")
        values = f.values
        if len(values) >= MANY and all(isinstance(v, float) and v > 0.0 for v in values):
            x = np.array(values)
            log_axis(ax)
            if x[order[0]] > x[order[-1]]:
                ax.invert_xaxis()
        else:
            x = np.empty(len(values))
            x[order] = np.arange(len(values))
            some = np.unique(np.linspace(0, len(x) - 1, min(len(x), LABELS)).round().astype(int))
            ax.set_xticks(some, [label_text(_text(values[order[i]]), 14) for i in some])
            ax.set_xlim(-0.4, len(x) - 0.6)
        ax.set_xlabel(f"{f.parameter} (simple to complex)")
        return x, order


def _scaled(criterion: Criterion) -> Floats:
    """Values between 0, the best, and the height of a line, where larger ones are cut off."""
    assert criterion.values is not None
    values = -criterion.values if criterion.name == "evidence" else criterion.values
    values = np.where(np.isfinite(values), values, np.nan)
    low = float(np.nanmin(values))
    top = float(np.nanquantile(values, HIGHEST))
    top = top if top > low else float(np.nanmax(values))
    span = (top - low) or 1.0
    found = (values - low) / span
    return np.asarray(HEIGHT * np.minimum(found, 1.0))


def _text(value: Any) -> str:
    return number(value, 3) if isinstance(value, float) else str(value)

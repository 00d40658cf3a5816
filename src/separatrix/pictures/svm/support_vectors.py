"""A machine of two classes on a plane: the boundary f = 0, the margins f = ±1, support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.discriminant_plane import discriminant_plane
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted
from separatrix.pictures.scatter import MANY, scatter
from separatrix.pictures.style import SERIES, ink, plain, style_axes
from separatrix.rows.block import Floats

#: Places of the grid, across and up.
GRID = (80, 60)


@dataclass(eq=False)
class SupportVectorDisplay(Display):
    """``dots`` (n x 2) with class codes ``y``; ``score[i, j]`` is f at (across[j], up[i]).

    ``support`` marks the rows that are ringed. ``projected`` says that the plane is one of many
    dimensions: f is that of the plane itself, and rows may lie on another side than their dots.
    """

    dots: Floats
    y: NDArray[np.intp]
    labels: Sequence[str]
    across: Floats
    up: Floats
    score: Floats
    support: NDArray[np.bool_]
    names: tuple[str, str] = ("x0", "x1")
    projected: bool = False
    many: int = MANY

    title: ClassVar[str] = "Support vectors and margins"

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, names: Any = None) -> Self:
        """Of a fitted machine of two classes and the rows that it was fitted to.

        Two columns are drawn as they are. Of more, the plane that tells the classes apart is drawn,
        all other directions at their means.
        """
        x, classes = np.asarray(X, dtype=float), [str(c) for c in model.classes_]
        if len(classes) != 2:
            raise InputError(f"Margins have two sides; the model has {len(classes)} classes.")
        codes = np.array([classes.index(str(v)) for v in y], dtype=np.intp)
        support = np.zeros(len(x), dtype=bool)
        support[np.asarray(model.support_)] = True
        known = names if names is not None else getattr(X, "columns", None)
        columns = tuple(f"x{j}" for j in range(x.shape[1])) if known is None else tuple(known)

        def score(rows: Floats) -> Floats:
            given = type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows
            return np.asarray(model.decision_function(given), dtype=float)

        if x.shape[1] == 2:
            across, up = _window(x)
            grid = score(_grid(across, up)).reshape(len(up), len(across))
            named = (str(columns[0]), str(columns[1]))
            return cls(x, codes, classes, across, up, grid, support, named)
        plane = discriminant_plane(x, codes, names=tuple(str(c) for c in columns))
        dots = plane.transform(x)
        across, up = _window(dots)
        grid = score(plane.inverse_transform(_grid(across, up))).reshape(len(up), len(across))
        first, second = (f"mostly {', '.join(plane.top_columns(i))}" for i in (0, 1))
        return cls(dots, codes, classes, across, up, grid, support, (first, second), True)

    @property
    def description(self) -> str:
        """How many rows are support vectors, by class, and what the plane is."""
        told = [
            f"{int(self.support[self.y == k].sum()):,} of {int((self.y == k).sum()):,} of {label}"
            for k, label in enumerate(self.labels)
        ]
        text = (
            f"{counted(int(self.support.sum()), 'support vector')} of "
            f"{counted(len(self.dots), 'row')}, ringed: {told[0]}, {told[1]}. The solid line is "
            "the boundary f = 0, the dashed ones are the margins f = ±1."
        )
        if self.projected:
            text += (
                " A projection on the plane that tells the classes apart, all other directions at "
                "their means: a row may lie elsewhere than its dot."
            )
        return text

    @property
    def size(self) -> tuple[float, float]:
        """A little taller than other pictures."""
        return 4.9, 3.9

    def _draw(self, ax: Any) -> None:
        lines = {"colors": [ink(ax)], "linewidths": 1.2}
        low, high = float(self.score.min()), float(self.score.max())
        for colour, span in ((SERIES[0], (low - 1.0, 0.0)), (SERIES[1], (0.0, high + 1.0))):
            if span[0] < span[1]:
                area = {"colors": [colour], "alpha": 0.1}
                ax.contourf(self.across, self.up, self.score, levels=span, **area)
        for level, style in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
            if low < level < high:
                ax.contour(
                    self.across, self.up, self.score, levels=[level], linestyles=style, **lines
                )
        many = 0 if len(self.dots) > self.many else self.many
        for k, label in enumerate(self.labels):
            own = self.dots[self.y == k]
            if len(own):
                scatter(ax, own[:, 0], own[:, 1], many=many, color=SERIES[k], clouds=2)
                ax.plot([], [], "o", ms=5, color=SERIES[k], label=plain(label, 18))
        self._rings(ax)
        ax.set_xlim(self.across[0], self.across[-1])
        ax.set_ylim(self.up[0], self.up[-1])
        style_axes(ax, grid=None)
        ax.set_xlabel(plain(self.names[0], 44))
        ax.set_ylabel(plain(self.names[1], 36))
        ax.legend(frameon=True, fancybox=False, fontsize=8.5, loc="best", **_PALE)

    def _rings(self, ax: Any) -> None:
        """A ring around each support vector, while they can be told apart."""
        at = self.dots[self.support]
        if not len(at) or len(self.dots) > self.many or len(at) > 500:
            return
        look = {"mfc": "none", "mec": ink(ax), "mew": 0.7, "linestyle": "none"}
        ax.plot(at[:, 0], at[:, 1], "o", ms=6.5, label="support vectors", **look)


_PALE: dict[str, Any] = {"facecolor": "none", "edgecolor": "none"}


def _window(dots: Floats) -> tuple[Floats, Floats]:
    low, high = dots.min(axis=0), dots.max(axis=0)
    pad = 0.06 * (high - low) + 1e-9
    return (
        np.linspace(low[0] - pad[0], high[0] + pad[0], GRID[0]),
        np.linspace(low[1] - pad[1], high[1] + pad[1], GRID[1]),
    )


def _grid(across: Floats, up: Floats) -> Floats:
    return np.asarray(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))

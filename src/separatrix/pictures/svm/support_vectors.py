"""Decision function of a binary classifier on a plane: f = 0, f = ±1, support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.inputs import column_names, like
from separatrix.pictures.points import MAX_POINTS, scatter
from separatrix.pictures.regions import draw_contour, fill_regions
from separatrix.pictures.style import SERIES, TALL, label_text, style_axes, text_color
from separatrix.probability.decision_surface import (
    DecisionFunctionSurface,
    decision_function_surface,
)
from separatrix.rows.block import Floats

#: More support vectors than this are not ringed one by one.
_MAX_RINGS = 500


@dataclass(eq=False)
class SupportVectorDisplay(Display):
    """Decision boundary f = 0, margins f = ±1 and support vectors on a plane.

    Parameters
    ----------
    surface : DecisionFunctionSurface
        Values of the decision function on a grid, and the rows on the same plane.
    y : ndarray of int, shape (n,)
        Class of each row: 0 or 1.
    labels : sequence of str
        Names of the two classes.
    support : ndarray of bool, shape (n,)
        Rows that are support vectors.
    max_points : int, default=5000
        Above so many points their density is drawn.

    See Also
    --------
    DualCoefficientDisplay : Dual coefficients by class.
    MarginDisplay : Histogram of the margins.
    SVMPathDisplay : Support vectors and score over C.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import SupportVectorDisplay
    >>> X = np.array([[0., 0.], [0., 1.], [2., 0.], [3., 1.]])
    >>> model = sx.SVC(C=10.0, kernel="linear").fit(X, [0, 0, 1, 1])
    >>> display = SupportVectorDisplay.from_estimator(model, X, [0, 0, 1, 1])
    >>> display.surface.values.shape, display.surface.projected
    ((60, 80), False)
    """

    surface: DecisionFunctionSurface
    y: NDArray[np.intp]
    labels: Sequence[str]
    support: NDArray[np.bool_]
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Support vectors and margins"
    figure_size: ClassVar[tuple[float, float]] = TALL

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, names: Sequence[object] | None = None
    ) -> Self:
        """From a fitted binary SVM (``support_``) and its training rows.

        Two columns are drawn as they are; of more, the plane of the discriminant direction and the
        largest remaining variance, all other directions at their means.
        """
        x, classes = np.asarray(X, dtype=float), [str(c) for c in model.classes_]
        if len(classes) != 2:
            raise InputError(f"Margins are for two classes; the model has {len(classes)} classes.")
        codes = np.array([classes.index(str(v)) for v in y], dtype=np.intp)
        support = np.zeros(len(x), dtype=bool)
        support[np.asarray(model.support_)] = True

        def decision_function(rows: Floats) -> Floats:
            return np.asarray(model.decision_function(like(X, rows)), dtype=float)

        columns = column_names(X, names)
        surface = decision_function_surface(x, codes, decision_function, names=columns)
        return cls(surface, codes, classes, support)

    @property
    def description(self) -> str:
        """The number of support vectors, by class, and what the plane is."""
        own = [
            f"{int(self.support[self.y == k].sum()):,} of {int((self.y == k).sum()):,} of {label}"
            for k, label in enumerate(self.labels)
        ]
        text = (
            f"{plural(int(self.support.sum()), 'support vector')} of "
            f"{plural(len(self.y), 'row')}, ringed: {own[0]}, {own[1]}. The solid line is the "
            "decision boundary f = 0, the dashed lines are the margins f = ±1."
        )
        if self.surface.projected:
            text += (
                " A projection on the discriminant direction and the largest remaining variance; "
                "f is evaluated on this plane, all other directions at their means."
            )
        return text

    def _draw(self, ax: Any) -> None:
        at, f = self.surface, self.surface.values
        fill_regions(ax, at.x, at.y, np.stack([-f, f], axis=2), SERIES[:2], (0.1, 0.1))
        for level, style in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
            draw_contour(ax, at.x, at.y, f, level, style)
        limit = 0 if len(at.points) > self.max_points else self.max_points
        for k, label in enumerate(self.labels):
            own = at.points[self.y == k]
            if len(own):
                scatter(ax, own[:, 0], own[:, 1], max_points=limit, color=SERIES[k], groups=2)
                ax.plot([], [], "o", ms=5, color=SERIES[k], label=label_text(label, 18))
        self._rings(ax)
        ax.set_xlim(at.x[0], at.x[-1])
        ax.set_ylim(at.y[0], at.y[-1])
        style_axes(ax, grid=None)
        ax.set_xlabel(label_text(at.names[0], 44))
        ax.set_ylabel(label_text(at.names[1], 36))
        look = {"facecolor": "none", "edgecolor": "none", "fontsize": 8.5}
        ax.legend(frameon=True, fancybox=False, loc="best", **look)

    def _rings(self, ax: Any) -> None:
        """A ring around each support vector, unless there are too many."""
        points = self.surface.points
        at = points[self.support]
        if not len(at) or len(points) > self.max_points or len(at) > _MAX_RINGS:
            return
        look = {"mfc": "none", "mec": text_color(ax), "mew": 0.7, "linestyle": "none"}
        ax.plot(at[:, 0], at[:, 1], "o", ms=6.5, label="support vectors", **look)

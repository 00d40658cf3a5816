"""Boxes of a version space over two columns: most specific, average, common to the most general."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.inputs import column_names, labeled_rows, require_fitted
from separatrix.pictures.points import MAX_POINTS, scatter
from separatrix.pictures.style import TALL, group_style, label_text, style_axes
from separatrix.rows.block import Floats, Ints

#: Part of the range of a column that is drawn beyond its rows, where unbounded boxes end.
BEYOND = 0.08


@dataclass(eq=False)
class VersionSpaceDisplay(Display):
    """Rows and boxes of each class over two columns.

    The most specific box is filled, the average is a solid line, and the box common to all most
    general ones a dashed line. Of more than two columns the boxes are projections.

    Parameters
    ----------
    x : array-like of shape (n, 2)
        The rows.
    codes : array-like of shape (n,)
        Their classes, as positions in ``classes``.
    classes : sequence of str
        Names of the classes.
    boxes : mapping of str to array-like of shape (3, 2, 2)
        For each class with a box: the most specific one, the average and the common one; of each
        the lower and the upper faces in the two columns, which may be infinite.
    columns : sequence of str, default=("x0", "x1")
        Names of the two columns.
    n_columns : int, default=2
        Columns of the table.

    See Also
    --------
    ActiveCurveDisplay : Errors over the number of labels.
    DecisionBoundaryDisplay : Decision regions of any classifier.

    References
    ----------
    T. M. Mitchell, Generalization as search, Artificial Intelligence 18, 1982.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import VersionSpaceDisplay
    >>> X = [[1.0, 1.0], [2.0, 3.0], [6.0, 2.0], [8.0, 3.0]]
    >>> model = sx.BoxClassifier().fit(X, ["a", "a", "b", "b"])
    >>> VersionSpaceDisplay.from_estimator(model, X, ["a", "a", "b", "b"]).plot().ax_.get_xlabel()
    'x0'
    """

    x: Floats
    codes: Ints
    classes: Sequence[str]
    boxes: dict[str, Floats]
    columns: Sequence[str] = ("x0", "x1")
    n_columns: int = 2

    title: ClassVar[str] = "Version space of boxes"
    figure_size: ClassVar[tuple[float, float]] = TALL

    def __post_init__(self) -> None:
        self.x = np.asarray(self.x, dtype=float)
        self.codes = np.asarray(self.codes)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, columns: tuple[int, int] | None = None
    ) -> Self:
        """From a fitted :class:`~separatrix.BoxClassifier`, rows of numbers and their labels.

        ``columns`` are positions of two columns; None takes those in which most boxes end.
        """
        require_fitted(model, "spaces_", problem="The version space is that of a fitted model.")
        x, labels = labeled_rows(X, y)
        if x.shape[1] < 2:
            raise InputError("Boxes are drawn over two columns, and the rows have one.")
        if any(isinstance(space, list) for space in model.spaces_):
            raise InputError("A union of boxes has several version spaces for a class.")
        kinds = [(s.specific, s.average, s.common) for s in model.spaces_]
        if columns is None:
            ends = sum(np.isfinite([b.lower, b.upper]).sum(axis=0) for _, b, _ in kinds)
            chosen = np.sort(np.argsort(-np.asarray(ends), kind="stable")[:2])
        else:
            chosen = np.asarray(columns)
        names = column_names(X)
        return cls(
            x[:, chosen],
            np.searchsorted(model.classes_, labels),
            [str(label) for label in model.classes_],
            {
                str(label): np.array([[b.lower[chosen], b.upper[chosen]] for b in kind])
                for label, kind in zip(model.concepts_, kinds, strict=True)
            },
            [names[i] for i in chosen],
            x.shape[1],
        )

    @property
    def description(self) -> str:
        """How many rows are in how many boxes of their class, in these two columns."""
        inside = []
        for label, (specific, _, common) in self.boxes.items():
            own = self.codes == list(self.classes).index(label)
            ends = int(np.isfinite(common).sum())
            within = ((self.x[own] >= specific[0]) & (self.x[own] <= specific[1])).all(axis=1)
            inside.append(
                f"{label}: {int(within.sum()):,} of {plural(int(own.sum()), 'row')} in its most "
                f"specific box, the most general ones bounded on {ends} of 4 sides"
            )
        projected = "" if self.n_columns == 2 else f" Projections from {self.n_columns} columns."
        return f"{'; '.join(inside)}.{projected}"

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        low, high = self.x.min(axis=0), self.x.max(axis=0)
        room = BEYOND * np.where(high > low, high - low, 1.0)
        low, high = low - room, high + room
        for code, label in enumerate(self.classes):
            color, marker = group_style(code)
            own = self.x[self.codes == code]
            scatter(ax, own[:, 0], own[:, 1], color=color, marker=marker, max_points=MAX_POINTS)
            ax.plot([], [], marker, ms=5, color=color, label=label_text(label))
            for faces, style in zip(self.boxes.get(label, ()), _STYLES, strict=False):
                if (faces[0] > faces[1]).any():
                    continue
                at, to = np.maximum(faces[0], low), np.minimum(faces[1], high)
                fill = {"facecolor": color, "alpha": 0.16, "linewidth": 0}
                line = {"fill": False, "edgecolor": color, "linewidth": 1.3, "linestyle": style}
                ax.add_patch(Rectangle(tuple(at), *(to - at), **(line if style else fill)))
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        style_axes(ax)
        ax.set_xlabel(label_text(self.columns[0]))
        ax.set_ylabel(label_text(self.columns[1]))
        ax.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip


#: Lines of the most specific box (none: filled), the average and the common one.
_STYLES: tuple[Any, ...] = ("", "-", (0, (4, 3)))

"""Decision boundary of a classifier on the plane of the first two discriminant directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural
from separatrix.pictures.inputs import column_names, like
from separatrix.pictures.points import MAX_POINTS, scatter
from separatrix.pictures.regions import advantage_of, draw_contour, fill_regions, refined
from separatrix.pictures.style import MUTED, PAPER, SERIES, TALL, label_text, style_axes, text_color
from separatrix.probability.decision_surface import DecisionSurface, decision_surface, utilities
from separatrix.rows.block import Floats

#: More misclassified rows than this are not marked one by one.
MAX_CROSSES = 400

#: Probability of a bivariate normal within one and two standard deviations.
_ONE, _TWO = 1 - np.exp(-0.5), 1 - np.exp(-2.0)


@dataclass(eq=False)
class DecisionBoundaryDisplay(Display):
    """Decision regions, rows and classes on the plane of two discriminant directions.

    A projection: points are rows, ellipses the classes at one and two standard deviations. Regions
    are the predictions on the plane itself, all other directions at their means.

    Parameters
    ----------
    decision_surface : DecisionSurface
        The plane, the utility of each answer on a grid of it, and the projected rows.
    max_points : int, default=5000
        Above so many points their density is drawn.

    Attributes
    ----------
    wrong : ndarray of bool
        Points whose row is misclassified; a rejected row is not.
    outside : int
        Number of points outside the window.

    See Also
    --------
    SupportVectorDisplay : Decision function, margins and support vectors of two classes.
    ConfusionMatrixDisplay : Counts of true against predicted classes.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import DecisionBoundaryDisplay
    >>> X = np.array([[0., 0.], [1., 0.], [0., 2.], [4., 4.], [5., 4.], [4., 6.]])
    >>> model = sx.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    >>> display = DecisionBoundaryDisplay.from_estimator(model, X, [0, 0, 0, 1, 1, 1])
    >>> int(display.wrong.sum()), display.decision_surface.classes
    (0, ('0', '1'))
    """

    decision_surface: DecisionSurface
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Decision boundary, projected"
    figure_size: ClassVar[tuple[float, float]] = TALL

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, max_points: int = MAX_POINTS) -> Self:
        """From a fitted classifier and numeric rows, which also determine the plane."""
        x = np.asarray(X, dtype=float)
        classes = tuple(str(c) for c in model.classes_)
        code = {label: i for i, label in enumerate(classes)}
        truth, predicted = (
            np.array([code.get(str(v), len(classes)) for v in labels], dtype=np.intp)
            for labels in (y, model.predict(X))
        )
        known = truth < len(classes)
        surface = decision_surface(
            (x[known], truth[known], None),
            (x, truth),
            lambda values: utilities(model, like(X, values)),
            predicted,
            classes,
            names=column_names(X),
        )
        return cls(surface, max_points)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Points whose row is misclassified; a rejected row is not."""
        surface = self.decision_surface
        answered = surface.called < len(surface.classes)
        return np.asarray(answered & (surface.called != surface.truth))

    @property
    def description(self) -> str:
        """The caption, after what the axes are."""
        return f"A projection: {self._axes_in_words()}. {self.caption}"

    @property
    def caption(self) -> str:
        """What is fixed, how faithful the projection is, and the errors."""
        surface = self.decision_surface
        fixed = "all other directions are at their means"
        if surface.fixed:
            more = f" and {len(surface.fixed) - 3} more" if len(surface.fixed) > 3 else ""
            fixed += f", and {', '.join(surface.fixed[:3])}{more}"
        text = (
            f"Regions are the predictions of the model on "
            f"this plane, where {fixed}; ellipses show each class at one and two standard "
            "deviations. "
        )
        if len(surface.dots):
            wrong = int(self.wrong.sum())
            crossed = " (crossed)" if wrong <= MAX_CROSSES else ""
            text += (
                f"They agree with the prediction of the whole row for "
                f"{100 * surface.agreement:.0f} % of {plural(len(surface.dots), 'point')}; "
            )
            text += f"{wrong:,} are misclassified{crossed}." if wrong else "none is misclassified."
        if surface.rejects:
            text += f" Rejected (grey): {100 * surface.rejected:.0f} %."
        if self.outside:
            text += f" {plural(self.outside, 'point')} outside the window."
        return text

    @property
    def outside(self) -> int:
        """Number of points outside the window."""
        return int((~self._inside).sum())

    @property
    def _inside(self) -> NDArray[np.bool_]:
        surface = self.decision_surface
        low, high = (np.array([surface.x[i], surface.y[i]]) for i in (0, -1))
        return np.asarray(((surface.dots >= low) & (surface.dots <= high)).all(axis=1))

    def _axes_in_words(self) -> str:
        plane = self.decision_surface.plane
        first, second = (
            join_words([label_text(name, 20) for name in plane.top_columns(i)]) or "nothing"
            for i in (0, 1)
        )
        if plane.n_discriminant == 2:
            return (
                f"the first two discriminant directions, mostly {first} (horizontal) and {second} "
                "(vertical)"
            )
        if plane.n_discriminant == 1:
            return (
                f"horizontal, the discriminant direction (mostly {first}); vertical, the largest "
                f"remaining variance (mostly {second})"
            )
        return (
            "the class means coincide, so these are the two directions of largest variance, "
            f"mostly {first} (horizontal) and {second} (vertical)"
        )

    def _draw(self, ax: Any) -> None:
        surface = self.decision_surface
        self._regions(ax)
        for i in range(len(surface.classes)):
            self._class(ax, i)
        self._crosses(ax)
        self._class_names(ax)
        ax.set_xlim(surface.x[0], surface.x[-1])
        ax.set_ylim(surface.y[0], surface.y[-1])
        style_axes(ax, grid=None)
        kinds = ["discriminant"] * surface.plane.n_discriminant + ["variance"] * 2
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 13))):
            columns = ", ".join(label_text(name, limit) for name in surface.plane.top_columns(i))
            axis.set_label_text(f"{kinds[i]} {i + 1}: mostly {columns}")

    def _regions(self, ax: Any) -> None:
        surface = self.decision_surface
        k, utility = len(surface.classes), np.asarray(surface.utility, dtype=float)
        answers = utility.shape[2]
        colors = [SERIES[a % len(SERIES)] if a < k else MUTED for a in range(answers)]
        alphas = [0.1 if a < k else 0.28 for a in range(answers)]
        fill_regions(ax, surface.x, surface.y, utility, colors, alphas)
        x, y, fine = refined(surface.x, surface.y, utility)
        for a in range(1 if answers == 2 else 0, answers):  # two answers share one contour
            if advantage_of(utility, a).max() > 0:
                draw_contour(ax, x, y, advantage_of(fine, a))

    def _class(self, ax: Any, i: int) -> None:
        surface, color = self.decision_surface, SERIES[i % len(SERIES)]
        own = np.asarray(surface.dots[(surface.truth == i) & self._inside], dtype=float)
        dense = len(surface.dots) > self.max_points
        if len(own):
            limit, groups = 0 if dense else len(own), len(surface.classes)
            scatter(ax, own[:, 0], own[:, 1], max_points=limit, color=color, groups=groups)
        normal = surface.normals[i]
        if normal is None:
            return
        # An ellipse in the color of a density plot would not be visible on it.
        stroke = text_color(ax) if dense else color
        for probability, style in ((_ONE, "-"), (_TWO, (0, (4, 2)))):
            line = normal.ellipse(probability=probability, n_points=72)
            ax.plot(line[:, 0], line[:, 1], color=stroke, linewidth=1.2, linestyle=style)

    def _crosses(self, ax: Any) -> None:
        """All misclassified points, as one line of small crosses."""
        surface = self.decision_surface
        at = np.asarray(surface.dots[self.wrong], dtype=float)
        if not 0 < len(at) <= MAX_CROSSES:
            return
        arm = 0.009 * np.array([np.ptp(surface.x), np.ptp(surface.y) * 4.9 / 3.9])
        pen_up = np.array([np.nan, np.nan])
        strokes = np.array([arm, -arm, pen_up, arm * [1, -1], arm * [-1, 1], pen_up])
        line: Floats = (at[:, None, :] + strokes).reshape(-1, 2)
        ax.plot(line[:, 0], line[:, 1], color=text_color(ax), linewidth=0.9)

    def _class_names(self, ax: Any) -> None:
        """The name of each class at its mean."""
        surface = self.decision_surface
        for i, (label, normal) in enumerate(zip(surface.classes, surface.normals, strict=True)):
            if normal is None:
                continue
            ax.annotate(
                label_text(label, 16),
                normal.mean,
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                color=SERIES[i % len(SERIES)],
                bbox={"boxstyle": "round,pad=0.2", "fc": PAPER, "ec": "none", "alpha": 0.8},
            )

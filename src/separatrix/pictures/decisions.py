"""Decisions of classifiers: boundaries, confusions, risk and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import exact, join_words, plural, score_info, score_text
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, like
from separatrix.probability.costs import Costs, costs_of
from separatrix.probability.decision_surface import DecisionSurface, decision_surface, utilities
from separatrix.probability.roc import CoverageRisk, coverage_risk
from separatrix.rows.schema import unit_weights

# -------------------------------------------------------------------------------------------------
# Decision boundary of a classifier on the plane of the first two discriminant directions.


#: More cells are too small to be seen, and more crosses hide one another.
MAX_MARKS = 400


@describe_parameters
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
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Decision boundary, projected"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, max_points: int = marks.MAX_POINTS
    ) -> Self:
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
            crossed = " (crossed)" if wrong <= MAX_MARKS else ""
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
            join_words([style.label_text(name, 20) for name in plane.top_columns(i)]) or "nothing"
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
        style.style_axes(ax, grid=None)
        kinds = ["discriminant"] * surface.plane.n_discriminant + ["variance"] * 2
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 13))):
            columns = ", ".join(
                style.label_text(name, limit) for name in surface.plane.top_columns(i)
            )
            axis.set_label_text(f"{kinds[i]} {i + 1}: mostly {columns}")

    def _regions(self, ax: Any) -> None:
        surface = self.decision_surface
        k, utility = len(surface.classes), np.asarray(surface.utility, dtype=float)
        answers = utility.shape[2]
        colors = [
            style.SERIES[a % len(style.SERIES)] if a < k else style.MUTED for a in range(answers)
        ]
        alphas = [0.1 if a < k else 0.28 for a in range(answers)]
        fill_regions(ax, surface.x, surface.y, utility, colors, alphas)
        x, y, fine = refine_breaks(surface.x, surface.y, utility)
        for a in range(1 if answers == 2 else 0, answers):  # two answers share one contour
            if advantage_of(utility, a).max() > 0:
                draw_contour(ax, x, y, advantage_of(fine, a))

    def _class(self, ax: Any, i: int) -> None:
        surface, color = self.decision_surface, style.SERIES[i % len(style.SERIES)]
        dots = np.asarray(surface.dots[(surface.truth == i) & self._inside], dtype=float)
        dense = len(surface.dots) > self.max_points
        if len(dots):
            limit, groups = 0 if dense else len(dots), len(surface.classes)
            marks.scatter(ax, dots[:, 0], dots[:, 1], max_points=limit, color=color, groups=groups)
        normal = surface.normals[i]
        if normal is None:
            return
        # An ellipse in the color of a density plot would not be visible on it.
        stroke = style.text_color(ax) if dense else color
        for deviations, dashes in ((1.0, "-"), (2.0, (0, (4, 2)))):
            probability = 1.0 - np.exp(-(deviations**2) / 2.0)
            line = normal.ellipse(probability=probability, n_points=72)
            ax.plot(line[:, 0], line[:, 1], color=stroke, linewidth=1.2, linestyle=dashes)

    def _crosses(self, ax: Any) -> None:
        """All misclassified points, as one line of small crosses."""
        surface = self.decision_surface
        at = np.asarray(surface.dots[self.wrong], dtype=float)
        if not 0 < len(at) <= MAX_MARKS:
            return
        arm = 0.009 * np.array([np.ptp(surface.x), np.ptp(surface.y) * 4.9 / 3.9])
        pen_up = np.array([np.nan, np.nan])
        strokes = np.array([arm, -arm, pen_up, arm * [1, -1], arm * [-1, 1], pen_up])
        line: Floats = (at[:, None, :] + strokes).reshape(-1, 2)
        ax.plot(line[:, 0], line[:, 1], color=style.text_color(ax), linewidth=0.9)

    def _class_names(self, ax: Any) -> None:
        """The name of each class at its mean."""
        surface = self.decision_surface
        for i, (label, normal) in enumerate(zip(surface.classes, surface.normals, strict=True)):
            if normal is None:
                continue
            ax.annotate(
                style.label_text(label, 16),
                normal.mean,
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                color=style.SERIES[i % len(style.SERIES)],
                bbox={"boxstyle": "round,pad=0.2", "fc": style.PAPER, "ec": "none", "alpha": 0.8},
            )


# -------------------------------------------------------------------------------------------------
# Voronoi cells of exemplars, or of training rows, in two columns.


@describe_parameters
@dataclass(eq=False)
class VoronoiDisplay(Display):
    """Voronoi cells of points in the plane: where the same ones are nearest.

    A cell of order k is where the same k points are nearest, in any order; cells of order one have
    the color of their point's class. In a metric other than the Euclidean, edges are no lines.

    Parameters
    ----------
    x, y : ndarray of shape (w,) and (h,)
        The columns of a grid, and its rows.
    distances : ndarray of shape (h, w, m)
        Distances of the grid to the points.
    points : ndarray of shape (m, 2)
        The points.
    codes : ndarray of shape (m,)
        The class of each point, as a position among ``classes``.
    classes : tuple of str
        The class labels.
    order : int, default=1
        k.
    columns : tuple of str, default=("x0", "x1")
        Names of the two columns.

    Attributes
    ----------
    cells : list of tuple of int
        The points that are nearest in each cell that the grid meets.

    See Also
    --------
    DecisionBoundaryDisplay : Decision regions of any classifier.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import VoronoiDisplay
    >>> X = [[0.0, 0.0], [1.0, 0.0], [4.0, 1.0], [5.0, 1.0]]
    >>> model = sx.NearestExemplar(n_exemplars=2).fit(X, list("aabb"))
    >>> display = VoronoiDisplay.from_estimator(model)
    >>> len(display.cells), display.classes
    (4, ('a', 'b'))
    """

    x: Floats
    y: Floats
    distances: Floats
    points: Floats
    codes: NDArray[np.int64]
    classes: tuple[str, ...]
    order: int = 1
    columns: tuple[str, str] = ("x0", "x1")

    title: ClassVar[str] = "Voronoi cells"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    @classmethod
    def from_estimator(cls, model: Any, *, order: int = 1, resolution: int = 48) -> Self:
        """From a fitted classifier by exemplars or neighbors, in two columns."""
        several = hasattr(model, "exemplars_")
        points: Any = model.exemplars_ if several else getattr(model, "points_", None)
        if np.ndim(points) != 2 or np.shape(points)[1] != 2 or not hasattr(model, "classes_"):
            raise InputError(
                "Voronoi cells are drawn of classifiers by exemplars or neighbors in two columns.",
                remedy="Fit NearestExemplar or KNeighborsClassifier to two columns of numbers.",
            )
        if not 1 <= order <= min(len(points) - 1, MAX_MARKS) or len(points) > MAX_MARKS:
            raise InputError(
                f"Cells of order {order} of {plural(len(points), 'point')} are not drawn.",
                remedy=f"Draw at most {MAX_MARKS} points, of an order below their number.",
            )
        scaled = model.standardizer_
        places = np.asarray(points if scaled is None else scaled.inverse_transform(points))
        low, high = places.min(axis=0), places.max(axis=0)
        margin = 0.15 * np.where(high > low, high - low, 1.0)
        x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in (0, 1))
        grid = np.stack(np.meshgrid(x, y), axis=2).reshape(-1, 2)
        grid = grid if scaled is None else scaled.transform(grid)
        distances = model.metric_.distances(grid, points).reshape(resolution, resolution, -1)
        codes = np.asarray(model.exemplar_codes_ if several else model.codes_)
        names = getattr(model, "feature_names_in_", ("x0", "x1"))
        labels = tuple(str(label) for label in model.classes_)
        columns = (str(names[0]), str(names[1]))
        return cls(x, y, distances, places, codes, labels, order, columns)

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """The points that are nearest in each cell that the grid meets."""
        near = np.argpartition(self.distances, self.order - 1, axis=2)[:, :, : self.order]
        sets = np.unique(np.sort(near.reshape(-1, self.order), axis=1), axis=0)
        return [tuple(cell) for cell in sets.tolist()]

    @property
    def description(self) -> str:
        """The cells, counted."""
        what = "point is nearest" if self.order == 1 else f"{self.order} points are nearest"
        return (
            f"{plural(len(self.cells), 'cell')} of {plural(len(self.points), 'point')} of "
            f"{plural(len(self.classes), 'class', 'classes')}: in each, the same {what}."
        )

    def _draw(self, ax: Any) -> None:
        for cell in self.cells:
            others = np.delete(self.distances, cell, axis=2).min(axis=2)
            inside = others - self.distances[:, :, list(cell)].max(axis=2)
            if self.order == 1 and inside.max() > 0.0:
                color = style.SERIES[int(self.codes[cell[0]]) % len(style.SERIES)]
                levels = [0.0, 2.0 * float(inside.max())]
                ax.contourf(self.x, self.y, inside, levels=levels, colors=[color], alpha=0.12)
            draw_contour(ax, self.x, self.y, inside)
        for code, label in enumerate(self.classes):
            at = self.points[self.codes == code]
            look = {
                "ls": "none",
                "marker": "o",
                "ms": 5,
                "color": style.SERIES[code % len(style.SERIES)],
            }
            ax.plot(at[:, 0], at[:, 1], label=style.label_text(label, 16), **look)
        ax.set_xlim(self.x[0], self.x[-1])
        ax.set_ylim(self.y[0], self.y[-1])
        style.style_axes(ax, grid=None)
        ax.set_xlabel(style.label_text(self.columns[0], 30))
        ax.set_ylabel(style.label_text(self.columns[1], 30))
        ax.legend(frameon=False, fontsize=8)


# -------------------------------------------------------------------------------------------------
# Confusion matrix: counts of true against predicted classes, and per cent of the row.


@describe_parameters
@dataclass(eq=False)
class ConfusionMatrixDisplay(Display):
    """Confusion matrix in counts and per cent of the true class.

    Parameters
    ----------
    counts : ndarray of shape (k, k) or (k, k + 1)
        Rows (or their weight) of true class i that were predicted as class j; a further column
        counts rejected rows.
    labels : sequence of str
    reject_label : str or None, default=None
        Name of the rejection column, if there is one.

    Attributes
    ----------
    proportions : ndarray
        Each count divided by the total of its row.

    See Also
    --------
    DecisionBoundaryDisplay : The decision regions on a plane.
    CoverageRiskDisplay : Error against the proportion of rows answered.

    Examples
    --------
    >>> from separatrix.pictures import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.counts.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> display.description
    '2 of 3 rows are correct. Recall by class, a: 1 of 2 (50 %); b: 1 of 1 (100 %). The most
    frequent error: a predicted as b, 1 times.'
    """

    counts: Floats
    labels: Sequence[str]
    reject_label: str | None = None

    title: ClassVar[str] = "Confusion matrix"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        reject_label: str | None = None,
    ) -> Self:
        """From the true and the predicted labels; ``labels`` sets the order."""
        truth, answers = np.asarray(y), np.asarray(predicted)
        present = np.unique(np.concatenate([truth, answers]).astype(str)).tolist()
        present = [label for label in present if label != reject_label]
        classes = [str(label) for label in (present if labels is None else labels)]
        classes += [label for label in present if label not in classes]  # in the test part only
        code = {label: i for i, label in enumerate(classes)}
        counts = np.zeros((len(classes), len(classes) + (reject_label is not None)))
        if reject_label is not None:
            code[reject_label] = len(classes)
        row = [code[str(label)] for label in truth]
        column = [code[str(label)] for label in answers]
        np.add.at(counts, (row, column), 1.0 if sample_weight is None else sample_weight)
        return cls(counts, classes, reject_label)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From a fitted classifier and rows with their classes."""
        answers = model.predict(X)
        label = _reject_label(model)
        label = label if label in np.unique(answers).astype(str) else None
        return cls.from_predictions(y, answers, labels=model.classes_, reject_label=label)

    @property
    def proportions(self) -> Floats:
        """Each count divided by the total of its row; zeros for a class without rows."""
        total = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(self.counts / np.where(total > 0, total, 1.0))

    @property
    def description(self) -> str:
        """Correct rows, the recall of each class (of many, the lowest), the commonest error."""
        k, total, correct = len(self.labels), self.counts.sum(), np.trace(self.counts)
        recall = np.diag(self.proportions[:, :k])
        parts = [
            f"{label}: {self.counts[i, i]:,.0f} of {self.counts[i].sum():,.0f} "
            f"({100 * recall[i]:.0f} %)"
            for i, label in enumerate(self.labels)
        ]
        lead = "Recall by class"
        described = 6  # classes that the description names
        if k > described:
            lead = "Lowest recall"
            parts = [parts[i] for i in np.argsort(recall, kind="stable")[:described]]
        rejected = ""
        if self.reject_label is not None:
            rejected = f", {self.counts[:, k].sum():,.0f} rejected"
        text = f"{correct:,.0f} of {total:,.0f} rows are correct{rejected}. "
        text += f"{lead}, {'; '.join(parts)}."
        wrong = self.counts[:, :k] - np.diag(np.diag(self.counts))
        if wrong.max(initial=0) > 0:
            i, j = divmod(int(np.argmax(wrong)), k)
            text += (
                f" The most frequent error: {self.labels[i]} predicted as {self.labels[j]}, "
                f"{wrong[i, j]:,.0f} times."
            )
        return text

    @property
    def size(self) -> tuple[float, float]:
        """Square cells, within limits."""
        return style.WIDTH, float(np.clip(1.0 + 0.55 * len(self.labels), 2.4, 4.6))

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        ax.grid(visible=False)  # whatever the settings of matplotlib: cells are the grid
        (k, answers), proportions = self.counts.shape, self.proportions
        for i in range(k):
            for j in range(answers):
                # Light enough for text on light and dark pages.
                shade = {
                    "facecolor": style.BLUE if j < k else style.MUTED,
                    "alpha": 0.04 + 0.46 * proportions[i, j],
                }
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=0, **shade))
                if k <= 9:  # with more classes than this the cells are shaded but have no numbers
                    self._write(ax, i, j)
        for edge in np.arange(k - 1) + 0.5:
            ax.axhline(edge, color=style.GRID, linewidth=0.7)
        for edge in np.arange(answers - 1) + 0.5:
            ax.axvline(edge, color=style.GRID, linewidth=0.7)
        ax.set_xlim(-0.5, answers - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        step = max(1, k // 12)
        names = [style.label_text(label, 12 if k > 3 else 18) for label in self.labels]
        ax.set_yticks(range(0, k, step), names[::step])
        if self.reject_label is not None:
            names.append(style.label_text(self.reject_label, 12))
        ax.set_xticks(range(0, answers, step), names[::step], rotation=0 if answers <= 5 else 45)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")

    def _write(self, ax: Any, i: int, j: int) -> None:
        large = 12 if len(self.labels) <= 4 else 9
        look = {"ha": "center", "textcoords": "offset points"}
        ax.annotate(
            f"{self.counts[i, j]:,.0f}",
            (j, i),
            va="bottom",
            xytext=(0, -1),
            fontsize=large,
            fontweight="bold" if i == j else "normal",
            **look,
        )
        percent = f"{100 * self.proportions[i, j]:.0f} %"
        size = min(large - 1.5, 8.5)
        ax.annotate(percent, (j, i), va="top", xytext=(0, -2), fontsize=size, **look)


def _reject_label(model: Any) -> str | None:
    """What a classifier answers where it abstains; None if it never does."""
    if not hasattr(model, "reject_label") or not getattr(model, "reject", True):
        return None
    from separatrix.probability.costs import reject_label_of

    return str(reject_label_of(model.classes_, model.reject_label))


# -------------------------------------------------------------------------------------------------
# Risk–coverage curve: the error of a classifier with a reject option.


@dataclass(eq=False)
class CoverageRiskDisplay(Display):
    """Risk of the rows answered against coverage, rows ordered by expected cost.

    Parameters
    ----------
    curve : CoverageRisk
        Coverage (proportion of rows answered) and risk (mean cost of these rows).
    operating_point : tuple of float or None, default=None
        Coverage and risk of the decision rule in use.
    rejection_cost : float or None, default=None
        Cost of rejecting a row under that rule.
    metric : str, default="error"
        Name of the risk: "error" for the error rate, "mean_cost" for other costs.

    See Also
    --------
    ConfusionMatrixDisplay : Counts of true against predicted classes, rejections included.
    CalibrationDisplay : Predicted probabilities against observed frequencies.

    Examples
    --------
    >>> from separatrix.pictures import CoverageRiskDisplay
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
    >>> display = CoverageRiskDisplay.from_predictions(["a", "b", "b"], p, ["a", "b"], costs=0.3)
    >>> coverage, risk = display.operating_point
    >>> round(coverage, 3), risk, display.rejection_cost
    (0.667, 0.0, 0.3)
    """

    curve: CoverageRisk
    operating_point: tuple[float, float] | None = None
    rejection_cost: float | None = None
    metric: str = "error"

    title: ClassVar[str] = "Risk–coverage curve"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probabilities: Any,
        classes: Any,
        *,
        costs: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """From labels and probabilities (n x K).

        ``costs`` are those of :class:`~separatrix.RejectOption`: the rejection cost where every
        error costs 1, a matrix, or a mapping. Without them every error costs 1 and there is no
        rejection. Rows of other classes than these are left out.
        """
        labels = np.array([str(c) for c in classes])
        code = {label: i for i, label in enumerate(labels)}
        truth = np.array([code.get(str(v), -1) for v in y], dtype=np.intp)
        known = truth >= 0
        p, truth = np.asarray(probabilities, dtype=float)[known], truth[known]
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[known]
        error = Costs(1.0 - np.eye(len(labels)), None)
        rule = error if costs is None else costs
        rule = rule if isinstance(rule, Costs) else costs_of(rule, labels)
        expected = rule.expected(p)
        incurred = rule.matrix[truth, expected.argmin(axis=1)]
        curve = coverage_risk(expected.min(axis=1), incurred, sample_weight=w)
        metric = "error" if np.array_equal(rule.matrix, error.matrix) else "mean_cost"
        if rule.reject_cost is None:
            return cls(curve, metric=metric)
        answered = rule.decide(p) < len(labels)
        cost = float(rule.reject_cost[0]) if np.ptp(rule.reject_cost) == 0 else None
        return cls(curve, _operating_point(answered, incurred, w), cost, metric)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From a fitted classifier with probabilities; a ``RejectOption`` provides its costs."""
        from separatrix.probability.costs import RejectOption

        costs = model.costs_ if isinstance(model, RejectOption) else None
        return cls.from_predictions(y, model.predict_proba(X), model.classes_, costs=costs)

    @property
    def description(self) -> str:
        """Risk at full and at half coverage, and at the operating point."""
        full, half = float(self.curve.risk[-1]), self.curve.risk_at(0.5)
        text = (
            f"{score_info(self.metric).short} {score_text(full, self.metric)} at full coverage, "
            f"{score_text(half, self.metric)} at a coverage of 50 %."
        )
        if self.operating_point is not None:
            coverage, risk = self.operating_point
            rule = " Under the decision rule in use"
            if self.rejection_cost is not None:
                rule = f" At a rejection cost of {exact(self.rejection_cost)}"
            text += (
                f"{rule}, coverage {100 * coverage:.0f} % and risk {score_text(risk, self.metric)}."
            )
        if full > 0:
            reach = self.curve.coverage_at(full / 2)
            text += f" The risk is halved at a coverage of {100 * reach:.0f} %."
        return text

    def _draw(self, ax: Any) -> None:
        coverage, risk = self.curve.coverage, self.curve.risk
        shown = np.arange(coverage.size)
        points = 300  # points of the line at most
        if coverage.size > points:
            positions = np.searchsorted(coverage, np.linspace(0, 1, points))
            shown = np.unique(np.minimum(positions, coverage.size - 1))
        marks.reference_line(ax, risk[-1])
        marks.annotate(ax, "full coverage", (0, risk[-1]), (3, 3), color=style.MUTED)
        ax.step(
            np.append(0.0, coverage[shown]),
            np.append(risk[shown[0]], risk[shown]),
            where="pre",
            color=style.BLUE,
        )
        if self.operating_point is not None:
            label = "decision rule in use"
            if self.rejection_cost is not None:
                label = f"rejection cost {exact(self.rejection_cost)}"
            marks.mark_point(ax, *self.operating_point, label)
            ax.legend(frameon=False, fontsize=9, loc="best")
        ax.set_xlim(-0.01, 1.02)
        top = max(float(risk.max()), self.operating_point[1] if self.operating_point else 0.0)
        ax.set_ylim(-0.02 * (top or 0.02), 1.15 * (top or 0.02))
        style.style_axes(ax)
        style.label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.set_xlabel("coverage (proportion of rows answered)")


def _operating_point(
    answered: NDArray[np.bool_], incurred: Floats, w: Floats | None
) -> tuple[float, float]:
    """Coverage of the rule, and the mean cost of the rows that it answers."""
    weight = unit_weights(w, incurred.size)
    taken = weight * answered
    risk = float(taken @ incurred / taken.sum()) if taken.sum() > 0 else 0.0
    return float(taken.sum() / weight.sum()), risk


# -------------------------------------------------------------------------------------------------
# Drawing of a decision surface: filled regions, and contours between them.


def fill_regions(
    ax: Any, x: Floats, y: Floats, utility: Floats, colors: Sequence[str], alphas: Sequence[float]
) -> None:
    """Fill where each answer has the greatest ``utility[i, j, answer]`` at (x[j], y[i])."""
    for answer, (color, alpha) in enumerate(zip(colors, alphas, strict=True)):
        advantage = advantage_of(utility, answer)
        if advantage.max() > 0:
            levels = [0, 2 * float(advantage.max())]
            ax.contourf(x, y, advantage, levels=levels, colors=[color], alpha=alpha)


def draw_contour(
    ax: Any, x: Floats, y: Floats, values: Floats, level: float = 0.0, dashes: str = "solid"
) -> None:
    """The contour ``values`` = ``level``, where there is one."""
    from contourpy import contour_generator

    lines: Any = contour_generator(x, y, values).lines(level)
    for line in lines:
        look = {"color": style.text_color(ax), "linewidth": 1.15, "linestyle": dashes}
        ax.plot(line[:, 0], line[:, 1], **look)


def advantage_of(utility: Floats, answer: int) -> Floats:
    """Utility of an answer minus that of the best other one."""
    others = np.delete(utility, answer, axis=2).max(axis=2)
    return np.asarray(utility[:, :, answer] - others)


def refine_breaks(x: Floats, y: Floats, utility: Floats) -> tuple[Floats, Floats, Floats]:
    """Linear interpolation on a finer grid, so that regions that meet in a point look so."""
    refinement = 3  # contours are traced on a grid so many times as fine, interpolated linearly
    fine_x, fine_y = (
        np.interp(np.arange(refinement * (len(at) - 1) + 1) / refinement, np.arange(len(at)), at)
        for at in (x, y)
    )
    for axis, count in ((0, len(fine_y)), (1, len(fine_x))):
        at = np.arange(count) / refinement
        left = np.minimum(at.astype(int), utility.shape[axis] - 2)
        part = (at - left).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        low, high = (np.take(utility, left + step, axis=axis) for step in (0, 1))
        utility = (1 - part) * low + part * high
    return fine_x, fine_y, utility

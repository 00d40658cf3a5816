"""Learning theory: version spaces, shattered points, PAC bounds, bias and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.formatting import number, plural
from separatrix.messages import InputError
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, labeled_rows, require_fitted
from separatrix.theory.half_spaces import Ball, HalfSpace
from separatrix.theory.hypothesis_class import Hypothesis, IntervalUnion, Labels
from separatrix.theory.polygons import BoxHypothesis, Polygon
from separatrix.theory.vc_dimension import Shattering, shatters

if TYPE_CHECKING:
    from separatrix.hypotheses.query import ActiveCurve
    from separatrix.theory.bias_variance import BiasVariance
    from separatrix.theory.vc_dimension import PACSimulation


# -------------------------------------------------------------------------------------------------
# Boxes of a version space over two columns: most specific, average, common to the most general.


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
    figure_size: ClassVar[tuple[float, float]] = style.TALL

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
            members = self.codes == list(self.classes).index(label)
            ends = int(np.isfinite(common).sum())
            within = ((self.x[members] >= specific[0]) & (self.x[members] <= specific[1])).all(
                axis=1
            )
            inside.append(
                f"{label}: {int(within.sum()):,} of {plural(int(members.sum()), 'row')} in its "
                f"most specific box, the most general ones bounded on {ends} of 4 sides"
            )
        projected = "" if self.n_columns == 2 else f" Projections from {self.n_columns} columns."
        return f"{'; '.join(inside)}.{projected}"

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        low, high = self.x.min(axis=0), self.x.max(axis=0)
        # Part of the range of a column that is drawn beyond its rows, where unbounded boxes end.
        room = 0.08 * np.where(high > low, high - low, 1.0)
        low, high = low - room, high + room
        for code, label in enumerate(self.classes):
            color, marker = style.group_style(code)
            members = self.x[self.codes == code]
            marks.scatter(
                ax,
                members[:, 0],
                members[:, 1],
                color=color,
                marker=marker,
                max_points=marks.MAX_POINTS,
            )
            ax.plot([], [], marker, ms=5, color=color, label=style.label_text(label))
            # the most specific box is filled, the average and the common one are lines
            look: tuple[Any, ...] = ("", "-", (0, (4, 3)))
            for faces, dashes in zip(self.boxes.get(label, ()), look, strict=False):
                if (faces[0] > faces[1]).any():
                    continue
                at, to = np.maximum(faces[0], low), np.minimum(faces[1], high)
                fill = {"facecolor": color, "alpha": 0.16, "linewidth": 0}
                line = {"fill": False, "edgecolor": color, "linewidth": 1.3, "linestyle": dashes}
                ax.add_patch(Rectangle(tuple(at), *(to - at), **(line if dashes else fill)))
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        style.style_axes(ax)
        ax.set_xlabel(style.label_text(self.columns[0]))
        ax.set_ylabel(style.label_text(self.columns[1]))
        ax.legend(frameon=False, fontsize=9, ncols=4, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Errors over the number of labels, queried and at random.


@dataclass(eq=False)
class ActiveCurveDisplay(Display):
    """Test error against the number of labels, with intervals over the repeats.

    Parameters
    ----------
    curve : ActiveCurve
        What :func:`~separatrix.active_curve` returns.

    See Also
    --------
    VersionSpaceDisplay : What is not yet known of boxes.
    LearningCurveDisplay : Scores against the number of training rows.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import ActiveCurveDisplay
    >>> errors = np.array([[0.4, 0.1, 0.1], [0.4, 0.2, 0.1]])
    >>> curve = sx.ActiveCurve(np.array([5, 10, 15]), errors, np.array([[0.4, 0.3, 0.15]] * 2))
    >>> ActiveCurveDisplay(curve).plot().ax_.get_xlabel()
    'labels'
    """

    curve: ActiveCurve

    title: ClassVar[str] = "Labels that queries save"

    @property
    def description(self) -> str:
        """Both errors at the end, their difference, and the labels saved, with intervals."""
        return str(self.curve)

    def _draw(self, ax: Any) -> None:
        labels = self.curve.labels.astype(float)
        for errors, color, marker, label in (
            (self.curve.random, style.ORANGE, "s", "at random"),
            (self.curve.queried, style.BLUE, "o", "queried"),
        ):
            mean, low, high = self.curve.interval(errors)
            marks.fill_band(ax, labels, low, high, color=color)
            ax.plot(labels, mean, marker=marker, ms=4, color=color, label=label)
        ax.set_ylim(bottom=0)
        style.style_axes(ax)
        style.percent_axis(ax.yaxis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("labels")
        ax.set_ylabel("test error")
        ax.legend(frameon=False, fontsize=9, loc="best")


# -------------------------------------------------------------------------------------------------
# Shattered points: a small plot for each labeling, with its hypothesis.


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
        shattering, n = self.shattering, len(self.shattering.points)
        if shattering.shattered:
            return (
                f"{plural(n, 'point')} shattered by {self.name}: each of {2**n} labelings has a "
                f"consistent one. {len(self.shown)} are drawn."
            )
        signs = " ".join("+" if y else "−" for y in self._failing)
        text = (
            f"{plural(n, 'point')} not shattered by {self.name}: none is consistent with {signs}."
        )
        return f"{text} {shattering.reason}".rstrip()

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the plots need."""
        columns, rows = self._grid
        return style.TALL[0], max(1.2, 0.3 + (style.TALL[0] - 0.3) * rows / columns * self._aspect)

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

        shattering, (columns, _) = self.shattering, self._grid
        low, high = self._window()
        unit = high - low
        scale = np.array([1.0, self._aspect]) * (1.0 - 0.12)  # room between two plots
        curves, sides = [], ([], [])  # type: tuple[list[Floats], tuple[list[Floats], list[Floats]]]
        for k, labeling in enumerate(self.shown):
            origin = np.array([k % columns, -(k // columns) * self._aspect])

            def place(x: Floats, point: Floats = origin) -> Floats:
                return np.asarray(point + scale * ((x - low[:2]) / unit))

            labels = (labeling >> np.arange(len(shattering.points))) & 1 == 1
            points = self._flat(shattering.points)
            sides[0].append(place(points[labels]))
            sides[1].append(place(points[~labels]))
            if shattering.shattered:
                window = (low[: shattering.points.shape[1]], high[: shattering.points.shape[1]])
                for curve in outlines(shattering.hypotheses[labeling], window):
                    if len(curve):
                        curves.append(place(np.asarray(curve)))
            _frame(ax, place(np.array([low, high])))
        _fill(ax, curves)
        for points, color, marker in (
            (np.vstack(sides[0]), style.BLUE, "o"),
            (np.vstack(sides[1]), style.ORANGE, "s"),
        ):
            (dots,) = ax.plot(points[:, 0], points[:, 1], marker, ms=3.2, mew=0, color=color)
            dots.set_gid(f"dots-3.2{marker}")
        handles = [
            Line2D([], [], marker=m, color=c, linestyle="none", ms=4, label=text)
            for c, m, text in ((style.BLUE, "o", "positive"), (style.ORANGE, "s", "negative"))
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
        # Room around the points, as a part of their range.
        middle, half = (low + high) / 2, (0.5 + 0.28) * width
        tall = half if self._aspect == 1.0 else 0.35 * half
        reach = np.array([half, tall])
        return middle - reach, middle + reach


def _frame(ax: Any, ends: Floats) -> None:
    (a, b), (c, d) = ends
    ax.plot([a, c, c, a, a], [b, b, d, d, b], color=style.GRID, linewidth=0.8, zorder=0)


def _fill(ax: Any, curves: list[Floats]) -> None:
    """All outlines as one path: few nodes in the SVG."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not curves:
        return
    closed = [np.vstack([curve, curve[:1]]) for curve in curves]
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(curve) - 2), Path.CLOSEPOLY] for curve in closed]
    path = Path(np.vstack(closed), [code for part in codes for code in part])
    ax.add_patch(
        PathPatch(path, facecolor=style.BLUE, edgecolor=style.BLUE, alpha=0.22, linewidth=1.0)
    )


# -------------------------------------------------------------------------------------------------
# Outlines of hypotheses in the plane, clipped to a window; intervals are drawn as flat boxes.


#: Low and high end of both coordinates.
Window = tuple[Floats, Floats]


@singledispatch
def outlines(hypothesis: Hypothesis, window: Window) -> list[Floats]:  # noqa: ARG001
    """Closed curves around the hypothesis, as arrays of points; none if its shape is not known."""
    return []


@outlines.register
def _(hypothesis: BoxHypothesis, window: Window) -> list[Floats]:
    low, high = hypothesis.low, hypothesis.high
    margin = 0.04 * (window[1] - window[0])  # around points that are on the sides
    if len(low) == 1:
        ends = np.array([[low[0] - margin[0], high[0] + margin[0]]])
        return _flat(ends, window)
    if (low > high).any():
        return []
    a, b = low - margin, high + margin
    return [clip_polygon(np.array([a, [b[0], a[1]], b, [a[0], b[1]]]), window)]


@outlines.register
def _(hypothesis: IntervalUnion, window: Window) -> list[Floats]:
    margin = 0.04 * float(window[1][0] - window[0][0])
    return _flat(hypothesis.ends + np.array([-margin, margin]), window)


@outlines.register
def _(hypothesis: Polygon, window: Window) -> list[Floats]:
    curve = _window_frame(window)
    for (u, v), offset in zip(hypothesis.normals, hypothesis.offsets, strict=True):
        size = max(abs(u), abs(v))
        curve = _cut(curve, np.array([-u / size, -v / size]), float(offset / size))
    return [curve]


@outlines.register
def _(hypothesis: Ball, window: Window) -> list[Floats]:
    center, r = np.array([float(c) for c in hypothesis.center]), hypothesis.radius
    if len(center) == 1:
        return _flat(center + np.array([[-r, r]]), window)
    return [clip_polygon(_disk(center, r, window), window)]


@outlines.register
def _(hypothesis: HalfSpace, window: Window) -> list[Floats]:
    size = max(map(abs, hypothesis.coef)) or Fraction(1)
    coef = np.array([float(c / size) for c in hypothesis.coef])
    constant = float(hypothesis.intercept / size)
    if len(coef) == 1:
        edge = -constant / coef[0] if coef[0] else -np.inf
        ends = [edge, np.inf] if coef[0] >= 0 else [-np.inf, edge]
        return _flat(np.array([ends]), window)
    return [_cut(_window_frame(window), coef, constant)]


def _flat(ends: Floats, window: Window) -> list[Floats]:
    """Intervals as boxes of little height around the line."""
    low, high = window[0][0], window[1][0]
    height = 0.35 * (high - low)  # height of an interval of numbers, as a part of the window
    return [
        np.array([[a, -height], [b, -height], [b, height], [a, height]]) / np.array([1, 4])
        for a, b in np.clip(ends, low, high)
        if a < b
    ]


def _disk(center: Floats, r: float, window: Window) -> Floats:
    """A circle of many sides; of a large one, the slice from its center that holds the window."""
    middle, size = (window[0] + window[1]) / 2, float(np.linalg.norm(window[1] - window[0]))
    if r <= 4 * size:
        angles = 2 * np.pi * np.arange(90) / 90
        return np.asarray(center + r * np.column_stack([np.cos(angles), np.sin(angles)]))
    towards = np.arctan2(*(middle - center)[::-1])
    angles = towards + np.linspace(-1, 1, 90) * 2 * size / r
    arc = center + r * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([center, arc])


def _window_frame(window: Window) -> Floats:
    (a, b), (c, d) = window
    return np.array([[a, b], [c, b], [c, d], [a, d]], dtype=float)


def clip_polygon(polygon: Floats, window: Window) -> Floats:
    """The part of a convex polygon within the window (Sutherland and Hodgman)."""
    for axis in (0, 1):
        for sign, end in ((1.0, window[0][axis]), (-1.0, window[1][axis])):
            normal = np.zeros(2)
            normal[axis] = sign
            polygon = _cut(polygon, normal, -sign * float(end))
    return polygon


def _cut(polygon: Floats, normal: Floats, constant: float) -> Floats:
    """The part of a convex polygon where normal · x + constant ≥ 0."""
    if not len(polygon):
        return polygon
    score = polygon @ normal + constant
    pieces = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if score[i] >= 0:
            pieces.append(polygon[i])
        if (score[i] >= 0) != (score[j] >= 0):
            t = score[i] / (score[i] - score[j])
            pieces.append(polygon[i] + t * (polygon[j] - polygon[i]))
    return np.array(pieces).reshape(-1, 2)


# -------------------------------------------------------------------------------------------------
# PAC learning: failures over the number of rows, beside the bound of theory.


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
        pairs = {(simulation.epsilon, simulation.delta) for simulation in self.simulations}
        if len(pairs) != 1:
            raise InputError(f"The simulations have {len(pairs)} pairs of ε and δ; give one.")
        self.simulations = sorted(self.simulations, key=lambda simulation: simulation.n)

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
        from separatrix.theory.vc_dimension import pac_simulation

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
        rates = [simulation.failure_rate for simulation in self.simulations]
        sizes = [simulation.n for simulation in self.simulations]
        text = (
            f"Proportion of {plural(len(first.errors), 'repetition')} with an error above "
            f"{first.epsilon:g}: from {100 * rates[0]:.3g} % with {sizes[0]:,} rows to "
            f"{100 * rates[-1]:.3g} % with {sizes[-1]:,}. "
        )
        below = [n for n, rate in zip(sizes, rates, strict=True) if rate <= first.delta]
        enough = [
            simulation.n for simulation in self.simulations if simulation.bound <= first.delta
        ]
        seen = f"from {min(below):,} rows on" if below else "at none of these sizes"
        proved = f"from {min(enough):,} on" if enough else "at none of them"
        return f"{text}It is at most δ = {first.delta:g} {seen}; theory promises that {proved}."

    def _draw(self, ax: Any) -> None:
        sizes = np.array([simulation.n for simulation in self.simulations], dtype=float)
        rates = np.array([simulation.failure_rate for simulation in self.simulations])
        ends = np.array([simulation.interval for simulation in self.simulations])
        bounds = np.array([simulation.bound for simulation in self.simulations])
        if np.isfinite(bounds).any():
            ax.plot(sizes, bounds, "s--", ms=4, color=style.ORANGE, label="bound of theory")
        reach = np.abs(ends - rates[:, None]).T
        ax.errorbar(sizes, rates, yerr=reach, fmt="o-", ms=4, color=style.BLUE, label="observed")
        delta = self.simulations[0].delta
        ax.axhline(delta, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)))
        # with few rows both curves are far above
        marks.annotate(ax, f"δ = {delta:g}", (0, delta), (2, 3), marks.BESIDE, ha="left")
        ax.set_ylim(-0.03, 1.05)
        style.style_axes(ax)
        style.percent_axis(ax.yaxis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("rows")
        ax.set_ylabel(f"error above {self.simulations[0].epsilon:g}")
        ax.legend(frameon=False, fontsize=9, loc="best")


# -------------------------------------------------------------------------------------------------
# Bias and variance: over complexity, and as the fits that they are means of.


@dataclass(eq=False)
class BiasVarianceDisplay(Display):
    """Squared bias, variance and error of models of growing complexity.

    Parameters
    ----------
    labels : sequence
        Complexity of each model, in order: orders of polynomials, numbers of neighbors, names.
    results : sequence of BiasVariance
        One for each.
    complexity : str, default="order"
        What the labels are.

    Attributes
    ----------
    best : int
        Position of the least error.

    See Also
    --------
    FitsDisplay : The fits themselves.
    ValidationCurveDisplay : The error alone, on a table.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import BiasVarianceDisplay
    >>> sine = lambda x: 2 * np.sin(1.5 * x[:, 0])
    >>> found = sx.polynomial_bias_variance([1, 3, 5], sine, 1.0, x=np.linspace(0, 4, 20))
    >>> BiasVarianceDisplay([1, 3, 5], found).description
    'Error without the noise is least at order 3: 0.2190, of it squared bias 0.01902 and variance
    0.2000. At order 1 the squared bias is 0.8102, at order 5 the variance is 0.3000.'
    """

    labels: Sequence[Any]
    results: Sequence[BiasVariance]
    complexity: str = "order"

    title: ClassVar[str] = "Bias and variance"

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.results) or not self.results:
            raise InputError(f"{len(self.labels)} labels for {len(self.results)} results.")

    @property
    def best(self) -> int:
        """Position of the least error."""
        return int(np.argmin([result.error for result in self.results]))

    @property
    def description(self) -> str:
        """The least error and its parts, and the ends of both curves."""
        result, at = self.results[self.best], self.labels[self.best]
        return (
            f"Error without the noise is least at {self.complexity} {at}: "
            f"{number(result.error - result.noise)}, of it squared bias "
            f"{number(result.squared_bias)} and "
            f"variance {number(result.variance)}. At {self.complexity} {self.labels[0]} the "
            f"squared bias is {number(self.results[0].squared_bias)}, at {self.complexity} "
            f"{self.labels[-1]} the variance is {number(self.results[-1].variance)}."
        )

    def _draw(self, ax: Any) -> None:
        at = np.arange(len(self.labels), dtype=float)
        lines = (
            ("squared_bias", "squared bias", style.BLUE, "o", 0.0),
            ("variance", "variance", style.ORANGE, "s", 0.0),
            ("error", "error without the noise", style.GREEN, "^", 1.0),
        )
        highest = 0.0
        for name, label, color, marker, less in lines:
            noise = less * np.array([result.noise for result in self.results])
            values = np.array([getattr(result, name) for result in self.results]) - noise
            ends = np.array([getattr(result, f"{name}_interval") for result in self.results])
            if not all(result.exact for result in self.results):
                marks.fill_band(ax, at, ends[:, 0] - noise, ends[:, 1] - noise, color=color)
            ax.plot(at, values, marker=marker, ms=4, color=color, label=label)
            highest = max(highest, float(values[0]), float(values[self.best]))
        best = self.results[self.best]
        least = best.error - best.noise
        marks.mark_point(ax, at[self.best], least, "least error", color=style.PURPLE)
        # Errors of more than so many times the least are cut off.
        top = max(min(4.0 * least, 1.2 * self._largest()), 1.15 * highest)
        ax.set_ylim(min(0.0, -0.02 * top), top)
        ax.set_xticks(at, [style.label_text(label, 12) for label in self.labels])
        style.style_axes(ax)
        ax.set_xlabel(self.complexity)
        ax.set_ylabel("mean squared error")
        ax.legend(frameon=False, fontsize=9, loc="best")

    def _largest(self) -> float:
        return max(result.error - result.noise for result in self.results)


@dataclass(eq=False)
class FitsDisplay(Display):
    """Fits of simulated data sets, their mean, and the truth, along one input.

    The spread of the fits is the variance; the distance of their mean from the truth, the bias.

    Parameters
    ----------
    result : BiasVariance
        What :func:`separatrix.bias_variance` returned, for one input.
    max_fits : int, default=20
        Number of fits drawn at most.

    See Also
    --------
    BiasVarianceDisplay : Over complexity.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import FitsDisplay
    >>> line = sx.PolynomialRegression(1)
    >>> found = sx.bias_variance(line, lambda x: x[:, 0] ** 2, 0.1, repeats=30)
    >>> FitsDisplay(found).description
    '20 of 30 fits to 20 rows. Their mean is 0.075 from the truth (root mean square), and they
    spread by 0.049 around it (standard deviation).'
    """

    result: BiasVariance
    max_fits: int = 20  # fits drawn at most

    title: ClassVar[str] = "Fits and their mean"

    def __post_init__(self) -> None:
        if self.result.x.shape[1] != 1:
            raise InputError(
                f"There are {self.result.x.shape[1]} inputs; fits are drawn along one."
            )

    @property
    def description(self) -> str:
        """How far the mean is from the truth, and how far fits spread."""
        result = self.result
        drawn = min(self.max_fits, len(result.predictions))
        away = np.sqrt(np.mean((result.mean_prediction - result.truth) ** 2))
        spread = np.sqrt(result.variance)
        return (
            f"{drawn} of {plural(len(result.predictions), 'fit')} to {result.n} rows. Their "
            "mean is "
            f"{away:.2g} from the truth (root mean square), and they spread by {spread:.2g} around "
            "it (standard deviation)."
        )

    def _draw(self, ax: Any) -> None:
        result = self.result
        order = np.argsort(result.x[:, 0], kind="stable")
        order = order[:: -(-len(order) // 50)]  # points of a curve at most
        x = result.x[order, 0]
        for i, fit in enumerate(result.predictions[: self.max_fits]):
            label = "fits" if i == 0 else None
            ax.plot(x, fit[order], color=style.MUTED, linewidth=0.6, alpha=0.6, label=label)
        ax.plot(
            x,
            result.truth[order],
            color=style.INK,
            linewidth=1.4,
            linestyle=(0, (4, 3)),
            label="truth",
        )
        ax.plot(
            x,
            result.mean_prediction[order],
            color=style.ORANGE,
            linewidth=2,
            label="mean of the fits",
        )
        together = np.concatenate([result.truth, result.mean_prediction])
        low, high = float(together.min()), float(together.max())
        room = 0.6 * (high - low) + 2 * float(np.sqrt(np.median(result.prediction_variance)))
        ax.set_ylim(low - room - 1e-9, high + room + 1e-9)
        style.style_axes(ax)
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.legend(frameon=False, fontsize=9, loc="best")

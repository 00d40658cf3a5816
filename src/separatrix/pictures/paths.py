"""Paths over a penalty or a number of neighbors, and criteria along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats
from separatrix.estimators.inference import names_of
from separatrix.formatting import join_words, number, score_info, score_text
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import design_deviations, require_fitted
from separatrix.selection.criteria import CriteriaTable, Criterion

# -------------------------------------------------------------------------------------------------
# Regularization path: coefficients over the penalty.


#: Lines beyond the labeled ones are grey, and at most so many.
BACKGROUND = 60


@describe_parameters
@dataclass(eq=False)
class RegularizationPathDisplay(Display):
    """Coefficients over the penalty, from strong to weak.

    Parameters
    ----------
    alphas : array-like of shape (m,)
        Penalties; zeros are left out.
    coefs : array-like of shape (m, d)
        Coefficients at each penalty.
    names : tuple of str
    chosen : float or None, default=None
        The selected penalty.
    scale : ndarray of shape (d,) or None, default=None
        Factor of each coefficient, such as the standard deviation of its column.
    reference : ndarray of shape (d,) or None, default=None
        Coefficients of a model without penalty, drawn as points beyond the weak end.
    reference_name : str, default="least squares, no penalty"
        Name of that model.

    See Also
    --------
    ValidationCurveDisplay : Cross-validation error over the penalty.
    CoefficientDisplay : Coefficients with confidence intervals.

    Examples
    --------
    >>> from separatrix.pictures import RegularizationPathDisplay
    >>> display = RegularizationPathDisplay(
    ...     [0.1, 1.0], [[2.0, -1.0], [1.0, 0.0]], ("age", "dose"), chosen=1.0)
    >>> display.description
    '2 penalties from 1 (strong) to 0.100 (weak); 1 to 2 of 2 coefficients are nonzero. At the
    chosen penalty 1, 1 are nonzero; the largest are age 1 and dose 0.'
    """

    alphas: Floats
    coefs: Floats
    names: tuple[str, ...]
    chosen: float | None = None
    scale: Floats | None = None
    reference: Floats | None = None
    reference_name: str = "least squares, no penalty"

    title: ClassVar[str] = "Regularization path"

    def __post_init__(self) -> None:
        alphas, coefs = np.asarray(self.alphas, dtype=float), np.asarray(self.coefs, dtype=float)
        if coefs.shape != (alphas.size, len(self.names)):
            raise InputError(
                f"coefs has shape {coefs.shape}; {alphas.size} penalties and {len(self.names)} "
                f"names ask for {(alphas.size, len(self.names))}."
            )
        if self.reference is not None and np.shape(self.reference) != (len(self.names),):
            raise InputError(f"reference must have {len(self.names)} coefficients, one per name.")
        order = np.argsort(alphas)[np.sort(alphas) > 0]
        self.alphas, self.coefs = alphas[order], coefs[order]

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None) -> Self:
        """From a model with ``alphas_``, ``coefs_`` and ``alpha_``; ``X`` gives the scale.

        ``X`` is the table of the fit, which is encoded as it was then, or the design itself. Of a
        model with ``Cs_`` and ``C_``, such as ``LogisticPath``, the penalty is 1/C.
        """
        alphas, chosen = _penalties(model)
        coefs = np.squeeze(np.asarray(model.coefs_, dtype=float))
        if coefs.ndim == 1:
            coefs = coefs.reshape(alphas.size, -1)
        if coefs.ndim != 2:
            raise InputError("The paths of several outputs cannot be drawn in one plot.")
        if coefs.shape[0] != alphas.size:
            coefs = coefs.T
        scale = None if X is None else design_deviations(model, X, coefs.shape[1])
        return cls(
            alphas,
            coefs,
            names_of(model, coefs.shape[1]),
            chosen,
            scale,
        )

    @property
    def lines(self) -> Floats:
        """Scaled coefficients."""
        return np.asarray(self.coefs * self.unit)

    @property
    def unit(self) -> Floats:
        """Factor of each coefficient."""
        return np.ones(len(self.names)) if self.scale is None else np.asarray(self.scale)

    @property
    def reference_points(self) -> Floats | None:
        """Scaled coefficients of the reference model."""
        return None if self.reference is None else np.asarray(self.reference * self.unit)

    @property
    def position(self) -> int:
        """Position of the chosen penalty, or of the weakest."""
        if self.chosen is None or self.chosen <= 0:
            return 0
        return int(np.argmin(np.abs(np.log(self.alphas / self.chosen))))

    @property
    def labeled(self) -> list[int]:
        """The columns with the largest coefficients at the chosen penalty."""
        values = (
            self.lines[self.position] if self.reference_points is None else self.reference_points
        )
        size = np.abs(values) + 1e-9 * np.abs(self.lines).max(axis=0)
        top = np.argsort(-size, kind="stable")[: len(style.SERIES)]
        return [int(j) for j in top if size[j] > 0]

    @property
    def description(self) -> str:
        """The range of penalties, nonzero coefficients, and the largest ones when chosen."""
        nonzero = np.count_nonzero(self.coefs, axis=1)
        text = (
            f"{self.alphas.size} penalties from {number(self.alphas[-1], 3)} (strong) to "
            f"{number(self.alphas[0], 3)} (weak); "
        )
        all_in = bool(nonzero.min() == len(self.names))
        if all_in:
            text += "no coefficient is exactly zero."
        else:
            span = f"{int(nonzero[-1])} to {int(nonzero[0])}"
            text += f"{span} of {len(self.names)} coefficients are nonzero."
        if self.reference_points is not None:
            return f"{text} {self._compare(self.reference_points)}"
        if self.chosen is None:
            return text
        left = "" if all_in else f"{int(nonzero[self.position])} are nonzero"
        largest = self._largest(self.lines[self.position])
        rest = (left + largest if left else largest.removeprefix("; ")) or "all are zero"
        return f"{text} At the chosen penalty {number(self.chosen, 3)}, {rest}."

    def _compare(self, points: Floats) -> str:
        """How far the reference model is from the weak end of the path."""
        apart = np.abs(points - self.lines[0])
        # Difference, relative to the largest coefficient, below which two models count as equal.
        if apart.max(initial=0) <= 0.01 * np.abs(points).max(initial=0):
            return (
                f"The chosen model ({self.reference_name}) is the weak end of the path"
                f"{self._largest(points)}. The path is that of ridge regression."
            )
        most = int(np.argmax(apart))
        return (
            f"The path is that of ridge regression; the chosen model ({self.reference_name}) is "
            f"not on it{self._largest(points)}. It differs most from the weak end in "
            f"{self.names[most]}, by {number(apart[most], 2)}."
        )

    def _largest(self, values: Floats) -> str:
        lead = [f"{self.names[j]} {number(values[j], 3)}" for j in self.labeled[:3]]
        return (
            f"; the largest {'is' if len(lead) == 1 else 'are'} {join_words(lead)}" if lead else ""
        )

    def _draw(self, ax: Any) -> None:
        lines, labeled = self.lines, self.labeled
        marks.reference_line(ax, 0.0)
        rest = [j for j in np.argsort(-np.abs(lines).max(axis=0)) if j not in labeled][:BACKGROUND]
        if rest:
            ax.plot(
                self.alphas, lines[:, rest], color=style.MUTED, alpha=0.4, linewidth=0.9, zorder=1
            )
        for color, j in zip(style.SERIES, labeled, strict=False):
            ax.plot(self.alphas, lines[:, j], color=color)
        style.penalty_axis(ax)
        style.style_axes(ax, grid=None)
        if self.reference_points is not None:
            self._draw_reference(ax, self.reference_points)
        elif self.chosen is not None and self.chosen > 0:
            marks.mark_value(ax, self.chosen, "chosen")
        self._label(ax, labeled)
        ax.set_ylabel("coefficient" if self.scale is None else "standardized coefficient")

    def _draw_reference(self, ax: Any, points: Floats) -> None:
        """The model without penalty, as points beyond the weak end, joined to their lines."""
        weak = float(self.alphas[0])
        past = weak * (weak / self.alphas[-1]) ** 0.06
        colored = dict(zip(self.labeled, style.SERIES, strict=False))
        for j, value in enumerate(points):
            color = colored.get(j, style.MUTED)
            if j not in colored and self.lines.shape[1] > BACKGROUND:
                continue
            look = {"color": color, "zorder": 2 if j in colored else 1}
            ax.plot([weak, past], [self.lines[0, j], value], linewidth=0.8, **look)
            ax.plot([past], [value], "o", ms=4.5 if j in colored else 3, mew=0, **look)
        marks.mark_value(ax, past, f"chosen: {self.reference_name}", ha="right")
        left, _ = ax.get_xlim()
        # A penalty of zero is not on a logarithmic axis: no tick beyond the weak end.
        ticks = [tick for tick in ax.get_xticks() if weak <= tick <= left]
        ax.set_xticks(ticks[:: 2 if len(ticks) > 6 else 1])
        ax.set_xlim(left, past * (weak / self.alphas[-1]) ** 0.02)

    def _label(self, ax: Any, labeled: list[int]) -> None:
        """The name of each colored line at its right end, moved apart where they would overlap."""
        low, high = ax.get_ylim()
        ends = (self.lines[0] if self.reference_points is None else self.reference_points)[labeled]
        for color, j, y in zip(
            style.SERIES, labeled, marks.spread_labels(ends, 0.062 * (high - low)), strict=False
        ):
            look = {"va": "center", "color": color, "annotation_clip": False}
            marks.annotate(
                ax, style.label_text(self.names[j], 18), (1, y), (5, 0), marks.BESIDE, **look
            )


def _penalties(model: Any) -> tuple[Floats, float]:
    """The penalties of a path, and the chosen one."""
    if hasattr(model, "Cs_") and hasattr(model, "coefs_"):
        return 1.0 / np.ravel(model.Cs_), 1.0 / float(np.ravel(model.C_)[0])
    problem = f"{type(model).__name__} stores no regularization path"
    require_fitted(model, "alphas_", "coefs_", "alpha_", problem=problem)
    return np.ravel(model.alphas_), float(np.ravel(model.alpha_)[0])


# -------------------------------------------------------------------------------------------------
# Criteria of complexity along a path: a curve for each, and the point that it chooses.


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
        from separatrix.selection.criteria import criteria

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
            ax.axhline(line, color=style.GRID, linewidth=0.7, zorder=0)
            height = np.full(len(x), np.nan) if c.values is None else _scale_criterion(c)
            ax.plot(x[order], line + height[order], color=style.BLUE, linewidth=1.3)
            at = line + (0.0 if c.values is None else float(height[c.chosen]))
            ax.plot([x[c.chosen]], [at], "o", ms=5.5, color=style.ORANGE, zorder=3)
        style.style_axes(ax, grid=None)
        ax.spines["left"].set_visible(False)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(axis="y", labelcolor=style.MUTED)
        ax.set_ylim(-0.3, len(names) - 0.2)

    def _positions(self, ax: Any) -> tuple[Floats, Any]:
        """Where the points are on the axis, the simplest at the left; and their order."""
        f = self.table.figures
        order = np.argsort(-f.simplicity, kind="stable")
        values = f.values
        # Points from which numbers are placed on a logarithmic axis.
        if len(values) >= 13 and all(isinstance(v, float) and v > 0.0 for v in values):
            x = np.array(values)
            style.log_axis(ax)
            if x[order[0]] > x[order[-1]]:
                ax.invert_xaxis()
        else:
            x = np.empty(len(values))
            x[order] = np.arange(len(values))
            # Points of which labels are written.
            some = np.unique(np.linspace(0, len(x) - 1, min(len(x), 8)).round().astype(int))
            ax.set_xticks(some, [style.label_text(_text(values[order[i]]), 14) for i in some])
            ax.set_xlim(-0.4, len(x) - 0.6)
        ax.set_xlabel(f"{f.parameter} (simple to complex)")
        return x, order


def _scale_criterion(criterion: Criterion) -> Floats:
    """Values between 0, the best, and the height of a line, where larger ones are cut off."""
    assert criterion.values is not None
    values = -criterion.values if criterion.name == "evidence" else criterion.values
    values = np.where(np.isfinite(values), values, np.nan)
    low = float(np.nanmin(values))
    top = float(np.nanquantile(values, 0.75))  # values beyond this quantile are cut off
    top = top if top > low else float(np.nanmax(values))
    span = (top - low) or 1.0
    scaled = (values - low) / span
    # Height of a curve in the distance between two lines.
    return np.asarray(0.72 * np.minimum(scaled, 1.0))


def _text(value: Any) -> str:
    return number(value, 3) if isinstance(value, float) else str(value)


# -------------------------------------------------------------------------------------------------
# Leave-one-out error over the number of neighbors.


@dataclass(eq=False)
class NeighborCountDisplay(Display):
    """Leave-one-out error over the number of neighbors.

    Parameters
    ----------
    n_neighbors : array-like of int, shape (m,)
        Numbers of neighbors.
    errors : array-like of shape (m,)
        Leave-one-out error of each.
    standard_errors : array-like of shape (m,)
        Standard errors of these.
    chosen : int or None, default=None
        The selected number.
    metric : str, default="error"
        "error" for the error rate, or "rmse".

    Attributes
    ----------
    best : int
        Position of the minimum; of ties the largest number.
    within_one_se : tuple of int
        Fewest and most neighbors within one standard error of the minimum.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty of a linear model.
    DistanceConcentrationDisplay : Whether distances distinguish near from far rows.

    Examples
    --------
    >>> from separatrix.pictures import NeighborCountDisplay
    >>> display = NeighborCountDisplay([1, 2, 3], [0.4, 0.2, 0.25], [0.1, 0.1, 0.1], chosen=2)
    >>> display.within_one_se
    (2, 3)
    """

    n_neighbors: Any
    errors: Floats
    standard_errors: Floats
    chosen: int | None = None
    metric: str = "error"

    title: ClassVar[str] = "Leave-one-out error over the number of neighbors"

    def __post_init__(self) -> None:
        self.n_neighbors = np.asarray(self.n_neighbors, dtype=int).ravel()
        self.errors = np.asarray(self.errors, dtype=float).ravel()
        self.standard_errors = np.asarray(self.standard_errors, dtype=float).ravel()
        m = self.n_neighbors.size
        if not m or not m == self.errors.size == self.standard_errors.size:
            raise InputError(
                f"{self.errors.size} errors and {self.standard_errors.size} standard errors for "
                f"{m} numbers of neighbors."
            )

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a model fitted with ``n_neighbors="auto"`` (``leave_one_out_``)."""
        from sklearn.base import is_classifier

        require_fitted(
            model,
            "leave_one_out_",
            problem=f"{type(model).__name__} did not choose its number of neighbors",
            remedy="Fit with n_neighbors='auto'.",
        )
        leave_one_out, chosen = model.leave_one_out_, model.n_neighbors_
        if is_classifier(model):
            return cls(
                leave_one_out.n_neighbors, leave_one_out.error, leave_one_out.standard_error, chosen
            )
        root = np.sqrt(leave_one_out.error)
        # √(e ± s) ≈ √e ± s / 2√e
        standard_error = np.divide(
            leave_one_out.standard_error, 2.0 * root, out=np.zeros_like(root), where=root > 0
        )
        return cls(leave_one_out.n_neighbors, root, standard_error, chosen, "rmse")

    @property
    def best(self) -> int:
        """Position of the minimum; of ties the largest number."""
        return int(np.flatnonzero(self.errors <= self.errors.min())[-1])

    @property
    def within_one_se(self) -> tuple[int, int]:
        """Fewest and most neighbors within one standard error of the minimum."""
        limit = self.errors[self.best] + self.standard_errors[self.best]
        near = self.n_neighbors[self.errors <= limit]
        return int(near.min()), int(near.max())

    @property
    def description(self) -> str:
        """Both ends, the minimum, the range within one standard error, and the choice."""
        short, first, last = score_info(self.metric).short, self.errors[0], self.errors[-1]
        text = (
            f"Leave-one-out {short}: {score_text(first, self.metric)} with "
            f"{self.n_neighbors[0]} neighbor{'s' if self.n_neighbors[0] > 1 else ''}, "
            f"{score_text(last, self.metric)} with {self.n_neighbors[-1]}; minimum "
            f"{score_text(self.errors[self.best], self.metric)} with {self.n_neighbors[self.best]}."
        )
        if self.within_one_se[0] < self.within_one_se[1]:
            text += (
                f" Within one standard error: {self.within_one_se[0]} to {self.within_one_se[1]}."
            )
        if self.chosen is not None:
            text += f" Chosen: {self.chosen}."
        return text

    def _draw(self, ax: Any) -> None:
        if self.standard_errors.any():
            ends = self.errors - self.standard_errors, self.errors + self.standard_errors
            marks.fill_band(ax, self.n_neighbors, *ends, label="± 1 standard error")
        dots = "." if self.n_neighbors.size < 40 else ""
        ax.plot(
            self.n_neighbors,
            self.errors,
            color=style.BLUE,
            marker=dots,
            label="leave-one-out error",
        )
        if self.chosen is not None:
            index = int(np.argmin(np.abs(self.n_neighbors - self.chosen)))
            marks.mark_point(ax, self.chosen, self.errors[index], f"chosen: {self.chosen}")
        style.style_axes(ax)
        ax.set_xlabel("number of neighbors")
        style.label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.legend(frameon=False, fontsize=9, loc="best")

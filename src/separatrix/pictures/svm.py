"""Support vector machines: support vectors, dual coefficients, and their path over C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import join_words, number, plural, score_info, score_text
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.decisions import draw_contour, fill_regions
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, like, require_fitted
from separatrix.probability.decision_surface import (
    DecisionFunctionSurface,
    decision_function_surface,
)
from separatrix.rows.schema import to_array

if TYPE_CHECKING:
    from separatrix.svm.svm_path import SVMPath


# -------------------------------------------------------------------------------------------------
# Decision function of a binary classifier on a plane: f = 0, f = ±1, support vectors.


@describe_parameters
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
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Support vectors and margins"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

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
        counts = [
            f"{int(self.support[self.y == k].sum()):,} of {int((self.y == k).sum()):,} of {label}"
            for k, label in enumerate(self.labels)
        ]
        text = (
            f"{plural(int(self.support.sum()), 'support vector')} of "
            f"{plural(len(self.y), 'row')}, ringed: {counts[0]}, {counts[1]}. The solid line is "
            "the decision boundary f = 0, the dashed lines are the margins f = ±1."
        )
        if self.surface.projected:
            text += (
                " A projection on the discriminant direction and the largest remaining variance; "
                "f is evaluated on this plane, all other directions at their means."
            )
        return text

    def _draw(self, ax: Any) -> None:
        at, f = self.surface, self.surface.values
        fill_regions(ax, at.x, at.y, np.stack([-f, f], axis=2), style.SERIES[:2], (0.1, 0.1))
        for level, dashes in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
            draw_contour(ax, at.x, at.y, f, level, dashes)
        limit = 0 if len(at.points) > self.max_points else self.max_points
        for k, label in enumerate(self.labels):
            point = at.points[self.y == k]
            if len(point):
                marks.scatter(
                    ax, point[:, 0], point[:, 1], max_points=limit, color=style.SERIES[k], groups=2
                )
                ax.plot([], [], "o", ms=5, color=style.SERIES[k], label=style.label_text(label, 18))
        self._rings(ax)
        ax.set_xlim(at.x[0], at.x[-1])
        ax.set_ylim(at.y[0], at.y[-1])
        style.style_axes(ax, grid=None)
        ax.set_xlabel(style.label_text(at.names[0], 44))
        ax.set_ylabel(style.label_text(at.names[1], 36))
        look = {"facecolor": "none", "edgecolor": "none", "fontsize": 8.5}
        ax.legend(frameon=True, fancybox=False, loc="best", **look)

    def _rings(self, ax: Any) -> None:
        """A ring around each support vector, unless there are too many."""
        points = self.surface.points
        point = points[self.support]
        # More support vectors than this are not ringed one by one.
        if not len(point) or len(points) > self.max_points or len(point) > 500:
            return
        look = {"mfc": "none", "mec": style.text_color(ax), "mew": 0.7, "linestyle": "none"}
        ax.plot(point[:, 0], point[:, 1], "o", ms=6.5, label="support vectors", **look)


# -------------------------------------------------------------------------------------------------
# Dual coefficients α of a support vector machine.
#
# α = 0       outside the margin: not a support vector
# 0 < α < C   on the margin: a free support vector
# α = C       inside the margin or misclassified: a bounded support vector


@describe_parameters
@dataclass(eq=False)
class DualCoefficientDisplay(Display):
    """Dual coefficients α of a binary SVM, sorted, by class.

    Parameters
    ----------
    alpha : array-like of shape (n,)
        Dual coefficient of each training row; signs are ignored.
    C : float or array-like of shape (n,)
        Upper bound of α, for all rows or for each; infinite for a hard margin.
    y : array-like of shape (n,)
        Class of each row.
    labels : sequence of str

    See Also
    --------
    SupportVectorDisplay : Support vectors and margins on a plane.
    SVMPathDisplay : Support vectors and score over C.

    Examples
    --------
    >>> from separatrix.pictures import DualCoefficientDisplay
    >>> display = DualCoefficientDisplay([0.0, 0.5, 1.0], 1.0, ["a", "a", "b"], ["a", "b"])
    >>> display.groups("a"), display.groups("b")
    ((1, 1, 0), (0, 0, 1))
    """

    alpha: Floats
    C: Any
    y: Any
    labels: Sequence[str]

    title: ClassVar[str] = "Dual coefficients by class"

    def __post_init__(self) -> None:
        self.alpha = np.abs(np.asarray(self.alpha, dtype=float)).ravel()
        self.C = np.broadcast_to(np.asarray(self.C, dtype=float), self.alpha.shape)
        self.y = np.array([str(label) for label in self.y])
        if self.y.shape != self.alpha.shape:
            raise InputError(f"{self.alpha.size} dual coefficients for {self.y.size} labels.")

    @classmethod
    def from_estimator(cls, model: Any, y: Any) -> Self:
        """From a fitted binary SVM with ``support_`` and ``dual_coef_``, and its classes."""
        dual = np.atleast_2d(to_array(model.dual_coef_))
        if dual.shape[0] != 1:
            raise InputError(
                "Dual coefficients are drawn for two classes.",
                remedy="Draw one of the binary SVMs by itself.",
            )
        alpha = np.zeros(len(y))
        alpha[np.asarray(model.support_)] = np.abs(dual[0])
        if hasattr(model, "nu") and not hasattr(model, "C"):  # ν in its place: 1/ρ of every row
            C = np.zeros(len(y))
            C[model.svms_[0].rows] = model.svms_[0].C
        else:
            C = model.C_ if hasattr(model, "C_") else model.C
        return cls(alpha, C, y, [str(c) for c in model.classes_])

    @property
    def relative(self) -> Floats:
        """α/C of each row; α over its maximum for a hard margin."""
        if self._bounded:
            return np.asarray(self.alpha / self.C)
        return np.asarray(self.alpha / max(float(self.alpha.max(initial=0.0)), 1e-300))

    @property
    def _bounded(self) -> bool:
        return bool((np.isfinite(self.C) & (self.C > 0)).all())

    def groups(self, label: str) -> tuple[int, int, int]:
        """Numbers of rows of a class with α = 0, with 0 < α < C, and with α = C."""
        members = self.y == label
        alpha, bound = self.alpha[members], self.C[members]
        tolerance = 1e-6  # the relative distance within which α counts as equal to a bound
        at_bound = np.isfinite(bound) & (alpha >= (1 - tolerance) * bound)
        # Without a bound, zero is judged by the largest coefficient.
        scale = np.where(np.isfinite(bound), bound, alpha.max(initial=0.0))
        zero = alpha <= tolerance * scale
        return int(zero.sum()), int((~zero & ~at_bound).sum()), int((at_bound & ~zero).sum())

    @property
    def description(self) -> str:
        """Number of support vectors, and the three groups of each class."""
        parts = []
        for label in self.labels:
            zero, free, bounded = self.groups(label)
            parts.append(f"{label}: {zero:,} with α = 0, {free:,} free, {bounded:,} with α = C")
        support = sum(sum(self.groups(label)[1:]) for label in self.labels)
        percent = f"{100 * support / max(self.alpha.size, 1):.0f} %"
        rows = plural(self.alpha.size, "row")
        return f"{support:,} of {rows} ({percent}) are support vectors. {join_words(parts)}."

    def _draw(self, ax: Any) -> None:
        relative = self.relative
        for i, label in enumerate(self.labels):
            distances = np.sort(relative[self.y == label])[::-1]
            if not distances.size:
                continue
            rank = np.arange(1, distances.size + 1)
            # Points of a line.
            some = np.unique(np.linspace(0, distances.size - 1, 240).round().astype(int))
            zero, free, bounded = self.groups(label)
            counts = f"{bounded:,} at C, {free:,} free, {zero:,} zero"
            ax.step(
                np.append(0, rank[some]),
                np.append(distances[0], distances[some]),
                where="pre",
                color=style.SERIES[i % len(style.SERIES)],
                linestyle="-" if i % 2 == 0 else (0, (5, 2)),
                label=f"{style.label_text(label, 16)}: {counts}",
            )
        ax.axhline(1.0, color=style.MUTED, linewidth=0.9)
        style.style_axes(ax)
        ax.set_ylim(-0.03, 1.2)
        ax.set_xlabel("rows of the class, sorted by dual coefficient")
        ax.set_ylabel("α / C" if self._bounded else "α / largest α")
        ax.legend(frameon=False, fontsize=8.5, loc="upper right")


# -------------------------------------------------------------------------------------------------
# Support vectors and score of a support vector machine over C.


@dataclass(eq=False)
class SVMPathDisplay(Display):
    """Number of support vectors and cross-validation score over C.

    Parameters
    ----------
    Cs : array-like of shape (m,)
        Values of C, all positive.
    n_support : array-like of shape (m,)
        Number of support vectors at each C.
    scores : array-like of shape (m,) or (m, folds) or None, default=None
        Score on validation folds at each C.
    chosen : float or None, default=None
        The selected C.
    metric : str, default="error"
        Name of the score.
    n_rows : int or None, default=None
        Number of training rows.

    Attributes
    ----------
    means : ndarray of shape (m,) or None
        Mean score over the folds.
    best : int or None
        Position of the best mean score; of ties the smallest C.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty of a linear model.
    DualCoefficientDisplay : Dual coefficients by class.

    References
    ----------
    T. Hastie, S. Rosset, R. Tibshirani and J. Zhu, The entire regularization path for the
    support vector machine, Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from separatrix.pictures import SVMPathDisplay
    >>> display = SVMPathDisplay([0.1, 1.0, 10.0], [50, 20, 5], [0.4, 0.1, 0.2], chosen=1.0)
    >>> display.description
    'From C = 0.100 to 10 the number of support vectors goes from 50 to 5. The best validation error
    rate, 10.0 %, is at C = 1. At the chosen C = 1 there are 20 support vectors.'
    """

    Cs: Floats
    n_support: Floats
    scores: Floats | None = None
    chosen: float | None = None
    metric: str = "error"
    n_rows: int | None = None

    title: ClassVar[str] = "Support vectors and score over C"

    def __post_init__(self) -> None:
        Cs = np.asarray(self.Cs, dtype=float).ravel()
        n_support = np.asarray(self.n_support, dtype=float).ravel()
        if not Cs.size or n_support.size != Cs.size or (Cs <= 0).any():
            raise InputError(
                f"{Cs.size} values of C and {n_support.size} counts of support vectors.",
                remedy="Give a count for each C, all of them above zero.",
            )
        order = np.argsort(Cs, kind="stable")
        self.Cs, self.n_support = Cs[order], n_support[order]
        if self.scores is not None:
            scores = np.asarray(self.scores, dtype=float)
            if len(scores) != Cs.size:
                raise InputError(f"{len(scores)} rows of scores for {Cs.size} values of C.")
            self.scores = scores.reshape(Cs.size, -1)[order]

    @classmethod
    def from_estimator(cls, model: Any, *, metric: str = "error") -> Self:
        """From a fitted search over C (``Cs_``, ``n_support_path_``, ``score_path_``, ``C_``).

        Or from a cross-validated :class:`~separatrix.SVMPath`, at no more than 200 values of C.
        """
        from separatrix.svm.svm_path import SVMPath

        if isinstance(model, SVMPath):
            require_fitted(
                model,
                "errors_",
                problem="The path was not cross-validated",
                remedy="Fit with C=None.",
            )
            return cls._from_exact_path(model, metric)
        problem = f"{type(model).__name__} stores no path over C"
        require_fitted(model, "Cs_", "n_support_path_", "score_path_", "C_", problem=problem)
        return cls(model.Cs_, model.n_support_path_, model.score_path_, float(model.C_), metric)

    @classmethod
    def _from_exact_path(cls, model: SVMPath, metric: str) -> Self:
        """Support vectors from the segments of an exact path; errors by fold."""
        # Values of C of an exact path that are drawn.
        some = np.unique(np.linspace(0, len(model.Cs_) - 1, 200).astype(int))
        Cs = np.asarray(model.Cs_)[some]
        groups = [model.group_at(C).reshape(-1, len(model.paths_)) for C in Cs]
        n_support = [float((group >= 0).any(axis=1).sum()) for group in groups]
        return cls(Cs, np.array(n_support), model.errors_[some], float(model.C_), metric)

    @property
    def means(self) -> Floats | None:
        """Mean score over the folds."""
        return None if self.scores is None else np.asarray(self.scores.mean(axis=1))

    @property
    def best(self) -> int | None:
        """Position of the best mean score; of ties the smallest C."""
        if self.means is None:
            return None
        sign = -1 if score_info(self.metric).higher_is_better else 1
        return int(np.argmin(sign * self.means))

    @property
    def description(self) -> str:
        """Support vectors at both ends, the best score, and the chosen C."""
        among = "" if self.n_rows is None else f" (of {plural(self.n_rows, 'row')})"
        text = (
            f"From C = {number(self.Cs[0], 3)} to {number(self.Cs[-1], 3)} the number of support "
            f"vectors{among} goes from {self.n_support[0]:,.0f} to {self.n_support[-1]:,.0f}."
        )
        if self.means is not None and self.best is not None:
            text += (
                f" The best validation {_lower(score_info(self.metric).short)}, "
                f"{score_text(self.means[self.best], self.metric)}, is at C = "
                f"{number(self.Cs[self.best], 3)}."
            )
        if self.chosen is not None:
            index = int(np.argmin(np.abs(np.log(self.Cs / self.chosen))))
            text += (
                f" At the chosen C = {number(self.chosen, 3)} there are "
                f"{self.n_support[index]:,.0f} support vectors."
            )
        return text

    def _draw(self, ax: Any) -> None:
        ax.plot(self.Cs, self.n_support, color=style.BLUE, marker="." if self.Cs.size < 40 else "")
        style.log_axis(ax)
        ax.set_ylim(0, 1.08 * max(float(self.n_support.max()), 1.0))
        ax.set_ylabel("support vectors", color=style.BLUE)
        style.style_axes(ax)
        ax.set_xlabel("C")
        if self.chosen is not None:
            marks.mark_value(ax, self.chosen, "chosen")
        if self.scores is None or self.means is None:
            return
        other = style.score_axis_right(ax, score_info(self.metric), style.ORANGE)
        if self.scores.shape[1] > 1:
            spread = self.scores.std(axis=1, ddof=1) / np.sqrt(self.scores.shape[1])
            marks.fill_band(
                other, self.Cs, self.means - spread, self.means + spread, color=style.ORANGE
            )
        other.plot(self.Cs, self.means, color=style.ORANGE, linestyle=(0, (5, 2)))


def _lower(name: str) -> str:
    """A name within a sentence; abbreviations stay as they are."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]

"""Evidence and posteriors of Bayesian models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import require_fitted

if TYPE_CHECKING:
    from separatrix.bayes.bayesian_logistic_regression import PosteriorComparison
    from separatrix.bayes.evidence import EvidenceCurve


# -------------------------------------------------------------------------------------------------
# Evidence: of models that are averaged by it, and over the precision of a prior.


@dataclass(eq=False)
class EvidenceWeightDisplay(Display):
    """Weights of models that are averaged by their evidence, the largest first.

    Parameters
    ----------
    names : sequence of str
        Names of the models.
    weights : array-like of shape (m,)
        Their probabilities given the rows.
    log_evidence : array-like of shape (m,)
        Their log evidence.
    max_shown : int, default=15
        Number of models drawn at most.

    See Also
    --------
    EvidenceCurveDisplay : Evidence over the precision of a prior.

    Examples
    --------
    >>> from separatrix.pictures import EvidenceWeightDisplay
    >>> EvidenceWeightDisplay(["ridge", "relevance"], [0.25, 0.75], [-12.1, -11.0]).description
    'Probabilities of 2 models given the rows: relevance 75.0 % and ridge 25.0 %. The log evidence
    of the first is 1.100 above that of the next.'
    """

    names: Sequence[str]
    weights: Floats
    log_evidence: Floats
    max_shown: int = 15

    title: ClassVar[str] = "Weights of models by evidence"

    def __post_init__(self) -> None:
        self.weights = np.asarray(self.weights, dtype=float)
        self.log_evidence = np.asarray(self.log_evidence, dtype=float)
        if not len(self.names) == len(self.weights) == len(self.log_evidence) > 0:
            raise InputError(
                f"{len(self.names)} names, {len(self.weights)} weights and "
                f"{len(self.log_evidence)} evidences."
            )

    @classmethod
    def from_estimator(
        cls, model: Any, *, names: Sequence[str] | None = None, max_shown: int = 15
    ) -> Self:
        """From a fitted :class:`~separatrix.EvidenceAveraging`."""
        if names is None:
            kinds = [type(estimator).__name__ for estimator in model.estimators_]
            names = [
                kind if kinds.count(kind) == 1 else f"{kind} {i + 1}"
                for i, kind in enumerate(kinds)
            ]
        return cls(names, model.weights_, model.log_evidences_, max_shown)

    @property
    def shown(self) -> list[int]:
        """Positions of the models drawn, the largest weight first."""
        order = np.lexsort((-self.log_evidence, -self.weights))
        return [int(i) for i in order[: self.max_shown]]

    @property
    def description(self) -> str:
        """The largest weights, and how far the evidence of the first is above the next."""
        first = [f"{self.names[i]} {100 * self.weights[i]:.1f} %" for i in self.shown[:3]]
        listed = " and ".join([", ".join(first[:-1]), first[-1]]) if len(first) > 1 else first[0]
        text = f"Probabilities of {plural(len(self.names), 'model')} given the rows: {listed}."
        if len(self.shown) > 1:
            a, b = (self.log_evidence[i] for i in self.shown[:2])
            side = "above" if a >= b else "below"
            text += (
                f" The log evidence of the first is {number(abs(a - b))} {side} that of the next."
            )
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 1.05 + 0.26 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        position = -np.arange(len(self.shown), dtype=float)
        ax.barh(position, self.weights[self.shown], height=0.62, color=style.BLUE)
        ax.set_yticks(position, [style.label_text(self.names[i], 20) for i in self.shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        ax.set_xlim(0.0, 1.0)
        style.style_axes(ax, grid="x")
        style.percent_axis(ax.xaxis)
        ax.set_xlabel("probability given the rows")


@dataclass(eq=False)
class EvidenceCurveDisplay(Display):
    """Log evidence over the precision of the prior, its maximum marked.

    Parameters
    ----------
    curve : EvidenceCurve
        What ``BayesianRidge.evidence_curve`` returns.

    See Also
    --------
    RegularizationPathDisplay : Coefficients over the penalty.
    EvidenceWeightDisplay : Weights of models by evidence.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import EvidenceCurveDisplay
    >>> model = sx.BayesianRidge().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.8, 3.1])
    >>> EvidenceCurveDisplay.from_estimator(model).title
    'Evidence over the precision of the prior'
    """

    curve: EvidenceCurve

    title: ClassVar[str] = "Evidence over the precision of the prior"

    @classmethod
    def from_estimator(cls, model: Any, lambdas: Any = None) -> Self:
        """From a fitted :class:`~separatrix.BayesianRidge`."""
        return cls(model.evidence_curve(lambdas))

    @property
    def description(self) -> str:
        """The range drawn, and the maximum."""
        c = self.curve
        text = (
            f"Log evidence for {plural(len(c.lambdas), 'precision')} of the prior from "
            f"{number(float(c.lambdas.min()))} to {number(float(c.lambdas.max()))}. "
        )
        if not np.isfinite(c.best_lambda):
            return text + "It is highest without any coefficient."
        noise = 1.0 / float(np.sqrt(c.best_alpha))
        return text + (
            f"It is highest, {number(c.best_log_evidence)}, at λ = {number(c.best_lambda)}, with a "
            f"noise of standard deviation {number(noise)}."
        )

    def _draw(self, ax: Any) -> None:
        c = self.curve
        ax.plot(c.lambdas, c.log_evidence, color=style.BLUE)
        top = float(max(c.log_evidence.max(), c.best_log_evidence))
        low = max(float(c.log_evidence.min()), top - 60.0)
        ax.set_ylim(low - 0.05 * (top - low) - 1e-9, top + 0.12 * (top - low) + 1e-9)
        style.style_axes(ax)
        style.log_axis(ax)
        if c.lambdas.min() <= c.best_lambda <= c.lambdas.max():
            at = (c.best_lambda, c.best_log_evidence)
            marks.mark_point(ax, *at, "maximum")
            marks.annotate(ax, f"λ = {number(c.best_lambda)}", at, (0, 7), ha="center")
        ax.set_xlabel("precision λ of the prior")
        ax.set_ylabel("log evidence")


# -------------------------------------------------------------------------------------------------
# The Laplace approximation beside posterior draws: intervals of every coefficient.


@dataclass(eq=False)
class LaplaceComparisonDisplay(Display):
    """95 % intervals of the Laplace approximation and of posterior draws, the largest shift first.

    Parameters
    ----------
    comparison : PosteriorComparison
        What ``BayesianLogisticRegression.compare`` returns.
    max_shown : int, default=20
        Number of coefficients drawn at most.

    Attributes
    ----------
    shown : list of int
        Positions of the coefficients drawn, the largest shift of the mean first.

    See Also
    --------
    CoefficientDisplay : Coefficients with confidence intervals.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import LaplaceComparisonDisplay
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> display = LaplaceComparisonDisplay.from_estimator(model, n_samples=1000, random_state=0)
    >>> [display.comparison.labels[j] for j in display.shown]
    ['x0', 'intercept']
    """

    comparison: PosteriorComparison
    max_shown: int = 20

    title: ClassVar[str] = "Laplace approximation and posterior draws"

    def __post_init__(self) -> None:
        if not self.shown:
            raise InputError("Nothing is drawn: no coefficient varies.")

    @classmethod
    def from_estimator(
        cls, model: Any, *, n_samples: int = 1000, random_state: Any = None, max_shown: int = 20
    ) -> Self:
        """From a fitted model, whose posterior is sampled."""
        samples = model.sample(n_samples, random_state=random_state)
        return cls(model.compare(samples), max_shown)

    @property
    def shown(self) -> list[int]:
        """Positions of the coefficients drawn, the largest shift of the mean first."""
        varies = self.comparison.laplace_std > 0.0
        shift = np.where(varies, np.abs(self.comparison.relative_shift), -1.0)
        order = np.argsort(-shift, kind="stable")
        return [int(j) for j in order[: self.max_shown] if varies[j]]

    @property
    def description(self) -> str:
        """The comparison in words, and what is drawn of it."""
        text = f"95 % intervals of the approximation and of the draws. {self.comparison}"
        total = int((self.comparison.laplace_std > 0.0).sum())
        if total > len(self.shown):
            text += f" The {number(len(self.shown))} of {number(total)} with the largest shift."
        return text

    @property
    def caption(self) -> str:
        """The comparison in words."""
        return str(self.comparison)

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 1.05 + 0.26 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        c, shown = self.comparison, self.shown
        position = -np.arange(len(shown), dtype=float)
        marks.reference_line(ax, 0.0, horizontal=False)
        pairs = (
            (0.16, style.BLUE, c.laplace_mean, c.laplace_interval),
            (-0.16, style.ORANGE, c.sample_mean, c.sample_interval),
        )
        for at, j in zip(position, shown, strict=True):
            for offset, color, mean, interval in pairs:
                ends = (interval[j] - c.laplace_mean[j]) / c.laplace_std[j]
                middle = (mean[j] - c.laplace_mean[j]) / c.laplace_std[j]
                ax.plot(ends, [at + offset] * 2, color=color, linewidth=1.4)
                ax.plot([middle], [at + offset], "o", ms=4.5, mfc=color, mec=color)
        ax.set_yticks(position, [style.label_text(c.labels[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("standard deviations from the maximum")
        for right, text, color in ((0, "Laplace", style.BLUE), (54, "draws", style.ORANGE)):
            marks.annotate(ax, text, (0, 1), (right, 4), "axes fraction", color=color)


# -------------------------------------------------------------------------------------------------
# Relevance of columns: inverse length scales of a Gaussian process.


@describe_parameters
@dataclass(eq=False)
class RelevanceDisplay(Display):
    """Relevance of each column to a Gaussian process: its deviation over its length scale.

        relevance_j = sd(x_j) / ℓ_j

    The function bends within a step of ℓ_j along column j alone. Along a column of small relevance
    it is nearly linear or constant: permutation importance tells which. Lines are 95 %
    intervals from the curvature of the log evidence in log ℓ; hollow dots are columns whose length
    scale the data leave open.

    Parameters
    ----------
    names : sequence of str
    length_scales : ndarray of shape (k,)
        ℓ in units of the columns; infinite where a column has no effect.
    intervals : ndarray of shape (k, 2) or None, default=None
        95 % intervals of the length scales; NaN or infinite where the data leave them open.
    scale : ndarray of shape (k,) or None, default=None
        Standard deviations of the columns; None: length scales are given in these.
    max_shown : int, default=15
        Number of columns drawn at most.

    Attributes
    ----------
    relevance : ndarray of shape (k,)
        sd(x)/ℓ.
    determined : ndarray of bool
        Where the interval of the length scale is finite.

    See Also
    --------
    PermutationImportanceDisplay : How much worse predictions are without a column.
    CoefficientDisplay : Coefficients of a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import RelevanceDisplay
    >>> display = RelevanceDisplay(
    ...     ("age", "dose"), np.array([2.0, 0.5]), np.array([[0.5, np.inf], [0.4, 0.6]]))
    >>> display.relevance.tolist(), display.determined.tolist()
    ([0.5, 2.0], [False, True])
    """

    names: Sequence[str]
    length_scales: Floats
    intervals: Floats | None = None
    scale: Floats | None = None
    max_shown: int = 15

    title: ClassVar[str] = "Relevance of columns by length scale"

    def __post_init__(self) -> None:
        self.length_scales = np.asarray(self.length_scales, dtype=float)
        k = len(self.names)
        if not k or self.length_scales.shape != (k,):
            raise InputError(f"{k} names and length scales of shape {self.length_scales.shape}.")
        if self.intervals is not None and np.shape(self.intervals) != (k, 2):
            raise InputError(f"{k} names and intervals of shape {np.shape(self.intervals)}.")
        if not np.isfinite(self.length_scales).any():
            raise InputError("No column has a finite length scale to draw.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, max_shown: int = 15) -> Self:
        """From a fitted Gaussian process with a length scale for each column, and rows of numbers.

        Spreads are those of the columns of ``X``, intervals those of ``hyperparameter_intervals``.
        """
        require_fitted(model, "kernel_", problem=f"{type(model).__name__} is not fitted")
        if not hasattr(model, "hyperparameter_intervals"):
            raise InputError(f"{type(model).__name__} has no length scales with intervals.")
        intervals = [
            interval
            for interval in model.hyperparameter_intervals(0.95)
            if interval.column is not None and interval.name.startswith("length scale")
        ]
        spread = np.asarray(X, dtype=float).std(axis=0)
        if len(intervals) != len(spread):
            raise InputError(
                f"The kernel has {len(intervals)} length scales of columns, and there are "
                f"{plural(len(spread), 'column')}.",
                remedy="Fit a kernel with a length scale for each column, such as the default one.",
            )
        ends = [
            (interval.lower, interval.upper) if interval.determined else (np.nan, np.nan)
            for interval in intervals
        ]
        values = np.array([interval.value for interval in intervals])
        return cls(
            [str(interval.column) for interval in intervals],
            values,
            np.array(ends),
            spread,
            max_shown,
        )

    @property
    def unit(self) -> Floats:
        """Standard deviation of each column."""
        return np.ones(len(self.names)) if self.scale is None else np.asarray(self.scale, float)

    @property
    def relevance(self) -> Floats:
        """sd(x)/ℓ."""
        return np.asarray(self.unit / self.length_scales)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Where the interval of the length scale is finite."""
        if self.intervals is None:
            return np.isfinite(self.length_scales)
        return np.asarray(np.isfinite(self.intervals).all(axis=1))

    @property
    def shown(self) -> list[int]:
        """Positions of the columns drawn, the most relevant first."""
        order = np.argsort(-np.nan_to_num(self.relevance), kind="stable")
        return [int(j) for j in order[: self.max_shown]]

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Standard deviation of each column over its length scale. {self.caption}"

    @property
    def caption(self) -> str:
        """The three most relevant columns, those left open, and how many are drawn."""
        top = [f"{self.names[j]} {number(self.relevance[j], 3)}" for j in self.shown[:3]]
        text = f"Most relevant: {join_words(top)}."
        total, open_ = len(self.names), int((~self.determined).sum())
        if open_:
            verb = "is" if open_ == 1 else "are"
            text += f" {open_} of {plural(total, 'length scale')} {verb} left open by the data."
        if total > len(self.shown):
            text += f" The first {len(self.shown)} of {total} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 0.95 + 0.22 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown, position = self.shown, -np.arange(len(self.shown), dtype=float)
        values, known = self.relevance, self.determined
        largest = float(np.nanmax(values[np.isfinite(values)]))
        floor = 1e-3 * largest  # relevance below this part of the largest is drawn at the edge
        ends = None if self.intervals is None else self.unit[:, None] / self.intervals[:, ::-1]
        reach = [largest, *np.maximum(values[shown], floor)]
        for at, j in zip(position, shown, strict=True):
            color = style.BLUE if known[j] else style.MUTED
            if ends is not None:
                low, high = np.nan_to_num(ends[j], nan=floor, posinf=values[j])
                reach += [max(float(low), floor), float(high)]
                ax.plot(np.maximum([low, high], floor), [at, at], color=color, linewidth=1.4)
            fill, value = color if known[j] else style.PAPER, max(float(values[j]), floor)
            ax.plot([value], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        style.log_axis(ax)
        ax.set_xlim(min(reach) / 1.6, 1.6 * max(reach))
        ax.set_yticks(position, [style.label_text(self.names[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("standard deviations per length scale (log)")
        raw = ax.secondary_yaxis("right")
        raw.set_yticks(position, [number(self.length_scales[j], 3) for j in shown])
        raw.tick_params(length=0, labelcolor=style.MUTED)
        raw.spines["right"].set_visible(False)
        raw.patch.set_visible(False)
        marks.annotate(
            ax, "length scale", (1, 1), (0, 3), "axes fraction", color=style.MUTED, ha="center"
        )

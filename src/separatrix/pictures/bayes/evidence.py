"""Evidence: of models that are averaged by it, and over the precision of a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import annotate, mark_point
from separatrix.pictures.style import BLUE, WIDTH, label_text, log_axis, percent_axis, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.bayes.linear.evidence import EvidenceCurve


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
            kinds = [type(one).__name__ for one in model.estimators_]
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
        return WIDTH, 1.05 + 0.26 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        position = -np.arange(len(self.shown), dtype=float)
        ax.barh(position, self.weights[self.shown], height=0.62, color=BLUE)
        ax.set_yticks(position, [label_text(self.names[i], 20) for i in self.shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        ax.set_xlim(0.0, 1.0)
        style_axes(ax, grid="x")
        percent_axis(ax.xaxis)
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
        ax.plot(c.lambdas, c.log_evidence, color=BLUE)
        top = float(max(c.log_evidence.max(), c.best_log_evidence))
        low = max(float(c.log_evidence.min()), top - 60.0)
        ax.set_ylim(low - 0.05 * (top - low) - 1e-9, top + 0.12 * (top - low) + 1e-9)
        style_axes(ax)
        log_axis(ax)
        if c.lambdas.min() <= c.best_lambda <= c.lambdas.max():
            at = (c.best_lambda, c.best_log_evidence)
            mark_point(ax, *at, "maximum")
            annotate(ax, f"λ = {number(c.best_lambda)}", at, (0, 7), ha="center")
        ax.set_xlabel("precision λ of the prior")
        ax.set_ylabel("log evidence")

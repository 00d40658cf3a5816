"""Risk–coverage curve: the error of a classifier with a reject option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import exact, score_info, score_text
from separatrix.pictures.points import annotate, mark_point, reference_line
from separatrix.pictures.style import BLUE, MUTED, label_score_axis, style_axes
from separatrix.probability.costs import Costs, costs_of
from separatrix.probability.coverage import CoverageRisk, coverage_risk
from separatrix.rows.block import Floats, unit_weights

#: Points of the line at most.
_POINTS = 300


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

    References
    ----------
    R. El-Yaniv and Y. Wiener, On the foundations of noise-free selective classification,
    Journal of Machine Learning Research 11, 2010.

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
        from separatrix.probability.reject import RejectOption

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
        if coverage.size > _POINTS:
            positions = np.searchsorted(coverage, np.linspace(0, 1, _POINTS))
            shown = np.unique(np.minimum(positions, coverage.size - 1))
        reference_line(ax, risk[-1])
        annotate(ax, "full coverage", (0, risk[-1]), (3, 3), color=MUTED)
        ax.step(
            np.append(0.0, coverage[shown]),
            np.append(risk[shown[0]], risk[shown]),
            where="pre",
            color=BLUE,
        )
        if self.operating_point is not None:
            label = "decision rule in use"
            if self.rejection_cost is not None:
                label = f"rejection cost {exact(self.rejection_cost)}"
            mark_point(ax, *self.operating_point, label)
            ax.legend(frameon=False, fontsize=9, loc="best")
        ax.set_xlim(-0.01, 1.02)
        top = max(float(risk.max()), self.operating_point[1] if self.operating_point else 0.0)
        ax.set_ylim(-0.02 * (top or 0.02), 1.15 * (top or 0.02))
        style_axes(ax)
        label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.set_xlabel("coverage (proportion of rows answered)")


def _operating_point(
    answered: NDArray[np.bool_], incurred: Floats, w: Floats | None
) -> tuple[float, float]:
    """Coverage of the rule, and the mean cost of the rows that it answers."""
    weight = unit_weights(w, incurred.size)
    taken = weight * answered
    risk = float(taken @ incurred / taken.sum()) if taken.sum() > 0 else 0.0
    return float(taken.sum() / weight.sum()), risk

"""Answering fewer rows to err less: the risk of the rows answered, surest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import exact, measure, scored
from separatrix.pictures.style import BLUE, MUTED, ORANGE, PAPER, label_measure, style_axes
from separatrix.probability.costs import Costs, costs_of
from separatrix.probability.coverage import CoverageRisk, coverage_risk
from separatrix.rows.block import Floats, unit_weights

#: Points of the line at most.
POINTS = 300


@dataclass(eq=False)
class CoverageRiskDisplay(Display):
    """``chosen`` is (coverage, risk) of the rule in use, ``price`` what a doubt costs there.

    ``metric`` names the risk: ``"error"``, the share of answers that are wrong, or another cost.
    """

    curve: CoverageRisk
    chosen: tuple[float, float] | None = None
    price: float | None = None
    metric: str = "error"

    title: ClassVar[str] = "Risk against coverage"

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
        """From labels and probabilities (n x K). Rows are sorted by the least expected cost.

        ``costs`` are those of :class:`~separatrix.RejectOption`: the price of doubt where every
        error costs 1, a matrix, or a mapping. Without them every error costs 1 and doubt has no
        price. Rows of other classes than these are left out.
        """
        labels = np.array([str(c) for c in classes])
        place = {label: i for i, label in enumerate(labels)}
        codes = np.array([place.get(str(v), -1) for v in y], dtype=np.intp)
        met = codes >= 0
        p, codes = np.asarray(probabilities, dtype=float)[met], codes[met]
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[met]
        none = Costs(1.0 - np.eye(len(labels)), None)
        known = none if costs is None else costs
        known = known if isinstance(known, Costs) else costs_of(known, labels)
        expected = known.expected(p)
        paid = known.matrix[codes, expected.argmin(axis=1)]
        curve = coverage_risk(expected.min(axis=1), paid, sample_weight=w)
        metric = "error" if np.array_equal(known.matrix, none.matrix) else "mean_cost"
        if known.reject_cost is None:
            return cls(curve, metric=metric)
        answered = known.decide(p) < len(labels)
        price = float(known.reject_cost[0]) if np.ptp(known.reject_cost) == 0 else None
        return cls(curve, _chosen(answered, paid, w), price, metric)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier with probabilities; a ``RejectOption`` brings its costs."""
        costs = getattr(model, "costs_", None)
        return cls.from_predictions(y, model.predict_proba(X), model.classes_, costs=costs)

    @property
    def description(self) -> str:
        """The risk of all rows, of the surer half, and of the rule in use."""
        whole, half = float(self.curve.risk[-1]), self.curve.risk_at(0.5)
        text = (
            f"{measure(self.metric).short} {scored(whole, self.metric)} when all rows are "
            f"answered, {scored(half, self.metric)} on the surer half."
        )
        if self.chosen is not None:
            at = "" if self.price is None else f" At a price of {exact(self.price)} for doubt"
            share = f"{100 * self.chosen[0]:.0f} % are answered"
            text += f"{at}, {share}" if at else f" By the rule in use, {share}"
            text += f", at {scored(self.chosen[1], self.metric)}."
        if whole > 0:
            reach = self.curve.coverage_at(whole / 2)
            text += f" Half of that risk can be had by answering {100 * reach:.0f} %."
        return text

    def _draw(self, ax: Any) -> None:
        coverage, risk = self.curve.coverage, self.curve.risk
        shown = np.arange(coverage.size)
        if coverage.size > POINTS:
            places = np.searchsorted(coverage, np.linspace(0, 1, POINTS))
            shown = np.unique(np.minimum(places, coverage.size - 1))
        ax.axhline(risk[-1], color=MUTED, linewidth=0.9)
        ax.annotate(
            "all answered",
            (0, risk[-1]),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8.5,
            color=MUTED,
        )
        ax.step(
            np.append(0.0, coverage[shown]),
            np.append(risk[shown[0]], risk[shown]),
            where="pre",
            color=BLUE,
        )
        if self.chosen is not None:
            label = "the rule in use"
            if self.price is not None:
                label = f"price of doubt {exact(self.price)}"
            look = {"ms": 7, "mfc": PAPER, "mec": ORANGE, "mew": 1.8, "linestyle": "none"}
            ax.plot(*self.chosen, marker="D", label=label, **look)
            ax.legend(frameon=False, fontsize=9, loc="best")
        ax.set_xlim(-0.01, 1.02)
        top = max(float(risk.max()), float(self.chosen[1]) if self.chosen else 0.0)
        ax.set_ylim(-0.02 * (top or 0.02), 1.15 * (top or 0.02))
        style_axes(ax)
        label_measure(ax.yaxis, measure(self.metric), side=False)
        ax.set_xlabel("share of the rows answered, surest first")


def _chosen(answered: NDArray[np.bool_], paid: Floats, w: Floats | None) -> tuple[float, float]:
    """Share of the rows that the rule answers, and what they cost on average."""
    weight = unit_weights(w, paid.size)
    taken = weight * answered
    risk = float(taken @ paid / taken.sum()) if taken.sum() > 0 else 0.0
    return float(taken.sum() / weight.sum()), risk

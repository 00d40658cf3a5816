"""A support vector machine over its price C: how many rows hold the boundary, and how it scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, measure, number, scored
from separatrix.pictures.style import BLUE, ORANGE, label_measure, log_ticks, style_axes
from separatrix.pictures.training.path import mark_penalty
from separatrix.rows.block import Floats

#: Prices of an exact path that are drawn.
MOST_PRICES = 200


@dataclass(eq=False)
class SVMPathDisplay(Display):
    """``support`` vectors at each of ``Cs``, and ``scores`` there (a column for each fold).

    ``metric`` names the score; ``chosen`` is the C that was taken, ``rows`` how many rows the path
    was made of.
    """

    Cs: Floats
    support: Floats
    scores: Floats | None = None
    chosen: float | None = None
    metric: str = "error"
    rows: int | None = None

    title: ClassVar[str] = "Support vectors over C"

    def __post_init__(self) -> None:
        prices = np.asarray(self.Cs, dtype=float).ravel()
        support = np.asarray(self.support, dtype=float).ravel()
        if not prices.size or support.size != prices.size or (prices <= 0).any():
            raise InputError(
                f"{prices.size} values of C and {support.size} counts of support vectors.",
                remedy="Give a count for each C, all of them above zero.",
            )
        order = np.argsort(prices, kind="stable")
        self.Cs, self.support = prices[order], support[order]
        if self.scores is not None:
            scores = np.asarray(self.scores, dtype=float)
            if len(scores) != prices.size:
                raise InputError(f"{len(scores)} rows of scores for {prices.size} values of C.")
            self.scores = scores.reshape(prices.size, -1)[order]

    @classmethod
    def from_estimator(cls, model: Any, *, metric: str = "error") -> Self:
        """Of a model with ``Cs_`` and ``n_support_path_``, perhaps ``score_path_`` and ``C_``.

        Of an :class:`~separatrix.SVMPath` that was cross-validated, at no more than 200 prices.
        """
        if hasattr(model, "group_at"):
            return cls._exact(model, metric)
        if not hasattr(model, "n_support_path_"):
            raise InputError(f"{type(model).__name__} keeps no path over C (n_support_path_).")
        scores, chosen = getattr(model, "score_path_", None), getattr(model, "C_", None)
        taken = None if chosen is None else float(chosen)
        return cls(model.Cs_, model.n_support_path_, scores, taken, metric)

    @classmethod
    def _exact(cls, model: Any, metric: str) -> Self:
        """Support vectors from the segments of an exact path; its errors are by fold."""
        errors = getattr(model, "errors_", None)
        if errors is None:
            raise InputError("The path was not cross-validated.", remedy="Fit with C=None.")
        some = np.unique(np.linspace(0, len(model.Cs_) - 1, MOST_PRICES).astype(int))
        prices = np.asarray(model.Cs_)[some]
        groups = [model.group_at(C).reshape(-1, len(model.paths_)) for C in prices]
        support = [float((group >= 0).any(axis=1).sum()) for group in groups]
        return cls(prices, np.array(support), errors[some], float(model.C_), metric)

    @property
    def means(self) -> Floats | None:
        """The score at each C, over the folds."""
        return None if self.scores is None else np.asarray(self.scores.mean(axis=1))

    @property
    def best(self) -> int | None:
        """Position of the best score; of equals the smallest C."""
        if self.means is None:
            return None
        sign = -1 if measure(self.metric).higher_is_better else 1
        return int(np.argmin(sign * self.means))

    @property
    def description(self) -> str:
        """Both ends of the count, the best score, and the chosen C."""
        among = "" if self.rows is None else f" of {counted(self.rows, 'row')}"
        text = (
            f"From C = {number(self.Cs[0], 3)} to {number(self.Cs[-1], 3)} the support vectors"
            f"{among} go from {self.support[0]:,.0f} to {self.support[-1]:,.0f}."
        )
        if self.means is not None and self.best is not None:
            text += (
                f" {measure(self.metric).short} on rows left out is best, "
                f"{scored(self.means[self.best], self.metric)}, at C = "
                f"{number(self.Cs[self.best], 3)}."
            )
        if self.chosen is not None:
            at = int(np.argmin(np.abs(np.log(self.Cs / self.chosen))))
            text += (
                f" At the chosen C = {number(self.chosen, 3)}, {self.support[at]:,.0f} support "
                "vectors."
            )
        return text

    def _draw(self, ax: Any) -> None:
        ax.plot(self.Cs, self.support, color=BLUE, marker="." if self.Cs.size < 40 else "")
        ax.set_xscale("log")
        log_ticks(ax)
        ax.set_ylim(0, 1.08 * max(float(self.support.max()), 1.0))
        ax.set_ylabel("support vectors", color=BLUE)
        style_axes(ax)
        ax.set_xlabel("C, soft to hard margin")
        if self.chosen is not None:
            mark_penalty(ax, self.chosen, "chosen")
        if self.scores is None or self.means is None:
            return
        other = ax.twinx()
        if self.scores.shape[1] > 1:
            spread = self.scores.std(axis=1, ddof=1) / np.sqrt(self.scores.shape[1])
            ends = self.means - spread, self.means + spread
            other.fill_between(self.Cs, *ends, color=ORANGE, alpha=0.15, linewidth=0)
        other.plot(self.Cs, self.means, color=ORANGE, linestyle=(0, (5, 2)))
        style_axes(other, grid=None)
        other.spines["right"].set_visible(True)
        label_measure(other.yaxis, measure(self.metric), side=False)
        other.yaxis.label.set_color(ORANGE)

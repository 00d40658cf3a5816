"""Decisions that suit a metric: balanced error and F1 are not minimized by the most probable class.

balanced error:  answer = argmax pₖ / πₖ,  which are decisions at costs 1/πₖ for missing class k
F1:              answer the second class where p ≥ t, with the t of largest F1 out of fold
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.probability.costs import Costs
from separatrix.rows.block import Floats
from separatrix.study.classes.costs import REJECT, DecisionCosts
from separatrix.study.classes.out_of_fold import OutOfFold


def metric_costs(metric: str, found: OutOfFold) -> Costs | None:
    """Costs at which decisions suit the metric; None where the most probable class does."""
    k = len(found.classes)
    if metric == "balanced_error":
        known = found.truth >= 0
        share = np.bincount(found.truth[known], found.w[known], k)
        missed = np.where(share > 0, share.sum() / np.maximum(share, 1e-300) / k, 0.0)
        return Costs((1.0 - np.eye(k)) * missed[:, None], None)
    if metric == "f1" and k == 2 and found.probabilities is not None:
        t = f1_threshold(found.probabilities[:, 1], found.truth == 1, found.w)
        return Costs(np.array([[0.0, t], [1.0 - t, 0.0]]), None)
    return None


def f1_threshold(p: Floats, positive: NDArray[np.bool_], w: Floats) -> float:
    """The threshold of largest F1 = 2 TP / (predicted + actual), halfway to the next value.

    ½ where no row is positive.
    """
    order = np.argsort(-p, kind="stable")
    hits, answers = np.cumsum((w * positive)[order]), np.cumsum(w[order])
    if hits[-1] <= 0:
        return 0.5
    ranked = p[order]
    last = np.append(ranked[1:] < ranked[:-1], True)  # rows of equal p are answered alike
    f1 = np.where(last, 2.0 * hits / (answers + hits[-1]), -1.0)
    best = int(f1.argmax())
    below = ranked[best + 1] if best + 1 < len(p) else 0.0
    return float(np.clip((ranked[best] + below) / 2.0, 1e-12, 1.0 - 1e-12))


def as_decision(costs: Costs, classes: NDArray[Any]) -> DecisionCosts:
    """Costs that a metric implies, as costs that were given."""
    return DecisionCosts(classes, costs, REJECT, None)

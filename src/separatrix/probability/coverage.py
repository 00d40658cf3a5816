"""Selective classification: risk against coverage.

coverage(t) = fraction of rows with uncertainty ≤ t,     risk(t) = mean loss of those rows
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, check_sample_weight, unit_weights


@dataclass(frozen=True)
class CoverageRisk:
    """The risk–coverage curve, one entry for each distinct uncertainty, least uncertain first."""

    thresholds: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """Mean risk over all coverages: ∫ risk d coverage, each step at its right end."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk of predicting at least this fraction of the rows."""
        at = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return float(self.risk[min(at, self.risk.size - 1)])

    def coverage_at(self, risk: float) -> float:
        """The largest fraction of rows that can be predicted at no more than this risk."""
        return float(self.coverage[self.risk <= risk].max(initial=0.0))


def coverage_risk(uncertainty: Any, loss: Any, *, sample_weight: Any = None) -> CoverageRisk:
    """Risk–coverage curve: rows are predicted in the order of their uncertainty.

        coverage(t) = P(uncertainty ≤ t),     risk(t) = E[loss | uncertainty ≤ t]

    Rows of equal uncertainty are predicted together, so that ties have no arbitrary order.

    Parameters
    ----------
    uncertainty : array-like of shape (n,)
        How uncertain the prediction of each row is; any monotone scale.
    loss : array-like of shape (n,)
        What predicting the row costs.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows; a weight of w counts as w equal rows.

    Returns
    -------
    CoverageRisk
        ``thresholds``, ``coverage`` and ``risk``, with ``area``, ``risk_at`` and ``coverage_at``.

    See Also
    --------
    RejectOption : Classifier that rejects rows where that costs less.
    brier_score : Mean squared error of probabilities.

    References
    ----------
    R. El-Yaniv and Y. Wiener, On the foundations of noise-free selective classification,
    Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import separatrix as sx
    >>> curve = sx.coverage_risk([0.1, 0.2, 0.4, 0.5], [0, 0, 1, 0])
    >>> curve.coverage
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> curve.risk_at(0.5), curve.risk_at(1.0)
    (0.0, 0.25)
    """
    u, cost = np.asarray(uncertainty, dtype=float), np.asarray(loss, dtype=float)
    if u.ndim != 1 or u.shape != cost.shape or not u.size:
        raise InputError(f"uncertainty has shape {u.shape} and loss {cost.shape}: one per row.")
    if not (np.isfinite(u).all() and np.isfinite(cost).all()):
        raise InputError("uncertainty and loss must be finite numbers.")
    w = unit_weights(check_sample_weight(sample_weight, u.size), u.size)
    order = np.argsort(u, kind="stable")
    u, cost, w = u[order], cost[order], w[order]
    last = np.append(np.flatnonzero(np.diff(u)), u.size - 1)
    predicted, total_cost = np.cumsum(w)[last], np.cumsum(w * cost)[last]
    positive = predicted > 0
    u, predicted, total_cost = u[last][positive], predicted[positive], total_cost[positive]
    return CoverageRisk(u, predicted / predicted[-1], total_cost / predicted)

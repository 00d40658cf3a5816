"""Answering fewer rows to err less: risk against coverage.

coverage(t) = share of rows with doubt ≤ t,     risk(t) = mean loss of those rows
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.probability.scored import checked_weights
from separatrix.rows.block import Floats, unit_weights


@dataclass(frozen=True)
class CoverageRisk:
    """The curve from the surest rows to all of them; one entry for each distinct doubt."""

    thresholds: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """Mean risk over all coverages: ∫ risk d coverage, each step at its right end."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk of answering at least this share of the rows."""
        at = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return float(self.risk[min(at, self.risk.size - 1)])

    def coverage_at(self, risk: float) -> float:
        """The largest share of rows that can be answered at no more than this risk."""
        return float(self.coverage[self.risk <= risk].max(initial=0.0))


def coverage_risk(reject: Any, loss: Any, *, sample_weight: Any = None) -> CoverageRisk:
    """Sort rows by ``doubt`` (smallest first); ``loss`` is what answering a row costs.

    Rows of equal doubt are answered together: no order among them is made up.
    """
    d, cost = np.asarray(reject, dtype=float), np.asarray(loss, dtype=float)
    if d.ndim != 1 or d.shape != cost.shape or not d.size:
        raise InputError(f"doubt has shape {d.shape} and loss {cost.shape}: one of each per row.")
    if not (np.isfinite(d).all() and np.isfinite(cost).all()):
        raise InputError("doubt and loss must be finite numbers.")
    w = checked_weights(sample_weight, d.size)
    w = unit_weights(w, d.size)
    order = np.argsort(d, kind="stable")
    d, cost, w = d[order], cost[order], w[order]
    last = np.append(np.flatnonzero(np.diff(d)), d.size - 1)
    answered, paid = np.cumsum(w)[last], np.cumsum(w * cost)[last]
    met = answered > 0
    return CoverageRisk(
        d[last][met], answered[met] / answered[-1], paid[met] / np.where(met, answered, 1.0)[met]
    )

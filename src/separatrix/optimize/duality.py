"""Duality gap and KKT residual of a convex linear model, for any loss and any penalty.

    P(b, a) = Σ cᵢ ℓ(zᵢ) + p(b),      zᵢ = yᵢ − sᵢ (residual) or yᵢ sᵢ (margin),   sᵢ = xᵢ·b + a

With σᵢ = dzᵢ/dsᵢ, any u within the domain of ℓ* that balances the intercept, Σ cᵢuᵢσᵢ = 0, gives
the lower bound D(u) = Σ cᵢ (uᵢ zᵢ(0) − ℓ*(uᵢ)) − p*(v) of P, where v = −Σ cᵢ uᵢ σᵢ xᵢ. Then

    P(b, a) − D(u) = Σ cᵢ [ℓ(zᵢ) + ℓ*(uᵢ) − uᵢ zᵢ] + [p(b) + p*(v) − v·b]

is a sum of Fenchel–Young differences, none of them negative: the gap is found without subtracting
two large numbers. It is zero exactly where the KKT conditions u ∈ ∂ℓ(z), v ∈ ∂p(b), Σ cuσ = 0 hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from separatrix.optimize.losses import Loss
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats

EPS = float(np.finfo(float).eps)
#: Rounding error of a sum over rows, relative to the sum of its absolute terms.
ROUNDING = 64.0 * EPS
#: A dual point that is scaled into its domain stays inside by this factor.
INSIDE = 1.0 - 1e-15


class Penalty(Protocol):
    """What a duality gap needs of a penalty."""

    def value(self, b: Floats) -> float:
        """p(b)."""

    def excess(self, b: Floats, v: Floats) -> Floats:
        """p(b) + p*(v) − v·b by coordinate; |v·b| where a coordinate has no penalty."""

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Distance of v to ∂p(b) by coordinate."""

    def offset(self, b: Floats, v: Floats) -> Floats:
        """V less the nearest point of ∂p(b), by coordinate."""

    def feasible_scale(self, v: Floats) -> float:
        """The largest t ≤ 1 for which p*(t·v) is sure to be finite."""


def certify_primal_dual(
    loss: Loss,
    penalty: Penalty,
    c: Floats,
    z: Floats,
    u: Floats,
    coef: Floats,
    v: Floats,
    *,
    claim: str,
    tolerance: float,
    intercept: Floats | float = 0.0,
    imbalance: Floats | float = 0.0,
    v_scale: Floats | float = 1.0,
    z_scale: float = 1.0,
    z_size: Floats | None = None,
    scale: float = np.nan,
    scale_of: str = "",
) -> Certificate:
    """Certificate of (b, a) from a dual point u, with v = −Xᵀ(c u σ) and imbalance = Σ c u σ.

    The gap is the smaller of those at u and at t·u, t being the scale that makes v feasible for
    the penalty. What rounding leaves of v and of the imbalance is charged to the gap at |b| and
    |a|, once for each of the two sides of Fenchel and Young's inequality; the KKT residual
    is the largest of |imbalance| / Σ c|u|, the distance of v to ∂p(b) in units of ``v_scale``, and
    the distance of (z, u) to the graph of ∂ℓ with z in units of ``z_scale``. The rounding error of
    the objective is what errors of ε · ``z_size``, the sizes of the terms that z is the sum of,
    leave in the losses.
    """
    conditions = [
        _largest(imbalance) / (float(c @ np.abs(u)) or 1.0),
        _largest_ratio(penalty.distance(coef, v), v_scale),
        _largest(loss.violation(z, u, z_scale)[c > 0.0]),
    ]
    v, charge = without_rounding(penalty, coef, v, ROUNDING * np.asarray(v_scale))
    gaps = [_gap(loss, penalty, c, z, u, coef, v)]
    t = penalty.feasible_scale(v)
    if t < 1.0:
        t *= INSIDE
        gaps.append(_gap(loss, penalty, c, z, t * u, coef, t * v))
    charge += float(np.sum(np.abs(np.multiply(intercept, imbalance))))
    gap = float(np.fmin.reduce(gaps)) + 2.0 * charge
    primal = float(c @ loss.value(z)) + penalty.value(coef)
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(conditions)),
        tolerance=tolerance,
        rounding=rounding_of_losses(loss, c, z, np.abs(z) if z_size is None else z_size),
        scale=scale,
        scale_of=scale_of,
        statistic="the rows",
    )


def without_rounding(penalty: Penalty, b: Floats, v: Floats, error: Floats) -> tuple[Floats, float]:
    """V moved towards ∂p(b) by its rounding ``error`` at most, and Σ |b|·|move|, the charge.

    Thresholds below the rounding errors of v could not be met otherwise.
    """
    off = np.clip(penalty.offset(b, v), -error, error)
    return v - off, float(np.abs(off * b).sum())


def rounding_of_losses(loss: Loss, c: Floats, z: Floats, size: Floats) -> float:
    """The change of Σ c ℓ(z) if every z is off by ε times the ``size`` of its terms."""
    value, error = loss.value(z), EPS * size
    off = np.maximum(np.abs(loss.value(z + error) - value), np.abs(loss.value(z - error) - value))
    return float(c @ off)


def _gap(
    loss: Loss, penalty: Penalty, c: Floats, z: Floats, u: Floats, coef: Floats, v: Floats
) -> float:
    """P − D where the intercept is balanced; a row without weight counts for nothing."""
    rows = float(c @ np.where(c > 0.0, loss.excess(z, u), 0.0))
    return rows + float(penalty.excess(coef, v).sum())


def joint_certificate(certificates: Sequence[Certificate]) -> Certificate:
    """One certificate of several independent problems: objectives and gaps add up."""
    primal, gap = sum(c.primal for c in certificates), sum(c.gap for c in certificates)
    return replace(
        certificates[0],
        primal=primal,
        gap=gap,
        dual=primal - gap,
        kkt=float(np.max([c.kkt for c in certificates])),
        rounding=sum(c.rounding for c in certificates),
        scale=sum(c.scale for c in certificates),
    )


def _largest(values: Floats | float) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _largest_ratio(distance: Floats, scale: Floats | float) -> float:
    """The largest distance / scale; where the scale is zero, nothing can be measured."""
    scale = np.broadcast_to(np.asarray(scale, dtype=float), distance.shape)
    known = scale > 0.0
    return _largest(distance[known] / scale[known])

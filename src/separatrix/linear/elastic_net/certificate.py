"""Proof that coefficients solve an elastic net, from the data and the coefficients alone.

    f(b) = (1/2Σw) Σ w (y − a − b·x)² + p(b),        g = Σ w r (x − x̄) / Σw,   r = y − a − b·x

For any share t of the residual the dual value gives a bound on how much better any model can be:

    f(b) − min f  ≤  ½ (1 − t)² Σ w r²/Σw  +  Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

``kkt`` is the largest distance of gⱼ to ∂pⱼ(bⱼ), as a share of the spreads of column and target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from separatrix.linear.elastic_net.problem import CONSTANT, Settings
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats, Matrix
from separatrix.statistics.moments import Moments

CLAIM = "Elastic net: no other coefficients have a smaller penalised error"
CLAIM_L1 = "Lasso: no other coefficients have a smaller penalised error"


@dataclass(frozen=True)
class Facts:
    """What the proof needs of the data: Σ w r²/Σw, g, and the spreads of columns and target."""

    square: float
    gradient: Floats
    x_scale: Floats
    y_square: float

    def about(self, x_mean: Floats) -> Facts:
        """A column that varies by rounding alone pulls at nothing: its share of g is rounding."""
        varies = self.x_scale > CONSTANT * np.abs(x_mean)
        return replace(self, gradient=self.gradient * varies, x_scale=self.x_scale * varies)


def facts_of_moments(moments: Moments, coef: Floats, target: int, *, fit_intercept: bool) -> Facts:
    """Residual and gradient from moments; the intercept is the best one for ``coef``."""
    m = moments if fit_intercept else moments.about_origin()
    gradient = (m.xy[:, target] - m.xx @ coef) / m.weight
    yy = float(m.yy[target, target]) / m.weight
    square = yy - float(coef @ (m.xy[:, target] / m.weight + gradient))
    scale = np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight)
    return Facts(max(square, 0.0), gradient, scale, yy).about(m.x_mean)


def facts_of_block(block: Block, coef: Floats, target: int, *, fit_intercept: bool) -> Facts:
    """Residual and gradient from the rows themselves, about their means."""
    w = block.weights
    share = w / w.sum()
    y = block.y[:, target]
    mean = block.rmatvec(share) if fit_intercept else np.zeros(len(coef))
    if fit_intercept:
        y = y - share @ y
    if sparse.issparse(block.x):
        r = y - block.matvec(coef) + float(mean @ coef)
        gradient = block.rmatvec(share * r) - mean * float(share @ r)
        variance = _sparse_variance(block.x, share, mean)
    else:
        z = block.x - mean
        r = y - z @ coef
        gradient = z.T @ (share * r)
        variance = np.einsum("i,ij,ij->j", share, z, z)
    facts = Facts(float(share @ r**2), gradient, np.sqrt(variance), float(share @ y**2))
    return facts.about(mean)


def _sparse_variance(x: Matrix, share: Floats, mean: Floats) -> Floats:
    """Σ share (x − x̄)² by column: the entries that are stored, then all the zeros at once."""
    entries = x.tocoo()
    about = entries.data - mean[entries.col]
    stored = np.bincount(entries.col, share[entries.row] * about**2, minlength=len(mean))
    seen = np.bincount(entries.col, share[entries.row], minlength=len(mean))
    return np.asarray(stored + mean**2 * np.maximum(1.0 - seen, 0.0))


def certify_elastic_net(
    source: Moments | Block, coef: Floats, alpha: float, settings: Settings
) -> Certificate:
    """The certificate of ``coef`` (d x k): objectives and gaps of the k targets add up."""
    of = facts_of_moments if isinstance(source, Moments) else facts_of_block
    primal, gap, kkt, scale = 0.0, 0.0, 0.0, 0.0
    for target in range(coef.shape[1]):
        b = coef[:, target]
        facts = of(source, b, target, fit_intercept=settings.fit_intercept)  # type: ignore[arg-type]
        penalty = _penalty(facts, alpha, settings)
        primal += 0.5 * facts.square + penalty.value(b)
        gap += _gap(facts, penalty, b) if alpha else np.nan
        kkt = max(kkt, _kkt(facts, penalty, b))
        scale += 0.5 * facts.y_square
    return Certificate(
        CLAIM_L1 if settings.l1_ratio == 1.0 else CLAIM,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=kkt,
        tolerance=settings.tol,
        scale=scale,
        statistic="moments" if isinstance(source, Moments) else "the rows",
        notes=(f"{np.count_nonzero(coef)} of {coef.size} coefficients are not zero.",),
        promised=("gap", "kkt") if alpha else ("kkt",),
    )


def _penalty(facts: Facts, alpha: float, settings: Settings) -> ElasticNet:
    v = facts.x_scale if settings.standardize else np.ones_like(facts.x_scale)
    rho = settings.l1_ratio
    return ElasticNet(alpha * rho * v, alpha * (1.0 - rho) * v**2, settings.positive)


def _gap(facts: Facts, penalty: ElasticNet, b: Floats) -> float:
    bounds = [
        0.5 * (1.0 - t) ** 2 * facts.square + float(penalty.excess(b, t * facts.gradient).sum())
        for t in (1.0, penalty.feasible_scale(facts.gradient) * (1.0 - 1e-15))
    ]
    return min(bounds)


def _kkt(facts: Facts, penalty: ElasticNet, b: Floats) -> float:
    size = facts.x_scale * np.sqrt(facts.y_square)
    distance = penalty.distance(b, facts.gradient)
    live = size > 0.0
    return float(np.max(distance[live] / size[live], initial=0.0))

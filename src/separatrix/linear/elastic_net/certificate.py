"""Certificate of an elastic net, from the data and the coefficients alone.

    f(b) = (1/2Σw) Σ w r² + p(b),        v = Σ w r (x − x̄) / Σw,   r = y − a − b·x

The dual point is the residual r, or t·r with the t ≤ 1 that brings v within the thresholds of the
ℓ₁ part. Squared error depends on the rows only through Σ w r²/Σw and v, so that moments suffice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from separatrix.linear.elastic_net.problem import ElasticNetOptions, sparse_variances
from separatrix.matrices.gram import column_squares
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.optimize.duality import certify_primal_dual, joint_certificate
from separatrix.optimize.losses import Squared
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import zero_if_constant

CLAIM = "Elastic net: no other coefficients have a smaller penalized error"
CLAIM_L1 = "Lasso: no other coefficients have a smaller penalized error"


@dataclass(frozen=True)
class Residuals:
    """‖r‖² = Σ w r²/Σw, v, the standard deviations of the columns, and the variance of y."""

    square: float
    v: Floats
    x_scale: Floats
    y_variance: float


def certify_elastic_net(
    source: Moments | Block, coef: Floats, alpha: float, options: ElasticNetOptions
) -> Certificate:
    """The certificate of ``coef`` (d x k); objectives and gaps of the k targets add up.

    Without penalty (α = 0, b ≥ 0) no dual point is at hand, and only the KKT residual is shown.
    """
    certificate = replace(
        joint_certificate(certify_targets(source, coef, alpha, options)),
        statistic="moments" if isinstance(source, Moments) else "the rows",
        notes=(f"{np.count_nonzero(coef)} of {coef.size} coefficients are not zero.",),
    )
    if alpha:
        return certificate
    return replace(certificate, gap=np.nan, dual=np.nan, promised=("kkt",))


def certify_targets(
    source: Moments | Block, coef: Floats, alpha: float, options: ElasticNetOptions
) -> list[Certificate]:
    """The certificate of each target by itself."""
    parts = []
    for target in range(coef.shape[1]):
        b = coef[:, target]
        if isinstance(source, Moments):
            found = _from_moments(source, b, target, options.fit_intercept)
        else:
            found = _from_block(source, b, target, options.fit_intercept)
        parts.append(_certify_target(found, b, alpha, options))
    return parts


def _certify_target(
    found: Residuals, b: Floats, alpha: float, options: ElasticNetOptions
) -> Certificate:
    v = found.x_scale if options.standardize else np.ones_like(found.x_scale)
    rho = options.l1_ratio
    # the residual enters by its length alone: as if it were the residual of a single row
    length = np.sqrt([found.square])
    return certify_primal_dual(
        Squared(),
        ElasticNet(alpha * rho * v, alpha * (1.0 - rho) * v**2, options.positive),
        np.ones(1),
        length,
        length,
        b,
        found.v,
        claim=CLAIM_L1 if rho == 1.0 else CLAIM,
        tolerance=options.tol,
        v_scale=found.x_scale * np.sqrt(found.y_variance),
        scale=0.5 * found.y_variance,
        scale_of="half the variance of the target",
    )


def _from_moments(moments: Moments, coef: Floats, target: int, fit_intercept: bool) -> Residuals:
    """From moments; the intercept is the optimal one for ``coef``."""
    m = moments if fit_intercept else moments.about_origin()
    v = (m.xy[:, target] - m.xx @ coef) / m.weight
    yy = float(m.yy[target, target]) / m.weight
    square = yy - float(coef @ (m.xy[:, target] / m.weight + v))
    scale = np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight)
    return _without_constants(Residuals(max(square, 0.0), v, scale, yy), m.x_mean)


def _from_block(block: Block, coef: Floats, target: int, fit_intercept: bool) -> Residuals:
    """From the rows themselves, centered."""
    w = block.weights
    c = w / w.sum()
    y = block.y[:, target]
    mean = products(block.x).transposed_times(c) if fit_intercept else np.zeros(len(coef))
    if fit_intercept:
        y = y - c @ y
    z = Standardized(products(block.x), mean, np.ones(len(mean)))
    r = y - z.times(coef)
    v = z.transposed_times(c * r)
    if sparse.issparse(block.x):
        variance = sparse_variances(block.x, c, mean)
    else:
        variance = column_squares(block.x, mean, c)
    found = Residuals(float(c @ r**2), v, np.sqrt(variance), float(c @ y**2))
    return _without_constants(found, mean)


def _without_constants(found: Residuals, mean: Floats) -> Residuals:
    """Constant columns have no gradient but rounding errors."""
    scale = zero_if_constant(found.x_scale, mean)
    return replace(found, v=np.where(scale > 0.0, found.v, 0.0), x_scale=scale)

"""Certificate of automatic relevance determination: derivatives in all log precisions.

    ∂/∂log λⱼ = λ₁ − λ₂ λⱼ + ½ (1 − λⱼ Σⱼⱼ − λⱼ bⱼ²)        of a column in use
    no λⱼ below the threshold raises the evidence            of a column left out

From the products of the columns in the units of the table and a factor made for this alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.bayes.linear.certificate import TOLERANCE, digits
from separatrix.bayes.linear.relevance import choice, gain
from separatrix.bayes.linear.relevance_fit import Rates
from separatrix.bayes.linear.relevance_state import UnitColumns
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats

#: A column of which the others leave less than this part is a copy of them.
COPY = 1e-10


@dataclass(frozen=True)
class Checked:
    """The certificate, ‖y − Xb‖² in units of ‖y‖², and what columns left out would gain."""

    certificate: Certificate
    residual: float
    gains: Floats


def certify_relevance(
    columns: UnitColumns, rates: Rates, alpha: float, lam: Floats, coef: Floats
) -> Checked:
    """At precisions and coefficients of columns of length one."""
    active = np.flatnonzero(np.isfinite(lam))
    gram, _ = columns.products(active)
    own, b = lam[active], coef[active]
    matrix = alpha * gram + np.diag(own)
    unit = 1.0 / np.sqrt(np.diag(matrix))
    values, vectors = linalg.eigh(matrix * np.multiply.outer(unit, unit), check_finite=False)
    least = max(float(values.min(initial=1.0)), len(values) * np.finfo(float).eps)
    half = unit[:, None] * vectors / np.sqrt(np.maximum(values, least))
    variances = (half**2).sum(axis=1)
    residual = columns.residual(active, b)
    slopes = (
        rates.lambda_1 - rates.lambda_2[active] * own + 0.5 * (1 - own * variances - own * b**2)
    )
    freedom = float((1.0 - own * variances).sum())
    of_noise = rates.alpha_1 - rates.alpha_2 * alpha
    of_noise += 0.5 * (columns.weight - freedom - alpha * residual)
    gains, outside = _left_out(columns, rates, alpha, lam, active, half)
    worst = float(np.max(np.abs(slopes), initial=0.0))
    certificate = Certificate(
        claim="No other precision of noise or column near these has a higher evidence",
        primal=0.5 * (alpha * residual + float(own @ b**2)),
        kkt=max(abs(of_noise) / (0.5 * columns.weight), worst, outside),
        tolerance=TOLERANCE,
        rank=len(active),
        digits=digits(float(values.max(initial=1.0)) / least),
        statistic="moments" if columns.rows is None else "the rows",
        notes=(
            f"Derivatives of the log evidence: {of_noise:.1e} by log α, {worst:.1e} at most by log "
            f"λ; {len(lam) - len(active)} of {len(lam)} columns are left out.",
        ),
        promised=("kkt",),
    )
    return Checked(certificate, residual, gains)


def _left_out(
    columns: UnitColumns,
    rates: Rates,
    alpha: float,
    lam: Floats,
    active: NDArray[np.int64],
    half: Floats,
) -> tuple[Floats, float]:
    """What each column left out would add to the evidence, and the most that is allowed to."""
    out = np.flatnonzero(np.isinf(lam))
    gains = np.zeros(len(lam))
    if not len(out):
        return gains, 0.0
    across = _against(columns, out, active)
    inner = alpha * (across @ half)
    present = columns.length[out] > 0.0
    s = alpha * present - np.einsum("ij,ij->i", inner, inner)
    q = alpha * (columns.xy[out] - inner @ (half.T @ columns.xy[active]))
    real = present & (s > COPY * alpha)
    worst = 0.0
    for j, own, pull in zip(out[real], s[real].tolist(), q[real].tolist(), strict=True):
        if pull * pull > own:
            gains[j] = gain(own, pull, own * own / (pull * pull - own))
            worst = max(worst, gain(own, pull, choice(own, pull, int(j), rates)))
    return gains, worst


def _against(columns: UnitColumns, out: NDArray[np.int64], active: NDArray[np.int64]) -> Floats:
    """Products of the columns left out with those in use."""
    if columns.gram is not None:
        return columns.gram[np.ix_(out, active)]
    assert columns.rows is not None
    return columns.rows.transposed_times(columns.rows.columns(active))[out]

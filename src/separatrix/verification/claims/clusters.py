"""K-means: every row is nearest to its own center, and centers are the means of their rows.

    inertia = Σ w ‖z − c‖²,      z = (x − μ)/σ where columns are standardized

Squared distances are fractions; standardized ones are compared with a margin of 2⁻⁶⁰ for what
1/σ² loses.
"""

from __future__ import annotations

from fractions import Fraction

from separatrix.verification.arithmetic import root_above, scale_to_integers
from separatrix.verification.claims.linear import kkt_claims
from separatrix.verification.claims.svm import standardizer_claims
from separatrix.verification.design import Blocks, gather
from separatrix.verification.stored import Record
from separatrix.verification.verdict import PROVED, REFUTED, Claim, claim_recorded, equal

ZERO = Fraction(0)
#: Relative difference of two squared distances that doubles do not tell apart.
TIE = Fraction(1, 10**12)
_POINT = 128


def kmeans(model: Record, blocks: Blocks) -> list[Claim]:
    """``KMeans``: assignment, means and inertia, exactly."""
    design = gather(blocks)
    labels = model["labels_"].values
    claims = [equal("rows", "Number of training rows", len(labels), design.n)]
    if claims[0].verdict == REFUTED:
        return claims
    weights = design.weights or [1.0] * design.n
    standardizer = model.get("standardizer_")
    claims += standardizer_claims(standardizer, design, weights)
    scale = [1.0] * len(design.columns)
    if isinstance(standardizer, Record):
        scale = standardizer["scale"].values
    centers = model["cluster_centers_"].rows
    inverse = [int(Fraction(1 << _POINT) / Fraction(s) ** 2) if s > 0 else 0 for s in scale]
    rows, places, shift = _integers(design.rows, centers)
    inertia, wrong = 0, 0
    w, weight_shift = scale_to_integers(weights)
    for i, row in enumerate(rows):
        distance = [
            sum(f * (a - b) ** 2 for f, a, b in zip(inverse, row, center, strict=True))
            for center in places
        ]
        to_own_center = distance[labels[i]]
        inertia += w[i] * to_own_center
        wrong += to_own_center > (1 + TIE) * min(distance)
        if i % 512 == 0:
            blocks.tell("distances to centers", i, design.n)
    claims.append(_assignment(wrong, design.n))
    value = Fraction(inertia, 1 << (2 * shift + _POINT + weight_shift))
    certificate = model["certificate_"]
    claims.append(claim_recorded("inertia", "The inertia", model["inertia_"], value, ZERO))
    claims.append(claim_recorded("objective", "The objective", certificate["primal"], value, ZERO))
    kkt = _steps(design.columns, weights, labels, centers, scale)
    return claims + kkt_claims(certificate, kkt, Fraction(1, 10**12), 1e-9)


def _integers(
    rows: list[list[float]], centers: list[list[float]]
) -> tuple[list[list[int]], list[list[int]], int]:
    width = len(centers[0])
    flat, shift = scale_to_integers([v for row in (*rows, *centers) for v in row])
    every = [flat[i * width : (i + 1) * width] for i in range(len(rows) + len(centers))]
    return every[: len(rows)], every[len(rows) :], shift


def _assignment(wrong: int, n: int) -> Claim:
    if wrong:
        sentence = f"{wrong:,} of {n:,} rows are nearer to another center than to their own."
        return Claim("assignment", REFUTED, sentence)
    return Claim("assignment", PROVED, "Every row is nearest to its own center.")


def _steps(
    columns: list[list[float]],
    weights: list[float],
    labels: list[int],
    centers: list[list[float]],
    scale: list[float],
) -> Fraction:
    """The largest distance of a center from the mean of its rows, in standard deviations."""
    total = [ZERO] * len(centers)
    for w, label in zip(weights, labels, strict=True):
        total[label] += Fraction(w)
    squares = [ZERO] * len(centers)
    variance = ZERO
    whole = sum(total, ZERO)
    for j, column in enumerate(columns):
        s = Fraction(scale[j])
        if not s:
            continue
        sums = [ZERO] * len(centers)
        square = ZERO
        for w, label, x in zip(weights, labels, column, strict=True):
            term = Fraction(w) * Fraction(x)
            sums[label] += term
            square += term * Fraction(x)
        mean = sum(sums, ZERO) / whole
        variance += (square / whole - mean**2) / s**2
        for k, weight in enumerate(total):
            if weight:
                squares[k] += ((sums[k] / weight - Fraction(centers[k][j])) / s) ** 2
    return root_above(max(squares)) / (root_above(variance) or Fraction(1))

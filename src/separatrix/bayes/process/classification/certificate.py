"""What is shown of a process of classes: its mode, and the slope of its evidence, both anew.

With K₁ = ∂K/∂θ by differences of kernel values, R = (K + W⁻¹)⁻¹ and S = (K⁻¹ + W)⁻¹ = K − K R K,

    d log q/dθ = ½ gᵀK₁g − ½ tr(R K₁) + sᵀ(I − K R) K₁ g,     s = −½ diag(S) w σ(1 − σ)(1 − 2σ)

(Rasmussen and Williams, equations 5.21 to 5.24), where inverses are by elimination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from separatrix.bayes.process.classification.binary import BinaryProcess
from separatrix.bayes.process.inducing.certificate import largest_slope
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, take_items
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints

#: Residual of the mode equation, relative to the latent values, that rounding may leave.
TOLERANCE = 1e-7
#: Step of the differences in θ, rows of kernel values at a time, and rows up to which all of this
#: is little work and memory beside the fit.
STEP, STRIP, MOST_ROWS = 1e-5, 256, 4_000


def certify(processes: Sequence[BinaryProcess]) -> Certificate:
    """The worst of several processes; their mean evidence."""
    residual = max(mode_residual(one) for one in processes)
    evidence = float(np.mean([one.evidence for one in processes]))
    learned = [one for one in processes if one.learned is not None]
    where = "at a local maximum of its evidence" if learned else "at the given hyperparameters"
    several = len(processes) > 1
    notes = [f"The {'mean ' if several else ''}log evidence is {evidence:.8g}."]
    if learned:
        slope = max(_slope(one) for one in learned)
        anew = all(len(one.y) <= MOST_ROWS for one in learned)
        by = "" if anew else " by the formula that it was maximized with"
        notes.append(f"Its derivative is at most {slope:.1g} nats per standard error{by}.")
    of = f"{len(processes)} processes" if several else "a process"
    return Certificate(
        claim=f"Laplace's approximation of {of} of two classes, {where}",
        kkt=residual,
        tolerance=TOLERANCE,
        primal=-evidence,
        notes=tuple(notes),
        promised=("kkt",),
    )


def mode_residual(one: BinaryProcess) -> float:
    """max |f − K g(f)| relative to max |f|: the mode equation, from kernel values anew."""
    f = one.latent_mean(one.x)
    again = one.w * (one.y - expit(f))
    other = one.kernel.prepare_exact(one.x).dot(one.x, again[:, None])[:, 0]
    return float(np.abs(f - other).max(initial=0.0) / max(1.0, np.abs(f).max(initial=0.0)))


def _slope(one: BinaryProcess) -> float:
    """The largest derivative of the evidence in nats per standard error."""
    assert one.learned is not None
    if len(one.y) > MOST_ROWS:
        return largest_slope(one.learned)
    gradient = evidence_slope(one.kernel, one.x, one.y, one.w, one.slope)
    if one.directions is not None:
        gradient = one.directions.T @ gradient
    return largest_slope(replace(one.learned, gradient=gradient))


def evidence_slope(kernel: Kernel, x: Items, y: Floats, w: Floats, slope: Floats) -> Floats:
    """The derivatives of log q by θ at the mode f = K g, from its definition."""
    n = len(y)
    gram = np.asarray(kernel.gram(x), dtype=float)
    f = gram @ slope
    p = expit(f)
    variance = w * p * (1.0 - p)
    solved = np.linalg.solve(np.eye(n) + variance[:, None] * gram, np.diag(variance))  # R
    pulled = gram @ solved  # K R
    spread = np.diagonal(gram) - np.einsum("ij,ji->i", pulled, gram)
    moved = -0.5 * spread * variance * (1.0 - 2.0 * p)
    moved = moved - pulled.T @ moved
    g = w * (y - p)
    return np.array(
        [
            sum(
                0.5 * g[rows] @ (part @ g) + moved[rows] @ (part @ g)
                - 0.5 * float(np.vdot(solved[rows], part))
                for rows, part in _changes(kernel, x, n, direction)
            )
            for direction in np.eye(len(kernel.theta))
        ]
    )  # fmt: skip


def _changes(kernel: Kernel, x: Items, n: int, direction: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Strips of rows of ∂K/∂θ along a direction, by differences; white noise is on the diagonal."""
    ends = [kernel.with_theta(kernel.theta + sign * STEP * direction) for sign in (1.0, -1.0)]
    diagonal = np.subtract(*(np.asarray(end.diagonal(x), dtype=float) for end in ends))
    prepared = [end.prepare_exact(x) for end in ends]
    for start in range(0, n, STRIP):
        at = np.arange(start, min(start + STRIP, n))
        some = take_items(x, at)
        part = np.subtract(*(np.asarray(one.rows(some), dtype=float) for one in prepared))
        part[np.arange(len(at)), at] = diagonal[at]
        yield at, part / (2.0 * STEP)

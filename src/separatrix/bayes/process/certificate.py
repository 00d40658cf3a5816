"""What is shown of a fitted Gaussian process, by code of its own.

The evidence is computed again from the Gram matrix of the whole kernel and LAPACK's factor, at
points on both sides of the hyperparameters. Central differences of it are the derivative in nats
per standard error: by every hyperparameter where rows are few, else along one direction through all
of them, and then the gradient of the ascent counts too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from separatrix.bayes.process.evidence import LOG_2PI, TrainingRows, copies_term
from separatrix.bayes.process.fitting import FittedProcess
from separatrix.bayes.process.intervals import UNDETERMINED, theta_labels
from separatrix.bayes.process.learning import Learned
from separatrix.kernels import Kernel
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats

#: Rows up to which every hyperparameter is checked by itself, else one direction through all.
EACH_BY_ITSELF = 300
#: Step of the differences in standard errors, and derivative that is allowed, in nats per one.
STEP, TOLERANCE = 1e-2, 1e-3
#: Gradient at an end of the range that counts as rising.
RISING = 1e-2
#: Steps of the iterations for the largest and the least eigenvalue.
ITERATIONS = 12


def certify(fitted: FittedProcess, columns: Sequence[str]) -> Certificate:
    """Evidence, derivative, curvature, condition, and the other maxima."""
    found, learned = fitted.found, fitted.learned
    condition = condition_number(found.factor)
    shown = {
        "primal": -found.log_evidence,
        "condition": condition,
        "digits": max(0.0, -np.log10(np.finfo(float).eps * condition)),
        "statistic": "the Cholesky factor",
    }
    notes = _jitter_notes(fitted.jitter)
    if learned is None:
        return Certificate(
            claim="The exact posterior of a Gaussian process at the given hyperparameters",
            notes=tuple(notes),
            promised=(),
            **shown,  # type: ignore[arg-type]
        )
    slope = largest_slope(fitted.kernel, fitted.rows, learned)
    labels = [str(label) for label in theta_labels(fitted.kernel, columns)]
    return Certificate(
        claim="The exact posterior of a Gaussian process, at a local maximum of its evidence",
        kkt=slope,
        tolerance=TOLERANCE,
        notes=(*notes, *_curvature_notes(learned, labels), *_optima_notes(learned)),
        promised=("kkt",),
        **shown,  # type: ignore[arg-type]
    )


def plain_evidence(kernel: Kernel, rows: TrainingRows) -> float:
    """The log evidence from the Gram matrix of the whole kernel, without the parts of the fit."""
    n, k, m = rows.n, rows.y.shape[1], rows.basis.shape[1]
    c = np.asarray(kernel.gram(rows.x), dtype=float)
    function = kernel.without_noise()
    noise = np.asarray(kernel.diagonal(rows.x) - function.diagonal(rows.x)) + rows.noise
    at = np.diag_indices(n)
    c[at] = function.diagonal(rows.x) + noise / rows.w
    factor, failed = linalg.lapack.dpotrf(c.T, lower=0, overwrite_a=1)
    if failed:
        return -np.inf
    whitened = linalg.solve_triangular(
        factor, np.column_stack([rows.y, rows.basis]), trans=1, check_finite=False
    )
    y, h = whitened[:, :k], whitened[:, k:]
    value = -k * float(np.log(np.diagonal(factor)).sum()) - 0.5 * (n - m) * k * LOG_2PI
    if m:
        q, r = np.linalg.qr(h)
        y = y - q @ (q.T @ y)
        own = np.linalg.qr(np.sqrt(rows.w)[:, None] * rows.basis, mode="r")
        value -= k * float(np.log(np.abs(np.diagonal(r) / np.diagonal(own))).sum())
    return float(value - 0.5 * float(np.vdot(y, y)) + k * copies_term(rows.w, noise))


def largest_slope(kernel: Kernel, rows: TrainingRows, learned: Learned) -> float:
    """The largest derivative of the evidence, in nats per standard error."""
    free = ~learned.at_limit
    if not free.any():
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = 1.0 / np.sqrt(np.maximum(np.diagonal(learned.curvature), 0.0))
    scales = np.where(np.isfinite(scales), np.minimum(scales, 1.0), 1.0) * free
    known = 0.0
    if rows.n <= EACH_BY_ITSELF:
        directions = [scales * (np.arange(len(scales)) == j) for j in np.flatnonzero(free)]
    else:
        signs = np.where(np.arange(len(scales)) % 2, 1.0, -1.0)
        directions = [signs * scales / np.sqrt(free.sum())]
        known = float(np.abs(learned.gradient * scales).max())
    return max(known, *(abs(_slope(kernel, rows, learned.theta, one)) for one in directions))


def _slope(kernel: Kernel, rows: TrainingRows, theta: Floats, direction: Floats) -> float:
    ahead, behind = (
        plain_evidence(kernel.with_theta(theta + sign * STEP * direction), rows)
        for sign in (1.0, -1.0)
    )
    return (ahead - behind) / (2.0 * STEP)


def condition_number(factor: Floats) -> float:
    """λ_max/λ_min of L Lᵀ by power iteration with L and its inverse, from a fixed start."""
    n = len(factor)
    start = np.cos(np.arange(n) * 1.7 + 0.3)
    transposed = factor.T  # in Fortran order, as BLAS wants it
    largest = inverse = 1.0
    v = start / np.linalg.norm(start)
    for _ in range(ITERATIONS):
        v = linalg.blas.dtrmv(transposed, linalg.blas.dtrmv(transposed, v), trans=1)
        largest = float(np.linalg.norm(v))
        v /= largest
    v = start / np.linalg.norm(start)
    for _ in range(ITERATIONS):
        v = linalg.blas.dtrsv(transposed, linalg.blas.dtrsv(transposed, v, trans=1))
        inverse = float(np.linalg.norm(v))
        v /= inverse
    return max(1.0, largest * inverse)


def _jitter_notes(jitter: float) -> list[str]:
    if not jitter:
        return []
    return [f"A noise variance of {jitter:.3g} was added to every row to factor the covariance."]


def _curvature_notes(learned: Learned, labels: Sequence[str]) -> list[str]:
    """Hyperparameters that the data do not determine."""
    notes = []
    ends = list(zip(labels, learned.at_limit, np.abs(learned.gradient), strict=True))
    rising = [label for label, end, slope in ends if end and slope > RISING]
    flat = [label for label, end, slope in ends if end and slope <= RISING]
    if flat:
        notes.append(f"So far out that it has no effect: {', '.join(flat)}.")
    if rising:
        notes.append(
            "At an end of its range, beyond which the evidence would still rise: "
            f"{', '.join(rising)}."
        )
    errors = learned.standard_errors
    vague = [
        label
        for label, error, one in zip(labels, errors, learned.at_limit, strict=True)
        if not one and not error <= UNDETERMINED
    ]
    if vague:
        notes.append(f"Not determined by the data within a factor of e: {', '.join(vague)}.")
    return notes


def _optima_notes(learned: Learned) -> list[str]:
    if not learned.others:
        return []
    values = ", ".join(f"{other.value:.6g}" for other in learned.others[:3])
    return [f"Other maxima found have log evidence {values}."]

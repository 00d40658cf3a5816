"""Options of Gaussian class models, and the certificate of what they lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.discriminant.gaussian_problem import CovarianceShrinkage, GaussianFit
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.statistics.class_moments import ClassMoments

#: The covariance structures, and how much of the within-class scatter each of them needs.
COVARIANCES = {
    "full": "full",
    "shared": "pooled",
    "diagonal": "diagonal",
    "shared_diagonal": "diagonal",
    "spherical": "diagonal",
    "shared_spherical": "diagonal",
}


@dataclass(frozen=True)
class GaussianOptions:
    """Covariance structure, shrinkage and priors of a Gaussian class model.

    ``tol`` is that of :class:`GaussianProblem`; ``posterior`` takes class moments to those of the
    posterior, where there is a prior on means and covariances; ``likeliest`` says that nothing is
    shrunk otherwise, so that the estimate is that of maximum likelihood.
    """

    covariance: str
    shrinkage: CovarianceShrinkage
    priors: Any = None
    tol: float | None = None
    posterior: Callable[[ClassMoments], ClassMoments] | None = None
    likeliest: bool = True


def covariance_parameters(kind: str, k: int, d: int) -> int:
    """Number of free parameters in the covariances of ``k`` classes over ``d`` columns."""
    one = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}
    one["shared"] = one["full"]
    return one[kind.removeprefix("shared_")] * (1 if kind.startswith("shared") else k)


def class_priors(given: Any, weight: Floats, *, rescaled: bool = False) -> Floats:
    """Prior probabilities: as given and checked, uniform, or the class proportions (None).

    Those that do not add up to 1 are refused, or ``rescaled``.
    """
    if given is None:
        return np.asarray(weight / weight.sum())
    if isinstance(given, str) and given == "uniform":
        return np.full(len(weight), 1.0 / len(weight))
    priors = np.asarray(given, dtype=float)
    if priors.shape != weight.shape:
        raise InputError(
            f"Number of priors must match number of classes: shape {priors.shape} for "
            f"{len(weight)} classes."
        )
    total = float(priors.sum())
    if not (priors >= 0).all():
        raise InputError(f"Class priors must be non-negative, and {priors.tolist()} are not.")
    if not (0 < total < np.inf) or (abs(total - 1.0) > 1e-5 and not rescaled):
        raise InputError(
            f"The sum of the priors should be 1: {priors.tolist()} add up to {total:.6g}."
        )
    return np.asarray(priors / total)


def certify(options: GaussianOptions, fit: GaussianFit, n_columns: int) -> Certificate:
    """Closed form: what can fail is the whitening of the covariances, AᵀΣA = I."""
    case = options.covariance.replace("_", ", ")
    plain = options.shrinkage.is_zero and options.likeliest and options.posterior is None
    if plain and not fit.degenerate:
        claim = f"Gaussian classes ({case} covariance): the maximum likelihood estimate"
    else:
        claim = f"Gaussian classes ({case} covariance) in closed form"
    notes = []
    if fit.degenerate:
        notes.append(
            "In some direction no class varies: classes that differ there are separated by it, "
            "with a variance of rounding size."
        )
    if options.posterior is not None:
        notes.append("Means and covariances are those of a posterior: the prior counts as rows.")
    if not options.shrinkage.is_zero:
        notes.append("Covariances are shrunk: the likelihood is below its maximum by intention.")
    if options.tol is not None and fit.rank < n_columns and not fit.degenerate:
        left = n_columns - fit.rank
        notes.append(
            f"Left out: {left} direction{'s' * (left != 1)} in which rows of one class hardly "
            "differ (tol), however far apart the classes are there."
        )
    return Certificate(
        claim,
        kkt=fit.error,
        tolerance=1e-4,
        condition=fit.condition,
        rank=fit.rank,
        digits=float(max(0.0, -np.log10(np.finfo(float).eps * fit.condition))),
        statistic="class moments",
        notes=tuple(notes),
        promised=() if fit.degenerate else ("kkt",),
    )

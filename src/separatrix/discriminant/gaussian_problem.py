"""What a Gaussian class model is estimated from, how it is shrunk, and what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.geometry.class_scores import ClassScores
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.standardizer import Standardizer, zero_if_constant

#: Variance, relative to that of all rows, of directions in which no class varies.
FLOOR = 1e-12


class SingularCovarianceError(InputError, np.linalg.LinAlgError):
    """A class has a singular covariance; also NumPy's error, which scikit-learn raises here."""


@dataclass(frozen=True)
class CovarianceShrinkage:
    """Weights of the shrinkage targets of a class covariance.

    ``alpha`` is for the spherical target, ``beta`` for the pooled covariance, ``ridge`` is ρ (the
    rest is multiplied by 1 − ρ).
    """

    alpha: float = 0.0
    beta: float = 0.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta), ("reg_param", self.ridge)):
            if not 0 <= value <= 1:
                raise InputError(f"{name}={value} must lie between 0 and 1.")
        if self.alpha + self.beta > 1 + 1e-12:
            raise InputError(
                f"alpha={self.alpha} and beta={self.beta} add up to more than 1.",
                remedy="1 − alpha − beta is the weight of each class's own covariance.",
            )

    @property
    def own_weight(self) -> float:
        """1 − α − β, the weight of each class's own covariance."""
        return max(0.0, 1.0 - self.alpha - self.beta)

    @property
    def is_zero(self) -> bool:
        """Whether the covariances are those of maximum likelihood."""
        return not (self.alpha or self.beta or self.ridge)


@dataclass(frozen=True)
class GaussianProblem:
    """Class moments and the model to estimate from them; names are for error messages.

    ``given`` are covariance matrices (K x d x d, or 1 x d x d if shared) that were estimated in
    another way. With ``tol``, directions whose standard deviation within classes is no more than
    that of the (scaled) columns times it are left out. ``added`` is added to the variances of every
    class, one number for each column.
    """

    moments: ClassMoments
    covariance: str
    shrinkage: CovarianceShrinkage
    log_priors: Floats
    class_names: list[Any]
    column_names: tuple[str, ...]
    given: Floats | None = None
    tol: float | None = None
    added: Floats | None = None

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return self.covariance.startswith("shared")

    @property
    def means(self) -> Floats:
        """Class means; that of all rows for a class without rows."""
        m = self.moments
        return np.where((m.weight > 0)[:, None], m.mean, m.grand_mean)

    @property
    def center(self) -> Floats:
        """The mean of the class means, weighted by the priors: linear scores are about it."""
        return np.asarray(np.exp(self.log_priors) @ self.means)


@dataclass(frozen=True)
class GaussianFit:
    """Scores and covariances of the classes, and how well determined they are.

    ``unused`` names the columns of a direction that is left out though it tells classes apart.
    ``degenerate`` says that in some direction no class varies. Else ``error`` is the largest entry
    of |AᵀΣA − I| over the whitening maps A; or, where scores are solved for without them, that of
    Σw − (μ − c) in standard deviations, relative to that of μ − c.
    """

    scores: ClassScores
    covariance: Floats
    rank: int
    condition: float
    error: float
    degenerate: bool = False
    unused: tuple[str, ...] = ()


def total_standardizer(variance: Floats, center: Floats) -> Standardizer:
    """The standardizer of all rows from their variances and mean."""
    return Standardizer(center, zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), center))


def scale_or_one(standardizer: Standardizer) -> Floats:
    """Standard deviations, with 1 in place of zeros."""
    return np.where(standardizer.scale > 0.0, standardizer.scale, 1.0)


def mean_variance(variance: Floats, standardizer: Standardizer) -> float:
    """σ²: the mean within-class variance of the standardized columns that vary."""
    varies = standardizer.scale > 0.0
    relative = variance * standardizer.inverse_scale**2
    return float(relative[varies].mean()) if varies.any() else 1.0

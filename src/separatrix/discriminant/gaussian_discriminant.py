"""Gaussian discriminant analysis with six covariance structures, and the nearest mean."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.discriminant.covariances import CovarianceShrinkage
from separatrix.discriminant.gaussian_classifier import (
    COVARIANCES,
    GaussianOptions,
    IncrementalGaussianClassifier,
)
from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError, check_option
from separatrix.parameters import declare_parameters
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.estimation import check_method


@declare_parameters
class GaussianDiscriminant(IncrementalGaussianClassifier):
    """Gaussian discriminant analysis with one of six covariance structures.

        gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)

    The class with the largest gₖ is predicted. Means, covariances and priors are estimated by
    maximum likelihood in one pass over the rows, or with a prior that counts as s rows of mean μ₀
    and covariance Σ₀ in every class. Boundaries are quadrics; with a shared covariance they are
    hyperplanes.

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal", "shared_diagonal", "spherical", \
"shared_spherical"}, default="full"
        Structure of Σₖ: any matrix, or one for all classes; a diagonal matrix (columns independent
        within classes), or one for all; a multiple of the identity, or one for all (nearest mean).
        The last two depend on the units of the columns by definition, the others do not.
    alpha : float, default=0.0
        Shrinkage towards σ²I in standardized columns: Σₖ = α σ²I + β S + (1 − α − β) Sₖ.
    beta : float, default=0.0
        Shrinkage towards the pooled covariance S.
    priors : array-like of shape (n_classes,), "uniform" or None, default=None
    estimation : {"ml", "map", "bayes"}, default="ml"
        Means and covariances by maximum likelihood; or as mode or mean of their posterior.
    prior_count : float, default=1.0
        s, how many rows of each class the prior of "map" and "bayes" counts as.
    prior_mean : float, array-like or None, default=None
        μ₀, of all classes (n_features) or of each (n_classes, n_features); None takes the mean of
        all rows.
    prior_covariance : float, array-like or None, default=None
        Σ₀, as a matrix, its diagonal, or a multiple of I; None takes the covariance within classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
        Class means μₖ.
    covariance_ : ndarray
        Σₖ by class, or one Σ if shared; variances if diagonal.
    priors_ : ndarray of shape (n_classes,)
    W_, w_, w0_ : ndarray
        Coefficients of the scores xᵀWx + w·x + w₀.
    normals_ : tuple of MultivariateNormal
        The class densities.
    n_parameters_ : int
        Number of parameters estimated.
    thresholds_ : ndarray
        For one column, where the most probable class changes.
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariances.

    See Also
    --------
    QuadraticDiscriminantAnalysis : The case "full", with scikit-learn's parameters.
    LinearDiscriminantAnalysis : The case "shared", with a projection.
    RegularizedDiscriminantAnalysis : Chooses alpha and beta by cross-validation.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, 2nd edition,
    Springer, 2009, section 4.3.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1]
    >>> model = sx.GaussianDiscriminant("shared").fit(X, y)
    >>> model.thresholds_.round(3)
    array([3.])
    >>> model.predict_proba([[3.5]]).round(3)
    array([[0.047, 0.953]])
    >>> prior = sx.GaussianDiscriminant("shared", estimation="map", prior_count=3.0, prior_mean=0.0)
    >>> prior.fit(X, y).means_.ravel()
    array([0.5, 2.5])
    """

    covariance: str = "full"
    _: KW_ONLY
    alpha: float = 0.0
    beta: float = 0.0
    priors: Any = None
    estimation: str = "ml"
    prior_count: float = 1.0
    prior_mean: Any = None
    prior_covariance: Any = None

    def _options(self) -> GaussianOptions:
        check_option("covariance", self.covariance, COVARIANCES)
        shrinkage = CovarianceShrinkage(self.alpha, self.beta)
        posterior = None
        if self.estimation != "ml":
            given = (self.estimation, self.prior_count, self.prior_mean, self.prior_covariance)
            posterior = partial(ClassPrior(*given).posterior, kind=self.covariance)
        return GaussianOptions(self.covariance, shrinkage, self.priors, posterior=posterior)


@declare_parameters
class NearestMean(IncrementalGaussianClassifier):
    """Nearest-mean classifier: spherical Gaussian classes with one variance.

        argmin over k of ‖x − μₖ‖² − 2σ² ln P(k)

    With uniform priors, the default, x is assigned to the class of the nearest mean. Distances
    depend on the units of the columns by definition; ``GaussianDiscriminant("shared_diagonal")``
    measures them in standard deviations.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), "uniform" or None, default="uniform"

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
        Rank and condition number.

    See Also
    --------
    BasicLinearClassifier : Class means with four scatter matrices.
    GaussianDiscriminant : Other covariance structures.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.NearestMean().fit([[0.0, 0.0], [2.0, 0.0], [8.0, 8.0]], ["low", "low", "high"])
    >>> model.predict([[3.0, 3.0], [6.0, 6.0]]).tolist()
    ['low', 'high']
    """

    _: KW_ONLY
    priors: Any = "uniform"

    def _options(self) -> GaussianOptions:
        return GaussianOptions("shared_spherical", CovarianceShrinkage(), self.priors)


# -------------------------------------------------------------------------------------------------
# Means and covariances of classes under a prior: mode (MAP) or mean (Bayes) of the posterior.
#
#     μₖ = (nₖ x̄ₖ + s μ₀)/(nₖ + s),    Qₖ = Sₖ + s Σ₀ + (nₖ s/(nₖ + s)) (x̄ₖ − μ₀)(x̄ₖ − μ₀)ᵀ
#     Σₖ = Qₖ/(nₖ + s) (MAP)   or   Qₖ/(nₖ + s − d − 2) (posterior mean)
#
# The conjugate (normal-inverse-Wishart) prior counts as s rows of mean μ₀ and covariance Σ₀ in
# every class, in addition to the improper prior |Σ|^(−(d+1)/2), as in
# :func:`~separatrix.estimate_normal`. Classes with one covariance add up: N = n + K s rows in all,
# and Σ = Σ Qₖ/(N − K − d − 1). Diagonal covariances are one column after another (d = 1), spherical
# ones have N d numbers for one variance.


@dataclass(frozen=True)
class ClassPrior:
    """The prior of class means and covariances: s rows of mean μ₀ and covariance Σ₀ in each class.

    ``method`` is "map" or "bayes". None for ``mean`` is the mean of all rows, for ``covariance``
    the covariance within classes.
    """

    method: str
    count: float
    mean: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        check_method(self.method)
        if not 0 <= self.count < np.inf:
            raise InputError(f"prior_count={self.count} must be finite and not negative.")

    def posterior(self, m: ClassMoments, kind: str) -> ClassMoments:
        """Class moments whose means and covariances are those of the posterior.

        ``kind`` is the covariance structure, one of six.
        """
        k, d = m.mean.shape
        s, n = self.count, m.weight
        center, spread = self._center(m), self._spread(m)
        fraction = np.where(n + s > 0, n / np.where(n + s > 0, n + s, 1.0), 0.0)
        step = np.where((n > 0)[:, None], m.mean - center, 0.0)
        moved = s * fraction  # n s/(n + s)
        scatter = m.scatter + _add_moments(m.structure, moved, step, s, spread, k)
        shared = kind.startswith("shared")
        rows = np.full(k, float(n.sum() + k * s)) if shared else n + s
        divisor = self._divisor(rows, k if shared else 1, d, kind)
        weight = float(n.sum()) if shared else n
        factor = np.where(divisor > 0, weight / np.where(divisor > 0, divisor, 1.0), 0.0)
        scaled = (
            factor[0]
            if m.structure == "pooled"
            else factor.reshape(-1, *[1] * (m.scatter.ndim - 1))
        )
        mean = center + fraction[:, None] * step
        return ClassMoments(m.structure, m.count, n, mean, scatter * scaled)

    def _divisor(self, rows: Floats, classes: int, d: int, kind: str) -> Floats:
        """What Q is divided by; the posterior mean exists for enough rows, else it is the mode."""
        if self.method == "map":
            return rows
        per_class = (
            2.0 / d if kind.endswith("spherical") else 2.0 if "diagonal" in kind else d + 1.0
        )
        less = rows - classes - per_class
        return np.where(less > 0, less, rows)

    def _center(self, m: ClassMoments) -> Floats:
        if self.mean is None:
            return np.tile(m.grand_mean, (len(m.weight), 1))
        center = np.asarray(self.mean, dtype=float)
        if (
            center.shape not in ((), m.mean.shape[1:], m.mean.shape)
            or not np.isfinite(center).all()
        ):
            raise InputError(
                f"prior_mean has shape {center.shape}; it must hold a finite number for each of "
                f"{m.mean.shape[1]} columns, or one row of them for each class."
            )
        return np.broadcast_to(center, m.mean.shape)

    def _spread(self, m: ClassMoments) -> Floats:
        """Σ₀ (d x d), or its diagonal (d)."""
        if self.covariance is None:
            return m.within
        d = m.mean.shape[1]
        spread = np.asarray(self.covariance, dtype=float)
        if spread.shape == () or spread.shape == (d,):
            spread = np.diag(np.broadcast_to(spread, d))
        if spread.shape != (d, d):
            raise InputError(f"prior_covariance must be a symmetric {d} x {d} matrix.")
        spread = MultivariateNormal(np.zeros(d), spread).covariance  # checked
        return np.diag(spread) if m.structure == "diagonal" else spread


def _add_moments(
    structure: str, moved: Floats, step: Floats, s: float, spread: Floats, k: int
) -> Floats:
    """What the prior adds to the scatter, in the structure of the moments."""
    if structure == "diagonal":
        return np.asarray(moved[:, None] * step**2 + s * spread)
    if structure == "pooled":
        return np.asarray((moved[:, None] * step).T @ step + k * s * spread)
    return np.asarray((moved[:, None] * step)[:, :, None] * step[:, None, :] + s * spread)

"""Gaussian discriminant analysis with six covariance structures, and the nearest mean."""

from __future__ import annotations

from functools import partial
from typing import Any

from separatrix.discriminant.class_posterior import ClassPrior
from separatrix.discriminant.gaussian_classifier import IncrementalGaussianClassifier
from separatrix.discriminant.gaussian_options import COVARIANCES, GaussianOptions
from separatrix.discriminant.gaussian_problem import CovarianceShrinkage
from separatrix.messages import check_option


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
        Prior probabilities of the classes; None takes the class proportions.
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
        The labels in order.
    means_ : ndarray of shape (n_classes, n_features)
        Class means μₖ.
    covariance_ : ndarray
        Σₖ by class, or one Σ if shared; variances if diagonal.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
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

    def __init__(
        self,
        covariance: str = "full",
        *,
        alpha: float = 0.0,
        beta: float = 0.0,
        priors: Any = None,
        estimation: str = "ml",
        prior_count: float = 1.0,
        prior_mean: Any = None,
        prior_covariance: Any = None,
    ) -> None:
        self.covariance = covariance
        self.alpha = alpha
        self.beta = beta
        self.priors = priors
        self.estimation = estimation
        self.prior_count = prior_count
        self.prior_mean = prior_mean
        self.prior_covariance = prior_covariance

    def _options(self) -> GaussianOptions:
        check_option("covariance", self.covariance, COVARIANCES)
        shrinkage = CovarianceShrinkage(self.alpha, self.beta)
        posterior = None
        if self.estimation != "ml":
            given = (self.estimation, self.prior_count, self.prior_mean, self.prior_covariance)
            posterior = partial(ClassPrior(*given).posterior, kind=self.covariance)
        return GaussianOptions(self.covariance, shrinkage, self.priors, posterior=posterior)


class NearestMean(IncrementalGaussianClassifier):
    """Nearest-mean classifier: spherical Gaussian classes with one variance.

        argmin over k of ‖x − μₖ‖² − 2σ² ln P(k)

    With uniform priors, the default, x is assigned to the class of the nearest mean. Distances
    depend on the units of the columns by definition; ``GaussianDiscriminant("shared_diagonal")``
    measures them in standard deviations.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), "uniform" or None, default="uniform"
        Prior probabilities of the classes; None takes the class proportions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
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

    def __init__(self, *, priors: Any = "uniform") -> None:
        self.priors = priors

    def _options(self) -> GaussianOptions:
        return GaussianOptions("shared_spherical", CovarianceShrinkage(), self.priors)

"""Gaussian discriminant analysis with six covariance structures, three of them by their names."""

from __future__ import annotations

from typing import Any

from separatrix.discriminant.class_covariances import CovarianceShrinkage
from separatrix.discriminant.gaussian_classifier import (
    COVARIANCES,
    GaussianOptions,
    IncrementalGaussianClassifier,
)
from separatrix.messages import check_option
from separatrix.rows.block import Floats


class GaussianDiscriminant(IncrementalGaussianClassifier):
    """Gaussian discriminant analysis with one of six covariance structures.

        gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)

    The class with the largest gₖ is predicted. Means, covariances and priors are estimated by
    maximum likelihood in one pass over the rows. Boundaries are quadrics; with a shared covariance
    they are hyperplanes.

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

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1]
    >>> model = sx.GaussianDiscriminant("shared").fit(X, y)
    >>> model.thresholds_.round(3)
    array([3.])
    >>> model.predict_proba([[3.5]]).round(3)
    array([[0.047, 0.953]])
    """

    def __init__(
        self,
        covariance: str = "full",
        *,
        alpha: float = 0.0,
        beta: float = 0.0,
        priors: Any = None,
    ) -> None:
        self.covariance = covariance
        self.alpha = alpha
        self.beta = beta
        self.priors = priors

    def _options(self) -> GaussianOptions:
        check_option("covariance", self.covariance, COVARIANCES)
        shrinkage = CovarianceShrinkage(self.alpha, self.beta)
        return GaussianOptions(self.covariance, shrinkage, self.priors)


class QuadraticDiscriminantAnalysis(IncrementalGaussianClassifier):
    """Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

        gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes the class proportions.
    reg_param : float, default=0.0
        Σₖ becomes (1 − r) Σₖ + r I. This depends on the units of the columns by definition;
        ``RegularizedDiscriminantAnalysis`` does not.
    store_covariance : bool, default=False
        Accepted as in scikit-learn; ``covariance_`` is always stored.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances (maximum likelihood, 1/n).
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariances.

    See Also
    --------
    GaussianDiscriminant : The same with six covariance structures.
    LinearDiscriminantAnalysis : One covariance for all classes.
    RegularizedDiscriminantAnalysis : Shrinkage chosen by cross-validation.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[-0.5], [0.0], [0.5], [-3.0], [3.0], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> sx.QuadraticDiscriminantAnalysis().fit(X, y).predict([[-2.0], [0.1], [2.0]])
    array([1, 0, 1])
    """

    def __init__(
        self, *, priors: Any = None, reg_param: float = 0.0, store_covariance: bool = False
    ) -> None:
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance

    def _options(self) -> GaussianOptions:
        return GaussianOptions("full", CovarianceShrinkage(ridge=self.reg_param), self.priors)


class GaussianNB(IncrementalGaussianClassifier):
    """Gaussian naive Bayes: columns independent within classes.

        gₖ(x) = ln P(k) − Σⱼ [ln σₖⱼ + ½ (xⱼ − μₖⱼ)² / σₖⱼ²]

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes the class proportions.
    var_smoothing : float, default=1e-9
        This fraction of each column's variance over all rows is added to its class variances.
        (scikit-learn adds a fraction of the largest variance of all columns, which depends on
        units.)

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    theta_ : ndarray of shape (n_classes, n_features)
        Class means.
    var_ : ndarray of shape (n_classes, n_features)
        Class variances.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of each class.
    certificate_ : Certificate
        Rank and condition number.

    See Also
    --------
    NaiveBayes : Numeric, boolean and discrete columns together, with missing values.
    GaussianDiscriminant : Other covariance structures.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [5.0, 4.0], [6.0, 6.0]], ["a", "a", "b", "b"]
    >>> model = sx.GaussianNB().fit(X, y)
    >>> model.theta_
    array([[0.5, 0.5],
           [5.5, 5. ]])
    >>> model.predict([[4.0, 4.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _options(self) -> GaussianOptions:
        shrinkage = CovarianceShrinkage(smoothing=self.var_smoothing)
        return GaussianOptions("diagonal", shrinkage, self.priors)

    @property
    def theta_(self) -> Floats:
        """Class means (K x d)."""
        return self.means_

    @property
    def var_(self) -> Floats:
        """Class variances (K x d)."""
        return self.covariance_

    @property
    def class_prior_(self) -> Floats:
        """Prior probabilities of the classes."""
        return self.priors_

    @property
    def class_count_(self) -> Floats:
        """Total sample weight of each class."""
        return self.class_moments_.weight


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

"""Linear discriminant analysis: Gaussian classes with one covariance, and Fisher's projection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.class_covariances import CovarianceShrinkage
from separatrix.discriminant.gaussian_classifier import (
    GaussianOptions,
    IncrementalGaussianClassifier,
)
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.statistics.class_moments import ClassMoments


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, IncrementalGaussianClassifier
):
    """Linear discriminant analysis: Gaussian classes with one covariance for all.

        gₖ(x) = ln P(k) + x·Σ⁻¹μₖ − ½ μₖᵀΣ⁻¹μₖ

    ``transform`` projects rows onto the discriminant directions, which maximize the variance
    between classes relative to that within them, wᵀBw / wᵀΣw; there are at most K − 1.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes the class proportions.
    n_components : int or None, default=None
        Number of directions of ``transform``; None takes all.
    store_covariance : bool, default=False
        Accepted as in scikit-learn; ``covariance_`` is always stored.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the scores; of their difference for two classes, as in scikit-learn.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray of shape (n_features, n_features)
        The pooled covariance Σ (maximum likelihood, 1/n).
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    xbar_ : ndarray of shape (n_features,)
        The overall mean, weighted by the priors.
    scalings_ : ndarray of shape (n_features, n_directions)
        ``transform`` is (x − xbar) · scalings.
    explained_variance_ratio_ : ndarray
        Fraction of the variance between classes along each direction.
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariance.

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for every class.
    LogisticRegression : The same form of boundary without normal classes.
    RegularizedDiscriminantAnalysis : Covariances between linear and quadratic.

    References
    ----------
    R. A. Fisher, "The use of multiple measurements in taxonomic problems", 1936.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0], [4.0, 4.0], [3.0, 4.0]]
    >>> model = sx.LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[9., 9.]]), array([-36.]))
    >>> model.transform([[2.0, 2.0]]).shape
    (1, 1)
    """

    coef_: Floats
    intercept_: Floats

    def __init__(
        self,
        *,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
    ) -> None:
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance

    def _options(self) -> GaussianOptions:
        return GaussianOptions("shared", CovarianceShrinkage(), self.priors)

    def _fit_moments(self, moments: ClassMoments, encoding: Encoding) -> None:
        super()._fit_moments(moments, encoding)
        most = min(len(self.classes_) - 1, moments.mean.shape[1])
        if self.n_components is not None and not 1 <= self.n_components <= most:
            raise InputError(
                f"n_components={self.n_components} must lie between 1 and {most}, the smaller of "
                "the number of columns and the number of classes minus one."
            )
        _, coef, offset = self.scores_.coefficients()
        if len(self.classes_) == 2:
            coef, offset = np.diff(coef, axis=0), np.diff(offset)
        self.coef_, self.intercept_ = coef, offset
        self._fit_directions()
        self._n_features_out = min(self.scalings_.shape[1], self.n_components or most)

    def _fit_directions(self) -> None:
        """Scalings V with VᵀΣV = I that diagonalize the between-class scatter.

        With N the class means minus x̄, Σ⁻¹Nᵀ holds the score coefficients, so the eigenvectors of
        the K x K matrix √P N Σ⁻¹ Nᵀ √P turn coefficients into scalings. They lie in the span of
        √P N Σ⁻¹, which is small where there are few columns.
        """
        self.xbar_ = self.priors_ @ self.means_
        root = np.sqrt(self.priors_)[:, None]
        coef = self.scores_.coefficients()[1]
        centered = coef - self.priors_ @ coef  # Σ⁻¹(μₖ − x̄)
        unit = np.abs(centered).max(axis=0)
        unit[unit == 0] = 1.0
        span, triangle = np.linalg.qr(root * (centered / unit))
        inner = (span.T @ (root * ((self.means_ - self.xbar_) * unit))) @ triangle.T
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        values, vectors = values[::-1], span @ vectors[:, ::-1]
        nonzero = values > 1e-8 * max(values[0], np.finfo(float).tiny)
        nonzero &= np.arange(len(values)) < len(self.classes_) - 1
        values = values[nonzero]
        scalings = (root * centered).T @ (vectors[:, nonzero] / np.sqrt(values))
        largest = np.abs(scalings / unit[:, None]).argmax(axis=0)
        sign = np.sign(scalings[largest, np.arange(scalings.shape[1])])
        self.scalings_ = scalings * np.where(sign == 0, 1.0, sign)
        ratio = values / max(values.sum(), np.finfo(float).tiny)
        self.explained_variance_ratio_ = ratio[: self.n_components]

    def transform(self, X: Any) -> Floats:
        """(x − x̄) · scalings: coordinates along the discriminant directions, strongest first."""
        check_is_fitted(self)
        x = self._design(X)
        scalings = self.scalings_[:, : self._n_features_out]
        return np.asarray(x @ scalings - self.xbar_ @ scalings)

    @property
    def hyperplane_(self) -> Hyperplane:
        """The hyperplanes of the scores."""
        check_is_fitted(self)
        return Hyperplane(self.coef_, self.intercept_, self.encoding_.names)

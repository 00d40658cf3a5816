"""Gaussian class models under the names they are known by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.class_covariances import Mix
from separatrix.discriminant.gaussian_classifier import AdditiveGaussian, Settings
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.statistics.class_moments import ClassMoments


class QuadraticDiscriminantAnalysis(AdditiveGaussian):
    """gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ), each class with a covariance.

    Parameters
    ----------
    priors : array of K numbers, default=None
        Probabilities of the classes; the shares of the rows by default.
    reg_param : float, default=0
        Σₖ becomes (1 − r) Σₖ + r I. This depends on the units of the columns by definition;
        ``RegularizedDiscriminantAnalysis`` does not.
    store_covariance : bool, default=False
        Taken as in scikit-learn; ``covariance_`` (K x d x d) is there in any case.
    """

    def __init__(
        self, *, priors: Any = None, reg_param: float = 0.0, store_covariance: bool = False
    ) -> None:
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance

    def _settings(self) -> Settings:
        return Settings("full", Mix(ridge=self.reg_param), self.priors)


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, AdditiveGaussian
):
    """gₖ(x) = ln P(k) + x·Σ⁻¹μₖ − ½ μₖᵀΣ⁻¹μₖ, one covariance Σ for all classes: planes between.

    ``transform`` maps rows to the directions in which the class means lie apart most, in units
    of the spread within classes: max |wᵀBw| / |wᵀΣw|, at most K − 1 of them.

    Parameters
    ----------
    priors : array of K numbers, default=None
        Probabilities of the classes; the shares of the rows by default.
    n_components : int, default=None
        Directions that ``transform`` keeps; all by default.
    store_covariance : bool, default=False
        Taken as in scikit-learn; ``covariance_`` (d x d) is there in any case.

    Attributes
    ----------
    coef_, intercept_ : of the scores; of their difference for two classes, as in scikit-learn.
    xbar_, scalings_ : ``transform`` is (x − xbar) · scalings.
    explained_variance_ratio_ : the share of each direction in the variance between classes.
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

    def _settings(self) -> Settings:
        return Settings("shared", Mix(), self.priors)

    def _learn(self, moments: ClassMoments, encoding: Encoding) -> None:
        super()._learn(moments, encoding)
        most = min(len(self.classes_) - 1, moments.mean.shape[1])
        if self.n_components is not None and not 1 <= self.n_components <= most:
            raise InputError(
                f"n_components={self.n_components} must lie between 1 and {most}, the least of "
                "the number of columns and the number of classes less one."
            )
        _, coef, offset = self.scores_.coefficients()
        if len(self.classes_) == 2:
            coef, offset = np.diff(coef, axis=0), np.diff(offset)
        self.coef_, self.intercept_ = coef, offset
        self._directions()
        self._n_features_out = min(self.scalings_.shape[1], self.n_components or most)

    def _directions(self) -> None:
        """Scalings V with VᵀΣV = I that diagonalise the scatter of the class means.

        With N the means seen from x̄, Σ⁻¹Nᵀ holds the score coefficients, so the K x K matrix
        √P N Σ⁻¹ Nᵀ √P has all that is needed: its eigenvectors turn coefficients into scalings.
        They lie in the span of √P N Σ⁻¹, in which few columns make it small.
        """
        self.xbar_ = self.priors_ @ self.means_
        root = np.sqrt(self.priors_)[:, None]
        coef = self.scores_.coefficients()[1]
        away = coef - self.priors_ @ coef  # Σ⁻¹(μₖ − x̄)
        unit = np.abs(away).max(axis=0)
        unit[unit == 0] = 1.0
        span, within = np.linalg.qr(root * (away / unit))
        inner = (span.T @ (root * ((self.means_ - self.xbar_) * unit))) @ within.T
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        values, vectors = values[::-1], span @ vectors[:, ::-1]
        kept = values > 1e-8 * max(values[0], np.finfo(float).tiny)
        kept &= np.arange(len(values)) < len(self.classes_) - 1
        scalings = (root * away).T @ (vectors[:, kept] / np.sqrt(values[kept]))
        largest = np.abs(scalings / np.where(unit > 0, unit, 1.0)[:, None]).argmax(axis=0)
        sign = np.sign(scalings[largest, np.arange(scalings.shape[1])])
        self.scalings_ = scalings * np.where(sign == 0, 1.0, sign)
        share = values[kept] / max(values[kept].sum(), np.finfo(float).tiny)
        self.explained_variance_ratio_ = share[: self.n_components]

    def transform(self, X: Any) -> Floats:
        """(x − x̄) · scalings: coordinates in which the classes lie apart most, first one first."""
        check_is_fitted(self)
        x = self._design(X)
        kept = self.scalings_[:, : self._n_features_out]
        return np.asarray(x @ kept - self.xbar_ @ kept)

    @property
    def hyperplane_(self) -> Hyperplane:
        """What was learned, as geometry."""
        check_is_fitted(self)
        return Hyperplane(self.coef_, self.intercept_, self.encoding_.names)


class GaussianNB(AdditiveGaussian):
    """gₖ(x) = ln P(k) − Σⱼ [ln σₖⱼ + ½ (xⱼ − μₖⱼ)² / σₖⱼ²]: columns independent within classes.

    Parameters
    ----------
    priors : array of K numbers, default=None
        Probabilities of the classes; the shares of the rows by default.
    var_smoothing : float, default=1e-9
        This share of each column's own variance over all rows is added to its variances by class.
        (scikit-learn adds a share of the largest variance of all columns, which depends on units.)

    Attributes
    ----------
    theta_, var_, class_prior_, class_count_ : as in scikit-learn.
    """

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _settings(self) -> Settings:
        return Settings("diagonal", Mix(smoothing=self.var_smoothing), self.priors)

    @property
    def theta_(self) -> Floats:
        """Means by class (K x d)."""
        return self.means_

    @property
    def var_(self) -> Floats:
        """Variances by class (K x d)."""
        return self.covariance_

    @property
    def class_prior_(self) -> Floats:
        """Probabilities of the classes."""
        return self.priors_

    @property
    def class_count_(self) -> Floats:
        """The weight of the rows of each class."""
        return self.class_moments_.weight


class NearestMean(AdditiveGaussian):
    """argmin over k of ‖x − μₖ‖² − 2σ² ln P(k): all classes are spheres of the same size.

    With equal priors, the default, x goes to the class whose mean is nearest. Distances depend on
    the units of the columns by definition; ``GaussianDiscriminant("shared_diagonal")`` measures
    them in standard deviations.

    Parameters
    ----------
    priors : "uniform", array of K numbers or None, default="uniform"
        Probabilities of the classes; with None the shares of the rows.
    """

    def __init__(self, *, priors: Any = "uniform") -> None:
        self.priors = priors

    def _settings(self) -> Settings:
        return Settings("shared_spherical", Mix(), self.priors)

"""Linear discriminant analysis: Gaussian classes with one covariance, and Fisher's projection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.discriminant_directions import from_covariances, from_means
from separatrix.discriminant.estimated_covariances import CovarianceChoice, EstimatedCovariances
from separatrix.discriminant.gaussian_options import GaussianOptions, class_priors
from separatrix.discriminant.gaussian_problem import CovarianceShrinkage
from separatrix.discriminant.leave_one_out.shared import SharedFits, shared_fits
from separatrix.estimators.linear_classifier import HyperplaneDistances
from separatrix.geometry.class_scores import LinearScores
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.statistics.class_moments import ClassMoments


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, EstimatedCovariances, HyperplaneDistances
):
    """Linear discriminant analysis: Gaussian classes with one covariance for all.

        gₖ(x) = ln P(k) + x·Σ⁻¹μₖ − ½ μₖᵀΣ⁻¹μₖ

    ``transform`` projects rows onto the discriminant directions, which maximize the variance
    between classes relative to that within them, wᵀBw / wᵀΣw; there are at most K − 1.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "lsqr" and "eigen" are needed for ``shrinkage`` and ``covariance_estimator``, weight the
        class covariances by ``priors`` (and not by their rows), and always keep ``covariance_``;
        "lsqr" has no ``transform``. The computation is the same.
    shrinkage : "auto", float or None, default=None
        Each class covariance C becomes (1 − s) C + s (tr C/d) I, with s chosen by Ledoit and Wolf
        in standardized columns ("auto"), or given, which depends on the units of the columns.
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes the class proportions.
    n_components : int or None, default=None
        Number of directions of ``transform``; None takes all.
    store_covariance : bool, default=False
        Whether to keep ``covariance_`` with ``solver="svd"``.
    tol : float, default=1e-4
        For "svd": directions in which rows of one class differ by no more than this standard
        deviation, relative to that of the columns within classes, are left out, as in
        scikit-learn. With 0 they stay, and separate classes that differ there.
    covariance_estimator : estimator or None, default=None
        Its ``fit(X)`` and ``covariance_`` estimate the covariance of the rows of a class.

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
        The covariance within classes, Σ P(k) Σₖ, if kept (maximum likelihood, 1/n).
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    xbar_ : ndarray of shape (n_features,)
        The overall mean, weighted by the priors ("svd").
    scalings_ : ndarray of shape (n_features, n_directions)
        ``transform`` is (x − xbar) · scalings ("svd") or x · scalings ("eigen").
    explained_variance_ratio_ : ndarray
        Fraction of the variance between classes along each direction ("svd", "eigen").
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariance.

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for every class.
    LogisticRegression : The same form of boundary without normal classes.
    RegularizedDiscriminantAnalysis : Covariances between linear and quadratic.
    GaussianDiscriminant : Other covariances, and a prior on means and covariances.

    References
    ----------
    - R. A. Fisher, "The use of multiple measurements in taxonomic problems", 1936.
    - O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
      matrices", 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0], [4.0, 4.0], [3.0, 4.0]]
    >>> model = sx.LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[9., 9.]]), array([-36.]))
    >>> model.signed_distance([[2.0, 2.0], [3.0, 3.0]]).round(3)
    array([0.   , 1.414])
    >>> model.transform([[2.0, 2.0]]).shape
    (1, 1)
    """

    coef_: Floats
    intercept_: Floats
    scores_: LinearScores
    _solvers = ("svd", "lsqr", "eigen")

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _choice(self) -> CovarianceChoice:
        return CovarianceChoice(self.solver, self.shrinkage, self.covariance_estimator)

    def _options(self) -> GaussianOptions:
        replaced = bool(self.shrinkage) or self.covariance_estimator is not None
        tol = self.tol or None
        if self.solver != "svd":
            tol = None if replaced else 0.0  # only what is singular is left out
        shrinkage = CovarianceShrinkage()
        return GaussianOptions("shared", shrinkage, self.priors, tol, likeliest=not replaced)

    def _structure(self) -> str:
        by_class = self.solver != "svd" or (self.store_covariance and self.priors is not None)
        return "full" if by_class else "pooled"

    def _fits_wide(self, structure: str) -> bool:
        plain = structure == "pooled" and not self.store_covariance and bool(self.tol)
        return plain and super()._fits_wide(structure)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> SharedFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        if self.solver != "svd" or self.certificate_.rank != self.means_.shape[1]:
            return None
        return shared_fits(self, X, y, sample_weight, None if self.priors is None else self.priors_)

    def _class_priors(self, weight: Floats) -> Floats:
        return class_priors(self.priors, weight, rescaled=True)

    def _require_rows(self, moments: ClassMoments) -> None:
        if moments.count.sum() <= len(self.classes_):
            raise InputError(
                "The number of samples must be more than that of classes: with one row for each "
                "class there is no covariance within classes.",
                remedy="Give more rows, or use NearestMean.",
            )

    def _fit_moments(
        self,
        moments: ClassMoments,
        encoding: Encoding,
        *,
        given: Floats | None = None,
        added: Floats | None = None,
    ) -> None:
        matrices = given
        if self._structure() == "full":
            matrices = self._choice().from_moments(moments) if given is None else given
            given = np.tensordot(self._class_priors(moments.weight), matrices[:-1], 1)[None]
        within = given if self.solver != "svd" else None
        super()._fit_moments(moments, encoding, given=within, added=added)
        for name in ("xbar_", "scalings_", "explained_variance_ratio_"):
            self.__dict__.pop(name, None)
        if self.solver == "svd":
            self.__dict__.pop("covariance_", None)
        if self.solver == "svd" and self.store_covariance:
            self.covariance_ = self._rounded(moments.within if given is None else given[0])
        self._fit_hyperplanes()
        self._fit_directions(None if matrices is None else matrices[-1])

    def _fit_hyperplanes(self) -> None:
        plane = self.hyperplane_
        self.coef_, self.intercept_ = self._rounded(plane.coef), self._rounded(plane.intercept)

    def _fit_directions(self, total: Floats | None) -> None:
        most = min(len(self.classes_) - 1, self.means_.shape[1])
        if self.n_components is not None and not 1 <= self.n_components <= most:
            raise InputError(
                f"n_components cannot be larger than {most}, the smaller of the number of columns "
                f"and the number of classes minus one, nor below 1: {self.n_components}."
            )
        if self.solver == "lsqr":
            return
        if self.solver == "eigen":
            assert total is not None
            found = from_covariances(np.asarray(self.covariance_, dtype=float), total)
        else:
            m, coef = self.class_moments_, self.scores_.linear()[0]
            priors = self._class_priors(m.weight)
            self.xbar_ = self._rounded(priors @ m.mean)
            found = from_means(m.mean, priors, coef)
        self.scalings_ = self._rounded(found.scalings)
        self.explained_variance_ratio_ = self._rounded(found.ratio(self.n_components or most))

    @property
    def _n_features_out(self) -> int:
        """The number of columns of ``transform``."""
        if self.solver == "lsqr":
            return 0
        most = min(len(self.classes_) - 1, self.means_.shape[1])
        return int(min(self.scalings_.shape[1], self.n_components or most))

    def transform(self, X: Any) -> Floats:
        """Coordinates along the discriminant directions, strongest first: (x − x̄) · scalings.

        With ``solver="eigen"`` they are x · scalings, as in scikit-learn.
        """
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr': choose solver='svd' or 'eigen'."
            )
        check_is_fitted(self)
        x = self._design(X)
        scalings = self.scalings_[:, : self._n_features_out]
        if self.solver == "eigen":
            return np.asarray(x @ scalings)
        return np.asarray(x @ scalings - self.xbar_ @ scalings)

    def _covariances(self) -> Floats:
        self._require_products()
        return self.covariance_ if self.solver != "svd" else self.class_moments_.within

    def _coefficients(self) -> tuple[Floats, Floats]:
        """Those of the scores as scikit-learn has them: about x̄ with "svd", else about 0."""
        return self.scores_.linear() if self.solver == "svd" else self.scores_.canonical_linear()

    def decision_function(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) up to a number common to all classes; of two, the log odds."""
        check_is_fitted(self)
        if self.solver == "svd" or len(self.classes_) == 2:
            return super().decision_function(X)
        return self.hyperplane_.score(self._design(X))

    @property
    def hyperplane_(self) -> Hyperplane:
        """The hyperplanes of the scores: one for two classes, else one for each."""
        check_is_fitted(self, "scores_")
        coef, offset = self._coefficients()
        if len(self.classes_) == 2:
            coef, offset = np.diff(coef, axis=0), np.diff(offset)
        return Hyperplane(coef, offset, self.encoding_.names)

    def pair_hyperplane(self, first: Any, second: Any) -> Hyperplane:
        """The hyperplane between two classes, by label; positive on the side of the second.

        It has signed distances, margins and projections of rows.
        """
        check_is_fitted(self)
        a, b = self._pair(first, second)
        coef, offset = self.scores_.linear()
        return Hyperplane(coef[b : b + 1] - coef[a], offset[b : b + 1] - offset[a])

"""Quadratic discriminant analysis: Gaussian classes, each with a covariance of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.discriminant.class_covariances import shrunk_covariances
from separatrix.discriminant.estimated_covariances import CovarianceChoice, EstimatedCovariances
from separatrix.discriminant.gaussian_options import GaussianOptions, class_priors
from separatrix.discriminant.gaussian_problem import CovarianceShrinkage, total_standardizer
from separatrix.discriminant.leave_one_out.quadratic import QuadraticFits, quadratic_fits
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.statistics.class_moments import ClassMoments


class QuadraticDiscriminantAnalysis(EstimatedCovariances):
    """Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

        gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        "eigen" is needed for ``shrinkage`` and ``covariance_estimator``, and leaves ``reg_param``
        out; the computation is the same.
    shrinkage : "auto", float or None, default=None
        Σₖ becomes (1 − s) Σₖ + s (tr Σₖ/d) I, with s chosen by Ledoit and Wolf in standardized
        columns ("auto"), or given, which depends on the units of the columns.
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes the class proportions.
    reg_param : float, default=0.0
        Σₖ becomes (1 − r) Σₖ + r I. This depends on the units of the columns by definition;
        ``RegularizedDiscriminantAnalysis`` does not.
    store_covariance : bool, default=False
        Whether to keep ``covariance_``.
    tol : float, default=1e-4
        Accepted as in scikit-learn, and unused: whether a covariance is singular is judged by
        rounding errors, whatever the units.
    covariance_estimator : estimator or None, default=None
        Its ``fit(X)`` and ``covariance_`` estimate Σₖ from the rows of class k.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances, if ``store_covariance`` (maximum likelihood, 1/n).
    rotations_ : list of ndarray of shape (n_features, n_features)
        Principal axes of every class, as columns.
    scalings_ : list of ndarray of shape (n_features,)
        Variances of every class along them, largest first.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariances.

    See Also
    --------
    GaussianDiscriminant : The same with six covariance structures, and with a prior on them.
    LinearDiscriminantAnalysis : One covariance for all classes.
    RegularizedDiscriminantAnalysis : Shrinkage chosen by cross-validation.

    References
    ----------
    O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
    matrices", 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[-0.5], [0.0], [0.5], [-3.0], [3.0], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> sx.QuadraticDiscriminantAnalysis().fit(X, y).predict([[-2.0], [0.1], [2.0]])
    array([1, 0, 1])
    """

    _solvers = ("svd", "eigen")

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _choice(self) -> CovarianceChoice:
        return CovarianceChoice(self.solver, self.shrinkage, self.covariance_estimator)

    @property
    def _replaced(self) -> bool:
        """Whether the covariances are not those of maximum likelihood, nor these plus r I."""
        return bool(self.shrinkage) or self.covariance_estimator is not None

    def _options(self) -> GaussianOptions:
        shrinkage = CovarianceShrinkage(ridge=self.reg_param if self.solver == "svd" else 0.0)
        return GaussianOptions("full", shrinkage, self.priors, likeliest=not self._replaced)

    def _fits_wide(self, structure: str) -> bool:
        return super()._fits_wide(structure) and not (self._replaced or self.store_covariance)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> QuadraticFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        if self._replaced or self.reg_param:
            return None
        given = None if self.priors is None else self.priors_
        return quadratic_fits(self, X, y, sample_weight, given)

    def _class_priors(self, weight: Floats) -> Floats:
        return class_priors(self.priors, weight, rescaled=True)

    def _require_rows(self, moments: ClassMoments) -> None:
        if (moments.count == 1).any():
            name = self.classes_.tolist()[int(np.argmax(moments.count == 1))]
            raise InputError(
                f"y has only 1 sample in class {name!r}, which has no covariance.",
                remedy="Leave the class out, or share one covariance (LinearDiscriminantAnalysis).",
            )

    def _fit_moments(
        self,
        moments: ClassMoments,
        encoding: Encoding,
        *,
        given: Floats | None = None,
        added: Floats | None = None,
    ) -> None:
        if given is None and self._replaced:
            given = self._choice().from_moments(moments)
        given = None if given is None else given[:-1]
        super()._fit_moments(moments, encoding, given=given, added=added)
        if not self.store_covariance:
            self.__dict__.pop("covariance_", None)

    def _covariances(self) -> Floats:
        if hasattr(self, "covariance_"):
            return self.covariance_
        self._require_products()
        m = self.class_moments_
        if self._choice().needs_rows:  # Σ = (−2W)⁻¹, in columns of comparable size
            scale = np.sqrt(np.diag(m.within + m.between))
            scale[scale == 0] = 1.0
            unit = np.outer(scale, scale)
            return np.asarray(np.linalg.pinv(-2.0 * self.W_ * unit, hermitian=True) * unit)
        if self._replaced:
            return self._choice().from_moments(m)[:-1]
        standardizer = total_standardizer(np.diag(m.within + m.between), m.grand_mean)
        return shrunk_covariances(m, self._options().shrinkage, standardizer, shared=False)

    @property
    def scalings_(self) -> list[Floats]:
        """Variances of every class along its principal axes, largest first."""
        return [self._rounded(values[::-1]) for values in self._spectra()[0]]

    @property
    def rotations_(self) -> list[Floats]:
        """Principal axes of every class, as columns, in the order of ``scalings_``."""
        return [self._rounded(vectors[:, ::-1]) for vectors in self._spectra()[1]]

    def _spectra(self) -> tuple[Floats, Floats]:
        if not hasattr(self, "class_moments_"):
            raise AttributeError("The model is not fitted.")
        values, vectors = np.linalg.eigh(self._covariances())
        return np.maximum(values, 0.0), vectors

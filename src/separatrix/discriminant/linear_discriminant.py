"""Linear and quadratic discriminant analysis."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.discriminant import gaussian_classifier, leave_one_out
from separatrix.discriminant.covariances import (
    CovarianceShrinkage,
    shrink_covariances,
    total_standardizer,
)
from separatrix.estimators.class_labels import CodedRows, class_priors, coded_rows
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.formula import nodes
from separatrix.geometry.class_scores import LinearScores
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import LARGEST, Encoding, refuse_beyond, to_array
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.moments import EPS
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Covariances that scikit-learn's ``shrinkage`` and ``covariance_estimator`` ask for.
#
#     Σ = (1 − s) C + s (tr C / d) I
#
# with s given, or by Ledoit and Wolf ("auto") in columns of unit variance:
#
#     s = min(1, Σ w (‖z‖⁴ − ‖R‖²) / (n² ‖R − I‖²)),      R the correlation matrix
#
# which minimizes the expected squared error of the covariance. These depend on the units of the
# columns where s is given, by definition, and not with "auto".


@dataclass(frozen=True)
class CovarianceChoice:
    """The parameters ``solver``, ``shrinkage`` and ``covariance_estimator`` of a model."""

    solver: str
    shrinkage: Any = None
    estimator: Any = None

    def check(self, solvers: tuple[str, ...]) -> None:
        """Refuse what is unknown, and what does not go together."""
        check_option("solver", self.solver, solvers)
        s = self.shrinkage
        number = isinstance(s, Real) and not isinstance(s, bool | np.bool_)
        if not (s is None or (isinstance(s, str) and s == "auto") or (number and 0 <= s <= 1)):
            raise InputError(f"shrinkage={s!r} must be 'auto', None or a number from 0 to 1.")
        if self.solver == "svd" and s is not None:
            raise NotImplementedError(
                "shrinkage is not supported with solver='svd'. Use solver='eigen'."
            )
        if self.estimator is None:
            return
        if self.solver == "svd":
            raise InputError(
                "covariance_estimator is not supported with solver='svd': a covariance estimator "
                "is not supported with svd, which forms no covariance.",
                remedy="Use solver='eigen'.",
            )
        if s:
            raise InputError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )
        if not hasattr(self.estimator, "fit"):
            raise InputError(f"covariance_estimator={self.estimator!r} has no method fit.")

    @property
    def needs_rows(self) -> bool:
        """Whether class moments do not suffice."""
        return self.estimator is not None or self.shrinkage == "auto"

    def from_moments(self, m: ClassMoments) -> Floats:
        """Covariances of every class (K x d x d), and of all rows as the last."""
        matrices = np.concatenate([m.covariances, (m.within + m.between)[None]])
        return np.stack([shrink(c, float(self.shrinkage or 0.0)) for c in matrices])

    def from_rows(self, coded: CodedRows, n_classes: int) -> Floats:
        """Covariances of every class (K x d x d), and of all rows as the last."""
        x, w = to_array(coded.x), coded.w
        if self.estimator is not None and np.ptp(w) > 0:
            raise InputError(
                "covariance_estimator takes no sample_weight.", remedy="Use shrinkage instead."
            )
        deviation = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, 0, w))
        parts = [np.flatnonzero(coded.codes == k) for k in range(n_classes)]
        parts.append(np.arange(len(x)))
        return np.stack([self._one(x[part], w[part], deviation) for part in parts])

    def _one(self, x: Floats, w: Floats, deviation: Floats) -> Floats:
        if self.estimator is None:
            return ledoit_wolf(x, w, deviation)
        model = clone(self.estimator, safe=False)
        model.fit(x)
        if not hasattr(model, "covariance_"):
            raise InputError(f"{type(model).__name__} does not have a covariance_ attribute.")
        return np.atleast_2d(np.asarray(model.covariance_, dtype=np.float64))


def _from_portions(model: Any) -> bool:
    if model._choice().needs_rows:
        raise AttributeError("shrinkage='auto' and covariance_estimator need all rows at once.")
    return True


class EstimatedCovariances(gaussian_classifier.IncrementalGaussianClassifier):
    """Gaussian classes with scikit-learn's ``shrinkage`` and ``covariance_estimator``."""

    _solvers: tuple[str, ...] = ()

    @abstractmethod
    def _choice(self) -> CovarianceChoice:
        """The solver and how covariances are estimated, by the parameters."""

    def _check_parameters(self) -> None:
        self._choice().check(self._solvers)
        tol = getattr(self, "tol", 0.0)
        if not (isinstance(tol, Real) and 0.0 <= float(tol) < np.inf):
            raise InputError(f"tol={tol!r} must be a number and not negative.")
        priors = self._options().priors
        total = 1.0 if priors is None or isinstance(priors, str) else float(np.sum(priors))
        if abs(total - 1.0) > 1e-5:
            warn("SEP014", f"priors add up to {total:.6g}, and were divided by it.")

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> gaussian_classifier.Statistics:
        self._check_parameters()
        choice = self._choice()
        if not choice.needs_rows:
            return super()._statistics(X, y, sample_weight)
        coded = coded_rows(self, X, y, sample_weight)
        rows = ArrayRows(coded.x, None, coded.w).with_parts(coded.codes)
        moments = self._array_moments(rows, self._structure())
        return moments, coded.encoding, choice.from_rows(coded, len(self.classes_))

    @available_if(_from_portions)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels.

        There is none with ``shrinkage="auto"`` or a ``covariance_estimator``, which need all rows.
        """
        self._check_parameters()
        return super().partial_fit(X, y, classes, sample_weight)


def shrink(covariance: Floats, s: float) -> Floats:
    """(1 − s) C + s (tr C / d) I."""
    d = len(covariance)
    mean = float(np.trace(covariance)) / max(d, 1)
    return np.asarray((1.0 - s) * covariance + s * mean * np.eye(d))


def ledoit_wolf(x: Floats, w: Floats, deviation: Floats) -> Floats:
    """The covariance of weighted rows, shrunk in columns of unit variance by Ledoit and Wolf.

    A column that is constant here counts in units of its ``deviation`` over all rows.
    """
    n, d = float(w.sum()), x.shape[1]
    z = x - w @ x / n
    z -= w @ z / n
    value = np.sqrt(w @ z**2 / n)
    rounding = 16 * np.finfo(float).eps * np.abs(x).max(axis=0, initial=0.0)
    scale = np.where(value > rounding, value, deviation)
    z = np.where(value > rounding, z, 0.0) / np.where(scale > 0.0, scale, 1.0)
    c = (z * w[:, None]).T @ z / n
    square = float((c**2).sum())
    fourth = float(w @ np.einsum("ij,ij->i", z, z) ** 2) / n
    spread = square - float(np.trace(c)) ** 2 / max(d, 1)  # ‖C − mean · I‖²
    noise = max((fourth - square) / n, 0.0)
    s = 0.0 if noise == 0.0 else 1.0 if spread <= noise else noise / spread
    return np.asarray(shrink(c, s) * np.outer(scale, scale))


# -------------------------------------------------------------------------------------------------
# Linear discriminant analysis: Gaussian classes with one covariance, and Fisher's projection.


@declare_parameters
class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, EstimatedCovariances
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
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the scores; of their difference for two classes, as in scikit-learn.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_features, n_features)
        The covariance within classes, Σ P(k) Σₖ, if kept (maximum likelihood, 1/n).
    priors_ : ndarray of shape (n_classes,)
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

    coef_: Floats = field(init=False)
    intercept_: Floats = field(init=False)
    scores_: LinearScores = field(init=False)
    _solvers = ("svd", "lsqr", "eigen")

    signed_distance, margin = LinearClassifier.signed_distance, LinearClassifier.margin

    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    n_components: int | None = None
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None

    def _choice(self) -> CovarianceChoice:
        return CovarianceChoice(self.solver, self.shrinkage, self.covariance_estimator)

    def _options(self) -> gaussian_classifier.GaussianOptions:
        replaced = bool(self.shrinkage) or self.covariance_estimator is not None
        tol = self.tol or None
        if self.solver != "svd":
            tol = None if replaced else 0.0  # only what is singular is left out
        shrinkage = CovarianceShrinkage()
        return gaussian_classifier.GaussianOptions(
            "shared", shrinkage, self.priors, tol, likeliest=not replaced
        )

    def _structure(self) -> str:
        by_class = self.solver != "svd" or (self.store_covariance and self.priors is not None)
        return "full" if by_class else "pooled"

    def _fits_wide(self, structure: str) -> bool:
        plain = structure == "pooled" and not self.store_covariance and bool(self.tol)
        return plain and super()._fits_wide(structure)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> leave_one_out.SharedFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        if self.solver != "svd" or self.certificate_.rank != self.means_.shape[1]:
            return None
        return leave_one_out.shared_fits(
            self, X, y, sample_weight, None if self.priors is None else self.priors_
        )

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
        self, moments: ClassMoments, encoding: Encoding, given: Floats | None = None
    ) -> None:
        matrices = given
        if self._structure() == "full":
            matrices = self._choice().from_moments(moments) if given is None else given
            given = np.tensordot(self._class_priors(moments.weight), matrices[:-1], 1)[None]
        within = given if self.solver != "svd" else None
        super()._fit_moments(moments, encoding, within)
        for name in ("xbar_", "scalings_", "explained_variance_ratio_"):
            self.__dict__.pop(name, None)
        if self.solver == "svd":
            self.__dict__.pop("covariance_", None)
        if self.solver == "svd" and self.store_covariance:
            self.covariance_ = self._round(moments.within if given is None else given[0])
        self._fit_hyperplanes()
        self._fit_directions(None if matrices is None else matrices[-1])

    def _fit_hyperplanes(self) -> None:
        plane = self.hyperplane_
        self.coef_, self.intercept_ = self._round(plane.coef), self._round(plane.intercept)

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
            directions = from_covariances(np.asarray(self.covariance_, dtype=float), total)
        else:
            m, coef = self.class_moments_, self.scores_.linear()[0]
            priors = self._class_priors(m.weight)
            self.xbar_ = self._round(priors @ m.mean)
            directions = from_means(m.mean, priors, coef)
        self.scalings_ = self._round(directions.scalings)
        self.explained_variance_ratio_ = self._round(directions.ratio(self.n_components or most))

    @property
    def _n_features_out(self) -> int:
        """The number of columns of ``transform``."""
        if self.solver == "lsqr":
            return 0
        most = min(len(self.classes_) - 1, self.means_.shape[1])
        return int(min(self.scalings_.shape[1], self.n_components or most))

    @on_one_blas_thread
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
        coordinates = np.asarray(x @ scalings)
        if self.solver != "eigen":
            coordinates = coordinates - self.xbar_ @ scalings
        if not np.isfinite(coordinates).all():
            refuse_beyond(LARGEST, x, self.encoding_.names)
        return coordinates

    def _covariances(self) -> Floats:
        self._require_products()
        return self.covariance_ if self.solver != "svd" else self.class_moments_.within

    def _coefficients(self) -> tuple[Floats, Floats]:
        """Those of the scores as scikit-learn has them: about x̄ with "svd", else about 0."""
        return self.scores_.linear() if self.solver == "svd" else self.scores_.canonical_linear()

    @on_one_blas_thread
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

    def formula(self) -> nodes.ClassFormula:
        """Scores of ``decision_function`` are about zero, where scikit-learn has them so."""
        plain = super().formula()
        if self.solver == "svd" or len(self.classes_) == 2:
            return plain
        plane = self.hyperplane_
        scores = nodes.Affine(nodes.design_of(self), plane.coef.T, plane.intercept)
        return replace(plain, scores=scores, by_sign=False)


# -------------------------------------------------------------------------------------------------
# Directions that maximize the variance between classes relative to that within, wᵀBw / wᵀΣw.


@dataclass(frozen=True)
class Directions:
    """Directions as columns of ``scalings`` (strongest first) and their ``values`` wᵀBw."""

    scalings: Floats
    values: Floats

    def ratio(self, n: int) -> Floats:
        """Fractions of the variance between classes along the first ``n``, 0 beyond the last."""
        values = np.zeros(max(n, len(self.values)))
        values[: len(self.values)] = self.values
        return np.asarray(values[:n] / max(float(values.sum()), np.finfo(float).tiny))


def from_means(means: Floats, priors: Floats, coef: Floats) -> Directions:
    """Scalings V with VᵀΣV = I that diagonalize the variance of the class means.

    With N the class means minus x̄, Σ⁻¹Nᵀ holds the score coefficients, so the eigenvectors of
    the K x K matrix √P N Σ⁻¹ Nᵀ √P turn coefficients into scalings. They lie in the span of
    √P N Σ⁻¹, which is small where there are few columns.
    """
    root = np.sqrt(priors)[:, None]
    centered = coef - priors @ coef  # Σ⁻¹(μₖ − x̄)
    unit = np.abs(centered).max(axis=0)
    unit[unit == 0] = 1.0
    span, triangle = np.linalg.qr(root * (centered / unit))
    inner = (span.T @ (root * ((means - priors @ means) * unit))) @ triangle.T
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    values, vectors = values[::-1], span @ vectors[:, ::-1]
    nonzero = values > 1e-8 * max(values[0], np.finfo(float).tiny)
    nonzero &= np.arange(len(values)) < len(means) - 1
    values = values[nonzero]
    scalings = (root * centered).T @ (vectors[:, nonzero] / np.sqrt(values))
    return Directions(_orient(scalings, unit), values)


def from_covariances(within: Floats, total: Floats) -> Directions:
    """All directions V with VᵀΣV = I that diagonalize the total covariance less that within."""
    scale = np.sqrt(np.maximum(np.diag(within), 0.0))
    unit = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(within / np.outer(unit, unit))
    nonzero = values > 10 * len(values) * EPS
    maps = vectors[:, nonzero] / np.sqrt(values[nonzero]) / unit[:, None]
    between, rotation = np.linalg.eigh(maps.T @ (total - within) @ maps)
    return Directions(_orient(maps @ rotation[:, ::-1], 1.0 / unit), between[::-1])


def _orient(scalings: Floats, unit: Floats) -> Floats:
    """Every direction with its largest component positive, the first of those that are equal.

    Between two classes all components are as large as their units: rounding must not decide.
    """
    if not scalings.size:
        return scalings
    size = np.abs(scalings / unit[:, None])
    largest = (size >= (1.0 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    sign = np.sign(scalings[largest, np.arange(scalings.shape[1])])
    return np.asarray(scalings * np.where(sign == 0, 1.0, sign))


# -------------------------------------------------------------------------------------------------
# Quadratic discriminant analysis: Gaussian classes, each with a covariance of its own.


@declare_parameters
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
    reg_param : float, default=0.0
        Σₖ becomes (1 − r) Σₖ + r I. This depends on the units of the columns by definition;
        ``RegularizedDiscriminantAnalysis`` does not.
    store_covariance : bool, default=False
        Whether to keep ``covariance_``.
    tol : float, default=1e-4
        Ignored; accepted for scikit-learn compatibility: whether a covariance is singular is judged
        by rounding errors, whatever the units.
    covariance_estimator : estimator or None, default=None
        Its ``fit(X)`` and ``covariance_`` estimate Σₖ from the rows of class k.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances, if ``store_covariance`` (maximum likelihood, 1/n).
    rotations_ : list of ndarray of shape (n_features, n_features)
        Principal axes of every class, as columns.
    scalings_ : list of ndarray of shape (n_features,)
        Variances of every class along them, largest first.
    priors_ : ndarray of shape (n_classes,)
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

    _: KW_ONLY
    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    reg_param: float = 0.0
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None

    def _choice(self) -> CovarianceChoice:
        return CovarianceChoice(self.solver, self.shrinkage, self.covariance_estimator)

    @property
    def _replaced(self) -> bool:
        """Whether the covariances are not those of maximum likelihood, nor these plus r I."""
        return bool(self.shrinkage) or self.covariance_estimator is not None

    def _options(self) -> gaussian_classifier.GaussianOptions:
        shrinkage = CovarianceShrinkage(ridge=self.reg_param if self.solver == "svd" else 0.0)
        return gaussian_classifier.GaussianOptions(
            "full", shrinkage, self.priors, likeliest=not self._replaced
        )

    def _fits_wide(self, structure: str) -> bool:
        return super()._fits_wide(structure) and not (self._replaced or self.store_covariance)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> leave_one_out.QuadraticFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        if self._replaced or self.reg_param:
            return None
        given = None if self.priors is None else self.priors_
        return leave_one_out.quadratic_fits(self, X, y, sample_weight, given)

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
        self, moments: ClassMoments, encoding: Encoding, given: Floats | None = None
    ) -> None:
        if given is None and self._replaced:
            given = self._choice().from_moments(moments)
        given = None if given is None else given[:-1]
        super()._fit_moments(moments, encoding, given)
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
        standardizer = total_standardizer(m)
        return shrink_covariances(m, self._options().shrinkage, standardizer, shared=False)

    @property
    def scalings_(self) -> list[Floats]:
        """Variances of every class along its principal axes, largest first."""
        return [self._round(values[::-1]) for values in self._spectra()[0]]

    @property
    def rotations_(self) -> list[Floats]:
        """Principal axes of every class, as columns, in the order of ``scalings_``."""
        return [self._round(vectors[:, ::-1]) for vectors in self._spectra()[1]]

    def _spectra(self) -> tuple[Floats, Floats]:
        if not hasattr(self, "class_moments_"):
            raise AttributeError("The model is not fitted.")
        values, vectors = np.linalg.eigh(self._covariances())
        return np.maximum(values, 0.0), vectors

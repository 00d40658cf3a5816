"""Gaussian discriminant analysis with six covariance structures, and the nearest mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints
from separatrix.discriminant.covariances import CovarianceShrinkage, SingularCovarianceError
from separatrix.discriminant.gaussian_classifier import (
    COVARIANCES,
    GaussianOptions,
    IncrementalGaussianClassifier,
    covariance_parameters,
)
from separatrix.discriminant.regularized_discriminant import ClassFold, array_folds, table_folds
from separatrix.estimators.base import number_type, reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms, rows_with_codes
from separatrix.geometry.class_scores import log_softmax
from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError, SeparatrixWarning, check_option
from separatrix.notebook import Grid, Item, Shown
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Column, Schema, identity
from separatrix.selection.folds import folding, folds_of, warn_of_parted_copies
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.estimation import check_method


@dataclass(frozen=True)
class CovarianceComparison(Shown):
    """Structures of class covariances: parameters, and losses by structure and fold."""

    structures: tuple[str, ...]
    n_parameters: Ints
    log_loss: Floats
    error: Floats
    chosen: str

    def _display(self) -> list[Item]:
        lines = [
            (name, f"{count:,}", f"{loss.mean():.4g}", f"{error.mean():.4g}")
            for name, count, loss, error in zip(
                self.structures, self.n_parameters, self.log_loss, self.error, strict=True
            )
        ]
        titles = ("covariance", "parameters", "log loss", "error")
        chosen = self.structures.index(self.chosen)
        return [Grid(titles, lines, strong=chosen, caption=f"Chosen: {self.chosen}.")]


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
"shared_spherical", "auto"}, default="full"
        Structure of Σₖ: any matrix, or one for all classes; a diagonal matrix (columns independent
        within classes), or one for all; a multiple of the identity, or one for all (nearest mean).
        The last two depend on the units of the columns by definition, the others do not. "auto"
        takes the one of least cross-validated log loss, all six from the same class moments.
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
    rank : int or None, default=None
        Of "full": each class has variances of its own in as many directions, and those of the
        pooled covariance S elsewhere, so that W₁ − W₂ has at most twice this rank. The directions
        are the leading eigenvectors of Σₖ relative to S, those that add most to the likelihood. 0
        is "shared", and None has all directions of each class.
    cv : int, splitter or iterable, default=5
        The folds of "auto".

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
    structure_ : str
        The covariance structure: as given, or chosen.
    cv_log_loss_, cv_error_ : ndarray of shape (6, n_folds)
        Of "auto", the mean log loss and the error of each fold by structure, in the order in which
        they are listed; infinite where a covariance is singular. ``comparison()`` has the table.
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
    rank: int | None = None
    cv: Any = 5

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("covariance", self.covariance, (*COVARIANCES, "auto"))
        for name in ("cv_log_loss_", "cv_error_"):
            self.__dict__.pop(name, None)
        self.structure_ = self.covariance
        if self.covariance != "auto":
            return super().fit(X, y, sample_weight)
        self._number_type = number_type(X)
        if isinstance(X, Rows):
            table = class_rows(self, X, y, sample_weight).read()
            table = table.take(folding(table.block.w, self.cv))
            whole, encoding = self._table_moments(table, "full")
            folds = table_folds(table, self.cv, class_terms(self, table, table.block.targets))
        else:
            rows = rows_with_codes(self, X, y, sample_weight)
            rows = rows.take(folding(rows.block.w, self.cv))
            parts = folds_of(self.cv, len(rows), codes=rows.block.parts)
            warn_of_parted_copies(rows, parts, self.cv)
            folds, whole = array_folds(rows, parts, len(self.classes_))
            encoding = identity(rows.schema)
        self._compare(folds)
        structure = COVARIANCES[self.structure_]
        self._fit_moments(whole.as_structure(structure), encoding)
        return self

    def _compare(self, folds: Sequence[ClassFold]) -> None:
        """Set ``structure_`` to the one of least log loss; of equals, to that listed last."""
        losses = np.array([[self._losses(name, fold) for fold in folds] for name in COVARIANCES])
        self.cv_log_loss_, self.cv_error_ = losses[:, :, 0], losses[:, :, 1]
        weight = np.array([fold.test.weight for fold in folds])
        with np.errstate(invalid="ignore"):
            mean = self.cv_log_loss_ @ (weight / weight.sum())
        if not np.isfinite(mean).any():
            raise InputError(
                "Whatever the covariances, some class has no variance in some fold.",
                remedy="Give more rows of each class, fewer folds, or alpha above 0.",
            )
        names = list(COVARIANCES)
        self.structure_ = names[len(names) - 1 - int(np.argmin(mean[::-1]))]

    def _losses(self, name: str, fold: ClassFold) -> tuple[float, float]:
        """Mean log loss and error of the test rows of a fold, of classes that it trains on."""
        test, known = fold.test, fold.train.weight > 0.0
        assert test.parts is not None
        rows = np.flatnonzero((test.weights > 0.0) & known[test.parts])
        if not len(rows):
            return 0.0, 0.0
        model = clone(self).set_params(covariance=name)
        model.classes_, model.structure_ = self.classes_, name
        encoding = identity(Schema(tuple(Column(str(term)) for term in test.terms)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SeparatrixWarning)  # those of the chosen one count
                model._fit_moments(fold.train.as_structure(COVARIANCES[name]), encoding)
        except SingularCovarianceError:
            return np.inf, np.inf
        p = model._design_scores(test.take(rows).x, log_softmax)
        w, codes = test.weights[rows], test.parts[rows]
        loss, wrong = -p[np.arange(len(rows)), codes], p.argmax(axis=1) != codes
        return float(np.average(loss, weights=w)), float(np.average(wrong, weights=w))

    def comparison(self) -> CovarianceComparison:
        """The structures that "auto" compared, with their numbers of parameters.

        Returns
        -------
        CovarianceComparison
            Prints as a table: parameters, cross-validated log loss and error of each.
        """
        check_is_fitted(self, "cv_log_loss_")
        k, d = self.means_.shape
        others = k * d + (k - 1) * (self.priors is None)
        return CovarianceComparison(
            tuple(COVARIANCES),
            np.array([covariance_parameters(name, k, d) + others for name in COVARIANCES]),
            self.cv_log_loss_,
            self.cv_error_,
            self.structure_,
        )

    def _options(self) -> GaussianOptions:
        name = getattr(self, "structure_", self.covariance)
        if name == "auto":
            raise InputError(
                'covariance="auto" compares folds of all rows.',
                remedy="Call fit first, or name one of the structures.",
            )
        check_option("covariance", name, COVARIANCES)
        shrinkage = CovarianceShrinkage(self.alpha, self.beta)
        if self.rank is not None:
            if name != "full" or self.covariance == "auto":
                raise InputError(
                    f"rank={self.rank!r} is that of class covariances, and "
                    f"covariance={self.covariance!r} has no directions of its own.",
                    remedy='Use covariance="full", or leave rank away.',
                )
            if not (isinstance(self.rank, Integral) and self.rank >= 0):
                raise InputError(f"rank={self.rank!r} must be a whole number from 0 on, or None.")
        posterior = None
        if self.estimation != "ml":
            given = (self.estimation, self.prior_count, self.prior_mean, self.prior_covariance)
            posterior = partial(ClassPrior(*given).posterior, kind=name)
        return GaussianOptions(name, shrinkage, self.priors, posterior=posterior, rank=self.rank)


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

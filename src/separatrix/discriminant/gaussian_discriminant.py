"""Gaussian discriminant analysis: six structures of covariance, given or shrunk on folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.discriminant.covariances import (
    CovarianceShrinkage,
    SingularCovarianceError,
    diagonal_moments,
    fill_in,
    gram,
    is_wide,
    mean_variance,
    span_basis,
    total_standardizer,
    weighted_rows,
)
from separatrix.discriminant.gaussian_classifier import (
    COVARIANCES,
    GaussianClassifier,
    GaussianOptions,
    IncrementalGaussianClassifier,
    covariance_parameters,
)
from separatrix.estimators.base import number_type, reads_tables
from separatrix.estimators.class_labels import (
    class_priors,
    class_rows,
    class_terms,
    rows_with_codes,
)
from separatrix.formula import nodes
from separatrix.geometry.class_scores import (
    ClassScores,
    ProjectedScores,
    QuadraticScores,
    log_softmax,
    softmax,
)
from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError, SeparatrixWarning, check_option
from separatrix.notebook import Grid, Item, Shown
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Block, Column, Encoding, Schema, identity, to_array
from separatrix.selection.folds import (
    Folds,
    folding,
    folds_of,
    leave_each_out,
    warn_of_parted_copies,
)
from separatrix.selection.rules import minimum
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold, require_classes
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.statistics.estimation import check_method
from separatrix.statistics.moments import EPS, Standardizer
from separatrix.threads import on_one_blas_thread, parallel_map


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
            folds, whole, encoding = fold_table(self, X, y, sample_weight)
        else:
            rows = rows_with_codes(self, X, y, sample_weight)
            rows = rows.take(folding(rows.block.w, self.cv))
            folds, whole = fold_array(rows, split_rows(rows, self.cv), len(self.classes_))
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


# -------------------------------------------------------------------------------------------------
# Regularized discriminant analysis: covariance shrinkage chosen by cross-validation.


#: Values of α that are tried, close together near zero: a little is what singular classes need.
ALPHAS = (0.0, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8, 1.0)


@declare_parameters
class RegularizedDiscriminantAnalysis(GaussianClassifier):
    """Regularized discriminant analysis: covariances shrunk by cross-validation.

        Σₖ = α σ²I + β S + (1 − α − β) Sₖ

    α = β = 0 is quadratic discriminant analysis, β = 1 the linear one, and α = 1 the nearest mean.
    σ²I is meant in standardized columns, so that units do not matter. The rows are read once, into
    moments by class and fold, from which every training covariance follows; all α with the same
    β : (1 − α − β) share eigenvectors, so that one rotation of the test rows serves them all. A
    table is read into memory; in every fold missing values are imputed, and levels known, from the
    training rows alone.

    Parameters
    ----------
    alphas : int, array-like or None, default=None
        Values of α to try, or how many from 0 to 1; None tries values close together near 0.
    betas : int, array-like or None, default=None
        Values of β to try, or how many from 0 to 1, of which pairs with α + β ≤ 1 are used; None
        tries values of β/(1 − α) from 0 to 1.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; a number makes stratified ones.
    criterion : {"log_loss", "error"}, default="log_loss"
        Cross-validated loss to minimize; of equals the most regularized pair is taken.
    priors : array-like of shape (n_classes,), "uniform" or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    alpha_ : float
        The chosen α.
    beta_ : float
        The chosen β.
    temperature_ : float
        T of P(k | x) ∝ (P(k) p(x | k))^(1/T): 1, unless ``fit_tuned`` was given another.
    smoothing_ : float
        s of (P(k | x) + s/K) / (1 + s): 0, unless ``fit_tuned`` was given another.
    best_score_ : float
        Mean cross-validated loss of the chosen pair.
    grid_ : ndarray of shape (n_pairs, 2)
        All pairs (α, β).
    cv_log_loss_ : ndarray of shape (n_pairs, n_folds)
        Log loss of every pair and fold, infinite where a class is singular.
    cv_error_ : ndarray of shape (n_pairs, n_folds)
        Error rate of every pair and fold, infinite where a class is singular.
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        The shrunk covariances.
    priors_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
        Rank, condition number and error of the whitened covariances.

    See Also
    --------
    GaussianDiscriminant : Given alpha and beta.
    QuadraticDiscriminantAnalysis : No shrinkage.
    LinearDiscriminantAnalysis : One covariance for all classes.

    References
    ----------
    J. H. Friedman, "Regularized discriminant analysis", JASA, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.standard_normal((40, 6)) + 3.0 * y[:, None]
    >>> model = sx.RegularizedDiscriminantAnalysis(4, 4).fit(X, y)
    >>> model.score(X, y), bool(model.alpha_ + model.beta_ > 0)
    (1.0, True)
    """

    alpha_: float = field(init=False, default=0.0)
    beta_: float = field(init=False, default=0.0)
    temperature_: float = field(init=False, default=1.0)
    smoothing_: float = field(init=False, default=0.0)

    alphas: Any = None
    betas: Any = None
    _: KW_ONLY
    cv: Any = 5
    criterion: str = "log_loss"
    priors: Any = None

    def _options(self) -> GaussianOptions:
        shrinkage = CovarianceShrinkage(self.alpha_, self.beta_)
        return GaussianOptions("full", shrinkage, self.priors)

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("criterion", self.criterion, ("log_loss", "error"))
        self.grid_ = shrinkage_grid(self.alphas, self.betas)
        if not isinstance(X, Rows):
            rows = rows_with_codes(self, X, y, sample_weight)
            return self._fit_array(rows.take(folding(rows.block.w, self.cv)))
        folds, whole, encoding = fold_table(self, X, y, sample_weight)
        priors = None if self.priors is None else class_priors(self.priors, whole.weight)
        return self._fit_folds([ShrinkageFold.of(fold, priors) for fold in folds], whole, encoding)

    def _fit_array(self, rows: ArrayRows) -> Self:
        folded = split_rows(rows, self.cv)
        k, encoding = len(self.classes_), identity(rows.schema)
        total = np.bincount(np.asarray(rows.block.parts), rows.block.w, k).astype(np.float64)
        priors = None if self.priors is None else class_priors(self.priors, total)
        if not is_wide(rows.block):
            folds, whole = fold_array(rows, folded, k)
            tests = [ShrinkageFold.of(fold, priors) for fold in folds]
            return self._fit_folds(tests, whole, encoding)
        self._wide_block = block = fill_in(weighted_rows(rows.block))
        try:
            whole = diagonal_moments(block, k)
            tests = span_folds(block, folded.pairs, k, priors)
            return self._fit_folds(tests, whole, encoding)
        finally:
            self.__dict__.pop("_wide_block", None)

    def _fit_folds(
        self, tests: list[ShrinkageFold], whole: ClassMoments, encoding: Encoding
    ) -> Self:
        log_loss, self.cv_error_ = cross_validated_losses(tests, self.grid_)
        self.cv_log_loss_, self.temperature_, self.smoothing_ = log_loss[:, 0], 1.0, 0.0
        self._select()
        self._fit_moments(whole, encoding)
        return self

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare pairs of α and β on the folds of ``data``, and how sure their densities are.

        Normal densities of many columns are too sure where the columns are not normal: scores are
        divided by temperatures of 1, 2, 4 and 8, and probabilities smoothed. With more columns than
        rows, densities are compared in the span of the rows, which makes no difference.
        """
        priors = None
        if self.priors is not None:
            total = np.bincount(data.y, data.w, data.n_classes).astype(np.float64)
            priors = class_priors(self.priors, total)
        return tune_shrinkage(data, shrinkage_grid(self.alphas, self.betas), priors)

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the α, β, temperature and smoothing that were chosen."""
        self.grid_ = np.array([(point["alpha"], point["beta"]) for point in tuning.grid])
        self.alpha_, self.beta_ = tuning.parameters["alpha"], tuning.parameters["beta"]
        self.temperature_ = tuning.parameters["temperature"]
        self.smoothing_ = tuning.parameters["smoothing"]
        super().fit(rows)
        self.scores_ = _temper(self.scores_, self.temperature_)
        return self

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return smooth(super().predict_proba(X), self.smoothing_)

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability underflows."""
        if not self.smoothing_:
            return super().predict_log_proba(X)
        return np.asarray(np.log(self.predict_proba(X)))

    def _select(self) -> None:
        losses = self.cv_log_loss_ if self.criterion == "log_loss" else self.cv_error_
        mean = losses.mean(axis=1)
        if not np.isfinite(mean).any():
            raise InputError(
                "Under every pair of alpha and beta some class is singular in some fold.",
                remedy="Give more rows of each class, fewer folds, or alphas and betas above 0.",
            )
        best = minimum(self.grid_.sum(axis=1), losses)
        self.alpha_, self.beta_ = (float(value) for value in self.grid_[best])
        self.best_score_ = float(mean[best])

    def formula(self) -> nodes.ClassFormula:
        """Probabilities are smoothed: (p + s/K)/(1 + s)."""
        plain, s, k = super().formula(), float(self.smoothing_), len(self.classes_)
        if not s or plain.probabilities is None:
            return plain
        names = nodes.probability_names(self.classes_)
        center, factor = np.full(k, -s / k), np.full(k, 1.0 / (1.0 + s))
        p = nodes.Standardization(
            replace(plain.probabilities, names=()), center, factor, names=names
        )
        return replace(plain, probabilities=p)


def _temper(scores: ClassScores, temperature: float) -> ClassScores:
    """Scores divided by a temperature."""
    if isinstance(scores, ProjectedScores):
        inner = _temper(scores.inner, temperature)
        assert isinstance(inner, QuadraticScores)
        return replace(scores, inner=inner)
    assert isinstance(scores, QuadraticScores)
    root = np.sqrt(temperature)
    maps, means = scores.maps / root, scores.means / root
    return replace(scores, maps=maps, means=means, offset=scores.offset / temperature)


def shrinkage_grid(alphas: Any, betas: Any) -> Floats:
    """All pairs (α, β) with α + β ≤ 1."""
    a = np.array(ALPHAS) if alphas is None else _values(alphas, "alphas")
    if betas is None:
        return np.array(
            [(p, t * (1.0 - p)) for p in a for t in sorted(RATIOS) if p < 1.0 or t == 1.0]
        )
    b = _values(betas, "betas")
    pairs = np.array([(p, q) for p in a for q in b if p + q <= 1 + 1e-9])
    if not len(pairs):
        raise InputError("No pair of alphas and betas has a sum of at most 1.")
    pairs[:, 1] = np.minimum(pairs[:, 1], 1.0 - pairs[:, 0])
    return pairs


def _values(given: Any, name: str) -> Floats:
    if np.ndim(given) == 0:
        if int(given) != given or given < 1:
            raise InputError(f"{name}={given} must be a whole number of values, or the values.")
        return np.linspace(0.0, 1.0, int(given))
    values = np.unique(np.asarray(given, dtype=float))
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"{name} must lie between 0 and 1.")
    return values


# -------------------------------------------------------------------------------------------------
# Cross-validated losses of many covariance shrinkages at once, from class moments by fold.
#
# In standardized columns a shrunk covariance is Σ = α σ²I + (1 − α) M with M = t S + (1 − t) Sₖ and
# t = β/(1 − α). With M = Q diag(μ) Qᵀ, all α with the same t share Q:
#
#     (x − m)ᵀ Σ⁻¹ (x − m) = Σⱼ pⱼ² / (α σ² + (1 − α) μⱼ),     p = Qᵀ(x − m)


@dataclass(frozen=True)
class ClassFold:
    """Class moments of the training rows, and the test rows in the same design."""

    train: ClassMoments
    test: Block


def split_rows(rows: InMemory, cv: Any, codes: Ints | None = None) -> Folds:
    """The folds of rows by their class codes, with a warning where copies are parted."""
    folds = folds_of(cv, len(rows), codes=rows.block.parts if codes is None else codes)
    warn_of_parted_copies(rows, folds, cv)
    return folds


def fold_array(rows: ArrayRows, array_fold: Folds, k: int) -> tuple[list[ClassFold], ClassMoments]:
    """Every fold, and the class moments of all rows; one pass if the folds partition the rows."""
    block = rows.block
    d = block.x.shape[1]
    assert block.parts is not None
    empty = ClassMoments.empty("full", k, d)
    if array_fold.labels is None:
        folds = array_fold.map(
            lambda train, test: ClassFold(rows.take(train).reduce(empty), block.take(test))
        )
        return folds, rows.reduce(empty)
    by_class_and_fold = ClassMoments.empty("full", k * len(array_fold), d)
    by_fold = rows.with_parts(array_fold.labels * k + block.parts).reduce(by_class_and_fold)
    parts = [by_fold.take(slice(f * k, (f + 1) * k)) for f in range(len(array_fold))]
    training, whole = leave_each_out(parts, empty)
    folds = [
        ClassFold(train, block.take(test))
        for train, (_, test) in zip(training, array_fold.pairs, strict=True)
    ]
    return folds, whole


def fold_table(
    model: Any, X: Rows, y: Any, sample_weight: Any
) -> tuple[list[ClassFold], ClassMoments, Encoding]:
    """Every fold of a table, the class moments of all rows and their encoding.

    Levels and imputed values of a fold are those of its training rows.
    """
    rows = class_rows(model, X, y, sample_weight).read()
    rows = rows.take(folding(rows.block.w, model.cv))
    whole, encoding = model._table_moments(rows, "full")
    targets = class_terms(model, rows, rows.block.targets)
    codes = rows.block.codes(targets)

    def one(train: Ints, test: Ints) -> ClassFold:
        prepared = prepare_classes(rows.take(train))
        moments = ClassMoments.from_moments("full", [prepared.of(term) for term in targets])
        test_block = prepared.encoding.apply(rows.block.take(test))
        return ClassFold(moments, replace(test_block, parts=codes[test]))

    return split_rows(rows, model.cv, codes).map(one), whole, encoding


@dataclass(frozen=True)
class Tempering:
    """How sure densities are: P ← (P^(1/T) / Σ + s/K) / (1 + s).

    Temperatures T are 1, 2, 4, …, doubled as often as ``doublings``; s are values of ``smoothing``.
    """

    doublings: int = 0
    smoothing: tuple[float, ...] = (0.0,)

    @property
    def points(self) -> list[tuple[float, float]]:
        """All pairs of temperature and smoothing, as sure as the densities first."""
        return [(2.0**j, s) for j in range(1 + self.doublings) for s in self.smoothing]


AS_THEY_ARE = Tempering()


def cross_validated_losses(
    tests: list[ShrinkageFold], grid: Floats, tempering: Tempering = AS_THEY_ARE
) -> tuple[Floats, Floats]:
    """Log loss (P x tempering x folds) and error (P x folds) of every (α, β) in ``grid``.

    Losses are +∞ where a class is singular.
    """
    ratios = by_ratio(grid)
    log_loss = np.empty((len(grid), len(tempering.points), len(tests)))
    error = np.empty((len(grid), len(tests)))
    tasks = [(f, t, points) for f in range(len(tests)) for t, points in ratios.items()]

    def one(task: tuple[int, float, list[int]]) -> None:
        f, t, points = task
        log_loss[points, :, f], error[points, f] = tests[f].losses(t, grid[points, 0], tempering)

    parallel_map(one, tasks)
    return log_loss, error


def by_ratio(grid: Floats) -> dict[float, list[int]]:
    """Points of the grid by t = β/(1 − α); any t does for α = 1."""
    folds: dict[float, list[int]] = {}
    for i, (alpha, beta) in enumerate(grid):
        t = _ratio(float(alpha), float(beta))
        folds.setdefault(t, []).append(i)
    return folds


def _ratio(alpha: float, beta: float) -> float:
    return round(beta / (1.0 - alpha), 12) if alpha < 1.0 else 1.0


@dataclass(frozen=True)
class ShrinkageFold:
    """One fold: the test rows ``z`` and all training moments, in standardized coordinates."""

    z: Floats
    codes: Ints
    weight: Floats
    means: Floats
    own: Floats
    pooled: Floats
    mean_variance: float
    log_priors: Floats

    @classmethod
    def of(cls, fold: ClassFold, priors: Floats | None) -> ShrinkageFold:
        """A fold in the standardized columns of its training rows."""
        m, test = fold.train, fold.test
        standardizer = total_standardizer(m)
        basis = span_basis(m, standardizer, whole=False)
        known = m.weight > 0
        assert test.parts is not None
        w = test.weights
        rows = np.flatnonzero(
            (w > 0) & known[test.parts]
        )  # a class without training rows: left out
        priors = m.weight / m.weight.sum() if priors is None else priors
        with np.errstate(divide="ignore"):
            log_priors = np.where(known, np.log(priors), -np.inf)
        return cls(
            (test.take(rows).dense() - m.grand_mean) @ basis,
            test.parts[rows],
            w[rows],
            (np.where(known[:, None], m.mean, m.grand_mean) - m.grand_mean) @ basis,
            basis.T @ np.where(known[:, None, None], m.covariances, m.within) @ basis,
            basis.T @ m.within @ basis,
            mean_variance(np.diag(m.within), standardizer),
            log_priors,
        )

    def losses(self, t: float, alphas: Floats, tempering: Tempering) -> tuple[Floats, Floats]:
        """Mean log loss (A x tempering) and error of the test rows, for every α with ratio t."""
        total, wrong = np.zeros((len(alphas), len(tempering.points))), np.zeros(len(alphas))
        if not len(self.z):
            return total, wrong
        finite = np.ones(len(alphas), dtype=bool)
        for here, scores, regular in self._scores(t, alphas):
            finite = regular
            loss, miss = _row_losses(scores, self.codes[here], tempering)
            total += np.einsum("n,tna->at", self.weight[here], loss)
            wrong += self.weight[here] @ miss
        weight = self.weight.sum()
        return (
            np.where(finite[:, None], total / weight, np.inf),
            np.where(finite, wrong / weight, np.inf),
        )

    def predict(self, alpha: float, beta: float, temperature: float, smoothing: float) -> Floats:
        """Probabilities of the classes for the test rows."""
        probabilities = np.empty((len(self.z), len(self.log_priors)))
        for here, scores, _ in self._scores(_ratio(alpha, beta), np.array([alpha])):
            probabilities[here] = softmax(scores[:, :, 0].T / temperature)
        return smooth(probabilities, smoothing)

    def _scores(
        self, t: float, alphas: Floats
    ) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
        """Rows, their scores (K x n x A), and the α under which no class is singular."""
        # one covariance for all classes is decomposed once
        mixture = self.pooled[None] if t == 1.0 else t * self.pooled + (1.0 - t) * self.own
        mu, q = np.linalg.eigh(0.5 * (mixture + mixture.swapaxes(-1, -2)))
        values = alphas * self.mean_variance + (1.0 - alphas) * mu[:, :, None]  # K x r x A
        r = max(values.shape[1], 1)
        largest = values.max(axis=1, keepdims=True, initial=0.0)
        singular = (values <= 10 * r * EPS * largest).any(axis=(0, 1))
        values = np.where(singular, 1.0, values)
        inverse = -0.5 / values
        offset = self.log_priors[:, None] - 0.5 * np.log(values).sum(axis=1)  # K x A
        means = self.means[:, None, :] @ q
        # Numbers that one step of the search stores at a time.
        step = max(1, 1_500_000 // (len(means) * max(r, len(alphas))))
        for start in range(0, len(self.z), step):
            here = slice(start, start + step)
            square = self.z[here] @ q - means
            square *= square
            scores = square @ inverse
            scores += offset[:, None, :]
            yield here, scores, ~singular


def smooth(probabilities: Floats, smoothing: float) -> Floats:
    """(P + s/K) / (1 + s): no row is surer than that."""
    if not smoothing:
        return probabilities
    return np.asarray((probabilities + smoothing / probabilities.shape[1]) / (1.0 + smoothing))


def _row_losses(scores: Floats, codes: Ints, tempering: Tempering) -> tuple[Floats, Floats]:
    """−ln P(true class) by tempering, and whether another class scores higher (n x A).

    e^(s/T) squared is that of half the temperature. ``scores`` are overwritten.
    """
    k = len(scores)
    true = scores[codes, np.arange(len(codes))]
    top = scores.max(axis=0)
    behind = top - true
    scores -= top
    scores *= 0.5**tempering.doublings
    np.exp(scores, out=scores)
    losses = []
    for j in range(tempering.doublings, -1, -1):
        if j < tempering.doublings:
            scores *= scores
        plain = behind * 0.5**j + np.log(scores.sum(axis=0))
        p = np.exp(-plain) if any(tempering.smoothing) else plain
        losses.append(
            [-np.log((p + s / k) / (1.0 + s)) if s else plain for s in tempering.smoothing]
        )
    return np.array(losses[::-1]).reshape(-1, *top.shape), (true < top).astype(float)


# -------------------------------------------------------------------------------------------------
# Shrinkage of class covariances by cross-validation on given folds.
#
# With fewer rows than columns, rows are replaced by coordinates in their span. In standardized
# columns the target σ²I, and with it every shrunk covariance, is the same outside the span for all
# classes, so that their comparison is unchanged:
#
#     Σₖ = α σ²I + Qᵀ(…)Q,     Q an orthonormal basis of the span


#: Ratios β/(1 − α), from a covariance of its own (0) to the pooled one (1), in the order in which
#: they are tried while the work allowed lasts.
RATIOS = (1.0, 0.0, 0.5, 0.15, 0.75, 0.3, 0.9, 0.05)


def tune_shrinkage(data: TuningData, grid: Floats, priors: Floats | None) -> Tuning:
    """Compare all pairs (α, β) of ``grid`` within the work allowed, the most shrunk first."""
    require_classes(data)
    sizes = data.n, data.x.shape[1], data.n_classes, len(data.folds)
    grid, note = grid_within(data.work, sizes, grid)
    tested = [test[data.w[test] > 0.0] for _, test in data.folds.pairs]
    weight = np.array([data.w[test].sum() for test in tested])
    return tune_folds(_tests(data, priors), tested, weight, grid, data.loss, note)


def tune_folds(
    tests: list[ShrinkageFold],
    tested: Sequence[Ints],
    weight: Floats,
    grid: Floats,
    loss: str,
    note: str = "",
) -> Tuning:
    """Compare the pairs of ``grid`` on folds with their training moments.

    ``tested`` are the numbers of the rows of each fold, ``weight`` their weights.
    """
    # What is tried where densities are too sure: temperatures of 1, 2, 4, 8, and floors.
    tempering = Tempering(3, (0.0, 0.003, 0.03))
    log_loss, error = cross_validated_losses(tests, grid, tempering)
    log_loss = log_loss.reshape(-1, len(tests))  # tempering innermost
    error = np.repeat(error, len(tempering.points), axis=0)
    losses = log_loss if loss == "log_loss" else error
    regular = np.isfinite(losses).all(axis=1, keepdims=True)
    if not regular.any():
        raise InputError(
            "Under every pair of alpha and beta some class is singular in some fold.",
            remedy="Give more rows of each class, fewer folds, or alphas and betas above 0.",
        )
    # Equal error rates are told apart by this much of the log loss.
    decisive = losses if loss == "log_loss" else error + 1e-6 * log_loss
    # The loss of pairs under which some class is singular in some fold.
    best, by_fold = best_by_fold(np.where(regular, decisive, 1e6), weight)
    points = tuple(
        {"alpha": float(a), "beta": float(b), "temperature": t, "smoothing": s}
        for a, b in grid for t, s in tempering.points
    )  # fmt: skip
    chosen = list(zip(tests, (points[i] for i in by_fold), strict=True))
    predicted = parallel_map(lambda pair: pair[0].predict(**pair[1]), chosen)
    predictions = (np.concatenate(tested), np.concatenate(predicted), "probabilities", note)
    return Tuning(points[best], points, losses, by_fold, *predictions)


def grid_within(
    work_allowed: float, sizes: tuple[int, int, int, int], grid: Floats
) -> tuple[Floats, str]:
    """Pairs, the most shrunk first, whose ratios β/(1 − α) the work allows; at least the first.

    ``sizes`` are rows, columns, classes and folds.
    """
    grid = grid[np.lexsort((grid[:, 0], grid.sum(axis=1)))[::-1]]
    n, d, k, folds = sizes
    r = min(n, d)
    ratios = by_ratio(grid)
    order = sorted(ratios, key=lambda t: RATIOS.index(t) if t in RATIOS else len(RATIOS))
    work = float(n) * d * r / 4.0
    allowed: list[float] = []
    for t in order:
        matrices = folds * (1 if t == 1.0 else k)
        # An eigendecomposition of r columns takes r³ operations, a rotated value half a one.
        work += matrices * float(r) ** 3 + k * n * float(r) ** 2 * 0.5
        if allowed and work > work_allowed:
            break
        allowed.append(t)
    if len(allowed) == len(order):
        return grid, ""
    points = np.sort(np.concatenate([ratios[t] for t in allowed]))
    named = ", ".join(f"{t:g}" for t in sorted(allowed))
    return grid[points], f"of the ratios β/(1 − α) only {named} were tried"


def _tests(data: TuningData, priors: Floats | None) -> list[ShrinkageFold]:
    """The folds with the training moments of their classes."""
    x, codes = to_array(data.x), np.asarray(data.y, dtype=np.int64)
    n, d = x.shape
    if d < n:
        rows = ArrayRows(x, None, data.w).with_parts(codes)
        folds, _ = fold_array(rows, data.folds, data.n_classes)
        return [ShrinkageFold.of(fold, priors) for fold in folds]
    block = ArrayRows(x, None, data.w).with_parts(codes).block
    return span_folds(block, data.folds.pairs, data.n_classes, priors)


def span_folds(
    block: Block, pairs: Sequence[tuple[Ints, Ints]], n_classes: int, priors: Floats | None
) -> list[ShrinkageFold]:
    """The folds of fewer rows than columns, in coordinates of their span."""
    x, w, codes = to_array(block.x), block.weights, block.parts
    assert codes is not None
    z = Standardizer.from_rows(x, w).transform(x)
    values, vectors = linalg.eigh(gram(z))
    nonzero = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    z = vectors[:, nonzero] * np.sqrt(values[nonzero])

    def one(pair: tuple[Ints, Ints]) -> ShrinkageFold:
        return _in_span(z, codes, w, pair, n_classes, x.shape[1], priors)

    return parallel_map(one, pairs)


def _in_span(
    z: Floats,
    codes: Ints,
    weights: Floats,
    pair: tuple[Ints, Ints],
    n_classes: int,
    n_columns: int,
    priors: Floats | None,
) -> ShrinkageFold:
    """A fold in an orthonormal basis of its training rows, measured from their mean."""
    train, test = pair
    test = test[weights[test] > 0.0]
    w, train_codes = weights[train], codes[train]
    center = w @ z[train] / w.sum()
    basis = linalg.qr((z[train] - center).T, mode="economic", pivoting=False)[0]
    rows = (z[train] - center) @ basis
    r = rows.shape[1]
    total = np.bincount(train_codes, w, n_classes)
    means, covariances = np.empty((len(total), r)), np.empty((len(total), r, r))
    for k in range(len(total)):
        at = train_codes == k
        means[k] = w[at] @ rows[at] / total[k]
        centered = (rows[at] - means[k]) * np.sqrt(w[at] / total[k])[:, None]
        covariances[k] = centered.T @ centered
    proportions = total / total.sum()
    pooled = np.tensordot(proportions, covariances, 1)
    with np.errstate(divide="ignore"):
        log_priors = np.log(proportions if priors is None else priors)
    return ShrinkageFold(
        (z[test] - center) @ basis,
        codes[test],
        weights[test],
        means,
        covariances,
        pooled,
        float(np.trace(pooled)) / n_columns,
        log_priors,
    )

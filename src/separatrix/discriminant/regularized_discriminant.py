"""Regularized discriminant analysis: covariance shrinkage chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.discriminant.gaussian_classifier import GaussianClassifier
from separatrix.discriminant.gaussian_options import GaussianOptions, class_priors
from separatrix.discriminant.gaussian_problem import CovarianceShrinkage
from separatrix.discriminant.regularization_search import (
    ShrinkageFold,
    array_folds,
    cross_validated_losses,
    smoothed,
    table_folds,
)
from separatrix.discriminant.row_span import (
    diagonal_moments,
    filled_in,
    is_wide,
    weighted_rows,
)
from separatrix.discriminant.tuning import span_folds, tune_shrinkage
from separatrix.geometry.class_scores import ClassScores, ProjectedScores, QuadraticScores
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.selection.folds import folding, folds_of, warn_of_parted_copies
from separatrix.selection.rules import minimum
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.class_moments import ClassMoments

#: Values of α that are tried, close together near zero: a little is what singular classes need.
ALPHAS = (0.0, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8, 1.0)
#: Values of β/(1 − α), from each class's own covariance to the pooled one.
RATIOS = (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 0.9, 1.0)


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
        Prior probabilities of the classes; None takes the class proportions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
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
        Class means.
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        The shrunk covariances.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
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

    alpha_: float = 0.0
    beta_: float = 0.0
    temperature_: float = 1.0
    smoothing_: float = 0.0

    def __init__(
        self,
        alphas: Any = None,
        betas: Any = None,
        *,
        cv: Any = 5,
        criterion: str = "log_loss",
        priors: Any = None,
    ) -> None:
        self.alphas = alphas
        self.betas = betas
        self.cv = cv
        self.criterion = criterion
        self.priors = priors

    def _options(self) -> GaussianOptions:
        shrinkage = CovarianceShrinkage(self.alpha_, self.beta_)
        return GaussianOptions("full", shrinkage, self.priors)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("criterion", self.criterion, ("log_loss", "error"))
        self.grid_ = shrinkage_grid(self.alphas, self.betas)
        if isinstance(X, Rows):
            table = self._class_rows(X, y, sample_weight).read()
            table = table.take(folding(table.block.w, self.cv))
            whole, encoding = self._table_moments(table, "full")
            folds = table_folds(table, self.cv, self._class_terms(table, table.block.targets))
        else:
            rows = self._coded_rows(X, y, sample_weight)
            rows = rows.take(folding(rows.block.w, self.cv))
            return self._fit_array(rows)
        priors = None if self.priors is None else class_priors(self.priors, whole.weight)
        return self._fit_folds([ShrinkageFold.of(fold, priors) for fold in folds], whole, encoding)

    def _fit_array(self, rows: ArrayRows) -> Self:
        found = folds_of(self.cv, len(rows), codes=rows.block.parts)
        warn_of_parted_copies(rows, found, self.cv)
        k, encoding = len(self.classes_), identity(rows.schema)
        total = np.bincount(np.asarray(rows.block.parts), rows.block.w, k).astype(np.float64)
        priors = None if self.priors is None else class_priors(self.priors, total)
        if not is_wide(rows.block):
            folds, whole = array_folds(rows, found, k)
            tests = [ShrinkageFold.of(fold, priors) for fold in folds]
            return self._fit_folds(tests, whole, encoding)
        self._wide_block = block = filled_in(weighted_rows(rows.block))
        try:
            whole = diagonal_moments(block, k)
            tests = span_folds(block, found.pairs, k, priors)
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

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the α, β, temperature and smoothing that were chosen."""
        self.grid_ = np.array([(point["alpha"], point["beta"]) for point in tuning.grid])
        self.alpha_, self.beta_ = tuning.parameters["alpha"], tuning.parameters["beta"]
        self.temperature_ = tuning.parameters["temperature"]
        self.smoothing_ = tuning.parameters["smoothing"]
        super().fit(rows)
        self.scores_ = _tempered(self.scores_, self.temperature_)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return smoothed(super().predict_proba(X), self.smoothing_)

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


def _tempered(scores: ClassScores, temperature: float) -> ClassScores:
    """Scores divided by a temperature."""
    if isinstance(scores, ProjectedScores):
        inner = _tempered(scores.inner, temperature)
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
        return np.array([(p, t * (1.0 - p)) for p in a for t in RATIOS if p < 1.0 or t == 1.0])
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

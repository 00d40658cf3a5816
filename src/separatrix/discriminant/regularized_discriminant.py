"""Regularized discriminant analysis: covariance shrinkage chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.discriminant.class_covariances import CovarianceShrinkage
from separatrix.discriminant.gaussian_classifier import (
    GaussianClassifier,
    GaussianOptions,
    class_priors,
)
from separatrix.discriminant.regularization_search import (
    array_folds,
    cross_validated_losses,
    table_folds,
)
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats
from separatrix.rows.encoding import identity
from separatrix.rows.rows import Rows
from separatrix.selection.folds import folding
from separatrix.selection.rules import minimum


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
    alphas : int or array-like, default=11
        Values of α to try, or how many from 0 to 1; pairs with α + β ≤ 1 are used.
    betas : int or array-like, default=11
        Values of β to try, or how many from 0 to 1.
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

    def __init__(
        self,
        alphas: Any = 11,
        betas: Any = 11,
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
            folds, whole = array_folds(rows, self.cv, len(self.classes_))
            encoding = identity(rows.schema)
        priors = None if self.priors is None else class_priors(self.priors, whole.weight)
        self.cv_log_loss_, self.cv_error_ = cross_validated_losses(folds, self.grid_, priors)
        self._select()
        self._fit_moments(whole, encoding)
        return self

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


def shrinkage_grid(alphas: Any, betas: Any) -> Floats:
    """All pairs (α, β) with α + β ≤ 1."""
    a, b = _values(alphas, "alphas"), _values(betas, "betas")
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

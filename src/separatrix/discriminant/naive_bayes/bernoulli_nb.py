"""Bernoulli naive Bayes: which words occur in a text, and which do not."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.discriminant.naive_bayes.counts import CountNaiveBayes, linear_scores
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Matrix


class BernoulliNB(CountNaiveBayes):
    """Bernoulli naive Bayes: whether each word occurs, independently within a class.

        ln p(x | k) = Σⱼ xⱼ ln pₖⱼ + (1 − xⱼ) ln(1 − pₖⱼ),    pₖⱼ = (Nₖⱼ + αⱼ) / (nₖ + 2 αⱼ)

    Nₖⱼ is the number of rows of class k in which column j is true, out of nₖ. In contrast to
    :class:`MultinomialNB` words that do not occur count too. A sparse matrix is never filled in.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to the number of rows with the word and to that without it.
    force_alpha : bool, default=True
        Whether an ``alpha`` below 1e-10 stays as it is; else it is raised to that.
    binarize : float or None, default=0.0
        A value above this is true; None takes the values as 0 and 1.
    fit_prior : bool, default=True
        Whether classes have their proportions as prior probabilities; else all have the same.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes, in place of both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the prior probabilities.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Total sample weight N of the rows of a class in which a column is true.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        ln p.
    certificate_ : Certificate
        How the parameters were estimated.

    See Also
    --------
    MultinomialNB : How often a word occurs.
    NaiveBayes : Numeric, boolean and discrete columns together, with missing values.

    References
    ----------
    A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text classification",
    1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]], ["cat", "cat", "dog", "dog"]
    >>> model = sx.BernoulliNB().fit(X, y)
    >>> model.predict_proba([[1, 0, 0]]).round(2)
    array([[0.95, 0.05]])
    """

    _named = "Bernoulli"
    _counts_only = False

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _check_parameters(self) -> None:
        super()._check_parameters()
        t = self.binarize
        if t is not None and not (isinstance(t, Real) and 0 <= float(t) < np.inf):
            raise InputError(f"binarize={t!r} must be None, or a number and not negative.")

    def _counted(self, x: Matrix) -> Matrix:
        """True and false as 1 and 0."""
        if self.binarize is None:
            return x
        if not sparse.issparse(x):
            return _above(np.asarray(x), self.binarize)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        data = _above(x.data, self.binarize).astype(np.float64)
        return sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)

    def _log_probabilities(self, alpha: float | Floats) -> Floats:
        with np.errstate(divide="ignore"):
            counts = np.log(self.feature_count_ + alpha)
            rows = np.log(self.class_count_[:, None] + 2.0 * np.asarray(alpha))
        known = np.isfinite(rows)  # of a class without rows and α = 0 nothing is known: even odds
        return np.where(known, counts - np.where(known, rows, 0.0), -np.log(2.0))

    def _joint(self, x: Matrix) -> Floats:
        true = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            false = np.log(-np.expm1(np.minimum(true, 0.0)))
        never, always = np.isneginf(true), np.isneginf(false)
        rows = self._counted(x)
        constant = self.class_log_prior_ + np.where(always, 0.0, false).sum(axis=1)
        if not (never.any() or always.any()):
            return linear_scores(rows, true - false, constant)
        return self._limits(rows, true, false, constant)

    def _limits(self, rows: Matrix, true: Floats, false: Floats, constant: Floats) -> Floats:
        """Scores where some probability is 0 or 1: classes with the fewest impossible values."""
        never, always = np.isneginf(true), np.isneginf(false)
        zero = np.zeros(len(constant))
        coef = np.where(never, 0.0, true) - np.where(always, 0.0, false)
        scores = linear_scores(rows, coef, constant)
        against = linear_scores(rows, never.astype(np.float64) - always, zero) + always.sum(axis=1)
        possible = np.where(np.isneginf(constant), np.inf, against)
        scores[against > possible.min(axis=1, keepdims=True)] = -np.inf
        return scores


def _above(values: Any, threshold: float) -> Any:
    """Where values are above the threshold; NaN for what is no finite number."""
    above = values > threshold
    finite = values.dtype.kind != "f" or bool(np.isfinite(values.sum()))
    return above if finite else np.where(np.isfinite(values), above, np.nan)

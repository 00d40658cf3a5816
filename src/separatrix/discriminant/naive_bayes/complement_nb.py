"""Complement naive Bayes: how unlike all other classes a text is."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.discriminant.naive_bayes.counts import CountNaiveBayes, linear_scores
from separatrix.discriminant.naive_bayes.multinomial_nb import smoothed_logs
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Matrix


class ComplementNB(CountNaiveBayes):
    """Complement naive Bayes: the class whose complement explains the words of a text least.

        gₖ(x) = −Σⱼ xⱼ ln qₖⱼ,    qₖⱼ = (N·ⱼ − Nₖⱼ + αⱼ) / Σᵢ (N·ᵢ − Nₖᵢ + αᵢ)

    qₖ are the proportions of the words of all other classes: more rows than those of the class,
    and about as many for every class, which makes it steadier where classes differ in size.
    Scores have no prior probabilities. A sparse matrix is never filled in.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count.
    force_alpha : bool, default=True
        Whether an ``alpha`` below 1e-10 stays as it is; else it is raised to that.
    fit_prior : bool, default=True
        Of no effect on predictions; sets ``class_log_prior_`` as in scikit-learn.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Of no effect on predictions either.
    norm : bool, default=False
        Whether the weights of a class are divided by their sum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the class proportions.
    feature_all_ : ndarray of shape (n_features,)
        Sums of the columns over all rows.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sums N of the columns by class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        The weights −ln q, the coefficients of the scores.
    certificate_ : Certificate
        How the parameters were estimated.

    See Also
    --------
    MultinomialNB : Weights from the class itself.
    BernoulliNB : Whether a word occurs, not how often.

    References
    ----------
    J. D. M. Rennie et al., "Tackling the poor assumptions of naive Bayes text classifiers", ICML,
    2003.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[2, 1, 0], [3, 0, 0], [0, 1, 4], [0, 2, 2]], ["cat", "cat", "dog", "dog"]
    >>> sx.ComplementNB().fit(X, y).predict([[1, 1, 0], [0, 1, 1]]).tolist()
    ['cat', 'dog']
    """

    feature_all_: Floats
    _named = "Complement"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.norm, bool | np.bool_):
            raise InputError(f"norm={self.norm!r} must be True or False.")

    def _log_probabilities(self, alpha: float | Floats) -> Floats:
        self.feature_all_ = self.feature_count_.sum(axis=0)
        others = self.feature_all_ - self.feature_count_
        logs = smoothed_logs(np.maximum(others, 0.0, out=others), alpha)
        if not self.norm:
            return np.negative(logs, out=logs)
        infinite = np.isinf(logs)
        if not infinite.any():
            return np.asarray(logs / logs.sum(axis=1, keepdims=True))
        share = infinite / np.maximum(infinite.sum(axis=1, keepdims=True), 1)
        sums = np.where(infinite, 0.0, logs).sum(axis=1, keepdims=True)
        plain = np.where(infinite, 0.0, logs) / np.where(sums < 0, sums, -1.0)
        return np.where(infinite.any(axis=1, keepdims=True), share, plain)

    def _joint(self, x: Matrix) -> Floats:
        return linear_scores(x, self.feature_log_prob_, np.zeros(len(self.classes_)))

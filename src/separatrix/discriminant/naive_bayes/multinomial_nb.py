"""Multinomial naive Bayes: the words of a text drawn independently, given its class."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.discriminant.naive_bayes.counts import CountNaiveBayes, linear_scores
from separatrix.rows.block import Floats, Matrix
from separatrix.statistics.class_counts import log_counts


class MultinomialNB(CountNaiveBayes):
    """Multinomial naive Bayes: counts of words, drawn independently within a class.

        ln p(x | k) = Σⱼ xⱼ ln pₖⱼ + const,    pₖⱼ = (Nₖⱼ + αⱼ) / Σᵢ (Nₖᵢ + αᵢ)

    Nₖⱼ is the sum of column j over the rows of class k. Fractions (tf-idf) serve as counts too.
    A sparse matrix is never filled in.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count (Laplace, Lidstone). With 0 a word that a class never had excludes the
        class; if every class is excluded, those with the fewest such words stay.
    force_alpha : bool, default=True
        Whether an ``alpha`` below 1e-10 stays as it is; else it is raised to that.
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
        Sums N of the columns by class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        ln p, the coefficients of the scores.
    certificate_ : Certificate
        How the parameters were estimated.

    See Also
    --------
    ComplementNB : Weights from all other classes: better where classes differ in size.
    BernoulliNB : Whether a word occurs, not how often.
    NaiveBayes : Numeric, boolean and discrete columns together.

    References
    ----------
    A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text classification",
    1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[2, 1, 0], [3, 0, 0], [0, 1, 4], [0, 2, 2]], ["cat", "cat", "dog", "dog"]
    >>> model = sx.MultinomialNB().fit(X, y)
    >>> model.predict([[1, 1, 0], [0, 1, 1]]).tolist()
    ['cat', 'dog']
    >>> model.feature_count_
    array([[5., 1., 0.],
           [0., 3., 6.]])
    """

    _named = "Multinomial"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _log_probabilities(self, alpha: float | Floats) -> Floats:
        return smoothed_logs(self.feature_count_, alpha)

    def _joint(self, x: Matrix) -> Floats:
        return linear_scores(x, self.feature_log_prob_, self.class_log_prior_)


def smoothed_logs(counts: Floats, alpha: float | Floats) -> Floats:
    """ln of the proportions of counts plus α in every row; equal ones where there are no counts."""
    d = counts.shape[1]
    totals = counts.sum(axis=1) + np.sum(np.broadcast_to(alpha, d))
    logs = log_counts(counts, alpha, np.where(totals > 0, totals, 1.0))
    if not (totals > 0).all():
        logs[totals <= 0] = -np.log(d)
    return logs

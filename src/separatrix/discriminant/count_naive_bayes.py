"""What naive Bayes on counts shares: sums by class in, scores that are linear in the counts out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, field
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, reads_tables, validate_data
from separatrix.formula import nodes
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.matrices.products import products
from separatrix.messages import InputError, warn
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import LARGEST, check_sample_weight, is_frame
from separatrix.rows.sources.frames import odd_column, refuse_infinite, refuse_not_finite
from separatrix.statistics.class_counts import class_counts, log_counts
from separatrix.threads import on_one_blas_thread

Labeled = tuple[Matrix, Ints, Floats | None]


class CountNaiveBayes(ClassifierMixin, RowsEstimator):
    """Naive Bayes from sums by class, N (K x d); portions of a table add up."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any
    class_count_: Floats
    class_log_prior_: Floats
    feature_count_: Floats
    feature_log_prob_: Floats
    certificate_: Certificate
    #: The name of the model, for its certificate.
    _named = ""
    #: Whether values below zero have no meaning.
    _counts_only = True

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        self.__dict__.pop("encoding_", None)
        if isinstance(X, Rows):
            coded = class_labels.coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
            rows: Labeled = coded.x, coded.codes, coded.w
        else:
            rows = self._check_labeled(X, y, sample_weight)
        self.class_count_, self.feature_count_ = self._sums(*rows)
        return self._estimate()

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before.

        ``classes`` lists all possible labels, and is required in the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "feature_count_")
        class_labels.known_classes(self, X, None)  # refuses tables
        known = class_labels.require_classes(self, classes)
        rows = self._check_labeled(X, y, sample_weight, known=known, reset=first)
        weight, counts = self._sums(*rows)
        if not first:
            weight, counts = self.class_count_ + weight, self.feature_count_ + counts
        self.class_count_, self.feature_count_ = weight, counts
        return self._estimate()

    def _check_labeled(
        self, X: Any, y: Any, sample_weight: Any, *, known: Any = None, reset: bool = True
    ) -> Labeled:
        """Rows as they are, their class codes and weights; sets ``classes_``."""
        class_labels.expect_labels(self, X, y)
        if is_frame(X):
            if odd_column(X) is not None:
                self._odd_rows(X, y, sample_weight)  # refuses
            refuse_infinite(X)
        x, labels = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", ensure_all_finite=False
        )
        _refuse_dates(x)
        w = check_sample_weight(sample_weight, x.shape[0])
        self.classes_ = class_labels.present_labels(labels, w, known, closed=known is not None)
        class_labels.two_or_more(self.classes_.tolist())
        self._keep_range(ArrayRows(x, w=w), reset=reset)
        return x, class_labels.label_positions(labels, self.classes_), w

    def _sums(self, x: Matrix, codes: Ints, w: Floats | None) -> tuple[Floats, Floats]:
        """The weight of every class, and the sums of its columns."""
        weight = np.bincount(codes, w, len(self.classes_)).astype(np.float64)
        counts = class_counts(self._as_counts(x), codes, w, len(self.classes_))
        if not (counts.non_negative and np.isfinite(counts.counts.sum())):
            refuse_not_finite(x)
            if not counts.non_negative:
                raise InputError(
                    f"Negative values in data passed to {type(self).__name__} (input X), which "
                    "takes counts.",
                    remedy="Use GaussianNB for numbers that may be negative.",
                )
            raise InputError("The sums of a column overflow.", remedy="Divide it by a constant.")
        return weight, counts.counts

    def _as_counts(self, x: Matrix) -> Matrix:
        """What is added up by class: the values themselves."""
        return x

    # -- from sums to probabilities ------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("fit_prior", "force_alpha"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"{name}={getattr(self, name)!r} must be True or False.")
        a = np.asarray(self.alpha)
        if a.dtype.kind not in "iuf" or a.ndim > 1 or not (np.isfinite(a) & (a >= 0)).all():
            raise InputError(
                f"alpha={self.alpha!r}: All values in alpha must be greater than 0, or 0."
            )

    def _smoothing(self) -> float | Floats:
        """What is added to every count: one number, or one for each column."""
        a: Any = float(self.alpha) if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        d = self.feature_count_.shape[1]
        if np.ndim(a) and np.shape(a) != (d,):
            raise InputError(
                "When alpha is an array, it should contains `n_features`. Got "
                f"{np.shape(a)[0]} elements instead of {d}."
            )
        # What ``force_alpha=False`` raises a smaller ``alpha`` to, as in scikit-learn.
        smallest_alpha = 1e-10
        if np.min(a) < smallest_alpha and not self.force_alpha:
            text = "alpha too small will result in numeric errors"
            warn("SEP014", f"{text}, setting alpha = {smallest_alpha:.1e}.")
            a = np.maximum(a, smallest_alpha)
        return float(a) if np.ndim(a) == 0 else np.asarray(a, dtype=np.float64)

    def _estimate(self) -> Self:
        self.class_log_prior_ = self._log_priors()
        alpha = self._smoothing()
        self.feature_log_prob_ = self._log_probabilities(alpha)
        notes = ["Probabilities are right if columns are independent within classes."]
        if np.any(alpha):
            least, most = float(np.min(alpha)), float(np.max(alpha))
            shown = f"{least:g}" if least == most else f"{least:g} to {most:g}"
            notes.append(f"Counts are smoothed by {shown} each.")
        claim = f"{self._named} naive Bayes in closed form: proportions of smoothed counts"
        self.certificate_ = Certificate(claim, notes=tuple(notes), promised=())
        return self

    def _log_priors(self) -> Floats:
        k = len(self.classes_)
        if self.class_prior is None:
            if not self.fit_prior:
                return np.full(k, -np.log(k))
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.class_count_) - np.log(self.class_count_.sum()))
        priors = np.asarray(self.class_prior, dtype=np.float64)
        if priors.shape != (k,):
            raise InputError(
                f"Number of priors must match number of classes: {priors.size} for {k}."
            )
        if not (np.isfinite(priors) & (priors >= 0)).all():
            raise InputError(f"Class priors must be non-negative, and {priors.tolist()} are not.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(priors))

    @abstractmethod
    def _log_probabilities(self, alpha: float | Floats) -> Floats:
        """The coefficients of the scores (K x d), from the sums."""

    # -- predictions ---------------------------------------------------------------------------

    @abstractmethod
    def _joint(self, x: Matrix) -> Floats:
        """ln P(k) + ln p(x | k) of rows."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) of every row and class."""
        check_is_fitted(self)
        if not (sparse.issparse(X) or type(X) is np.ndarray) or hasattr(self, "encoding_"):
            return self._joint(self._design(X))
        x = validate_data(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        _refuse_dates(x)
        with np.errstate(invalid="ignore"):
            scores = self._joint(x)
        if not np.isfinite(scores).all():  # a value that is not finite shows in the scores
            refuse_not_finite(x)
            values: Any = x.data if sparse.issparse(x) else x
            if values.size and abs(values).max() > LARGEST:
                raise InputError("The score of a row overflows.", remedy="Divide X by a constant.")
        return scores

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability underflows."""
        return log_softmax(self.predict_joint_log_proba(X))

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return softmax(self.predict_joint_log_proba(X))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return class_labels.label_scores(self.predict_joint_log_proba(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._counts_only
        tags.classifier_tags.poor_score = True  # on tables that are not counts
        return tags

    def _constants(self) -> Floats:
        """What is added to x·log p."""
        return np.asarray(self.class_log_prior_, dtype=np.float64)

    def _score_node(self, names: tuple[str, ...]) -> nodes.Node:
        """x·log p + constant; infinite logarithms are limits of ever larger ones."""
        coef, k = self.feature_log_prob_, len(self.classes_)
        infinite = np.isinf(coef)
        signs = np.where(infinite, -np.sign(coef), 0.0)
        finite = np.where(infinite, 0.0, coef)
        x = nodes.design_of(self)
        return nodes.LinearLimits(x, finite, self._constants(), signs.T, np.zeros(k), names=names)

    def formula(self) -> nodes.ClassFormula:
        """The class of the largest score; there is no ``decision_function``."""
        labels = self.classes_
        scores = self._score_node(tuple(f"score {label}" for label in labels.tolist()))
        p = nodes.Probabilities(scores, one=False, names=nodes.probability_names(labels))
        chosen = nodes.ChosenLabel(scores, one=False)
        return nodes.ClassFormula(chosen, labels, None, p, decided_by=scores)


def linear_scores(x: Matrix, coef: Floats, constant: Floats) -> Floats:
    """x·cₖ + constantₖ (n x K), where coefficients and constants may be infinite.

    Infinite ones are limits of ever larger ones, and 0 · ∞ is 0: of the classes of a row those
    with the most such terms for them, or the fewest against them, stay; the others have −∞.
    """
    rows = products(x)
    infinite, always = np.isinf(coef), np.isinf(constant)
    if not infinite.any():
        scores = rows.times(np.ascontiguousarray(coef.T))
        scores += constant
        return scores
    scores = rows.times(np.ascontiguousarray(np.where(infinite, 0.0, coef).T))
    scores += constant
    terms = rows.times(np.ascontiguousarray(np.where(infinite, np.sign(coef), 0.0).T))
    possible = np.where(always, -np.inf, terms)
    scores[terms < possible.max(axis=1, keepdims=True)] = -np.inf
    return scores


def _refuse_dates(x: Matrix) -> None:
    """Refuse times and durations, which scikit-learn's validation takes for numbers."""
    if x.dtype.kind in "mM":
        raise InputError(
            f"Input X holds values of type {x.dtype}, and counts are numbers.",
            remedy="Give counts, or leave such columns out.",
        )


# -------------------------------------------------------------------------------------------------
# Multinomial naive Bayes: the words of a text drawn independently, given its class.


@declare_parameters
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
    fit_prior : bool, default=True
        Whether classes have their proportions as prior probabilities; else all have the same.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes, in place of both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
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

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None

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


# -------------------------------------------------------------------------------------------------
# Complement naive Bayes: how unlike all other classes a text is.


@declare_parameters
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
    fit_prior : bool, default=True
        Of no effect on predictions; sets ``class_log_prior_`` as in scikit-learn.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Of no effect on predictions either.
    norm : bool, default=False
        Whether the weights of a class are divided by their sum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
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

    feature_all_: Floats = field(init=False)
    _named = "Complement"

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    norm: bool = False

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

    def _constants(self) -> Floats:
        return np.zeros(len(self.classes_))


# -------------------------------------------------------------------------------------------------
# Bernoulli naive Bayes: which words occur in a text, and which do not.


@declare_parameters
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
    binarize : float or None, default=0.0
        A value above this is true; None takes the values as 0 and 1.
    fit_prior : bool, default=True
        Whether classes have their proportions as prior probabilities; else all have the same.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes, in place of both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
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

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = True
    binarize: float | None = 0.0
    fit_prior: bool = True
    class_prior: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        t = self.binarize
        if t is not None and not (isinstance(t, Real) and 0 <= float(t) < np.inf):
            raise InputError(f"binarize={t!r} must be None, or a number and not negative.")

    def _as_counts(self, x: Matrix) -> Matrix:
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
        rows = self._as_counts(x)
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

    def _score_node(self, names: tuple[str, ...]) -> nodes.Node:
        """Σ x log p + (1 − x) log(1 − p) + log π, x being 1 above the threshold and else 0."""
        true = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            false = np.log(-np.expm1(np.minimum(true, 0.0)))
        never, always = np.isneginf(true), np.isneginf(false)
        x: nodes.Node = nodes.design_of(self)
        if self.binarize is not None:
            x = nodes.Marks(x, float(self.binarize))
        constant = self._constants() + np.where(always, 0.0, false).sum(axis=1)
        coef = np.where(never, 0.0, true) - np.where(always, 0.0, false)
        excluding = (never.astype(float) - always).T
        count = always.sum(axis=1).astype(float)
        return nodes.LinearLimits(x, coef, constant, excluding, count, names=names)


def _above(values: Any, threshold: float) -> Any:
    """Where values are above the threshold; NaN for what is not a finite number."""
    above = values > threshold
    finite = values.dtype.kind != "f" or bool(np.isfinite(values.sum()))
    return above if finite else np.where(np.isfinite(values), above, np.nan)

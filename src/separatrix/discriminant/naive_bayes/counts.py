"""What naive Bayes on counts shares: sums by class in, scores that are linear in the counts out."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.naive_bayes.portions import stated_classes
from separatrix.estimators.base import check_sample_weight, validate_data
from separatrix.estimators.class_labels import (
    ClassLabels,
    coded_rows,
    label_positions,
    present_labels,
    two_or_more,
)
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.matrices.products import products
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import LARGEST, Floats, Ints, Matrix
from separatrix.rows.rows import Rows
from separatrix.rows.sources.frames import is_frame, odd_column, refuse_infinite, refuse_not_finite
from separatrix.statistics.class_counts import class_counts

#: What ``force_alpha=False`` raises a smaller ``alpha`` to, as in scikit-learn.
SMALLEST_ALPHA = 1e-10

Labeled = tuple[Matrix, Ints, Floats | None]


class CountNaiveBayes(ClassifierMixin, ClassLabels):
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        self.__dict__.pop("encoding_", None)
        if isinstance(X, Rows):
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
            rows: Labeled = coded.x, coded.codes, coded.w
        else:
            rows = self._labeled(X, y, sample_weight)
        self.class_count_, self.feature_count_ = self._sums(*rows)
        return self._estimated()

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before.

        ``classes`` lists all possible labels, and is required in the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "feature_count_")
        self._known_classes(X, None)  # refuses tables
        known = stated_classes(self, classes)
        rows = self._labeled(X, y, sample_weight, known=known, reset=first)
        weight, counts = self._sums(*rows)
        if not first:
            weight, counts = self.class_count_ + weight, self.feature_count_ + counts
        self.class_count_, self.feature_count_ = weight, counts
        return self._estimated()

    def _labeled(
        self, X: Any, y: Any, sample_weight: Any, *, known: Any = None, reset: bool = True
    ) -> Labeled:
        """Rows as they are, their class codes and weights; sets ``classes_``."""
        self._expect_labels(X, y)
        if is_frame(X):
            if odd_column(X) is not None:
                self._odd_rows(X, y, sample_weight)  # refuses
            refuse_infinite(X)
        x, labels = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", ensure_all_finite=False
        )
        _refuse_dates(x)
        w = check_sample_weight(sample_weight, x.shape[0])
        self.classes_ = present_labels(labels, w, known, closed=known is not None)
        two_or_more(self.classes_.tolist())
        return x, label_positions(labels, self.classes_), w

    def _sums(self, x: Matrix, codes: Ints, w: Floats | None) -> tuple[Floats, Floats]:
        """The weight of every class, and the sums of its columns."""
        weight = np.bincount(codes, w, len(self.classes_)).astype(np.float64)
        found = class_counts(self._counted(x), codes, w, len(self.classes_))
        if not (found.non_negative and np.isfinite(found.counts.sum())):
            refuse_not_finite(x)
            if not found.non_negative:
                raise InputError(
                    f"Negative values in data passed to {type(self).__name__} (input X), which "
                    "takes counts.",
                    remedy="Use GaussianNB for numbers that may be negative.",
                )
            raise InputError("The sums of a column overflow.", remedy="Divide it by a constant.")
        return weight, found.counts

    def _counted(self, x: Matrix) -> Matrix:
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
        if np.min(a) < SMALLEST_ALPHA and not self.force_alpha:
            text = "alpha too small will result in numeric errors"
            warn("SEP014", f"{text}, setting alpha = {SMALLEST_ALPHA:.1e}.")
            a = np.maximum(a, SMALLEST_ALPHA)
        return float(a) if np.ndim(a) == 0 else np.asarray(a, dtype=np.float64)

    def _estimated(self) -> Self:
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

    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return softmax(self.predict_joint_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return self._predicted(self.predict_joint_log_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._counts_only
        tags.classifier_tags.poor_score = True  # on tables that are no counts
        return tags


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

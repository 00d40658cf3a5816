"""Sets of labels with a guaranteed coverage, over any classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.conformal.base import (
    JACKKNIFE,
    Calibrated,
    ConformalModel,
    positive_rows,
)
from separatrix.conformal.class_scores import ClassScore, class_values
from separatrix.conformal.coverage import Coverage, coverage_of
from separatrix.conformal.label_counts import label_counts
from separatrix.conformal.quantiles import checked_level, needed_rank
from separatrix.estimators.class_labels import two_or_more
from separatrix.estimators.targets import codes_of, with_every_class
from separatrix.estimators.wrapped import (
    LabeledRows,
    fitted,
    labeled_rows,
    require_classifier,
    warn_once,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.selection.leave_one_out import leave_one_out_fits
from separatrix.threads import on_one_blas_thread


def _has_probabilities(model: Any) -> bool:
    return hasattr(getattr(model, "estimator_", model.estimator), "predict_proba")


class ConformalClassifier(ClassifierMixin, ConformalModel):
    """Sets of labels with a guaranteed coverage, by any classifier.

        C(x) = {k : #{i : sᵢ < s(x, k)} < level (n + 1)},     P(y ∈ C(x)) ≥ level

    where s scores how unlikely a label is, sᵢ that of the label of row i, and the model was fitted
    to none of the n rows; whatever the model and the distribution, as long as old and new rows are
    exchangeable. Sets of any level follow from one fit. A set may be empty, where no label is
    likely enough, or full, where nothing is certain: with too few rows for the level always. A row
    of weight w counts as w equal rows.

    Parameters
    ----------
    estimator : classifier
        Any classifier, of this library or with scikit-learn's interface.
    method : {"split", "cv+", "cross-conformal", "jackknife+"}, default="split"
        "split" fits to a part of the rows and calibrates by the others: coverage ≥ level.
        "jackknife+" leaves out every row in turn, in closed form where the model has one
        (discriminant analysis, Gaussian naive Bayes, neighbors), else by n fits: coverage
        ≥ 1 − 2(1 − level), in practice about the level. "cv+" leaves out folds; so does
        "cross-conformal", which is the same for classes.
    conformity : {"lac", "margin", "aps", "raps"}, default="lac"
        The score: 1 − p of the label; the lead of the best other label; or the total probability
        of the labels above it, with a penalty on more than ``free_ranks`` labels.
    randomized : bool, default=False
        Whether the probability of the label itself counts in part, at random, so that sets by
        "aps" and "raps" are no larger than they need to be, and may be empty. The same row may
        then have another set in another place of ``X``.
    penalty, free_ranks : float and int, default=0.01 and 1
        λ and c of "raps".
    cv : int, splitter or iterable of (train, test), default=5
        Folds of "cv+"; a number of them is dealt at random.
    calibration : float, default=0.25
        The share of the rows that "split" calibrates by.
    by : "class", int, str or None, default=None
        "class" or a column of ``X`` whose every value has a quantile of its own (mondrian): the
        coverage then holds for each of them. With too few rows of it a class is in every set, and
        rows of a value have full sets.
    random_state : int, RandomState or None, default=0
        Which rows calibrate, which are in which fold, and the numbers of ``randomized``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels in order.
    estimator_ : classifier
        The model of ``predict``: fitted to all rows, of "split" to those that do not calibrate.
    scores_ : ndarray of shape (n,)
        The scores of the labels of the calibration rows.
    labels_ : ndarray of shape (n,)
        Those labels, as positions in ``classes_``.
    weights_ : ndarray of shape (n,) or None
        Their weights.
    folds_ : ndarray of shape (n,)
        Which of ``models_`` scored them.
    models_ : list
        The models of each fold; none where leaving out has a closed form.
    fits_ : LeaveOneOutFits or None
        The closed form of the models without each row.
    categories_ : Categories or None
        The values of the column ``by``, and in ``category_codes_`` those of the calibration rows.
    certificate_ : Certificate
        That of the estimator, with the guarantee.

    See Also
    --------
    ConformalRegressor : Intervals of numbers.
    CalibratedClassifier : Probabilities for a classifier that has none.
    RejectOption : One label or none, at least expected cost.

    References
    ----------
    - M. Sadinle, J. Lei and L. Wasserman, Least ambiguous set-valued classifiers with bounded error
      levels, 2019.
    - Y. Romano, M. Sesia and E. Candès, Classification with valid and adaptive coverage, 2020.
    - A. Angelopoulos, S. Bates, J. Malik and M. Jordan, Uncertainty sets for image classifiers
      using conformal prediction, 2021.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = sx.LinearDiscriminantAnalysis()
    >>> model = sx.ConformalClassifier(lda, method="jackknife+").fit(X, y)
    >>> model.predict_set([[6.0, 2.7, 5.1, 1.6], [5.0, 3.4, 1.5, 0.2]], level=0.99).tolist()
    [[False, True, True], [True, False, False]]
    """

    classes_: NDArray[Any]
    labels_: Ints
    seed_: int

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        conformity: str = "lac",
        randomized: bool = False,
        penalty: float = 0.01,
        free_ranks: int = 1,
        cv: Any = 5,
        calibration: float = 0.25,
        by: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.conformity = conformity
        self.randomized = randomized
        self.penalty = penalty
        self.free_ranks = free_ranks
        self.cv = cv
        self.calibration = calibration
        self.by = by
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit and calibrate by ``X`` and labels ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        given, rows, score = self._read(X, y, sample_weight)
        with warn_once():
            if self.method == "split":
                train, test = self._split(rows)
                model = fitted(self.estimator, rows.take(train))
                p = self._values(model, rows.take(test).x, score)
                found = self._scored(score, p, test, np.zeros(len(test), np.int64), [[model]])
            else:
                model = fitted(self.estimator, rows)
                folds = self._labels(given, self.labels_)
                found = self._left_out(score, model, rows, folds)
        return self._accept(rows, found, model)

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Calibrate an estimator that is fitted already, by rows that it was not fitted to."""
        check_is_fitted(self.estimator)
        _, rows, score = self._read(X, y, sample_weight)
        if self.method != "split":
            raise InputError(
                "A model that is fitted already is calibrated by other rows: method='split'.",
                remedy="Use method='split', or call fit.",
            )
        known = np.unique(np.concatenate([self.estimator.classes_, self.classes_]))
        self.labels_ = codes_of(self.classes_, known)[self.labels_]
        self.classes_ = known
        p = self._values(self.estimator, rows.x, score)
        every = np.arange(len(rows.y))
        found = self._scored(score, p, every, np.zeros_like(every), [[self.estimator]])
        return self._accept(rows, found, self.estimator)

    def _read(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[LabeledRows, LabeledRows, ClassScore]:
        """Rows as given and those that count, and the score; sets ``classes_`` and ``labels_``."""
        self._check_method()
        require_classifier(self.estimator)
        if self.method == "jackknife-minmax":
            raise InputError(
                "Sets of labels have no least and largest end: jackknife-minmax is for numbers.",
                remedy="Use method='jackknife+'.",
            )
        score = self._score()
        given = labeled_rows(self, X, y, sample_weight)
        rows = positive_rows(given)
        self.classes_ = np.unique(rows.y)
        two_or_more(self.classes_.tolist())
        self.labels_ = codes_of(rows.y, self.classes_)
        self.seed_ = int(check_random_state(self.random_state).randint(1 << 30))
        return given, rows, score

    def _score(self) -> ClassScore:
        return ClassScore(
            self.conformity, bool(self.randomized), float(self.penalty), int(self.free_ranks)
        )

    @property
    def _by_class(self) -> bool:
        return isinstance(self.by, str) and self.by == "class"

    def _category_sizes(self) -> Floats:
        if not self._by_class:
            return super()._category_sizes()
        return np.bincount(self.labels_, self.weights_, len(self.classes_)).astype(float)

    def _values(self, model: Any, X: Any, score: ClassScore) -> Floats:
        """Probabilities with a column for each of ``classes_``."""
        return with_every_class(class_values(model, X, score), model.classes_, self.classes_)

    def _uniform(self, n: int, of_rows: int) -> Floats | None:
        """Numbers of randomized scores: of calibration rows (0) and of new rows (1)."""
        if not self.randomized:
            return None
        return np.asarray(np.random.default_rng([self.seed_, of_rows]).random(n))

    def _scored(
        self,
        score: ClassScore,
        p: Floats,
        at: Ints,
        folds: Ints,
        models: list[Any],
        fits: Any = None,
    ) -> Calibrated:
        """The scores of the labels of some rows, by their probabilities."""
        self.labels_ = self.labels_[at]
        scores = score.of(p, self._uniform(len(p), 0))[np.arange(len(p)), self.labels_]
        return Calibrated(scores, folds, at, models, fits)

    def _left_out(
        self, score: ClassScore, model: Any, rows: LabeledRows, labels: Ints
    ) -> Calibrated:
        """Rows scored by the fits without them: in closed form, or by one fit for each fold."""
        n = len(rows.y)
        every = np.arange(n)
        if self.method in JACKKNIFE:
            fits = leave_one_out_fits(model, rows.x, rows.y, rows.w)
            if fits is not None:
                return self._scored(score, fits.own, every, labels, [], fits)
        p, models = np.empty((n, len(self.classes_))), []
        for fold in range(int(labels.max()) + 1):
            test = np.flatnonzero(labels == fold)
            models.append([fitted(self.estimator, self._without(rows, labels, fold))])
            p[test] = self._values(models[-1][0], rows.take(test).x, score)
        return self._scored(score, p, every, labels, models)

    # -- predictions ---------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The label that the estimator predicts."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the estimator, for each of ``classes_``."""
        check_is_fitted(self)
        found = self.estimator_.predict_proba(X)
        return with_every_class(found, self.estimator_.classes_, self.classes_)

    @on_one_blas_thread
    def predict_set(self, X: Any, *, level: float = 0.9) -> NDArray[np.bool_]:
        """Which labels are in the set of every row (m x K)."""
        exact = checked_level(level)
        parts = []
        for below, total in self._counts(X):
            needed = np.array([needed_rank(exact, one) for one in np.unique(total)])
            parts.append(below < needed[np.searchsorted(np.unique(total), total)])
        return np.concatenate(parts)

    @on_one_blas_thread
    def p_values(self, X: Any) -> Floats:
        """(1 + #{i : sᵢ ≥ s(x, k)}) / (n + 1) of every row and label: sets are those above α."""
        return np.concatenate([(1.0 + t - below) / (t + 1.0) for below, t in self._counts(X)])

    def _counts(self, X: Any) -> Iterator[tuple[Floats, Floats]]:
        """Block by block: the weight of scores below s(x, k), and of all that count (m x K)."""
        check_is_fitted(self, "scores_")
        return label_counts(self, self._score(), X)

    def coverage(
        self, X: Any, y: Any = None, *, level: float = 0.9, sample_weight: Any = None
    ) -> Coverage:
        """The proportion of new rows whose label is in its set; by category, or by class."""
        rows = positive_rows(labeled_rows(self, X, y, sample_weight))
        sets = self.predict_set(rows.x, level=level)
        codes = codes_of(rows.y, self.classes_)
        inside = (codes >= 0) & sets[np.arange(len(codes)), np.maximum(codes, 0)]
        named = rows.y
        if self.categories_ is not None:
            labels = np.array([*self.categories_.levels.tolist(), "others"], dtype=object)
            named = labels[self.categories_.codes_of(rows.x)]
        return coverage_of(float(level), inside, sets.sum(axis=1).astype(float), rows.w, named)

"""Sets of labels with a guaranteed coverage, over any classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.conformal.base import (
    BLOCK_NUMBERS,
    JACKKNIFE,
    ConformalModel,
    ConformityScores,
    Coverage,
    check_level,
    coverage_of,
    needed_rank,
    positive_rows,
    row_blocks,
)
from separatrix.estimators import wrapped
from separatrix.estimators.base import codes_of, with_every_class
from separatrix.estimators.class_labels import two_or_more
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula, Value
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin
from separatrix.parameters import declare_parameters
from separatrix.selection.leave_one_out import leave_one_out_fits
from separatrix.threads import on_one_blas_thread


def _has_probabilities(model: Any) -> bool:
    return hasattr(getattr(model, "estimator_", model.estimator), "predict_proba")


NO_SETS = (
    "The sets of labels are not part of the export: they need a model for each fold or row left "
    "out, or random numbers; those of method='split' are."
)


@declare_parameters
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
        "cross-conformal", which is the same for classes. Copies of a row, where chance does not
        explain them (SEP009), and the w rows that a weight stands for are on one side of a split,
        in one fold, and left out together.
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

    classes_: NDArray[Any] = field(init=False)
    labels_: Ints = field(init=False)
    seed_: int = field(init=False)

    estimator: Any
    _: KW_ONLY
    method: str = "split"
    conformity: str = "lac"
    randomized: bool = False
    penalty: float = 0.01
    free_ranks: int = 1
    cv: Any = 5
    calibration: float = 0.25
    by: Any = None
    random_state: Any = 0

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit and calibrate by ``X`` and labels ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        given, rows, score = self._read(X, y, sample_weight)
        with wrapped.warn_once():
            if self.method == "split":
                train, test = self._split(rows)
                model = wrapped.fit_wrapped(self.estimator, rows.take(train))
                p = self._values(model, rows.take(test).x, score)
                scores = self._scored(score, p, test, np.zeros(len(test), np.int64), [[model]])
            else:
                model = wrapped.fit_wrapped(self.estimator, rows)
                folds = self._labels(given, self.labels_)
                scores = self._left_out(score, model, rows, folds)
        return self._accept(rows, scores, model)

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
        scores = self._scored(score, p, every, np.zeros_like(every), [[self.estimator]])
        return self._accept(rows, scores, self.estimator)

    def _read(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[wrapped.LabeledRows, wrapped.LabeledRows, ClassScore]:
        """Rows as given and those that count, and the score; sets ``classes_`` and ``labels_``."""
        self._check_method()
        wrapped.require_classifier(self.estimator)
        if self.method == "jackknife-minmax":
            raise InputError(
                "Sets of labels have no least and largest end: jackknife-minmax is for numbers.",
                remedy="Use method='jackknife+'.",
            )
        score = self._score()
        given = wrapped.labeled_rows(self, X, y, sample_weight)
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
        indices: Ints,
        folds: Ints,
        models: list[Any],
        fits: Any = None,
    ) -> ConformityScores:
        """The scores of the labels of some rows, by their probabilities."""
        self.labels_ = self.labels_[indices]
        scores = score.of(p, self._uniform(len(p), 0))[np.arange(len(p)), self.labels_]
        return ConformityScores(scores, folds, indices, models, fits)

    def _left_out(
        self, score: ClassScore, model: Any, rows: wrapped.LabeledRows, labels: Ints
    ) -> ConformityScores:
        """Rows scored by the fits without them: in closed form, or by one fit for each fold."""
        n = len(rows.y)
        every = np.arange(n)
        if self.method in JACKKNIFE:
            fits = leave_one_out_fits(model, rows.x, rows.y, rows.w, labels)
            if fits is not None:
                return self._scored(score, fits.own, every, labels, [], fits)
        p, models = np.empty((n, len(self.classes_))), []
        for fold in range(int(labels.max()) + 1):
            test = np.flatnonzero(labels == fold)
            models.append(
                [wrapped.fit_wrapped(self.estimator, rows.take(np.flatnonzero(labels != fold)))]
            )
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
        probabilities = self.estimator_.predict_proba(X)
        return with_every_class(probabilities, self.estimator_.classes_, self.classes_)

    @on_one_blas_thread
    def predict_set(self, X: Any, *, level: float = 0.9) -> NDArray[np.bool_]:
        """Which labels are in the set of every row (m x K)."""
        exact = check_level(level)
        parts = []
        for below, total in self._counts(X):
            needed = np.array([needed_rank(exact, mass) for mass in np.unique(total)])
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
        rows = positive_rows(wrapped.labeled_rows(self, X, y, sample_weight))
        sets = self.predict_set(rows.x, level=level)
        codes = codes_of(rows.y, self.classes_)
        inside = (codes >= 0) & sets[np.arange(len(codes)), np.maximum(codes, 0)]
        named = rows.y
        if self.categories_ is not None:
            labels = np.array([*self.categories_.levels.tolist(), "others"], dtype=object)
            named = labels[self.categories_.codes_of(rows.x)]
        return coverage_of(float(level), inside, sets.sum(axis=1).astype(float), rows.w, named)

    def formula(self) -> nodes.ClassFormula:
        """The prediction of the model inside, and which labels are in its set."""
        inner = nodes.class_formula_of(self.estimator_)
        if list(self.estimator_.classes_) != list(self.classes_):
            raise NoFormula("The conformal classes are more than those of the model inside.")
        plain = replace(inner, scores=None, members=None, notes=())
        if self.method != "split" or self.categories_ is not None or self.randomized:
            return replace(plain, notes=(NO_SETS,))
        if inner.probabilities is not None:
            p = inner.probabilities
        else:
            assert inner.scores is not None
            two = len(self.classes_) == 2
            p = nodes.Affine(inner.scores, np.array([[-0.5, 0.5]])) if two else inner.scores
        codes = self.labels_ if self._by_class else None
        members = LabelSets(
            p, self._score(), len(self.classes_), self.scores_, self.weights_, codes
        )
        return replace(plain, members=members)


# -------------------------------------------------------------------------------------------------
# Scores of classes: how unlikely a label is by the probabilities p of a model.
#
#     lac      1 − p_k                                     the smallest sets on average
#     margin   max over j ≠ k of p_j − p_k
#     aps      Σ p_j over the classes above k              (and + u p_k with u uniform)
#     raps     aps + λ (rank of k − c)₊                    large sets are discouraged
#
# Classes are above one another by probability, of equals the first in order. So the set of aps at a
# mass τ is the fewest likely classes that have it, with the one that reaches τ (Romano et al.); the
# likeliest has score 0, whatever its probability, and is in every set. Were p_k counted in whole,
# labels found with near certainty would have scores next to 1, as all other labels of such rows do.


SCORES = ("lac", "margin", "aps", "raps")


@dataclass(frozen=True)
class ClassScore:
    """A score by its name, with λ and c of ``raps`` and whether ties of mass are randomized."""

    name: str
    randomized: bool = False
    penalty: float = 0.01
    free_ranks: int = 1

    def __post_init__(self) -> None:
        check_option("conformity", self.name, SCORES)
        if not 0.0 <= float(self.penalty) < np.inf or int(self.free_ranks) < 0:
            raise InputError(
                f"penalty={self.penalty!r} and free_ranks={self.free_ranks!r} of raps must not be "
                "negative."
            )

    def of(self, p: Floats, u: Floats | None = None) -> Floats:
        """The score of every label: probabilities (… x K) to scores of the same shape.

        ``u`` holds a uniform number for each row of the leading axis.
        """
        if self.name == "lac":
            return np.asarray(1.0 - p)
        if self.name == "margin":
            return _margins(p)
        return self._masses(p, u)

    def _masses(self, p: Floats, u: Floats | None) -> Floats:
        order = np.argsort(-p, axis=-1, kind="stable")
        sorted_p = np.take_along_axis(p, order, axis=-1)
        # one minus what is not above, so that labels of no account tie at exactly one
        mass = 1.0 - np.cumsum(sorted_p[..., ::-1], axis=-1)[..., ::-1]
        mass[..., 0] = 0.0
        if self.randomized and u is not None:
            mass = mass + u.reshape(-1, *([1] * (p.ndim - 1))) * sorted_p
        if self.name == "raps":
            ranks = np.arange(1, p.shape[-1] + 1)
            mass = mass + float(self.penalty) * np.maximum(ranks - int(self.free_ranks), 0)
        masses = np.empty_like(mass)
        np.put_along_axis(masses, order, mass, axis=-1)
        return masses


def _margins(p: Floats) -> Floats:
    """The best of the other classes minus the class itself."""
    if p.shape[-1] < 2:
        return -p
    top = np.sort(p, axis=-1)[..., -2:]
    best = np.broadcast_to(top[..., 1:], p.shape)
    second = np.broadcast_to(top[..., :1], p.shape)
    leads = np.arange(p.shape[-1]) == p.argmax(axis=-1)[..., None]
    return np.asarray(np.where(leads, second, best) - p)


def class_values(model: Any, X: Any, score: ClassScore) -> Floats:
    """Probabilities (n x K); for margins of a model without them, its decision function."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    if score.name == "margin" and hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=float)
        return np.column_stack([-0.5 * values, 0.5 * values]) if values.ndim == 1 else values
    raise InputError(
        f"{type(model).__name__} has no probabilities.",
        remedy="Wrap it in CalibratedClassifier, or use conformity='margin'.",
    )


# -------------------------------------------------------------------------------------------------
# How many calibration rows have a lower score than a label of a new row.
#
# A group is the calibration rows that count for a label: all of them, those of a category, or those
# of its class. By one model a search in their sorted scores suffices; where the models without a
# row differ, the score of the label by each of them is compared with that of the row.


#: Rows and labels that a group counts for, as indices that broadcast.
Cells = tuple[Any, Any]


@dataclass(frozen=True)
class SortedScores:
    """Scores in order, and the weight up to each."""

    ordered: Floats
    reached: Floats

    @classmethod
    def of(cls, scores: Floats, w: Floats | None) -> SortedScores:
        """Scores with their weights."""
        order = np.argsort(scores, kind="stable")
        each = np.ones(len(scores)) if w is None else w[order]
        return cls(scores[order], np.concatenate([[0.0], np.cumsum(each)]))

    def below(self, values: Floats) -> Floats:
        """The weight of the scores below each value."""
        return np.asarray(self.reached[np.searchsorted(self.ordered, values, side="left")])


@dataclass(frozen=True)
class Group:
    """Calibration rows that are compared with one another, and the fold of each."""

    rows: Ints
    scores: Floats
    w: Floats | None
    folds: Ints
    total: float
    _sorted: dict[int, SortedScores] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, rows: Ints) -> Group:
        """Some of the calibration rows of a conformal model."""
        w = None if model.weights_ is None else model.weights_[rows]
        total = float(len(rows) if w is None else w.sum())
        return cls(rows, model.scores_[rows], w, model.folds_[rows], total)

    def by_fold(self, fold: int) -> SortedScores:
        """The scores of one fold in order."""
        if fold not in self._sorted:
            indices = np.flatnonzero(self.folds == fold)
            w = None if self.w is None else self.w[indices]
            self._sorted[fold] = SortedScores.of(self.scores[indices], w)
        return self._sorted[fold]

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.rows)) if self.w is None else self.w


def label_counts(model: Any, score: ClassScore, X: Any) -> Iterator[tuple[Floats, Floats]]:
    """Block by block: the weight of scores below s(x, k), and of all that count (m x K)."""
    k = len(model.classes_)
    dense = model.fits_ is not None and not hasattr(model.fits_, "changes")
    size = BLOCK_NUMBERS // (len(model.scores_) * k) + 1 if dense else 1 << 14
    if model.fits_ is None:
        count = counts_of_folds
    else:
        count = counts_of_fits if dense else counts_of_changes
    groups, n_done = _groups(model), 0
    for rows, part in row_blocks(X, size):
        m = rows.stop - rows.start
        u = model._uniform(n_done + m, 1)
        u, n_done = None if u is None else u[n_done:], n_done + m
        below, total = np.zeros((2, m, k))
        codes = model._category_codes(part, m)
        pairs = [(group, _cells(model, g, codes)) for g, group in enumerate(groups)]
        for group, cells in pairs:
            total[cells] = group.total
        count(model, score, part, u, pairs, below)
        yield below, total


def _groups(model: Any) -> list[Group]:
    """Calibration rows that are compared with a label of a row: by class or by category."""
    levels = 1 if model.categories_ is None else len(model.categories_.levels)
    count = len(model.classes_) if model._by_class else levels
    of = model.labels_ if model._by_class else model.category_codes_
    return [Group.of(model, np.flatnonzero(of == g)) for g in range(count)]


def _cells(model: Any, g: int, codes: Ints) -> Cells:
    """Rows and labels that a group counts for."""
    if model._by_class:
        return np.arange(len(codes))[:, None], np.array([[g]])
    return np.flatnonzero(codes == g)[:, None], np.arange(len(model.classes_))[None]


def counts_of_folds(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """By one model for each fold: a search among the scores of its fold."""
    for fold, models in enumerate(model.models_):
        s = score.of(model._values(models[0], X, score), u)
        for group, cells in groups:
            below[cells] += group.by_fold(fold).below(s[cells])


def counts_of_fits(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """By the model without each row: the scores (m x n x K) are compared with those of the rows."""
    s = score.of(model.fits_.at(model.estimator_, X), u)
    for group, (rows, labels) in groups:
        part = s[rows.ravel()][:, group.rows][:, :, labels.ravel()]
        lower = group.scores[None, :, None] < part
        below[rows, labels] = np.einsum("ijk,j->ik", lower, group.weights)


def counts_of_changes(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """Where all but k of the models agree about a row: one search, corrected for those k."""
    base, indices, changed = model.fits_.changes(model.estimator_, X)
    s = score.of(base, u)
    s_changed = score.of(changed, u)
    self_changes = model.scores_[indices][:, :, None]
    weight = 1.0 if model.weights_ is None else model.weights_[indices][:, :, None]
    correction = weight * (
        (self_changes < s_changed).astype(float) - (self_changes < s[:, None, :])
    )
    for group, (rows, labels) in groups:
        inside = np.zeros(len(model.scores_), dtype=bool)
        inside[group.rows] = True
        counted = (inside[indices][:, :, None] * correction).sum(axis=1)
        whole = SortedScores.of(group.scores, group.w)
        below[rows, labels] = whole.below(s[rows, labels]) + counted[rows, labels]


@dataclass(frozen=True, eq=False)
class LabelSets(nodes.Node):
    """Which labels score no more than the quantile of calibration scores at the level asked for.

    ``codes`` are the classes of the calibration rows where every class has a quantile of its own.
    """

    p: nodes.Node
    score: ClassScore
    k: int
    scores: Floats
    weights: Floats | None
    codes: Ints | None
    stage: ClassVar[str] = "sets"

    def compute(self, of: nodes.Evaluation) -> Any:
        """Marks (n x K)."""
        return self._scores(of(self.p)) <= self._thresholds(of.level)[None, :]

    def _thresholds(self, level: float) -> Floats:
        """The largest score that is in the set, for each class."""
        exact, found = check_level(level), np.full(self.k, np.inf)
        for c in range(self.k):
            at = np.ones(len(self.scores), bool) if self.codes is None else self.codes == c
            order = np.argsort(self.scores[at], kind="stable")
            w = np.ones(len(order)) if self.weights is None else self.weights[at][order]
            reached = np.cumsum(w)
            needed = needed_rank(exact, float(reached[-1]) if len(reached) else 0.0)
            enough = np.flatnonzero(reached >= needed)
            if len(enough):
                found[c] = self.scores[at][order][enough[0]]
        return found

    def _scores(self, p: Value) -> Value:
        """How unlikely each label is by its probability (n x K)."""
        name, k = self.score.name, self.k
        if name == "lac":
            return 1.0 - p
        if name == "margin":
            top, _ = p.smallest(2, largest=True)
            leads = p.argmax().equals(np.arange(k)[None, :])
            return leads.where(top.column(1), top.column(0)) - p
        ordered, order = p.smallest(k, largest=True)
        first = np.zeros((1, k), dtype=bool)
        first[0, 0] = True
        mass = p.constant(first).where(0.0, 1.0 - ordered.cumulative(reverse=True))
        if name == "raps":
            beyond = np.maximum(np.arange(1, k + 1) - int(self.score.free_ranks), 0)
            mass = mass + (float(self.score.penalty) * beyond)[None, :]
        _, back = order.smallest(k)
        return mass.entries(back)

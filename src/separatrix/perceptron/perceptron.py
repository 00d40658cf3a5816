"""The perceptron: a linear classifier trained on its mistakes, one row at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import Perceptron as StochasticPerceptron
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators import class_labels, linear_classifier
from separatrix.estimators.base import reads_tables
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.parameters import declare_parameters
from separatrix.perceptron.loops import train_dense, train_sparse
from separatrix.rows.schema import Encoding
from separatrix.statistics.moments import Standardizer


@declare_parameters
class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: a linear classifier updated at every misclassified row.

        w ← w + η y x,  b ← b + η y     for every row with y (w·x + b) ≤ 0

    By default it is trained as scikit-learn's: rows in shuffled order, until the sum of
    −y (w·x + b) over mistakes has not improved for a few epochs. With any of the options from
    ``order`` on it is the perceptron of the textbooks, which goes on until no row is misclassified:
    on linearly separable rows after at most (R/γ)² updates from zero; on other rows never, and
    ``max_epochs`` ends it with a warning (SEP003). :func:`linear_separability` proves which is the
    case. Several classes are trained one-vs-rest.

    A sample weight multiplies the update; a weight of zero removes the row. As the order counts, a
    weight of two is not the same as the row twice.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        Penalty of the weights, applied at every row.
    alpha, l1_ratio : float
        Its factor, and the share of ℓ₁ in "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Epochs at most.
    tol : float or None, default=1e-3
        Improvement of the mean loss below which an epoch counts as none. None: all epochs are run.
    shuffle : bool, default=True
        Whether every epoch has a new order of rows.
    verbose : int, default=0
        Whether epochs are printed.
    eta0 : float, default=1.0
        η. From zero and without penalty it only sets the norm of w.
    n_jobs : int or None, default=None
        Threads for several classes.
    random_state : int, RandomState instance or None, default=0
        Seed of the order.
    early_stopping, validation_fraction : bool, float
        Whether to stop by the accuracy on a fraction of the rows, which is set aside.
    n_iter_no_change : int, default=5
        Epochs without improvement after which training ends.
    class_weight : dict, "balanced" or None, default=None
    warm_start : bool, default=False
        Whether ``fit`` begins with the weights of the last fit.
    order : {"given", "shuffled", "random"} or None, default=None
        Textbook: the rows as they come (as does None); in a new order every epoch; or as many draws
        of any misclassified row, each equally likely, as there are rows.
    start : {"zero", "means"}, default="zero"
        Textbook: w = 0, or the hyperplane halfway between the class means.
    max_epochs : int or None, default=None
        Textbook: epochs at most; None is 200.
    update : {"online", "batch"}, default="online"
        Textbook: a step at every misclassified row as it comes; or one step an epoch, summed over
        all rows that are misclassified at its start, so that the order of rows does not matter and
        a weight of two is the row twice.
    average : bool, default=False
        Textbook: return the average of the weights over all rows seen, which is more stable.
    pocket : bool, default=False
        Textbook: return the weights that misclassified the fewest rows.
    standardize : bool, default=False
        Textbook: train on columns of mean 0 and standard deviation 1, so that the perceptron does
        not depend on their units; it may then need far fewer epochs.
    store_weights : bool, default=False
        Textbook: store the weights after every epoch in ``trace_``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_, intercept_ : ndarray of shape (1, n_features) or (n_classes, n_features), and (1,) …
        Weights w and intercepts b.
    trace_ : MistakeTrace
        Textbook: mistakes by epoch, drawn by ``separatrix.pictures.PerceptronTraceDisplay``.
    mistakes_ : ndarray of int
        Textbook: all mistakes made, by output; ``partial_fit`` adds to them.
    mistake_bound_ : float
        Textbook: (R/γ)² with the margin γ reached, the most mistakes from zero in any order; for
        batches, whose steps add up, times the number of rows. Infinite where rows are misclassified
        or the theorem does not apply.
    state_, t_ : object
        What ``partial_fit`` continues from: the textbook's weights; else the number of rows seen.
    certificate_ : Certificate
        The misclassified training rows, counted; it holds if there are none, with or without
        penalty. It claims nothing else.
    n_iter_ : int
        Epochs.

    See Also
    --------
    KernelPerceptron : The same training in the feature space of a kernel.
    LinearSVC : The separating hyperplane of largest margin.

    References
    ----------
    - F. Rosenblatt, "The perceptron: a probabilistic model", Psychological Review, 1958.
    - A. B. J. Novikoff, "On convergence proofs on perceptrons", 1962.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 3.0], [4.0, 3.0]], [0, 0, 1, 1]
    >>> model = sx.Perceptron(order="given").fit(X, y)
    >>> model.predict([[0.0, 1.0], [4.0, 4.0]])
    array([0, 1])
    >>> str(model.trace_.status), int(model.mistakes_[0])
    ('converged', 5)
    """

    sparsify, densify = linear_classifier.sparsify, linear_classifier.densify
    trace_: MistakeTrace = field(init=False)
    state_: PerceptronState = field(init=False)
    mistakes_: Ints = field(init=False)
    mistake_bound_: float = field(init=False)

    _: KW_ONLY
    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    verbose: int = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    random_state: Any = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Any = None
    warm_start: bool = False
    order: str | None = None
    start: str = "zero"
    max_epochs: int | None = None
    update: str = "online"
    average: bool = False
    pocket: bool = False
    standardize: bool = False
    store_weights: bool = False

    @property
    def _textbook(self) -> bool:
        """Whether an option asks for the perceptron of the textbooks."""
        named = self.average or self.pocket or self.standardize or self.store_weights
        named = named or self.update != "online"
        epochs = self.max_epochs is not None
        return bool(named or epochs or self.order is not None or self.start != "zero")

    @reads_tables
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to ``X`` and labels ``y`` (or to Rows); ``…_init`` are weights to begin with."""
        if not self._textbook:
            return self._fit_stochastic(X, y, coef_init, intercept_init, sample_weight)
        options = self._options()
        given = class_labels.coded_rows(self, X, y, sample_weight, self.class_weight)
        standardizer = None
        if self.standardize:
            standardizer = Standardizer.from_rows(given.x, given.w, keep_mean=True)
        rows = self._training(given, standardizer)
        zero = np.zeros((len(rows.output_class), 1 + rows.d))
        first = class_mean_weights(rows) if self.start == "means" else zero
        random = check_random_state(self.random_state)
        result = train(rows, PerceptronState(first, zero, 0), options, random)
        same_rate = rows.rate.min() == rows.rate.max()
        bound = np.inf
        if self.start == "zero" and same_rate:
            bound = mistake_bound(rows, result.weights) * (rows.n if options.batch else 1)
        certificate = training_certificate(result, rows, bound)
        self._store(result, rows, standardizer, given.encoding, certificate)
        self.mistakes_, self.mistake_bound_ = result.mistakes.sum(axis=0), bound
        if result.status is not Status.CONVERGED:
            warn("SEP003", f"{self.certificate_}")
        return self

    @available_if(lambda self: self._trains_online())  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one epoch on these rows from the present weights; the first call names classes."""
        begun = hasattr(self, "state_" if self._textbook else "t_")
        before = self.classes_ if begun else None
        known = class_labels.known_classes(self, X, classes)
        given = class_labels.coded_arrays(
            class_labels.rows_with_codes(self, X, y, sample_weight, known=known, reset=not begun)
        )
        if before is not None and len(before) != len(self.classes_):
            new = sorted(set(self.classes_.tolist()) - set(before.tolist()))
            self.classes_ = before
            raise InputError(
                f"Class {new[0]!r} is new, and training began without it.",
                remedy="Name all classes in the first call: partial_fit(X, y, classes=…).",
            )
        if not self._textbook:
            trained = train_once(self, given, begun)
            return self._adopt_stochastic(trained, given, last=True)
        options = self._options()
        rows = self._training(given, None)
        zero = np.zeros((len(rows.output_class), 1 + rows.d))
        state = self.state_ if begun else PerceptronState(zero, zero, 0)
        once = replace(options, order="given", max_epochs=1, store_weights=False)
        result = train(rows, state, once)
        mistakes = result.mistakes.sum(axis=0) + (self.mistakes_ if begun else 0)
        wrong = int(rows.find_misclassified(result.state.weights).any(axis=1).sum())
        notes = [f"{int(mistakes.sum())} mistakes in {result.state.seen} rows."]
        certificate = replace(
            certify_mistakes("Perceptron", wrong, rows.n, notes, np.inf, 1),
            claim=f"Perceptron: {wrong} of the last {rows.n} rows are misclassified",
        )
        self._store(result, rows, None, given.encoding, certificate)
        self.mistakes_, self.mistake_bound_ = mistakes, np.inf
        return self

    def _fit_stochastic(
        self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any
    ) -> Self:
        """Train as scikit-learn does."""
        before = (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "t_") else None
        given = class_labels.coded_rows(self, X, y, sample_weight)
        if before is not None and coef_init is None:
            coef_init, intercept_init = before
        trained = train_epochs(self, given, coef_init, intercept_init)
        return self._adopt_stochastic(trained, given, last=False)

    def _adopt_stochastic(self, trained: Any, given: class_labels.CodedRows, *, last: bool) -> Self:
        for name in ("trace_", "state_", "mistakes_", "mistake_bound_"):
            self.__dict__.pop(name, None)
        coef, intercept = np.array(trained.coef_), np.array(trained.intercept_)
        certificate = certify_epochs(trained, given, last=last)
        epochs = int(trained.n_iter_)
        solution = Solution(coef.T, intercept, certificate, Status.STOPPED, epochs)
        self._accept(solution, given.encoding, flat=False)
        self.t_ = float(trained.t_)
        return self

    def _trains_online(self) -> bool:
        """Whether no parameter needs all rows beforehand, or a second time."""
        for name, usual in (("standardize", False), ("pocket", False), ("start", "zero")):
            if getattr(self, name) != usual:
                raise AttributeError(
                    f"partial_fit cannot do {name}={getattr(self, name)!r}, which needs all "
                    f"rows. Use {name}={usual!r}, or fit."
                )
        return True

    def _options(self) -> TrainingOptions:
        """The parameters, checked."""
        check_option("start", self.start, ("zero", "means"))
        check_option("update", self.update, ("online", "batch"))
        if self.update == "batch" and self.order not in (None, "given"):
            raise InputError(
                f"order={self.order!r} and update='batch': a sum over rows has no order.",
                remedy="Leave out one of them.",
            )
        if not 0.0 < self.eta0 < np.inf:
            raise InputError(f"eta0={self.eta0!r} must be positive and finite.")
        if self.penalty is not None or self.early_stopping or self.warm_start:
            raise InputError(
                "The perceptron of the textbooks has no penalty, early_stopping or warm_start.",
                remedy="Leave out order, start, max_epochs, average, pocket, standardize and "
                "store_weights.",
            )
        # Epochs of the textbooks' perceptron unless a limit is given.
        epochs = 200 if self.max_epochs is None else self.max_epochs
        return TrainingOptions(
            self.order or "given",
            epochs,
            self.average,
            self.pocket,
            self.store_weights,
            self.update == "batch",
        )

    def _training(
        self, given: class_labels.CodedRows, standardizer: Standardizer | None
    ) -> PerceptronRows:
        return training_rows(
            given.x,
            given.codes,
            class_labels.outputs_of(len(self.classes_)),
            self.eta0 * given.w,
            bool(self.fit_intercept),
            standardizer,
        )

    def _store(
        self,
        result: TrainingResult,
        rows: PerceptronRows,
        standardizer: Standardizer | None,
        encoding: Encoding,
        certificate: Certificate,
    ) -> None:
        coef, intercept = undo_scaling(result.weights, standardizer)
        stored = [undo_scaling(weights, standardizer) for weights in result.epoch_weights]
        self.state_ = result.state
        self.trace_ = MistakeTrace(
            result.mistakes,
            rows.n,
            result.status,
            np.array([coef for coef, _ in stored]),
            np.array([intercept for _, intercept in stored]),
        )
        solution = Solution(coef.T, intercept, certificate, result.status, len(result.mistakes))
        self._accept(solution, encoding, flat=False)


# -------------------------------------------------------------------------------------------------
# The perceptron as scikit-learn trains it: penalties, a stopping rule, rows in shuffled order.
#
# The epochs themselves are scikit-learn's, so that the same options and seed give the same weights,
# but for two things that must not matter. Every class has a seed of its own, the first one that of
# the class of the first row, and so on, whatever the names of the classes. And the intercept of
# sparse rows is the coefficient of a column of ones: scikit-learn would divide its steps by 100.
# With a penalty, which does not hold for the intercept, it does so here as well.


#: Parameters that both have.
SHARED = (
    "penalty", "alpha", "l1_ratio", "fit_intercept", "max_iter", "tol", "shuffle", "verbose",
    "eta0", "n_jobs", "random_state", "early_stopping", "validation_fraction", "n_iter_no_change",
)  # fmt: skip


def stochastic_perceptron(
    model: Any, given: class_labels.CodedRows, place: Ints
) -> StochasticPerceptron:
    """scikit-learn's perceptron with the parameters of ``model``; classes by their ``place``."""
    weight = model.class_weight
    if weight is not None and not isinstance(weight, str):
        labels = model.classes_.tolist()
        total = np.bincount(given.codes, given.w, len(labels)).astype(np.float64)
        weight = dict(
            zip(
                place.tolist(),
                class_labels.weights_by_class(weight, labels, total).tolist(),
                strict=True,
            )
        )
    shared = {name: getattr(model, name) for name in SHARED}
    if _as_column(model, given):
        shared["fit_intercept"] = False
    return StochasticPerceptron(**shared, class_weight=weight)


def _as_column(model: Any, given: class_labels.CodedRows) -> bool:
    """Whether the intercept is the coefficient of a column of ones."""
    return sparse.issparse(given.x) and bool(model.fit_intercept) and model.penalty is None


def _with_ones(x: Matrix) -> Matrix:
    return sparse.hstack([x, sparse.csr_array(np.ones((x.shape[0], 1)))], format="csr")


def _by_appearance(codes: Ints, k: int) -> Ints:
    """The place of each class in the order in which the rows have them."""
    present, first = np.unique(codes, return_index=True)
    if k == 2 or len(present) < k:  # of two classes there is one seed
        return np.arange(k)
    return np.argsort(present[np.argsort(first)])


def train_epochs(
    model: Any, given: class_labels.CodedRows, coef: Floats | None, intercept: Floats | None
) -> StochasticPerceptron:
    """Epochs until the loss no longer improves, from these weights or from zero."""
    place = _by_appearance(given.codes, len(model.classes_))
    trained, x = stochastic_perceptron(model, given, place), given.x
    if coef is not None and len(place) > 2:
        coef = np.asarray(coef)[np.argsort(place)]
        intercept = None if intercept is None else np.asarray(intercept)[np.argsort(place)]
    if _as_column(model, given):
        x = _with_ones(x)
        if coef is not None or intercept is not None:
            outputs = len(class_labels.outputs_of(len(place)))
            coef = np.zeros((outputs, x.shape[1] - 1)) if coef is None else np.atleast_2d(coef)
            base = np.zeros(outputs) if intercept is None else np.ravel(intercept)
            coef, intercept = np.column_stack([coef, base]), None
    trained.fit(
        x, place[given.codes], coef_init=coef, intercept_init=intercept, sample_weight=given.w
    )
    if len(place) > 2:
        trained.coef_, trained.intercept_ = trained.coef_[place], trained.intercept_[place]
    return _without_column(trained) if _as_column(model, given) else trained


def _without_column(trained: StochasticPerceptron) -> StochasticPerceptron:
    """The coefficient of the column of ones is the intercept."""
    coef = trained.coef_
    trained.coef_, trained.intercept_ = np.ascontiguousarray(coef[:, :-1]), coef[:, -1].copy()
    return trained


def train_once(model: Any, given: class_labels.CodedRows, begun: bool) -> StochasticPerceptron:
    """One epoch from the present weights of ``model``, or from zero."""
    every = np.arange(len(model.classes_))
    trained, x, column = stochastic_perceptron(model, given, every), given.x, False
    if _as_column(model, given):
        x, column = _with_ones(x), True
    if begun:
        trained.classes_, trained.t_ = every, float(model.t_)
        trained.coef_ = np.ascontiguousarray(model.coef_)
        trained.intercept_ = np.array(model.intercept_, dtype=np.float64)
        if column:
            trained.coef_ = np.column_stack([trained.coef_, trained.intercept_])
            trained.intercept_ = np.zeros(len(trained.coef_))
        trained.n_features_in_ = trained.coef_.shape[1]
    trained.partial_fit(x, given.codes, classes=every, sample_weight=given.w)
    return _without_column(trained) if column else trained


def certify_epochs(
    trained: StochasticPerceptron, given: class_labels.CodedRows, *, last: bool
) -> Certificate:
    """The misclassified rows, counted: of all, or of the ``last`` that were given."""
    coef, n = trained.coef_, len(given.codes)
    scores = np.asarray(given.x @ coef.T) + trained.intercept_
    positive = given.codes[:, None] == class_labels.outputs_of(len(trained.classes_))
    wrong = int((np.where(positive, scores, -scores) <= 0.0).any(axis=1).sum())
    epochs = int(trained.n_iter_)
    notes = [f"{epochs} epoch{'s' * (epochs > 1)}."]
    certificate = certify_mistakes("Perceptron", wrong, n, notes, np.inf, len(coef))
    if not last:
        return certificate
    return replace(certificate, claim=f"Perceptron: {wrong} of the last {n} rows are misclassified")


# -------------------------------------------------------------------------------------------------
# Perceptron training: epochs over the rows until none is misclassified, or the limit is reached.
#
#     w ← w + η w̃ᵢ yᵢ (1, xᵢ)     for every row i with yᵢ (w·(1, xᵢ)) ≤ 0
#
# w̃ is the sample weight. From w = 0 the learning rate η only sets the norm of w. If the rows are
# linearly separable with margin γ, and none is longer than R, at most (R/γ)² updates are made,
# whatever the number of rows (Novikoff); if they are not, updates never end.
#
# In batches the mₜ rows that w misclassifies at the start of epoch t are added at once. With
# M = Σ mₜ a unit vector u of margin γ has w·u ≥ M γ, and as their sum points away from w,
# ‖w‖² ≤ Σ mₜ² R² ≤ n M R² for n rows. Hence M ≤ n (R/γ)², and there are no more epochs than that.


@dataclass(frozen=True)
class MistakeTrace:
    """Mistakes in each epoch, (epochs, outputs); ``rows`` is the number of rows in an epoch.

    ``status`` is converged or limit reached. ``coef`` (epochs, outputs, d) and ``intercept``
    (epochs, outputs) are the weights after each epoch, empty unless they were to be stored.
    """

    mistakes: Ints
    rows: int
    status: Status
    coef: Floats
    intercept: Floats


@dataclass(frozen=True)
class TrainingResult:
    """Final weights (outputs x (1 + d)), the state to continue from, and the history."""

    weights: Floats
    state: PerceptronState
    mistakes: Ints
    status: Status
    epoch_weights: list[Floats]


@dataclass(frozen=True)
class TrainingOptions:
    """Order of the rows or steps in batches, epochs, and which weights to return; checked."""

    order: str = "given"
    max_epochs: int = 200
    average: bool = False
    pocket: bool = False
    store_weights: bool = False
    batch: bool = False

    def __post_init__(self) -> None:
        check_option("order", self.order, ("given", "shuffled", "random"))
        if not self.max_epochs >= 1:
            raise InputError(f"max_epochs={self.max_epochs!r} must be at least 1.")
        if self.average and self.pocket:
            raise InputError(
                "average=True and pocket=True exclude each other.", remedy="Choose one of them."
            )


class _Pocket:
    """The weights with the fewest misclassified rows so far, output by output."""

    def __init__(self, rows: PerceptronRows) -> None:
        self.rows = rows
        self.fewest = np.full(len(rows.output_class), np.inf)
        self.best = np.zeros((len(rows.output_class), 1 + rows.d))

    def compare(self, seen: int, outputs: list[int]) -> None:
        """Store the present weights of these outputs where they misclassify fewer rows."""
        weights = self.rows.state(seen).weights
        wrong = self.rows.rate @ self.rows.find_misclassified(weights)
        for k in outputs:
            if wrong[k] < self.fewest[k]:
                self.fewest[k], self.best[k] = wrong[k], weights[k]


def train(
    rows: PerceptronRows,
    start: PerceptronState,
    options: TrainingOptions,
    random: np.random.RandomState | None = None,
) -> TrainingResult:
    """Epochs from ``start`` until one is without mistake, or ``max_epochs`` are over."""
    rows.start(start)
    outputs = len(rows.output_class)
    pocket = _Pocket(rows) if options.pocket else None
    streak = np.zeros(outputs, dtype=np.int64)
    longest = np.full(outputs, 0 if pocket else np.iinfo(np.int64).max, dtype=np.int64)
    position = np.array([0, 0, start.seen])
    history: list[Ints] = []
    epoch_weights: list[Floats] = []
    status = Status.LIMIT
    for order in epoch_orders(options, rows.n, random):
        mistakes = np.zeros(outputs, dtype=np.int64)
        position[:2] = 0
        if options.batch:
            rows.step(mistakes, position)
        while not options.batch and not rows.run_epoch(order, mistakes, streak, longest, position):
            if pocket is not None:
                pocket.compare(int(position[2]), [int(position[1])])
        history.append(mistakes)
        if pocket is not None:
            pocket.compare(int(position[2]), list(range(outputs)))
        state = rows.state(int(position[2]))
        if options.store_weights:
            epoch_weights.append(state.weights)
        if not mistakes.any() and not (
            options.order == "random" and rows.find_misclassified(state.weights).any()
        ):
            status = Status.CONVERGED
            break
    last = state.mean if options.average else state.weights
    weights = last if pocket is None else pocket.best
    return TrainingResult(weights, state, np.array(history), status, epoch_weights)


def epoch_orders(
    options: TrainingOptions, n: int, random: np.random.RandomState | None
) -> Iterator[Ints]:
    """The row numbers of each epoch. Drawn at random, each misclassified row is equally likely."""
    given = np.arange(n)
    for _ in range(options.max_epochs):
        if options.order == "given" or random is None:
            yield given
        elif options.order == "shuffled":
            yield random.permutation(n)
        else:
            yield random.randint(0, n, n)


def mistake_bound(rows: PerceptronRows, weights: Floats) -> float:
    """Novikoff's (R/γ)², the largest over the outputs, with the margin γ of these weights."""
    radius = float(np.sqrt(rows.squared_norms().max() + rows.constant))
    norms = np.linalg.norm(weights if rows.constant else weights[:, 1:], axis=1)
    margins = (rows.signs * rows.scores(weights)).min(axis=0) / np.where(norms > 0, norms, 1.0)
    smallest = float(margins.min())
    return (radius / smallest) ** 2 if smallest > 0.0 else np.inf


def certify_mistakes(
    name: str, wrong: int, n: int, notes: list[str], bound: float, outputs: int
) -> Certificate:
    """Misclassified rows, counted. Above none no bound on the fewest possible is known."""
    claim = f"{name}: every training row is classified correctly"
    if wrong:
        claim = f"{name}: {wrong} of {n} training rows are misclassified"
    if np.isfinite(bound):
        each = "" if outputs == 1 else " for each class"
        notes.append(f"By the margin reached, at most {bound:.4g} mistakes{each} were possible.")
    gap = np.inf if wrong else np.nan
    return Certificate(claim, gap=gap, tolerance=0.0, notes=tuple(notes), promised=())


def class_mean_weights(rows: PerceptronRows) -> Floats:
    """Hyperplanes halfway between the mean of each output's class and that of the other rows."""
    outputs = len(rows.output_class)
    weights = np.zeros((outputs, 1 + rows.d))
    for k, code in enumerate(rows.output_class):
        positive = rows.codes == code
        up, down = rows.mean(positive), rows.mean(~positive)
        normal = up - down
        weights[k, 1:] = normal
        weights[k, 0] = -0.5 * float(normal @ (up + down)) * rows.constant
    return weights


def training_certificate(result: TrainingResult, rows: PerceptronRows, bound: float) -> Certificate:
    """The misclassified rows of a training, with notes on how it ended."""
    wrong = int(rows.find_misclassified(result.weights).any(axis=1).sum())
    epochs = len(result.mistakes)
    notes = [f"{int(result.mistakes.sum())} mistakes in {epochs} epoch{'s' * (epochs > 1)}."]
    if wrong:
        notes.append(
            "The limit of epochs was reached; linear_separability(X, y) proves whether any "
            "hyperplane separates these rows."
            if result.status is not Status.CONVERGED
            else "The last weights misclassified none, their average does."
        )
    return certify_mistakes("Perceptron", wrong, rows.n, notes, bound, len(rows.output_class))


def undo_scaling(weights: Floats, standardizer: Standardizer | None) -> tuple[Floats, Floats]:
    """Coefficients (outputs x d) and intercepts of x from the weights of (1, (x − μ)/σ)."""
    coef, intercept = weights[:, 1:], weights[:, 0]
    if standardizer is None:
        return coef.copy(), intercept.copy()
    return standardizer.unscale(coef, intercept)


# -------------------------------------------------------------------------------------------------
# Training rows of a perceptron, dense or sparse, with weights in the form that suits them.


@dataclass(frozen=True)
class PerceptronState:
    """Weights of a perceptron in training, so that it can continue.

    ``weights`` and ``step_sums`` are outputs x (1 + d), the intercept first; ``seen`` counts rows.
    """

    weights: Floats
    step_sums: Floats
    seen: int

    @property
    def mean(self) -> Floats:
        """The weights, averaged over all rows seen."""
        return self.weights - self.step_sums / max(self.seen, 1)


class PerceptronRows:
    """Rows about a ``center`` with class codes and learning rates, and the weights being trained.

    Dense rows are centered already: their center is zero.
    """

    _loop: Callable[..., bool] = staticmethod(train_dense)

    def __init__(
        self,
        x: Matrix,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        constant: bool,
        center: Floats | None = None,
    ) -> None:
        self.x, self.codes, self.output_class, self.rate = x, codes, output_class, rate
        self.constant = float(constant)
        self.n, self.d = x.shape
        self.center = np.zeros(self.d) if center is None else center
        self._arrays = self._lay_out()

    def _lay_out(self) -> tuple[Any, ...]:
        """The rows as the loop takes them."""
        return (self.x,)

    @property
    def signs(self) -> Floats:
        """The ±1 target of every row for every output, one-vs-rest (n x outputs)."""
        return np.where(self.codes[:, None] == self.output_class, 1.0, -1.0)

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        self.w, self.step_sums = state.weights.copy(), state.step_sums.copy()

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        return PerceptronState(self.w.copy(), self.step_sums.copy(), seen)

    def run_epoch(
        self, order: Ints, mistakes: Ints, streak: Ints, longest: Ints, position: Ints
    ) -> bool:
        """Update the weights from ``position`` in the order on; False if the pass paused."""
        return bool(
            self._loop(
                *(*self._arrays, self.codes, self.output_class, self.rate, self.constant),
                *(self.w, self.step_sums, order, mistakes, streak, longest, position),
            )
        )

    def step(self, mistakes: Ints, position: Ints) -> None:
        """One step, the sum of those of all rows that the present weights misclassify."""
        before = self.state(0)
        wrong = self.find_misclassified(before.weights)
        mistakes += wrong.sum(axis=0)
        rates = self.rate[:, None] * self.signs * wrong
        total = rates.sum(axis=0)[:, None]
        normals = np.asarray(self.x.T @ rates).T - total * self.center
        steps = np.column_stack([total * self.constant, normals])
        sums = before.step_sums + float(position[2]) * steps
        self.start(PerceptronState(before.weights + steps, sums, 0))
        position[2] += self.n

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        intercept = weights[:, 0] - weights[:, 1:] @ self.center
        return np.asarray(self.x @ weights[:, 1:].T + intercept)

    def find_misclassified(self, weights: Floats) -> NDArray[np.bool_]:
        """Which rows are not strictly on the right side (n x outputs)."""
        return np.asarray(self.signs * self.scores(weights) <= 0.0)

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The weighted mean of some of the rows, from the center."""
        weight = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ weight / weight.sum() - self.center)

    def squared_norms(self) -> Floats:
        """‖x‖² by row."""
        return np.asarray(np.einsum("ij,ij->i", self.x, self.x))


class SparsePerceptronRows(PerceptronRows):
    """CSR rows about a ``center`` that is never subtracted from them."""

    _loop = staticmethod(train_sparse)

    def _lay_out(self) -> tuple[Any, ...]:
        x = self.x
        self.center_square = float(self.center @ self.center)
        self.center_product = np.append(
            np.asarray(x @ self.center) - self.center_square, self.center_square
        )
        columns, starts = x.indices.astype(np.int64), x.indptr.astype(np.int64)
        return x.data, columns, starts, self.center_product

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        k = len(state.weights)
        self.w, self.step_sums = np.zeros((k, 3 + self.d)), np.zeros((k, 3 + self.d))
        for target, given in ((self.w, state.weights), (self.step_sums, state.step_sums)):
            target[:, 0], target[:, 3:] = given[:, 0], given[:, 1:]
        self.w[:, 2] = state.weights[:, 1:] @ self.center

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        weights, step_sums = (
            np.column_stack([v[:, 0], v[:, 3:] - v[:, 1:2] * self.center])
            for v in (self.w, self.step_sums)
        )
        return PerceptronState(weights, step_sums, seen)

    def squared_norms(self) -> Floats:
        """‖x − c‖² by row."""
        square = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        square = square - 2.0 * self.center_product[:-1] - self.center_square
        return np.asarray(np.maximum(square, 0.0))


def training_rows(
    x: Matrix,
    codes: Ints,
    output_class: Ints,
    rate: Floats,
    constant: bool,
    standardizer: Standardizer | None = None,
) -> PerceptronRows:
    """Dense or sparse rows; with a ``standardizer`` they are (x − μ)/σ."""
    if sparse.issparse(x):
        if standardizer is None:
            return SparsePerceptronRows(x, codes, output_class, rate, constant)
        center = standardizer.mean * standardizer.inverse_scale
        z = standardizer.transform(x)
        return SparsePerceptronRows(z, codes, output_class, rate, constant, center)
    z = np.asarray(x, dtype=np.float64) if standardizer is None else standardizer.transform(x)
    return PerceptronRows(np.ascontiguousarray(z), codes, output_class, rate, constant)

"""The perceptron: a linear classifier trained on its mistakes, one row at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.estimators.class_labels import CodedRows, coded_arrays, coded_rows, outputs_of
from separatrix.estimators.linear_classifier import LinearClassifier, SparseCoefficients
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.perceptron.stochastic import certify_epochs, train_epochs, train_once
from separatrix.perceptron.training import (
    MistakeTrace,
    TrainingOptions,
    TrainingResult,
    certify_mistakes,
    class_mean_weights,
    mistake_bound,
    train,
    training_certificate,
    unscaled,
)
from separatrix.perceptron.training_rows import PerceptronState, TrainingRows, training_rows
from separatrix.rows.block import Ints
from separatrix.rows.encoding import Encoding
from separatrix.statistics.standardizer import Standardizer

#: Epochs of the textbooks' perceptron unless a limit is given.
EPOCHS = 200


class Perceptron(SparseCoefficients, LinearClassifier):
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
        Whether there is an intercept b.
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
        Weights of classes, which multiply those of the rows.
    warm_start : bool, default=False
        Whether ``fit`` begins with the weights of the last fit.
    order : {"given", "shuffled", "random"} or None, default=None
        Textbook: the rows as they come (as does None); in a new order every epoch; or as many draws
        of any misclassified row, each equally likely, as there are rows.
    start : {"zero", "means"}, default="zero"
        Textbook: w = 0, or the hyperplane halfway between the class means.
    max_epochs : int or None, default=None
        Textbook: epochs at most; None is 200.
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
        The labels in order.
    coef_, intercept_ : ndarray of shape (1, n_features) or (n_classes, n_features), and (1,) …
        Weights w and intercepts b.
    trace_ : MistakeTrace
        Textbook: mistakes by epoch, drawn by ``separatrix.pictures.PerceptronTraceDisplay``.
    mistakes_ : ndarray of int
        Textbook: all mistakes made, by output; ``partial_fit`` adds to them.
    mistake_bound_ : float
        Textbook: (R/γ)² with the margin γ reached, the most mistakes from zero in any order;
        infinite where rows are misclassified or the theorem does not apply.
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

    trace_: MistakeTrace
    state_: PerceptronState
    mistakes_: Ints
    mistake_bound_: float

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        order: str | None = None,
        start: str = "zero",
        max_epochs: int | None = None,
        average: bool = False,
        pocket: bool = False,
        standardize: bool = False,
        store_weights: bool = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.order = order
        self.start = start
        self.max_epochs = max_epochs
        self.average = average
        self.pocket = pocket
        self.standardize = standardize
        self.store_weights = store_weights

    @property
    def _textbook(self) -> bool:
        """Whether an option asks for the perceptron of the textbooks."""
        named = self.average or self.pocket or self.standardize or self.store_weights
        epochs = self.max_epochs is not None
        return bool(named or epochs or self.order is not None or self.start != "zero")

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
        given = coded_rows(self, X, y, sample_weight, self.class_weight)
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
            bound = mistake_bound(rows, result.weights)
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
        known = self._known_classes(X, classes)
        given = coded_arrays(self._coded_rows(X, y, sample_weight, known=known, reset=not begun))
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
        once = TrainingOptions(max_epochs=1, average=options.average)
        result = train(rows, state, once)
        mistakes = result.mistakes.sum(axis=0) + (self.mistakes_ if begun else 0)
        wrong = int(rows.misclassified(result.state.weights).any(axis=1).sum())
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
        given = coded_rows(self, X, y, sample_weight)
        if before is not None and coef_init is None:
            coef_init, intercept_init = before
        trained = train_epochs(self, given, coef_init, intercept_init)
        return self._adopt_stochastic(trained, given, last=False)

    def _adopt_stochastic(self, trained: Any, given: CodedRows, *, last: bool) -> Self:
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
        if not 0.0 < self.eta0 < np.inf:
            raise InputError(f"eta0={self.eta0!r} must be positive and finite.")
        if self.penalty is not None or self.early_stopping or self.warm_start:
            raise InputError(
                "The perceptron of the textbooks has no penalty, early_stopping or warm_start.",
                remedy="Leave out order, start, max_epochs, average, pocket, standardize and "
                "store_weights.",
            )
        epochs = EPOCHS if self.max_epochs is None else self.max_epochs
        return TrainingOptions(
            self.order or "given", epochs, self.average, self.pocket, self.store_weights
        )

    def _training(self, given: CodedRows, standardizer: Standardizer | None) -> TrainingRows:
        return training_rows(
            given.x,
            given.codes,
            outputs_of(len(self.classes_)),
            self.eta0 * given.w,
            bool(self.fit_intercept),
            standardizer,
        )

    def _store(
        self,
        result: TrainingResult,
        rows: TrainingRows,
        standardizer: Standardizer | None,
        encoding: Encoding,
        certificate: Certificate,
    ) -> None:
        coef, intercept = unscaled(result.weights, standardizer)
        stored = [unscaled(weights, standardizer) for weights in result.epoch_weights]
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

"""The perceptron: a linear classifier trained on its mistakes, one row at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.estimators.class_labels import CodedRows, coded_arrays, coded_rows, outputs_of
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.perceptron.training import (
    MistakeTrace,
    TrainingOptions,
    TrainingResult,
    certify_mistakes,
    class_mean_weights,
    mistake_bound,
    train,
)
from separatrix.perceptron.training_rows import PerceptronState, TrainingRows, training_rows
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import Encoding
from separatrix.statistics.standardizer import Standardizer


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: a linear classifier updated at every misclassified row.

        w ← w + η y x,  b ← b + η y     for every row with y (w·x + b) ≤ 0

    On linearly separable rows it stops after finitely many updates, at most (R/γ)² of them from
    zero, at some separating hyperplane; which one depends on the order of the rows. On other rows
    it never converges: ``max_epochs`` ends it with a warning (SEP003), and
    :func:`linear_separability` proves which is the case. Several classes are trained one-vs-rest,
    in one pass.

    A sample weight multiplies the update; a weight of zero removes the row. In an online method,
    where the order counts, a weight of two is not the same as the row twice.

    Parameters
    ----------
    learning_rate : float, default=1.0
        η. From zero it only sets the norm of w.
    start : {"zero", "means"}, default="zero"
        Initial weights: w = 0, or the hyperplane halfway between the class means.
    order : {"given", "shuffled", "random"}, default="given"
        The rows as they come; in a new order every epoch; or any misclassified row at random, each
        equally likely (an epoch is then as many draws as there are rows).
    max_epochs : int, default=200
        Passes over the rows at most.
    average : bool, default=False
        Return the average of the weights over all rows seen, which is more stable where classes
        overlap.
    pocket : bool, default=False
        Return the weights that misclassified the fewest rows.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    standardize : bool, default=False
        Train on columns of mean 0 and standard deviation 1. By definition the perceptron depends on
        units, because a column of large numbers takes large steps; standardized it does not, and
        in units of very different sizes it may need far fewer epochs.
    store_weights : bool, default=False
        Store the weights after every epoch in ``trace_``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts b.
    trace_ : MistakeTrace
        Mistakes by epoch and output, drawn by ``separatrix.pictures.PerceptronTraceDisplay``.
    mistakes_ : ndarray of int
        All mistakes made, by output; ``partial_fit`` adds to them.
    mistake_bound_ : float
        (R/γ)² with the margin γ reached: no order of the rows makes more mistakes from zero.
        Infinite where rows are misclassified or the theorem does not apply.
    state_ : PerceptronState
        The weights in training, from which ``partial_fit`` continues.
    certificate_ : Certificate
        The misclassified training rows, counted; it holds if there are none.
    n_iter_ : int
        Epochs.

    See Also
    --------
    KernelPerceptron : The same training in the feature space of a kernel.
    linear_separability : Proof that a separating hyperplane exists or not.
    LinearSVC : The separating hyperplane of largest margin.

    References
    ----------
    F. Rosenblatt, "The perceptron: a probabilistic model for information storage and organization
    in the brain", Psychological Review, 1958.
    A. B. J. Novikoff, "On convergence proofs on perceptrons", 1962.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 3.0], [4.0, 3.0]], [0, 0, 1, 1]
    >>> model = sx.Perceptron().fit(X, y)
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
        learning_rate: float = 1.0,
        *,
        start: str = "zero",
        order: str = "given",
        max_epochs: int = 200,
        average: bool = False,
        pocket: bool = False,
        fit_intercept: bool = True,
        standardize: bool = False,
        store_weights: bool = False,
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.start = start
        self.order = order
        self.max_epochs = max_epochs
        self.average = average
        self.pocket = pocket
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.store_weights = store_weights
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options()
        given = coded_rows(self, X, y, sample_weight)
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
        certificate = _certificate(result, rows, bound)
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
        options = self._options()
        begun = hasattr(self, "state_")
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
        if not 0.0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate={self.learning_rate!r} must be positive and finite.")
        return TrainingOptions(
            self.order, self.max_epochs, self.average, self.pocket, self.store_weights
        )

    def _training(self, given: CodedRows, standardizer: Standardizer | None) -> TrainingRows:
        return training_rows(
            given.x,
            given.codes,
            outputs_of(len(self.classes_)),
            self.learning_rate * given.w,
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
        coef, intercept = _unscaled(result.weights, standardizer)
        stored = [_unscaled(weights, standardizer) for weights in result.epoch_weights]
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


def _certificate(result: TrainingResult, rows: TrainingRows, bound: float) -> Certificate:
    wrong = int(rows.misclassified(result.weights).any(axis=1).sum())
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


def _unscaled(weights: Floats, standardizer: Standardizer | None) -> tuple[Floats, Floats]:
    """Coefficients (outputs x d) and intercepts of x from the weights of (1, (x − μ)/σ)."""
    coef, intercept = weights[:, 1:], weights[:, 0]
    if standardizer is None:
        return coef.copy(), intercept.copy()
    return standardizer.unscale(coef, intercept)

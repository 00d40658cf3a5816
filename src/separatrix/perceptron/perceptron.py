"""The perceptron: learn from mistakes, one row at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.estimators.coded_rows import CodedRows, coded, coded_rows, outputs_of
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.perceptron.epochs import (
    MistakeTrace,
    Plan,
    Walk,
    mean_start,
    novikoff,
    plan_of,
    walk,
)
from separatrix.perceptron.state import PerceptronRows, PerceptronState, ground_of
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.statistics.standardizer import Standardizer


class Perceptron(LinearClassifier):
    """w ← w + η y x for every row with y (w·x + b) ≤ 0, until no row is on the wrong side.

    On separable rows it stops after finitely many steps, at most (R/γ)² of them from zero, with
    some separating hyperplane; which one depends on the order of the rows. On others it never
    settles: ``max_epochs`` ends it, and that is said (SEP003); ``linear_separability(X, y)`` proves
    which is the case. Several classes are told apart one against the rest, in one pass.

    A row's weight multiplies its step; a weight of zero removes it. In an on-line method, where
    the order counts, a weight of two is not the same as the row twice.

    Parameters
    ----------
    learning_rate : float, default=1.0
        η. From zero it only sets the length of w.
    start : {"zero", "means"}, default="zero"
        w = 0, or the hyperplane halfway between the class means.
    order : {"given", "shuffled", "random"}, default="given"
        The rows as they come; in a new order every epoch; or any misclassified row at random, each
        as likely as the others (an epoch is then as many draws as there are rows).
    max_epochs : int, default=200
        Passes at most.
    average : bool, default=False
        Return the mean of the weights over all rows seen: steadier where classes overlap.
    pocket : bool, default=False
        Return the weights that had the fewest rows on the wrong side.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    standardize : bool, default=False
        Walk in columns of mean 0 and deviation 1. By definition the perceptron depends on units:
        a column of large numbers takes large steps. Standardised it does not, and in raw units of
        very different sizes it may need far more epochs.
    keep_weights : bool, default=False
        Keep the weights after every epoch in ``trace_``.
    random_state : seed of the order.

    Attributes
    ----------
    trace_ : mistakes by epoch and output, drawn by ``separatrix.pictures.PerceptronTraceDisplay``.
    mistakes_ : all mistakes made, by output; ``partial_fit`` adds to them.
    state_ : where the walk stands, for ``partial_fit``.
    n_iter_ : epochs.
    """

    trace_: MistakeTrace
    state_: PerceptronState
    mistakes_: Ints

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
        keep_weights: bool = False,
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
        self.keep_weights = keep_weights
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from ``X`` and labels ``y``, or from :class:`~separatrix.rows.rows.Rows`."""
        plan = self._plan()
        given = coded_rows(self, X, y, sample_weight)
        standardizer = None
        if self.standardize:
            standardizer = Standardizer.from_rows(given.x, given.w, keep_mean=True)
        ground = self._ground(given, standardizer)
        zero = np.zeros((len(ground.own), 1 + ground.d))
        first = mean_start(ground) if self.start == "means" else zero
        random = check_random_state(self.random_state)
        found = walk(ground, PerceptronState(first, zero, 0), plan, random)
        self._expose(found, ground, standardizer, given.encoding)
        if found.status != "converged":
            warn("SEP003", f"{self.certificate_}")
        return self

    @available_if(lambda self: self._steps_only())  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go over these rows once, from where the walk stands; the first call names ``classes``."""
        plan = self._plan()
        if isinstance(X, Rows):
            raise InputError(
                "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
            )
        begun = hasattr(self, "state_")
        before = self.classes_ if begun else None
        rows = self._coded_rows(
            X, y, sample_weight, known=self._known_classes(classes), reset=not begun
        )
        if before is not None and len(before) != len(self.classes_):
            new = sorted(set(self.classes_.tolist()) - set(before.tolist()))
            self.classes_ = before
            raise InputError(
                f"Class {new[0]!r} is new, and the walk has begun without it.",
                remedy="Name all classes in the first call: partial_fit(X, y, classes=…).",
            )
        given = coded(rows)
        ground = self._ground(given, None)
        zero = np.zeros((len(ground.own), 1 + ground.d))
        state = self.state_ if begun else PerceptronState(zero, zero, 0)
        once = Plan(max_epochs=1, average=plan.average)
        made = self.mistakes_ if begun else 0
        self._expose(walk(ground, state, once), ground, None, given.encoding)
        self.mistakes_ = self.mistakes_ + made
        wrong = int(ground.wrong(self.state_.weights).any(axis=1).sum())
        self.certificate_ = Certificate(
            f"Perceptron: {wrong} of the last {ground.n} rows are on the wrong side",
            notes=(f"{int(self.mistakes_.sum())} mistakes in {self.state_.seen} rows.",),
            promised=(),
        )
        return self

    def _steps_only(self) -> bool:
        """Whether nothing asked for looks at all rows beforehand, or again."""
        for name, usual in (("standardize", False), ("pocket", False), ("start", "zero")):
            if getattr(self, name) != usual:
                raise AttributeError(
                    f"partial_fit cannot do {name}={getattr(self, name)!r}, which looks at all "
                    f"rows. Use {name}={usual!r}, or fit."
                )
        return True

    def _plan(self) -> Plan:
        """The parameters, checked."""
        if self.start not in ("zero", "means"):
            raise InputError(f"start={self.start!r} is unknown.", remedy="'zero' or 'means'.")
        if not 0.0 < self.learning_rate < np.inf:
            raise InputError(
                f"learning_rate={self.learning_rate!r} leads nowhere.", remedy="Use more than zero."
            )
        if self.average and self.pocket:
            raise InputError("average and pocket are two answers.", remedy="Choose one of them.")
        return plan_of(self)

    def _ground(self, given: CodedRows, standardizer: Standardizer | None) -> PerceptronRows:
        own = outputs_of(len(self.classes_))
        rate = self.learning_rate * given.w
        return ground_of(given.x, given.codes, own, rate, bool(self.fit_intercept), standardizer)

    def _expose(
        self,
        found: Walk,
        ground: PerceptronRows,
        standardizer: Standardizer | None,
        encoding: Encoding,
    ) -> None:
        coef, intercept = _unscaled(found.weights, standardizer)
        kept = [_unscaled(weights, standardizer) for weights in found.kept]
        self.state_ = found.state
        self.trace_ = MistakeTrace(
            found.mistakes,
            ground.n,
            found.status,
            np.array([coef for coef, _ in kept]),
            np.array([intercept for _, intercept in kept]),
        )
        self.mistakes_ = found.mistakes.sum(axis=0)
        certificate = self._certificate(found, ground)
        solution = Solution(coef.T, intercept, certificate, found.status, len(found.mistakes))
        self._accept(solution, encoding, flat=False)

    def _certificate(self, found: Walk, ground: PerceptronRows) -> Certificate:
        wrong = int(ground.wrong(found.weights).any(axis=1).sum())
        notes = [f"{int(found.mistakes.sum())} mistakes in {_epochs(found)}."]
        if wrong == 0:
            claim = "Perceptron: every row is strictly on its own side"
            if self.start == "zero" and ground.rate.min() == ground.rate.max():
                bound = novikoff(ground, found.weights)
                each = "" if len(ground.own) == 1 else " for each class"
                notes.append(
                    f"By the margin reached, at most {bound:.4g} mistakes{each} were possible."
                )
        else:
            claim = f"Perceptron: {wrong} of {ground.n} rows are on the wrong side"
            notes.append(
                "The walk was ended by its limit; linear_separability(X, y) tells whether any "
                "hyperplane separates these rows."
                if found.status != "converged"
                else "The last weights had none there, their average has."
            )
        return Certificate(
            claim,
            notes=tuple(notes),
            promised=(),
        )


def _epochs(found: Walk) -> str:
    return "1 epoch" if len(found.mistakes) == 1 else f"{len(found.mistakes)} epochs"


def _unscaled(weights: Floats, standardizer: Standardizer | None) -> tuple[Floats, Floats]:
    """Coefficients (outputs x d) and intercepts of x from the weights of (1, (x − μ)/σ)."""
    coef, intercept = weights[:, 1:], weights[:, 0]
    if standardizer is None:
        return coef.copy(), intercept.copy()
    return standardizer.unscale(coef, intercept)

"""Logistic regression for every C at once; the one that predicts best, or a criterion prefers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedKFold

from separatrix.logistic.fit import Posed, pose, pose_wide, solve_logistic
from separatrix.logistic.logistic_regression import LogisticClassifier, settings_of, wide
from separatrix.logistic.path import LogisticTrace, grid, planes, trace
from separatrix.logistic.problem import LogisticSettings
from separatrix.messages import InputError, warn
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.selection import rules
from separatrix.selection.folds import DEFAULT_FOLDS, folding, folds_of
from separatrix.statistics.preparation import prepare
from separatrix.threads import small_products

CRITERIA = ("aic", "bic")


class LogisticFamily(LogisticClassifier):
    """What both share: the path itself, and why there is no inference."""

    Cs: Any
    eps: float
    _no_inference = (
        "the penalty shrinks the coefficients and was chosen by looking at the same rows. Fit "
        "LogisticRegression with C=inf for inference."
    )

    def _trace(self, posed: Posed, settings: LogisticSettings) -> LogisticTrace:
        """The path over all rows, kept as ``Cs_``, ``coefs_``, ``intercepts_``, ``gaps_``."""
        Cs = _values(self.Cs)
        if isinstance(Cs, int):
            Cs = grid(posed, Cs, float(self.eps), settings.l1_ratio)
        path = trace(posed, Cs, settings)
        if not path.reached:
            warn("SEP003", "points of the path were left above tol; see gaps_. Raise max_iter.")
        self.Cs_, self.coefs_, self.intercepts_ = path.Cs, path.coefs, path.intercepts
        self.gaps_, self.degrees_of_freedom_ = path.gaps, path.freedom
        return path

    def _settle(
        self,
        posed: Posed,
        path: LogisticTrace,
        index: int,
        settings: LogisticSettings,
        encoding: Encoding,
    ) -> None:
        """The chosen point, certified by itself."""
        self.C_ = float(path.Cs[index])
        chosen = replace(settings, penalty=1.0 / self.C_, tol=min(settings.tol, 1e-8))
        problem = posed.problem.penalised(chosen.penalty, chosen.l1_ratio)
        self._place(solve_logistic(problem, path.thetas[index], chosen, posed.share), encoding)


class LogisticPath(LogisticFamily):
    """The whole path of logistic regression over C, and its best point by AIC or BIC.

    Parameters
    ----------
    Cs : int or array, default=30
        Values of C, or how many to place evenly on a log scale above the largest one that leaves
        all coefficients at zero (with ℓ₂ penalty alone: a hundredth of the ℓ₁ one).
    l1_ratio, fit_intercept, standardize, reference, class_weight, max_iter
        As in :class:`~separatrix.LogisticRegression`.
    eps : float, default=1e-4
        The first C as a share of the last.
    criterion : {"bic", "aic"}, default="bic"
        −2 log L + price · degrees of freedom, the price being log Σw or 2.
    tol : float, default=1e-6
        As in :class:`~separatrix.LogisticRegression`, at each point.

    Attributes
    ----------
    Cs_, coefs_, intercepts_ : the path, strongest penalty first; ``coefs_`` is (m, K or 1, d).
    gaps_ : certified distance of every objective from its best value.
    degrees_of_freedom_, log_likelihoods_, aic_, bic_ : for every point.
    C_, coef_, intercept_, certificate_ : the chosen point.
    """

    def __init__(
        self,
        Cs: Any = 30,
        *,
        l1_ratio: float = 0.0,
        eps: float = 1e-4,
        criterion: str = "bic",
        fit_intercept: bool = True,
        standardize: bool = False,
        reference: Any = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.Cs = Cs
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.reference = reference
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if self.criterion not in CRITERIA:
            raise InputError(f"criterion={self.criterion!r} must be 'aic' or 'bic'.")
        settings = settings_of(self, 1.0)
        rows = self._weighed_rows(X, y, sample_weight)
        posed, encoding = self._pose(rows, settings)
        path = self._trace(posed, settings)
        self.log_likelihoods_ = -path.losses
        self.aic_ = 2.0 * (path.losses + path.freedom)
        self.bic_ = 2.0 * path.losses + np.log(posed.problem.weight) * path.freedom
        values = self.aic_ if self.criterion == "aic" else self.bic_
        self._settle(posed, path, rules.minimum(1.0 / path.Cs, values), settings, encoding)
        return self


class LogisticCV(LogisticFamily):
    """The point of the path of logistic regression that is best on rows it was not fitted to.

    A table that is read as a stream is read into memory first: folds name its rows.

    Parameters
    ----------
    Cs, l1_ratio, eps, fit_intercept, standardize, reference, class_weight, tol, max_iter
        As in :class:`LogisticPath`.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn: a number (None is 5) keeps the shares of the classes.
    rule : {"min", "one_se"}, default="min"
        Take the C of the least mean log loss, or the smallest C whose mean log loss is within one
        standard error of it.

    Attributes
    ----------
    log_loss_path_ : mean log loss for every C and fold (m x k).
    Cs_, coefs_, intercepts_, gaps_, degrees_of_freedom_ : the path over all rows.
    C_, coef_, intercept_, certificate_ : the chosen point, fitted to all rows.
    """

    def __init__(
        self,
        Cs: Any = 20,
        *,
        l1_ratio: float = 0.0,
        eps: float = 1e-4,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        standardize: bool = False,
        reference: Any = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.Cs = Cs
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.reference = reference
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if self.rule not in rules.RULES:
            raise InputError(f"rule={self.rule!r} must be one of {', '.join(rules.RULES)}.")
        settings = settings_of(self, 1.0)
        rows = self._weighed_rows(X, y, sample_weight).read()
        rows = rows.take(folding(rows.block.w, self.cv))
        posed, encoding = self._pose(rows, settings)
        path = self._trace(posed, settings)
        targets = posed.problem.view.targets
        labels = rows.block.codes(targets)
        cv = DEFAULT_FOLDS if self.cv is None else self.cv
        if isinstance(cv, int | np.integer):
            _enough(labels, int(cv), self.classes_)
            cv = StratifiedKFold(int(cv))
        errors = [
            _held_out(rows, targets, train, test, path.Cs, settings)
            for train, test in folds_of(cv, len(rows), labels).pairs
        ]
        self.log_loss_path_ = np.stack(errors, axis=1)
        index = rules.RULES[self.rule](1.0 / path.Cs, self.log_loss_path_)
        self._settle(posed, path, index, settings, encoding)
        return self


def _values(Cs: Any) -> int | Floats:
    """A number of values, or the values in increasing order."""
    if isinstance(Cs, int | np.integer):
        if Cs < 1:
            raise InputError(f"Cs={Cs} must be at least 1, or a list of values.")
        return int(Cs)
    given = np.sort(np.asarray(Cs, dtype=float).ravel())
    if not len(given) or not (np.isfinite(given) & (given > 0.0)).all():
        raise InputError(
            "Cs must be finite numbers greater than 0.",
            remedy="For a fit without penalty use LogisticRegression.",
        )
    return given


def _enough(labels: Any, folds: int, classes: Any) -> None:
    counts = np.bincount(labels, minlength=len(classes))
    if folds < 2 or counts.min() < folds:
        rare = classes.tolist()[int(counts.argmin())]
        raise InputError(
            f"cv={folds} folds cannot be made of n_samples={len(labels)} rows: class {rare!r} has "
            f"{counts.min()}.",
            remedy="Use at least 2 folds, and no more than the rarest class has rows.",
        )


def _held_out(
    rows: InMemory, targets: Terms, train: Any, test: Any, Cs: Floats, settings: LogisticSettings
) -> Floats:
    """Mean log loss on the held-out rows at every C."""
    posed, encoding = _posed_part(rows.take(train), targets, settings)
    if not (posed.share > 0.0).all():
        gone = targets.items[int(np.argmin(posed.share))].level
        raise InputError(
            f"A fold leaves no row of class {gone!r} to train on.",
            remedy="Use folds that keep the shares of the classes, such as cv=5.",
        )
    held = encoding.apply(rows.take(test).block)
    with small_products(posed.start.size):
        return _log_losses(held.aligned(held.terms, targets), planes(posed, Cs, settings))


def _posed_part(rows: Rows, targets: Terms, settings: LogisticSettings) -> tuple[Posed, Encoding]:
    if isinstance(rows, ArrayRows) and wide(rows):
        return pose_wide(rows, targets, settings), identity(rows.schema)
    prepared = prepare(rows)
    return pose(prepared.rows, prepared.moments, targets, settings), prepared.encoding


def _log_losses(block: Block, found: Iterable[tuple[Floats, Floats]]) -> Floats:
    own = block.y.argmax(axis=1)
    w = block.weights
    if not w.any():
        raise InputError("The held-out rows of a fold have no weight.", remedy="Use fewer folds.")
    losses = []
    for coef, intercept in found:
        scores = np.asarray(block.x @ coef.T) + intercept
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(block.n), scores])
        each = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(block.n), own]
        losses.append(np.average(each, weights=w))
    return np.array(losses)

"""Paths of logistic regression over the training rows of folds, scored on their test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.logistic.fit import LogisticRows, fit_logistic, starting_point
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.path import solve_path
from separatrix.logistic.problem import LogisticOptions, constant_start
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import identity
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Terms

#: A class without training rows has an intercept of −∞: that of this probability stands for it,
#: since the log loss of scikit-learn counts none below it.
LEAST_PRIOR = float(np.finfo(float).eps)
#: (model, X, y, row numbers) → score.
Score = Callable[[Any, Any, Any, Ints], float]


@dataclass(frozen=True)
class FoldPath:
    """What a path over the training rows of a fold found, for every C in the order given.

    ``coefs`` (points x scores x terms) have the intercept last if there is one.
    """

    coefs: Floats
    scores: Floats
    steps: Ints
    converged: bool


def fold_path(
    rows: InMemory,
    targets: Terms,
    fold: tuple[Ints, Ints],
    Cs: Floats,
    options: LogisticOptions,
    model: LogisticRegression,
    score: Score,
) -> FoldPath:
    """Fit to the training rows at every C, and score on the test rows by ``model``."""
    train, test = fold
    data = LogisticRows.of(rows.take(train))
    block = data.encoding.apply(rows.take(test).block)
    labels = model.classes_[block.codes(targets)]
    model.n_features_in_ = block.x.shape[1]
    model.encoding_ = identity(ArrayRows(block.x, block.y).schema)
    coefs, scores, steps, converged = [], [], [], True
    for coef, intercept, status, passes in _points(data, targets, Cs, options):
        model.coef_, model.intercept_ = coef, intercept
        scores.append(score(model, block.x, labels, test))
        both = np.column_stack([coef, intercept]) if options.fit_intercept else coef
        coefs.append(both)
        steps.append(min(max(passes - 1, 1), options.max_iter))
        converged &= status is not Status.LIMIT
    return FoldPath(np.array(coefs), np.array(scores), np.array(steps, dtype=np.int32), converged)


def _points(
    data: LogisticRows, targets: Terms, Cs: Floats, options: LogisticOptions
) -> list[tuple[Floats, Floats, Status, int]]:
    """Coefficients (scores x d), intercepts, status and passes at every C, in the order given."""
    found: dict[float, tuple[Floats, Floats, Status, int]] = {}
    finite = np.unique(Cs[np.isfinite(Cs)])
    start = starting_point(data, targets, options)
    present = np.count_nonzero(start.priors)
    start = replace(start, priors=np.maximum(start.priors, LEAST_PRIOR))
    if present == 1 and options.centered:  # the free intercept alone explains one class
        coef, intercept = start.problem.unscale(constant_start(start.problem, start.priors))
        return [(coef.T, intercept, Status.SOLVED, 1)] * len(Cs)
    if len(finite):
        for C, (problem, at) in zip(finite, solve_path(start, finite, options), strict=True):
            coef, intercept = problem.unscale(at.theta - at.step)
            found[float(C)] = coef.T, intercept, at.status, at.passes
    if len(finite) < len(Cs) and not np.isfinite(Cs).all():
        free = fit_logistic(data, targets, replace(options, penalty=0.0, intercept_scaling=np.inf))
        found[np.inf] = free.coef.T, free.intercept, free.status, free.iterations
    return [found[float(C)] for C in Cs]

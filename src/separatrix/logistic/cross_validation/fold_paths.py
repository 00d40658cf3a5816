"""Paths of logistic regression over the training rows of folds, scored on their test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.logistic.fit import fit_logistic, starting_point
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.path import shared_products, solve_path, training_rows
from separatrix.logistic.problem import LogisticOptions, constant_start
from separatrix.optimize.solution import Status
from separatrix.probability.likelihood.rows import LogisticRows
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Terms
from separatrix.threads import parallel_map

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


@dataclass(frozen=True)
class FoldPoint:
    """Coefficients (scores x d) and intercepts at one C, how the fit ended and after how many."""

    coef: Floats
    intercept: Floats
    status: Status
    passes: int


def solved_folds(
    rows: InMemory,
    targets: Terms,
    folds: list[tuple[Ints, Ints]],
    Cs: Floats,
    options: list[LogisticOptions],
) -> list[list[tuple[Encoding, list[FoldPoint]]]]:
    """Fits to the training rows of each fold for each of ``options``, all on threads."""
    x, each = shared_products(rows), len(options)

    def one(fold_and_options: tuple[Ints, LogisticOptions]) -> tuple[Encoding, list[FoldPoint]]:
        train, chosen = fold_and_options
        data = training_rows(rows, train, x)
        return data.encoding, _points(data, targets, Cs, chosen)

    found = parallel_map(one, [(train, chosen) for train, _ in folds for chosen in options])
    return [found[at : at + each] for at in range(0, len(found), each)]


def scored_path(
    rows: InMemory,
    targets: Terms,
    test: Ints,
    found: tuple[Encoding, list[FoldPoint]],
    options: LogisticOptions,
    model: LogisticRegression,
    score: Score,
) -> FoldPath:
    """Score the fits of a fold on its test rows by ``model``."""
    encoding, points = found
    block = encoding.apply(rows.take(test).block)
    labels = model.classes_[block.codes(targets)]
    model.n_features_in_ = block.x.shape[1]
    model.encoding_ = identity(ArrayRows(block.x, block.y).schema)
    coefs, scores, steps, converged = [], [], [], True
    for at in points:
        model.coef_, model.intercept_ = at.coef, at.intercept
        scores.append(score(model, block.x, labels, test))
        both = np.column_stack([at.coef, at.intercept]) if options.fit_intercept else at.coef
        coefs.append(both)
        steps.append(min(max(at.passes - 1, 1), options.max_iter))
        converged &= at.status is not Status.LIMIT
    return FoldPath(np.array(coefs), np.array(scores), np.array(steps, dtype=np.int32), converged)


def _points(
    data: LogisticRows, targets: Terms, Cs: Floats, options: LogisticOptions
) -> list[FoldPoint]:
    """Coefficients (scores x d), intercepts, status and passes at every C, in the order given."""
    found: dict[float, FoldPoint] = {}
    finite = np.unique(Cs[np.isfinite(Cs)])
    start = starting_point(data, targets, options)
    present = np.count_nonzero(start.priors)
    start = replace(start, priors=np.maximum(start.priors, LEAST_PRIOR))
    if present == 1 and options.centered:  # the free intercept alone explains one class
        coef, intercept = start.problem.unscale(constant_start(start.problem, start.priors))
        return [FoldPoint(coef.T, intercept, Status.SOLVED, 1)] * len(Cs)
    if len(finite):
        for C, (problem, at) in zip(finite, solve_path(start, finite, options), strict=True):
            coef, intercept = problem.unscale(at.theta - at.step)
            found[float(C)] = FoldPoint(coef.T, intercept, at.status, at.passes)
    if len(finite) < len(Cs) and not np.isfinite(Cs).all():
        free = fit_logistic(data, targets, replace(options, penalty=0.0, intercept_scaling=np.inf))
        found[np.inf] = FoldPoint(free.coef.T, free.intercept, free.status, free.iterations)
    return [found[float(C)] for C in Cs]

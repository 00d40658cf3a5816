"""The regularization path of logistic regression: a fit at every C, each warm-started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.logistic import fit
from separatrix.logistic.lasso import l1_solver
from separatrix.logistic.newton import DescentResult
from separatrix.logistic.problem import (
    LogisticOptions,
    LogisticProblem,
    certify_logistic,
    constant_start,
)
from separatrix.matrices.products import Products, SparseProducts, products
from separatrix.messages import InputError
from separatrix.optimize.newton import cholesky_solver
from separatrix.probability.likelihood import LogisticRows
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Terms, identity
from separatrix.selection.folds import default_folds, folds_of, warn_of_parted_copies
from separatrix.threads import parallel_map

#: ℓ₁ ratio for which the first penalty is computed if the penalty has none.
MIN_L1_RATIO = 0.01


@dataclass(frozen=True)
class PathPoints:
    """The path, strongest penalty first. ``coefs`` is (points x scores x d).

    ``losses`` holds Σ w ℓ, ``gaps`` the duality gaps of C·F, and ``degrees_of_freedom`` the
    effective number of coefficients, intercepts included.
    """

    Cs: Floats
    coefs: Floats
    intercepts: Floats
    losses: Floats
    gaps: Floats
    degrees_of_freedom: Floats
    thetas: Floats
    weight: float
    certified: bool


def penalty_grid(start: fit.StartingPoint, number: int, eps: float, l1_ratio: float) -> Floats:
    """Values of C, evenly spaced on a log scale; at the first all coefficients are zero.

    1/C₀ = max over columns of |gradient of the constant model| / (ρ · penalty_scale)
    """
    problem = start.problem.with_penalty(0.0, 0.0)
    gradient = problem.gradient(constant_start(problem, start.priors)).gradient
    penalized = problem.penalty_scale > 0.0
    ratios = np.abs(gradient[penalized]) / problem.penalty_scale[penalized, None]
    largest = float(ratios.max(initial=0.0)) / max(l1_ratio, MIN_L1_RATIO)
    largest = largest if largest > 0.0 else problem.weight
    return np.asarray(np.geomspace(1.0, 1.0 / eps, number) / largest)


def solve_path(
    start: fit.StartingPoint, Cs: Floats, options: LogisticOptions
) -> Iterator[tuple[LogisticProblem, DescentResult]]:
    """The problem and its minimum at every C, in increasing order.

    Coefficients are nearly linear in log C, so each fit starts from the extrapolation of the last
    two, at most as far ahead as those are apart.
    """
    theta = last = constant_start(start.problem, start.priors)
    solve = l1_solver(start.problem) if options.l1_ratio > 0.0 else fit.minimize
    logs = np.log(np.asarray(Cs, dtype=float))
    steps = np.diff(logs, prepend=[logs[0], logs[0]])
    for C, before, step in zip(Cs, steps[:-1], steps[1:], strict=True):
        ahead = min(step / before, 1.0) if before > 0.0 else 0.0
        point = replace(options, penalty=1.0 / float(C))
        problem = start.problem.with_penalty(point.penalty, point.l1_ratio)
        solution = solve(problem, theta + ahead * (theta - last), point)
        theta, last = solution.theta - solution.step, theta
        yield problem, solution


def certified_path(start: fit.StartingPoint, Cs: Floats, options: LogisticOptions) -> PathPoints:
    """Solve and certify at every C, in increasing order."""
    points, certified = [], True
    for C, (problem, solution) in zip(Cs, solve_path(start, Cs, options), strict=True):
        certificate, theta, loss = certify_logistic(
            problem, solution.theta, solution.step, float(C), tolerance=options.tol
        )
        certified &= certificate.holds
        coef, intercept = problem.unscale(theta)
        freedom = degrees_of_freedom(problem, theta, solution.hessian)
        points.append((coef.T, intercept, loss, certificate.gap, freedom, theta))
    coefs, intercepts, losses, gaps, df, thetas = map(np.array, zip(*points, strict=True))
    Cs, weight = np.asarray(Cs, dtype=float), start.problem.weight
    return PathPoints(Cs, coefs, intercepts, losses, gaps, df, thetas, weight, certified)


def shared_products(rows: InMemory) -> Products | None:
    """Products with the columns of wide or sparse rows, which all folds share; None for others."""
    if not isinstance(rows, ArrayRows) or not fit.many_columns(*rows.block.x.shape):
        return None
    x = products(rows.block.x)
    if isinstance(x, SparseProducts):
        x.by_column  # noqa: B018 - made before threads ask for it
    return x


def training_rows(rows: InMemory, train: Ints, x: Products | None) -> LogisticRows:
    """The training rows of a fold: a copy, or all rows with weights of zero for the others.

    The latter where ``x`` is known: wide and sparse rows are then stored once for all folds.
    """
    if x is None:
        return LogisticRows.of(rows.take(train))
    block = rows.block
    w = block.weights * np.bincount(train, minlength=block.n)
    masked = ArrayRows(block.x, block.y, w, targets=block.targets.items)
    return replace(LogisticRows.of(masked), encoding=identity(rows.schema), x=x)


def losses_of_folds(
    rows: InMemory, targets: Terms, cv: Any, classes: Any, Cs: Floats, options: LogisticOptions
) -> list[Floats]:
    """Mean log losses along the path of every fold, folds on threads."""
    codes, x = rows.block.codes(targets), shared_products(rows)
    if cv is None:
        cv = default_folds(np.bincount(codes, minlength=len(classes)).min())
    if isinstance(cv, int | np.integer):
        _check_rarest(codes, int(cv), classes)
    folds = folds_of(cv, len(rows), codes=codes)
    warn_of_parted_copies(rows, folds, cv)
    return parallel_map(
        lambda fold: fold_losses(rows, targets, fold, Cs, options, x), list(folds.pairs)
    )


def _check_rarest(codes: Ints, folds: int, classes: Any) -> None:
    """Stratified folds need as many rows of every class as there are folds."""
    counts = np.bincount(codes, minlength=len(classes))
    if folds < 2 or counts.min() < folds:
        rare = classes.tolist()[int(counts.argmin())]
        raise InputError(
            f"cv={folds} folds cannot be made of n_samples={len(codes)} rows: class {rare!r} has "
            f"{counts.min()}.",
            remedy="Use at least 2 folds, and no more than the rarest class has rows.",
        )


def fold_losses(
    rows: InMemory,
    targets: Terms,
    fold: tuple[Ints, Ints],
    Cs: Floats,
    options: LogisticOptions,
    x: Products | None,
) -> Floats:
    """Mean log loss of the test rows at every C, with the path fitted to the training rows."""
    train, test = fold
    data = training_rows(rows, train, x)
    start = fit.starting_point(data, targets, options)
    if not (start.priors > 0.0).all():
        missing = targets.items[int(np.argmin(start.priors))].level
        raise InputError(
            f"A fold leaves no row of class {missing!r} to train on.",
            remedy="Use stratified folds, such as cv=5.",
        )
    block = data.encoding.apply(rows.take(test).block)
    codes = block.codes(targets)
    if not block.weight:
        raise InputError("The test rows of a fold have no weight.", remedy="Use fewer folds.")
    losses = []
    for problem, solution in solve_path(start, Cs, options):
        coef, intercept = problem.unscale(solution.theta - solution.step)
        scores = np.asarray(block.x @ coef) + intercept
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(block.n), scores])
        each = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(block.n), codes]
        losses.append(np.average(each, weights=block.weights))
    return np.array(losses)


def degrees_of_freedom(problem: LogisticProblem, theta: Floats, hessian: Floats | None) -> float:
    """tr L (L + Q)⁻¹ over the nonzero coefficients, L the Hessian of the loss, Q the ℓ₂ penalty.

    Without ℓ₂ part this is their number (less one per column for the common shift of the scores of
    more than two classes).
    """
    nonzero = theta != 0.0
    if problem.design.intercept:
        nonzero[-1] = True
    indices = np.flatnonzero(nonzero.T.ravel())
    lasso = theta.shape[1] == 1 and not problem.ridge.any()
    # Coefficients up to which degrees of freedom are computed from the Hessian.
    if theta.size > 1500 or lasso:
        return float(len(indices))
    if hessian is None:
        hessian = problem.hessian(theta).hessian
    assert hessian is not None
    ridge = np.tile(problem.ridge, theta.shape[1])[indices]
    if theta.shape[1] == 1:  # definite: no shift of several scores
        inverse = cholesky_solver(hessian[np.ix_(indices, indices)])(np.eye(len(indices)))
        return float(len(indices) - np.diag(inverse) @ ridge)
    values, vectors = np.linalg.eigh(hessian[np.ix_(indices, indices)])
    largest = max(float(values[-1]) if len(values) else 0.0, np.finfo(float).tiny)
    positive = values > 1e-10 * largest
    vectors, values = vectors[:, positive], values[positive]
    penalized = np.einsum("ij,i,ij->j", vectors, ridge, vectors) / values
    return float(np.sum(1.0 - penalized))

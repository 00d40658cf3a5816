"""Shrinkage of class covariances by cross-validation on given folds.

With fewer rows than columns, rows are replaced by coordinates in their span. In standardized
columns the target σ²I, and with it every shrunk covariance, is the same outside the span for all
classes, so that their comparison is unchanged:

    Σₖ = α σ²I + Qᵀ(…)Q,     Q an orthonormal basis of the span
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from separatrix.discriminant.centered_rows import gram
from separatrix.discriminant.regularization_search import (
    ShrinkageFold,
    Tempering,
    array_folds,
    by_ratio,
    cross_validated_losses,
)
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints, to_array
from separatrix.rows.rows import ArrayRows
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold, require_classes
from separatrix.statistics.standardizer import Standardizer
from separatrix.threads import parallel_map

#: What is tried where densities are too sure: temperatures of 1, 2, 4, 8, and floors.
TEMPERING = Tempering(3, (0.0, 0.003, 0.03))
#: Equal error rates are told apart by this much of the log loss.
TIE = 1e-6
#: The loss of pairs under which some class is singular in some fold.
EXCLUDED = 1e6
#: Ratios β/(1 − α) in the order in which they are tried while the work allowed lasts.
PRIORITY = (1.0, 0.0, 0.5, 0.15, 0.75, 0.3, 0.9, 0.05)
#: Operations of an eigendecomposition of r columns over r³, and of a rotated value.
EIGEN_COST, ROTATION_COST = 1.0, 0.5


def tune_shrinkage(data: TuningData, grid: Floats, priors: Floats | None) -> Tuning:
    """Compare all pairs (α, β) of ``grid`` within the work allowed, the most shrunk first."""
    require_classes(data)
    sizes = data.n, data.x.shape[1], data.n_classes, len(data.folds)
    grid, note = grid_within(data.work, sizes, grid)
    tested = [test[data.w[test] > 0.0] for _, test in data.folds.pairs]
    weight = np.array([data.w[test].sum() for test in tested])
    return tune_folds(_tests(data, priors), tested, weight, grid, data.loss, note)


def tune_folds(
    tests: list[ShrinkageFold],
    tested: Sequence[Ints],
    weight: Floats,
    grid: Floats,
    loss: str,
    note: str = "",
) -> Tuning:
    """Compare the pairs of ``grid`` on folds with their training moments.

    ``tested`` are the numbers of the rows of each fold, ``weight`` their weights.
    """
    log_loss, error = cross_validated_losses(tests, grid, TEMPERING)
    log_loss = log_loss.reshape(-1, len(tests))  # tempering innermost
    error = np.repeat(error, len(TEMPERING.points), axis=0)
    losses = log_loss if loss == "log_loss" else error
    regular = np.isfinite(losses).all(axis=1, keepdims=True)
    if not regular.any():
        raise InputError(
            "Under every pair of alpha and beta some class is singular in some fold.",
            remedy="Give more rows of each class, fewer folds, or alphas and betas above 0.",
        )
    decisive = losses if loss == "log_loss" else error + TIE * log_loss
    best, by_fold = best_by_fold(np.where(regular, decisive, EXCLUDED), weight)
    points = tuple(
        {"alpha": float(a), "beta": float(b), "temperature": t, "smoothing": s}
        for a, b in grid for t, s in TEMPERING.points
    )  # fmt: skip
    chosen = list(zip(tests, (points[i] for i in by_fold), strict=True))
    predicted = parallel_map(lambda pair: pair[0].predict(**pair[1]), chosen)
    found = (np.concatenate(tested), np.concatenate(predicted), "probabilities", note)
    return Tuning(points[best], points, losses, by_fold, *found)


def grid_within(
    work_allowed: float, sizes: tuple[int, int, int, int], grid: Floats
) -> tuple[Floats, str]:
    """Pairs, the most shrunk first, whose ratios β/(1 − α) the work allows; at least the first.

    ``sizes`` are rows, columns, classes and folds.
    """
    grid = grid[np.lexsort((grid[:, 0], grid.sum(axis=1)))[::-1]]
    n, d, k, folds = sizes
    r = min(n, d)
    ratios = by_ratio(grid)
    order = sorted(ratios, key=lambda t: PRIORITY.index(t) if t in PRIORITY else len(PRIORITY))
    work = float(n) * d * r / 4.0
    allowed: list[float] = []
    for t in order:
        matrices = folds * (1 if t == 1.0 else k)
        work += matrices * EIGEN_COST * float(r) ** 3 + k * n * float(r) ** 2 * ROTATION_COST
        if allowed and work > work_allowed:
            break
        allowed.append(t)
    if len(allowed) == len(order):
        return grid, ""
    points = np.sort(np.concatenate([ratios[t] for t in allowed]))
    named = ", ".join(f"{t:g}" for t in sorted(allowed))
    return grid[points], f"of the ratios β/(1 − α) only {named} were tried"


def _tests(data: TuningData, priors: Floats | None) -> list[ShrinkageFold]:
    """The folds with the training moments of their classes."""
    x, codes = to_array(data.x), np.asarray(data.y, dtype=np.int64)
    n, d = x.shape
    if d < n:
        rows = ArrayRows(x, None, data.w).with_parts(codes)
        folds, _ = array_folds(rows, data.folds, data.n_classes)
        return [ShrinkageFold.of(fold, priors) for fold in folds]
    block = ArrayRows(x, None, data.w).with_parts(codes).block
    return span_folds(block, data.folds.pairs, data.n_classes, priors)


def span_folds(
    block: Block, pairs: Sequence[tuple[Ints, Ints]], n_classes: int, priors: Floats | None
) -> list[ShrinkageFold]:
    """The folds of fewer rows than columns, in coordinates of their span."""
    x, w, codes = to_array(block.x), block.weights, block.parts
    assert codes is not None
    z = Standardizer.from_rows(x, w).transform(x)
    values, vectors = linalg.eigh(gram(z))
    nonzero = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    z = vectors[:, nonzero] * np.sqrt(values[nonzero])

    def one(pair: tuple[Ints, Ints]) -> ShrinkageFold:
        return _in_span(z, codes, w, pair, n_classes, x.shape[1], priors)

    return parallel_map(one, pairs)


def _in_span(
    z: Floats,
    codes: Ints,
    weights: Floats,
    pair: tuple[Ints, Ints],
    n_classes: int,
    n_columns: int,
    priors: Floats | None,
) -> ShrinkageFold:
    """A fold in an orthonormal basis of its training rows, measured from their mean."""
    train, test = pair
    test = test[weights[test] > 0.0]
    w, own = weights[train], codes[train]
    center = w @ z[train] / w.sum()
    basis = linalg.qr((z[train] - center).T, mode="economic", pivoting=False)[0]
    rows = (z[train] - center) @ basis
    r = rows.shape[1]
    total = np.bincount(own, w, n_classes)
    means, covariances = np.empty((len(total), r)), np.empty((len(total), r, r))
    for k in range(len(total)):
        at = own == k
        means[k] = w[at] @ rows[at] / total[k]
        centered = (rows[at] - means[k]) * np.sqrt(w[at] / total[k])[:, None]
        covariances[k] = centered.T @ centered
    proportions = total / total.sum()
    pooled = np.tensordot(proportions, covariances, 1)
    with np.errstate(divide="ignore"):
        log_priors = np.log(proportions if priors is None else priors)
    return ShrinkageFold(
        (z[test] - center) @ basis,
        codes[test],
        weights[test],
        means,
        covariances,
        pooled,
        float(np.trace(pooled)) / n_columns,
        log_priors,
    )

"""From rows to the posterior: standardized columns, or the span of the rows where they are fewer.

The prior of the coefficients is the same in all directions of the standardized columns. So if
there are more columns than rows, coordinates within the span of the standardized rows, Z = U S Qᵀ,
give the same posterior and the same evidence with r ≤ n coefficients for each score; those outside
of the span follow the prior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from separatrix.bayes.logistic.coordinates import Coordinates
from separatrix.bayes.logistic.problem import LogisticPosterior
from separatrix.matrices.gram import row_gram
from separatrix.messages import InputError
from separatrix.probability.likelihood.derivatives import LogisticDesign
from separatrix.probability.likelihood.rows import LogisticRows
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Terms
from separatrix.statistics.preconditioner import column_scales
from separatrix.statistics.standardizer import Standardizer

#: Coefficients whose covariance is held as a matrix, and numbers of a basis of the rows.
MAX_COEFFICIENTS, MAX_BASIS = 3000, 50_000_000


def build_posterior(
    data: LogisticRows, targets: Terms, intercept_scale: float, *, intercept: bool
) -> LogisticPosterior:
    """The posterior of a table with σ = 1, to be replaced."""
    constant = int(intercept)
    if isinstance(data.rows, ArrayRows) and data.n_columns > len(data.rows):
        return _in_span(data.rows, targets, intercept_scale, intercept=intercept)
    _check_size(data.n_columns + constant, len(targets), f"{data.n_columns} columns")
    moments = data.moments.aligned(data.moments.terms, targets)
    about = moments if intercept else moments.about_origin()
    scale = column_scales(moments, about)
    if not intercept:  # a constant column has no deviation, but scores of its own
        square = np.maximum(np.diag(about.xx), 0.0) / about.weight
        scale = np.sqrt(square)
    scale = np.where(scale > 0.0, scale, np.inf)
    center = moments.x_mean if intercept else np.zeros(moments.d)
    coordinates = Coordinates(center, scale, intercept, len(targets))
    return LogisticPosterior(
        data.rows,
        LogisticDesign(targets, center, None, intercept),
        np.append(scale, np.ones(constant)),
        _precision(len(scale), intercept_scale, constant),
        moments.weight,
        moments.y_mean,
        coordinates,
    )


def _precision(columns: int, intercept_scale: float, constant: int) -> Floats:
    return np.append(np.ones(columns), np.full(constant, intercept_scale**-2))


def _check_size(width: int, n_classes: int, what: str) -> None:
    count = width * (n_classes - 1)
    if count > MAX_COEFFICIENTS:
        raise InputError(
            f"The posterior of {what} and {n_classes} classes has {count} coefficients, and their "
            f"covariance {count}² numbers; the limit is {MAX_COEFFICIENTS} coefficients.",
            remedy="Use LogisticRegression(standardize=True), or fewer columns.",
        )


def _in_span(
    rows: ArrayRows, targets: Terms, intercept_scale: float, *, intercept: bool
) -> LogisticPosterior:
    """Coordinates within the span of the rows of positive weight."""
    w = rows.block.weights
    block = rows.take(w > 0.0).block
    weights, (n, d) = block.weights, block.x.shape
    _check_size(min(n, d) + int(intercept), len(targets), f"{n} rows")
    if min(n, d) * d > MAX_BASIS:
        raise InputError(
            f"The span of {n} rows with {d} columns takes a basis of {min(n, d) * d} numbers; the "
            f"limit is {MAX_BASIS}.",
            remedy="Use LogisticRegression(standardize=True), or fewer columns.",
        )
    center, scale = _column_scales(block.x, weights, intercept=intercept)
    span = _basis(block.x, center, scale)
    coordinates = Coordinates(center, scale, intercept, len(targets), span)
    z = block.x @ (span / scale[:, None]) - (center / scale) @ span
    projected = ArrayRows(np.asarray(z), block.y, block.w, targets=block.targets.items)
    aligned = block.aligned(block.terms, targets)
    columns = span.shape[1]
    return LogisticPosterior(
        projected,
        LogisticDesign(targets, np.zeros(columns), None, intercept),
        np.ones(columns + int(intercept)),
        _precision(columns, intercept_scale, int(intercept)),
        float(weights.sum()),
        weights @ aligned.y / weights.sum(),
        coordinates,
    )


def _basis(x: Matrix, center: Floats, scale: Floats) -> Floats:
    """An orthonormal basis (d x r) of the standardized rows, the longest direction first."""
    values, vectors = linalg.eigh(row_gram(x, center, scale, np.ones(x.shape[0])))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > 1e-12 * max(float(values[0]), np.finfo(float).tiny)]
    sums = np.asarray(x.T @ vectors) - np.outer(center, vectors.sum(axis=0))
    # lengths differ, so that rounding errors of the longest would not leave the others orthogonal
    return np.asarray(linalg.qr(sums / scale[:, None], mode="economic")[0] if sums.size else sums)


def _column_scales(x: Matrix, w: Floats, *, intercept: bool) -> tuple[Floats, Floats]:
    """Centers and scales of the columns of rows in memory; a constant column has scale ∞."""
    found = Standardizer.from_rows(x, w, keep_mean=True)
    if intercept:
        return found.mean, _positive(found.scale)
    square: NDArray[np.float64] = np.asarray((x.multiply(x) if sparse.issparse(x) else x**2).T @ w)
    return np.zeros(len(square)), _positive(np.sqrt(square / w.sum()))


def _positive(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, np.inf)

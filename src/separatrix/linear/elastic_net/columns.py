"""Inner products of standardized columns: from moments, from dense rows, or from sparse rows.

Moments serve tables that are longer than wide, and no row is read again; the columns themselves
serve tables that are wider than long.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy import sparse

from separatrix.linear.elastic_net.problem import (
    ElasticNetOptions,
    ElasticNetProblem,
    Scales,
    sparse_variances,
)
from separatrix.linear.elastic_net.sparse_path import SparseColumns
from separatrix.matrices.gram import unit_columns
from separatrix.matrices.products import DenseProducts
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints, Matrix
from separatrix.statistics.moments import Moments

#: Sparse tables are made dense up to this many entries, or from this density on.
DENSE_ENTRIES, DENSE_FRACTION = 20_000_000, 0.25
#: Part of its level below which a gradient may stay in single precision; the dual point of a gap
#: is never the residual times more than its inverse.
BELOW = 0.9


class MomentColumns:
    """Columns of length one, known by their correlations with each other and with the target."""

    def __init__(self, correlation: Floats, target: Floats) -> None:
        self.correlation, self.target = correlation, target
        self._index = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, len(target)))

    def grow(self, new: Ints) -> Floats:
        """Correlations of the enlarged working set with the new columns."""
        self._index = np.concatenate([self._index, new])
        self._rows = np.concatenate([self._rows, self.correlation[new]])
        return self._rows[:, new]

    def select(self, positions: Ints) -> None:
        """Reduce the working set to these positions."""
        self._index, self._rows = self._index[positions], self._rows[positions]

    def gradient(self, beta: Floats, level: Floats | float) -> tuple[Floats, float]:  # noqa: ARG002
        """c − Cβ and ‖r‖² = 1 − (c + g)·β."""
        grad = self.target - beta @ self._rows
        inner = (self.target[self._index] + grad[self._index]) @ beta
        return grad, max(1.0 - float(inner), 0.0)


class DenseColumns:
    """Columns √w (x − c) of length one and a target ``t``; the working set is contiguous.

    All columns are kept in single precision, the working set in double precision.
    """

    def __init__(self, x: Floats, center: Floats, root: Floats, t: Floats) -> None:
        self.x, self.center, self.root, self.t = x, center, root, t
        units, self.lengths, self.target = unit_columns(x, center, root, t)
        self._units = DenseProducts(units)
        self._index, self._buffer = np.zeros(0, dtype=np.int64), np.empty((0, len(t)))

    def restricted(self, at: Ints) -> DenseColumns:
        """Some of the columns alone."""
        chosen = copy(self)
        chosen.x, chosen.center = self.x[:, at], self.center[at]
        chosen.lengths, chosen.target = self.lengths[at], self.target[at]
        chosen._units = DenseProducts(np.asfortranarray(self._units.x[:, at]))
        return chosen

    @property
    def _set(self) -> Floats:
        return self._buffer[: len(self._index)]

    def _columns(self, at: Ints) -> Floats:
        """Some columns in double precision, each contiguous (as rows)."""
        chosen = (self.x[:, at] - self.center[at]) * (self.root[:, None] / self.lengths[at])
        return np.ascontiguousarray(chosen.T)

    def grow(self, new: Ints) -> Floats:
        """Inner products of the enlarged working set with the new columns."""
        before, size = len(self._index), len(self._index) + len(new)
        if size > len(self._buffer):
            buffer = np.empty((size + before, len(self.t)))
            buffer[:before] = self._set
            self._buffer = buffer
        self._buffer[before:size] = self._columns(new)
        self._index = np.concatenate([self._index, new])
        return np.asarray(self._set @ self._set[-len(new) :].T)

    def select(self, positions: Ints) -> None:
        """Reduce the working set to these positions."""
        self._buffer, self._index = self._set[positions], self._index[positions]

    def gradient(self, beta: Floats, level: Floats | float) -> tuple[Floats, float]:
        """Uᵀr and ‖r‖² for r = t − Σ βᵢ uᵢ.

        In single precision first; again in double precision for the working set, and for all
        columns that the rounding of single precision may hide beyond the level.
        """
        r = self.t - beta @ self._set
        square = float(r @ r)
        grad = np.zeros(len(self.target))
        near = grad
        if len(self._index) < len(grad):
            grad[:] = self._units.transposed_times(r.astype(np.float32))
            rounding = (len(r) + 4) * 2.0**-24 * np.sqrt(square)
            near = np.abs(grad) + rounding - BELOW * level
        near[self._index] = -np.inf
        again = np.flatnonzero(near > 0.0)
        for some in np.array_split(again, 1 + len(again) // 1000):
            grad[some] = self._columns(some) @ r
        grad[self._index] = self._set @ r
        return grad, square


def elastic_net_problem(
    source: Moments | Block, options: ElasticNetOptions, target: int = 0
) -> ElasticNetProblem:
    """The problem of one target, on the inner products that the source offers."""
    if not source.weight:
        raise InputError("There are no rows to fit.")
    if isinstance(source, Moments):
        return _from_moments(source, options, target)
    return _from_block(source, options, target)


def _from_moments(moments: Moments, options: ElasticNetOptions, target: int) -> ElasticNetProblem:
    m = moments if options.fit_intercept else moments.about_origin()
    scales = Scales(
        m.x_mean,
        np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight),
        float(m.y_mean[target]),
        float(np.sqrt(max(m.yy[target, target], 0.0) / m.weight)),
        m.weight,
    )
    nonconstant = scales.nonconstant
    scale = scales.x_scale[nonconstant]
    correlation = m.xx[np.ix_(nonconstant, nonconstant)] / m.weight / scale / scale[:, None]
    np.fill_diagonal(correlation, 1.0)
    cross = m.xy[nonconstant, target] / m.weight / scale / (scales.y_scale or 1.0)
    return ElasticNetProblem(MomentColumns(correlation, cross), scales, options)


def _from_block(block: Block, options: ElasticNetOptions, target: int) -> ElasticNetProblem:
    if block.w is not None and (block.w == 0.0).any():
        block = block.take(np.flatnonzero(block.w > 0.0))
    w = block.weights
    v = np.sqrt(w / w.sum())
    x, y = block.x, block.y[:, target]
    y_mean = float(v**2 @ y) if options.fit_intercept else 0.0
    t = (y - y_mean) * v
    y_scale = float(np.linalg.norm(t))
    t /= y_scale or 1.0
    if sparse.issparse(x):
        density = x.nnz / max(1, x.shape[0] * x.shape[1])
        if x.shape[0] * x.shape[1] > DENSE_ENTRIES and density < DENSE_FRACTION:
            return _from_sparse(x, t, v, float(w.sum()), (y_mean, y_scale), options)
        x = x.toarray()
    mean = np.zeros(x.shape[1])
    if options.fit_intercept:
        mean = DenseProducts(x).transposed_times(v**2)
    columns = DenseColumns(x, mean, v, t)
    scales = Scales(mean, columns.lengths, y_mean, y_scale, float(w.sum()))
    at = scales.nonconstant
    if len(at) < x.shape[1]:
        columns = columns.restricted(at)
    return ElasticNetProblem(columns, scales, options)


def _from_sparse(
    x: Matrix,
    t: Floats,
    v: Floats,
    weight: float,
    y_scales: tuple[float, float],
    options: ElasticNetOptions,
) -> ElasticNetProblem:
    """As above with sparse columns; variances are summed about the mean throughout."""
    a = sparse.csc_array(x.multiply(v[:, None]))
    mean = np.asarray(a.T @ v) if options.fit_intercept else np.zeros(x.shape[1])
    scales = Scales(mean, np.sqrt(sparse_variances(x, v**2, mean)), *y_scales, weight)
    at = scales.nonconstant
    columns = SparseColumns(a[:, at], mean[at], scales.x_scale[at], v, t)
    return ElasticNetProblem(columns, scales, options)

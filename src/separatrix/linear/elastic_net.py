"""The problem of lasso and elastic net, its solution along a path, and the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, column_or_1d

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.linear import working_sets
from separatrix.matrices.gram import column_squares, unit_columns
from separatrix.matrices.products import (
    DenseProducts,
    SparseProducts,
    sparse_variances,
)
from separatrix.messages import InputError, warn
from separatrix.optimize import convex
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block
from separatrix.selection import rules
from separatrix.statistics.moments import Moments, zero_if_constant
from separatrix.threads import pieces

# -------------------------------------------------------------------------------------------------
# The elastic net on standardized columns and target.
#
#     (1/2Σw) Σ w (y − a − b·x)² + α ρ Σ vⱼ|bⱼ| + ½ α (1 − ρ) Σ vⱼ² bⱼ²
#
# With xⱼ − x̄ⱼ = sⱼ uⱼ, y − ȳ = σ t and βⱼ = sⱼ bⱼ / σ this is σ² times
#
#     ½ ‖t − Uβ‖² + α Σ ℓⱼ|βⱼ| + ½ α Σ qⱼ βⱼ²,    ℓⱼ = ρ vⱼ/(σ sⱼ),   qⱼ = (1 − ρ)(vⱼ/sⱼ)²
#
# so that the numbers the solver meets do not depend on units. vⱼ is 1, or sⱼ when the penalty is
# measured on standardized columns.


@dataclass(frozen=True)
class ElasticNetOptions:
    """Which elastic net, and how closely it is to be solved."""

    l1_ratio: float = 1.0
    fit_intercept: bool = True
    positive: bool = False
    standardize: bool = False
    tol: float = 1e-8
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise InputError(f"l1_ratio={self.l1_ratio!r} must lie between 0 and 1.")
        if not self.tol > 0.0:
            raise InputError(f"tol={self.tol!r} must be greater than 0.")
        if self.max_iter < 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")


@dataclass(frozen=True)
class Scales:
    """Means and standard deviations (1/Σw) of the columns and of the target."""

    x_mean: Floats
    x_scale: Floats
    y_mean: float
    y_scale: float
    weight: float

    @cached_property
    def nonconstant(self) -> Ints:
        """The columns that are not constant; none where the target is constant."""
        if not zero_if_constant(np.array(self.y_scale), np.array(self.y_mean)):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(zero_if_constant(self.x_scale, self.x_mean))

    def penalty(self, options: ElasticNetOptions) -> convex.ElasticNetPenalty:
        """ℓ and q of the nonconstant columns for α = 1."""
        scale = self.x_scale[self.nonconstant]
        v = np.ones_like(scale) if options.standardize else 1.0 / scale
        sigma = self.y_scale or 1.0
        return convex.ElasticNetPenalty(
            options.l1_ratio / sigma * v, (1.0 - options.l1_ratio) * v**2, options.positive
        )


@dataclass(frozen=True)
class ElasticNetPath:
    """Solutions at ``alphas`` (m) in the table's units: ``coefs`` (m x d), ``intercepts`` (m).

    ``gaps`` are duality gaps; ``rss`` are Σ w r²; ``freedom`` are the effective degrees of
    freedom; ``sweeps_by_point`` counts those of coordinate descent.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    gaps: Floats
    rss: Floats
    freedom: Floats
    converged: NDArray[np.bool_]
    sweeps_by_point: tuple[int, ...]

    @property
    def sweeps(self) -> int:
        """The number of sweeps over all points."""
        return sum(self.sweeps_by_point)


@dataclass(frozen=True)
class ElasticNetProblem:
    """The elastic net of one target, for any α."""

    products: working_sets.InnerProducts | working_sets.SparseColumns
    scales: Scales
    options: ElasticNetOptions

    @property
    def alpha_max(self) -> float:
        """The smallest α at which every coefficient is zero: max |uⱼ·t| / ℓⱼ."""
        l1 = self.scales.penalty(self.options).l1
        cross = self.products.target if self.options.positive else np.abs(self.products.target)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(cross > 0.0, cross / l1, 0.0), initial=0.0))

    def grid(self, size: int, eps: float) -> Floats:
        """``size`` penalties from ``alpha_max`` down to ``eps`` times it, on a log scale."""
        if self.options.l1_ratio == 0.0:
            raise InputError(
                "With l1_ratio=0 no penalty sets all coefficients to zero: no path starts there.",
                remedy="Give the alphas yourself, or use RidgePath.",
            )
        top = self.alpha_max
        least = float(np.finfo(float).resolution)
        if top <= least:
            return np.full(size, least)
        return np.geomspace(top, top * eps, size)

    def path(
        self,
        alphas: Sequence[float] | Floats,
        stopping: working_sets.StoppingRule,
        start: Floats | None = None,
    ) -> ElasticNetPath:
        """Solve at each of ``alphas``, in the order given; descending is fastest.

        ``start`` (d) are coefficients near the first solution, if some are known.
        """
        penalty = self.scales.penalty(self.options)
        levels, warm_start = [float(a) for a in alphas], self._standardize(start)
        if isinstance(self.products, working_sets.SparseColumns):
            path_points = working_sets.solve_sparse_path(
                self.products, penalty, levels, stopping, warm_start
            )
        else:
            path_points = working_sets.solve_path(
                self.products, penalty, levels, stopping, warm_start
            )
        points = tuple(path_points)
        return self._in_table_units(points, stopping)

    def _standardize(self, coef: Floats | None) -> Floats | None:
        s, at = self.scales, self.scales.nonconstant
        return None if coef is None else coef[at] * s.x_scale[at] / (s.y_scale or 1.0)

    def _in_table_units(
        self, points: tuple[working_sets.PathPoint, ...], stopping: working_sets.StoppingRule
    ) -> ElasticNetPath:
        s, nonconstant = self.scales, self.scales.nonconstant
        coefs = np.zeros((len(points), len(s.x_mean)))
        for row, point in zip(coefs, points, strict=True):
            at = nonconstant[point.index]
            row[at] = point.beta * (s.y_scale / s.x_scale[at])
        y_variance = s.y_scale**2
        return ElasticNetPath(
            alphas=np.array([p.alpha for p in points]),
            coefs=coefs,
            intercepts=s.y_mean - coefs @ s.x_mean,
            gaps=np.array([p.gap for p in points]) * y_variance,
            rss=np.array([p.rss for p in points]) * (y_variance * s.weight),
            freedom=np.array([p.freedom for p in points]),
            converged=np.array([stopping.is_reached(p.gap, p.beta) for p in points], dtype=bool),
            sweeps_by_point=tuple(p.sweeps for p in points),
        )


# -------------------------------------------------------------------------------------------------
# Inner products of standardized columns: from moments, from dense rows, or from sparse rows.
#
# Moments serve tables that are longer than wide, and no row is read again; the columns themselves
# serve tables that are wider than long.


class MomentColumns:
    """Columns of length one, known by their correlations with each other and with the target."""

    known = True

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

    All columns are stored in single precision, the working set in double precision.
    """

    known = False

    def __init__(self, x: Floats, center: Floats, root: Floats, t: Floats) -> None:
        self.x, self.center, self.root, self.t = x, center, root, t
        units, self.lengths, self.target = unit_columns(x, center, root, t)
        self._units = DenseProducts(units)
        self._index, self._buffer = np.zeros(0, dtype=np.int64), np.empty((0, len(t)))

    def restrict(self, indices: Ints) -> DenseColumns:
        """Some of the columns alone."""
        chosen = copy(self)
        chosen.x, chosen.center = self.x[:, indices], self.center[indices]
        chosen.lengths, chosen.target = self.lengths[indices], self.target[indices]
        chosen._units = DenseProducts(np.asfortranarray(self._units.x[:, indices]))
        return chosen

    @property
    def _set(self) -> Floats:
        return self._buffer[: len(self._index)]

    def _columns(self, indices: Ints) -> Floats:
        """Some columns in double precision, each contiguous (as rows)."""
        chosen = (self.x[:, indices] - self.center[indices]) * (
            self.root[:, None] / self.lengths[indices]
        )
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
            # Part of its level below which a gradient may stay in single precision; the dual point
            # of a gap is never the residual times more than its inverse.
            near = np.abs(grad) + rounding - 0.9 * level
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
        # Sparse tables are made dense from this density on: as much memory as both compressed
        # copies.
        if x.nnz < 0.25 * x.shape[0] * x.shape[1]:
            return _from_sparse(x, t, v, float(w.sum()), (y_mean, y_scale), options)
        x = x.toarray()
    mean = np.zeros(x.shape[1])
    if options.fit_intercept:
        mean = DenseProducts(x).transposed_times(v**2)
    columns = DenseColumns(x, mean, v, t)
    scales = Scales(mean, columns.lengths, y_mean, y_scale, float(w.sum()))
    nonconstant = scales.nonconstant
    if len(nonconstant) < x.shape[1]:
        columns = columns.restrict(nonconstant)
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
    a = SparseProducts(x).by_row.tocsc()  # the one copy, which is weighted in place
    for part in pieces(a.nnz, 1 << 16):  # stored entries that are weighted at a time
        a.data[part] *= v[a.indices[part]]
    mean = np.asarray(a.T @ v) if options.fit_intercept else np.zeros(x.shape[1])
    scales = Scales(mean, np.sqrt(sparse_variances(x, v**2, mean)), *y_scales, weight)
    nonconstant = scales.nonconstant
    if len(nonconstant) < len(mean):
        a = a[:, nonconstant]
    columns = working_sets.SparseColumns(a, mean[nonconstant], scales.x_scale[nonconstant], v, t)
    return ElasticNetProblem(columns, scales, options)


# -------------------------------------------------------------------------------------------------
# Coefficients of lasso and elastic net on a grid of penalties, as functions of X and y.
#
#     min over b of (1/2n) ‖y − Xb‖² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²        for every α of the grid
#
# There is no intercept here: center X and y, or use :class:`LassoPath`.


def lasso_path(
    X: Any, y: Any, *, l1_ratio: float = 1.0, eps: float = 1e-3, alphas: Any = 100, **options: Any
) -> Any:
    """Lasso coefficients at every penalty of a grid: :func:`elastic_net_path` with ρ = 1."""
    return elastic_net_path(X, y, l1_ratio=l1_ratio, eps=eps, alphas=alphas, **options)


def elastic_net_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    coef_init: Any = None,
    return_n_iter: bool = False,
    positive: bool = False,
    **options: Any,
) -> Any:
    """Elastic-net coefficients at every penalty of a grid.

    ``alphas`` are the penalties, or how many to place between the least one that sets all
    coefficients to zero and ``eps`` times it. Returns (alphas, coefs (d x m), gaps (m)), and the
    numbers of sweeps with ``return_n_iter``. Of the ``options``, ``tol``, ``max_iter`` and
    ``n_alphas``, an older name of the number of ``alphas``, count; others of scikit-learn's
    (precompute, Xy, copy_X, verbose, check_input, …) have no effect.
    """
    x, target = check_X_y(X, y, accept_sparse="csr", multi_output=True, y_numeric=True)
    if target.ndim == 2 and target.shape[1] > 1:
        raise InputError(
            "A path is that of one target.", remedy="Call it for every column of y by itself."
        )
    if isinstance(alphas, str) or alphas is None:  # scikit-learn's "warn"
        alphas = 100
    if np.ndim(alphas) == 0 and not isinstance(options.get("n_alphas", "deprecated"), str):
        alphas = options["n_alphas"]
    single = x.dtype == np.float32
    x = sparse.csr_array(x, dtype=float) if sparse.issparse(x) else np.asarray(x, dtype=float)
    rows = ArrayRows(x, column_or_1d(target).astype(float), None)
    source = rows.reduce(Moments()) if x.shape[0] > x.shape[1] else rows.block
    accuracy = 1e-8  # relative duality gap at every penalty; a finer ``tol`` is followed
    settings = ElasticNetOptions(
        l1_ratio=float(l1_ratio),
        fit_intercept=False,
        positive=bool(positive),
        tol=min(float(options.get("tol", accuracy)), accuracy) or accuracy,
        max_iter=int(options.get("max_iter", 1000)),
    )
    problem = elastic_net_problem(source, settings)
    grid = rules.number_or_values("alphas", alphas, "Use LinearRegression without penalty.")
    grid = problem.grid(grid, float(eps)) if isinstance(grid, int) else grid[::-1]
    start = None
    if coef_init is not None:
        start = check_array(coef_init, ensure_2d=False).astype(float).ravel()
    path = problem.path(
        grid, working_sets.StoppingRule(settings.tol, sweeps=settings.max_iter), start
    )
    if not path.converged.all():
        warn("SEP003", f"{np.count_nonzero(~path.converged)} points of the path stopped early.")
    coefs = path.coefs.T.astype(np.float32 if single else float)
    result = (path.alphas, coefs, path.gaps)
    return (*result, list(path.sweeps_by_point)) if return_n_iter else result


# -------------------------------------------------------------------------------------------------
# Certificate of an elastic net, from the data and the coefficients alone.
#
#     f(b) = (1/2Σw) Σ w r² + p(b),        v = Σ w r (x − x̄) / Σw,   r = y − a − b·x
#
# The dual point is the residual r, or t·r with the t ≤ 1 that brings v within the thresholds of the
# ℓ₁ part. Squared error depends on the rows only through Σ w r²/Σw and v, so that moments suffice.


CLAIM = "Elastic net: no other coefficients have a smaller penalized error"
CLAIM_L1 = "Lasso: no other coefficients have a smaller penalized error"


@dataclass(frozen=True)
class Residuals:
    """‖r‖² = Σ w r²/Σw, v, the standard deviations of the columns, and the variance of y."""

    square: float
    v: Floats
    x_scale: Floats
    y_variance: float


def certify_elastic_net(
    source: Moments | Block, coef: Floats, alpha: float, options: ElasticNetOptions
) -> convex.Certificate:
    """The certificate of ``coef`` (d x k); objectives and gaps of the k targets add up.

    Without penalty (α = 0, b ≥ 0) no dual point is at hand, and only the KKT residual is shown.
    """
    certificate = replace(
        convex.joint_certificate(certify_targets(source, coef, alpha, options)),
        statistic="moments" if isinstance(source, Moments) else "the rows",
        notes=(f"{np.count_nonzero(coef)} of {coef.size} coefficients are not zero.",),
    )
    if alpha:
        return certificate
    return replace(certificate, gap=np.nan, dual=np.nan, promised=("kkt",))


def certify_targets(
    source: Moments | Block, coef: Floats, alpha: float, options: ElasticNetOptions
) -> list[convex.Certificate]:
    """The certificate of each target by itself."""
    parts = []
    for target in range(coef.shape[1]):
        b = coef[:, target]
        if isinstance(source, Moments):
            residuals = _certify_moments(source, b, target, options.fit_intercept)
        else:
            residuals = _certify_block(source, b, target, options.fit_intercept)
        parts.append(_certify_target(residuals, b, alpha, options))
    return parts


def _certify_target(
    residuals: Residuals, b: Floats, alpha: float, options: ElasticNetOptions
) -> convex.Certificate:
    v = residuals.x_scale if options.standardize else np.ones_like(residuals.x_scale)
    rho = options.l1_ratio
    # the residual enters by its length alone: as if it were the residual of a single row
    length = np.sqrt([residuals.square])
    return convex.certify_primal_dual(
        convex.Squared(),
        convex.ElasticNetPenalty(alpha * rho * v, alpha * (1.0 - rho) * v**2, options.positive),
        np.ones(1),
        length,
        length,
        b,
        residuals.v,
        claim=CLAIM_L1 if rho == 1.0 else CLAIM,
        tolerance=options.tol,
        v_scale=residuals.x_scale * np.sqrt(residuals.y_variance),
        scale=0.5 * residuals.y_variance,
        scale_of="half the variance of the target",
    )


def _certify_moments(moments: Moments, coef: Floats, target: int, fit_intercept: bool) -> Residuals:
    """From moments; the intercept is the optimal one for ``coef``."""
    m = moments if fit_intercept else moments.about_origin()
    v = (m.xy[:, target] - m.xx @ coef) / m.weight
    yy = float(m.yy[target, target]) / m.weight
    square = yy - float(coef @ (m.xy[:, target] / m.weight + v))
    scale = np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight)
    return _without_constants(Residuals(max(square, 0.0), v, scale, yy), m.x_mean)


def _certify_block(block: Block, coef: Floats, target: int, fit_intercept: bool) -> Residuals:
    """From the rows themselves, centered."""
    w = block.weights
    c = w / w.sum()
    y = block.y[:, target]
    # rows are read as they are: a second copy of sparse ones would cost more than these products
    x: Any = block.x if sparse.issparse(block.x) else DenseProducts(block.x)
    times, back = (x.dot, x.T.dot) if sparse.issparse(x) else (x.times, x.transposed_times)
    mean = np.asarray(back(c)) if fit_intercept else np.zeros(len(coef))
    if fit_intercept:
        y = y - c @ y
    r = y - (times(coef) - mean @ coef)
    v = back(c * r) - mean * float(c @ r)
    if sparse.issparse(x):
        variance = sparse_variances(x, c, mean)
    else:
        variance = column_squares(block.x, mean, c)
    residuals = Residuals(float(c @ r**2), v, np.sqrt(variance), float(c @ y**2))
    return _without_constants(residuals, mean)


def _without_constants(residuals: Residuals, mean: Floats) -> Residuals:
    """Constant columns have no gradient but rounding errors."""
    scale = zero_if_constant(residuals.x_scale, mean)
    return replace(residuals, v=np.where(scale > 0.0, residuals.v, 0.0), x_scale=scale)

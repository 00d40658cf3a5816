"""Regression of medians and other quantiles: absolute, ε-insensitive and quantile loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, optimize

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import LinearModel, one_number, reads_tables
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize import interior_point
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block
from separatrix.statistics.moments import (
    Moments,
    Preconditioner,
    column_scales,
    precondition,
    prepare,
)

#: scikit-learn's names of solvers.
SOLVERS = ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex")


@declare_parameters
class LeastAbsoluteRegressor(RegressorMixin, LinearModel):
    """Least absolute deviations, or regression with the ε-insensitive loss.

        min over b, a of Σ w max(0, |y − a − b·x| − ε)

    With ε = 0 the plane through the conditional medians: the size of an outlier has no influence,
    only its side. With ε > 0 residuals up to ε cost nothing. Another ``quantile`` τ weighs errors
    above the plane by 2τ and those below by 2(1 − τ). A linear program, solved by an interior-point
    method and simplex pivots to an exact vertex; the rows stay in memory, once.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to ε cost nothing; in the units of y.
    fit_intercept : bool, default=True
    tol : float, default=1e-9
        Duality gap, relative to the objective, that counts as solved.
    max_iter : int, default=100
        Limit of interior-point steps; twenty are usual.
    quantile : float, default=0.5
        The quantile τ of the target that the plane is to pass through, between 0 and 1.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b.
    intercept_ : float
    certificate_ : Certificate
        Duality gap, and KKT residual at the vertex.
    n_iter_ : int
        Number of interior-point steps.

    See Also
    --------
    QuantileRegressor : The quantile loss with an ℓ₁ penalty, as in scikit-learn.
    HuberRegressor : Squared error for small residuals.
    LinearSVR : The ε-insensitive loss with an ℓ₂ penalty.

    References
    ----------
    Koenker and Bassett, Regression quantiles, 1978.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = sx.LeastAbsoluteRegressor().fit(x, [1.0, 3.0, 5.0, 7.0, 90.0])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([2.]), 1.0)
    """

    _: KW_ONLY
    epsilon: float = 0.0
    fit_intercept: bool = True
    tol: float = 1e-9
    max_iter: int = 100
    quantile: float = 0.5

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        check_quantile(self.quantile)
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        claim = "Least absolute deviations" if self.quantile == 0.5 else "Quantile regression"
        options = TiltedOptions(
            "ε-insensitive regression" if self.epsilon else claim,
            high=2.0 * self.quantile,
            low=2.0 * (1.0 - self.quantile),
            epsilon=self.epsilon,
            fit_intercept=bool(self.fit_intercept),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        solution = solve_tilted(prepared.rows, prepared.moments, options)
        self._accept(solution, prepared.encoding, flat=True)
        return self


@declare_parameters
class QuantileRegressor(RegressorMixin, LinearModel):
    """Linear regression of a quantile of the target, with an ℓ₁ penalty.

        min over b, a of (1/Σw) Σ w ρ(y − a − b·x) + α ‖b‖₁,     ρ(r) = max(τ r, (τ − 1) r)

    A linear program, solved by an interior-point method and simplex pivots to an exact vertex;
    coefficients at zero are zero exactly.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile τ, between 0 and 1.
    alpha : float, default=1.0
        Weight α of the penalty, which depends on the units of X and y; 0 for none.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``, which is not penalized.
    solver : str, default="highs"
        One of scikit-learn's names; the solution is exact with any of them.
    solver_options : dict or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on the units of X.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients b.
    intercept_ : float
    certificate_ : Certificate
        Duality gap, and KKT residual at the vertex.
    n_iter_ : int
        Number of interior-point steps.

    See Also
    --------
    LeastAbsoluteRegressor : Without penalty, and with a tube of width ε.
    HuberRegressor : Robust to outliers, for the mean.

    References
    ----------
    Koenker and Bassett, Regression quantiles, 1978.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = sx.QuantileRegressor(quantile=0.9, alpha=0.0).fit(x, [1.0, 3.0, 5.0, 7.0, 10.0])
    >>> model.predict([[2.0]]).round(6)
    array([5.5])
    """

    _: KW_ONLY
    quantile: float = 0.5
    alpha: float = 1.0
    fit_intercept: bool = True
    solver: str = "highs"
    solver_options: Any = None
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        check_quantile(self.quantile)
        check_option("solver", self.solver, SOLVERS)
        if not self.alpha >= 0.0 or not np.isfinite(self.alpha):
            raise InputError(f"alpha={self.alpha!r} must be a number ≥ 0.")
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        options = TiltedOptions(
            "Quantile regression",
            high=self.quantile,
            low=1.0 - self.quantile,
            alpha=float(self.alpha),
            standardize=bool(self.standardize),
            fit_intercept=bool(self.fit_intercept),
            mean=True,
        )
        solution = solve_tilted(prepared.rows, prepared.moments, options)
        self._accept(solution, prepared.encoding, flat=True)
        return self


def check_quantile(quantile: float) -> None:
    """Refuse a level that no quantile has."""
    if not 0.0 < quantile < 1.0:
        raise InputError(f"quantile={quantile!r} must lie strictly between 0 and 1.")


# -------------------------------------------------------------------------------------------------
# Regression with the absolute, the ε-insensitive or the quantile loss, as a linear program.
#
#     min over b, a of Σ h max(0, r − ε) + l max(0, −r − ε) + Σ λⱼ|bⱼ|,     r = y − a − b·x
#
# h and l are the slopes of a row's loss above and below the tube: h = l = w for absolute
# deviations, h = τw and l = (1 − τ)w for the τ-quantile. The penalty is the loss of d further rows,
# |0 − bⱼ|. An interior-point method comes near in some twenty steps; simplex pivots finish at an
# optimal vertex. The dual variables u of either, with Zᵀu = 0 and −l ≤ u ≤ h, certify it. Rows are
# preconditioned chunk by chunk, so that memory holds the table once.


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class TiltedOptions:
    """Which loss and penalty, and how closely the program is to be solved.

    ``high`` and ``low`` are the slopes of a row of weight 1; ``alpha`` is λ by unit of weight, on
    standardized columns if ``standardize`` is set. With ``mean`` the weights add up to one.
    """

    claim: str
    high: float = 1.0
    low: float = 1.0
    epsilon: float = 0.0
    alpha: float = 0.0
    standardize: bool = False
    fit_intercept: bool = True
    mean: bool = False
    tol: float = 1e-9
    max_iter: int = 100

    def __post_init__(self) -> None:
        if not self.epsilon >= 0.0:
            raise InputError(f"epsilon={self.epsilon!r} is negative.", remedy="Use 0 or more.")


def solve_tilted(rows: Rows, moments: Moments, options: TiltedOptions) -> Solution:
    """Solve over all rows, which stay in memory."""
    preconditioner = _preconditioner(rows, moments, options)
    table = _table(rows.collect(), moments, preconditioner, options)
    beta = np.zeros(table.z.shape[1])
    dual_points, vertex, iterations, history = (
        [np.broadcast_to(0.0, len(table.y))],
        None,
        0,
        np.zeros(0),
    )
    if table.objective(beta) > 0:
        interior = interior_point.follow_central_path(
            TiltedProblem(table), beta, tol=0.01 * options.tol, max_iter=options.max_iter
        )
        vertex = optimal_vertex(
            table.z,
            table.y,
            (table.high, table.low),
            epsilon=table.epsilon,
            diagonal=interior.diagonal,
            max_pivots=20 * len(beta) + 50,
        )
        beta, iterations, history = interior.beta, interior.iterations, interior.history
        dual_points.append(table.feasible(interior.u))
        if vertex is not None:
            dual_points.append(table.feasible(vertex.u))
            if table.objective(vertex.beta) <= table.objective(beta) * (1.0 + 1e-9):
                beta = vertex.beta
    alternative = _width(table, beta) if vertex is None else vertex.alternative
    certificate = _certificate(table, preconditioner, beta, dual_points, vertex, alternative)
    certificate = replace(certificate, claim=options.claim + certificate.claim)
    _warn(certificate, alternative)
    r = preconditioner.rank
    whole = (table.start + table.unit * beta)[:, None]
    coef, intercept = preconditioner.unscale(whole[:r], whole[r:].sum(axis=0))
    if vertex is not None and options.alpha:  # rows of the penalty at their kink
        coef[vertex.rows[vertex.rows >= table.z.own] - table.z.own] = 0.0
    status = Status.SOLVED if certificate.holds else Status.LIMIT
    return Solution(coef, intercept, certificate, status, iterations, history)


def _preconditioner(rows: Rows, moments: Moments, options: TiltedOptions) -> Preconditioner:
    """Standardization alone with a penalty: its rows make dependent columns independent."""
    if not options.alpha:
        return precondition(rows, moments, fit_intercept=options.fit_intercept)
    m = moments if options.fit_intercept else moments.about_origin()
    scale = column_scales(moments, m)
    scale[scale == 0.0] = 1.0
    return Preconditioner(m.mean[: m.d], scale, None, m.mean[m.d :], options.fit_intercept)


def _table(
    block: Block, moments: Moments, preconditioner: Preconditioner, options: TiltedOptions
) -> QuantileProblem:
    """The preconditioned table; subtract the least-squares fit so that residuals lose no digits."""
    r, p = preconditioner.rank, preconditioner.rank + int(options.fit_intercept)
    extra = np.eye(r, p) if options.alpha else np.zeros((0, p))
    z = AugmentedDesign(block, preconditioner, extra)
    keep = slice(None) if z.keep is None else z.keep
    y = np.append(block.y[keep, 0] - preconditioner.y_center[0], np.zeros(len(extra)))
    w = block.weights[keep]
    if options.mean:
        w = w / w.sum()
    largest = float(np.abs(y).max())
    start = np.zeros(p)
    if options.alpha:
        m = moments if options.fit_intercept else moments.about_origin()
        cross = (preconditioner.matrix.T @ m.xy)[:, 0]
        start[:r] = np.linalg.lstsq(preconditioner.gram(moments), cross, rcond=None)[0]
    else:
        start[:r] = preconditioner.least_squares(moments)[:, 0]
    y = y - z @ start
    noise = 16 * EPS * largest
    unit = float(np.abs(y[: z.own]).mean())
    unit = unit if unit > noise else (largest or 1.0)
    w_unit = float(w.mean())
    # λⱼ|bⱼ| = (λⱼ/sⱼ)|βⱼ|
    scale = np.ones(len(extra)) if options.standardize else preconditioner.scale[: len(extra)]
    penalty = options.alpha * (float(w.sum()) / w_unit) / scale
    w = w / w_unit
    high = np.append(options.high * w, penalty)
    even = options.high == options.low
    return QuantileProblem(
        z=z,
        y=y / unit,
        high=high,
        low=high if even else np.append(options.low * w, penalty),
        epsilon=options.epsilon / unit,
        start=start,
        unit=unit,
        w_unit=w_unit,
        noise=noise / unit,
        tol=options.tol,
    )


def _width(table: QuantileProblem, beta: Floats) -> float:
    """How far a fitted value can move without error, where none has one and ε > 0; a lower bound.

    Inside the tube the plane may move until a row meets its wall. Where rows are at the wall, it
    may move away from it, unless rows of both walls hold it: a linear program over those rows.
    """
    if not table.epsilon or table.objective(beta) > 0.0:
        return 0.0
    r = table.residuals(beta)
    room = table.epsilon - np.abs(r)
    at_wall = np.flatnonzero(room <= 0.0)
    if len(at_wall):
        z = table.z[at_wall] * np.sign(r[at_wall])[:, None]
        program = optimize.linprog(-z.sum(axis=0), -z, np.zeros(len(z)), bounds=(-1.0, 1.0))
        fixed = not program.success or -program.fun <= 1e-9 * max(1.0, float(np.abs(z).sum()))
        if fixed and np.linalg.matrix_rank(z) == z.shape[1]:
            return 0.0
        return table.epsilon
    return float(room.min())


def _certificate(
    table: QuantileProblem,
    preconditioner: Preconditioner,
    beta: Floats,
    dual_points: list[Floats],
    vertex: Vertex | None,
    alternative: float,
) -> Certificate:
    """The certificate by the best dual point; u = 0 is always feasible.

    The KKT residual is measured at a vertex only: near one, u inside its box goes with residuals
    that are merely small.
    """
    value = min((table.certify(beta, u) for u in dual_points), key=lambda c: c.gap)
    end = " at a vertex" if vertex is not None else " by an interior-point method"
    notes: tuple[str, ...] = ()
    if alternative > 0.0:
        notes = ("Other coefficients have the same objective: they are not unique.",)
    return replace(
        value,
        claim=": a linear program, solved" + (end if value.primal > 0 else " without error"),
        kkt=np.nan if vertex is None else value.kkt,
        rank=preconditioner.rank,
        dependent=preconditioner.dependent,
        notes=notes,
        promised=("gap",) if vertex is None else ("gap", "kkt"),
    )


def _warn(certificate: Certificate, alternative: float) -> None:
    if certificate.dependent:
        shown = ", ".join(certificate.dependent[:5])
        shown += ", …" if len(certificate.dependent) > 5 else ""
        warn(
            "SEP001",
            f"linearly dependent columns: {shown}. Of all coefficients with the same fitted values "
            "those of minimum norm were returned.",
        )
    if not certificate.holds:
        warn("SEP003", f"{certificate}")
    elif alternative > 0.05:
        # Change of a fitted value, in mean absolute residuals, from which on a second solution is
        # warned of.
        warn(
            "SEP004",
            "several planes have the same minimal sum of losses (residuals within the tube cost "
            "nothing, an even number of rows has an interval of medians); one was returned.",
        )


# -------------------------------------------------------------------------------------------------
# The rows of a piecewise-linear regression, preconditioned chunk by chunk: never a second table.
#
# Products and Gram matrices of [z, 1] are sums over chunks of the table itself; further rows (those
# of a penalty) may follow its own.


class AugmentedDesign:
    """Rows [z, 1] of the block that have a weight, then the rows ``extra`` (m x p)."""

    def __init__(self, block: Block, preconditioner: Preconditioner, extra: Floats) -> None:
        self.block, self.preconditioner, self.extra = block, preconditioner, extra
        keep = None if block.w is None or (block.w > 0.0).all() else np.flatnonzero(block.w > 0.0)
        self.keep: Ints | None = keep
        self.own = block.n if keep is None else len(keep)
        self.shape = (self.own + len(extra), extra.shape[1])
        center, scale = preconditioner.center, preconditioner.scale
        #: Whether centering after a product costs no digits: the means are not far from zero.
        # Means, in standard deviations, up to which x·b − x̄·b has the digits of (x − x̄)·b.
        self.near_zero = preconditioner.rotation is None and bool(
            (np.abs(center) <= 16.0 * scale).all()
        )

    def _rows(self, x: Floats) -> Floats:
        z = self.preconditioner.transform(x)
        if self.shape[1] > z.shape[1]:
            z = np.column_stack([z, np.ones(len(z))])
        return z

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """(positions, rows) of all rows in turn."""
        # Values in a chunk of rows: small, since a few such arrays are alive at a time.
        step, n_done = max(64, 100_000 // max(self.shape[1], 1)), 0
        for start in range(0, self.block.n, step):
            x = self.block.dense(start, start + step)
            if self.keep is not None:
                inside = slice(*np.searchsorted(self.keep, [start, start + step]))
                x = x[self.keep[inside] - start]
            if len(x):
                yield slice(n_done, n_done + len(x)), self._rows(x)
            n_done += len(x)
        if len(self.extra):
            yield slice(n_done, n_done + len(self.extra)), self.extra

    def __matmul__(self, beta: Any) -> Floats:
        r = self.preconditioner.rank
        if self.near_zero:
            b = beta[:r] / self.preconditioner.scale
            scores = self.block.matvec(b)
            scores += beta[r:].sum() - self.preconditioner.center @ b
            if self.keep is None and not len(self.extra):
                return scores
            product = np.empty(self.shape[0])
            product[: self.own] = scores if self.keep is None else scores[self.keep]
            product[self.own :] = self.extra @ beta
            return product
        product = np.empty(self.shape[0])
        for at, z in self.chunks():
            product[at] = z @ beta
        return product

    def __getitem__(self, positions: Ints) -> Floats:
        is_own_row = positions < self.own
        selected = np.empty((len(positions), self.shape[1]))
        selected[~is_own_row] = self.extra[positions[~is_own_row] - self.own]
        rows = positions[is_own_row] if self.keep is None else self.keep[positions[is_own_row]]
        x = self.block.x[rows]
        selected[is_own_row] = self._rows(np.asarray(x.toarray() if hasattr(x, "toarray") else x))
        return selected

    @property
    def T(self) -> TransposedDesign:
        """The transposed design."""
        return TransposedDesign(self)

    def gram(self, weights: Floats) -> Floats:
        """Σ weight z zᵀ."""
        total = np.zeros((self.shape[1],) * 2)
        for at, z in self.chunks():
            weighted = z * np.sqrt(weights[at])[:, None]
            total += weighted.T @ weighted
        return total

    def sizes(self, weights: Floats) -> Floats:
        """Σ weight |z|."""
        return sum((weights[at] @ np.abs(z) for at, z in self.chunks()), np.zeros(self.shape[1]))


class TransposedDesign:
    """zᵀ, for products."""

    def __init__(self, design: AugmentedDesign) -> None:
        self.design = design

    def __matmul__(self, u: Floats) -> Floats:
        design, p = self.design, self.design.preconditioner
        if not design.near_zero:
            return sum((u[at] @ z for at, z in design.chunks()), np.zeros(design.shape[1]))
        by_row = u[: design.own]
        total = float(by_row.sum())
        if design.keep is not None:
            by_row = np.bincount(design.keep, by_row, minlength=design.block.n).astype(float)
        products = np.full(design.shape[1], total)  # the column of ones, where there is one
        products[: p.rank] = (design.block.rmatvec(by_row) - p.center * total) / p.scale
        return products + u[design.own :] @ design.extra


# -------------------------------------------------------------------------------------------------
# From near the optimum to an exact optimal vertex, for a tilted ε-insensitive loss.
#
#     f(β) = Σ h max(0, r − ε) + l max(0, −r − ε),     r = y − zβ
#
# f is piecewise linear; some vertex, where p residuals equal ±ε (0 for ε = 0) and so determine the
# p coefficients, is a minimum. At a vertex the other rows have dual variables h, −l or 0, and the p
# rows of the basis get those that make zᵀu = 0. If each of these lies within the subdifferential at
# its kink, the vertex is optimal: u is then a dual solution of the same value. If not, this is a
# simplex pivot: the row with the largest violation leaves the basis, and the ratio test along the
# edge that opens finds the row that enters. Ties are broken by a random perturbation of y far below
# the tolerance, so that the pivots cannot cycle.


#: Slopes of the loss above and below the tube, by row.
Slopes = tuple[Floats, Floats]

#: Violation of a bound on u, as a fraction of its weight, that is taken for rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class Vertex:
    """Coefficients at an optimal vertex, its rows, and dual variables u of all rows.

    ``alternative`` is the largest change of a fitted value on the way to another optimal vertex:
    0 where the solution is unique.
    """

    beta: Floats
    u: Floats
    pivots: int
    alternative: float
    rows: Ints


@dataclass
class _Basis:
    """The rows that determine a vertex; ``side`` is the sign of ε in each of their residuals."""

    rows: Ints
    side: Floats


class _PiecewiseLinear:
    """The function f with what its vertices and edges need."""

    def __init__(self, z: AugmentedDesign, y: Floats, slopes: Slopes, epsilon: float) -> None:
        self.z, self.epsilon, self.y = z, epsilon, y
        self.high, self.low = slopes
        self.perturbed = np.random.default_rng(0).uniform(-1.0, 1.0, len(y))
        # Random perturbation of y that breaks ties, in units of the mean absolute residual.
        self.perturbed *= 1e-11
        self.perturbed += y

    def weights(self, basis: _Basis) -> Floats:
        """The weights of the rows of the basis."""
        return np.asarray(0.5 * (self.high[basis.rows] + self.low[basis.rows]))

    def edges(self, basis: _Basis) -> Floats:
        """Z_B⁻¹: its columns are the edges that leave the vertex."""
        return np.asarray(linalg.inv(self.z[basis.rows], check_finite=False))

    def vertex(self, edges: Floats, basis: _Basis, y: Floats) -> Floats:
        """β with residuals ±ε at the rows of the basis."""
        return np.asarray(edges @ (y[basis.rows] - self.epsilon * basis.side))

    def dual_variables(self, edges: Floats, basis: _Basis, r: Floats) -> Floats:
        """u = w ℓ′(r) outside the basis, and what makes zᵀu = 0 inside it."""
        u = np.where(r > 0.0, self.high, -self.low) * (np.abs(r) > self.epsilon)
        u[basis.rows] = 0.0
        u[basis.rows] = -edges.T @ (self.z.T @ u)
        return u

    def bounds(self, basis: _Basis) -> tuple[Floats, Floats]:
        """The ends of the subdifferential at the kink of each row of the basis."""
        high, low = self.high[basis.rows], self.low[basis.rows]
        return np.where(basis.side > 0, 0.0, -low), np.where(basis.side < 0, 0.0, high)

    def ratio_test(
        self, basis: _Basis, leaving: int, rate: Floats, r: Floats, derivative: float
    ) -> tuple[int, float] | None:
        """Where f stops decreasing along an edge: (row, side); None if it never does.

        ``rate``, which is written to, is that of every residual's change; ``derivative`` < 0 that
        of f at the vertex, which increases by h or l times |rate| at each kink that is passed.
        """
        rate[np.delete(basis.rows, leaving)] = 0.0
        rate[np.abs(rate) <= 1e-13 * np.abs(rate).max()] = 0.0
        kinks = np.stack([r - self.epsilon, r + self.epsilon])
        row = basis.rows[leaving]
        # the kink of the leaving row lies at distance zero, up to rounding
        kinks[np.abs(kinks[:, row]).argmin() if self.epsilon else slice(None), row] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            kinks /= -rate
        kinks[:, rate == 0.0] = np.inf
        distance = kinks.ravel()
        order = np.flatnonzero((distance > 0.0) & (distance < np.inf))
        order = order[np.argsort(distance[order], kind="stable")]
        del kinks, distance
        jumps = np.where(order < len(r), self.high[order % len(r)], self.low[order % len(r)])
        jumps *= np.abs(rate[order % len(r)])
        derivatives = derivative + np.cumsum(jumps)
        stop = int(np.searchsorted(derivatives, 0.0))
        if stop == len(order):
            return None
        at = int(order[stop])
        side = 0.0 if self.epsilon == 0.0 else (1.0 if at < len(r) else -1.0)
        return at % len(r), side


def optimal_vertex(
    z: AugmentedDesign,
    y: Floats,
    slopes: Slopes,
    *,
    epsilon: float,
    diagonal: Floats,
    max_pivots: int,
) -> Vertex | None:
    """An optimal vertex near an interior solution, or None if the pivots do not reach one.

    ``slopes`` are (h, l) of every row; ``diagonal`` (boxes x n) is large for the rows whose
    residual is at a kink.
    """
    f = _PiecewiseLinear(z, y, slopes, epsilon)
    basis = _initial_basis(z, diagonal, epsilon)
    if basis is None:
        return None
    for pivots in range(max_pivots + 1):
        try:
            edges = f.edges(basis)
        except (linalg.LinAlgError, ValueError):
            return None
        r = f.perturbed - z @ f.vertex(edges, basis, f.perturbed)
        u = f.dual_variables(edges, basis, r)
        violated = _largest_violation(f, basis, u)
        if violated is None:
            beta = f.vertex(edges, basis, y)
            alternative = _alternative(f, basis, edges, u, y - z @ beta)
            return Vertex(beta, u, pivots, alternative, basis.rows)
        leaving, derivative, direction = violated
        entering = f.ratio_test(basis, leaving, direction * (z @ edges[:, leaving]), r, derivative)
        if entering is None:
            return None
        basis.rows[leaving], basis.side[leaving] = entering
    return None


def _initial_basis(z: AugmentedDesign, diagonal: Floats, epsilon: float) -> _Basis | None:
    """p independent rows of large ``diagonal``, by QR with pivoting on the weighted rows."""
    n, p = z.shape
    best = diagonal.max(axis=0)
    order = np.argsort(-best, kind="stable")
    count = 4 * p + 20
    while True:
        rows = order[: min(count, n)]
        weighted = z[rows] * np.sqrt(best[rows])[:, None]
        factor, pivot = linalg.qr(weighted.T, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diag(factor))
        if len(size) == p and size[-1] > 1e-12 * size[0] * np.sqrt(
            best[rows[pivot[p - 1]]] / best[order[0]]
        ):
            break
        if count >= n:
            return None
        count *= 4
    chosen = rows[pivot[:p]]
    side = np.zeros(p) if epsilon == 0.0 else 1.0 - 2.0 * diagonal[:, chosen].argmax(axis=0)
    return _Basis(chosen.astype(np.int64), side.astype(float))


def _largest_violation(
    f: _PiecewiseLinear, basis: _Basis, u: Floats
) -> tuple[int, float, float] | None:
    """The row of the basis with u furthest out of bounds: (position, derivative of f, direction).

    The direction is the sign in which its residual changes.
    """
    low, high = f.bounds(basis)
    inside, w = u[basis.rows], f.weights(basis)
    over, under = (inside - high) / w, (low - inside) / w
    violation = np.maximum(over, under)
    leaving = int(violation.argmax())
    if violation[leaving] <= SLACK:
        return None
    # moving against the edge of Z_B⁻¹ raises the row's residual
    if over[leaving] >= under[leaving]:
        return leaving, float(high[leaving] - inside[leaving]), 1.0
    return leaving, float(inside[leaving] - low[leaving]), -1.0


def _alternative(f: _PiecewiseLinear, basis: _Basis, edges: Floats, u: Floats, r: Floats) -> float:
    """The largest change of a fitted value along an edge on which f is constant."""
    low, high = f.bounds(basis)
    inside, slack = u[basis.rows], SLACK * f.weights(basis)
    kinks = np.stack([r - f.epsilon, r + f.epsilon])
    kinks[:, basis.rows] = np.nan  # rows of the basis stay at their kinks, or leave them at once
    kinks[np.abs(kinks) <= 1e-9] = 0.0
    value = 0.0
    for direction, constant in ((1.0, high - inside <= slack), (-1.0, inside - low <= slack)):
        for leaving in np.flatnonzero(constant):
            rate = direction * (f.z @ edges[:, leaving])
            rate[np.abs(rate) <= 1e-9] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = -kinks / rate
            ahead = distance[(distance >= 0) & np.isfinite(distance)]
            value = max(value, float(ahead.min(initial=np.inf)) * float(np.abs(rate).max()))
    return value


# -------------------------------------------------------------------------------------------------
# A piecewise-linear regression in scaled units: its objective, dual points and certificate.
#
#     P(β) = Σ h max(0, r − ε) + l max(0, −r − ε),  r = y − Zβ;     D(u) = u·y − Σ ε|u|
#
# for every u with Zᵀu = 0 and −l ≤ u ≤ h. P − D = Σ [loss(r) + ε|u| − u r] + u·Zβ is a sum of
# differences that are not negative.


@dataclass(frozen=True)
class QuantileProblem:
    """Rows ``z`` with least-squares residuals, of mean size 1, as targets ``y``.

    ``high`` and ``low`` are the slopes of each row's loss above and below the tube; rows of a
    penalty, from ``z.own`` on, occur with ε = 0 only. ``start`` are the least-squares
    coefficients, ``unit`` and ``w_unit`` the units of residuals and weights, ``noise`` is the
    rounding error of a residual.
    """

    z: AugmentedDesign
    y: Floats
    high: Floats
    low: Floats
    epsilon: float
    start: Floats
    unit: float
    w_unit: float
    noise: float
    tol: float

    def residuals(self, beta: Floats) -> Floats:
        """y − zβ, exactly at a kink of the loss where they are within rounding of it."""
        r = self.y - self.z @ beta
        at_kink = np.abs(np.abs(r) - self.epsilon) <= self.noise
        return np.where(at_kink, np.sign(r) * self.epsilon, r)

    def losses(self, r: Floats) -> Floats:
        """The loss of every row."""
        excess = np.maximum(np.abs(r) - self.epsilon, 0.0)
        return np.asarray(np.where(r > 0.0, self.high, self.low) * excess)

    def objective(self, beta: Floats) -> float:
        """The sum of the losses."""
        return float(self.losses(self.residuals(beta)).sum())

    def feasible(self, u: Floats) -> Floats:
        """The dual point u, made feasible: zᵀu = 0 first, then scaled into its boxes."""
        inside = np.maximum(np.minimum(self.high - u, u + self.low), 0.0)
        inside += 1e-12 * (self.high + self.low)
        correction = np.linalg.lstsq(self.z.gram(inside), self.z.T @ u, rcond=None)[0]
        u = u - inside * (self.z @ correction)
        outside = np.maximum(u / self.high, -u / self.low)
        return np.asarray(u / max(1.0, float(outside.max(initial=0.0))))

    def _certify_rows(
        self, r: Floats, u: Floats, high: Floats, low: Floats
    ) -> tuple[float, float, float]:
        """Loss, gap, and how far u is from ∂loss(r) relative to the weight, of some rows."""
        losses = np.where(r > 0.0, high, low) * np.maximum(np.abs(r) - self.epsilon, 0.0)
        excess = np.maximum(losses + self.epsilon * np.abs(u) - u * r, 0.0)
        most = np.where(r >= self.epsilon, high, 0.0)
        least = np.where(r <= -self.epsilon, -low, 0.0)
        least = np.where(r > self.epsilon, high, least)
        most = np.where(r < -self.epsilon, -low, most)
        off = np.maximum(np.maximum(u - most, least - u), 0.0) / (0.5 * (high + low))
        return float(losses.sum()), float(excess.sum()), float(np.max(off, initial=0.0))

    def certify(self, beta: Floats, u: Floats) -> Certificate:
        """Certificate of β by a feasible dual point, in the units of y and of the weights."""
        r, balance = self.residuals(beta), self.z.T @ u
        primal, gap, off = 0.0, float(np.abs(balance * beta).sum()), 0.0
        for start in range(0, len(r), interior_point.SLICE_ROWS):
            rows = slice(start, start + interior_point.SLICE_ROWS)
            certificates = self._certify_rows(r[rows], u[rows], self.high[rows], self.low[rows])
            primal, gap, off = (
                primal + certificates[0],
                gap + certificates[1],
                max(off, certificates[2]),
            )
        unit = self.unit * self.w_unit
        # Zᵀu = 0 relative to its terms
        weight = self.high + self.low
        weight *= 0.5
        size = self.z.sizes(weight)
        imbalance = np.abs(balance) / np.maximum(size, np.finfo(float).tiny)
        return Certificate(
            "",
            primal=primal * unit,
            dual=(primal - gap) * unit,
            gap=gap * unit,
            kkt=float(max(off, imbalance.max(initial=0.0))),
            tolerance=self.tol,
            rounding=self.noise * float(self.high.sum() + self.low.sum()) * unit,
        )


class TiltedProblem(interior_point.EpsilonInsensitiveProblem):
    """The program of a table for the interior-point method: boxes from −l to h."""

    z: AugmentedDesign  # type: ignore[assignment]

    def __init__(self, table: QuantileProblem) -> None:
        self.table, self.z, self.y = table, table.z, table.y
        self.epsilon = table.epsilon
        high, low = table.high, table.low
        self.sign = np.array([[1.0]]) if self.epsilon == 0.0 else np.array([[1.0], [-1.0]])
        self.upper = (high + low)[None, :] if self.epsilon == 0.0 else np.stack([high, low])
        self.offset = low if self.epsilon == 0.0 else np.zeros_like(low)

    def weighted_gram(self, weights: Floats) -> Floats:
        """Σ weight z zᵀ."""
        return self.z.gram(weights)

    def objective(self, beta: Floats) -> float:
        """The sum of the losses."""
        return self.table.objective(beta)

    def start(self, beta: Floats) -> interior_point.PrimalDualPoint:
        """u = 0, inside every box, with multipliers that match the costs."""
        cost = self.reduced_cost(beta)
        shift = max(float(np.abs(cost).mean()), 1e-3)
        v = self.offset[None, :] + 0.0
        if self.epsilon:
            v = np.tile(0.5 * np.minimum(self.upper[0], self.upper[1]), (2, 1))
        p, q = np.maximum(cost, 0.0) + shift, np.maximum(-cost, 0.0) + shift
        return interior_point.PrimalDualPoint(v, self.upper - v, p, q, beta)

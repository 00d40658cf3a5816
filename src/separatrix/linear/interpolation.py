"""Interpolation: the polynomial through all points of one column.

    p(x) = Σ vⱼ yⱼ / (x − xⱼ)  /  Σ vⱼ / (x − xⱼ),     vⱼ = 1 / ∏_{k ≠ j} (xⱼ − xₖ)

No system is solved, and no coefficient of a power is computed. The weights v differ by more than
numbers can hold where the points are many; they are computed as logarithms of differences in units
of a quarter of the range, which keeps those of n points of the Chebyshev distribution alike, and
divided by the largest. Beyond the points both sums cancel, and so they do between points of a large
Lebesgue constant; there the first form takes their place, whose errors are those of targets that
differ in the last digits:

    p(x) = ∏ₖ (x − xₖ) · Σ vⱼ yⱼ / (x − xⱼ)
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.estimators.base import RowsEstimator, is_flat, numeric, reads_tables
from separatrix.formula import nodes
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread, parallel_map, pieces

EPS = float(np.finfo(float).eps)
#: Points beyond which the n² logarithms of the Lebesgue constant take more than seconds.
MOST_POINTS = 2000
#: Lebesgue constants above it are warned about: two digits of the targets are lost.
LARGE = 100.0


@declare_parameters
class PolynomialInterpolation(RegressorMixin, RowsEstimator):
    """The polynomial of least degree through all points, of one column.

        p(x) = Σ vⱼ yⱼ / (x − xⱼ)  /  Σ vⱼ / (x − xⱼ),     vⱼ = 1 / ∏_{k ≠ j} (xⱼ − xₖ)

    Meant for targets without noise at points that may be chosen. Everywhere between the points p
    is within (1 + Λ) times the error of the best polynomial of its degree, and an error of the
    targets is multiplied by Λ at most, the Lebesgue constant. It depends on the points alone:
    about (2/π) log n at those of Chebyshev (:meth:`chebyshev_points`), 2ⁿ / (e n log n) at equally
    spaced ones, where p oscillates near the ends (Runge's phenomenon; SEP029).

    Attributes
    ----------
    nodes_ : ndarray of shape (n,)
        The points x, ascending and distinct.
    values_ : ndarray of shape (n, n_targets)
        Their targets, which p takes exactly.
    weights_ : ndarray of shape (n,)
        The barycentric weights v, divided by the largest.
    degree_ : int
        n − 1, the degree that p has at most.
    lebesgue_constant_ : float
        Λ, the largest of Σ |ℓⱼ(x)| over the range of the points, ℓⱼ being one at xⱼ and zero at the
        others; from the one maximum between every two neighbors. Infinite beyond 10³⁰⁸.
    lebesgue_point_ : float
        Where it is attained.
    certificate_ : Certificate
        That p is a polynomial: its weights are orthogonal to all of degree n − 2, to rounding.

    See Also
    --------
    PolynomialRegression : Polynomials of low degree, through no point exactly.
    AdditiveRegressor : A smooth curve, where the targets have noise.

    Notes
    -----
    Every row is met exactly, so weights of rows do not matter, except that rows of weight zero are
    left out. Rows with the same x are one point if their targets agree, and are refused otherwise.

    References
    ----------
    J.-P. Berrut and L. N. Trefethen, Barycentric Lagrange interpolation, SIAM Review 46, 2004.

    N. J. Higham, The numerical stability of barycentric Lagrange interpolation, IMA Journal of
    Numerical Analysis 24, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = sx.PolynomialInterpolation.chebyshev_points(30, -1.0, 1.0)
    >>> model = sx.PolynomialInterpolation().fit(x[:, None], np.exp(x))
    >>> bool(abs(model.predict([[0.3]])[0] - np.exp(0.3)) < 1e-14)
    True
    >>> round(model.lebesgue_constant_, 2)
    3.11
    >>> sx.PolynomialInterpolation().fit([[0], [1], [3]], [0, 1, 9]).predict([[2], [10]]).round(9)
    array([  4., 100.])
    """

    _multi_output = True
    _sparse_ok = False
    flat_: bool = field(init=False)
    #: Logarithm of the largest weight, differences in units of a quarter of the range.
    log_size_: float = field(init=False)

    @staticmethod
    def chebyshev_points(n: int, low: float, high: float) -> Floats:
        """N points from ``low`` to ``high``, both included, where interpolation is stable.

        The extrema of a Chebyshev polynomial, (low + high)/2 − (high − low)/2 · cos(π j/(n − 1)).
        """
        if n < 2 or not low < high:
            raise InputError(f"n={n} and {low} … {high} must be 2 or more, and an interval.")
        # sines of ± the same angle are opposite: the points are symmetric to the last digit
        angles = np.pi * (2.0 * np.arange(n) - (n - 1)) / (2.0 * (n - 1))
        return np.asarray((low + high) / 2.0 + (high - low) / 2.0 * np.sin(angles))

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._training_rows(column(X), y, sample_weight)
        prepared = prepare(rows)
        numeric(prepared.targets)
        block = prepared.rows.collect()
        x = block.dense()
        if x.shape[1] != 1:
            raise InputError(
                f"PolynomialInterpolation takes one column of numbers; there are {x.shape[1]} "
                "in the design.",
                remedy="Choose one column, or use PolynomialRegression or AdditiveRegressor.",
            )
        some = block.weights > 0.0
        self.nodes_, self.values_ = distinct_points(x[some, 0], block.y[some])
        self.encoding_, self.flat_ = prepared.encoding, is_flat(rows, y)
        self.degree_ = len(self.nodes_) - 1
        log_weights = log_barycentric_weights(self.nodes_)
        self.log_size_ = float(log_weights.max())
        signs = np.where(np.arange(len(self.nodes_))[::-1] % 2, -1.0, 1.0)
        self.weights_ = signs * np.exp(log_weights - self.log_size_)
        log_constant, self.lebesgue_point_ = log_lebesgue_constant(self.nodes_, log_weights)
        with np.errstate(over="ignore"):
            self.lebesgue_constant_ = float(np.exp(log_constant))
        self.certificate_ = certificate(self.nodes_, self.weights_, self.lebesgue_constant_)
        if not self.lebesgue_constant_ <= LARGE:
            warn(
                "SEP029",
                f"the Lebesgue constant of these {len(self.nodes_)} points is "
                f"{self.lebesgue_constant_:.2g}: between them, near x = "
                f"{self.lebesgue_point_:.4g}, errors of the targets are multiplied by as much.",
            )
        return self

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The value of the polynomial; at a training point its target exactly."""
        check_is_fitted(self)
        return self._evaluate(X, self.values_)

    @on_one_blas_thread
    def derivative(self, X: Any, order: int = 1) -> Floats:
        """The derivative of the polynomial, of any order.

        p′ has a lower degree than p, so that it is the polynomial through its own values at the
        points: those are differences of the targets times ratios of the weights.
        """
        check_is_fitted(self)
        if not isinstance(order, int | np.integer) or order < 0:
            raise InputError(f"order={order!r} must be a whole number, 0 or more.")
        values = self.values_
        for _ in range(order):
            values = derivative_at_nodes(self.nodes_, values)
        return self._evaluate(X, values)

    def _evaluate(self, X: Any, values: Floats) -> Floats:
        """The polynomial through other values at the same points."""
        node = self._node(values)
        result: Floats = nodes.Evaluation(nodes.GivenRows(column(X)))(node).array
        return result[:, 0] if self.flat_ and result.shape[1] == 1 else result

    def _node(self, values: Floats) -> nodes.Barycentric:
        x = nodes.design_of(self)
        stable = self.lebesgue_constant_ <= LARGE
        return nodes.Barycentric(x, self.nodes_, self.weights_, self.log_size_, values, stable)

    def formula(self) -> nodes.NumberFormula:
        """The barycentric sum over the points."""
        count = self.values_.shape[1]
        flat = self.flat_ and count == 1
        return nodes.regression(self._node(self.values_), self, flat=flat, count=count)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags


def column(X: Any) -> Any:
    """A vector of numbers as one column; anything else as it is."""
    if isinstance(X, Rows) or getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        return X
    values = np.asarray(X)
    return values[:, None] if values.ndim == 1 else X


def distinct_points(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The distinct x in ascending order, and their targets, which must agree."""
    if not len(x):
        raise InputError("There are no rows of positive weight.")
    points, first, which = np.unique(x, return_index=True, return_inverse=True)
    which = which.ravel()
    values = y[first]
    # Targets that agree but for their last digits are the same number, computed twice.
    differ = np.abs(y - values[which]) > 8.0 * EPS * np.abs(y).max(axis=0)
    if differ.any():
        row = int(np.flatnonzero(differ.any(axis=1))[0])
        raise InputError(
            f"Two rows have x = {x[row]:.6g} and different targets: no function passes "
            "through both.",
            remedy="Average them first, or use PolynomialRegression or AdditiveRegressor, which "
            "pass near noisy targets.",
        )
    if len(points) > MOST_POINTS:
        raise InputError(
            f"{len(points):,} points are too many to interpolate (up to {MOST_POINTS:,}).",
            remedy="Use AdditiveRegressor or NadarayaWatson.",
        )
    return points, values


def unit_of(points: Floats) -> float:
    """A quarter of the range: products of differences in it neither grow nor vanish."""
    return float((points[-1] - points[0]) / 4.0) if len(points) > 1 else 1.0


def log_barycentric_weights(points: Floats) -> Floats:
    """log |vⱼ| = −Σ log |xⱼ − xₖ|, differences in units of a quarter of the range."""
    difference = np.abs(points[:, None] - points) / unit_of(points)
    np.fill_diagonal(difference, 1.0)
    return np.asarray(-np.log(difference).sum(axis=1))


def derivative_at_nodes(points: Floats, values: Floats) -> Floats:
    """p′(xᵢ) = Σ_{j ≠ i} (vⱼ/vᵢ) (yⱼ − yᵢ) / (xᵢ − xⱼ)."""
    log_weights, index = log_barycentric_weights(points), np.arange(len(points))
    slopes = np.empty(values.shape)
    for i, x in enumerate(points):
        others = index != i
        sign = np.where((index[others] - i) % 2, -1.0, 1.0)
        with np.errstate(over="ignore"):
            ratio = sign * np.exp(log_weights[others] - log_weights[i]) / (x - points[others])
        slopes[i] = ratio @ (values[others] - values[i])
    return slopes


# -------------------------------------------------------------------------------------------------
# The Lebesgue constant: the largest value of λ(x) = ∏ₖ |x − xₖ| · Σ |vⱼ| / |x − xⱼ|.
#
# Between two neighbors λ has one maximum: a golden-section search finds it in all of these
# intervals at a time. The logarithm of λ is computed, which no number of points overflows.


GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def log_lebesgue_constant(points: Floats, log_weights: Floats) -> tuple[float, float]:
    """The logarithm of the Lebesgue constant, and where it is attained."""
    if len(points) < 2:
        return 0.0, float(points[0])
    unit = unit_of(points)

    def log_lebesgue(x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(x[:, None] - points) / unit)
        terms = log_weights - size
        largest = terms.max(axis=1)
        found = size.sum(axis=1) + largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        return np.where(np.isfinite(found), found, 0.0)  # at a point, where it is one

    def of_piece(part: slice) -> tuple[float, float]:
        low, high = points[:-1][part], points[1:][part]
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        fa, fb = log_lebesgue(a), log_lebesgue(b)
        # The interval shrinks by 0.618²⁵ < 10⁻⁵, and a maximum is known to the square of that.
        for _ in range(25):
            left = fa > fb
            low, high = np.where(left, low, a), np.where(left, b, high)
            new = np.where(left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
            value = log_lebesgue(new)
            a, b = np.where(left, new, b), np.where(left, a, new)
            fa, fb = np.where(left, value, fb), np.where(left, fa, value)
        best = np.maximum(fa, fb)
        at = int(best.argmax())
        return float(best[at]), float(a[at] if fa[at] >= fb[at] else b[at])

    best, at = max(parallel_map(of_piece, pieces(len(points) - 1, 64)), key=lambda found: found[0])
    return (best, at) if best > 0.0 else (0.0, float(points[0]))


# -------------------------------------------------------------------------------------------------
# The certificate. Any weights other than zero give a rational function through all points; it is
# the polynomial if and only if the weights are orthogonal to all polynomials of degree n − 2 on the
# points, a condition that their products do not enter.


def certificate(points: Floats, weights: Floats, constant: float) -> Certificate:
    """How nearly the weights are orthogonal to the Chebyshev polynomials of degree up to n − 2."""
    n = len(points)
    center = (points[0] + points[-1]) / 2.0
    t = np.clip((points - center) / (2.0 * unit_of(points)), -1.0, 1.0)
    before, power, worst = np.ones(n), t, 0.0
    for _ in range(n - 1):
        worst = max(worst, abs(float(weights @ before)))
        before, power = power, 2.0 * t * power - before
    return Certificate(
        f"The polynomial of degree {n - 1} at most through all {n} points, the only one: its "
        "barycentric weights are orthogonal to all polynomials of lower degree",
        kkt=worst / float(np.abs(weights).sum()),
        # Rounding of t, times the slopes of Chebyshev polynomials, which are up to n².
        tolerance=4.0 * n**2 * EPS,
        promised=("kkt",),
        notes=(f"Lebesgue constant {constant:.4g}.",),
    )

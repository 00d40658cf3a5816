"""Classification by the smallest ball or ellipsoid around each class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.metrics import Euclidean
from separatrix.estimators.base import RowsEstimator, reads_tables
from separatrix.estimators.class_labels import coded_rows
from separatrix.formula import nodes
from separatrix.hypotheses.claims import Claims
from separatrix.hypotheses.loops import weighted_steps
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import to_array
from separatrix.statistics.moments import Standardizer
from separatrix.threads import parallel_map, pieces

# -------------------------------------------------------------------------------------------------
# What classifiers by enclosing sets share: one set around all rows of each class.


#: Relative excess at which a point on the boundary is still inside: rounding errors.
ROUNDING = 1e-9


class EnclosingClassifier(ClassifierMixin, Claims, RowsEstimator):
    """Standardized rows, a set around each class, and how many rows each set contains."""

    _sparse_ok = False
    standardizer_: Standardizer

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        coded = coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        x = to_array(coded.x)
        self.standardizer_ = self._standardizer(x, coded.w)
        z = self.standardizer_.transform(x)
        self.concepts_ = self.classes_
        labels = range(len(self.classes_))
        self._fit_classes(x, z, [np.flatnonzero(coded.codes == k) for k in labels])
        inside = self._contains(z)
        members = coded.codes[:, None] == np.arange(len(self.classes_))
        self.counts_ = np.stack(
            [coded.w @ (inside & members), coded.w @ members, coded.w @ (inside & ~members)], axis=1
        )
        self._set_labels()
        return self

    def _standardizer(self, x: Floats, w: Floats) -> Standardizer:
        return Standardizer.from_rows(x, w)

    @abstractmethod
    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        """Set the fitted attributes from the rows of each class, given and standardized."""

    @abstractmethod
    def _class_margins(self, z: Floats) -> Floats:
        """Margins of standardized rows, positive inside (n x K)."""

    def _contains(self, z: Floats) -> NDArray[np.bool_]:
        return self._class_margins(z) >= -ROUNDING

    def _margins(self, X: Any) -> Floats:
        return self._class_margins(self._standardize(X))

    def _claims(self, X: Any) -> NDArray[np.bool_]:
        return self._contains(self._standardize(X))

    def _standardize(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.asarray(self.standardizer_.transform(x))

    def _center_text(self, center: Floats, most: int = 4) -> str:
        """The center, by the names of the columns; of many, the first."""
        named = list(zip(self.encoding_.names, center.tolist(), strict=True))
        shown = ", ".join(f"{name} = {value:.4g}" for name, value in named[:most])
        return shown + (", …" if len(named) > most else "")

    @abstractmethod
    def _margin_nodes(self, z: nodes.Node) -> nodes.Node:
        """The margins of standardized rows."""

    def formula(self) -> nodes.ClassFormula:
        """The class that claims the row by the largest margin."""
        z = nodes.standardize_rows(self.standardizer_, nodes.design_of(self))
        margins = self._margin_nodes(z)
        marks = nodes.Marks(margins, -ROUNDING, inclusive=True) if self.reject else None
        return self._formula_of(margins, marks)


# -------------------------------------------------------------------------------------------------
# Classification by the smallest enclosing ball of each class.


@declare_parameters
class BallClassifier(EnclosingClassifier):
    """The smallest ball around each class; a row belongs where it is deepest inside.

        minimize over c, R   R   subject to   ‖xᵢ − c‖ ≤ R   for all rows of the class

    The ball is unique. A few support points prove it: they are all R away from the center, which is
    a weighted mean of them. Score of a class: R − ‖x − c‖, positive inside.

    Parameters
    ----------
    standardize : bool, default=True
        Standardize the columns first, so that their units do not matter: the ball is then an
        ellipsoid along the axes in the units of the table.
    reject : bool, default=False
        Whether rows are rejected that no ball or several balls contain.
    reject_label : str, number or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    centers_ : ndarray of shape (K, d)
        Centers, in the units of the table.
    radii_ : ndarray of shape (K,)
        Radii, of standardized columns if ``standardize``.
    support_points_ : list of ndarray
        For each class the rows on the sphere that determine it, in the units of the table.
    support_weights_ : list of ndarray
        Their weights, positive with sum 1, of which the center is the mean.
    standardizer_ : Standardizer
        Means and scales of the columns; 0 and 1 without ``standardize``.
    certificate_ : Certificate
        Σ R² over the classes, and its dual value from the support points.

    See Also
    --------
    EllipsoidClassifier : The ellipsoid of least volume.
    BoxClassifier : Boxes, with the fewest errors.
    OneClassSVM : A boundary around most rows.

    References
    ----------
    K. Fischer, B. Gärtner, M. Kutz, Fast smallest-enclosing-ball computation in high dimensions,
    2003.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [7.0, 7.0], [9.0, 7.0]]
    >>> model = sx.BallClassifier(standardize=False, reject=True).fit(X, list("aaabb"))
    >>> model.centers_.tolist(), model.radii_.tolist()
    ([[1.0, 0.0], [8.0, 7.0]], [1.0, 1.0])
    >>> model.predict([[1.0, 1.0], [4.0, 4.0]]).tolist()
    ['a', 'reject']
    """

    standardize: bool = True
    _: KW_ONLY
    reject: bool = False
    reject_label: Any = None

    def _standardizer(self, x: Floats, w: Floats) -> Standardizer:
        if self.standardize:
            return super()._standardizer(x, w)
        return Standardizer(np.zeros(x.shape[1]), np.ones(x.shape[1]))

    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        balls = [enclosing_ball(z[row]) for row in rows]
        centers = np.array([ball.center for ball in balls])
        self.centers_ = self.standardizer_.inverse_transform(centers)
        self.radii_ = np.sqrt([ball.squared_radius for ball in balls])
        self.support_points_ = [x[row[ball.support]] for row, ball in zip(rows, balls, strict=True)]
        self.support_weights_ = [ball.weights for ball in balls]
        primal = sum(ball.squared_radius for ball in balls)
        gap = sum(ball.gap for ball in balls)
        self.certificate_ = Certificate(
            "No smaller ball contains all rows of a class: its support points show it",
            primal=primal,
            dual=primal - gap,
            gap=gap,
            tolerance=1e-12,
            promised=("gap",),
        )

    def _class_margins(self, z: Floats) -> Floats:
        centers = self.standardizer_.transform(self.centers_)
        return np.stack(
            [
                radius - np.sqrt(squared_distances(z, center))
                for center, radius in zip(centers, self.radii_, strict=True)
            ],
            axis=1,
        )

    def _texts(self) -> list[str]:
        unit = " standard deviations" if self.standardize else ""
        return [
            f"within {radius:.4g}{unit} of {self._center_text(center)}"
            for center, radius in zip(self.centers_, self.radii_, strict=True)
        ]

    def _margin_nodes(self, z: nodes.Node) -> nodes.Node:
        centers = self.standardizer_.transform(self.centers_)
        distances = nodes.Distances(z, centers, Euclidean())
        names = nodes.score_names([*self.concepts_.tolist(), ""], "margin")[: len(centers)]
        radii = np.asarray(self.radii_)
        return nodes.Affine(distances, -np.eye(len(centers)), radii, names=names)


# -------------------------------------------------------------------------------------------------
# Classification by the ellipsoid of least volume around each class.


@declare_parameters
class EllipsoidClassifier(EnclosingClassifier):
    """The ellipsoid of least volume around each class; a row belongs where it is deepest inside.

        minimize over c, S   ½ ln det S   subject to   (xᵢ − c)ᵀ S⁻¹ (xᵢ − c) ≤ 1

    for all rows of the class: the Löwner–John ellipsoid, which is unique and moves with any affine
    map of the columns, so that units do not matter. Khachiyan's method with away steps finds the
    rows that support it, and Newton's method their weights. A class in a plane or on a line, or
    with fewer rows than columns, has the ellipsoid of its affine span. Score of a class:
    1 − √((x − c)ᵀ S⁻¹ (x − c)), positive inside; off the span at most 0, less the distance from it.

    Parameters
    ----------
    reject : bool, default=False
        Whether rows are rejected that no ellipsoid or several ellipsoids contain.
    reject_label : str, number or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    centers_ : ndarray of shape (K, d)
        Centers c, in the units of the table.
    shapes_ : ndarray of shape (K, d, d)
        Matrices S, in the units of the table, of the rank of the span.
    ranks_ : ndarray of shape (K,)
        Dimensions of the span of each class.
    support_points_ : list of ndarray
        For each class the rows on the boundary that determine it, in the units of the table.
    support_weights_ : list of ndarray
        Their weights, positive with sum 1: the mean is c, and the covariance S divided by the rank.
    standardizer_ : Standardizer
        Means and scales of the columns.
    certificate_ : Certificate
        Σ ½ ln det S over the classes, of standardized columns, and its dual value.

    See Also
    --------
    BallClassifier : The smallest ball.
    BoxClassifier : Boxes, with the fewest errors.
    QuadraticDiscriminantAnalysis : Ellipsoids of the density of each class.

    References
    ----------
    L. G. Khachiyan, Rounding of polytopes in the real number model of computation, 1996.

    M. J. Todd, E. A. Yıldırım, On Khachiyan's algorithm for the computation of minimum-volume
    enclosing ellipsoids, 2007.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [8.0, 8.0], [9.0, 9.0]]
    >>> model = sx.EllipsoidClassifier(reject=True).fit(X, list("aaaabb"))
    >>> model.shapes_[0].round(12).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    >>> model.ranks_.tolist()
    [2, 1]
    >>> model.predict([[0.5, 1.0], [1.0, 1.0], [8.5, 8.5]]).tolist()
    ['a', 'reject', 'b']
    """

    ellipsoids_: list[SpannedEllipsoid] = field(init=False)

    _: KW_ONLY
    reject: bool = False
    reject_label: Any = None

    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        self.ellipsoids_ = [spanned_ellipsoid(z[row]) for row in rows]
        pairs = list(zip(rows, self.ellipsoids_, strict=True))
        scale = self.standardizer_.scale
        centers = np.array([ellipsoid.center for ellipsoid in self.ellipsoids_])
        self.centers_ = self.standardizer_.inverse_transform(centers)
        self.shapes_ = np.array(
            [scale[:, None] * ellipsoid.shape * scale for ellipsoid in self.ellipsoids_]
        )
        self.ranks_ = np.array([ellipsoid.rank for ellipsoid in self.ellipsoids_])
        self.support_points_ = [x[row[ellipsoid.support]] for row, ellipsoid in pairs]
        self.support_weights_ = [ellipsoid.weights for ellipsoid in self.ellipsoids_]
        self.certificate_ = self._certificate()

    def _certificate(self) -> Certificate:
        primal = sum(ellipsoid.primal for ellipsoid in self.ellipsoids_)
        dual = sum(ellipsoid.dual for ellipsoid in self.ellipsoids_)
        flat = [
            f"Class {label!r} spans {ellipsoid.rank} of {len(ellipsoid.center)} dimensions."
            for label, ellipsoid in zip(self.classes_.tolist(), self.ellipsoids_, strict=True)
            if ellipsoid.rank < len(ellipsoid.center)
        ]
        return Certificate(
            "No ellipsoid of smaller volume contains all rows of a class",
            primal=primal,
            dual=dual,
            gap=primal - dual,
            tolerance=1e-9,
            # a difference of logarithms is a ratio of volumes, whatever the logarithms are
            scale=float(max(self.ranks_.sum(), 1)),
            scale_of="one for each dimension of a logarithm of volumes",
            notes=tuple(flat[:12]),
            promised=("gap",),
        )

    def _class_margins(self, z: Floats) -> Floats:
        margins = []
        for ellipsoid in self.ellipsoids_:
            length, off = ellipsoid.lengths(z)
            outside = np.minimum(1.0 - length, 0.0) - off
            margins.append(np.where(off > ROUNDING, outside, 1.0 - length))
        return np.stack(margins, axis=1)

    def _texts(self) -> list[str]:
        return [f"ellipsoid around {self._center_text(center)}" for center in self.centers_]

    def _margin_nodes(self, z: nodes.Node) -> nodes.Node:
        return nodes.Joined(tuple(EllipsoidMargin(z, one) for one in self.ellipsoids_))


# -------------------------------------------------------------------------------------------------
# The smallest enclosing ball, exactly.
#
#     primal  minimize over c      R² = max ‖xᵢ − c‖²
#     dual    maximize over λ      Σ λᵢ ‖xᵢ − c(λ)‖²,   c(λ) = Σ λᵢ xᵢ,   λ ≥ 0, Σ λ = 1
#
# The dual is a concave quadratic. An active set of affinely independent points carries λ; the
# farthest point joins it, and λ moves toward the weights of the circumcenter, where all of the set
# are equally far. A weight that reaches zero on the way leaves. The dual grows with every step, so
# that the method ends, at a ball whose support points prove it: they are all R away from a center
# in their convex hull.


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class EnclosingBall:
    """Center, squared radius, and the rows on the sphere with convex weights of the center.

    ``dual`` is the value of the dual at ``weights``, no more than the least squared radius.
    """

    center: Floats
    squared_radius: float
    support: Ints
    weights: Floats
    dual: float
    iterations: int

    @property
    def gap(self) -> float:
        """By how much the squared radius may exceed the least one."""
        return max(self.squared_radius - self.dual, 0.0)


def enclosing_ball(x: Floats) -> EnclosingBall:
    """The smallest ball around the rows of ``x``."""
    origin = (x.min(axis=0) + x.max(axis=0)) / 2
    first = int(squared_distances(x, origin).argmax())
    support, weights = np.array([first]), np.ones(1)
    center = x[first].copy()
    best: tuple[float, Ints, Floats, Floats] | None = None
    limit = 20 * (x.shape[1] + 2) + 100
    iterations = 0
    while iterations < limit:
        iterations += 1
        distances = squared_distances(x, center)
        far = int(distances.argmax())
        radius = float(distances[far])
        if best is None or radius < best[0]:
            best = (radius, support, weights, center)
        dual = float(weights @ squared_distances(x[support], center))
        if radius - dual <= 8 * EPS * radius or far in support:
            break
        support, weights = _join_support(x, np.append(support, far), np.append(weights, 0.0))
        center = weights @ x[support]
    assert best is not None
    radius, support, weights, center = best
    order = np.lexsort(x[support].T)
    support, weights = support[order], weights[order]
    dual = float(weights @ squared_distances(x[support], weights @ x[support]))
    return EnclosingBall(center, radius, support, weights, min(dual, radius), iterations)


def squared_distances(x: Floats, center: Floats) -> Floats:
    """‖x − c‖² of every row."""
    squares = np.empty(len(x))

    def of_piece(rows: slice) -> None:
        difference = x[rows] - center
        squares[rows] = np.einsum("ij,ij->i", difference, difference)

    parallel_map(of_piece, pieces(len(x), 4096))
    return squares


def _join_support(x: Floats, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """The dual optimum on the face of some points, the last of which has just joined."""
    while len(support) > 1:
        direction, bounded = _toward(x[support], weights)
        falling = direction < 0.0
        steps = np.full(len(support), np.inf)
        steps[falling] = weights[falling] / -direction[falling]
        step = float(steps.min())
        if bounded and step >= 1.0:
            weights = weights + direction
            break
        if not np.isfinite(step):
            break
        leaving = int(steps.argmin())
        weights = np.maximum(weights + step * direction, 0.0)
        support, weights = np.delete(support, leaving), np.delete(weights, leaving)
    return support, weights / weights.sum()


def _toward(points: Floats, weights: Floats) -> tuple[Floats, bool]:
    """The change of weights to those of the circumcenter, and True; if points are dependent, a
    direction along which the center stays and the dual grows, and False.
    """
    first, others = points[0], points[1:]
    edges = others - first
    q, r = np.linalg.qr(edges.T)
    diagonal = np.abs(np.diag(r)) if len(others) <= points.shape[1] else np.zeros(1)
    lengths = np.linalg.norm(edges, axis=1)
    center = weights @ points
    if len(others) > points.shape[1] or diagonal[-1] <= 64 * EPS * lengths.max():
        # The point that joined is an affine combination of the others.
        combination = np.linalg.lstsq(edges[:-1].T, edges[-1], rcond=None)[0]
        return np.concatenate([[combination.sum() - 1.0], -combination, [1.0]]), False
    # (p − p₀)·(c − p₀) = ‖p − p₀‖²/2 for all: c − p₀ = Q y with Rᵀ y = ‖p − p₀‖²/2.
    y = np.linalg.solve(r.T, lengths**2 / 2)
    # c = p₀ + edgesᵀ μ, with R μ = y; changes from the present center keep their digits.
    change = np.linalg.solve(r, y - q.T @ (center - first))
    return np.concatenate([[-change.sum()], change]), True


# -------------------------------------------------------------------------------------------------
# The ellipsoid of least volume around points, by Khachiyan's method with away steps.
#
#     primal  minimize over c, S   ½ ln det S   subject to   (xᵢ − c)ᵀ S⁻¹ (xᵢ − c) ≤ 1
#     dual    maximize over u      ½ ln det(d Σ(u)),   u ≥ 0, Σ u = 1
#
# with c(u) and Σ(u) the mean and the covariance of the points under u. With
# gᵢ = (xᵢ − c)ᵀ Σ⁻¹ (xᵢ − c) the ellipsoid S = (max g) Σ contains all points, and its gap is
# (d/2) ln(max g / d). A step moves weight toward the point of the largest g, or away from the
# weighted point of the smallest one, each as far as is best. Once the support is known, Newton's
# method solves gᵢ = d on it to full accuracy. Many points are looked at through a working set, to
# which those outside join.
#
# References: L. G. Khachiyan, Rounding of polytopes in the real number model of computation, 1996;
# M. J. Todd, E. A. Yıldırım, On Khachiyan's algorithm for the computation of minimum-volume
# enclosing ellipsoids, 2007.


@dataclass(frozen=True)
class EnclosingEllipsoid:
    """(x − c)ᵀ S⁻¹ (x − c) ≤ 1 in coordinates of full rank, and the support with its weights.

    ``primal`` is ½ ln det S, ``dual`` a lower bound on that of any ellipsoid around the points.
    """

    center: Floats
    shape: Floats
    support: Ints
    weights: Floats
    primal: float
    dual: float
    iterations: int

    @property
    def gap(self) -> float:
        """By how much the logarithm of the volume may exceed the least one."""
        return max(self.primal - self.dual, 0.0)


def enclosing_ellipsoid(x: Floats, tolerance: float = 1e-12) -> EnclosingEllipsoid:
    """The ellipsoid of least volume around rows that span all d ≥ 1 columns."""
    d = x.shape[1]
    working = _first(x)
    u = np.full(len(working), 1.0 / len(working))
    iterations = 0
    for _ in range(100):
        u, steps = _solve_dual(x[working], u, tolerance)
        iterations += steps
        distances = squared_lengths(x, *_mean_and_factor(x[working], u))
        outside = np.flatnonzero(distances > d * (1.0 + tolerance))
        new = np.setdiff1d(outside, working)
        if not len(new):
            break
        # Points outside that join the working set at a time, for each column.
        new = new[np.argsort(-distances[new], kind="stable")[: 4 * d]]
        carrying = u > 0.0
        working = np.concatenate([working[carrying], new])
        u = np.concatenate([u[carrying], np.zeros(len(new))])
    return _result(x, working, u, iterations)


def _result(x: Floats, working: Ints, u: Floats, iterations: int) -> EnclosingEllipsoid:
    """The ellipsoid of given weights, made large enough for all points, and its gap."""
    d = x.shape[1]
    carrying = u > 0.0
    support, weights = working[carrying], u[carrying]
    order = np.lexsort(x[support].T)
    support, weights = support[order], weights[order] / weights.sum()
    center, factor = _mean_and_factor(x[support], weights)
    largest = float(squared_lengths(x, center, factor).max())
    log_det = float(np.log(np.abs(np.diag(factor))).sum())  # ½ ln det Σ
    primal, dual = log_det + 0.5 * d * np.log(largest), log_det + 0.5 * d * np.log(d)
    shape = largest * factor.T @ factor
    return EnclosingEllipsoid(
        center, shape, support, weights, primal, min(dual, primal), iterations
    )


def squared_lengths(x: Floats, center: Floats, factor: Floats) -> Floats:
    """(x − c)ᵀ Σ⁻¹ (x − c) of every row, with Σ = RᵀR."""
    squares = np.empty(len(x))

    def of_piece(rows: slice) -> None:
        z = linalg.solve_triangular(factor, (x[rows] - center).T, trans="T", check_finite=False)
        squares[rows] = np.einsum("ji,ji->i", z, z)

    parallel_map(of_piece, pieces(len(x), 4096))
    return squares


def _mean_and_factor(x: Floats, u: Floats) -> tuple[Floats, Floats]:
    """The mean and the triangular factor R of the covariance RᵀR under the weights."""
    center = u @ x
    factor = np.linalg.qr(np.sqrt(u)[:, None] * (x - center), mode="r")
    return center, np.asarray(factor)


def _first(x: Floats) -> Ints:
    """Rows that span all columns: the extremes along directions orthogonal to those before."""
    d = x.shape[1]
    basis = np.zeros((d, 0))
    chosen: list[int] = []
    for _ in range(d):
        residual = np.eye(d) - basis @ basis.T
        direction = residual[:, np.einsum("ij,ij->j", residual, residual).argmax()]
        along = x @ direction
        low, high = int(along.argmin()), int(along.argmax())
        chosen += [low, high]
        edge = residual @ (x[high] - x[low])
        basis = np.column_stack([basis, edge / np.linalg.norm(edge)])
    return np.array(sorted(set(chosen)))


def _solve_dual(x: Floats, u: Floats, tolerance: float) -> tuple[Floats, int]:
    """Weights of the least ellipsoid around a few points, and the steps taken."""
    d = x.shape[1]
    # Gap of g, relative to d, at which the steps end and Newton's method begins.
    near, steps = 1e-3, 0
    if (u > 0).sum() <= d:
        u = np.full(len(x), 1.0 / len(x))
    for _ in range(60):
        u, taken = _khachiyan(x, u, near)
        steps += taken
        exact = _newton(x, u, tolerance)
        if exact is not None:
            return exact, steps
        if near <= tolerance:
            break
        near = max(near / 10, tolerance)
    return u, steps


def _khachiyan(x: Floats, u: Floats, near: float) -> tuple[Floats, int]:
    """Steps toward and away until all g are within (1 ± near) d on the support, or below."""
    d, steps = x.shape[1], 0
    fresh = 200  # steps between two factorizations of the covariance, which updates would let drift
    for _ in range(200):
        u = u / u.sum()
        center, factor = _mean_and_factor(x, u)
        inverse = linalg.solve_triangular(factor, np.eye(d), check_finite=False)
        z = (x - center) @ inverse
        lifted = np.column_stack([z, np.ones(len(x))])
        lengths, product = np.zeros(len(x)), np.zeros(d + 1)
        taken = int(weighted_steps(lifted, np.eye(d + 1), u, near, fresh, lengths, product))
        steps += taken
        if taken < fresh:
            break
    return u, steps


def _newton(x: Floats, u: Floats, tolerance: float) -> Floats | None:
    """Weights with gᵢ = d on the support of ``u`` and g ≤ d elsewhere; None if it fails."""
    d = x.shape[1]
    rows = np.flatnonzero(u > 0.0)
    weights = u[rows]
    for _ in range(30):
        center, factor = _mean_and_factor(x[rows], weights)
        z = linalg.solve_triangular(factor, (x[rows] - center).T, trans="T", check_finite=False)
        products = z.T @ z + 1.0  # x̃ᵢᵀ M⁻¹ x̃ⱼ of the points lifted by a 1
        residual = np.diag(products) - (d + 1)
        if np.abs(residual).max() <= tolerance * d:
            break
        change = np.linalg.lstsq(products**2, residual, rcond=None)[0]
        weights = weights + change
        if (weights <= 0.0).any() or not np.isfinite(weights).all():
            return None
        weights = weights / weights.sum()
    else:
        return None
    step = np.zeros(len(u))
    step[rows] = weights
    center, factor = _mean_and_factor(x, step)
    if squared_lengths(x, center, factor).max() > d * (1.0 + 2 * tolerance):
        return None
    return step


# -------------------------------------------------------------------------------------------------
# An ellipsoid in the affine span of its points, which may be flat.


@dataclass(frozen=True)
class SpannedEllipsoid:
    """‖T (x − c)‖ ≤ 1 within the span of the points, and none of the span's complement.

    ``basis`` holds orthonormal directions of the span (d x r) and ``factor`` the triangle R (r x r)
    with RᵀR the shape of the ellipsoid along them; ``support`` are positions of points on its
    boundary, with ``weights`` of which the center is the mean.
    """

    center: Floats
    basis: Floats
    factor: Floats
    support: Ints
    weights: Floats
    primal: float
    dual: float

    @property
    def rank(self) -> int:
        """Dimensions of the span."""
        return int(self.basis.shape[1])

    @property
    def shape(self) -> Floats:
        """The matrix S of (x − c)ᵀ S⁻¹ (x − c) ≤ 1, of the rank of the span (d x d)."""
        half = self.factor @ self.basis.T
        return np.asarray(half.T @ half)

    def lengths(self, x: Floats) -> tuple[Floats, Floats]:
        """The length of each row within the span, 1 on the boundary, and the distance from it."""
        difference = x - self.center
        along = difference @ self.basis
        off = np.linalg.norm(difference - along @ self.basis.T, axis=1)
        if not self.rank:
            return np.zeros(len(x)), off
        if self.rank == x.shape[1]:
            off = np.zeros(len(x))
        unit = linalg.solve_triangular(self.factor, along.T, trans="T", check_finite=False)
        return np.linalg.norm(unit, axis=0), off


def spanned_ellipsoid(x: Floats) -> SpannedEllipsoid:
    """The ellipsoid of least volume around the rows, in the affine span that they have.

    A direction counts as one of the span if the rows vary along it by more than rounding errors of
    their largest variation; the volume is that of the span.
    """
    n, d = x.shape
    mean = x.mean(axis=0)
    triangle = np.linalg.qr(x - mean, mode="r") if n > d else x - mean
    _, sizes, directions = np.linalg.svd(triangle, full_matrices=False)
    level = 8 * max(n, d) ** 0.5 * EPS * max(float(sizes.max(initial=0.0)), np.abs(mean).max())
    rank = int((sizes > level).sum())
    basis, sizes = directions[:rank].T, sizes[:rank] / np.sqrt(n)
    if not rank:
        return SpannedEllipsoid(
            mean, basis, np.zeros((0, 0)), np.zeros(1, dtype=np.int64), np.ones(1), 0.0, 0.0
        )
    ellipsoid = enclosing_ellipsoid((x - mean) @ (basis / sizes))
    center = mean + basis @ (sizes * ellipsoid.center)
    half = linalg.cholesky(ellipsoid.shape) * sizes
    factor = np.asarray(np.linalg.qr(half, mode="r"))
    log_sizes = float(np.log(sizes).sum())
    return SpannedEllipsoid(
        center, basis, factor, ellipsoid.support, ellipsoid.weights,
        ellipsoid.primal + log_sizes, ellipsoid.dual + log_sizes,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class EllipsoidMargin(nodes.Node):
    """One minus the length of a row in an ellipsoid; off its span, minus the distance."""

    z: nodes.Node
    ellipsoid: SpannedEllipsoid
    stage: ClassVar[str] = "margins"

    def compute(self, of: nodes.Evaluation) -> Any:
        """By the length within the span, and off it."""
        one, difference = self.ellipsoid, of(self.z) - self.ellipsoid.center[None, :]
        d, rank = one.basis.shape
        if not rank:
            return -difference.length()
        along = difference @ one.basis
        inverse = linalg.solve_triangular(one.factor, np.eye(rank), trans="T").T
        length = (along @ inverse).length()
        if rank == d:
            return 1.0 - length
        off = (difference - along @ one.basis.T).length()
        outside = (1.0 - length).at_most(0.0) - off
        return (off > ROUNDING).where(outside, 1.0 - length)

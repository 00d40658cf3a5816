"""Neighborhood components analysis: the linear map in which random neighbors have the same class.

    maximize Σᵢ wᵢ pᵢ,    pᵢ = Σ_{j: same class} pᵢⱼ,    pᵢⱼ ∝ mⱼ exp(−‖L(xᵢ − xⱼ)‖²), j ≠ i

pᵢⱼ is the probability that row i takes row j for its neighbor, pᵢ that this neighbor has its class:
the sum is the expected number of rows that a random neighbor classifies correctly. mⱼ = wⱼ is the
weight of a row, wᵢ − 1 among the neighbors of row i itself: a row of weight w is w equal rows.

    gradient = −2 Σᵢⱼ qᵢⱼ L(xᵢ − xⱼ)(xᵢ − xⱼ)ᵀ,     qᵢⱼ = wᵢ pᵢⱼ (1{same class} − pᵢ)

Rows are taken one at a time, on threads: distances, probabilities and the two sums of a row need
its own n numbers only. L-BFGS climbs to a local maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import linalg, optimize
from sklearn.utils import check_random_state

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import CodedRows, coded_rows
from separatrix.messages import InputError, check_option, warn
from separatrix.metric_learning import loops
from separatrix.metric_learning.base import MetricLearner, orient
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.statistics.moments import Standardizer
from separatrix.threads import parallel_map, pieces

STARTS = ("auto", "pca", "lda", "identity", "random")


@declare_parameters
class NeighborhoodComponentsAnalysis(MetricLearner):
    """Neighborhood components analysis: a linear map in which random neighbors are of one class.

        maximize Σᵢ Σⱼ pᵢⱼ over j of the class of i,    pᵢⱼ ∝ exp(−‖L(xᵢ − xⱼ)‖²)

    pᵢ is the probability that row i has the class of a neighbor that is drawn among all others,
    near ones more likely. The objective has many local maxima; one is found from ``init``.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of L; None takes as many as there are columns. Of a diagonal L the rows that weigh most
        remain.
    init : {"auto", "pca", "lda", "identity", "random"} or ndarray, default="auto"
        Where L starts: principal components, linear discriminants, the identity, normal random
        numbers, or a matrix of shape (n_components, n_features). "auto" takes discriminants if
        there are enough, else principal components if fewer than the columns are asked for, else
        the identity.
    warm_start : bool, default=False
        Whether a fitted L is where the next fit starts, in place of ``init``.
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        The search ends where an iteration gains less than this fraction of the objective, or no
        derivative is larger than this.
    callback : callable or None, default=None
        Called after every iteration with L as a vector and the number of the iteration.
    verbose : int, default=0
        Whether to print the objective after every iteration.
    random_state : int, RandomState instance or None, default=None
        For ``init="random"``.
    diagonal : bool, default=False
        Whether L only weighs the columns, one by one; ``init`` is then a matrix whose diagonal is
        taken, "identity", which "auto" takes, or "random".
    standardize : bool, default=False

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, for rows in the units of the table.
    metric_ : Elliptical
        The learned metric, for neighbors, exemplars and clusters.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
        Number of columns.
    n_iter_ : int
        Number of iterations, the start included.
    certificate_ : Certificate
        The objective that was reached. No other claim is made: it is not concave.

    See Also
    --------
    LargeMarginNearestNeighbors : A convex problem, with a duality gap.
    KNeighborsClassifier : Neighbors in the learned metric.
    LinearDiscriminantAnalysis : Directions from means and one covariance.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton and R. Salakhutdinov, Neighbourhood components analysis,
    Advances in Neural Information Processing Systems 17, 2005.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> model = sx.NeighborhoodComponentsAnalysis(1).fit(x, x[:, 0] > 0)
    >>> bool(abs(model.components_[0, 0]) > 5 * abs(model.components_[0, 1:]).max())
    True
    >>> model.transform(x).shape
    (100, 1)
    """

    n_iter_: int = field(init=False)

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "auto"
    warm_start: bool = False
    max_iter: int = 50
    tol: float = 1e-5
    callback: Callable[[Floats, int], Any] | None = None
    verbose: int = 0
    random_state: Any = None
    diagonal: bool = False
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn L from the rows of ``X`` and their classes."""
        self._check_parameters()
        coded = coded_rows(self, X, y, sample_weight, one_class=True)
        if coded.n_samples < 2:
            raise InputError("There is 1 sample: a row alone has no neighbor.")
        self.encoding_ = coded.encoding
        x = np.ascontiguousarray(coded.x, dtype=np.float64)
        units = Standardizer.from_rows(x, coded.w)
        if not self.standardize:
            units = Standardizer(units.mean, np.ones_like(units.scale))
        start = self._start(x, coded, units)
        z = units.transform(x)
        size = _extreme_size(z)
        neighborhoods = Neighborhoods.of(z / size, coded.codes, coded.w)
        best, status = self._climb(neighborhoods, start * size)
        if self.diagonal and self.n_components is not None:
            largest = np.argsort(-np.abs(best).sum(axis=1), kind="stable")[: self.n_components]
            best = best[np.sort(largest)]
        self.components_ = best / size * units.inverse_scale
        self.certificate_ = neighborhoods.certificate(best, status)
        return self

    def _climb(self, neighborhoods: Neighborhoods, start: Floats) -> tuple[Floats, str]:
        """L at the end of the search, and why it ended."""
        self.n_iter_ = 1
        values: list[float] = []
        # of a diagonal L only that is searched
        free = np.flatnonzero(np.eye(*start.shape) if self.diagonal else np.ones(start.shape))

        def matrix(some: Floats) -> Floats:
            full = np.zeros(start.size)
            full[free] = some
            return full.reshape(start.shape)

        def loss(some: Floats) -> tuple[float, Floats]:
            value, gradient = neighborhoods.objective(matrix(some))
            values.append(value)
            return -value, -gradient.ravel()[free]

        def progress(flat: Floats) -> None:
            if self.callback is not None:
                self.callback(flat, self.n_iter_)
            if self.verbose:
                name = type(self).__name__
                print(f"{name}: iteration {self.n_iter_}, objective {values[-1]:.6g}")
            self.n_iter_ += 1

        result = optimize.minimize(
            loss, start.ravel()[free], method="L-BFGS-B", jac=True, tol=self.tol,
            options={"maxiter": self.max_iter}, callback=progress,
        )  # fmt: skip
        if self.verbose and not result.success:
            warn("SEP003", f"Neighborhood components: {result.message}.")
        status = "an iteration gains little" if result.success else "at the limit of iterations"
        return matrix(result.x), status

    def _start(self, x: Floats, coded: CodedRows, units: Standardizer) -> Floats:
        """L where the search starts, for columns as ``units`` measures them."""
        d = x.shape[1]
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != d:
                raise InputError(
                    f"warm_start=True continues from {self.components_.shape[1]} columns, and "
                    f"these rows have {d}.",
                    remedy="Give the same columns, or fit a new model.",
                )
            fitted = self.components_ * units.scale
            return np.diag(fitted.sum(axis=0)) if self.diagonal else np.asarray(fitted)
        if isinstance(self.init, np.ndarray):
            return _given_start(self.init, d, d if self.diagonal else self.n_components)
        p = d if self.diagonal else self.n_components or d
        if p > d:
            raise InputError(
                f"n_components={p} is larger than the number of columns, {d}.",
                remedy=f"Give at most {d}.",
            )
        kind = "identity" if self.diagonal and self.init == "auto" else self.init
        if kind == "auto":
            few = p < min(d, len(x))
            kind = "lda" if p <= min(d, len(self.classes_) - 1) else "pca" if few else "identity"
        if kind == "identity":
            return np.eye(p, d)
        if kind == "random":
            draws = check_random_state(self.random_state).standard_normal((p, d))
            return np.asarray(draws)
        z = units.transform(x)
        if kind == "pca":
            return _principal_components(z, coded.w, p)
        return _discriminants(z, coded.codes, coded.w, p)

    def _check_parameters(self) -> None:
        for name in ("n_components", "max_iter"):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not (whole and value >= 1) and not (name == "n_components" and value is None):
                raise InputError(f"{name}={value!r} must be a whole number of at least 1.")
        if not (isinstance(self.tol, Real) and 0.0 <= self.tol < np.inf):
            raise InputError(f"tol={self.tol!r} must be a number and not negative.")
        if not isinstance(self.init, np.ndarray):
            starts = ("auto", "identity", "random") if self.diagonal else STARTS
            check_option("init", self.init, starts, "a matrix")
        if self.callback is not None and not callable(self.callback):
            raise InputError(f"callback={self.callback!r} is not a function.")


# -------------------------------------------------------------------------------------------------
# The objective and its gradient.


#: Columns of L x up to which differences of coordinates are as fast as matrix products.
FEW = 16


@dataclass(frozen=True)
class Neighborhoods:
    """Centered rows, their classes and weights, and log mⱼ with opposite sign."""

    x: Floats
    codes: Ints
    w: Floats
    costs: Floats
    itself: Floats

    @classmethod
    def of(cls, x: Floats, codes: Ints, w: Floats) -> Neighborhoods:
        """Rows of positive weight; a row of weight w has w − 1 copies of itself for neighbors."""
        others = np.maximum(w - 1.0, 0.0)
        itself = -np.log(others, out=np.full(len(w), -np.inf), where=others > 0.0)
        return cls(x, codes, w, -np.log(w), itself)

    def objective(self, components: Floats) -> tuple[float, Floats]:
        """Σ w p and its gradient."""
        z = self.x @ components.T
        work = self._by_coordinates if z.shape[1] <= FEW else self._by_products
        points = np.ascontiguousarray(z.T)
        # A piece for 16 threads is worth starting from this many pairs.
        parts = pieces(len(z), max(1, 20_000 // len(z)), 16)
        found = parallel_map(lambda part: work(z, points, part), parts)
        gradient = sum((each for _, each in found[1:]), start=found[0][1])
        return float(sum(value for value, _ in found)), -2.0 * gradient

    def _by_coordinates(self, z: Floats, points: Floats, part: slice) -> tuple[float, Floats]:
        """Σ w p of some rows, and Σ q (zᵢ − zⱼ)(xᵢ − xⱼ)ᵀ of their pairs."""
        forces, counter = np.empty((part.stop - part.start, z.shape[1])), np.zeros(points.shape)
        value = loops.neighborhood_rows(
            part.start, part.stop, z, points, self.costs, self.itself, self.codes, self.w,
            forces, counter,
        )  # fmt: skip
        return value, forces.T @ self.x[part] - counter @ self.x

    def _by_products(self, z: Floats, points: Floats, part: slice) -> tuple[float, Floats]:
        """The same from products of tiles of rows with all points."""
        forces, counter = np.empty((part.stop - part.start, z.shape[1])), np.zeros(z.shape)
        total, value = np.zeros(len(z)), 0.0
        norms = np.einsum("ij,ij->i", z, z)
        height = max(1, (1 << 15) // len(z))  # a tile of products stays in the cache
        for start in range(part.start, part.stop, height):
            rows = slice(start, min(start + height, part.stop))
            q = z[rows] @ points
            value += loops.neighborhood_tile(
                start, q, norms, self.costs, self.itself, self.codes, self.w
            )
            forces[start - part.start : rows.stop - part.start] = -(q @ z)
            counter += q.T @ z[rows]
            total += q.sum(axis=0)
        counter -= total[:, None] * z
        return value, forces.T @ self.x[part] - counter.T @ self.x

    def certificate(self, components: Floats, status: str) -> Certificate:
        """The objective, and how steep it still is."""
        value, gradient = self.objective(components)
        weight = float(self.w.sum())
        steepness = float(np.abs((gradient * components).sum(axis=1)).max()) / weight
        return Certificate(
            "A random neighbor in the learned metric is expected to have the right class for "
            f"{value / weight:.4f} of the rows; a local search ended where {status}, and no better "
            "map is ruled out",
            primal=value,
            promised=(),
            notes=(f"To double a direction would change this by {steepness:.1e}, at that slope.",),
        )


# -------------------------------------------------------------------------------------------------
# Where the search starts.


def _extreme_size(x: Floats) -> float:
    """A power of two near the largest number, where fourth powers leave the range of a double."""
    largest = float(np.abs(x).max(initial=0.0))
    return 1.0 if 1e-70 < largest < 1e70 or not largest else float(np.exp2(np.frexp(largest)[1]))


def _given_start(init: NDArray[Any], d: int, p: int | None) -> Floats:
    """A matrix that was given, if its shape suits the rows."""
    start = np.array(init, dtype=np.float64)
    if start.ndim != 2 or not np.isfinite(start).all():
        raise InputError("init is a matrix of finite numbers.")
    if start.shape[1] != d:
        raise InputError(f"init has {start.shape[1]} columns, and the rows have {d}.")
    if start.shape[0] > d:
        raise InputError(f"init has {start.shape[0]} rows, more than the {d} columns of the table.")
    if p is not None and p != start.shape[0]:
        raise InputError(f"n_components={p}, and init has {start.shape[0]} rows.")
    return start


def _principal_components(x: Floats, w: Floats, p: int) -> Floats:
    """The first directions of largest variance, of unit length."""
    if p > min(x.shape):
        raise InputError(
            f"n_components={p} principal components of {len(x)} rows and {x.shape[1]} columns.",
            remedy="Give fewer, or init='identity'.",
        )
    centered = x - w @ x / w.sum()
    return orient(linalg.svd(np.sqrt(w)[:, None] * centered, full_matrices=False)[2][:p])


def _discriminants(x: Floats, codes: Ints, w: Floats, p: int) -> Floats:
    """Fisher's directions, with variance one within classes."""
    weights = np.bincount(codes, w)
    classes = len(weights)
    if p > min(x.shape[1], classes - 1):
        raise InputError(
            f"n_components={p} linear discriminants of {classes} classes and {x.shape[1]} columns.",
            remedy="Give fewer than the classes, or init='pca'.",
        )
    means = np.zeros((classes, x.shape[1]))
    np.add.at(means, codes, w[:, None] * x)
    means /= weights[:, None]
    within = x - means[codes]
    scale = np.sqrt(w @ within**2 / w.sum())
    scale[scale == 0.0] = 1.0
    root = np.sqrt(w / w.sum())[:, None]
    _, values, directions = linalg.svd(root * within / scale, full_matrices=False)
    varies = values > 1e-4  # as the tolerance of linear discriminant analysis
    if not varies.any():
        raise InputError(
            "The rows of a class do not differ: there are no linear discriminants.",
            remedy="Give init='pca' or 'identity'.",
        )
    whitening = directions[varies].T / values[varies] / scale[:, None]
    between = np.sqrt(weights)[:, None] * (means - weights @ means / weights.sum())
    return orient((whitening @ linalg.svd(between @ whitening, full_matrices=False)[2].T).T[:p])

"""Kernel smoothers: means of all training rows, weighted by a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.kernelized import KernelDistance
from separatrix.distances.metrics import Metric, PreparedMetric
from separatrix.estimators.base import reads_tables
from separatrix.estimators.metric_inputs import PointsEstimator
from separatrix.formula import nodes
from separatrix.kernels import Gaussian, Kernel, kernel_from
from separatrix.messages import InputError
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.neighbors import base
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters, describe_parameters
from separatrix.rows.schema import take_items
from separatrix.selection.leave_one_out import LeftOut
from separatrix.threads import on_one_blas_thread


@declare_parameters
class KernelSmoother(PointsEstimator):
    """f(x) = Σ pᵢ yᵢ with pᵢ ∝ wᵢ κ(x, xᵢ), which sum to one over the training rows.

    κ is exp(−d(x, xᵢ)²/2h²), or ``kernel_`` where one is given.
    """

    bandwidth_: float = field(init=False)

    bandwidth: Any = "loo"
    _: KW_ONLY
    metric: Any = "euclidean"
    kernel: Any = None
    standardize: bool = False

    def _chosen_metric(self) -> Metric:
        """The metric; of a kernel the distance in its feature space, which reads the same items."""
        if self.kernel is None:
            return super()._chosen_metric()
        if isinstance(self.kernel, str) or not hasattr(kernel_from(self.kernel), "diagonal"):
            raise InputError(
                f"kernel={self.kernel!r} is not a kernel object.",
                remedy="Give one, as sx.Spectrum(2) or sx.Matern(); Gaussian weights of any metric "
                "need metric= and bandwidth= only.",
            )
        if self.bandwidth != "loo" or self.metric != "euclidean":
            raise InputError(
                "A kernel gives the weights itself, and bandwidth or metric would not be used.",
                remedy="Give either kernel, or metric and bandwidth; "
                "metric=sx.KernelDistance(kernel) takes Gaussian weights in its feature space.",
            )
        return KernelDistance(kernel_from(self.kernel))

    def _fit_kernel(self) -> bool:
        """Take the weights from the kernel, if one is given."""
        for name in ("kernel_", "bandwidth_", "bandwidth_search_"):
            self.__dict__.pop(name, None)
        if not isinstance(self.metric_, KernelDistance) or self.kernel is None:
            return False
        self.kernel_: Kernel = self.metric_.kernel
        if not self.kernel_.of_vectors:
            self.points_ = self.kernel_.serializable(self.points_)
        claim = "A closed form: the mean of all training rows, weighted by kernel values"
        self.certificate_ = Certificate(claim, promised=())
        return True

    def _kernel_weights(self, x: Any) -> Floats:
        """κ of rows with all training rows, times their weights; equal where all are zero."""
        values = self.kernel_.gram(x, self.points_)
        if values.size and not values.min() >= 0.0:
            raise InputError(
                f"The kernel {self.kernel_} has values below zero, which are no weights.",
                row=int(np.argmin(values.min(axis=1))) + 1,
                remedy="Take a kernel without such values, or an even power of it: kernel**2.",
            )
        values[values.max(axis=1) == 0.0] = 1.0
        return np.asarray(values * self.sample_weight_)

    def _fit_bandwidth(self, targets: NDArray[Any], y: Floats, loss: RowLoss) -> None:
        """Check the bandwidth, or choose it by the leave-one-out loss of ``y`` (n x k)."""
        if self._fit_kernel():
            return
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            left_out, points = base.leave_out(self, targets)
            points = self.metric_.prepare(points)
            bandwidth_search = leave_one_out_bandwidth(points, left_out, y[left_out.rows], loss)
            self.bandwidth_search_: BandwidthSearch = bandwidth_search
            self.bandwidth_ = bandwidth_search.bandwidth
            if np.isfinite(bandwidth_search.loss):
                claim = f"No bandwidth tried has a lower loss than {bandwidth_search.bandwidth:.4g}"
            else:
                claim = "All training rows coincide, and every bandwidth gives their mean"
        else:
            self.bandwidth_ = _check_bandwidth(self.bandwidth)
            claim = "A closed form: the kernel-weighted mean of all training rows"
        self.certificate_ = Certificate(claim, promised=())

    def _smooth(self, X: Any, y: Floats) -> Floats:
        """Kernel-weighted means of the columns of ``y`` (n x k)."""
        if self.kernel is not None:
            return self.smoother_matrix(X) @ y
        points, x = self.metric_.prepare(self.points_), self._query_points(X)
        out = np.empty((len(x), y.shape[1]))
        for part, distances in points.blocks(x):
            out[part] = kernel_mean(distances, self.sample_weight_, y, self.bandwidth_)
        return out

    def smoother_matrix(self, X: Any) -> Floats:
        """The weights pᵢ of all training rows in the prediction of every row of X."""
        check_is_fitted(self)
        if self.kernel is not None:
            values = self._kernel_weights(self._query_points(X))
            values /= values.sum(axis=1, keepdims=True)
            return values
        points, x = self.metric_.prepare(self.points_), self._query_points(X)
        out = np.empty((len(x), len(self.points_)))
        for part, distances in points.blocks(x):
            weights = base.gaussian_weights(distances, self.bandwidth_) * self.sample_weight_
            out[part] = weights / weights.sum(axis=1, keepdims=True)
        return out

    def _smoothed_node(self, targets: Floats) -> nodes.Ratio:
        """Kernel-weighted means of the columns of ``targets``."""
        if self.kernel is not None:
            w, k = self.sample_weight_[:, None], targets.shape[1]
            nodes.refuse_objects(self.kernel_)
            sums = nodes.KernelSum(
                self._query_node(),
                self.kernel_,
                self.points_,
                np.concatenate([w * targets, w], axis=1),
                np.zeros(k + 1),
            )
            columns = nodes.Columns(sums, tuple(range(k))), nodes.Columns(sums, (k,))
            return nodes.Ratio(*columns, otherwise=(w * targets).sum(axis=0) / w.sum())
        near = nodes.Smoothed(
            self._query_node(),
            self.points_,
            self.metric_,
            float(self.bandwidth_),
            np.asarray(self.sample_weight_, dtype=np.float64),
            targets,
        )
        return nodes.Ratio(near.sums, near.total)


def _check_bandwidth(bandwidth: Any) -> float:
    """The bandwidth as a number, that of a Gaussian kernel included."""
    h = bandwidth.bandwidth if isinstance(bandwidth, Gaussian) else bandwidth
    if not isinstance(h, int | float | np.number) or not 0 < h < np.inf:
        raise InputError(
            f"bandwidth={bandwidth!r} is not a positive number.",
            remedy="Give a positive number, a Gaussian kernel, or 'loo' to choose it by "
            "leave-one-out.",
        )
    return float(h)


@describe_parameters
class KernelVoteClassifier(ClassifierMixin, KernelSmoother):
    """Classification by a vote of all training rows, weighted by a kernel.

        P(c | x) = Σ pᵢ 1{yᵢ = c},     pᵢ ∝ wᵢ κ(x, xᵢ),     κ(x, z) = exp(−d(x, z)²/2h²)

    This is the Nadaraya–Watson smoother of the one-hot targets.

    Parameters
    ----------
    bandwidth : float, Gaussian or "loo", default="loo"
        h, or a :class:`Gaussian` kernel that has it; "loo" takes the one with the least
        leave-one-out log loss, rows left out with their copies.
    metric : str, Metric or callable, default="euclidean"
    kernel : Kernel, default=None
        κ, whose values are the weights in place of the Gaussian's, none below zero: of strings,
        sets, trees, graphs or terms, say, with lists of them for ``X``. A row that has nothing in
        common with any training row gets their proportions. Bandwidth and metric are then not used.
    standardize : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bandwidth_ : float
        h; absent with a ``kernel``.
    bandwidth_search_ : BandwidthSearch
        The grid of bandwidths and their losses, if h was chosen.
    points_ : ndarray of shape (n_samples, n_features) or list
    codes_ : ndarray of shape (n_samples,)
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    kernel_ : Kernel
        κ, if one is given.
    certificate_ : Certificate

    See Also
    --------
    NadarayaWatson : The same for numeric targets.
    KNeighborsClassifier : A vote of the k nearest rows only.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KernelVoteClassifier(1.0).fit([[0], [1], [4]], list("aab"))
    >>> model.predict([[0.5], [3.5]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[2.5]]).round(3).tolist()
    [[0.532, 0.468]]
    >>> words = sx.KernelVoteClassifier(kernel=sx.Spectrum(2)).fit(["abab", "bcbc"], [1, 2])
    >>> words.predict_proba(["abbc", "ab", "x"]).round(3).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]
    """

    codes_: Ints

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        base.fit_classes(self, X, y, sample_weight)
        self._fit_bandwidth(self.codes_.astype(str), self._one_hot_targets(), log_loss)
        return self

    def _one_hot_targets(self) -> Floats:
        return np.eye(len(self.classes_))[self.codes_]

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """The weighted proportion of each class."""
        check_is_fitted(self)
        return self._smooth(X, self._one_hot_targets())

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def formula(self) -> nodes.ClassFormula:
        """A vote of all rows, weighted by the kernel."""
        names = nodes.probability_names(self.classes_)
        p = replace(self._smoothed_node(self._one_hot_targets()), names=names)
        return nodes.by_probability(p, self.classes_)


@describe_parameters
class NadarayaWatson(RegressorMixin, KernelSmoother):
    """Kernel regression: a mean of all training rows, weighted by a kernel.

        f(x) = Σ wᵢ κ(x, xᵢ) yᵢ / Σ wᵢ κ(x, xᵢ),     κ(x, z) = exp(−d(x, z)²/2h²)

    Far from the data the nearest training rows determine the prediction.

    Parameters
    ----------
    bandwidth : float, Gaussian or "loo", default="loo"
        h, or a :class:`Gaussian` kernel that has it; "loo" takes the one with the least
        leave-one-out squared error, rows left out with their copies.
    metric : str, Metric or callable, default="euclidean"
    kernel : Kernel, default=None
        κ, whose values are the weights in place of the Gaussian's, none below zero: of strings,
        sets, trees, graphs or terms, say, with lists of them for ``X``. A row that has nothing in
        common with any training row gets their mean. Bandwidth and metric are then not used.
    standardize : bool, default=False

    Attributes
    ----------
    bandwidth_ : float
        h; absent with a ``kernel``.
    bandwidth_search_ : BandwidthSearch
        The grid of bandwidths and their losses, if h was chosen.
    points_ : ndarray of shape (n_samples, n_features) or list
    targets_ : ndarray of shape (n_samples, n_targets)
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    kernel_ : Kernel
        κ, if one is given.
    certificate_ : Certificate

    See Also
    --------
    KernelVoteClassifier : The same for classes.
    KNeighborsRegressor : The mean of the k nearest rows only.

    References
    ----------
    - E. A. Nadaraya, On estimating regression, Theory of Probability and its Applications 9, 1964.
    - G. S. Watson, Smooth regression analysis, Sankhyā A 26, 1964.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.NadarayaWatson(1.0).fit([[0], [1], [4]], [0.0, 1.0, 5.0])
    >>> model.predict([[0.5], [4.0]]).round(3).tolist()
    [0.506, 4.954]
    >>> model.smoother_matrix([[0.5]]).round(3).tolist()
    [[0.499, 0.499, 0.001]]
    """

    _multi_output = True
    targets_: Floats

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        base.fit_targets(self, X, y, sample_weight)
        self._fit_bandwidth(self.targets_, self.targets_, squared_loss)
        return self

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The kernel-weighted mean."""
        check_is_fitted(self)
        return base.as_targets(self, self._smooth(X, self.targets_))

    def formula(self) -> nodes.NumberFormula:
        """The mean of all rows, weighted by the kernel."""
        count = self.targets_.shape[1]
        flat = self.flat_ and count == 1
        return nodes.regression(self._smoothed_node(self.targets_), self, flat=flat, count=count)


# -------------------------------------------------------------------------------------------------
# Bandwidth of a kernel smoother by leave-one-out cross-validation.
#
#     loss(h) = Σᵢ wᵢ ℓ(yᵢ, Σ_{j≠i} pᵢⱼ yⱼ) / Σᵢ wᵢ,     pᵢⱼ ∝ wⱼ exp(−dᵢⱼ²/2h²)
#
# A row is left out with its weight and its copies, unless chance explains copies: then one of them.
# The loss is smooth in log h: a grid from a tenth of the typical nearest-neighbor distance to twice
# the diameter brackets the minimum, and a bounded line search refines it. Distances are computed
# once.


#: (prediction (m x k), target (m x k)) → loss of every row.
RowLoss = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class BandwidthSearch:
    """The ``bandwidth`` of least leave-one-out ``loss``, and the losses on the grid."""

    bandwidth: float
    loss: float
    grid: Floats
    losses: Floats


def squared_loss(prediction: Floats, target: Floats) -> Floats:
    """(y − ŷ)², averaged over outputs."""
    return np.asarray(((prediction - target) ** 2).mean(axis=1))


def log_loss(probability: Floats, target: Floats) -> Floats:
    """−log of the probability of the true class, clipped so that it is finite."""
    true_class = (probability * target).sum(axis=1)
    return np.asarray(-np.log(np.maximum(true_class, 1e-12)))


def kernel_mean(distances: Floats, w: Floats, y: Floats, h: float) -> Floats:
    """Σ w κ y / Σ w κ with κ = exp(−d²/2h²), relative to the nearest point against underflow."""
    weights = base.gaussian_weights(distances, h)
    weights *= w
    return np.asarray(weights @ y / weights.sum(axis=1, keepdims=True))


def leave_one_out_bandwidth(
    points: PreparedMetric, left_out: LeftOut, y: Floats, loss: RowLoss
) -> BandwidthSearch:
    """Choose h for training points and their targets ``y`` (n x k)."""
    n, w = len(points), left_out.weight
    if n == 1 and (w == left_out.out).all():
        raise InputError(
            "n_samples=1: leave-one-out needs another row that differs.",
            remedy="Give the bandwidth as a number.",
        )
    # Pairs of rows for which distances are computed; above, evenly spaced rows are predicted.
    rows = np.unique(np.linspace(0, n - 1, max(2, min(n, 6_000_000 // n))).round().astype(int))
    distances, weights = _distances_to_others(points, left_out, rows)
    low, high = search_interval(distances, w[rows])
    if high == 0:  # all points are equal, and every bandwidth gives their mean
        return BandwidthSearch(1.0, float("nan"), np.ones(1), np.full(1, np.nan))

    def mean_loss(log_h: float) -> float:
        prediction = kernel_mean(distances, weights, y, float(np.exp(log_h)))
        return float(w[rows] @ loss(prediction, y[rows]) / w[rows].sum())

    grid_size = 16  # bandwidths of the grid
    grid = np.linspace(np.log(low), np.log(high), grid_size)
    losses = np.array([mean_loss(log_h) for log_h in grid])
    index = int(losses.argmin())
    bounds = grid[max(index - 1, 0)], grid[min(index + 1, grid_size - 1)]
    minimum = minimize_scalar(mean_loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    best, value = (
        (minimum.x, minimum.fun) if minimum.fun <= losses[index] else (grid[index], losses[index])
    )
    return BandwidthSearch(float(np.exp(best)), float(value), np.exp(grid), losses)


def _distances_to_others(
    points: PreparedMetric, left_out: LeftOut, rows: Ints
) -> tuple[Floats, Floats]:
    """Distances from the rows to all points, and weights with the row itself left out."""
    distances = np.empty((len(rows), len(points)))
    points.metric.fill(take_items(points.points, rows), points.state, distances)
    weights = np.repeat(left_out.weight[None], len(rows), axis=0)
    itself = np.arange(len(rows)), rows
    weights[itself] -= left_out.out[rows]
    distances[itself] = np.where(weights[itself] > 0, distances[itself], np.inf)
    return distances, weights


def search_interval(distances: Floats, w: Floats) -> tuple[float, float]:
    """From a tenth of the median nearest-neighbor distance to twice the largest distance."""
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    order = np.argsort(nearest)
    median = nearest[order[np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]]
    if not np.isfinite(median):
        return 0.0, 0.0
    largest = float(distances[np.isfinite(distances)].max())
    low = 0.1 * float(median)
    return low, max(2.0 * largest, 2.0 * low)

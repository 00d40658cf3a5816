"""Kernel densities (Parzen windows), classes by them, and bandwidths by leave-one-out likelihood.

    p(x) = Σ wᵢ K(d(x, xᵢ)/h) / (c hᵈ Σ wᵢ),     c = ∫ K(‖u‖) du over d dimensions

Sums are relative to the nearest row, so that densities far away have their logarithm. The
likelihood of h leaves out each row with its copies:

    L(h) = Σ wᵢ ln p₋ᵢ(xᵢ),     dL/d ln h = Σ wᵢ (Σⱼ wⱼ g(uᵢⱼ) / Σⱼ wⱼ K(uᵢⱼ) − d),     g = −u K′

Distances of all pairs are computed block by block for each of some ten bandwidths, and never
stored; of few rows once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammainc, gammaln
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances import names
from separatrix.distances.metrics import PreparedMetric, SquaredEuclidean
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import class_priors
from separatrix.estimators.metric_inputs import PointsEstimator
from separatrix.formula import nodes
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin
from separatrix.neighbors import base, loops
from separatrix.neighbors.kernel_smoothers import BandwidthSearch, search_interval
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.threads import on_one_blas_thread, parallel_map, pieces

#: K(u) by name whose support has no end; that of the others ends at u = 1.
UNBOUNDED = ("gaussian", "exponential")
KERNELS = (*UNBOUNDED, "tophat", "epanechnikov", "linear", "cosine")
#: Distances that are kept from one bandwidth to the next (48 MB).
STORED_DISTANCES = 6_000_000
#: Derivative of the mean log likelihood by ln h, at a bandwidth that maximizes it.
TOLERANCE = 1e-6


def log_normalization(kernel: str, d: int) -> float:
    """ln c: the integral of K(‖u‖) over d dimensions."""
    if kernel == "gaussian":
        return 0.5 * d * float(np.log(2.0 * np.pi))
    sphere = float(np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d))  # surface of ‖u‖ = 1
    if kernel == "exponential":
        return sphere + float(gammaln(d))
    if kernel == "cosine":
        # with r = tᵈ⁻¹-weights in the variable t = rᵈ, which stays smooth however large d is
        return (
            sphere
            - float(np.log(d))
            + float(
                np.log(
                    quad(lambda t: np.cos(0.5 * np.pi * t ** (1.0 / d)), 0.0, 1.0, epsrel=1e-12)[0]
                )
            )
        )
    integral = {
        "tophat": 1.0 / d,
        "epanechnikov": 2.0 / (d * (d + 2.0)),
        "linear": 1.0 / (d * (d + 1.0)),
    }
    return float(sphere + np.log(integral[kernel]))


@dataclass(frozen=True)
class KernelSums:
    """ln Σ wⱼ K(uⱼ) of every row, and the mean of g = −u K′ over that of K."""

    log: Floats
    ratio: Floats

    @classmethod
    def of(cls, distances: Floats, w: Floats, kernel: str, h: float) -> KernelSums:
        """From distances (m x n) to points of weights ``w``; infinite ones do not count."""
        log, ratio = np.empty(len(distances)), np.empty(len(distances))
        loop = loops.kernel_sums if kernel in UNBOUNDED else loops.bounded_kernel_sums

        def fill(part: slice) -> None:
            loop(distances[part], w, KERNELS.index(kernel), h, log[part], ratio[part])

        parallel_map(fill, pieces(len(distances), max(1, 100_000 // max(1, len(w)))))
        return cls(log, ratio)


def log_densities(
    points: PreparedMetric, x: Any, w: Floats, kernel: str, h: float, d: int
) -> Floats:
    """ln p(x) of validated rows."""
    out = np.empty(len(x))
    for part, distances in points.blocks(x):
        out[part] = KernelSums.of(distances, w, kernel, h).log
    return np.asarray(out - (np.log(w.sum()) + log_normalization(kernel, d) + d * np.log(h)))


# -------------------------------------------------------------------------------------------------
# The bandwidth of largest leave-one-out likelihood.


class LeaveOneOutLikelihood:
    """Σ wᵢ ln p₋ᵢ(xᵢ)/Σ wᵢ and its derivative by ln h; copies of a row are left out with it."""

    def __init__(self, metric: Any, x: Floats, w: Floats, kernel: str) -> None:
        self.kernel, self.d = kernel, x.shape[1]
        distinct, which = np.unique(x, axis=0, return_inverse=True)
        self.w = np.bincount(which.ravel(), w, len(distinct)).astype(np.float64)
        self._points = metric.prepare(distinct)
        every = np.arange(len(distinct))
        some = np.linspace(0, len(every) - 1, max(2, STORED_DISTANCES // max(1, len(every))))
        #: Rows whose distances are kept: all of few, evenly spaced ones otherwise.
        self.some = every if len(some) >= len(every) else np.unique(some.round().astype(np.int64))
        self._stored = [(rows, d.copy()) for rows, d in self._blocks(self.some)]

    def _blocks(self, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Rows and their distances to all others; the distance to itself is infinite."""
        for part, distances in self._points.blocks(self._points.points[rows]):
            own = rows[part]
            distances[np.arange(len(own)), own] = np.inf
            yield own, distances

    @property
    def interval(self) -> tuple[float, float]:
        """Bandwidths worth a try: from a tenth of the typical nearest distance to all of it."""
        distances = np.concatenate([d for _, d in self._stored])
        return search_interval(distances, self.w[self.some])

    def at(self, log_h: float, *, all_rows: bool = True) -> tuple[float, float]:
        """The mean log likelihood and its derivative; of some of the rows, or of all."""
        h, total, slope, weight = float(np.exp(log_h)), 0.0, 0.0, 0.0
        whole = float(self.w.sum())
        few = len(self.some) == len(self.w) or not all_rows
        for rows, distances in self._stored if few else self._blocks(np.arange(len(self.w))):
            sums, w = KernelSums.of(distances, self.w, self.kernel, h), self.w[rows]
            total += float(w @ (sums.log - np.log(whole - w)))
            slope += float(w @ sums.ratio)
            weight += float(w.sum())
        constant = log_normalization(self.kernel, self.d) + self.d * log_h
        return total / weight - constant, slope / weight - self.d

    def maximize(self) -> BandwidthSearch:
        """The best of a grid of some rows, then where the derivative of all of them is zero."""
        low, high = self.interval
        if len(self.w) < 2 or high == 0.0:
            raise InputError(
                f"{len(self.w)} distinct row: leave-one-out needs another that differs.",
                remedy="Give the bandwidth as a number.",
            )
        grid = np.linspace(np.log(low), np.log(high), 16)
        values = np.array([self.at(v, all_rows=False)[0] for v in grid])
        while values.argmax() == 0 and len(grid) < 32:  # nearly equal rows: smaller ones
            grid = np.concatenate([[grid[0] - 1.0], grid])
            values = np.concatenate([[self.at(grid[0], all_rows=False)[0]], values])
        if not np.isfinite(values).any():
            raise InputError(
                f"No bandwidth gives every row a density with the kernel {self.kernel!r}.",
                remedy="Use kernel='gaussian', or give the bandwidth as a number.",
            )
        best = int(values.argmax())
        bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        chosen = self._refine(*bounds)
        value = self.at(chosen)[0]
        if value < values[best] and len(self.some) == len(self.w):
            chosen, value = float(grid[best]), float(values[best])
        return BandwidthSearch(float(np.exp(chosen)), -value, np.exp(grid), -values)

    def _refine(self, low: float, high: float) -> float:
        """A maximum between two bounds: the zero of the derivative where that changes its sign."""

        def slope(v: float) -> float:
            return self.at(v, all_rows=False)[1]

        ends = slope(low), slope(high)
        if not np.isfinite(ends).all() or not ends[0] > 0.0 > ends[1] or self.kernel == "tophat":
            found = minimize_scalar(
                lambda v: -self.at(v)[0], bounds=(low, high), method="bounded",
                options={"xatol": 1e-6},
            )  # fmt: skip
            return float(found.x)
        v = float(brentq(slope, low, high, xtol=1e-11, rtol=1e-11))
        if len(self.some) == len(self.w):
            return v
        curvature = (slope(v + 0.01) - slope(v - 0.01)) / 0.02  # about that of all rows
        for _ in range(8):  # steps over all rows; each leaves a small part of the error
            step = self.at(v)[1] / curvature
            v = float(np.clip(v - step, low, high))
            if abs(step * curvature) < 0.1 * TOLERANCE:
                break
        return v


def certify_bandwidth(likelihoods: list[LeaveOneOutLikelihood], h: list[float]) -> Certificate:
    """Where the likelihood is smooth, its derivative at h; elsewhere no claim but that of a try."""
    if any(one.kernel not in UNBOUNDED for one in likelihoods):
        return Certificate("No bandwidth tried has a higher leave-one-out likelihood", promised=())
    slope = max(abs(one.at(np.log(v))[1]) for one, v in zip(likelihoods, h, strict=True))
    return Certificate(
        "Bandwidths are local maxima of the leave-one-out likelihood: its derivative is zero",
        kkt=slope,
        tolerance=TOLERANCE,
        promised=("kkt",),
    )


CLOSED = "A closed form: the weighted mean of kernels at all training rows"


# -------------------------------------------------------------------------------------------------
# The density of rows.


class DensityModel(PointsEstimator):
    """Training rows of numbers with a kernel around each."""

    kernel: str
    metric_params: dict[str, Any] | None = None

    def _chosen_metric(self) -> Any:
        metric = names.metric_with(self.metric, self.metric_params)
        if not metric.of_vectors:
            raise InputError(
                f"metric={self.metric!r} compares objects, and a density is one of numbers.",
                remedy="Use a metric of rows of numbers.",
            )
        return metric

    @property
    def _log_units(self) -> tuple[float, int]:
        """ln of the volume of a unit of the columns that vary, and how many these are."""
        if self.standardizer_ is None:
            return 0.0, self.points_.shape[1]
        varies = self.standardizer_.scale > 0.0
        return float(np.log(self.standardizer_.scale[varies]).sum()), int(varies.sum())

    def _varying(self, x: Floats) -> Floats:
        """Standardized rows without constant columns, which have no density."""
        if self.standardizer_ is None or (self.standardizer_.scale > 0.0).all():
            return x
        return np.ascontiguousarray(x[:, self.standardizer_.scale > 0.0])

    def _require_columns(self) -> None:
        if not self._log_units[1]:
            raise InputError("No column varies: there is no density of constants.")


@declare_parameters
class KernelDensity(DensityModel):
    """Kernel density estimation: a bump around every training row.

        p(x) = Σ wᵢ K(d(x, xᵢ)/h) / (c hᵈ Σ wᵢ),      ∫ p(x) dx = 1

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman", "likelihood"}, default=1.0
        h; n^(−1/(d+4)) ("scott") or (n (d + 2)/4)^(−1/(d+4)) ("silverman") for columns of unit
        variance, n being the sum of the weights; "likelihood" maximizes the likelihood of rows left
        out one by one, with their copies.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Ignored; accepted for scikit-learn compatibility. All pairs are computed.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
default="gaussian"
        K(u): exp(−u²/2), 1, 1 − u², exp(−u), 1 − u or cos(πu/2); of these all but the first and
        exp(−u) are zero beyond u = 1.
    metric : str, Metric or callable, default="euclidean"
        d of rows of numbers. The density integrates to one with Euclidean distance only.
    atol, rtol : float, default=0
        Ignored; accepted for scikit-learn compatibility. Sums are exact up to rounding.
    breadth_first : bool, default=True
        Ignored; accepted for scikit-learn compatibility.
    leaf_size : int, default=40
    metric_params : dict, default=None
    standardize : bool, default=False
        Measure distances in standard deviations; densities remain those of the table's units.
        Constant columns are left out.

    Attributes
    ----------
    bandwidth_ : float
        h.
    bandwidth_search_ : BandwidthSearch
        Bandwidths tried and minus their mean log likelihood, of "likelihood".
    points_ : ndarray of shape (n_samples, n_features)
        The training rows of positive weight.
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    certificate_ : Certificate
        Of "likelihood", the derivative at ``bandwidth_``.

    See Also
    --------
    ParzenClassifier : Classes by their kernel densities.
    NadarayaWatson : A mean of targets with the same weights.

    References
    ----------
    - E. Parzen, On estimation of a probability density function and mode, 1962.
    - R. P. W. Duin, On the choice of smoothing parameters for Parzen estimators of probability
      density functions, 1976.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> x = [[0.0], [1.0], [1.5], [4.0]]
    >>> density = sx.KernelDensity(bandwidth=0.5).fit(x)
    >>> np.exp(density.score_samples([[1.2], [8.0]])).round(4)
    array([0.3619, 0.    ])
    >>> round(sx.KernelDensity(bandwidth="likelihood").fit(x).bandwidth_, 4)
    1.9436
    """

    bandwidth_: float = field(init=False)

    _: KW_ONLY
    bandwidth: Any = 1.0
    algorithm: str = "auto"
    kernel: str = "gaussian"
    metric: Any = "euclidean"
    atol: float = 0
    rtol: float = 0
    breadth_first: bool = True
    leaf_size: int = 40
    metric_params: dict[str, Any] | None = None
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to ``X``, a matrix or Rows; ``y`` is not used."""
        check_option("kernel", self.kernel, KERNELS)
        check_option("algorithm", self.algorithm, ("auto", "kd_tree", "ball_tree"))
        if not isinstance(self.bandwidth, str):
            check_bandwidth(self.bandwidth)
        else:
            check_option("bandwidth", self.bandwidth, ("scott", "silverman", "likelihood"))
        self.__dict__.pop("bandwidth_search_", None)
        self._chosen_metric()
        x, given = self._read_points(X, sample_weight, objects=False)
        w = np.ones(len(x)) if given is None else given
        rows = np.flatnonzero(w > 0.0)
        base.fit_points(self, base.chosen_items(x, rows), w[rows], rows, len(w))
        self._require_columns()
        n, d = float(self.sample_weight_.sum()), self._log_units[1]
        self.certificate_ = Certificate(CLOSED, promised=())
        if self.bandwidth == "scott":
            self.bandwidth_ = n ** (-1.0 / (d + 4))
        elif self.bandwidth == "silverman":
            self.bandwidth_ = (n * (d + 2) / 4.0) ** (-1.0 / (d + 4))
        elif self.bandwidth == "likelihood":
            likelihood = LeaveOneOutLikelihood(
                self.metric_, self._varying(self.points_), self.sample_weight_, self.kernel
            )
            self.bandwidth_search_ = likelihood.maximize()
            self.bandwidth_ = self.bandwidth_search_.bandwidth
            self.certificate_ = certify_bandwidth([likelihood], [self.bandwidth_])
        else:
            self.bandwidth_ = float(self.bandwidth)
        return self

    @on_one_blas_thread
    def score_samples(self, X: Any) -> Floats:
        """The logarithm of the density at every row."""
        check_is_fitted(self, "bandwidth_")
        x, (units, d) = self._varying(self._query_points(X)), self._log_units
        points = self.metric_.prepare(self._varying(self.points_))
        found = log_densities(points, x, self.sample_weight_, self.kernel, self.bandwidth_, d)
        return np.asarray(found - units)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """The log likelihood of all rows together."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw rows from the density: a training row, then its bump; of Euclidean distance."""
        check_is_fitted(self, "bandwidth_")
        if not isinstance(self.metric_, SquaredEuclidean) or self.metric_.is_metric is False:
            raise InputError(
                f"Draws are from bumps of Euclidean distance, and metric={self.metric!r}.",
                remedy="Use metric='euclidean'.",
            )
        random = check_random_state(random_state)
        points, total = self.points_, np.cumsum(self.sample_weight_)
        at = np.searchsorted(total, random.uniform(0, 1, size=n_samples) * total[-1])
        steps = draw_steps(self.kernel, (n_samples, points.shape[1]), random)
        drawn = points[at] + self.bandwidth_ * steps
        scaled = self.standardizer_
        return drawn if scaled is None else np.asarray(scaled.inverse_transform(drawn))


def draw_steps(kernel: str, shape: tuple[int, int], random: Any) -> Floats:
    """Steps u with the density K(‖u‖)/c: a direction, and a length with the density K(r) rᵈ⁻¹."""
    n, d = shape
    normal = random.normal(size=shape)
    if kernel == "gaussian":
        return np.asarray(normal)
    square = np.einsum("ij,ij->i", normal, normal)
    if kernel == "tophat":
        length = gammainc(0.5 * d, 0.5 * square) ** (1.0 / d)
    elif kernel == "exponential":
        length = random.gamma(d, size=n)
    elif kernel == "epanechnikov":
        length = np.sqrt(random.beta(0.5 * d, 2.0, size=n))
    else:
        length = random.beta(d, 2.0, size=n)  # (1 − r) rᵈ⁻¹
        while kernel == "cosine":  # cos(πr/2) is at most π/2 (1 − r): more than half are kept
            again = np.flatnonzero(length >= 0.0)
            if not len(again):
                length = -1.0 - length
                break
            r = random.beta(d, 2.0, size=len(again))
            keep = random.uniform(size=len(again)) * 0.5 * np.pi * (1.0 - r) <= np.cos(
                0.5 * np.pi * r
            )
            length[again[keep]] = -1.0 - r[keep]  # drawn ones are marked by their sign
    return np.asarray(normal * (length / np.sqrt(square))[:, None])


def check_bandwidth(bandwidth: Any) -> float:
    """A positive number."""
    if (
        isinstance(bandwidth, bool)
        or not isinstance(bandwidth, Real)
        or not 0.0 < float(bandwidth) < np.inf
    ):
        raise InputError(
            f"bandwidth={bandwidth!r} is not a positive number.",
            remedy="Give a positive number, or 'likelihood' to choose it on rows left out.",
        )
    return float(bandwidth)


# -------------------------------------------------------------------------------------------------
# Classes by their densities.


@declare_parameters
class ParzenClassifier(ClassifierMixin, DensityModel):
    """Classification by Bayes' rule with a kernel density for each class (Parzen windows).

        P(k | x) ∝ P(k) p(x | k),      p(x | k) = Σ wᵢ K(d(x, xᵢ)/hₖ) / (c hₖᵈ Σ wᵢ) over class k

    Boundaries take any shape, and a class is as wide as its own bandwidth says. Far away the class
    of the largest bandwidth, or of the nearest row, is chosen.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_classes,) or {"likelihood", "shared"}, \
default="likelihood"
        hₖ: "likelihood" maximizes the likelihood of the rows of each class left out one by one,
        with their copies; "shared" takes one h for all classes, that of the largest sum; or given
        numbers.
    kernel : {"gaussian", "exponential"}, default="gaussian"
        K(u): exp(−u²/2) or exp(−u).
    metric : str, Metric or callable, default="euclidean"
        d of rows of numbers.
    priors : array-like of shape (n_classes,), "uniform" or None, default=None
    standardize : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bandwidths_ : ndarray of shape (n_classes,)
        hₖ. A class of one distinct row, which has no likelihood left out, takes that of the others
        together.
    priors_ : ndarray of shape (n_classes,)
    points_ : ndarray of shape (n_samples, n_features)
    codes_ : ndarray of shape (n_samples,)
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    certificate_ : Certificate
        The derivative of the likelihood at the bandwidths, if chosen.

    See Also
    --------
    KernelDensity : One density.
    KernelVoteClassifier : One bandwidth for all classes, by the loss of the votes.
    RejectOption : Rejects rows between the classes.
    NaiveBayes : A density for each column.

    References
    ----------
    R. O. Duda, P. E. Hart and D. G. Stork, Pattern Classification, 2nd edition, 2001, section 4.3.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [6.0], [9.0], [12.0]]
    >>> model = sx.ParzenClassifier().fit(X, list("aaabbb"))
    >>> model.bandwidths_.round(3)
    array([1.245, 3.736])
    >>> model.predict([[2.5], [4.5]]).tolist()
    ['a', 'b']
    """

    codes_: Ints = field(init=False)
    bandwidths_: Floats = field(init=False)
    priors_: Floats = field(init=False)

    bandwidth: Any = "likelihood"
    _: KW_ONLY
    kernel: str = "gaussian"
    metric: Any = "euclidean"
    priors: Any = None
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("kernel", self.kernel, UNBOUNDED)
        base.fit_classes(self, X, y, sample_weight)
        self._require_columns()
        k = len(self.classes_)
        weight = np.bincount(self.codes_, self.sample_weight_, k).astype(np.float64)
        self.priors_ = class_priors(self.priors, weight)
        self.certificate_ = Certificate(CLOSED.replace("mean", "mean by class"), promised=())
        if isinstance(self.bandwidth, str):
            check_option("bandwidth", self.bandwidth, ("likelihood", "shared"))
            self.bandwidths_ = self._likeliest()
            return self
        given = np.ravel(np.asarray(self.bandwidth))
        if len(given) not in (1, k):
            raise InputError(f"There are {len(given)} bandwidths for {k} classes.")
        self.bandwidths_ = np.broadcast_to([check_bandwidth(h) for h in given.tolist()], k).copy()
        return self

    def _likeliest(self) -> Floats:
        """The bandwidths of largest likelihood, each by the rows of its class or one for all."""
        x, k = self._varying(self.points_), len(self.classes_)
        parts = [np.flatnonzero(self.codes_ == c) for c in range(k)]
        several = [c for c in range(k) if len(np.unique(x[parts[c]], axis=0)) > 1]
        if not several:
            raise InputError(
                "Every class has one distinct row: leave-one-out needs another that differs.",
                remedy="Give the bandwidth as a number.",
            )
        each = {
            c: LeaveOneOutLikelihood(
                self.metric_, x[parts[c]], self.sample_weight_[parts[c]], self.kernel
            )
            for c in several
        }
        own = {c: one.maximize().bandwidth for c, one in each.items()}
        if self.bandwidth == "likelihood" and len(several) == k:
            self.certificate_ = certify_bandwidth(list(each.values()), list(own.values()))
            return np.array([own[c] for c in range(k)])
        shared = shared_bandwidth(list(each.values()), list(own.values()))
        if self.bandwidth == "shared":
            return np.full(k, shared)
        return np.array([own.get(c, shared) for c in range(k)])

    def _class_points(self) -> Iterator[tuple[Floats, Floats, float]]:
        """The points of each class, their weights and its bandwidth."""
        x = self._varying(self.points_)
        for c, h in enumerate(self.bandwidths_):
            rows = self.codes_ == c
            yield x[rows], self.sample_weight_[rows], float(h)

    def _joint(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) (n x K)."""
        check_is_fitted(self, "bandwidths_")
        x, (units, d) = self._varying(self._query_points(X)), self._log_units
        joint = [
            log_densities(self.metric_.prepare(points), x, w, self.kernel, h, d)
            for points, w, h in self._class_points()
        ]
        scores = np.column_stack(joint) - units
        lost = np.flatnonzero(~np.isfinite(scores.max(axis=1)))
        np.maximum(scores, -loops.FARTHEST, out=scores)
        if len(lost):  # squares overflow: the class that is nearest in its bandwidths
            scores[lost] = np.column_stack(
                [
                    -np.minimum(
                        self.metric_.distances(x[lost], points).min(axis=1) / h, loops.FARTHEST
                    )
                    for points, _, h in self._class_points()
                ]
            )
        with np.errstate(divide="ignore"):
            return np.asarray(scores + np.log(self.priors_))

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) of every class; of two, the log odds of the second."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return np.asarray(softmax(self._joint(X)))

    @on_one_blas_thread
    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability underflows."""
        return np.asarray(log_softmax(self._joint(X)))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        chosen = self._joint(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def formula(self) -> nodes.ClassFormula:
        """The most probable class of kernel densities."""
        x, (units, d) = self._query_node(), self._log_units
        if self.standardizer_ is not None and not (self.standardizer_.scale > 0.0).all():
            x = nodes.Columns(x, tuple(np.flatnonzero(self.standardizer_.scale > 0.0).tolist()))
        labels, two = self.classes_, len(self.classes_) == 2
        with np.errstate(divide="ignore"):
            offset = np.log(self.priors_) - units - log_normalization(self.kernel, d)
        classes = [
            nodes.LogKernelDensity(
                x, points, self.metric_, h, np.log(w), self.kernel == "gaussian",
                float(offset[c] - np.log(w.sum()) - d * np.log(h)),
            )
            for c, (points, w, h) in enumerate(self._class_points())
        ]  # fmt: skip
        joint = nodes.Joined(tuple(classes), names=tuple(f"score {c}" for c in labels.tolist()))
        odds = nodes.difference(joint, ["log odds"]) if two else joint
        return nodes.ClassFormula(
            nodes.ChosenLabel(joint, one=False),
            labels,
            odds,
            nodes.Probabilities(joint, one=False, names=nodes.probability_names(labels)),
            decided_by=odds,
            by_sign=two,
        )


def shared_bandwidth(likelihoods: list[LeaveOneOutLikelihood], own: list[float]) -> float:
    """The h of the largest sum of likelihoods: between the least and the largest of their own."""
    weights = [one.w.sum() for one in likelihoods]
    low, high = float(np.log(min(own))), float(np.log(max(own)))

    def slope(log_h: float) -> float:
        each = (one.at(log_h)[1] * w for one, w in zip(likelihoods, weights, strict=True))
        return float(sum(each))

    if high - low < 1e-9 or not slope(low) > 0.0 > slope(high):
        return float(np.exp(0.5 * (low + high)))
    return float(np.exp(brentq(slope, low, high, xtol=1e-11, rtol=1e-11)))

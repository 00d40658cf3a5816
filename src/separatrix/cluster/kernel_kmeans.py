"""Kernel K-means: clusters that a plane cannot part, found by K-means in the space of a kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from separatrix.cluster.base import StandardizeMixin, starts_of
from separatrix.cluster.initialization import in_order
from separatrix.cluster.kernel_lloyd import (
    MEASURES,
    GramBlocks,
    KernelPartition,
    kernel_distances,
    kernel_sweeps,
    membership,
    spread_partition,
)
from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.kernels import Kernel, Precomputed, kernel_from
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

_ENDINGS = {
    "settled": "",
    "cycle": "The sweeps came back to a partition that they had left, and were stopped there.",
    "limit": "The limit of sweeps was reached first.",
}


class KernelKMeans(ClusterMixin, StandardizeMixin, RowsEstimator):
    """K-means on φ(x), known only by κ(x, z) = φ(x)·φ(z).

    Parameters
    ----------
    n_clusters : number of clusters.
    kernel : a Kernel, "rbf", "linear", "poly", "sigmoid", "precomputed" or a function of matrices;
        ``gamma``, ``degree``, ``coef0`` belong to the names.
    assign : "centroid", distance to the mean of a cluster in the space of the kernel; or "members",
        the mean distance to its members.
    n_init : starts, of which the one with the least scatter is kept.
    max_iter : most sweeps.
    standardize : measure every column in units of its deviation, so that units do not matter.
    random_state : seed of the starts.

    Attributes
    ----------
    labels_, inertia_ : cluster of every row, and the scatter Σ w ‖φ(x) − μ‖².
    X_fit_ : the training rows: prediction needs them, and a saved model holds them.
    kernel_, n_iter_, certificate_.
    """

    labels_: NDArray[np.int64]
    kernel_: Kernel
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        assign: str = "centroid",
        n_init: int = 4,
        max_iter: int = 300,
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.assign = assign
        self.n_init = n_init
        self.max_iter = max_iter
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Part the rows of ``X``: a matrix, a frame, Rows, a Gram matrix, or a list of objects."""
        x, given = self._training(X, sample_weight)
        x = self._fit_standardize(self.kernel, x, given)
        self.kernel_ = kernel_from(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            x=x,
            sample_weight=given,
        )
        n = n_items(x)
        w = unit_weights(given, n)
        order = np.arange(n) if isinstance(self.kernel_, Precomputed) else in_order(x)
        kept = order[w[order] > 0]
        self._check(len(kept))
        centers = self.kernel_.prepare(x).subset(kept)
        best = self._best(GramBlocks(centers), w[kept])
        self.X_fit_ = self.kernel_.serializable(centers.centers)
        self.labels_fit_, self.weights_fit_ = best.labels, w[kept]
        self.norms_, self.inertia_, self.n_iter_ = best.norms, best.scatter, best.iterations
        self.certificate_ = _proof(best, self.assign)
        self.labels_ = np.zeros(n, dtype=np.int64)
        self.labels_[kept] = best.labels
        if len(kept) < n:
            out = np.flatnonzero(w == 0)
            self.labels_[out] = self._nearest(_columns(self.kernel_, x, out, kept))
        if best.ending != "settled":
            warn("SEP003", _ENDINGS[best.ending])
        return self

    def _training(self, X: Any, sample_weight: Any) -> tuple[Any, Floats | None]:
        if isinstance(X, Rows):
            prepared = prepare(X)
            self._name_columns(X)
            self.encoding_ = prepared.encoding
            block = prepared.rows.collect()
            return block.x, block.w
        if isinstance(self.kernel, Kernel) and not self.kernel.of_vectors:
            return list(X), check_sample_weight(sample_weight, len(X))
        x = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        return x, check_sample_weight(sample_weight, x.shape[0])

    def _check(self, n: int) -> None:
        if not isinstance(self.n_clusters, int | np.integer) or self.n_clusters < 1:
            raise InputError(f"n_clusters={self.n_clusters!r} must be a whole number from 1 up.")
        if n < self.n_clusters:
            raise InputError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: every cluster needs a "
                "row.",
                remedy="Ask for fewer clusters.",
            )
        if self.assign not in MEASURES:
            raise InputError(
                f"assign={self.assign!r} is unknown.", remedy="Use 'centroid' or 'members'."
            )

    def _best(self, gram: GramBlocks, weight: Floats) -> KernelPartition:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        found = [
            kernel_sweeps(
                gram,
                weight,
                spread_partition(gram, weight, self.n_clusters, rng),
                self.n_clusters,
                assign=self.assign,
                max_iter=self.max_iter,
            )
            for _ in range(starts_of(self.n_init, 4, self.max_iter))
        ]
        return min(found, key=lambda one: one.scatter)

    # -- new rows ------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The nearest cluster of every row, measured as ``assign`` says."""
        check_is_fitted(self)
        if self.kernel_.of_vectors:
            return self._nearest(self._standardized(self._design(X)))
        return self._nearest(list(X))

    def _nearest(self, x: Any) -> NDArray[np.int64]:
        centers = self.kernel_.prepare(self.X_fit_)
        share, _ = membership(self.labels_fit_, self.weights_fit_, len(self.norms_))
        n = n_items(x)
        step = max(1, (1 << 22) // len(centers))
        labels = [np.zeros(0, dtype=np.int64)]
        for a in range(0, n, step):
            part = x[a : a + step]
            block = np.asarray(centers.rows(part))
            if self.assign == "centroid":  # κ(x, x) is the same for all clusters
                measured = self.norms_ - 2.0 * (block @ share)
            else:
                measured = kernel_distances(block, self._own(part), centers.diagonal) @ share
            labels.append(measured.argmin(axis=1))
        return np.concatenate(labels)

    def _own(self, part: Any) -> Floats:
        if isinstance(self.kernel_, Precomputed):
            raise InputError(
                "The mean distance to members needs κ(x, x) of new rows, and a block of "
                "precomputed similarities does not hold it.",
                remedy="Use assign='centroid', or give the kernel itself.",
            )
        return np.asarray(self.kernel_.diagonal(part), dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _columns(kernel: Kernel, x: Any, rows: NDArray[Any], kept: NDArray[Any]) -> Any:
    """Some of the training rows as new ones: of a Gram matrix, the columns that were kept."""
    if isinstance(kernel, Precomputed):
        return x[rows][:, kept]
    return x[rows] if hasattr(x, "shape") else [x[i] for i in rows]


def _proof(found: KernelPartition, assign: str) -> Certificate:
    settled = found.ending == "settled"
    nearest = "centroid in the space of the kernel" if assign == "centroid" else "mean member"
    claim = (
        f"Every row is with the cluster whose {nearest} is nearest"
        if settled
        else "The partition may still change"
    )
    notes = [note for note in (_ENDINGS[found.ending],) if note]
    if assign == "centroid":
        notes.append("A local optimum: other starts may end lower.")
    else:
        notes.append("Mean distances to members are not what any scatter decreases by.")
    return Certificate(
        claim=claim,
        primal=found.scatter,
        notes=tuple(notes),
        promised=(),
    )

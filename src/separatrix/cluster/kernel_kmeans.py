"""Kernel K-means: K-means in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.cluster import kernel_lloyd
from separatrix.cluster.base import IterativeClusterer, cluster_names, nearest_cluster
from separatrix.cluster.initialization import kernel_plusplus, lexicographic_order
from separatrix.estimators.base import KernelModel, reads_tables
from separatrix.formula import nodes
from separatrix.kernels import Precomputed
from separatrix.kernels.mercer import check_mercer
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items, take_items, unit_weights
from separatrix.threads import on_one_blas_thread

_STOPPED = {
    kernel_lloyd.KernelLloydStatus.CYCLE: (
        "the iterations returned to an earlier partition, and were stopped there."
    ),
    kernel_lloyd.KernelLloydStatus.MAX_ITER: "the maximum number of iterations was reached.",
}


@declare_parameters
class KernelKMeans(KernelModel, IterativeClusterer):
    """K-means on φ(x), known only by the kernel κ(x, z) = φ(x)·φ(z).

        minimize Σ w ‖φ(x) − μ‖²,     ‖φ(x) − μ_j‖² = κ(x,x) − 2 mean κ(x,·) + mean κ(·,·)

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : Kernel, str or callable, default="rbf"
        A kernel, "rbf", "linear", "poly", "sigmoid", "precomputed", or a function of two matrices.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of the kernels "rbf", "poly" and "sigmoid".
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1.0
        Constant term of the kernels "poly" and "sigmoid".
    assign : {"centroid", "members"}, default="centroid"
        Assign rows by the distance to the mean of a cluster in feature space, or by the mean
        distance to its members.
    n_init : int or "auto", default=4
        Number of initializations, of which the result with the least inertia is taken; "auto" is
        4.
    max_iter : int, default=300
        Maximum number of iterations.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the levels of a discrete
        column have one scale, so that it counts no more than a numeric one.
    random_state : int, RandomState or None, default=None
        Seed of the initializations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        Σ w ‖φ(x) − μ‖².
    X_fit_ : ndarray of shape (n_samples, n_features) or list
        Training rows of positive weight: prediction needs them, and a saved model contains them.
    labels_fit_ : ndarray of shape (n_samples,)
        Clusters of the rows of ``X_fit_``.
    weights_fit_ : ndarray of shape (n_samples,)
        Weights of the rows of ``X_fit_``.
    norms_ : ndarray of shape (n_clusters,)
        ‖μ‖² of every cluster.
    kernel_ : Kernel
        The kernel.
    n_iter_ : int
    standardizer_ : Standardizer or None
    certificate_ : Certificate
        By how much the best reassignment lowers a row's distance, recomputed from the kernel.

    See Also
    --------
    KMeans : K-means on the rows themselves.
    KMedoids : Clusters about rows, in any metric.
    is_mercer : Whether a Gram matrix is one of inner products.

    Notes
    -----
    An indefinite kernel has no feature space: squared "distances" can be negative and iterations
    need not descend. The fit then warns SEP007, and its certificate states only that no
    reassignment lowers the objective.

    References
    ----------
    Dhillon, I. S., Guan, Y. and Kulis, B. (2004). Kernel k-means: spectral clustering and
    normalized cuts. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> angle = np.arange(8) * np.pi / 4
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> rings = np.vstack([0.1 * circle, 3 * circle])
    >>> model = sx.KernelKMeans(2, gamma=1.0, random_state=0).fit(rings)
    >>> len(set(model.labels_[:8])), model.certificate_.holds
    (1, True)
    """

    _sparse_points = True
    labels_: Ints = field(init=False)

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    assign: str = "centroid"
    n_init: Any = 4
    max_iter: int = 300
    standardize: bool = False
    random_state: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Cluster the rows of ``X``: a matrix, a frame, Rows, a Gram matrix, or objects."""
        x, given = self._fit_kernel(X, sample_weight)
        n = n_items(x)
        w = unit_weights(given, n)
        precomputed = isinstance(self.kernel_, Precomputed)
        order = np.arange(n) if precomputed else lexicographic_order(x)
        rows = order[w[order] > 0]
        self._check_n_clusters(len(rows))
        check_option("assign", self.assign, kernel_lloyd.ASSIGNMENTS)
        prepared = self.kernel_.prepare(x).subset(rows)
        mercer = check_mercer(self.kernel_, prepared.centers)
        gram = kernel_lloyd.GramBlocks(prepared)
        best = self._best_run(gram, w[rows])
        self.X_fit_ = self.kernel_.serializable(prepared.centers)
        self.labels_fit_, self.weights_fit_ = best.labels, w[rows]
        self.precomputed_columns_ = rows if precomputed else None
        self.norms_, self.n_iter_ = best.norms, best.iterations
        self.inertia_ = max(best.inertia, 0.0) if mercer else best.inertia
        gain = kernel_lloyd.reassignment_gain(
            gram, w[rows], best.labels, self.n_clusters, self.assign
        )
        self.certificate_ = self._certificate(best, gain, mercer)
        self.labels_ = np.zeros(n, dtype=np.int64)
        self.labels_[rows] = best.labels
        if len(rows) < n:
            others = take_items(x, np.flatnonzero(w == 0))
            self.labels_[w == 0] = self._nearest(others[:, rows] if precomputed else others)
        if best.status != kernel_lloyd.KernelLloydStatus.CONVERGED:
            warn("SEP003", _STOPPED[best.status])
        return self

    def _fit_kernel(self, X: Any, sample_weight: Any) -> tuple[Any, Floats | None]:
        """Set ``kernel_``; the rows, standardized or not, and their weights if any."""
        x, w = self._read_points(X, sample_weight, objects=self._structures)
        x = self._fit_standardize(x, w, numeric=not self._structures and not self._precomputed)
        self._set_kernel(x, w)
        return x, w

    def _best_run(
        self, gram: kernel_lloyd.GramBlocks, weight: Floats
    ) -> kernel_lloyd.KernelPartition:
        rng, k = self._generator(), self.n_clusters
        runs = [
            kernel_lloyd.kernel_lloyd(
                gram,
                weight,
                kernel_plusplus(gram, weight, k, rng),
                k,
                assign=self.assign,
                max_iter=self.max_iter,
            )
            for _ in range(self._check_iterations(4))
        ]
        return min(runs, key=lambda run: run.inertia)

    def _certificate(
        self, kernel_partition: kernel_lloyd.KernelPartition, gain: float, mercer: bool
    ) -> Certificate:
        notes = []
        if kernel_partition.status != kernel_lloyd.KernelLloydStatus.CONVERGED:
            notes.append(_STOPPED[kernel_partition.status].capitalize())
        if self.assign == "members":
            claim = "Every row is in the cluster with the least mean distance to its members"
            notes.append("Assignment by members minimizes no objective.")
        elif mercer:
            claim = "Every row is nearest to the centroid of its own cluster in feature space"
            notes.append("A local optimum: other initializations may end lower.")
        else:
            claim = (
                "No reassignment of a row lowers Σ w (κ(x,x) − 2 mean κ(x,·) + mean κ(·,·)) with "
                "the means over clusters fixed"
            )
        if not mercer:
            notes.append(
                "The kernel is indefinite: this is not a distance in a feature space, and "
                "iterations need not lower the objective."
            )
        return Certificate(
            claim=claim,
            primal=self.inertia_,
            kkt=gain,
            tolerance=1e-9,
            statistic="the Gram matrix",
            notes=tuple(notes),
            promised=("kkt",),
        )

    # -- new rows ----------------------------------------------------------------------------------

    @on_one_blas_thread
    def predict(self, X: Any) -> Ints:
        """The nearest cluster of every row, by the distance that ``assign`` names."""
        return self._nearest(self._query_points(X))

    def _nearest(self, x: Any) -> Ints:
        prepared = self.kernel_.prepare(self.X_fit_)
        weights = kernel_lloyd.mean_weights(self.labels_fit_, self.weights_fit_, len(self.norms_))
        # Distances of new rows to training rows that are computed at once.
        step = max(1, (1 << 22) // len(prepared))
        labels = [np.zeros(0, dtype=np.int64)]
        for a in range(0, n_items(x), step):
            part = x[a : a + step]
            block = np.asarray(prepared.rows(part))
            if self.assign == "centroid":  # κ(x, x) is the same for all clusters
                distances = self.norms_ - 2.0 * (block @ weights)
            else:
                if isinstance(self.kernel_, Precomputed):
                    raise InputError(
                        "The mean distance to members needs κ(x, x) of new rows, and a block of "
                        "precomputed similarities does not contain it.",
                        remedy="Use assign='centroid', or give the kernel itself.",
                    )
                diagonal = np.asarray(self.kernel_.diagonal(part), dtype=float)
                distances = (
                    kernel_lloyd.kernel_distances(block, diagonal, prepared.diagonal) @ weights
                )
            labels.append(distances.argmin(axis=1))
        return np.concatenate(labels)

    def formula(self) -> nodes.ClassFormula:
        """The nearest cluster in feature space, by centroid or by members."""
        nodes.refuse_objects(self.kernel_)
        points, k = self.X_fit_, len(self.norms_)
        weights = kernel_lloyd.mean_weights(self.labels_fit_, self.weights_fit_, k)
        distances = nodes.KernelClusters(
            self._query_node(),
            points,
            self.kernel_,
            weights,
            np.asarray(self.norms_) if self.assign == "centroid" else None,
            np.asarray(self.kernel_.diagonal(points), dtype=np.float64),
            names=cluster_names(k),
        )
        return nearest_cluster(distances, k)

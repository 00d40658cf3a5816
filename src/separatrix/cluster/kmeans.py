"""K-means: k centers, every row with the nearest, every center the mean of its rows.

minimize Σ w ‖x − c_{label(x)}‖²
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_random_state, validate_data

from separatrix.cluster.base import starts_of
from separatrix.cluster.cluster_sums import RowSample, nearest_centers
from separatrix.cluster.initialization import random_start, spread_start
from separatrix.cluster.lloyd import Clustering, lloyd
from separatrix.cluster.streaming_lloyd import certify, lloyd_streamed
from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory, Rows
from separatrix.statistics.preparation import Prepared, prepare
from separatrix.statistics.standardizer import Standardizer

#: Rows from which a streamed table draws its start.
START_ROWS = 50_000
#: A table in memory with more numbers than this stays sparse if it is.
DENSE_NUMBERS = 50_000_000
STARTS = {"k-means++": spread_start, "random": random_start}


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, RowsEstimator):
    """K-means, to the end: sweeps stop when no row changes its center, and a certificate says so.

    Parameters
    ----------
    n_clusters : number of centers.
    init : ``"k-means++"``, ``"random"`` or an array (n_clusters, d) of centers to start from.
    n_init : starts, of which the best is kept; ``"auto"`` is 1, and 10 for ``"random"``.
    max_iter : most sweeps.
    tol : stop when the squared steps of the centers sum to less than this share of the mean
        variance of the columns; 0 sweeps until nothing moves.
    standardize : measure every column in units of its deviation. Distances depend on units
        otherwise: a length in millimeters counts a million times as much as in meters.
    random_state : seed of the starts.

    Attributes
    ----------
    cluster_centers_ : (n_clusters, d), in the units of the table.
    labels_ : cluster of every training row; absent for streamed tables (use ``predict``).
    inertia_ : the scatter Σ w ‖x − c‖², of standardized columns where asked for.
    sizes_ : sum of weights of every cluster.
    n_iter_, certificate_, encoding_, scale_.
    """

    labels_: NDArray[np.int32]
    cluster_centers_: Floats
    scale_: Floats
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 1000,
        tol: float = 0.0,
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find centers for the rows of ``X``: a matrix, dense or sparse, a data frame, or Rows."""
        given = self._rows_of(X, sample_weight)
        prepared = prepare(given)
        if isinstance(given, InMemory) and not isinstance(given, ArrayRows):
            block = prepared.rows.collect()  # a table in memory is swept as a matrix
            small = block.n * block.x.shape[1] <= DENSE_NUMBERS
            x = block.dense() if small else block.x
            prepared = replace(prepared, rows=ArrayRows(x, None, block.w))
        self.encoding_ = prepared.encoding
        self._check(prepared.moments.count)
        scale = (
            Standardizer.from_moments(prepared.moments).scale
            if self.standardize
            else np.ones(prepared.moments.d)
        )
        self.scale_ = np.where(scale > 0, scale, 1.0)
        variance = float((np.diag(prepared.moments.xx) / self.scale_**2).mean())
        variance /= prepared.moments.weight
        best = min(self._attempts(prepared, variance), key=lambda found: found.scatter)
        self._accept(prepared.rows, best, variance)
        return self

    def _rows_of(self, X: Any, sample_weight: Any) -> Rows:
        if isinstance(X, Rows):
            if sample_weight is not None:
                raise InputError("Rows carry their own weights.", remedy="scan(…, weight=…).")
            self._name_columns(X)
            return X
        x = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        return ArrayRows(
            sparse.csr_array(x) if sparse.issparse(x) else x,
            None,
            check_sample_weight(sample_weight, x.shape[0]),
            names=None if names is None else [str(name) for name in names],
        )

    def _check(self, n: int) -> None:
        if not isinstance(self.n_clusters, int | np.integer) or self.n_clusters < 1:
            raise InputError(f"n_clusters={self.n_clusters!r} must be a whole number from 1 up.")
        if n < self.n_clusters:
            raise InputError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: every cluster needs a "
                "row.",
                remedy="Ask for fewer clusters.",
            )
        if isinstance(self.init, str) and self.init not in STARTS:
            raise InputError(
                f"init={self.init!r} is unknown.",
                remedy="Use 'k-means++', 'random' or an array of centers.",
            )

    # -- starts and sweeps ---------------------------------------------------------------------

    def _attempts(self, prepared: Prepared, variance: float) -> list[Clustering]:
        rows = prepared.rows
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        dense = False
        if isinstance(rows, ArrayRows) and not sparse.issparse(rows.block.x):
            dense = True
            x, w = _positive(rows.block.x / self.scale_, rows.block.w)
        else:
            sample = rows.reduce(RowSample(max(START_ROWS, 50 * self.n_clusters), int(seeds[0])))
            x, w = sample.rows / self.scale_, sample.weight
        found = []
        for start in self._starts(x, w, np.random.default_rng(seeds[1])):
            if dense:
                found.append(lloyd(x, w, start, max_iter=self.max_iter, tol=self.tol))
                continue
            found.append(
                lloyd_streamed(
                    rows,
                    self.scale_,
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    variance=variance,
                )
            )
        return found

    def _starts(self, x: Floats, w: Floats, rng: np.random.Generator) -> list[Floats]:
        usual = 10 if isinstance(self.init, str) and self.init == "random" else 1
        times = starts_of(self.n_init, usual, self.max_iter)
        if isinstance(self.init, str):
            return [STARTS[self.init](x, w, self.n_clusters, rng) for _ in range(times)]
        given = np.array(self.init, dtype=np.float64)
        if given.shape != (self.n_clusters, x.shape[1]) or not np.isfinite(given).all():
            raise InputError(
                f"init has shape {given.shape}; {self.n_clusters} finite centers of "
                f"{x.shape[1]} columns are needed."
            )
        return [given / self.scale_]

    def _accept(self, rows: Rows, best: Clustering, variance: float) -> None:
        self.cluster_centers_ = best.centers * self.scale_
        self.inertia_, self.n_iter_, self.sizes_ = best.scatter, best.iterations, best.mass
        self.certificate_ = certify(rows, self.scale_, best, variance)
        self.__dict__.pop("labels_", None)
        if isinstance(rows, ArrayRows):
            kept = rows.block.w is None or bool((rows.block.w > 0).all())
            self.labels_ = best.labels if len(best.labels) and kept else self._nearest(rows.block.x)
        if not best.settled and self.tol == 0:
            warn(
                "SEP003",
                f"rows still change their cluster after max_iter={self.max_iter} sweeps; raise it, "
                "or set tol.",
            )
        if not best.mass.all():
            warn(
                "SEP004",
                f"the table has fewer distinct rows than the {self.n_clusters} clusters asked for; "
                f"{int((best.mass == 0).sum())} of them are empty.",
            )

    # -- new rows ------------------------------------------------------------------------------

    def _nearest(self, x: Any) -> NDArray[np.int32]:
        return np.concatenate(
            [
                nearest_centers(part, self.cluster_centers_ / self.scale_)[0]
                for part in _pieces(x, self.scale_)
            ]
        )

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest center of every row."""
        return self._nearest(self._design(X))

    def transform(self, X: Any) -> Floats:
        """Distance of every row to every center."""
        x, c = self._design(X), self.cluster_centers_ / self.scale_
        out = [
            np.stack([np.sqrt(((part - one) ** 2).sum(axis=1)) for one in c], axis=1)
            for part in _pieces(x, self.scale_)
        ]
        return np.concatenate(out)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Minus the scatter of these rows about the centers."""
        x = self._design(X)
        w = check_sample_weight(sample_weight, x.shape[0])
        c = self.cluster_centers_ / self.scale_
        squares = np.concatenate([nearest_centers(p, c)[1] for p in _pieces(x, self.scale_)])
        return -float(squares.sum() if w is None else w @ squares)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def _positive(x: Floats, w: Floats | None) -> tuple[Floats, Floats]:
    """Rows that count, with their weights."""
    if w is None:
        return np.ascontiguousarray(x), np.ones(len(x))
    return np.ascontiguousarray(x[w > 0]), w[w > 0]


def _pieces(x: Any, scale: Floats, numbers: int = 2_000_000) -> list[Floats]:
    """A matrix a few rows at a time, dense, in units of the scale."""
    step = max(64, numbers // max(x.shape[1], 1))
    parts = [x[i : i + step] for i in range(0, x.shape[0], step)]
    return [np.asarray(p.toarray() if sparse.issparse(p) else p) / scale for p in parts]

"""Predictions by the k nearest neighbors: their number, their weights, and mean targets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.distances.search import Neighbors
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.neighbors.leave_one_out import CountLoss, LeaveOneOutErrors, leave_one_out_errors
from separatrix.neighbors.queries import KNeighborsQueries, check_n_neighbors
from separatrix.neighbors.tuning import tune_neighbors
from separatrix.neighbors.weights import check_weights, distance_weights, truncated_weights
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.threads import parallel_map, pieces, thread_limit

#: Queries that are predicted together.
BLOCK = 1 << 14


@dataclass(frozen=True)
class WeightedNeighbors:
    """Neighbors of rows, weights that sum to one, and (Σ v)² / Σ v²: how many of equal weight."""

    indices: Ints
    weights: Floats
    effective: Floats

    @property
    def flat(self) -> tuple[Ints, Ints, Floats]:
        """Where each row starts, and the neighbors and weights of all rows."""
        n, k = self.indices.shape
        return np.arange(0, n * k + 1, k), self.indices.ravel(), self.weights.ravel()


class NeighborsPredictor(KNeighborsQueries):
    """ŷ(x) = Σ vᵢ yᵢ / Σ vᵢ over the k nearest training points, with v from their distances."""

    n_neighbors: int | str
    weights: Any

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and ``y``, or to :class:`~separatrix.rows.rows.Rows`."""

    @abstractmethod
    def _loss(self) -> CountLoss:
        """The loss by which k is chosen."""

    def tune(self, data: TuningData) -> Tuning:
        """Compare numbers of neighbors, weights and metrics on the folds of ``data``.

        For classes also how much votes are smoothed. Columns are standardized over all rows if
        ``standardize``, as in a fit to all of them.
        """
        return tune_neighbors(data, standardize=bool(self.standardize))

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen, which replace those given."""
        self.set_params(**tuning.parameters)
        return self.fit(rows)

    def _check_parameters(self) -> None:
        """Refuse parameters before any row is read."""
        self._check_search()
        check_weights(self.weights)
        if not (isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"):
            check_n_neighbors(self.n_neighbors)

    def _fit_neighbors(self) -> None:
        """Build the search, then take or choose the number of neighbors."""
        self._build_search()
        self.__dict__.pop("leave_one_out_", None)
        if self.n_neighbors == "auto":
            self.leave_one_out_ = self.leave_one_out()
            self.n_neighbors_ = self.leave_one_out_.best
        else:
            self.n_neighbors_ = check_n_neighbors(self.n_neighbors)
        self.certificate_ = Certificate(
            f"The {self.n_neighbors_} nearest of {self.n_samples_fit_} training rows are exact",
            notes=("Ties in distance go to the row that comes first.",),
            promised=(),
        )

    def leave_one_out(self, max_neighbors: int | None = None) -> LeaveOneOutErrors:
        """Leave-one-out error of k = 1 … ``max_neighbors``, by default 2√(Σ w), at most 128."""
        check_is_fitted(self, "points_")
        with thread_limit(self.n_jobs):
            return leave_one_out_errors(
                self._search, self.points_, self.sample_weight_, self.weights, self._loss(),
                max_neighbors,
            )  # fmt: skip

    @property
    def _unit_weights(self) -> bool:
        """Whether every training row counts once."""
        return bool((self.sample_weight_ == 1.0).all())

    def _neighbors(self, nearest: Callable[[int], Neighbors], n: int) -> tuple[Neighbors, Floats]:
        """Enough of n neighbors for a total weight of k, and how much of its weight each counts."""
        k, total = self.n_neighbors_, self.sample_weight_.sum()
        if k > total * (1.0 + 1e-12) or n < 1:
            raise InputError(
                f"n_neighbors={k} exceeds the total weight {total:g} of n_samples_fit = "
                f"{self.n_samples_fit_} rows: a row of weight w counts as w neighbors.",
                remedy="Use fewer neighbors, or weights that count rows.",
            )
        count = min(k, n)
        if self._unit_weights:
            found = nearest(count)
            return found, np.broadcast_to(1.0, found.indices.shape)
        while True:
            found = nearest(count)
            copies = truncated_weights(found.indices, self.sample_weight_, k)
            if count == n or (copies.sum(axis=1) >= k * (1 - 1e-12)).all():
                return found, copies
            count = min(n, 2 * count)  # weights below one need more rows

    def _blocks(self, X: Any) -> Iterator[tuple[Neighbors, Floats]]:
        """Neighbors of new rows by blocks; without X, of each training row among the others."""
        search, n = self._search, self.n_samples_fit_
        if X is None:
            yield self._neighbors(lambda k: search.nearest_others(k, self.points_), n - 1)
            return
        x = self._query_points(X)
        for start in range(0, n_items(x), BLOCK):
            block = x[start : start + BLOCK]
            yield self._neighbors(partial(search.nearest, block), n)

    def _over_blocks(
        self, X: Any, work: Callable[[WeightedNeighbors], tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """Results of ``work`` on blocks of rows with their neighbors, each result by blocks."""
        check_is_fitted(self, "points_")
        with thread_limit(self.n_jobs):
            parts = [work(self._weighted(*block)) for block in self._blocks(X)]
        return list(zip(*parts, strict=True))

    def _weighted(self, found: Neighbors, copies: Floats) -> WeightedNeighbors:
        """Weights by distance times copies, made to sum to one."""
        n, k = found.indices.shape
        if self._unit_weights and (self.weights is None or _uniform(self.weights)):
            return WeightedNeighbors(found.indices, np.full((n, k), 1.0 / k), np.full(n, float(k)))
        # A neighbor beyond the k-th must not set the bandwidth of the adaptive Gaussian.
        distances = np.where(copies > 0, found.distances, found.distances[:, :1])
        values = distance_weights(self.weights, distances)
        weights = copies * values
        total = weights.sum(axis=1, keepdims=True)
        if not (total > 0.0).all():
            raise InputError(
                "All neighbors of some sample is getting zero weights.",
                remedy="Please modify 'weights' to avoid this case if you are using a user-defined "
                "function.",
            )
        effective = total[:, 0] ** 2 / (weights * values).sum(axis=1)
        return WeightedNeighbors(found.indices, weights / total, effective)


def _uniform(weights: Any) -> bool:
    return isinstance(weights, str) and weights == "uniform"


def weighted_means(targets: Floats, indices: Ints, weights: Floats) -> Floats:
    """Σ weight · target over the neighbors of every row, on threads."""
    out = np.empty((len(indices), targets.shape[1]))

    def mean(part: slice) -> None:
        np.einsum("ij,ijk->ik", weights[part], targets[indices[part]], out=out[part])

    parallel_map(mean, pieces(len(indices), 1024))
    return out

"""Parameters of a search for neighbors, in scikit-learn's names: what they mean, what they exclude.

The search chooses its own method (a k-d tree or products) and is exact; ``algorithm`` and
``leaf_size`` are checked and change nothing, ``n_jobs`` limits the threads.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np

from separatrix.distances.base import Metric
from separatrix.distances.names import metric_with
from separatrix.messages import InputError, check_option
from separatrix.neighbors.base import InstanceBasedModel

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
_KD_TREE = (
    *("euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1"),
    *("chebyshev", "infinity"),
)
#: Metrics by name that a tree of each kind can search.
_TREES = {
    "kd_tree": _KD_TREE,
    "ball_tree": (
        *_KD_TREE,
        *("seuclidean", "mahalanobis", "hamming", "canberra", "braycurtis", "jaccard", "dice"),
        *("rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "haversine"),
    ),
}
_BY_EXPONENT = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}


class SearchParameters(InstanceBasedModel):
    """``effective_metric_`` is the metric by its plainest name."""

    algorithm: str
    leaf_size: int
    p: float | None
    metric_params: dict[str, Any] | None
    n_jobs: int | None
    effective_metric_: Any
    effective_metric_params_: dict[str, Any]

    def _chosen_metric(self) -> Metric:
        """The metric with its parameters."""
        name, parameters = self._effective_metric()
        return metric_with(name, parameters)

    def _effective_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; "minkowski" by the name that its exponent has."""
        given = dict(self.metric_params or {})
        if not isinstance(self.metric, str) or self.metric != "minkowski":
            return self.metric, given
        p, w = given.pop("p", self.p), given.pop("w", None)
        p = 2 if p is None else p
        if w is None and p in _BY_EXPONENT:
            return _BY_EXPONENT[p], given
        return self.metric, {**given, "p": p, "w": w}

    def _check_search(self) -> None:
        """Refuse values that scikit-learn refuses; sets ``effective_metric_``."""
        check_option("algorithm", self.algorithm, ALGORITHMS)
        if not isinstance(self.leaf_size, Integral) or self.leaf_size < 1:
            raise InputError(f"leaf_size={self.leaf_size!r} must be a positive integer.")
        if self.n_jobs is not None and not isinstance(self.n_jobs, Integral):
            raise InputError(f"n_jobs={self.n_jobs!r} must be an integer or None.")
        if self.p is not None and (not isinstance(self.p, Real) or not self.p > 0):
            raise InputError(f"p={self.p!r} must be a positive number.")
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise InputError(f"metric_params={self.metric_params!r} must be a dict or None.")
        if self.metric_params and "p" in self.metric_params and self.p is not None:
            warnings.warn("p in metric_params replaces the parameter p.", SyntaxWarning, 4)
        self._check_tree()
        self.effective_metric_, self.effective_metric_params_ = self._effective_metric()

    def _check_tree(self) -> None:
        """Whether a tree of the kind that was asked for could search with this metric."""
        name, parameters = self._effective_metric()
        below_one = name == "minkowski" and parameters["p"] < 1 if isinstance(name, str) else False
        if self.algorithm in _TREES:
            known = _TREES[self.algorithm]
            fits = name in known if isinstance(name, str) else self.algorithm == "ball_tree"
            weighted = parameters.get("w") is not None and self.algorithm == "kd_tree"
            pairwise = hasattr(name, "pairwise")
            if below_one:
                raise InputError(
                    f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski '
                    "metric.",
                    remedy='To resolve this problem either set p >= 1 or algorithm="brute".',
                )
            if weighted or not (fits or pairwise):
                raise InputError(
                    f"algorithm={self.algorithm!r} does not support metric={self.metric!r} with "
                    "these parameters.",
                    remedy="Use algorithm='auto', which gives the same neighbors.",
                )
        elif below_one:
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`: the triangle inequality does not hold.",
                UserWarning,
                4,
            )

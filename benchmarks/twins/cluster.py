"""Clusters."""

from __future__ import annotations

from typing import Any

import sklearn.cluster

from twins.entry import Entry

cluster = sklearn.cluster
#: Hierarchies of the twin hold all distances.
HIERARCHIES = ("tiny", "middle", "square", "wide")


def spread(model: Any, _: Any, __: Any) -> float:
    return float(model.inertia_)


def first_rows(x: Any, _: Any) -> dict[str, Any]:
    """The same start, and iterations to the end."""
    rows = x[:8]
    init = rows.toarray() if hasattr(rows, "toarray") else rows
    return {"n_clusters": 8, "init": init, "n_init": 1, "tol": 0.0}


ENTRIES = (
    Entry("KMeans", cluster.KMeans, {"random_state": 0}, target="none"),
    Entry("KMeans from rows", cluster.KMeans, first_rows, spread, target="none"),
    Entry("AgglomerativeClustering", cluster.AgglomerativeClustering, {}, shapes=HIERARCHIES),
    *(
        Entry(
            f"AgglomerativeClustering {linkage}", cluster.AgglomerativeClustering,
            {"linkage": linkage}, shapes=HIERARCHIES,
        )
        for linkage in ("complete", "average", "single")
    ),
)  # fmt: skip

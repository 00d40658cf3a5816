"""A cluster analysis as plain JSON values: no times, no paths; the same seed, the same bytes."""

from __future__ import annotations

from typing import Any

from separatrix.study.clustering.result import ClusterStudy
from separatrix.study.document import plain, record


def document_of(study: ClusterStudy) -> dict[str, Any]:
    """Everything in ``result.json`` but its version."""
    model = study.model
    return {
        "source": study.source,
        "task": "clustering",
        "seed": study.seed,
        "rows": study.n_rows,
        "columns": [record(column) for column in study.columns],
        "method": study.method,
        "metric": study.metric,
        "standardized": study.standardized,
        "asked": study.asked,
        "k": study.k,
        "reason": study.reason,
        "structure": record(study.structure),
        "stability": record(study.stability),
        "silhouette": {"score": plain(study.silhouette), "metric": study.measure},
        "steps": [record(step) for step in study.steps],
        "clusters": [record(group) for group in study.groups],
        "model": {"class": type(model).__name__, **_centres(model)},
        "certificate": {
            "words": str(model.certificate_),
            "holds": bool(model.certificate_.holds),
            **record(model.certificate_),
        },
        "messages": list(study.messages),
        "warnings": list(study.warnings),
    }


def _centres(model: Any) -> dict[str, Any]:
    """Means by name of the design's columns, or the rows that are medoids."""
    if hasattr(model, "medoid_indices_"):
        return {"medoids": plain(model.medoid_indices_)}
    if not hasattr(model, "cluster_centers_"):
        return {}
    names = model.encoding_.names
    return {
        "centres": [dict(zip(names, plain(row), strict=True)) for row in model.cluster_centers_]
    }

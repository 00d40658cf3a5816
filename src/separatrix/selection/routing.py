"""Metadata of cross-validated models (``groups`` …), routed by scikit-learn's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from separatrix.rows.block import Ints


def fold_router(model: Any, *, scores: bool = False, **others: Any) -> MetadataRouter:
    """The router of a model whose ``fit`` splits rows by ``cv``, and scores by ``others``.

    With ``scores`` its method ``score`` uses them too.
    """
    router = MetadataRouter(owner=model).add_self_request(model)
    for name, other in others.items():
        mapping = MethodMapping().add(caller="fit", callee="score")
        if scores:
            mapping.add(caller="score", callee="score")
        router.add(**{name: other}, method_mapping=mapping)
    splitting = MethodMapping().add(caller="fit", callee="split")
    return router.add(splitter=check_cv(model.cv), method_mapping=splitting)


def routed(model: Any, params: Mapping[str, Any], sample_weight: Any) -> dict[str, dict[str, Any]]:
    """What of ``fit``'s extra arguments goes to the splitter and to the scorer.

    Without scikit-learn's metadata routing there are none to take.
    """
    if not get_config().get("enable_metadata_routing", False):
        if params:
            raise ValueError(
                f"Passing extra keyword arguments to {type(model).__name__}.fit is only supported "
                "if enable_metadata_routing=True, which you can set using `sklearn.set_config`. "
                f"Extra parameters passed are: {', '.join(sorted(params))}."
            )
        return {"split": {}, "score": {}}
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not weights and not params:  # what scikit-learn returns then cannot be searched
        return {"split": {}, "score": {}}
    found = process_routing(model, "fit", **weights, **params)
    scorer = found["scorer"]["score"] if "scorer" in found else {}
    return {"split": dict(found["splitter"]["split"]), "score": dict(scorer)}


def named_folds(cv: Any, X: Any, y: Any, split: Mapping[str, Any]) -> Any:
    """``cv``, as (train, test) row numbers where it splits by metadata."""
    if not split:
        return cv
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return list(check_cv(cv).split(np.empty((n, 1)) if y is None else X, y, **split))


def of_rows(params: Mapping[str, Any], n: int, rows: Ints) -> dict[str, Any]:
    """Metadata of some of the n rows; what is not one value for each row is passed on whole."""
    return {
        name: np.asarray(value)[rows] if np.ndim(value) and len(value) == n else value
        for name, value in params.items()
    }

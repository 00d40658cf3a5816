"""A study as plain JSON values: no times, no paths, so that the same seed gives the same bytes."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from separatrix.study.result import Entry, Score, Study


def plain(value: Any) -> Any:
    """NumPy values as Python's own; what is not a number in JSON (NaN, infinity) as None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def document_of(study: Study) -> dict[str, Any]:
    """Everything in ``result.json`` but its version."""
    model = study.model
    return {
        "source": study.source,
        "target": study.target,
        "task": study.task,
        "seed": study.seed,
        "test_fraction": study.test_fraction,
        "rows": {"training": study.n_train, "test": study.n_test},
        "columns": [_record(column) for column in study.columns],
        "classes": list(study.classes),
        "leaderboard": [_entry(e) for e in study.leaderboard],
        "winner": study.winner,
        "reason": study.reason,
        "test": _scores(study.test),
        "baseline_test": _scores(study.baseline_test),
        "model": {
            "class": type(model).__name__,
            "parameters": plain(model.get_params(deep=False)),
            **_coefficients(model),
        },
        "certificate": {
            "words": str(model.certificate_),
            "holds": bool(model.certificate_.holds),
            **_record(model.certificate_),
        },
        "said": list(study.said),
        "warnings": list(study.warnings),
    }


def _record(value: Any) -> dict[str, Any]:
    return {f.name: plain(getattr(value, f.name)) for f in fields(value)}


def _entry(entry: Entry) -> dict[str, Any]:
    return _record(entry)


def _scores(scores: tuple[Score, ...]) -> dict[str, Any]:
    return {s.metric: {"value": plain(s.value), "interval": plain([s.low, s.high])} for s in scores}


def _coefficients(model: Any) -> dict[str, Any]:
    """Coefficients by name where the model has one for each term."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return {}
    names = [str(n) for n in getattr(model, "term_names_", model.encoding_.names)]
    rows = np.atleast_2d(coef)
    tables = [dict(zip(names, plain(row), strict=True)) for row in rows]
    return {
        "intercept": plain(model.intercept_),
        "coefficients": tables[0] if len(tables) == 1 else tables,
    }

"""A study as plain JSON values: no times, no paths, so that the same seed gives the same bytes."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from separatrix.study.result import Score, Study
from separatrix.svm.base import KernelSVM


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
        "columns": [record(column) for column in study.columns],
        "classes": list(study.classes),
        "leaderboard": [record(e) for e in study.leaderboard],
        "winner": study.winner,
        "reason": study.reason,
        "test": _scores(study.test),
        "baseline_test": _scores(study.baseline_test),
        "calibration": _optional(study.calibration),
        "decision": _decision(study),
        "covariances": _optional(study.covariances),
        "model": {**_described(model), **_coefficients(study.core)},
        "certificate": _certificate(model.certificate_),
        "machines": _svms(study.core),
        "said": list(study.said),
        "warnings": list(study.warnings),
    }


def _certificate(found: Any) -> dict[str, Any]:
    return {"words": str(found), "holds": bool(found.holds), **record(found)}


def _svms(core: Any) -> list[dict[str, Any]]:
    """Support vectors and certificate of every machine within a winner that is made of some."""
    if isinstance(core, KernelSVM):
        return [
            {"support": len(m.support), "certificate": _certificate(m.certificate)}
            for m in core.svms_
        ]
    return [{"certificate": _certificate(c)} for c in getattr(core, "certificates_", ())]


def record(value: Any) -> dict[str, Any]:
    """The fields of a record; records within it likewise."""
    return {f.name: _value(getattr(value, f.name)) for f in fields(value)}


def _value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return record(value)
    if isinstance(value, dict):
        return {str(k): _value(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_value(v) for v in value]
    return plain(value)


def _optional(value: Any) -> dict[str, Any] | None:
    return None if value is None else record(value)


def _decision(study: Study) -> dict[str, Any] | None:
    """Costs by name: {truth: {answer: cost}}; doubt among the answers if it has a price."""
    found = study.decision
    if found is None:
        return None
    matrix, price = found.costs.matrix, found.costs.reject_cost
    answers = [*study.classes] if price is None else [*study.classes, found.label]
    table = matrix if price is None else np.column_stack([matrix, price])
    costs = {
        truth: dict(zip(answers, plain(row), strict=True))
        for truth, row in zip(study.classes, table, strict=True)
    }
    measured = ("cost", "coverage", "risk", "cost_without")
    return {
        "costs": costs,
        "reject": None if price is None else found.label,
        **{name: _score(getattr(found, name)) for name in measured},
    }


def _described(model: Any) -> dict[str, Any]:
    """Class and parameters of a model, and of the models that it is made of."""
    given = model.get_params(deep=False)
    return {
        "class": type(model).__name__,
        "parameters": {
            name: _described(value) if hasattr(value, "get_params") else plain(value)
            for name, value in given.items()
        },
    }


def _scores(scores: tuple[Score, ...]) -> dict[str, Any]:
    return {score.metric: _score(score) for score in scores}


def _score(score: Score) -> dict[str, Any]:
    return {"value": plain(score.value), "interval": plain([score.low, score.high])}


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

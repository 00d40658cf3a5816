"""A study as JSON values, without times and paths: the same seed gives the same bytes."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from separatrix.optimize.convex import Certificate
from separatrix.study.description import ModelDescription
from separatrix.study.result import PartialDependence, Score, ScoresOfClass, Study


def plain(value: Any) -> Any:
    """JSON values: records as dictionaries, NaN and infinity as None, NumPy's as Python's own."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return record(value) if is_dataclass(value) else value


def document_of(study: Study) -> dict[str, Any]:
    """Everything in ``result.json`` but its version."""
    model = study.description
    return {
        "source": study.source,
        "target": study.target,
        "task": study.task,
        "seed": study.seed,
        "test_fraction": study.test_fraction,
        "rows": {"training": study.n_train, "test": study.n_test},
        "columns": plain(study.columns),
        "classes": list(study.classes),
        "leaderboard": plain(study.leaderboard),
        "winner": study.winner,
        "reason": study.reason,
        "choice": plain(study.choice),
        "reference": plain(study.reference),
        "validation": {
            "scheme": study.validation,
            "repeats": plain(study.repeats),
            "nested": plain(study.nested),
        },
        "test": _scores(study.test),
        "baseline_test": _scores(study.baseline_test),
        "classes_test": {
            class_score.label: _class_scores(class_score) for class_score in study.class_scores
        },
        "calibration": plain(study.calibration),
        "decision": _decision(study),
        "covariance_tests": plain(study.covariance_tests),
        "model": {
            "class": type(study.model).__name__,
            "parameters": plain(model.parameters),
            **_coefficients(model),
        },
        "uncertainty": _uncertainty(study),
        "conformal": _conformal_document(study),
        "importance": _importance(study),
        "dependence": [_dependence(class_score) for class_score in study.dependence],
        "correlations": plain(study.correlations),
        "certificate": certificate_document(model.certificate),
        "svms": [
            {"n_support": svm.n_support, "certificate": certificate_document(svm.certificate)}
            for svm in model.svms
        ],
        "stream": plain(study.stream),
        "class_weights": dict(zip(study.classes, study.class_weights, strict=False)) or None,
        "messages": list(study.messages),
        "warnings": list(study.warnings),
    }


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """A certificate with its text and whether it holds."""
    return {"summary": str(certificate), "holds": certificate.holds, **record(certificate)}


def record(value: Any) -> dict[str, Any]:
    """The fields of a record; records within it likewise."""
    return {f.name: plain(getattr(value, f.name)) for f in fields(value)}


def _decision(study: Study) -> dict[str, Any] | None:
    """Costs by name, {truth: {answer: cost}}, a rejection among the answers if it is an option."""
    decision = study.decision
    if decision is None:
        return None
    matrix, rejection = decision.costs.matrix, decision.costs.reject_cost
    answers = [*study.classes] if rejection is None else [*study.classes, decision.reject_label]
    table = matrix if rejection is None else np.column_stack([matrix, rejection])
    costs = {
        truth: dict(zip(answers, plain(row), strict=True))
        for truth, row in zip(study.classes, table, strict=True)
    }
    return {
        "costs": costs,
        "reject_label": None if rejection is None else decision.reject_label,
        "cost": _score(decision.cost),
        "coverage": _score(decision.coverage),
        "risk": _score(decision.risk),
        "cost_without": _score(decision.cost_without),
    }


def _uncertainty(study: Study) -> dict[str, Any] | None:
    """Coverage and mean width of intervals on the test set, and the log score."""
    uncertainty = study.uncertainty
    if uncertainty is None:
        return None
    return {
        "level": uncertainty.level,
        "nlpd": _score(uncertainty.log_loss),
        "intervals": [
            {
                "level": score.level,
                "coverage": _score(score.coverage),
                "mean_width": plain(score.width),
            }
            for score in uncertainty.test
        ],
    }


def _conformal_document(study: Study) -> dict[str, Any] | None:
    """Coverage of conformal intervals or sets, each half of the test rows by the other."""
    found = study.conformal
    if found is None:
        return None
    if found.refusal:
        return {"refusal": found.refusal}
    return {
        "score": found.kind,
        "rows": found.n,
        "checks": [
            {
                "level": check.level,
                "coverage": _score(check.coverage),
                "mean_size": plain(check.size),
                "classes": {name: _score(score) for name, score in check.by_class.items()},
            }
            for check in found.checks
        ],
    }


def _importance(study: Study) -> dict[str, Any] | None:
    """The rise of the loss by column, with its interval."""
    importance = study.importance
    if importance is None:
        return None
    rises = zip(
        importance.columns, importance.increase, importance.low, importance.high, strict=True
    )
    return {
        "loss": importance.loss,
        "base": plain(importance.base),
        "rows": importance.n_rows,
        "repeats": importance.n_repeats,
        "columns": {
            name: {"increase": plain(rise), "interval": plain([low, high])}
            for name, rise, low, high in rises
        },
    }


def _dependence(partial_dependence: PartialDependence) -> dict[str, Any]:
    """The mean prediction by value of a column; without the curves of single rows."""
    return {
        "column": partial_dependence.column,
        "scale": partial_dependence.scale,
        "values": list(partial_dependence.levels) or plain(partial_dependence.values),
        "average": {
            name: plain(partial_dependence.average[:, k])
            for k, name in enumerate(partial_dependence.outputs)
        },
    }


def _scores(scores: tuple[Score, ...]) -> dict[str, Any]:
    return {score.metric: _score(score) for score in scores}


def _score(score: Score) -> dict[str, Any]:
    return {"value": plain(score.value), "interval": plain([score.low, score.high])}


def _class_scores(scores_of_class: ScoresOfClass) -> dict[str, Any]:
    scores = (
        scores_of_class.precision,
        scores_of_class.recall,
        scores_of_class.f1,
        scores_of_class.auc,
    )
    return {
        **_scores(scores),
        "support": scores_of_class.support,
        "predicted": scores_of_class.predicted,
    }


def _coefficients(model: ModelDescription) -> dict[str, Any]:
    """Coefficients by name; several outputs as a list."""
    single, several = model.inference, model.class_coefficients
    if single is not None:
        values = dict(zip(single.names, plain(single.estimates), strict=True))
        return {"intercept": plain(single.intercept), "coefficients": values}
    if several is None:
        return {}
    return {
        "intercept": plain(several.intercepts),
        "coefficients": [
            dict(zip(several.names, plain(row), strict=True)) for row in several.estimates
        ],
    }

"""Questions of the view: what was stored, and the prediction of a row with its parts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from separatrix.exploration.session import Session
from separatrix.exploration.state import State, certified, finite
from separatrix.exploration.table import Table
from separatrix.exploration.views.model.parts import apart
from separatrix.exploration.views.model.stored import Stored, row_of, stored
from separatrix.messages import InputError


def about(session: Session, _: State) -> dict[str, Any]:
    """The model, its columns with their ranges, and the leaderboard of its study."""
    found = stored(session)
    study, certificate = found.study, getattr(found.model, "certificate_", None)
    return {
        "name": found.path.name,
        "model": type(found.model).__name__,
        "inner": type(found.inner).__name__,
        "target": getattr(study, "target", None) or _target(found),
        "columns": found.columns,
        "classes": _classes(found),
        "rows": 0 if session.shown is None else len(session.shown),
        "leaderboard": _leaderboard(study),
        "reason": getattr(study, "reason", ""),
        "test": [
            [score.metric, *(finite(v) for v in (score.value, score.low, score.high))]
            for score in getattr(study, "test", ())
        ],
        "certificate": certified(certificate),
    }


def explain(session: Session, state: State) -> dict[str, Any]:
    """The prediction of a row, with its interval or probabilities, taken apart."""
    found = stored(session)
    row = row_of(found, state.items("row"))
    given = found.rows([row])
    predicted = np.asarray(found.model.predict(given))[0]
    labels = _classes(found)
    numeric = not labels and predicted.dtype.kind == "f"
    answer: dict[str, Any] = {
        "row": row,
        "prediction": None if numeric else str(predicted),
        "number": finite(float(predicted)) if numeric else None,
        "probabilities": [],
        "intervals": _intervals(found, given, labels),
        "python": found.python(row),
    }
    if labels and hasattr(found.model, "predict_proba"):
        answer["probabilities"] = found.model.predict_proba(given)[0].tolist()
    at = labels.index(str(predicted)) if str(predicted) in labels else _likely(answer)
    label = labels.index(state.choice("label", labels, labels[at])) if labels else 0
    return {**answer, "label": labels[label] if labels else None, "parts": apart(found, row, label)}


def table_row(session: Session, state: State) -> dict[str, Any]:
    """A row of the table of the page, as a row of the model."""
    found, table = stored(session), session.table
    at = state.whole("number", 1, 1, len(table)) - 1
    lacking = [c["name"] for c in found.columns if c["name"] not in table.columns]
    if lacking:
        raise InputError(f"the table has no column {lacking[0]!r}, which the model reads.")
    return {"row": [_value(table, column, at) for column in found.columns]}


def _value(table: Table, column: dict[str, Any], at: int) -> Any:
    value = table.columns[column["name"]][at]
    if table.columns[column["name"]].dtype.kind == "f":
        if np.isnan(value):
            return None
        return ("true" if value else "false") if column["kind"] == "level" else float(value)
    text = str(value)
    return text if text in column.get("levels", ()) else None


def _classes(found: Stored) -> list[str]:
    return [str(label) for label in found.model.classes_] if is_classifier(found.model) else []


def _target(found: Stored) -> str:
    return found.schema.targets[0].name if found.schema.targets else "target"


def _likely(answer: dict[str, Any]) -> int:
    """The class of a row for which the model abstains: the most probable one."""
    found = answer["probabilities"]
    return int(np.argmax(found)) if found else 0


def _leaderboard(study: Any) -> list[dict[str, Any]]:
    """Models in order of their error, the chosen one marked."""
    return [
        {
            "name": entry.name,
            "label": entry.label,
            "metric": entry.metric,
            "mean": finite(entry.mean),
            "error": finite(entry.standard_error),
            "note": entry.note,
            "chosen": entry.name == study.winner,
        }
        for entry in getattr(study, "leaderboard", ())
    ]


def _intervals(found: Stored, given: Any, labels: list[str]) -> list[list[Any]]:
    """Name, and ends or labels: the model's own interval, and what test rows guarantee."""
    model, intervals = found.model, []
    if not labels:
        if hasattr(model, "predictive"):
            intervals.append(["95 % interval", *_ends(model.predictive(given).interval(0.95))])
        elif hasattr(model, "predict_interval"):
            with suppress(InputError):  # dependent columns, or no degrees of freedom
                intervals.append(["95 % interval", *_ends(model.predict_interval(given))])
    guaranteed = getattr(found.study, "guaranteed", None)
    if guaranteed is None or guaranteed.refusal:
        return intervals
    if not labels:
        ends = guaranteed.intervals(model, given, 0.9)
        return [*intervals, ["90 %, guaranteed by the test rows", *_ends(ends)]]
    inside = guaranteed.sets(model, given, 0.9)[0]
    chosen = [label for label, one in zip(labels, inside, strict=True) if one]
    return [*intervals, ["90 % set of classes", ", ".join(chosen) or "none"]]


def _ends(interval: Any) -> list[float | None]:
    return [finite(float(end)) for end in np.asarray(interval)[0]]


QUESTIONS = {"about": about, "explain": explain, "table_row": table_row}

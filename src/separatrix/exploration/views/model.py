"""Questions of the view: what was stored, and the prediction of a row with its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from separatrix.estimators.wrapped import schema_of
from separatrix.exploration import plots
from separatrix.exploration.session import MODEL, Session
from separatrix.exploration.state import ViewState, brief
from separatrix.exploration.table import PageTable
from separatrix.formula import nodes
from separatrix.formula.reading import kernel_score, linear_score, nodes_of, typical_points
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError
from separatrix.rows.schema import Column, Kind, Schema, Term
from separatrix.rows.sources.new_rows import rows_like
from separatrix.storage.model_file import load, load_study


def about(session: Session, _: ViewState) -> dict[str, Any]:
    """The model, its columns with their ranges, and the leaderboard of its study."""
    stored = load_stored(session)
    study, certificate = stored.study, getattr(stored.model, "certificate_", None)
    return {
        "name": stored.path.name,
        "model": type(stored.model).__name__,
        "inner": type(stored.inner).__name__,
        "target": getattr(study, "target", None) or _target(stored),
        "columns": stored.columns,
        "classes": _classes(stored),
        "rows": 0 if session.shown is None else len(session.shown),
        "leaderboard": _leaderboard(study),
        "reason": getattr(study, "reason", ""),
        "test": [
            [score.metric, *(plots.finite(v) for v in (score.value, score.low, score.high))]
            for score in getattr(study, "test", ())
        ],
        "certificate": plots.certificate_state(certificate),
    }


def explain(session: Session, state: ViewState) -> dict[str, Any]:
    """The prediction of a row, with its interval or probabilities, taken apart."""
    stored = load_stored(session)
    row = row_of(stored, state.items("row"))
    given = stored.rows([row])
    predicted = np.asarray(stored.model.predict(given))[0]
    labels = _classes(stored)
    numeric = not labels and predicted.dtype.kind == "f"
    answer: dict[str, Any] = {
        "row": row,
        "prediction": None if numeric else str(predicted),
        "number": plots.finite(float(predicted)) if numeric else None,
        "probabilities": [],
        "intervals": _intervals(stored, given, labels),
        "python": stored.python(row),
    }
    if labels and hasattr(stored.model, "predict_proba"):
        answer["probabilities"] = stored.model.predict_proba(given)[0].tolist()
    index = labels.index(str(predicted)) if str(predicted) in labels else _likely(answer)
    label = labels.index(state.choice("label", labels, labels[index])) if labels else 0
    return {
        **answer,
        "label": labels[label] if labels else None,
        "parts": apart(stored, row, label),
    }


def table_row(session: Session, state: ViewState) -> dict[str, Any]:
    """A row of the table of the page, as a row of the model."""
    stored, table = load_stored(session), session.table
    at = state.whole("number", 1, 1, len(table)) - 1
    lacking = [c["name"] for c in stored.columns if c["name"] not in table.columns]
    if lacking:
        raise InputError(f"the table has no column {lacking[0]!r}, which the model reads.")
    return {"row": [_value(table, column, at) for column in stored.columns]}


def _value(table: PageTable, column: dict[str, Any], index: int) -> Any:
    value = table.columns[column["name"]][index]
    if table.columns[column["name"]].dtype.kind == "f":
        if np.isnan(value):
            return None
        return ("true" if value else "false") if column["kind"] == "level" else float(value)
    text = str(value)
    return text if text in column.get("levels", ()) else None


def _classes(stored: Stored) -> list[str]:
    return [str(label) for label in stored.model.classes_] if is_classifier(stored.model) else []


def _target(stored: Stored) -> str:
    return stored.schema.targets[0].name if stored.schema.targets else "target"


def _likely(answer: dict[str, Any]) -> int:
    """The class of a row for which the model abstains: the most probable one."""
    probabilities = answer["probabilities"]
    return int(np.argmax(probabilities)) if probabilities else 0


def _leaderboard(study: Any) -> list[dict[str, Any]]:
    """Models in order of their error, the chosen one marked."""
    return [
        {
            "name": entry.name,
            "label": entry.label,
            "metric": entry.metric,
            "mean": plots.finite(entry.mean),
            "error": plots.finite(entry.standard_error),
            "note": entry.note,
            "chosen": entry.name == study.winner,
        }
        for entry in getattr(study, "leaderboard", ())
    ]


def _intervals(stored: Stored, given: Any, labels: list[str]) -> list[list[Any]]:
    """Name, and ends or labels: the model's own interval, and what test rows guarantee."""
    model, intervals = stored.model, []
    if not labels:
        if hasattr(model, "predictive"):
            intervals.append(["95 % interval", *_ends(model.predictive(given).interval(0.95))])
        elif hasattr(model, "predict_interval"):
            with suppress(InputError):  # dependent columns, or no degrees of freedom
                intervals.append(["95 % interval", *_ends(model.predict_interval(given))])
    conformal = getattr(stored.study, "conformal", None)
    if conformal is None or conformal.refusal:
        return intervals
    if not labels:
        ends = conformal.intervals(model, given, 0.9)
        return [*intervals, ["90 % conformal interval", *_ends(ends)]]
    inside = conformal.sets(model, given, 0.9)[0]
    chosen = [label for label, is_inside in zip(labels, inside, strict=True) if is_inside]
    return [*intervals, ["90 % set of classes", ", ".join(chosen) or "none"]]


def _ends(interval: Any) -> list[float | None]:
    return [plots.finite(float(end)) for end in np.asarray(interval)[0]]


QUESTIONS = {"about": about, "explain": explain, "table_row": table_row}


# -------------------------------------------------------------------------------------------------
# A stored model with its study: the columns that it reads, their ranges, and rows for it.


#: How dates are stored: days since 1970.
DATE = "date"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Stored:
    """A model file: the model, the one inside its calibration, its study, and its columns."""

    path: Path
    model: Any
    inner: Any
    study: Any
    schema: Schema
    columns: tuple[dict[str, Any], ...]

    @cached_property
    def formula(self) -> nodes.Formula | None:
        """The formula of the model inside; None for one that has none."""
        try:
            return nodes.formula_of(self.inner)
        except NoFormula:
            return None

    @property
    def reference(self) -> Row:
        """The row of column means (middles of ranges where none are stored) and frequent levels."""
        return tuple(column["start"] for column in self.columns)

    @property
    def is_matrix(self) -> bool:
        """Whether the model reads rows of numbers, by position."""
        encoding = getattr(self.inner, "encoding_", None)
        return encoding is not None and bool(encoding.is_identity)

    def rows(self, rows: Sequence[Row]) -> Any:
        """Rows as the model takes them: an array, or ``Rows`` under its schema."""
        given = self._given(rows)
        return given if self.is_matrix else rows_like(given, self.schema)

    def _given(self, rows: Sequence[Row]) -> Any:
        """An array, or columns by name."""
        if self.is_matrix:
            return np.array(rows, dtype=float)
        named = zip(self.schema.columns, zip(*rows, strict=True), strict=True)
        return {column.name: [_written(column, v) for v in match] for column, match in named}

    def python(self, row: Row) -> str:
        """The Python that loads the model and predicts the row."""
        given = self._given([row])
        text = repr(given.tolist()) if self.is_matrix else repr(given)
        lines = ["import separatrix as sx", "", f"model = sx.load({str(self.path)!r})"]
        lines += [f"row = {text}", "prediction = model.predict(row)[0]"]
        if hasattr(self.model, "predict_proba"):
            lines.append("probabilities = model.predict_proba(row)[0]")
        return "\n".join([*lines, "print(prediction)"])


def load_stored(session: Session) -> Stored:
    """The model of the session, read once, without executing anything in its file."""
    if session.model is None:
        raise InputError(
            "this page has no model.", remedy="Start it as separatrix explore model.sx."
        )
    return session.once(("stored model", session.model), lambda: _read(session))


def _read(session: Session) -> Stored:
    path = Path(str(session.model))
    path = path / MODEL if path.is_dir() else path
    model, study = load(path), load_study(path)
    schema = schema_of(model)
    if schema is None or not hasattr(model, "predict"):
        raise InputError(f"{type(model).__name__} does not predict from columns.")
    inner = model
    while hasattr(inner, "estimator_"):
        inner = inner.estimator_
    columns = _columns(schema, inner, study, session.shown)
    return Stored(path, model, inner, study, schema, columns)


def _columns(
    schema: Schema, inner: Any, study: Any, table: PageTable | None
) -> tuple[dict[str, Any], ...]:
    """Name, kind, range or levels, and start of every column."""
    known = {column.name: column for column in getattr(study, "columns", ())}
    ranges = _ranges(inner, schema)
    return tuple(
        _column(column, known.get(column.name), table, ranges) for column in schema.columns
    )


def _column(
    column: Column, known: Any, table: PageTable | None, ranges: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    name = column.name
    shown = None if table is None else table.columns.get(name)
    if column.kind is not Kind.NUMERIC:
        boolean = column.kind is Kind.BOOLEAN
        levels = ["false", "true"] if boolean else list(column.levels)
        counts = getattr(known, "levels", None) or {}
        start = max(levels, key=lambda level: counts.get(level, 0)) if counts else levels[0]
        return {"name": name, "kind": "level", "levels": levels, "start": start}
    if known is not None and known.minimum is not None:
        low, high, mean = known.minimum, known.maximum, known.mean
        whole = bool(known.integer)
    elif shown is not None and shown.dtype.kind == "f":
        low, high, mean = (float(f(shown)) for f in (np.nanmin, np.nanmax, np.nanmean))
        whole = False
    else:
        middle = column.placeholder
        around = abs(middle) or 3.0  # nothing is known but a typical value
        low, high = ranges.get(name, (middle - around, middle + around))
        mean, whole = (low + high) / 2, False
    mean = round(mean) if whole else float(f"{mean:.6g}")
    kind = {"kind": "number", "whole": whole, "date": column.display == DATE}
    return {"name": name, **kind, "low": low, "high": max(high, low + 1e-9), "start": mean}


def _ranges(inner: Any, schema: Schema) -> dict[str, tuple[float, float]]:
    """Ranges of columns by what the model holds: moments, or points."""
    encoding, moments = getattr(inner, "encoding_", None), getattr(inner, "moments_", None)
    if encoding is None:
        return {}
    if moments is not None and len(moments.x_mean) == len(encoding.terms):
        deviation = np.sqrt(np.diag(moments.xx) / moments.weight)
        low, high = moments.x_mean - 2.5 * deviation, moments.x_mean + 2.5 * deviation
    else:
        try:
            points = typical_points(nodes.formula_of(inner), len(encoding.terms))
        except NoFormula:
            points = None
        if points is None or len(points) < 2:
            return {}
        low, high = points.min(axis=0), points.max(axis=0)
    at = {term: i for i, term in enumerate(encoding.terms)}
    terms = [(column.name, at.get(Term(column.name))) for column in schema.columns]
    return {name: (float(low[i]), float(high[i])) for name, i in terms if i is not None}


def _means(inner: Any, schema: Schema) -> dict[str, float]:
    """Means of the training rows, where the model holds them."""
    encoding, moments = getattr(inner, "encoding_", None), getattr(inner, "moments_", None)
    if encoding is None:
        return {}
    means = {name: float(value) for name, value in encoding.fill_values.items()}
    holder = getattr(inner, "standardizer_", None) if moments is None else None
    mean = moments.x_mean if moments is not None else getattr(holder, "mean", None)
    if mean is None or len(mean) != len(encoding.terms):
        return means
    at = {term: i for i, term in enumerate(encoding.terms)}
    terms = [(column.name, at.get(Term(column.name))) for column in schema.columns]
    return {**{name: float(mean[i]) for name, i in terms if i is not None}, **means}


def _written(column: Column, value: Any) -> Any:
    """A value as a table has it."""
    if value is None:
        return None
    if column.kind is Kind.BOOLEAN:
        return value == "true"
    if column.display == DATE:
        return str(np.datetime64(round(value), "D"))
    return value


def row_of(stored: Stored, values: Sequence[Any]) -> Row:
    """A row of the page, checked value by value; the reference where none is given."""
    if not values:
        return stored.reference
    if len(values) != len(stored.columns):
        raise InputError(f"a row of this model has {len(stored.columns)} values.")
    return tuple(_check_value(c, v) for c, v in zip(stored.columns, values, strict=True))


def _check_value(column: Mapping[str, Any], value: Any) -> Any:
    if value is None:
        return None
    if column["kind"] == "level":
        if value not in column["levels"]:
            raise InputError(f"{column['name']} has no level {brief(value)}.")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise InputError(f"{column['name']} is {brief(value)}, not a number.")
    return float(value)


# -------------------------------------------------------------------------------------------------
# A prediction taken apart: terms of a linear score, neighbors, support vectors, or changes.
#
# linear      f(x) = f(x₀) + Σ bⱼ (xⱼ − x₀ⱼ)         x₀ the row of column means
# kernel      f(x) = b + Σ αᵢ yᵢ κ(x, xᵢ)
# neighbors   f(x) = Σ vᵢ yᵢ / Σ vᵢ
# any other   f(x) − f(x with column j as in x₀)     one at a time: these need not add up


def apart(stored: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """The parts of the prediction of a row; ``label`` is the class whose score is taken apart."""
    for way in (terms, neighbors, support, changes):
        parts = way(stored, row, label)
        if parts is not None:
            return parts
    return None


def terms(stored: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """Terms of a linear score, column by column; None where the score is not linear."""
    node, names = _score_node(stored), [column["name"] for column in stored.columns]
    if node is None:
        return None
    of = nodes.Evaluation(nodes.GivenRows(stored.rows([stored.reference, row])))
    scores = of(node).array
    several = scores.shape[1] > 1
    output = label if several else 0
    linear = linear_score(node, output)
    if linear is None:
        return None
    design = of(linear.design).array
    sums = dict.fromkeys(names, 0.0)
    for term, value in zip(
        linear.design.inputs.terms, linear.coef * (design[1] - design[0]), strict=True
    ):
        sums[term.column] += float(value)
    shown = zip(names, row, strict=True)
    items = [[f"{name} = {_text(v)}", sums[name]] for name, v in shown]
    what = _score_name(stored, output if several else 1)
    return {
        "kind": "terms",
        "what": what,
        "base": float(scores[0, output]),
        "base name": "at the reference row",
        **_list_parts(items),
        "total": float(scores[1, output]),
        "note": f"Coefficients times differences from the reference row add up to the {what}.",
    }


def neighbors(stored: Stored, row: Row, _: int) -> dict[str, Any] | None:
    """The nearest training rows with their distances and weights."""
    if stored.formula is None:
        return None
    near = next((n for n in nodes_of(stored.formula) if isinstance(n, nodes.Nearest)), None)
    if near is None:
        return None
    x = nodes.Evaluation(nodes.GivenRows(stored.rows([row])))(near.x)
    found: Any = near.neighbors(x)
    distances, at, weights, _ = (value.array[0] for value in found)
    weights, targets = weights / weights.sum(), near.targets[at]
    codes, values = np.zeros(len(at), dtype=int), targets[:, 0].tolist()
    labels = _classes(stored)
    if labels:
        codes = targets.argmax(axis=1)
        values = [labels[code] for code in codes]
    each = zip(at, distances, weights, values, codes, strict=True)
    smooth = any(isinstance(node, nodes.SmoothedVotes) for node in nodes_of(stored.formula))
    return {
        "kind": "neighbors",
        "what": "weight of the vote" if labels else "weight in the mean",
        "items": [[int(i) + 1, float(d), float(w), v, int(c)] for i, d, w, v, c in each],
        "note": f"The {len(weights)} nearest of {len(near.points):,} training rows."
        + (" Votes are smoothed." if smooth else ""),
    }


def support(stored: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """Contributions αᵢ yᵢ κ(x, xᵢ) of the support vectors, largest first."""
    node = _score_node(stored)
    if node is None:
        return None
    of, sign, output, what = nodes.Evaluation(nodes.GivenRows(stored.rows([row]))), 1.0, 0, ""
    if isinstance(node, nodes.Votes):
        scores, labels = of(node).array[0], stored.inner.classes_
        other = int(np.argsort(scores)[-1 if np.argmax(scores) != label else -2])
        i, j = sorted((label, other))
        node, sign = node.scores, 1.0 if i == label else -1.0
        output = list(combinations(range(len(labels)), 2)).index((i, j))
        what = f"score of {labels[label]} against {labels[other]}"
    elif of(node).array.shape[1] == 1:
        what = _score_name(stored, 1)
    expansion = kernel_score(node, output) if what else None
    if expansion is None:
        return None
    values: list[Any] = [kernel.values(of(kernel.x)) for kernel, _ in expansion.parts]
    pairs = zip(values, expansion.parts, strict=True)
    parts = [value.array[0] * weights for value, (_, weights) in pairs]
    each, b = sign * np.concatenate(parts), sign * expansion.constant
    order = np.argsort(-np.abs(each), kind="stable")
    items = [[f"support vector {n + 1}", float(each[k])] for n, k in enumerate(order)]
    return {
        "kind": "support",
        "what": what,
        "base": float(b),
        "base name": "b",
        **_list_parts(items),
        "total": float(b + each.sum()),
        "note": f"α y κ(x, xᵢ) of {len(each)} support vectors and b add up to the {what}.",
    }


def changes(stored: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """How the prediction differs from that with one column as in the reference row."""
    model, start = stored.model, stored.reference
    each = [row, *([*row[:j], start[j], *row[j + 1 :]] for j in range(len(row)))]
    given = stored.rows([tuple(change) for change in each])
    if hasattr(model, "predict_proba"):
        values, what = (
            model.predict_proba(given)[:, label],
            f"probability of {_label(stored, label)}",
        )
    elif is_classifier(model):
        return None
    else:
        values = np.asarray(model.predict(given))
        if values.dtype.kind != "f" or values.ndim > 1:
            return None
        what = "prediction"
    shown = zip(stored.columns, row, values[0] - values[1:], strict=True)
    items = [[f"{c['name']} = {_text(v)}", float(d)] for c, v, d in shown]
    return {
        "kind": "changes",
        "what": f"change of the {what}",
        "base": 0.0,
        "base name": "",
        **_list_parts(items),
        "total": float(values[0]),
        "note": f"Change of the {what} by one column at a time, against its value in the reference "
        "row. Columns interact, so that changes need not add up.",
    }


def _score_node(stored: Stored) -> nodes.Node | None:
    """What the inner model's answer is decided by: its scores, or the number that it predicts."""
    formula = stored.formula
    if isinstance(formula, nodes.NumberFormula):
        return formula.mean
    return None if formula is None else formula.scores


def _score_name(stored: Stored, label: int) -> str:
    if not is_classifier(stored.inner):
        return "prediction"
    inside = "" if stored.inner is stored.model else f" by the {type(stored.inner).__name__} inside"
    return f"score of {_label(stored, label)}{inside}"


def _label(stored: Stored, label: int) -> str:
    return str(stored.inner.classes_[label])


def _list_parts(items: list[list[Any]]) -> dict[str, Any]:
    """The largest parts, and the sum of all others."""
    ordered = sorted(items, key=lambda item: -abs(item[1]))
    listed = 12  # parts that are listed; the smallest of the others are summed
    rest = ordered[listed:]
    return {"items": ordered[:listed], "rest": [len(rest), float(sum(v for _, v in rest))]}


def _text(value: Any) -> str:
    return "missing" if value is None else value if isinstance(value, str) else f"{value:.6g}"

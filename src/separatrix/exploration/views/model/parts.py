"""A prediction taken apart: terms of a linear score, neighbors, support vectors, or changes.

linear      f(x) = f(x₀) + Σ bⱼ (xⱼ − x₀ⱼ)         x₀ the row of column means
kernel      f(x) = b + Σ αᵢ yᵢ κ(x, xᵢ)
neighbors   f(x) = Σ vᵢ yᵢ / Σ vᵢ
any other   f(x) − f(x with column j as in x₀)     one at a time: these need not add up
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from separatrix.exploration.views.model.stored import Row, Stored
from separatrix.neighbors.weights import distance_weights
from separatrix.rows.block import Floats

#: Parts that are listed; the smallest of the others are summed.
LISTED = 12


def apart(found: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """The parts of the prediction of a row; ``label`` is the class whose score is taken apart."""
    for way in (terms, neighbors, support, changes):
        parts = way(found, row, label)
        if parts is not None:
            return parts
    return None


def terms(found: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """Terms of a linear score, column by column; None where the score is not linear."""
    model = found.inner
    if not hasattr(model, "coef_") or not hasattr(model, "_design"):
        return None
    given = found.rows([found.reference, row])
    design, coef = np.asarray(model._design(given)), np.atleast_2d(model.coef_)
    output = 0 if len(coef) == 1 else label
    if output >= len(coef) or coef.shape[1] != design.shape[1]:
        return None
    score = _score(found, given)[:, output if len(coef) > 1 else 0]
    each = coef[output] * (design[1] - design[0])
    if not np.isclose(score[0] + each.sum(), score[1], rtol=1e-9, atol=1e-9 * np.abs(score).max()):
        return None  # powers, or votes of several hyperplanes
    sums = dict.fromkeys((column["name"] for column in found.columns), 0.0)
    for term, value in zip(model.encoding_.terms, each, strict=True):
        sums[term.column] += float(value)
    shown = zip(found.columns, row, strict=True)
    items = [[f"{c['name']} = {_text(v)}", sums[c["name"]]] for c, v in shown]
    what = _score_name(found, output if len(coef) > 1 else 1)
    return {
        "kind": "terms",
        "what": what,
        "base": float(score[0]),
        "base name": "at the reference row",
        **_listed(items),
        "total": float(score[1]),
        "note": f"Coefficients times differences from the reference row add up to the {what}.",
    }


def neighbors(found: Stored, row: Row, _: int) -> dict[str, Any] | None:
    """The nearest training rows with their distances and weights."""
    model = found.inner
    if not hasattr(model, "kneighbors") or not hasattr(model, "sample_weight_"):
        return None
    distances, indices = model.kneighbors(found.rows([row]))
    weights = distance_weights(model.weights, distances)[0] * model.sample_weight_[indices[0]]
    weights = weights / weights.sum()
    if is_classifier(model):
        codes = np.asarray(model.codes_)[indices[0]]
        values: list[Any] = [str(model.classes_[code]) for code in codes]
    else:
        codes = np.zeros(len(weights), dtype=int)
        values = [float(v) for v in np.asarray(model.targets_)[indices[0], 0]]
    each = zip(indices[0], distances[0], weights, values, codes, strict=True)
    return {
        "kind": "neighbors",
        "what": "weight of the vote" if is_classifier(model) else "weight in the mean",
        "items": [[int(i) + 1, float(d), float(w), v, int(c)] for i, d, w, v, c in each],
        "note": f"The {len(weights)} nearest of {model.n_samples_fit_:,} training rows."
        + (" Votes are smoothed." if getattr(model, "smoothing", 0) else ""),
    }


def support(found: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """Contributions αᵢ yᵢ κ(x, xᵢ) of the support vectors, largest first."""
    model = found.inner
    if not hasattr(model, "expansions_") or not len(model.expansions_):
        return None
    x = model._kernel_input(found.rows([row]))
    if len(model.expansions_) == 1 and model.expansions_[0].weights.shape[1] == 1:
        each, b = _contributions(model.expansions_[0], x, 0), model.expansions_[0].intercept[0]
        what = _score_name(found, 1)
    elif getattr(model, "_has_pairs", False):
        probable = np.asarray(_score(found, found.rows([row]))[0])
        other = int(np.argsort(probable)[-1 if np.argmax(probable) != label else -2])
        i, j = sorted((label, other))
        parts = model.expansions_
        each = np.concatenate([_contributions(parts[i], x, j - 1), _contributions(parts[j], x, i)])
        at = sum(len(parts) - 1 - k for k in range(i)) + j - i - 1
        sign = 1.0 if i == label else -1.0
        each, b = sign * each, sign * model.intercept_[at]
        what = f"score of {model.classes_[label]} against {model.classes_[other]}"
    else:
        return None
    order = np.argsort(-np.abs(each), kind="stable")
    items = [[f"support vector {n + 1}", float(each[k])] for n, k in enumerate(order)]
    return {
        "kind": "support",
        "what": what,
        "base": float(b),
        "base name": "b",
        **_listed(items),
        "total": float(b + each.sum()),
        "note": f"α y κ(x, xᵢ) of {len(each)} support vectors and b add up to the {what}.",
    }


def changes(found: Stored, row: Row, label: int) -> dict[str, Any] | None:
    """How the prediction differs from that with one column as in the reference row."""
    model, start = found.model, found.reference
    each = [row, *([*row[:j], start[j], *row[j + 1 :]] for j in range(len(row)))]
    given = found.rows([tuple(one) for one in each])
    if hasattr(model, "predict_proba"):
        values, what = (
            model.predict_proba(given)[:, label],
            f"probability of {_label(found, label)}",
        )
    elif is_classifier(model):
        return None
    else:
        values = np.asarray(model.predict(given))
        if values.dtype.kind != "f" or values.ndim > 1:
            return None
        what = "prediction"
    shown = zip(found.columns, row, values[0] - values[1:], strict=True)
    items = [[f"{c['name']} = {_text(v)}", float(d)] for c, v, d in shown]
    return {
        "kind": "changes",
        "what": f"change of the {what}",
        "base": 0.0,
        "base name": "",
        **_listed(items),
        "total": float(values[0]),
        "note": f"Change of the {what} by one column at a time, against its value in the reference "
        "row. Columns interact, so that changes need not add up.",
    }


def _contributions(expansion: Any, x: Any, column: int) -> Floats:
    kernel = expansion.kernel.prepare(expansion.centers).rows(x)
    return np.asarray(expansion.weights[:, column] * np.asarray(kernel, dtype=float)[0])


def _score(found: Stored, given: Any) -> Floats:
    """Scores of the inner model, a column each."""
    model = found.inner
    scored = model.decision_function(given) if is_classifier(model) else model.predict(given)
    scores = np.asarray(scored, dtype=float)
    return scores.reshape(len(scores), -1)


def _score_name(found: Stored, label: int) -> str:
    if not is_classifier(found.inner):
        return "prediction"
    inside = "" if found.inner is found.model else f" by the {type(found.inner).__name__} inside"
    return f"score of {_label(found, label)}{inside}"


def _label(found: Stored, label: int) -> str:
    return str(found.inner.classes_[label])


def _listed(items: list[list[Any]]) -> dict[str, Any]:
    """The largest parts, and the sum of all others."""
    ordered = sorted(items, key=lambda item: -abs(item[1]))
    rest = ordered[LISTED:]
    return {"items": ordered[:LISTED], "rest": [len(rest), float(sum(v for _, v in rest))]}


def _text(value: Any) -> str:
    return "missing" if value is None else value if isinstance(value, str) else f"{value:.6g}"

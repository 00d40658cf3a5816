"""Boxes: margins of intervals in every column, positive inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import (
    All,
    Branch,
    Case,
    Compare,
    Defined,
    Expression,
    Largest,
    Not,
    Number,
    Quotient,
    Smallest,
)
from separatrix.export.families.linear import by_score, class_names, labels_of
from separatrix.export.inputs import inputs_of
from separatrix.export.program import (
    Builder,
    ClassAnswer,
    design,
    indicator,
    label,
    minus,
    shifted,
    times,
    total,
)
from separatrix.hypotheses.version_space import Box
from separatrix.messages import InputError

TINY = float(np.finfo(float).tiny)
NEVER, ONE, ZERO = Number(-1e300), Number(1.0), Number(0.0)


def boxes(model: Any, b: Builder) -> ClassAnswer:
    """The class whose box, or union of boxes, claims the row by the largest margin."""
    if model.reject and getattr(model, "concept", None) is not None:
        raise InputError(
            "A box with a version space rejects rows by all consistent boxes, which are not "
            "written down.",
            remedy="Fit it with reject=False to export it.",
        )
    x = design(b, inputs_of(model))
    scale = np.asarray(model.scale_, dtype=float)
    names = class_names(model.concepts_)
    margins, claims = [], []
    for name, found in zip(names, model.boxes_, strict=True):
        parts = [_box(b, one, x, scale, name) for one in _several(found)]
        margin, claim = parts[0]
        if len(parts) > 1:
            margin = b.let(f"margin {name}", Largest(tuple(m for m, _ in parts)), stage="margins")
            claim = b.let(f"claim {name}", Largest(tuple(c for _, c in parts)), stage="margins")
        margins.append(margin)
        claims.append(claim)
    labels = labels_of(model)
    scores = _scores(model, b, margins)
    choice = by_score(b, scores, labels)
    if model.reject:
        count = b.let("claims", total(claims), stage="claims")
        rejected = label(model.labels_.tolist()[-1])
        choice = Case((Branch(Not(Compare(count, "=", ONE)), rejected),), choice)
    return ClassAnswer(labels, choice, scores)


def _several(found: Any) -> Sequence[Box]:
    return [found] if isinstance(found, Box) else list(found)


def _scores(model: Any, b: Builder, margins: Sequence[Defined]) -> tuple[Defined, ...]:
    if len(margins) == 1:
        own = bool(model.concepts_[0] == model.classes_[1])
        return (margins[0] if own else b.let("score", times(-1.0, margins[0]), stage="scores"),)
    if len(margins) == 2:
        return (b.let("score", minus(margins[1], margins[0]), stage="scores"),)
    return tuple(margins)


def _box(
    b: Builder, box: Box, x: Sequence[Defined], scale: Any, name: str
) -> tuple[Defined, Defined]:
    """The margin of a box, and 1 inside it, else 0."""
    if box.empty:
        return (
            b.let(f"margin {name}", NEVER, stage="margins"),
            b.let(f"inside {name}", ZERO, stage="insides"),
        )
    inner, conditions = [], []
    for value, low, high, unit in zip(x, box.lower, box.upper, scale, strict=True):
        sides = []
        if np.isfinite(low):
            sides.append(shifted(value, float(low)))
            conditions.append(Compare(value, ">" if box.open else ">=", Number(float(low))))
        if np.isfinite(high):
            sides.append(minus(Number(float(high)), value))
            conditions.append(Compare(value, "<" if box.open else "<=", Number(float(high))))
        if sides:
            inner.append(_inner(b, sides, float(unit), f"{name} {value.name}"))
    if not inner:
        return (
            b.let(f"margin {name}", ONE, stage="margins"),
            b.let(f"inside {name}", ONE, stage="insides"),
        )
    inside = b.let(f"inside {name}", indicator(All(tuple(conditions))), stage="insides")
    depth = Largest((Smallest((ONE, *inner)), Number(TINY)))
    excess = total([Largest((times(-1.0, one), ZERO)) for one in inner])
    outside = Smallest((times(-1.0, excess), Number(-TINY)))
    margin = Case((Branch(Compare(inside, "=", ONE), depth),), outside)
    return b.let(f"margin {name}", margin, stage="margins"), inside


def _inner(b: Builder, sides: Sequence[Expression], unit: float, name: str) -> Defined:
    """The distance to the nearer face, in units of the column; negative outside."""
    nearest = sides[0] if len(sides) == 1 else Smallest(tuple(sides))
    if unit > 0.0:
        return b.let(f"inner {name}", Quotient(nearest, Number(unit)), stage="faces")
    outside = Compare(nearest, "<", ZERO)
    step = Case((Branch(outside, Number(-1.0)),), ONE)
    return b.let(f"inner {name}", step, stage="faces")

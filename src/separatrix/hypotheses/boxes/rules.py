"""Boxes in words: one rule for each class, with the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.hypotheses.boxes.box import Box
from separatrix.rows.schema import Term


def rule(box: Box, terms: Sequence[Term]) -> str:
    """The conditions of a box, ``2.1 ≤ petal width ≤ 2.5 and color = red``.

    Faces that are infinite have no condition; a box without any is "always", one of no points
    "never".
    """
    if box.empty:
        return "never"
    conditions = [
        text
        for term, low, high in zip(terms, box.lower.tolist(), box.upper.tolist(), strict=True)
        if (text := _condition(term, low, high, "<" if box.open else "≤"))
    ]
    return " and ".join(conditions) or "always"


def any_of(rules: Sequence[str]) -> str:
    """Rules joined by "or", in parentheses where they have several conditions."""
    if len(rules) == 1:
        return rules[0]
    return " or ".join(f"({text})" if " and " in text else text for text in rules)


def _condition(term: Term, low: float, high: float, sign: str) -> str:
    if term.level is not None:
        return _level(term, low, high)
    below, above = np.isfinite(low), np.isfinite(high)
    name = str(term)
    if below and above:
        if low == high:
            return f"{name} = {low:.6g}"
        return f"{low:.6g} {sign} {name} {sign} {high:.6g}"
    if above:
        return f"{name} {sign} {high:.6g}"
    return f"{name} {'>' if sign == '<' else '≥'} {low:.6g}" if below else ""


def _level(term: Term, low: float, high: float) -> str:
    """An indicator is 0 or 1: a face between them asks for the level, or for another."""
    if low > 0.0:
        return f"{term.column} = {term.level}"
    return f"{term.column} ≠ {term.level}" if high < 1.0 else ""

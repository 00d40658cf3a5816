"""Formulas that several models share: affine maps, squares, sigmoid, softmax, the largest score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import (
    Branch,
    Case,
    Compare,
    Exp,
    Expression,
    Largest,
    Log,
    Number,
    Product,
    Quotient,
    Smallest,
    Sum,
    Text,
    Truth,
    Value,
)
from separatrix.export.program import Builder

ZERO, ONE = Number(0.0), Number(1.0)
#: Terms of a sum before it is made of sums.
MOST_TERMS = 100


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of the terms, without zeros."""
    found = tuple(term for term in terms if term != ZERO)
    if len(found) > MOST_TERMS:  # languages limit the depth of expressions
        groups = [found[i : i + MOST_TERMS] for i in range(0, len(found), MOST_TERMS)]
        return total(Sum(group) if len(group) > 1 else group[0] for group in groups)
    if not found:
        return ZERO
    return found[0] if len(found) == 1 else Sum(found)


def times(a: float, x: Expression) -> Expression:
    """A number times an expression."""
    if a == 0.0:
        return ZERO
    if isinstance(x, Number):
        return Number(float(a) * x.value)
    return x if a == 1.0 else Product((Number(float(a)), x))


def minus(a: Expression, b: Expression) -> Expression:
    """a − b."""
    return total((a, times(-1.0, b)))


def shifted(x: Expression, by: float) -> Expression:
    """x − by."""
    return x if by == 0.0 else Sum((x, Number(-float(by))))


def affine(coef: Any, x: Sequence[Expression], constant: float = 0.0) -> Expression:
    """constant + Σ coef · x, without the terms whose coefficient is zero."""
    terms = [times(float(a), one) for a, one in zip(np.ravel(coef), x, strict=True)]
    return total((Number(float(constant)), *terms))


def square(x: Value) -> Expression:
    """x², of something that has a name."""
    return Product((x, x))


def sigmoid(b: Builder, name: str, x: Expression) -> Value:
    """1/(1 + e^−x), computed from e^−|x| so that nothing overflows."""
    score = b.let(f"log_odds_{name}", x, stage="scores")
    larger, smaller = _sides(b, name, score)
    found = Case((Branch(Compare(score, ">=", ZERO), larger),), smaller)
    return b.let(f"probability_{name}", found, stage="probabilities")


def two_sigmoids(b: Builder, names: Sequence[str], x: Value) -> tuple[Value, Value]:
    """1/(1 + eˣ) and 1/(1 + e^−x): the probabilities of two classes, x being their log odds."""
    larger, smaller = _sides(b, names[1], x)
    first = Case((Branch(Compare(x, ">=", ZERO), smaller),), larger)
    second = Case((Branch(Compare(x, ">=", ZERO), larger),), smaller)
    return (
        b.let(f"probability_{names[0]}", first, stage="probabilities"),
        b.let(f"probability_{names[1]}", second, stage="probabilities"),
    )


def _sides(b: Builder, name: str, x: Value) -> tuple[Expression, Expression]:
    """1/(1 + e^−|x|) and what is left of one."""
    size = Case((Branch(Compare(x, ">", ZERO), times(-1.0, x)),), x)
    small = b.let(f"odds_{name}", Exp(size), stage="odds")
    return Quotient(ONE, Sum((ONE, small))), Quotient(small, Sum((ONE, small)))


def log_sigmoid(b: Builder, name: str, score: Value) -> Value:
    """log 1/(1 + e^−x) = min(x, 0) − log(1 + e^−|x|)."""
    size = Case((Branch(Compare(score, ">", ZERO), times(-1.0, score)),), score)
    small = b.let(f"small_{name}", Exp(size), stage="small")
    found = minus(Smallest((score, ZERO)), Log(Sum((ONE, small))))
    return b.let(f"log_probability_{name}", found, stage="log_probabilities")


def softmax(b: Builder, names: Sequence[str], scores: Sequence[Value]) -> tuple[Value, ...]:
    """e^sₖ / Σ e^sⱼ, relative to the largest score so that nothing overflows."""
    largest = b.let("largest_score", Largest(tuple(scores)), stage="largest")
    odds = [
        b.let(f"odds_{name}", Exp(minus(score, largest)), stage="odds")
        for name, score in zip(names, scores, strict=True)
    ]
    whole = b.let("odds_total", Sum(tuple(odds)), stage="odds_total")
    return tuple(
        b.let(f"probability_{name}", Quotient(one, whole), stage="probabilities")
        for name, one in zip(names, odds, strict=True)
    )


def label(value: Any) -> Expression:
    """The label of a class as a constant."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return Truth(plain)
    if isinstance(plain, int | float):
        return Number(plain)
    return Text(str(plain))


def first_largest(b: Builder, values: Sequence[Value], answers: Sequence[Expression]) -> Expression:
    """The answer of the largest value, of several the first."""
    if len(values) == 1:
        return answers[0]
    if len(values) == 2:
        second = Compare(values[1], ">", values[0])
        return Case((Branch(second, answers[1]),), answers[0])
    largest = b.let("largest", Largest(tuple(values)), stage="largest")
    branches = tuple(
        Branch(Compare(value, "=", largest), answer)
        for value, answer in zip(values[:-1], answers[:-1], strict=True)
    )
    return Case(branches, answers[-1])

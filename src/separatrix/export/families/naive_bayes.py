"""Naive Bayes: a product over columns; a missing value has no factor where the model says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.export.expressions import (
    Branch,
    Case,
    Compare,
    Defined,
    Expression,
    IsMissing,
    Number,
    ProductOf,
    Smallest,
)
from separatrix.export.families.linear import class_names, labels_of
from separatrix.export.inputs import InputColumn, input_column, inputs_of
from separatrix.export.program import (
    Builder,
    ClassAnswer,
    above,
    affine,
    column_value,
    design,
    first_largest,
    is_level,
    label,
    minus,
    shifted,
    softmax,
    times,
    total,
)
from separatrix.rows.schema import Kind, Term

#: Stands for −∞: e to this power is 0, and sums with it stay finite.
IMPOSSIBLE = Number(-1e300)
ZERO, ONE = Number(0.0), Number(1.0)
#: Levels of a column whose factors are written within a sum.
FEW = 4


def naive_bayes(model: Any, b: Builder) -> ClassAnswer:
    """log πₖ + Σ log p(xⱼ | k) over the columns that have a value."""
    columns = []
    for column in model.schema_.columns:
        read = input_column(column, model.schema_)
        if not model.from_table_:  # a matrix has codes, and all others are levels of their own
            read = InputColumn(read.name, read.kind, read.levels, unseen="zeros")
        columns.append(read)
    values = {column.name: column_value(b, column) for column in columns}
    names = class_names(model.classes_)
    logs, against = _density(b, model.density_, columns, values, names)
    with np.errstate(divide="ignore"):
        priors = np.log(model.class_prior_)
    parts = [total((_finite(prior), *terms)) for prior, terms in zip(priors, logs, strict=True)]
    return _answer(model, b, _possible(b, names, parts, against))


def _density(
    b: Builder,
    density: Any,
    columns: Sequence[InputColumn],
    values: dict[str, Defined],
    names: Sequence[str],
) -> tuple[list[list[Expression]], list[list[Expression]]]:
    """The terms of log p(x | k) by class, and the counts of values that a class never has."""
    k = len(density.mean)
    logs: list[list[Expression]] = [[] for _ in range(k)]
    against: list[list[Expression]] = [[] for _ in range(k)]
    position = density.terms.position
    d = density.mean.shape[1]
    for column in columns:
        x = values[column.name]
        for i in range(k):
            if column.kind is Kind.NUMERIC:
                j = position[Term(column.name)]
                logs[i].append(_normal(x, density.mean[i, j], density.variance[i, j]))
                continue
            if column.kind is Kind.BOOLEAN:
                p = float(density.probabilities[i, position[Term(column.name)] - d])
                known: list[tuple[Expression, float]] = [
                    (Compare(x, "=", ONE), p),
                    (Compare(x, "=", ZERO), 1.0 - p),
                ]
            else:
                known = [
                    (
                        is_level(x, column, level),
                        float(density.probabilities[i, position[Term(column.name, level)] - d]),
                    )
                    for level in (*column.levels, *filter(None, [column.pooled]))
                ]
            found = _cases(known, lambda p: float(np.log(p)) if p > 0.0 else 0.0)
            if found != ZERO and len(known) > FEW:
                found = b.let(f"{column.name} log {names[i]}", found, stage="factors")
            logs[i].append(found)
            against[i].append(_cases(known, lambda p: float(p <= 0.0)))
    return logs, against


def _normal(x: Defined, mean: float, variance: float) -> Expression:
    """−½ (x − μ)²/σ² − ½ log 2πσ², nothing where x is missing or the column constant."""
    if np.isinf(variance):
        return ZERO
    away = shifted(x, float(mean))
    square = ProductOf((Number(-0.5 / float(variance)), away, away))
    inside = total((square, Number(-0.5 * float(np.log(2 * np.pi * variance)))))
    return Case((Branch(IsMissing(x), ZERO),), inside)


def _cases(known: Sequence[tuple[Expression, float]], number: Any) -> Expression:
    """A number for each condition, and zero where none holds: missing, or not seen in training."""
    branches = tuple(Branch(condition, Number(number(p))) for condition, p in known)
    if all(branch.value == ZERO for branch in branches):
        return ZERO
    return Case(branches, ZERO)


def _possible(
    b: Builder,
    names: Sequence[str],
    parts: Sequence[Expression],
    against: Sequence[Sequence[Expression]],
) -> tuple[Defined, ...]:
    """Scores; where values exclude classes, those with the fewest such values stay."""
    scores = [
        b.let(f"score {name}", part, stage="scores")
        for name, part in zip(names, parts, strict=True)
    ]
    sums = [total(counts) for counts in against]
    if all(one == ZERO for one in sums):
        return tuple(scores)
    counted = [
        b.let(f"impossible {name}", one, stage="scores")
        for name, one in zip(names, sums, strict=True)
    ]
    fewest = b.let("fewest impossible", Smallest(tuple(counted)), stage="fewest")
    return tuple(
        b.let(
            f"possible score {name}",
            Case((Branch(Compare(count, ">", fewest), IMPOSSIBLE),), score),
            stage="possible scores",
        )
        for name, count, score in zip(names, counted, scores, strict=True)
    )


def _answer(model: Any, b: Builder, joint: tuple[Defined, ...]) -> ClassAnswer:
    names, labels = class_names(model.classes_), labels_of(model)
    p = softmax(b, names, joint)
    by = joint if not hasattr(model, "density_") else p
    choice = first_largest(b, by, [label(one) for one in labels])
    if not hasattr(model, "decision_function"):
        return ClassAnswer(labels, choice, (), p)
    if len(joint) == 2:
        return ClassAnswer(
            labels, choice, (b.let("log odds", minus(joint[1], joint[0]), stage="log odds"),), p
        )
    return ClassAnswer(labels, choice, joint, p)


def _finite(value: float) -> Number:
    return IMPOSSIBLE if np.isneginf(value) else Number(float(value))


def count_naive_bayes(model: Any, b: Builder) -> ClassAnswer:
    """Multinomial and complement naive Bayes: x·log p + log π."""
    x = design(b, inputs_of(model))
    coef = np.asarray(model.feature_log_prob_, dtype=float)
    constant = np.asarray(model.class_log_prior_, dtype=float)
    if type(model).__name__ == "ComplementNB":
        constant = np.zeros(len(coef))
    return _answer(model, b, _limits(b, class_names(model.classes_), x, coef, constant))


def bernoulli_naive_bayes(model: Any, b: Builder) -> ClassAnswer:
    """Σ x log p + (1 − x) log(1 − p) + log π, x being 1 above the threshold and else 0."""
    x: Sequence[Defined] = design(b, inputs_of(model))
    if model.binarize is not None:
        x = [b.let(f"{v.name} is true", above(v, float(model.binarize)), stage="binary") for v in x]
    true = np.asarray(model.feature_log_prob_, dtype=float)
    with np.errstate(divide="ignore"):
        false = np.log(-np.expm1(np.minimum(true, 0.0)))
    never, always = np.isneginf(true), np.isneginf(false)
    coef = np.where(never, 0.0, true) - np.where(always, 0.0, false)
    constant = np.asarray(model.class_log_prior_) + np.where(always, 0.0, false).sum(axis=1)
    names = class_names(model.classes_)
    parts = [
        affine(c, x, float(np.maximum(a, -1e300))) for c, a in zip(coef, constant, strict=True)
    ]
    against = [
        [affine(n.astype(float) - a, x, float(a.sum()))] for n, a in zip(never, always, strict=True)
    ]
    return _answer(model, b, _possible(b, names, parts, against))


def _limits(
    b: Builder, names: Sequence[str], x: Sequence[Defined], coef: Floats, constant: Floats
) -> tuple[Defined, ...]:
    """x·c + constant, where infinite coefficients are limits of ever larger ones."""
    infinite = np.isinf(coef)
    parts = [
        affine(np.where(here, 0.0, c), x, float(np.maximum(a, -1e300)))
        for c, here, a in zip(coef, infinite, constant, strict=True)
    ]
    against = [
        [times(-1.0, one) for one in [affine(np.where(here, np.sign(c), 0.0), x)] if one != ZERO]
        for c, here in zip(coef, infinite, strict=True)
    ]
    return _possible(b, names, parts, against)

"""Models that are linear in the terms of the design: lines, polynomials, linear classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import (
    Branch,
    Case,
    Compare,
    Defined,
    Expression,
    Number,
    ProductOf,
    Quotient,
)
from separatrix.export.inputs import inputs_of
from separatrix.export.program import (
    Builder,
    ClassAnswer,
    NumberAnswer,
    affine,
    design,
    first_largest,
    label,
    log_sigmoid,
    minus,
    numbered,
    shifted,
    slug,
    softmax,
    times,
    total,
    two_sigmoids,
)
from separatrix.messages import InputError
from separatrix.rows.rows import target_names
from separatrix.rows.schema import to_array


def linear_regression(model: Any, b: Builder) -> NumberAnswer:
    """coef·x + intercept."""
    x = design(b, inputs_of(model))
    coef = np.atleast_2d(to_array(model.coef_))
    intercept = np.broadcast_to(np.ravel(model.intercept_), (len(coef),))
    lines = [affine(row, x, a) for row, a in zip(coef, intercept, strict=True)]
    return _named(model, b, lines)


def polynomial_regression(model: Any, b: Builder) -> NumberAnswer:
    """Σ coef · products of T₀ … T_k((x − center)/scale): Chebyshev polynomials, or powers."""
    x = design(b, inputs_of(model))
    exponents = np.asarray(model.exponents_)
    degrees = exponents.max(axis=0, initial=0)
    powers: list[list[Expression]] = []
    for j, degree in enumerate(degrees):
        scaled = Quotient(shifted(x[j], float(model.center_[j])), Number(float(model.scale_[j])))
        t = b.let(f"{x[j].name} scaled", scaled, stage="scaled")
        found: list[Expression] = [Number(1.0), t]
        for k in range(2, int(degree) + 1):
            higher: Expression
            if model.chebyshev_:
                higher = minus(ProductOf((Number(2.0), t, found[-1])), found[-2])
            else:
                higher = ProductOf((t, found[-1]))
            found.append(b.let(f"{x[j].name} power {k}", higher, stage=f"powers {k}"))
        powers.append(found)
    terms = []
    for exponent in exponents:
        factors = tuple(powers[j][exponent[j]] for j in np.flatnonzero(exponent))
        terms.append(factors[0] if len(factors) == 1 else ProductOf(factors))
    coef, intercept = np.asarray(model.basis_coef_), np.ravel(model.basis_intercept_)
    lines = [_combined(coef[:, k], terms, intercept[k]) for k in range(coef.shape[1])]
    return _named(model, b, lines)


def _combined(coef: Any, terms: Sequence[Expression], constant: float) -> Expression:
    parts: list[Expression] = [Number(float(constant))]
    for a, term in zip(coef, terms, strict=True):
        if isinstance(term, ProductOf):
            parts.append(ProductOf((Number(float(a)), *term.factors)) if a else Number(0.0))
        else:
            parts.append(times(float(a), term))
    return total(parts)


def _named(model: Any, b: Builder, lines: Sequence[Expression]) -> NumberAnswer:
    targets = getattr(getattr(model, "encoding_", None), "targets", ())
    names = tuple(str(term) for term in targets) or target_names(len(lines))
    if len(names) != len(lines):
        names = target_names(len(lines))
    values = [
        b.let(f"predicted {name}", line, stage="scores")
        for name, line in zip(names, lines, strict=True)
    ]
    return NumberAnswer(names, tuple(values))


def mean_regression(model: Any, b: Builder) -> NumberAnswer:
    """The mean of the training targets, whatever the row."""
    means = np.ravel(model.intercept_)
    lines = [Number(float(mean)) for mean in means]
    return _named(model, b, lines)


def linear_scores(model: Any, b: Builder) -> tuple[Defined, ...]:
    """coef·x + intercept: one score for two classes, else one for each class."""
    x = design(b, inputs_of(model))
    coef = np.atleast_2d(to_array(model.coef_))
    intercept = np.broadcast_to(np.ravel(model.intercept_), (len(coef),))
    names = class_names(model.classes_)
    names = [names[-1]] if len(coef) == 1 else names
    return tuple(
        b.let(f"score {name}", affine(row, x, a), stage="scores")
        for name, row, a in zip(names, coef, intercept, strict=True)
    )


def linear_classifier(model: Any, b: Builder) -> ClassAnswer:
    """The side of the hyperplane, or the largest of several linear scores."""
    scores = linear_scores(model, b)
    return ClassAnswer(labels_of(model), by_score(b, scores, labels_of(model)), scores)


def logistic_classifier(model: Any, b: Builder) -> ClassAnswer:
    """Sigmoid or softmax of linear scores."""
    scores = linear_scores(model, b)
    return probable(model, b, scores)


def probable(model: Any, b: Builder, scores: tuple[Defined, ...]) -> ClassAnswer:
    """Probabilities by sigmoid or softmax, and the most probable class."""
    labels, names = labels_of(model), class_names(model.classes_)
    one = len(scores) == 1
    p = two_sigmoids(b, names, scores[0]) if one else softmax(b, names, scores)
    choice = first_largest(b, p, [label(one) for one in labels])
    return ClassAnswer(labels, choice, scores, p)


def by_score(b: Builder, scores: Sequence[Defined], labels: Sequence[Any]) -> Expression:
    """The class by the sign of one score, or by the largest of several."""
    answers = [label(one) for one in labels]
    if len(scores) == 1:
        return Case((Branch(Compare(scores[0], ">", Number(0.0)), answers[1]),), answers[0])
    return first_largest(b, scores, answers)


def labels_of(model: Any) -> tuple[Any, ...]:
    """The labels of the classes as plain values."""
    return tuple(model.classes_.tolist())


def class_names(classes: Any) -> list[str]:
    """Names for the classes that serve as parts of identifiers."""
    found: list[str] = []
    for name in np.asarray(classes).tolist():
        found.append(numbered(slug(str(name)), found))
    return found


def sigmoid_regression(model: Any, b: Builder) -> ClassAnswer:
    """Sigmoids of linear scores; of several classes divided by their sum."""
    if model.multilabel_:
        raise InputError("Several labels for each row have no export.")
    scores = linear_scores(model, b)
    if len(scores) == 1:
        return probable(model, b, scores)
    names, labels = class_names(model.classes_), labels_of(model)
    logs = tuple(log_sigmoid(b, name, score) for name, score in zip(names, scores, strict=True))
    p = softmax(b, names, logs)
    return ClassAnswer(labels, first_largest(b, p, [label(one) for one in labels]), scores, p)

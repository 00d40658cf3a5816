"""Bayesian logistic regression with the probit approximation: softmax of shrunken log odds.

sₖ = −log Σⱼ exp((mⱼ − mₖ)/√(1 + π vⱼₖ/8)),     vⱼₖ the variance of a difference of scores
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import (
    Defined,
    Exp,
    Expression,
    Largest,
    Log,
    Number,
    ProductOf,
    Quotient,
    Sqrt,
    SumOf,
)
from separatrix.export.families.linear import class_names, labels_of
from separatrix.export.inputs import inputs_of
from separatrix.export.program import (
    Builder,
    ClassAnswer,
    affine,
    design,
    first_largest,
    label,
    minus,
    shifted,
    softmax,
    times,
    total,
    two_sigmoids,
)

#: Linear forms beyond which a posterior is no short formula.
MOST_FORMS = 600

Covariance = dict[tuple[int, int], Defined]


def is_short(model: Any) -> bool:
    """Whether the probabilities are a short formula: no quadrature, and not too many columns."""
    posterior = model.posterior_
    count = posterior.coordinates.n_scores * posterior.factor.shape[1]
    short = posterior.coordinates.span is None and count <= MOST_FORMS
    return bool(short and model.approximation == "probit")


def bayesian_logistic(model: Any, b: Builder) -> ClassAnswer:
    """Predictive probabilities by the probit approximation."""
    names, labels = class_names(model.classes_), labels_of(model)
    mean, covariance = _logits(model, b)
    if len(names) == 2:
        shrunken = _shrunken(b, mean[0], covariance[0, 0], "log odds")
        p: tuple[Defined, ...] = two_sigmoids(b, names, shrunken)
        scores: tuple[Defined, ...] = (mean[0],)
    else:
        p, scores = _several(model, b, names, mean, covariance)
    choice = first_largest(b, p, [label(one) for one in labels])
    return ClassAnswer(labels, choice, scores, p)


def _logits(model: Any, b: Builder) -> tuple[list[Defined], Covariance]:
    """Means and covariances of the coordinates of the scores."""
    posterior = model.posterior_
    at = posterior.coordinates
    x = design(b, inputs_of(model))
    z: list[Expression] = [
        b.let(f"{v.name} standardized", _standardized(v, c, s), stage="standardized")
        for v, c, s in zip(x, np.ravel(at.center), np.ravel(at.scale), strict=True)
    ]
    if at.intercept:
        z.append(Number(1.0))
    count, width = posterior.mean.shape
    mean = [
        b.let(f"mean {a + 1}", affine(posterior.mean[a], z), stage="means") for a in range(count)
    ]
    spread = [
        [
            b.let(f"spread {a + 1} {r + 1}", affine(column, z), stage="spreads")
            for r, column in enumerate(posterior.factor[a * width : (a + 1) * width].T)
        ]
        for a in range(count)
    ]
    covariance: Covariance = {}
    for a in range(count):
        for c in range(a, count):
            products = [ProductOf((u, v)) for u, v in zip(spread[a], spread[c], strict=True)]
            one = b.let(f"covariance {a + 1} {c + 1}", total(products), stage="covariances")
            covariance[a, c] = covariance[c, a] = one
    return mean, covariance


def _standardized(value: Defined, center: float, scale: float) -> Expression:
    if np.isinf(scale):
        return Number(0.0)
    return Quotient(shifted(value, float(center)), Number(float(scale)))


def _shrunken(b: Builder, score: Expression, variance: Expression, name: str) -> Defined:
    """m / √(1 + πv/8)."""
    width = Sqrt(total((Number(1.0), times(np.pi / 8.0, variance))))
    return b.let(f"shrunken {name}", Quotient(score, width), stage="shrunken")


def _several(
    model: Any, b: Builder, names: Sequence[str], mean: Sequence[Defined], covariance: Covariance
) -> tuple[tuple[Defined, ...], tuple[Defined, ...]]:
    basis = np.asarray(model.posterior_.coordinates.basis)
    scores = tuple(
        b.let(f"score {name}", affine(row, mean), stage="scores")
        for name, row in zip(names, basis, strict=True)
    )
    joint = []
    for k, name in enumerate(names):
        differences = [
            _shrunken(
                b,
                minus(scores[j], scores[k]),
                _difference(b, covariance, basis[k] - basis[j], f"{name} {names[j]}"),
                f"{name} {names[j]}",
            )
            for j in range(len(names))
            if j != k
        ]
        zero = Number(0.0)
        most = b.let(f"most {name}", Largest((zero, *differences)), stage="most")
        inside = [Exp(times(-1.0, most)), *(Exp(minus(one, most)) for one in differences)]
        log = SumOf((most, Log(SumOf(tuple(inside)))))
        joint.append(b.let(f"joint {name}", times(-1.0, log), stage="joint"))
    return softmax(b, names, joint), scores


def _difference(b: Builder, covariance: Covariance, by: Any, name: str) -> Expression:
    """The variance of a combination of coordinates, not below zero."""
    parts = [
        times(float(by[a] * by[c]), covariance[a, c])
        for a in range(len(by))
        for c in range(len(by))
    ]
    found = Largest((total(parts), Number(0.0)))
    return b.let(f"variance {name}", found, stage="variances")

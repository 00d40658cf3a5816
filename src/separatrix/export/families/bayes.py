"""Bayesian linear models: the mean, and the ends of predictive intervals.

mean ± q √(1/α + Σᵣ vᵣ (u·Vᵣ)² + ω ‖u − VVᵀu‖²),     u = (x − c) · scale
"""

from __future__ import annotations

from typing import Any

from scipy.special import ndtri

from separatrix.export.expressions import Expression, Number, ProductOf, Sqrt, SumOf
from separatrix.export.families.linear import linear_regression
from separatrix.export.inputs import inputs_of
from separatrix.export.program import (
    Builder,
    NumberAnswer,
    affine,
    design,
    minus,
    shifted,
    times,
    total,
)

#: Columns from which the d² numbers of an interval are left out.
MAX_COLUMNS = 60


def bayesian_regression(model: Any, b: Builder, level: float) -> NumberAnswer:
    """The posterior mean; intervals where the posterior is stored and of moderate size."""
    answer = linear_regression(model, b)
    posterior = model.posterior_
    if posterior is None or len(posterior.scale) > MAX_COLUMNS:
        b.notes.append("Intervals are not part of the export: the posterior is too large.")
        return answer
    half = b.let(
        "half width",
        times(float(-ndtri((1.0 - level) / 2.0)), Sqrt(_variance(model, b))),
        stage="intervals",
    )
    mean = answer.predictions[0]
    return NumberAnswer(
        answer.targets, answer.predictions, (minus(mean, half), SumOf((mean, half)))
    )


def _variance(model: Any, b: Builder) -> Expression:
    own = model.posterior_
    u = [
        b.let(
            f"{value.name} in posterior",
            times(float(scale), shifted(value, float(center))),
            stage="posterior",
        )
        for value, center, scale in zip(
            design(b, inputs_of(model)), own.center, own.scale, strict=True
        )
    ]
    inner = [
        b.let(f"direction {r + 1}", affine(column, u), stage="directions")
        for r, column in enumerate(own.directions.T)
    ]
    constant = float(own.intercept_variance) + 1.0 / float(model.alpha_)
    parts: list[Expression] = [Number(constant)]
    parts += [
        ProductOf((Number(float(v)), one, one)) for v, one in zip(own.variances, inner, strict=True)
    ]
    if own.rest:
        for j, value in enumerate(u):
            left = minus(value, affine(own.directions[j], inner))
            rest = b.let(f"rest {j + 1}", left, stage="rests")
            parts.append(ProductOf((Number(float(own.rest)), rest, rest)))
    return b.let("variance", total(parts), stage="variances")

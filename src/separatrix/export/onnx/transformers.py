"""Steps before the last one of a pipeline, as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.onnx.graph import Value
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows


def centered(step: Any, source: GraphRows) -> Value:
    """x − μ."""
    found: Value = source.design(step) - step.mean_
    return found


def standardized(step: Any, source: GraphRows) -> Value:
    """(x − μ)/σ; a constant column is 0."""
    inverse = np.where(step.scale_ > 0.0, 1.0 / np.where(step.scale_ > 0.0, step.scale_, 1.0), 0.0)
    found: Value = (source.design(step) - step.mean_) * inverse
    return found


def whitened(step: Any, source: GraphRows) -> Value:
    """(x − μ) M."""
    found: Value = (source.design(step) - step.mean_) @ np.ascontiguousarray(step.matrix_)
    return found


def encoded(step: Any, source: GraphRows) -> Value:
    """The numbers of a table."""
    return source.design(step)


def expanded(step: Any, source: GraphRows) -> Value:
    """Powers, products, cosines and jumps of columns."""
    x = source.design(step)
    terms = [_basis_term(x, one) for one in step._functions(step.encoding_.terms.items).values()]
    return x.graph.concat(terms)


def _basis_term(x: Value, function: Any) -> Value:
    """One function of the rows, by the functions that it is made of."""
    name, given = function.func.__name__, function.args
    if name == "_product":
        used, exponent = given
        found = None
        for j in used.tolist():
            for _ in range(int(exponent[j])):
                found = x.column(j) if found is None else found * x.column(j)
        assert found is not None
        return found
    j, inner = given
    kind = getattr(getattr(inner, "func", None), "__name__", "")
    if kind == "_cosine":
        return (x.column(j) * float(inner.args[0])).op("Cos")
    if kind == "_below":
        return (x.column(j) < float(inner.args[0])).double()
    raise GraphRefused("A function of one's own in a basis expansion has no export.")

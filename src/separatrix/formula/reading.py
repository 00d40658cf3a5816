"""What a formula is made of, for those who explain a model or make up rows for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.formula import nodes
from separatrix.formula.inputs import InputColumn, InputTable
from separatrix.messages import InputError
from separatrix.rows.schema import Kind


def nodes_of(formula: nodes.Formula, *, inner: bool = True) -> Iterator[nodes.Node]:
    """Every node once; those of an ``inner`` formula at computed rows included."""
    seen: set[int] = set()
    stack: list[Any] = [formula]
    while stack:
        one = stack.pop()
        if isinstance(one, tuple):
            stack += reversed(one)
        if (
            not isinstance(one, nodes.Node | nodes.NumberFormula | nodes.ClassFormula)
            or id(one) in seen
        ):
            continue
        seen.add(id(one))
        if isinstance(one, nodes.Node):
            yield one
        parts = [part.name for part in fields(one)]
        if isinstance(one, nodes.At) and not inner:
            parts.remove("then")
        stack += [getattr(one, name) for name in reversed(parts)]


def reading_of(formula: nodes.Formula) -> InputTable:
    """The columns that a formula reads: as a table, or as a matrix."""
    given = nodes_of(formula, inner=False)
    sources = [node for node in given if isinstance(node, nodes.EncodedColumns | nodes.RawTerms)]
    columns: dict[str, InputColumn] = {}
    fills: dict[str, float] = {}
    for each in sources:
        for column in (
            each.inputs.columns if isinstance(each, nodes.EncodedColumns) else each.columns
        ):
            columns.setdefault(column.name, column)
        if isinstance(each, nodes.EncodedColumns):
            fills |= {t.column: t.fill for t in each.inputs.terms if t.level is None}
    parts = [column.name for column in columns.values() if column.part]
    if parts:
        raise InputError(
            f"The model reads parts of dates ({', '.join(map(repr, parts))}), which no export "
            "computes.",
            remedy="Predict with `separatrix predict`; or have the parts as columns of the table, "
            "and leave out the dates.",
        )
    refuses = all(c.refuses_missing for c in columns.values())
    levels = any(isinstance(each, nodes.RawTerms) for each in sources)
    is_table = any(each.is_table for each in sources)
    found = tuple(
        column
        if column.kind is Kind.DISCRETE or column.name not in fills or column.typical
        else replace(column, typical=fills[column.name])
        for column in columns.values()
    )
    return InputTable(found, not is_table and (refuses or levels), is_table)


def stored_points(formula: nodes.Formula) -> int:
    """How many stored points a row is compared with."""
    return sum(node.stored_points() for node in nodes_of(formula))


def typical_points(formula: nodes.Formula, columns: int) -> Floats | None:
    """Points (m x columns) among which the rows were in training, as many as any node knows.

    They are in the units of the design. Where nothing but coefficients is known, the points are one
    unit of the score away from typical values.
    """
    found: Floats | None = None
    slopes: Floats | None = None
    for node in nodes_of(formula):
        x = getattr(node, "x", None)
        if (
            isinstance(node, nodes.Affine)
            and isinstance(x, nodes.EncodedColumns)
            and slopes is None
        ):
            slopes = _one_unit_away(node, x)
        points = node.typical_points()
        if points is None or points.shape[1] != columns or not len(points):
            continue
        if isinstance(x, nodes.Standardization):
            factor = np.ravel(x.factor)
            unit = np.where(factor > 0.0, 1.0 / np.where(factor > 0.0, factor, 1.0), 0.0)
            points = points * unit + np.ravel(x.center)
        elif not isinstance(x, nodes.EncodedColumns | None):
            continue
        points = points[np.isfinite(points).all(axis=1)]
        if found is None or len(points) > len(found):
            found = points
    known = slopes if found is None or len(found) < 2 else found
    return known if known is not None and known.shape[1] == columns else found


def _one_unit_away(node: nodes.Affine, design: nodes.EncodedColumns) -> Floats:
    """Typical values, changed so much that a score changes by one."""
    by_name = design.inputs.by_name
    middle = [0.0 if t.level or t.missing else by_name[t.column].typical or t.fill
              for t in design.inputs.terms]  # fmt: skip
    steep = np.abs(node.matrix).max(axis=1, initial=0.0)
    unit = 1.0 / np.where(steep > 1e-100, steep, 1.0)  # below, the reciprocal would overflow
    return np.stack([middle - unit, middle + unit])


# -------------------------------------------------------------------------------------------------
# A column of a formula as a sum: over the terms of the design, or over stored points.


@dataclass(frozen=True)
class LinearScore:
    """Σ coef · term + constant, over the terms of a design."""

    design: nodes.EncodedColumns
    coef: Floats
    constant: float


def linear_score(node: nodes.Node, column: int) -> LinearScore | None:
    """A column as a linear function of the design; None where it is none."""
    matrix, constant, found = np.zeros((0, 1)), 0.0, node
    weights: Floats | None = None  # of the columns of the node that is looked at
    while not isinstance(found, nodes.EncodedColumns):
        if isinstance(found, nodes.Affine):
            matrix = found.matrix if weights is None else found.matrix @ weights[:, None]
            column = column if weights is None else 0
            shift = np.broadcast_to(np.ravel(found.constant), (found.matrix.shape[1],))
            constant += float(shift[column] if weights is None else shift @ weights)
            weights = matrix[:, column]
            if found.center is not None:
                constant -= float(np.ravel(found.center) @ weights)
        elif isinstance(found, nodes.Standardization):
            if weights is None:
                weights = np.eye(len(np.ravel(found.factor)))[column]
            weights = weights * np.ravel(found.factor)
            constant -= float(np.ravel(found.center) @ weights)
        else:
            return None
        found = found.x
    if weights is None:
        weights = np.eye(len(found.inputs.terms))[column]
    return LinearScore(found, weights, constant)


@dataclass(frozen=True)
class KernelScore:
    """Σ weight · κ(center, x) + constant, in parts that share centers."""

    parts: tuple[tuple[nodes.KernelSum, Floats], ...]
    constant: float


def kernel_score(node: nodes.Node, column: int) -> KernelScore | None:
    """A column as a sum over stored centers; None where it is none."""
    if isinstance(node, nodes.KernelSum):
        intercept = np.broadcast_to(np.ravel(node.intercept), (node.weights.shape[1],))
        return KernelScore(((node, node.weights[:, column]),), float(intercept[column]))
    if not isinstance(node, nodes.Affine) or not isinstance(node.x, nodes.Joined):
        return None
    sums = [part for part in node.x.parts if isinstance(part, nodes.KernelSum)]
    if len(sums) < len(node.x.parts):
        return None
    taken, parts = node.matrix[:, column], []
    constant = float(np.broadcast_to(np.ravel(node.constant), (node.matrix.shape[1],))[column])
    for one in sums:
        k = one.weights.shape[1]
        own, taken = taken[:k], taken[k:]
        if own.any():
            parts.append((one, one.weights @ own))
            constant += float(np.broadcast_to(np.ravel(one.intercept), (k,)) @ own)
    return KernelScore(tuple(parts), constant)

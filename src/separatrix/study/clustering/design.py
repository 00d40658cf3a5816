"""Design matrix of a cluster analysis: encoded, imputed and standardized columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind
from separatrix.statistics.preparation import prepare
from separatrix.study.clustering.methods import UNITLESS, Method


@dataclass(frozen=True)
class ClusterDesign:
    """``x`` is the design as distances see it: filled, dummies in place, standardised if asked.

    ``z`` is what scatter and pictures go by: a metric that needs no common footing does not make
    one of columns in their own units. ``groups`` are the columns of one category each; ``discrete``
    those and the 0/1 columns.
    """

    table: InMemory
    x: Floats
    z: Floats
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    discrete: list[list[int]]
    standardized: bool


def cluster_design(table: InMemory, method: Method, *, standardize: bool) -> ClusterDesign:
    """Encode the table; refuses one without a column that varies."""
    if not table.schema.names:
        raise InputError(
            "no column can be used.",
            remedy="Columns that name rows are left out; read one by --kind NAME=discrete.",
        )
    prepared = prepare(table)
    x = prepared.rows.collect().dense()
    terms = tuple(prepared.encoding.terms)
    kinds = {column.name: column.kind for column in table.schema.columns}
    by_column: dict[str, list[int]] = {}
    for j, term in enumerate(terms):
        if term.level is not None:
            by_column.setdefault(term.column, []).append(j)
    alone = [
        [j]
        for j, term in enumerate(terms)
        if term.level is None and (term.missing or kinds.get(term.column) is Kind.BOOLEAN)
    ]
    groups = tuple(tuple(group) for group in by_column.values())
    scaled = standardize and method.metric not in UNITLESS
    if not x.shape[1] or not np.ptp(x, axis=0).any():
        raise InputError(
            "every row is the same: no column varies.",
            remedy="Check how the columns are read (--kind COLUMN=KIND).",
        )
    spread = x.std(axis=0)
    z = (x - x.mean(axis=0)) / np.where(spread > 0, spread, np.inf) if standardize else x
    return ClusterDesign(
        table,
        np.ascontiguousarray(z if scaled else x),
        z,
        tuple(str(term) for term in terms),
        groups,
        [*map(list, groups), *alone],
        scaled,
    )

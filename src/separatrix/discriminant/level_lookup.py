"""Scores of levels looked up by their value, in a matrix where levels are numbers.

Every value finds one line of log shares. That spares the indicators, of which all but one are zero.
"""

from __future__ import annotations

import numpy as np

from separatrix.discriminant.independent_columns import IndependentColumns
from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Kind, Schema, Term


def looked_up(density: IndependentColumns, schema: Schema, block: Block) -> Floats | None:
    """log p(x | k) for rows with one number per column of ``schema``; NaN is a gap.

    None where looking up cannot do: a share is zero, which rules classes out, or a value is no
    known level, which must be said.
    """
    from separatrix.statistics.loops.class_columns import add_level_scores

    yes = density.shares[:, : density.yes_no]
    if not density.shares.size or (density.shares <= 0.0).any() or (yes >= 1.0).any():
        return None
    position = density.terms.position
    values, lines, columns, counts = [], [], [], [0]
    d = density.mean.shape[1]
    for j, column in enumerate(schema.columns):
        if column.kind is Kind.NUMERIC:
            continue
        if column.kind is Kind.BOOLEAN:
            own, p = np.array([0.0, 1.0]), yes[:, position[Term(column.name)] - d]
            shares = np.stack([1.0 - p, p])
        else:
            own = np.array([float(level) for level in column.levels])
            at = [position[Term(column.name, level)] - d for level in column.levels]
            order = np.argsort(own)
            own, shares = own[order], density.shares[:, at].T[order]
        values.append(own)
        lines.append(np.log(shares))
        columns.append(j)
        counts.append(len(own))
    x = np.ascontiguousarray(block.dense(), dtype=float)
    numeric = [j for j, column in enumerate(schema.columns) if column.kind is Kind.NUMERIC]
    out = density.normal_scores(x[:, numeric])
    known = add_level_scores(
        x,
        np.array(columns),
        np.concatenate(values),
        np.cumsum(counts),
        np.ascontiguousarray(np.concatenate(lines)),
        out,
    )
    return out if known else None

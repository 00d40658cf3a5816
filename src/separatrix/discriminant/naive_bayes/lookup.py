"""Scores of naive Bayes looked up by level, without indicators, of which all but one are zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix.discriminant.naive_bayes.density import NaiveBayesDensity
from separatrix.matrices.products import products
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.schema import Kind, Schema, Term


@dataclass(frozen=True)
class LevelLookup:
    """log p(level | k) of the levels of some ``columns``: those of one after those of another.

    The levels of ``columns[c]`` are ``values[starts[c]:starts[c + 1]]``, ascending.
    """

    density: NaiveBayesDensity
    numeric: Ints
    columns: Ints
    values: Floats
    starts: Ints
    logs: Floats

    def scores(self, block: Block) -> Floats | None:
        """log p(x | k) of rows with one number per column, of which NaN is a missing value.

        None if a value is no known level, which must be reported.
        """
        from separatrix.statistics.loops.class_columns import add_level_scores

        x = np.ascontiguousarray(block.dense(), dtype=float)
        out = self.density.normal_scores(x[:, self.numeric])
        known = add_level_scores(x, self.columns, self.values, self.starts, self.logs, out)
        return out if known else None


def level_lookup(density: NaiveBayesDensity, schema: Schema) -> LevelLookup | None:
    """The lookup of a model; None if a probability is zero, which excludes classes."""
    if not density.probabilities.size or _excludes(density):
        return None
    true = density.probabilities[:, : density.n_boolean]
    position = density.terms.position
    values, logs, columns, counts = [], [], [], [0]
    d = density.mean.shape[1]
    for j, column in enumerate(schema.columns):
        if column.kind is Kind.NUMERIC:
            continue
        if column.kind is Kind.BOOLEAN:
            levels, p = np.array([0.0, 1.0]), true[:, position[Term(column.name)] - d]
            probabilities = np.stack([1.0 - p, p])
        else:
            levels = np.array([float(level) for level in column.levels])
            at = [position[Term(column.name, level)] - d for level in column.levels]
            order = np.argsort(levels)
            levels, probabilities = levels[order], density.probabilities[:, at].T[order]
        values.append(levels)
        logs.append(np.log(probabilities))
        columns.append(j)
        counts.append(len(levels))
    numeric = [j for j, column in enumerate(schema.columns) if column.kind is Kind.NUMERIC]
    return LevelLookup(
        density,
        np.array(numeric, dtype=np.int64),
        np.array(columns),
        np.concatenate(values),
        np.cumsum(counts),
        np.ascontiguousarray(np.concatenate(logs)),
    )


def sparse_scores(density: NaiveBayesDensity, block: Block) -> Floats | None:
    """log p(x | k) of sparse indicators of levels, which are not filled in.

    None for other columns, and where a probability of zero excludes classes. A missing value, and
    a level that is not known, has no factor.
    """
    others = density.mean.shape[1] + density.n_boolean
    if not sparse.issparse(block.x) or others or _excludes(density):
        return None
    at = [density.terms.position.get(term, -1) for term in block.terms]
    logs = np.concatenate([np.log(density.probabilities.T), np.zeros((1, len(density.mean)))])
    return products(block.x).times(logs[at])


def _excludes(density: NaiveBayesDensity) -> bool:
    """Whether a value that a class never has excludes the class."""
    p = density.probabilities
    return bool((p <= 0.0).any() or (p[:, : density.n_boolean] >= 1.0).any())

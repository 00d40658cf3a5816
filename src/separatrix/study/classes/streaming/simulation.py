"""Rows that stand for those of which there are only moments: normal, with exactly these moments.

    x = μ + z Σ^½,      z standard normal, centered and whitened within each class and part

Means and covariances of linear scores are then those of the rows themselves; how often a boundary
is crossed is that of normal scores.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.rows.block import Block, Floats
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Schema, Terms
from separatrix.statistics.by_class.parts import ClassMomentsByPart
from separatrix.statistics.moments import Moments
from separatrix.study.classes.streaming.data import ClassData
from separatrix.study.folds import TEST, too_small

#: Simulated rows in all, and of a class in a part at least.
ROWS, LEAST = 20_000, 50


def simulated_data(schema: Schema, parts: Parts, groups: ClassMomentsByPart) -> ClassData:
    """Class moments with rows that have them."""
    cells = [
        (part, term, m)
        for part in sorted(groups.parts)
        for term, m in sorted(groups.parts[part].parts.items(), key=lambda pair: str(pair[0]))
        if m.count
    ]
    total = sum(m.weight for _, _, m in cells)
    terms, targets = Terms(()), Terms(())
    for _, term, m in cells:
        terms, targets = terms.union(m.terms), targets.union(Terms((term,)))
    targets = Terms(tuple(sorted(targets, key=lambda t: str(t.level))))
    rng = np.random.default_rng(parts.seed)
    x, y, w, labels = [], [], [], []
    for part, term, m in cells:
        n = max(LEAST, 2 * len(terms), round(ROWS * m.weight / total))
        x.append(_normal(m.aligned(terms, Terms(())), n, rng))
        y.append(np.tile((np.arange(len(targets)) == targets.position[term]) * 1.0, (n, 1)))
        w.append(np.full(n, m.weight / n))
        labels.append(np.full(n, part))
    block = Block(
        np.concatenate(x), np.concatenate(y), np.concatenate(w), terms, targets,
        np.concatenate(labels),
    )  # fmt: skip
    own = np.asarray(block.parts) == TEST
    if not own.any() or own.all():
        raise too_small(sum(m.count for _, _, m in cells))
    sample, test = block.take(np.flatnonzero(~own)), block.take(np.flatnonzero(own))
    rows = InMemory(schema, block)
    return ClassData(rows, schema, parts, groups, sample, test, simulated=True)


def _normal(m: Moments, n: int, rng: np.random.Generator) -> Floats:
    """n rows with the mean and the covariance of the moments."""
    d = m.d
    z = rng.standard_normal((n, d))
    z -= z.mean(axis=0)
    scale = np.sqrt(np.maximum(np.diag(m.xx), 0.0) / m.weight)
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = linalg.eigh(m.xx / m.weight / np.outer(safe, safe))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    if n > d:  # exactly uncorrelated, of variance one
        z = linalg.solve_triangular(linalg.cholesky(z.T @ z / n, lower=True), z.T, lower=True).T
    return np.asarray(m.x_mean + (z @ root.T) * safe)

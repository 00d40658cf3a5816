"""More columns than rows: coordinates within the span of the rows."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.logistic.problem import LogisticOptions, LogisticProblem, assemble_problem
from separatrix.probability.likelihood.derivatives import LogisticDesign
from separatrix.rows.block import Floats
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Terms
from separatrix.statistics.preconditioner import Preconditioner
from separatrix.statistics.standardizer import Standardizer


def span_of_rows(
    rows: ArrayRows, targets: Terms, options: LogisticOptions
) -> tuple[LogisticProblem, Floats]:
    """Coordinates within the span of the rows, where the coefficients of smallest norm lie."""
    w = rows.block.weights
    standardizer = Standardizer.from_rows(rows.block.x, w, keep_mean=True)
    priors = w @ rows.block.y / w.sum()
    block = rows.take(w > 0).block
    scaled = options.standardize or options.penalty == 0.0
    inverse_scale = standardizer.inverse_scale if scaled else np.ones(block.x.shape[1])
    center = standardizer.mean if options.centered else np.zeros_like(standardizer.mean)
    x = (block.dense() - center) * inverse_scale
    values, vectors = linalg.eigh(x @ x.T)
    nonzero = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny) * len(values)
    singular, vectors = np.sqrt(values[nonzero]), vectors[:, nonzero]
    rotation = (x.T @ vectors) / singular * inverse_scale[:, None]
    scale = singular / np.sqrt(block.n)
    preconditioner = Preconditioner(center, scale, rotation, priors, options.centered)
    projected = ArrayRows(vectors * singular, block.y, block.w, targets=block.targets.items)
    design = LogisticDesign(targets, np.zeros(len(scale)), None, options.fit_intercept)
    weight = float(w.sum())
    problem = assemble_problem(projected, design, preconditioner, 1.0 / scale, weight, options)
    return problem, priors

"""What criteria of complexity read of a path of the lasso or elastic net."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.rows.block import Floats
from separatrix.selection.criteria.figures import PathFigures, Subsets
from separatrix.statistics.moments import Moments

#: Work, in multiplications, up to which least squares on the selected columns is solved.
MOST_WORK = 2e9
REFITTED = "least squares on the columns selected at each penalty."
NO_MOMENTS = "there are too many columns for least squares on each selection of them."
NO_PRIOR = "the prior of the lasso has no evidence in closed form."
FREEDOM = "degrees of freedom stand for the VC dimension."


def elastic_net_figures(model: Any, weight: float, fold_errors: Floats | None) -> PathFigures:
    """Figures of a fitted path; ``weight`` is Σw."""
    likelihoods = model.log_likelihoods_
    subsets = None
    if model.moments_ is not None:
        m = model.moments_ if model.fit_intercept else model.moments_.about_origin()
        subsets = least_squares_on(m, model.coefs_ != 0.0, intercept=bool(model.fit_intercept))
    return PathFigures(
        "alpha",
        tuple(model.alphas_.tolist()),
        model.alphas_,
        weight,
        freedom=model.degrees_of_freedom_ + float(model.fit_intercept),
        log_likelihood=likelihoods,
        others=1,
        squares=weight / (2.0 * np.pi) * np.exp(-2.0 * likelihoods / weight - 1.0),
        subsets=subsets,
        fold_losses=fold_errors,
        reasons={
            "MDL": NO_MOMENTS if subsets is None else REFITTED,
            "evidence": NO_PRIOR,
            "structural risk": FREEDOM,
        },
    )


def least_squares_on(m: Moments, selected: Floats, *, intercept: bool) -> Subsets | None:
    """Least squares on the columns selected at each point (m x d); None where that is much work."""
    sets, where = np.unique(selected, axis=0, return_inverse=True)
    if float((sets.sum(axis=1).astype(float) ** 3).sum()) > MOST_WORK:
        return None
    scale = np.sqrt(np.diag(m.xx))
    scale = np.where(scale > 0.0, scale, 1.0)
    xx, xy = m.xx / np.outer(scale, scale), m.xy[:, 0] / scale
    found = []
    for own in sets:
        at = np.flatnonzero(own)
        b, _, rank, _ = np.linalg.lstsq(xx[np.ix_(at, at)], xy[at], rcond=1e-12)
        explained = float(xy[at] @ b)
        found.append((float(rank), max(float(m.yy[0, 0]) - explained, 0.0), explained))
    k, squares, explained = np.array(found)[np.ravel(where)].T
    return Subsets(k, squares, explained, m.weight - float(intercept))

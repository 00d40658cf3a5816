"""What criteria of complexity read of the path of a support vector machine.

A margin of 1/‖f‖ around rows within a ball of radius R bounds the VC dimension of hyperplanes of
that margin by R²‖f‖² + 1, however many columns there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.selection.criteria.figures import PathFigures
from separatrix.svm.path.cross_validation import PathTraining
from separatrix.svm.path.scores import scores_along
from separatrix.svm.path.trace import SVMTrace

#: Values of C that are compared, at most.
MOST_POINTS = 60
NO_LIKELIHOOD = "a support vector machine has no likelihood."
MARGIN = (
    "R²‖w‖² + 1 stands for the VC dimension; the margin was seen before it was bounded, so that "
    "this ranks models and guarantees nothing."
)
SEVERAL = "the bound is that of two classes."


def svm_figures(model: Any, data: PathTraining, Cs: Floats, errors: Floats) -> PathFigures:
    """Figures at ``Cs``, thinned, whose cross-validated ``errors`` (m x folds) are known."""
    at = _thinned(errors.mean(axis=1))
    C, losses = Cs[at], errors[at]
    reasons = dict.fromkeys(("AIC", "AICc", "BIC", "MDL", "evidence"), NO_LIKELIHOOD)
    capacity = wrong = None
    if len(model.paths_) == 1 and data.mercer:
        reasons["structural risk"] = MARGIN
        capacity, wrong = margin_capacity(model.paths_[0], data, C)
    else:
        reasons["structural risk"] = SEVERAL if data.mercer else "the kernel is not Mercer."
    return PathFigures(
        "C",
        tuple(C.tolist()),
        1.0 / C,
        float(data.w.sum()),
        capacity=capacity,
        errors=wrong,
        fold_losses=losses,
        loss="error rate",
        reasons=reasons,
    )


def _thinned(means: Floats) -> Ints:
    """Positions of points spread evenly, and of the least error."""
    m = len(means)
    evenly = np.linspace(0, m - 1, min(m, MOST_POINTS)).round().astype(np.int64)
    return np.unique(np.append(evenly, int(means.argmin())))


def margin_capacity(trace: SVMTrace, data: PathTraining, C: Floats) -> tuple[Floats, Floats]:
    """R²‖f‖² + 1, at most the number of rows, and the fraction of errors, at each C.

    R is the largest distance of a row from the mean, no less than the radius of the ball.
    """
    gram, w, n = data.gram, data.w, float(data.w.sum())
    share = w / n
    centered = np.diag(gram) - 2.0 * (gram @ share) + share @ gram @ share
    radius = float(np.maximum(centered, 0.0).max())
    segments = np.array([trace.segment_of(float(c)) for c in C], dtype=np.int64)
    beta = np.stack([trace.y * trace.alpha(float(c)) for c in C], axis=1)
    norms = np.einsum("ij,ij->j", beta, gram @ beta)
    scores = scores_along(trace, gram, C, segments)
    wrong = (scores > 0.0) != (trace.y > 0.0)[:, None]
    errors = np.average(wrong, axis=0, weights=w)
    return np.minimum(radius * np.maximum(norms, 0.0) + 1.0, n), np.asarray(errors)

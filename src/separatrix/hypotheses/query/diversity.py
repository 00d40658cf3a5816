"""Rows that are worth asking for together: each with a high score, and far from the others."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.statistics.standardizer import Standardizer

#: Rows of the highest scores that are chosen from: for each row to choose, and at least.
FOR_EACH, AT_LEAST = 5, 50


def spread_out(scores: Floats, x: Floats | None, k: int) -> Ints:
    """At most k rows with a score above zero or above −∞, the highest first.

    The next row has the largest product of its score, above the lowest candidate's, and its
    distance from the rows chosen, in standard deviations of the candidates.
    """
    open_ = np.flatnonzero(np.isfinite(scores) & (scores != 0.0))
    if x is None or k == 1 or len(open_) <= 1:
        return open_[np.argsort(-scores[open_], kind="stable")][:k]
    best = open_[np.lexsort((*x[open_].T, -scores[open_]))][: max(FOR_EACH * k, AT_LEAST)]
    z = Standardizer.from_rows(x[best], np.ones(len(best))).transform(x[best])
    low, high = float(scores[best].min()), float(scores[best].max())
    utility = (scores[best] - low) / (high - low) + 0.1 if high > low else np.ones(len(best))
    chosen = [0]
    nearest = np.linalg.norm(z - z[0], axis=1)
    while len(chosen) < min(k, len(best)):
        value = utility * nearest
        value[chosen] = -1.0
        chosen.append(int(value.argmax()))
        np.minimum(nearest, np.linalg.norm(z - z[chosen[-1]], axis=1), out=nearest)
    return best[chosen]

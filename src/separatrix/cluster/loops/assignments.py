"""Passes over rows in clusters: centering, and the gain of moving a row."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.scalars import larger, smaller


@compiled
def center_rows(
    x, mean, unit, label, upper, lowest, drift, total_drift, exact, single, square
):  # fmt: skip
    """(x − mean)/unit in double and in single precision, and its squared norm.

    Rows whose bounds (see :mod:`separatrix.cluster.loops.kmeans`) keep their center are left out.
    """
    inverse = 1.0 / unit  # a power of two
    for i in range(x.shape[0]):
        if not upper[i] + drift[label[i]] >= lowest[i] - total_drift:
            continue
        for f in range(x.shape[1]):
            exact[i, f] = (x[i, f] - mean[f]) * inverse
        total = 0.0
        for f in range(x.shape[1]):
            single[i, f] = exact[i, f]
            total += exact[i, f] * exact[i, f]
        square[i] = total


@compiled
def nearest_and_gain(product, square, norms, cluster_weight, weight, label, nearest, margin, gain):
    """Nearest center of every row, from the products x·c, and the gain of moving it to another.

    Moving a row of weight w from cluster a to b, with both means updated, lowers the inertia by

        w · (mₐ/(mₐ − w) ‖x − cₐ‖² − m_b/(m_b + w) ‖x − c_b‖²)

    ``gain`` is the largest of these over b, 0 for a row alone in its cluster. ``margin`` is by how
    much the second nearest squared distance is larger. Cluster weights m that are not known are
    infinite.
    """
    for i in range(product.shape[0]):
        best, value, second = 0, np.inf, np.inf
        for j in range(norms.size):
            v = norms[j] - 2.0 * product[i, j]
            second = smaller(second, larger(value, v))
            if v < value:
                best, value = j, v
        w, other = weight[i], np.inf
        margin[i] = second - value
        for j in range(norms.size):
            v = (norms[j] - 2.0 * product[i, j] + square[i]) * (
                cluster_weight[j] / (cluster_weight[j] + w)
            )
            if v < other and j != best:
                other = v
        label[i], nearest[i] = best, larger(value + square[i], 0.0)
        rest = cluster_weight[best] - w
        gain[i] = w * (cluster_weight[best] / rest * nearest[i] - other) if rest > 0.5 * w else 0.0

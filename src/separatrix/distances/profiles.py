"""Distances between profiles: differences relative to size, and correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from separatrix.distances.base import Metric, as_dense_matrix
from separatrix.distances.vectors import Cosine
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Canberra(Metric):
    """Canberra distance: differences relative to the size of both values, column by column.

        d(x, z) = Σ |xⱼ − zⱼ| / (|xⱼ| + |zⱼ|)

    Columns where both are zero count nothing. The units of columns do not matter.

    See Also
    --------
    BrayCurtis : The same ratio of sums over all columns.
    Manhattan : Differences without regard to size.

    References
    ----------
    G. N. Lance and W. T. Williams, Computer programs for hierarchical polythetic
    classification, Computer Journal 9, 1966.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Canberra()([1.0, 0.0, 3.0], [3.0, 0.0, 1.0])
    1.0
    """

    name: ClassVar[str] = "canberra"

    def precompute(self, z: Floats) -> Floats:
        """The points themselves."""
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """The sum of ratios, or the ratio of sums; 0/0 is 0."""
        if x.shape[1] == 0:
            out[:] = 0.0
            return
        with np.errstate(invalid="ignore", over="ignore"):
            out[:] = cdist(x, precomputed, self.name)
        out[np.isnan(out)] = 0.0


@dataclass(frozen=True)
class BrayCurtis(Canberra):
    """Bray–Curtis dissimilarity of counts, which violates the triangle inequality.

        d(x, z) = Σ |xⱼ − zⱼ| / Σ |xⱼ + zⱼ|

    Two rows of zeros are equal.

    See Also
    --------
    Canberra : A sum of ratios, and a metric.
    JaccardDistance : The same for presence and absence.

    References
    ----------
    J. R. Bray and J. T. Curtis, An ordination of the upland forest communities of southern
    Wisconsin, Ecological Monographs 27, 1957.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.BrayCurtis()([1.0, 0.0, 3.0], [3.0, 0.0, 1.0])
    0.5
    """

    name: ClassVar[str] = "braycurtis"

    @property
    def is_metric(self) -> bool:
        """False: it violates the triangle inequality."""
        return False


@dataclass(frozen=True)
class Correlation(Cosine):
    """One minus the correlation of two rows, which violates the axioms of a metric.

        d(x, z) = 1 − corr(x, z)

    Rows that differ by a positive factor and a constant have distance zero. A constant row has
    distance one to all others.

    See Also
    --------
    Cosine : The same without centering the rows.

    Examples
    --------
    >>> import separatrix as sx
    >>> round(sx.Correlation()([1.0, 2.0, 3.0], [30.0, 20.0, 10.0]), 12)
    2.0
    """

    def validate(self, x: Any) -> Floats:
        """Rows centered and scaled to unit length."""
        x = as_dense_matrix(x)
        largest = np.abs(x).max(axis=1, initial=0.0)[:, None]
        x = x / np.where(largest > 0.0, largest, 1.0)
        centered = x - x.mean(axis=1, keepdims=True) if x.shape[1] else x
        centered[np.ptp(x, axis=1) == 0.0 if x.shape[1] else slice(0)] = 0.0
        return super().validate(centered)

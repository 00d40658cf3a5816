"""Euclidean distance of rows with missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.base import Metric, as_dense_matrix
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class NanEuclidean(Metric):
    """Euclidean distance over the columns known in both rows, scaled up to all columns.

        d(x, z) = √(p/m Σ (xⱼ − zⱼ)²),     over the m of p columns where neither is missing

    Rows that have no column in common are infinitely far apart. Missing values (NaN) violate the
    axioms of a metric.

    See Also
    --------
    Euclidean : The distance of complete rows.
    Gower : Skips missing values of numbers and categories.

    References
    ----------
    J. K. Dixon, Pattern recognition with partly missing data, IEEE Transactions on Systems,
    Man, and Cybernetics 9, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> round(sx.NanEuclidean()([3.0, np.nan], [0.0, 1.0]) ** 2, 12)
    18.0
    """

    @property
    def is_metric(self) -> bool:
        """False: missing values violate the triangle inequality."""
        return False

    def validate(self, x: Any) -> Floats:
        """Rows of numbers, some of which may be missing."""
        return as_dense_matrix(x, allow_missing=True)

    def precompute(self, z: Floats) -> Floats:
        """The points themselves."""
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """Column by column, of differences relative to the largest: no square overflows."""
        largest, known = np.zeros(out.shape), np.zeros(out.shape)
        for a, b in zip(x.T, precomputed.T, strict=True):
            np.fmax(largest, np.abs(a[:, None] - b), out=largest)
        scale = np.where(largest > 0.0, largest, 1.0)
        out[:] = 0.0
        for a, b in zip(x.T, precomputed.T, strict=True):
            difference = (a[:, None] - b) / scale
            there = ~np.isnan(difference)
            known += there
            out += np.where(there, difference, 0.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = out / known
        out[:] = np.where(known > 0.0, largest * np.sqrt(mean * x.shape[1]), np.inf)

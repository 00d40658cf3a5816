"""A trend with unknown coefficients under a flat prior: generalized least squares.

y = H β + f + noise,   β̂ = A⁻¹ Hᵀ K⁻¹ y,   A = Hᵀ K⁻¹ H,   cov β̂ = A⁻¹

With all coefficients integrated out, K⁻¹ becomes P = K⁻¹ − K⁻¹ H A⁻¹ Hᵀ K⁻¹ (universal kriging).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, unit_weights
from separatrix.statistics.standardizer import Standardizer

TRENDS = ("none", "constant", "linear")


@dataclass(frozen=True)
class TrendBasis:
    """Functions of a row that make up the trend: none, 1, or 1 and the standardized columns.

    Columns that are constant, or linear combinations of those before them, are left out.
    """

    kind: str
    centers: Floats
    scales: Floats
    columns: np.ndarray

    @classmethod
    def of(cls, kind: str, x: Any, w: Floats | None) -> TrendBasis:
        """The basis with the centers and scales of these rows."""
        check_option("trend", kind, TRENDS)
        if kind != "linear":
            return cls(kind, np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        if not hasattr(x, "shape"):
            raise InputError(
                "Python objects have no linear trend.", remedy="Use trend='constant' or 'none'."
            )
        x = np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float)
        found = Standardizer.from_rows(x, unit_weights(w, len(x)))
        scales = np.where(found.scale > 0.0, found.scale, 1.0)
        columns = _independent((x - found.mean) / scales, found.scale > 0.0)
        return cls(kind, found.mean, scales, columns)

    def __len__(self) -> int:
        return 0 if self.kind == "none" else 1 + len(self.columns)

    def of_rows(self, x: Any) -> Floats:
        """H: one row for every row of x."""
        n = x.shape[0] if hasattr(x, "shape") else len(x)
        if self.kind == "none":
            return np.zeros((n, 0))
        if self.kind == "constant" or not len(self.columns):
            return np.ones((n, 1))
        x = np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float)
        standard = (x[:, self.columns] - self.centers[self.columns]) / self.scales[self.columns]
        return np.column_stack([np.ones(n), standard])


def _independent(columns: Floats, usable: np.ndarray) -> np.ndarray:
    """Columns that those before them leave something of, fewer than there are rows."""
    found: list[int] = []
    basis = np.zeros((len(columns), 0))
    for j in np.flatnonzero(usable):
        if len(found) + 2 >= len(columns):
            break
        rest = columns[:, j] - basis @ (basis.T @ columns[:, j])
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-8 * float(np.linalg.norm(columns[:, j])):
            basis = np.column_stack([basis, rest / size])
            found.append(int(j))
    return np.array(found, dtype=np.int64)

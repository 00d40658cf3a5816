"""Inducing points Z: some rows whose kernel stands for that of all of them.

    K ≈ Q = K_nm (K_mm + εI)⁻¹ K_mn,     K_mm + εI = L Lᵀ,     0 ⪯ Q ⪯ K for every ε ≥ 0

so that bounds on the evidence hold with any ε; the least that leaves a factor is taken and said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, PreparedKernel, n_items, take_items
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: ε relative to the mean of κ(z, z), in the order in which they are tried.
JITTERS = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
#: The smallest pivot of the factor, relative to κ(z, z), at which rounding leaves digits.
LEAST_PIVOT = 1e-11
#: The smallest pivot, relative to the largest, with which single precision will do in a search.
SINGLE_PIVOT = 1e-4
#: Kernel values of a piece of rows, those computed at a time, and pieces whose sums are in memory.
PIECE_VALUES, STRIP_VALUES, PIECES = 1 << 20, 1 << 16, 16


@dataclass(frozen=True)
class InducingPoints:
    """A kernel with its inducing points: k(x) = L⁻¹ κ(Z, x) are m numbers for every row.

    ``jitter`` is ε relative to the mean of κ(z, z).
    """

    kernel: Kernel
    points: Items
    factor: Floats
    jitter: float

    @classmethod
    def of(cls, kernel: Kernel, points: Items) -> InducingPoints:
        """Factor the kernel matrix of the points, with the least jitter that allows it."""
        gram = np.asarray(cross_values(kernel, points, points), dtype=float)
        gram = 0.5 * (gram + gram.T)
        diagonal = np.diagonal(gram).copy()
        size = float(diagonal.mean()) if len(diagonal) else 1.0
        for jitter in JITTERS:
            raised = gram.copy()
            raised[np.diag_indices(len(gram))] = diagonal + jitter * size
            factor = cholesky_factor(raised)
            if factor is not None and (np.diagonal(factor) ** 2 > LEAST_PIVOT * size).all():
                return cls(kernel, points, np.tril(factor), jitter)
        raise InputError(
            "The kernel matrix of the inducing points is not positive, whatever is added to it.",
            remedy="Use a kernel that is positive semi-definite, and finite on these rows.",
        )

    def __len__(self) -> int:
        return n_items(self.points)

    @cached_property
    def prepared(self) -> PreparedKernel:
        """The kernel prepared for the points."""
        return self.kernel.prepare_exact(self.points)

    @cached_property
    def whitening(self) -> Floats:
        """L⁻ᵀ, by which rows κ(x, Z) are whitened."""
        inverse = linalg.solve_triangular(
            self.factor, np.eye(len(self)), lower=True, check_finite=False
        )
        return np.ascontiguousarray(inverse.T)

    @cached_property
    def well_conditioned(self) -> bool:
        """Whether whitened rows have digits enough in single precision, for a search."""
        pivots = np.diagonal(self.factor) ** 2
        return bool((pivots > SINGLE_PIVOT * pivots.max(initial=0.0)).all())

    @cached_property
    def _single_whitening(self) -> NDArray[np.float32]:
        return self.whitening.astype(np.float32)

    def diagonal(self, x: Items) -> Floats:
        """κ(x, x) of every row."""
        return np.asarray(self.kernel.diagonal(x), dtype=float)

    def rows(self, x: Items) -> Floats:
        """κ(x, Z), n x m."""
        return np.asarray(self.prepared.rows(x), dtype=float)

    def whitened(self, x: Items, *, single: bool = False) -> NDArray[Any]:
        """κ(x, Z) L⁻ᵀ, n x m: their inner products are Q; in single precision where that will do.

        Kernel values are computed for a few rows at a time, which stay in the cache.
        """
        whitening: NDArray[Any] = self.whitening
        if single and self.well_conditioned:
            whitening = self._single_whitening
        a = np.empty((n_items(x), len(self)), whitening.dtype)
        for rows in strips(*a.shape):
            values = self.rows(take_items(x, rows))
            np.matmul(values.astype(a.dtype, copy=False), whitening, out=a[rows])
        return a

    def __getstate__(self) -> dict[str, Any]:
        """What is computed on demand is not pickled."""
        names = ("kernel", "points", "factor", "jitter")
        return {name: getattr(self, name) for name in names}


def cross_values(kernel: Kernel, x: Items, z: Items) -> Floats:
    """κ(xᵢ, zⱼ) as of different rows: noise on the diagonal of a Gram matrix is left out."""
    return np.asarray(kernel.prepare_exact(z).rows(x), dtype=float)


def groups(n: int, m: int) -> list[list[slice]]:
    """Pieces of rows, a few at a time; they depend on the shape alone."""
    step = max(64, PIECE_VALUES // max(m, 1))
    cuts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    return [cuts[i : i + PIECES] for i in range(0, len(cuts), PIECES)]


def strips(n: int, m: int) -> list[slice]:
    """Rows whose kernel values stay in the cache."""
    step = max(16, STRIP_VALUES // max(m, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]

"""The Euclidean distance in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.distances.metrics import Metric, as_dense_matrix
from separatrix.kernels.base import Kernel

#: Squared distances below this fraction of κ(x, x) + κ(z, z) are rounding.
ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class KernelDistance(Metric):
    """Euclidean distance in the feature space of a kernel.

        d(x, z) = ‖φ(x) − φ(z)‖ = √(κ(x, x) − 2 κ(x, z) + κ(z, z))

    The feature vectors φ are never computed.

    Parameters
    ----------
    kernel : Kernel
        κ, of rows of numbers or of objects.

    See Also
    --------
    kernel_distance : the same as a function of a kernel and items.
    Euclidean : the distance of the linear kernel.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> metric = sx.KernelDistance(sx.Spectrum(2))
    >>> round(metric("abab", "abba"), 4)
    1.4142
    """

    kernel: Kernel

    @property
    def is_metric(self) -> bool:
        """False: a pseudometric at best, since two points may have the same feature vector."""
        return False

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """As the kernel."""
        return self.kernel.of_vectors

    def validate(self, x: Any) -> Any:
        """Rows of numbers, or the objects that the kernel compares."""
        return as_dense_matrix(x) if self.kernel.of_vectors else list(x)

    def precompute(self, z: Any) -> Any:
        """The prepared kernel, and κ(z, z)."""
        return self.kernel.prepare(z), self.kernel.diagonal(z)

    def fill(self, x: Any, precomputed: Any, out: Floats) -> None:
        """√(κ(x, x) − 2 κ(x, z) + κ(z, z))."""
        prepared, diagonal = precomputed
        size = self.kernel.diagonal(x)[:, None] + diagonal
        square = size - 2.0 * prepared.rows(x)
        square[square <= ROUNDING * np.abs(size)] = 0.0  # the three terms cancel
        np.sqrt(square, out=out)

    def rounding_error(self, x: Any) -> float:
        """The rounding of squared distances is that of κ(x, x)."""
        largest = np.abs(np.asarray(self.kernel.diagonal(x))).max(initial=0.0)
        return float(np.sqrt(2.0 * ROUNDING * largest))

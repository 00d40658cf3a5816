"""The distance that a kernel measures in its feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.base import Metric, vectors
from separatrix.kernels.base import Kernel
from separatrix.rows.block import Floats

#: A square below this share of κ(x, x) + κ(z, z) is what rounding leaves.
ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class KernelDistance(Metric):
    """√(κ(x, x) − 2 κ(x, z) + κ(z, z)): Euclidean between φ(x) and φ(z), which are never formed."""

    kernel: Kernel

    @property
    def is_metric(self) -> bool:
        """A pseudo-metric at best: two points may share one feature vector."""
        return False

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """Of whatever the kernel compares."""
        return self.kernel.of_vectors

    def validate(self, x: Any) -> Any:
        """Rows of numbers, or the objects that the kernel compares."""
        return vectors(x) if self.kernel.of_vectors else list(x)

    def precompute(self, z: Any) -> Any:
        """The kernel's own preparation, with κ(z, z)."""
        return self.kernel.prepare(z), self.kernel.diagonal(z)

    def fill(self, x: Any, prepared: Any, out: Floats) -> None:
        """From three products in the feature space."""
        points, own = prepared
        size = self.kernel.diagonal(x)[:, None] + own
        square = size - 2.0 * points.rows(x)
        square[square <= ROUNDING * np.abs(size)] = 0.0  # the three products cancel
        np.sqrt(square, out=out)

    def rounding_error(self, x: Any) -> float:
        """Squares of distances have the rounding of κ(x, x)."""
        most = np.abs(np.asarray(self.kernel.diagonal(x))).max(initial=0.0)
        return float(np.sqrt(2.0 * ROUNDING * most))

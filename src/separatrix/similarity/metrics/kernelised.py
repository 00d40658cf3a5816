"""The distance that a kernel measures in its feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.rows.block import Floats
from separatrix.similarity.kernels.base import Kernel
from separatrix.similarity.metrics.base import Metric, vectors


@dataclass(frozen=True)
class Kernelised(Metric):
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

    def accept(self, x: Any) -> Any:
        """Rows of numbers, or the objects that the kernel compares."""
        return vectors(x) if self.kernel.of_vectors else list(x)

    def prepare(self, z: Any) -> Any:
        """The kernel's own preparation, with κ(z, z)."""
        return self.kernel.against(z), self.kernel.diagonal(z)

    def fill(self, x: Any, prepared: Any, out: Floats) -> None:
        """From three products in the feature space."""
        points, own = prepared
        square = self.kernel.diagonal(x)[:, None] - 2.0 * points.rows(x) + own
        np.sqrt(np.maximum(square, 0.0), out=out)

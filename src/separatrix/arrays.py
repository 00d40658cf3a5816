"""Names of arrays in annotations; everything may import them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Matrix", "NDArray"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = Any  # NDArray[float64] or scipy.sparse.csr_array

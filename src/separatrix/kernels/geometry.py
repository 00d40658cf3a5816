"""Lengths and angles in the feature space, from kernel values alone.

‖φ(x) − φ(z)‖ = √(κ(x,x) − 2 κ(x,z) + κ(z,z)),    cos = κ(x,z) / √(κ(x,x) κ(z,z))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items
from separatrix.kernels.names import kernel_from


def kernel_distance(kernel: Any, x: Items, z: Items | None = None, **settings: Any) -> Array:
    """The distance between φ(x) and φ(z) for all pairs; between all of x when z is left out.

    With a linear kernel it is the Euclidean distance. ``settings`` are those of a kernel by name.
    """
    chosen = kernel_from(kernel, x=x, **settings)
    return np.asarray(np.sqrt(chosen.squared_distance(x, z)))


def kernel_cosine(kernel: Any, x: Items, z: Items | None = None, **settings: Any) -> Array:
    """The cosine of the angle between φ(x) and φ(z) for all pairs; 0 for items without features."""
    return kernel_from(kernel, x=x, **settings).normalized().gram(x, z)

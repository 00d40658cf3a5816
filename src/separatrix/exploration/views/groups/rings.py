"""Two rings, one inside of the other: groups that no straight line separates."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats


def rings() -> Floats:
    """100 points about a circle of radius 0.6, and 200 about one of radius 3.

    Examples
    --------
    >>> from separatrix.exploration.views.groups.rings import rings
    >>> rings().shape
    (300, 2)
    """
    rng, found = np.random.default_rng(0), []
    for count, radius in ((100, 0.6), (200, 3.0)):
        angle = 2 * np.pi * np.arange(count) / count
        r = radius + 0.16 * rng.standard_normal(count)
        found.append(np.column_stack([r * np.cos(angle), r * np.sin(angle)]))
    return np.vstack(found)

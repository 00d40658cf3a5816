"""Units of rows dealt to one part, as many rows of every stratum as it is to have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Ints = NDArray[np.int64]


@compiled
def deal(
    order: Ints, starts: Ints, sizes: Ints, quotas: Ints, label: int, free: int, out: Ints
) -> None:
    """Give ``label`` to the first units that are ``free`` until each stratum has its quota of rows.

    ``order`` lists the units stratum by stratum. A unit that is too large is passed over; where the
    quota is missed by more than half of the smallest of these, that one is taken. What a stratum
    has too few or too many is made up for by the next.
    """
    owed = 0
    for s in range(starts.size - 1):
        owed += quotas[s]
        smallest = -1
        for at in range(starts[s], starts[s + 1]):
            unit = order[at]
            if out[unit] != free:
                continue
            if sizes[unit] <= owed:
                out[unit] = label
                owed -= sizes[unit]
            elif smallest < 0 or sizes[unit] < sizes[smallest]:
                smallest = unit
        if smallest >= 0 and sizes[smallest] < 2 * owed:
            out[smallest] = label
            owed -= sizes[smallest]

"""Doubt as an answer of its own beside the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError


def answers(classes: NDArray[Any], reject: Any) -> NDArray[Any]:
    """The classes and, last, the label of doubt, in the type of the classes where it fits in."""
    if reject in classes.tolist():
        raise InputError(
            f"reject_label={reject!r} is one of the classes, so an answer would mean two things.",
            remedy="Choose another label for doubt.",
        )
    text = classes.dtype.kind == "U" and isinstance(reject, str)
    number = classes.dtype.kind in "iuf" and type(reject) in (int, float)
    if text or number:
        return np.array([*classes.tolist(), reject])
    both = np.empty(len(classes) + 1, dtype=object)
    both[:-1] = classes.tolist()
    both[-1] = reject
    return both

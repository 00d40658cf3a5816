"""The classes of a table that comes in portions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError


def stated_classes(model: Any, classes: Any) -> NDArray[Any]:
    """All possible labels: stated in the first call of ``partial_fit``, the same in every other."""
    before: NDArray[Any] | None = getattr(model, "classes_", None)
    stated = None if classes is None else np.unique(np.asarray(classes))
    if stated is None:
        if before is None:
            raise InputError("classes must be passed on the first call to partial_fit.")
        return before
    if before is not None and not np.array_equal(before, stated):
        raise InputError(
            f"classes={stated.tolist()} is not the same as on last call to partial_fit, "
            f"{before.tolist()}."
        )
    return stated

"""Rare classes: said before models are fitted, and a warning where the chosen one finds none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import warn
from separatrix.study.design import with_warnings
from separatrix.study.result import Predictions

#: A class with fewer rows than this part of all is rare.
RARE = 0.01
#: A class that is not found is a warning up to this part of the rows, from so many test rows on.
SMALL, MIN_FOUND = 0.1, 3

REMEDY = (
    "State what a miss costs (`costs`), which moves the threshold, or choose by "
    "`metric='balanced_error'`, to which all classes count alike."
)


def about_rare(truth: NDArray[Any]) -> list[str]:
    """A message on the rarest class, where it is rare."""
    names, n = np.unique(truth, return_counts=True)
    least = int(n.argmin())
    if len(names) < 2 or n[least] >= RARE * len(truth):
        return []
    return [
        f"Class {str(names[least])!r} is rare: {n[least]} of {len(truth)} rows, 1 in "
        f"{len(truth) / n[least]:.0f}. The error rate says little about it. {REMEDY}"
    ]


def missed_classes(test: Predictions, classes: Sequence[str]) -> tuple[str, ...]:
    """The warnings on small classes of which no test row was found."""
    return with_warnings(lambda: _warn_missed(test.truth, test.predicted, classes))[1]


def _warn_missed(truth: NDArray[Any], predicted: NDArray[Any], classes: Sequence[str]) -> None:
    for name in classes:
        own = truth == name
        m = int(own.sum())
        if MIN_FOUND <= m <= SMALL * len(truth) and not (predicted[own] == name).any():
            warn(
                "SEP012",
                f"none of the {m} test rows of class {str(name)!r} was found ({m} of "
                f"{len(truth)}, 1 in {len(truth) / m:.0f}). {REMEDY}",
            )

"""Pictures for the page, and the reasons of those that are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures import Display

#: Points in one picture of the page before a density is drawn: a page has several.
MANY = 2_000
#: A plane is drawn if it shows for so many of the rows what the model predicts for them.
LEAST_AGREEMENT = 0.8


@dataclass
class Gallery:
    """Pictures that could be drawn, and the reasons of those that could not."""

    pictures: list[Display] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, make: Callable[[], Display]) -> None:
        """Add the picture, or the reason for its absence."""
        try:
            self.pictures.append(make())
        except InputError as refusal:
            self.missing.append(str(refusal))


def row_labels(rows: Any) -> list[str] | None:
    """Row numbers as people write them."""
    if rows is None:
        return None
    return [f"{r:g}" if isinstance(r, float | np.floating) else str(r) for r in rows]

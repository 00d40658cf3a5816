"""Pictures for the page, and the reasons of those that are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from separatrix.messages import InputError
from separatrix.pictures import Display

#: Dots in one picture of the page before the density is drawn: a page holds several.
MANY = 2_000


@dataclass
class Gallery:
    """Pictures that could be drawn, and the reasons of those that could not."""

    pictures: list[Display] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, make: Callable[[], Display]) -> None:
        """Keep the picture, or the reason for its absence."""
        try:
            self.pictures.append(make())
        except InputError as refusal:
            self.missing.append(str(refusal))

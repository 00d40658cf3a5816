"""A measured quantity with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A measured quantity with its 95 % interval."""

    metric: str
    value: float
    low: float
    high: float

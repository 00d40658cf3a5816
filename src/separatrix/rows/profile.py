"""A column at a glance: kind, gaps, range, levels. Merges with ``+`` like every statistic."""

from __future__ import annotations

from dataclasses import dataclass, field

from separatrix.rows.schema import Kind


@dataclass(frozen=True)
class ColumnProfile:
    """``count`` rows were seen, ``missing`` of them had no value."""

    name: str
    kind: Kind
    count: int
    missing: int
    low: float = float("nan")
    high: float = float("nan")
    mean: float = float("nan")
    deviation: float = float("nan")
    levels: dict[str, int] = field(default_factory=dict)

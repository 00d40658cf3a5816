"""Texts and numbers that stand for missing values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from separatrix.rows.block import Floats
from separatrix.rows.schema import Notation

#: Texts that are missing values in every column of a file, whether they were announced or not.
SILENT = frozenset(
    {
        *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "NULL", "null", "NaN", "nan"),
        *("-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    }
)
#: Texts that are missing values in every column, with a note.
IN_EVERY_COLUMN = frozenset(("?",))
#: Texts that are missing values among numbers and dates, with a note. Among levels they are levels.
AMONG_NUMBERS = IN_EVERY_COLUMN | {
    *("-", "--", "—", "–", ".", "..", "...", "*", "na", "Na", "n.a.", "N.A.", "none", "None"),
    *("NONE", "nil", "missing", "Missing", "unknown", "Unknown", "#DIV/0!", "#VALUE!", "#REF!"),
    *("<NA>", "NaT", "Null"),
}

#: Numbers that stand for missing values where they are far from all others.
SENTINELS = tuple(
    sorted(
        {sign * (10.0**k - 1) for k in range(3, 10) for sign in (1, -1)} | {-99.0, -999.9, -9999.9}
    )
)
#: Other values that a column must have beside a sentinel; with fewer they may be codes.
MIN_DISTINCT = 3
#: Positive sentinels (days since: 999) occur at least twice and in at most this part of the rows.
MAX_POSITIVE_PART = 0.5


def sentinels_given(na: Iterable[str]) -> tuple[float, ...]:
    """The given missing values that are numbers."""
    found = []
    for token in na:
        try:
            found.append(float(token))
        except ValueError:
            continue
    return tuple(value for value in found if np.isfinite(value))


def without_sentinels(values: Floats, notation: Notation) -> Floats:
    """The same values with NaN in place of sentinels; a copy only where there are some."""
    for sentinel in notation.sentinels:
        here = values == sentinel
        if here.any():
            values = np.where(here, np.nan, values)
    return values


@dataclass
class SentinelTally:
    """Counts of sentinels in one column, and the range of all other values; mergeable by order."""

    count: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    distinct: set[float] = field(default_factory=set)
    counts: dict[float, int] = field(default_factory=dict)

    def update(self, values: Floats) -> None:
        """Add values of the column; NaN is missing."""
        values = values[~np.isnan(values)]
        self.count += len(values)
        coded = np.isin(values, SENTINELS)
        if coded.any():
            for value, n in zip(*np.unique(values[coded], return_counts=True), strict=True):
                self.counts[float(value)] = self.counts.get(float(value), 0) + int(n)
            values = values[~coded]
        if len(values):
            self.lowest = min(self.lowest, float(values.min()))
            self.highest = max(self.highest, float(values.max()))
            if len(self.distinct) < MIN_DISTINCT:
                self.distinct.update(np.unique(values)[:MIN_DISTINCT].tolist())

    def sentinels(self) -> tuple[float, ...]:
        """Those that are clearly apart from the rest."""
        if len(self.distinct) < MIN_DISTINCT:
            return ()
        return tuple(
            sorted(value for value in self.counts if self.far(value) and self._often(value))
        )

    def far(self, value: float) -> bool:
        """Whether a value is far from all others; more rows can only refute it."""
        spread = self.highest - self.lowest
        if value < 0:  # far below all others, or the only negative number
            return value < self.lowest and (self.lowest - value > spread or self.lowest >= 0)
        return value - self.highest > max(spread, 4 * abs(self.highest))

    def _often(self, value: float) -> bool:
        """Whether a value occurs more than once, unless it is below all others by far."""
        if value < 0 and self.lowest - value > self.highest - self.lowest:
            return True
        most = self.count if value < 0 else MAX_POSITIVE_PART * self.count
        return 1 < self.counts[value] <= most


def coded_value(found: tuple[float, float], known: tuple[float, float]) -> float | None:
    """A value outside the known range that may stand for missing ones; a cheap test of a batch."""
    for value, outside in ((found[0], found[0] < known[0]), (found[1], found[1] > known[1])):
        if outside and value in SENTINELS:
            return value
    return None

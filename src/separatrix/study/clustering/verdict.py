"""One verdict on the clusters of a table, which needs both separation and stability.

distinct      separated clearly, and found again in half of the rows
overlapping   found again, and separated more than in tables without groups, but not by much
none          anything else
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from separatrix.study.clustering.result import Stability, Structure

#: Excess over the silhouette of tables without groups: below, negligible; above, clear.
NEGLIGIBLE, CLEAR = 0.02, 0.05
#: A clear separation has at least this silhouette as well.
CLEAR_SILHOUETTE = 0.25
#: Adjusted Rand index with clusters of half of the rows that counts as stable.
STABLE = 0.8

HEADLINES = {
    "distinct": "Distinct groups",
    "overlapping": "Overlapping groups",
    "undecided": "Undecided",
    "none": "No distinct groups",
}


@dataclass(frozen=True)
class Verdict:
    """Whether the clusters are groups: "distinct", "overlapping", "undecided" or "none".

    ``separated`` and ``stable`` are the two conditions; ``summary`` says all of it in words.
    """

    groups: str
    separated: bool
    stable: bool
    summary: str

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return HEADLINES[self.groups]


def verdict_on(
    structure: Structure, stability: Stability, k: int, *, limit_reached: bool = False
) -> Verdict:
    """Weigh the test for structure and the stability of k clusters; not finite is never good."""
    separated = structure.significant and structure.effect >= NEGLIGIBLE
    stable = stability.mean >= STABLE
    clear = structure.effect >= CLEAR and structure.silhouette >= CLEAR_SILHOUETTE
    if separated and stable:
        groups = "distinct" if clear else "overlapping"
    else:
        groups = "undecided" if separated and limit_reached else "none"
    text = _explanation(groups, separated, structure, stability, k)
    return Verdict(groups, separated, stable, f"{HEADLINES[groups]}: {text}")


def _explanation(
    groups: str, separated: bool, structure: Structure, stability: Stability, k: int
) -> str:
    compared = (
        f"silhouette {two(structure.silhouette)}, {two(structure.expected)} in tables without "
        f"groups, p = {structure.p_value:.3f}"
    )
    again = f"adjusted Rand index {two(stability.mean)} with clusters of half of the rows"
    if groups == "distinct":
        return f"the {k} clusters are well separated ({compared}) and stable ({again})."
    if groups == "overlapping":
        return (
            f"the {k} clusters are stable ({again}) and separated more than in tables without "
            f"groups, but not by much ({compared}), so that many rows lie between them."
        )
    if groups == "undecided":
        return (
            f"the {k} clusters are separated ({compared}), but not stable ({again}); {k} is the "
            "largest number that was tried, and there may be more groups than that."
        )
    if structure.silhouette <= -1:
        return "all clusters but one have a few rows each, which are outliers rather than groups."
    if separated:
        why = (
            f"are not stable ({again})"
            if math.isfinite(stability.mean)
            else "have too few different rows to assess whether they are stable"
        )
        return (
            f"the {k} clusters are separated ({compared}), but {why}: other rows of the same kind "
            "may well be divided otherwise."
        )
    how = "hardly better" if structure.significant else "no better"
    text = (
        f"the {k} clusters divide one cloud of rows. They are {how} separated than the clusters "
        f"of tables without groups ({compared})"
    )
    if stability.mean >= STABLE:
        return f"{text}; that half of the rows is divided alike ({again}) comes from its shape."
    return f"{text}, and not stable ({again})." if math.isfinite(stability.mean) else f"{text}."


def two(value: float) -> str:
    """Two decimals with a minus sign."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")

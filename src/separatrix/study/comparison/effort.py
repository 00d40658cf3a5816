"""How much work a study may do, counted in floating-point operations and never in seconds.

The same table gives the same comparison on a fast machine and on a slow one. A candidate that
tunes is told how much it may do and finds its own way to stay within it: fewer rows for the search,
fewer folds, fewer rows. One that cannot is left out, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.messages import check_option
from separatrix.selection.tuning import NORMAL, QUICK, THOROUGH

#: Operations a second of one processor, in the mix of products and loops that searches are made
#: of: what turns work into the words of a message.
OPERATIONS_A_SECOND = 2e9
#: All candidates together may do so many times the work of one.
CANDIDATES_AT_FULL_WORK = 4.0

EFFORTS = {"quick": QUICK, "normal": NORMAL, "thorough": THOROUGH}


@dataclass(frozen=True)
class Effort:
    """A limit on the work of each candidate, and of all."""

    name: str = "normal"

    def __post_init__(self) -> None:
        check_option("effort", self.name, tuple(EFFORTS))

    @property
    def work(self) -> float:
        """Operations that one candidate may take."""
        return EFFORTS[self.name]

    @property
    def total(self) -> float:
        """Operations that all candidates may take."""
        return CANDIDATES_AT_FULL_WORK * self.work

    def __str__(self) -> str:
        return (
            f"Effort: {self.name}, at most {self.work:.0e} operations a model and "
            f"{self.total:.0e} in all (override: `effort`)."
        ).replace("e+", "e")

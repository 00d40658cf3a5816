"""How much work a study may do, counted in floating-point operations and never in seconds.

The same table gives the same comparison on a fast machine and on a slow one. A candidate that
tunes is told how much it may do and finds its own way to stay within it: fewer rows for the search,
fewer folds, fewer rows. One that cannot is left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.messages import check_option
from separatrix.selection.tuning import NORMAL, QUICK, THOROUGH
from separatrix.study.candidates import power

EFFORTS = {"quick": QUICK, "normal": NORMAL, "thorough": THOROUGH}

#: Operations of an eigendecomposition of d columns over d³ (Golub and Van Loan, table 8.3.1).
DECOMPOSITION = 9.0


@dataclass(frozen=True)
class Effort:
    """A limit on the work of each candidate that tunes."""

    name: str = "normal"

    def __post_init__(self) -> None:
        check_option("effort", self.name, tuple(EFFORTS))

    @property
    def work(self) -> float:
        """Operations that one candidate may take."""
        return EFFORTS[self.name]

    def columns(self, rows: int, folds: int) -> int:
        """Columns of a design whose moments and their decompositions on all folds stay within.

        n d² for the moments, and (k + 1)·c·d³ for the decompositions of k folds and of all rows.
        """
        by_rows = math.sqrt(self.work / max(rows, 1))
        by_columns = (self.work / ((folds + 1) * DECOMPOSITION)) ** (1.0 / 3.0)
        return int(min(by_rows, by_columns))

    def about(self, proportions: Sequence[float]) -> str:
        """What the models that tune may do, each and in all.

        ``proportions`` are those of the work that each may do.
        """
        total = self.work * sum(proportions)
        return (
            f"Effort {self.name}: at most {power(self.work)} operations for a model that tunes, "
            f"{power(total)} in all (override: `effort`)."
        )

"""How much work a study may do, counted in floating-point operations and never in seconds.

The same table gives the same comparison on a fast machine and on a slow one. A candidate that
tunes is told how much it may do and finds its own way to stay within it: fewer rows for the search,
fewer folds, fewer rows. One that cannot is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.messages import check_option
from separatrix.selection.tuning import NORMAL, QUICK, THOROUGH

EFFORTS = {"quick": QUICK, "normal": NORMAL, "thorough": THOROUGH}


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

    def about(self, proportions: Sequence[float]) -> str:
        """What the models that tune may do, each and in all.

        ``proportions`` are those of the work that each may do.
        """
        total = self.work * sum(proportions)
        return (
            f"Effort {self.name}: at most {_power(self.work)} operations for a model that tunes, "
            f"{_power(total)} in all (override: `effort`)."
        )


def _power(operations: float) -> str:
    """2e10 as 2·10¹⁰."""
    digits, exponent = f"{operations:.0e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))

"""How a study is validated: in how many folds, how often, and whether the selection is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.messages import InputError

#: The value of ``folds`` that leaves out one row (or one group) at a time.
LEAVE_ONE_OUT = "loo"
#: Folds that tune and calibrate where every row is left out once.
TUNING_FOLDS = 5
#: Repeats at most: the standard error over rows is reached long before.
MOST_REPEATS = 50


@dataclass(frozen=True)
class Validation:
    """``folds`` folds, ``repeats`` times; ``nested`` asks for an outer loop around the selection.

    With ``leave_one_out`` the folds tune and calibrate, and every row is predicted by models of
    all others.
    """

    folds: int = 5
    repeats: int = 1
    nested: bool = False
    leave_one_out: bool = False

    @classmethod
    def of(cls, folds: Any, repeats: Any, nested: bool) -> Validation:
        """From the parameters of a study; refuses what is no number of folds or repeats."""
        loo = isinstance(folds, str) and folds.lower() == LEAVE_ONE_OUT
        if isinstance(folds, str) and not loo:
            raise InputError(
                f"`folds` cannot be {folds!r}.",
                remedy="Give a number, or 'loo' to leave out one row at a time.",
            )
        if isinstance(repeats, bool) or not isinstance(repeats, int):
            raise InputError(
                f"`repeats` is {repeats!r}.", remedy="Give a whole number, such as `repeats=5`."
            )
        if not 1 <= repeats <= MOST_REPEATS:
            raise InputError(
                f"`repeats` is {repeats}; from 1 to {MOST_REPEATS} are possible.",
                remedy="Ten show how much the folds matter; more rows say more than more repeats.",
            )
        if loo and repeats > 1:
            raise InputError(
                "Leaving out one row at a time has no second way to do it.",
                remedy="Leave out `repeats`, or give a number of `folds`.",
            )
        return cls(TUNING_FOLDS if loo else int(folds), repeats, bool(nested), loo)

    @property
    def is_usual(self) -> bool:
        """Whether candidates are compared once, on folds, and no more."""
        return self.repeats == 1 and not self.nested and not self.leave_one_out

    @property
    def comparisons(self) -> int:
        """How often all candidates are compared."""
        return self.repeats + (self.folds if self.nested else 0)

    def refuse_for(self, *, time: str | None, average: bool) -> None:
        """Leave-one-out against the order of time, and weights that are learned on one split."""
        if self.leave_one_out and time is not None:
            raise InputError(
                "leaving out one row at a time would predict it from later rows.",
                column=time,
                remedy="Give a number of `folds`: each is then predicted from earlier rows alone.",
            )
        if average and self.repeats > 1:
            raise InputError(
                "Weights of an average are learned on one set of folds.",
                remedy="Leave out `repeats` or `average`.",
            )

    def refuse_for_moments(self) -> None:
        """Whatever needs the rows again, where there are only moments."""
        for name, wanted in (
            ("repeats", self.repeats > 1),
            ("nested", self.nested),
            ("folds", self.leave_one_out),
        ):
            if wanted:
                value = f"`{name}='{LEAVE_ONE_OUT}'`" if name == "folds" else f"`{name}`"
                raise InputError(
                    f"{value} needs the rows themselves, and there are only sums over fixed folds.",
                    remedy="Leave it out, or study a sample of the rows that fits into memory.",
                )

    def stages(self, work: Sequence[float], compared: int, folds: int) -> list[float]:
        """Work of the stages: ``work`` begins with those of ``compared`` candidates."""
        first, rest = list(work[:compared]), list(work[compared:])
        outer = [w * (folds - 1) / folds for w in first] * folds if self.nested else []
        return first * self.repeats + outer + rest

    def about(self, n_candidates: int, group: str | None) -> list[str]:
        """What is done beyond folds, in sentences."""
        found = []
        if self.leave_one_out:
            unit = "row" if group is None else f"{group!r}"
            found.append(
                f"Leave-one-out: each {unit} is predicted by models of all others; parameters are "
                f"tuned, and probabilities calibrated, on {self.folds} folds without it "
                "(override: `folds`)."
            )
        if self.repeats > 1:
            found.append(
                f"{self.repeats} repeats: the folds are drawn {self.repeats} times, and models are "
                "compared by the mean of a row's losses (override: `repeats`)."
            )
        if self.nested:
            found.append(
                f"Nested: the whole selection among {n_candidates} models is repeated without each "
                f"of {self.folds} outer folds, and judged there (override: `nested`)."
            )
        return found

"""``--folds``, ``--repeats`` and ``--nested``."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.options import together

LEAST, MOST = 2, 50
LEAVE_ONE_OUT = "loo"


class Folds(click.ParamType):  # type: ignore[type-arg]
    """A number of folds, or ``loo``."""

    name = "folds"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """The number, or the word."""
        if isinstance(value, int):
            return value
        text = str(value).strip().lower()
        if text == LEAVE_ONE_OUT:
            return text
        if not text.isdecimal() or not LEAST <= int(text) <= MOST:
            what = f"{value!r} is neither a number from {LEAST} to {MOST} nor {LEAVE_ONE_OUT!r}"
            self.fail(f"{what}, which leaves out one row at a time.", param, ctx)
        return int(text)


validation_options = together(
    click.option(
        "--folds",
        type=Folds(),
        default=5,
        show_default=True,
        metavar="K|loo",
        help="Folds of the cross-validation; loo leaves out one row (or one group) at a time.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1, 50),
        default=1,
        show_default=True,
        metavar="R",
        help="Draw the folds so many times, and compare models by the mean losses.",
    ),
    click.option(
        "--nested",
        is_flag=True,
        help="Repeat the whole selection without each fold: the honest score of the procedure.",
    ),
)

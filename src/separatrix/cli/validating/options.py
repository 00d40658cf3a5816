"""How rows are split and models validated: ``--test``, ``--folds``, ``--repeats``, ``--nested``."""

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


#: What the test set is: seed, size.
test_options = together(
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of the split.",
    ),
    click.option(
        "--test",
        type=click.FloatRange(0, 0.9, min_open=True),
        default=0.2,
        show_default=True,
        help="Fraction of the rows in the held-out test set.",
    ),
)

#: How rows are split: seed, test set, folds.
split_options = together(
    test_options,
    click.option(
        "--folds",
        type=click.IntRange(2, 50),
        default=5,
        show_default=True,
        help="Folds of the cross-validation.",
    ),
)

#: How models of rows are validated.
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

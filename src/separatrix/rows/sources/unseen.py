"""Levels that training did not have: refused, treated as missing, or encoded as zeros.

They are counted while a table is read, and one warning for each column follows the last row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from separatrix.messages import InputError, warn
from separatrix.rows.block import Ints
from separatrix.rows.schema import Column
from separatrix.rows.sources.columns import MISSING_CODE, UNSEEN_CODE, Levels

#: What may be done, the default first.
POLICIES = ("missing", "zeros", "error")
#: What is done, in words.
TREATMENT = {"missing": "treated as missing", "zeros": "encoded as all zeros"}
#: Levels that a warning names.
MOST_SHOWN = 5

#: Column → level → rows.
Counts = dict[str, Counter[str]]


def recode(
    found: Levels, column: Column, policy: str, file: str | None, row_ids: Ints
) -> tuple[Levels, Counter[str]]:
    """Codes into the known levels of a column, and the rows of every other level.

    Of a column with pooled levels every other one is among those.
    """
    if column.pooled:
        return into(found, column.levels, column.levels.index(column.pooled)), Counter()
    known = set(column.levels)
    others = [code for code, name in enumerate(found.names) if name not in known]
    if others and policy == "error":
        raise _refusal(found, int(np.isin(found.codes, others).argmax()), column, file, row_ids)
    counts = Counter({found.names[i]: int((found.codes == i).sum()) for i in others})
    code = MISSING_CODE if policy == "missing" else UNSEEN_CODE
    return into(found, column.levels, code), counts


def into(found: Levels, known: tuple[str, ...], other: int = UNSEEN_CODE) -> Levels:
    """Codes into ``known``; any other level has the code ``other``."""
    at = {name: i for i, name in enumerate(known)}
    codes = [at.get(name, other) for name in found.names]
    table = np.array([*codes, UNSEEN_CODE, MISSING_CODE])
    return Levels(table[found.codes], known)


def _refusal(
    found: Levels, first: int, column: Column, file: str | None, row_ids: Ints
) -> InputError:
    """The refusal of the level in row ``first``."""
    shown = ", ".join(repr(level) for level in column.levels[:8])
    return InputError(
        f"the level {found.names[found.codes[first]]!r} was not seen in training (known: {shown}"
        f"{', …' if len(column.levels) > 8 else ''}).",
        file=file,
        row=int(row_ids[first]),
        column=column.name,
        remedy="Correct it, or treat such levels as missing with `unseen='missing'`.",
    )


def added(total: Counts, more: Mapping[str, Counter[str]]) -> Counts:
    """The sum of two counts."""
    for column, counts in more.items():
        total.setdefault(column, Counter()).update(counts)
    return total


def warn_unseen(counts: Mapping[str, Counter[str]], policy: str) -> None:
    """One warning for each column: which levels, in how many rows, and what was done."""
    for column, levels in counts.items():
        if not levels:
            continue
        shown = [f"{name!r} ({_rows(n)})" for name, n in levels.most_common(MOST_SHOWN)]
        more = len(levels) - len(shown)
        others = f" and {more} more level{'s' if more > 1 else ''}" if more else ""
        warn(
            "SEP005",
            f"column {column!r}: {', '.join(shown)}{others} not seen in training; "
            f"{TREATMENT[policy]}.",
        )


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"

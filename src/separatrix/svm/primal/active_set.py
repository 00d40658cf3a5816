"""Many rows, few columns: most rows only need to be told on which side of their margin they are.

A row well beyond its margin has α = 0 and one well short of it has α = c, whatever the last digits
of the hyperplane. A part of the rows tells the hyperplane roughly; only rows near their margin are
left open, and the others enter a smaller problem as one vector. All rows are then looked at, those
that were misjudged join the open ones, and so on until none is left: the answer is exact for all
rows, though most of them have been in two or three products only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats
from separatrix.svm.primal.interior_point import SmallProblem, solve_roughly, solve_small
from separatrix.svm.primal.options import Answer, Settings
from separatrix.svm.primal.problem import Columns, Hinges, columns_of
from separatrix.threads import small_products

#: A part has this share of the rows of the next one; rows that are solved without parts.
SHARE, WHOLE = 0.2, 6_000
#: The band of open rows, in units of the change of scores that is expected.
BAND = 3.5


def solve_active(problem: Hinges, settings: Settings) -> Answer:
    """Parts of growing size, then all rows."""
    order = np.random.default_rng(0).permutation(problem.n)
    whole = max(WHOLE, 40 * len(problem.ridge))
    columns = columns_of(problem, np.sort(order[:whole]))
    beta, spread, work = np.zeros(len(columns.ridge)), np.inf, 0
    with small_products(len(beta)):
        for part in _parts(order, whole):
            share = float(problem.cost[part].sum() / problem.cost.sum())
            some = Columns(problem.take(part, share), columns.centre, columns.scale)
            before = beta
            found = _settle(some, beta, spread, settings, rough=True)
            beta, work = found.beta, work + found.steps
            if before.any():
                moved = some.hinges.x @ (some.restore(beta)[0] - some.restore(before)[0])
                spread = BAND * np.sqrt(SHARE) * float(np.std(moved))
        found = _settle(columns, beta, spread, settings, rough=False)
    w, b = columns.restore(found.beta)
    return Answer(w, b, found.alpha, found.status, work + found.steps)


def _parts(order: NDArray[np.int64], whole: int) -> list[NDArray[np.int64]]:
    """Growing beginnings of the shuffled rows, all but the last (which is all of them)."""
    sizes = []
    size = SHARE * len(order)
    while size > 0.5 * whole and len(order) > 2 * whole:
        sizes.append(int(size))
        size *= SHARE
    if sizes:
        sizes.append(max(int(sizes[-1] * SHARE), whole // 3))
    return [np.sort(order[:size]) for size in sizes[::-1] if size < len(order)]


@dataclass(frozen=True)
class _Found:
    beta: Floats
    alpha: Floats
    status: str
    steps: int


def _settle(
    columns: Columns, beta: Floats, spread: float, settings: Settings, *, rough: bool
) -> _Found:
    """Open rows near their margin, solve, look at all rows, until nothing was misjudged."""
    hinges, steps = columns.hinges, 0
    short = hinges.short(hinges.scores(*columns.restore(beta)))
    state = _judged(short, spread)
    scale = float(hinges.cost.sum())
    while True:
        side, row = np.nonzero(state == 0)
        fixed = np.where(state > 0, hinges.cost, 0.0)
        small = SmallProblem(
            columns.signed_rows(side, row),
            hinges.offset[side, row],
            hinges.cost[row],
            columns.ridge,
            columns.pull(hinges.slopes(fixed)),
        )
        found = (solve_roughly if rough else solve_small)(
            small, beta, scale=scale, max_steps=settings.max_steps, deadline=settings.deadline
        )
        beta, steps = found.beta, steps + found.steps
        fixed[side, row] = found.alpha
        short = hinges.short(hinges.scores(*columns.restore(beta)))
        noise = 1e-3 * spread if rough else 1e-10 * (1.0 + np.abs(hinges.offset))
        wrong = (state * short < -noise) & (state != 0)
        late = time.monotonic() > settings.deadline
        if late or not wrong.any() or (rough and wrong.sum() < 0.01 * hinges.n):
            break
        spread = max(0.5 * spread, 2.0 * float(np.abs(short[wrong]).max()))
        state = np.where((state == 0) | wrong, 0, _judged(short, spread))
    status = "solved" if found.exact else "stopped short of the last digits"
    return _Found(beta, fixed, "time is up" if late else status, steps)


def _judged(short: Floats, spread: float) -> NDArray[np.int8]:
    """+1: short of its margin for certain (α = c), −1: beyond it (α = 0), 0: open."""
    return (short > spread).astype(np.int8) - (short < -spread).astype(np.int8)

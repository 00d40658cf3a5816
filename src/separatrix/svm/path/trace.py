"""The support vector machine for every C at once.

    min over f, b of ½‖f‖² + C Σ w max(0, 1 − y (f(x) + b))

Between two breakpoints nobody crosses a margin, and α, b and every score are straight lines in C.
The path starts where C is so small that all points of the rarer class have α = Cw; which points of
the other class share the balance is a path of its own, along which their bound grows from what the
rarer class can balance to its full size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats
from separatrix.svm.path.state import HELD, INSIDE, Event, PathState
from separatrix.threads import one_blas_thread

#: Changes without progress, per point, after which ties are broken by moving the margins a little.
TIED, NUDGE, NUDGES = 4, 1e-11, 3


@dataclass(frozen=True)
class SVMTrace:
    """All segments: from ``starts[k]`` on, b = b0 + C b1 and α = fixed + C slope on the margin.

    ``first[k]:first[k + 1]`` are the places of segment k in ``on``, ``fixed`` and ``slope``; the
    change number j, before segment ``when[j]``, puts ``who[j]`` into ``state[j]``: 1 inside
    (α = Cw), −1 outside (α = 0), 0 on the margin. ``end``: how far the lines are known, ∞ where
    nothing changes any more.
    """

    y: Floats
    w: Floats
    origin: NDArray[np.int8]
    starts: Floats
    b0: Floats
    b1: Floats
    first: NDArray[np.int64]
    on: NDArray[np.int64]
    fixed: Floats
    slope: Floats
    when: NDArray[np.int64]
    who: NDArray[np.int64]
    state: NDArray[np.int8]
    end: float

    def __len__(self) -> int:
        return len(self.starts)

    def segment_of(self, C: float) -> int:
        """The number of the segment that holds C."""
        return max(int(np.searchsorted(self.starts, C, side="right")) - 1, 0)

    def states(self, k: int) -> NDArray[np.int8]:
        """The state of every point on segment k."""
        state = self.origin.copy()
        upto = int(np.searchsorted(self.when, k, side="right"))
        state[self.who[:upto]] = self.state[:upto]  # of several changes of a point the last stays
        return state

    def alpha(self, C: float, k: int | None = None) -> Floats:
        """The α at C, by the lines of segment k."""
        k = self.segment_of(C) if k is None else k
        top = C * self.w
        alpha = np.where(self.states(k) == INSIDE, top, 0.0)
        here = slice(self.first[k], self.first[k + 1])
        on = self.on[here]
        alpha[on] = np.clip(self.fixed[here] + C * self.slope[here], 0.0, top[on])
        return alpha

    def intercept(self, C: float, k: int | None = None) -> float:
        """The b at C; with no point on the margin the middle of those that are as good."""
        k = self.segment_of(C) if k is None else k
        return float(self.b0[k] + C * self.b1[k])

    @property
    def breakpoints(self) -> Floats:
        """Every C at which a point comes to its margin or leaves it."""
        breaks = np.unique(self.starts[np.unique(self.when)])
        return np.asarray(breaks[breaks > 0.0])


class _Record:
    """Segments and changes, as they come."""

    def __init__(self) -> None:
        self.starts: list[float] = []
        self.lines: list[tuple[float, float]] = []
        self.on: list[NDArray[np.int64]] = []
        self.fixed: list[Floats] = []
        self.slope: list[Floats] = []
        self.changes: list[tuple[int, int, int]] = []

    def segment(self, at: PathState) -> None:
        m = at.m
        self.starts.append(at.tau)
        self.lines.append((at.fixed[0], at.slope[0]))
        self.on.append(at.on[:m].copy())
        self.fixed.append(at.fixed[1 : m + 1].copy())
        self.slope.append(at.slope[1 : m + 1].copy())

    def trace(self, y: Floats, w: Floats, origin: NDArray[np.int8], end: float) -> SVMTrace:
        lines, changes = np.array(self.lines), np.array(self.changes, dtype=np.int64).reshape(-1, 3)
        changes = changes[changes[:, 0] < len(self.starts)]  # a segment may have been given up
        return SVMTrace(
            y,
            w,
            origin,
            np.array(self.starts),
            lines[:, 0].copy(),
            lines[:, 1].copy(),
            np.cumsum([0, *map(len, self.on)]),
            np.concatenate(self.on),
            np.concatenate(self.fixed),
            np.concatenate(self.slope),
            changes[:, 0].copy(),
            changes[:, 1].copy(),
            changes[:, 2].astype(np.int8),
            end,
        )


def trace_svm(gram: Floats, y: Floats, w: Floats, *, C_max: float, max_changes: int) -> SVMTrace:
    """Follow the path from C = 0 to ``C_max``, or to its end; y is ±1, w > 0."""
    signed = np.ascontiguousarray(y[:, None] * gram * y)
    with one_blas_thread():
        largest = float(np.diag(gram).max(initial=0.0)) or 1.0
        unit = 1.0 / (largest * float(w.sum()))
        state, on = _beginning(signed, y, w, max_changes)
        at = PathState(signed, y, np.ones(len(y)), np.zeros(len(y)), w, state, on, unit)
        origin, record = state.copy(), _Record()
        end = _follow(at, C_max, max_changes, record)
    return record.trace(y, w, origin, end)


def _beginning(
    kernel: Floats, y: Floats, w: Floats, max_changes: int
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """The sets for vanishing C: states, and the points on the margin.

    With α = Ca the unit on the right of y·f = 1 is swallowed by b, which tends to the label of the
    commoner class. Its points share the weight of the rarer class so that ‖f‖ is least.
    """
    state = np.full(len(y), INSIDE, dtype=np.int8)
    plus, minus = float(w[y > 0].sum()), float(w[y < 0].sum())
    if abs(plus - minus) <= 1e-12 * (plus + minus):
        return state, np.empty(0, dtype=np.int64)
    common = y > 0 if plus > minus else y < 0
    share = min(plus, minus) / max(plus, minus)
    p, r = np.where(common, share * w, w), np.where(common, (1.0 - share) * w, 0.0)
    state[~common] = HELD
    at = PathState(kernel, y, np.zeros(len(y)), p, r, state, np.empty(0, dtype=np.int64), 1.0)
    _follow(at, 1.0, max_changes, None)
    at.state[~common] = INSIDE
    return at.state, at.on[: at.m].copy()


def _follow(at: PathState, end: float, max_changes: int, record: _Record | None) -> float:
    """From change to change to ``end``; how far the lines hold: ∞ where they never change again."""
    idle, nudges, patience = 0, 0, TIED * len(at.y) + 50
    for number in range(max_changes):
        at.solve()
        if at.strayed():
            at.refresh()  # sums and inverse anew
            at.solve()
        for change in _into_box(at):
            if record is not None:
                record.changes.append((number, change.point, change.state))
        if at.strayed():
            return at.tau
        if record is not None:
            record.segment(at)
        event = at.next()
        if event is None or event.tau > end:
            return np.inf if event is None else end
        idle = idle + 1 if event.tau <= at.tau * (1.0 + 1e-12) else 0
        if idle > patience:
            if nudges == NUDGES:
                return at.tau
            idle, nudges = 0, nudges + 1
            _nudge(at)
        for change in at.change(event):
            if record is not None:
                record.changes.append((number + 1, change.point, change.state))
    return at.tau


def _into_box(at: PathState) -> list[Event]:
    """Points whose α rounding has put out of its box go to their bounds, the farthest first."""
    changes: list[Event] = []
    for _ in range(at.m):
        event = at.out_of_box()
        if event is None:
            break
        changes += at.change(event)
        at.solve()
    return changes


def _nudge(at: PathState) -> None:
    """Ties that go round in a circle are broken: every margin moves by a little of its own."""
    at.q = at.q + NUDGE * np.random.default_rng(0).uniform(-1.0, 1.0, len(at.q))
    at.refresh()

"""The regularization path of a binary SVM: all solutions along C.

    min over f, b of ½‖f‖² + C Σ w max(0, 1 − y (f(x) + b))

Between two breakpoints no row reaches or leaves its margin, and α, b and all scores are linear in
C. The path starts where C is so small that all rows of the rarer class have α = Cw. Which rows of
the other class balance them is found along an auxiliary path, on which their bound grows from the
value that the rarer class can balance to its full size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.path.state import BOUND, FIXED, Event, PathState

#: Events without progress, per row, after which ties are broken by perturbing the margins.
DEGENERATE, PERTURBATION, PERTURBATIONS = 4, 1e-11, 3


@dataclass(frozen=True)
class SVMTrace:
    """All segments: from ``starts[k]`` on, b = b0 + C b1 and α = fixed + C slope of free rows.

    ``first[k]:first[k + 1]`` are the places of segment k in ``free``, ``fixed`` and ``slope``;
    event j, before segment ``when[j]``, puts ``row[j]`` into ``state[j]``: 1 bound (α = Cw), 0 free
    (on the margin), −1 no support vector (α = 0). The last segment ends at ``end``, ∞ where nothing
    changes any more.
    """

    y: Floats
    w: Floats
    origin: NDArray[np.int8]
    starts: Floats
    b0: Floats
    b1: Floats
    first: Ints
    free: Ints
    fixed: Floats
    slope: Floats
    when: Ints
    row: Ints
    state: NDArray[np.int8]
    end: float

    def __len__(self) -> int:
        return len(self.starts)

    def segment_of(self, C: float) -> int:
        """The number of the segment of C."""
        return max(int(np.searchsorted(self.starts, C, side="right")) - 1, 0)

    def states(self, k: int) -> NDArray[np.int8]:
        """The state of every row on segment k."""
        state = self.origin.copy()
        upto = int(np.searchsorted(self.when, k, side="right"))
        state[self.row[:upto]] = self.state[:upto]  # of several events of a row the last counts
        return state

    def alpha(self, C: float, k: int | None = None) -> Floats:
        """α at C, by the linear functions of segment k."""
        k = self.segment_of(C) if k is None else k
        top = C * self.w
        alpha = np.where(self.states(k) == BOUND, top, 0.0)
        here = slice(self.first[k], self.first[k + 1])
        free = self.free[here]
        alpha[free] = np.clip(self.fixed[here] + C * self.slope[here], 0.0, top[free])
        return alpha

    def intercept(self, C: float, k: int | None = None) -> float:
        """b at C; without free rows, the middle of the optimal interval."""
        k = self.segment_of(C) if k is None else k
        return float(self.b0[k] + C * self.b1[k])

    @property
    def breakpoints(self) -> Floats:
        """Every C at which a row reaches or leaves its margin."""
        breaks = np.unique(self.starts[np.unique(self.when)])
        return np.asarray(breaks[breaks > 0.0])


class _Record:
    """Segments and events, in the order of C."""

    def __init__(self) -> None:
        self.starts: list[float] = []
        self.lines: list[tuple[float, float]] = []
        self.free: list[Ints] = []
        self.fixed: list[Floats] = []
        self.slope: list[Floats] = []
        self.changes: list[tuple[int, int, int]] = []

    def segment(self, at: PathState) -> None:
        m = at.m
        self.starts.append(at.tau)
        self.lines.append((at.fixed[0], at.slope[0]))
        self.free.append(at.free[:m].copy())
        self.fixed.append(at.fixed[1 : m + 1].copy())
        self.slope.append(at.slope[1 : m + 1].copy())

    def trace(self, y: Floats, w: Floats, origin: NDArray[np.int8], end: float) -> SVMTrace:
        lines, changes = np.array(self.lines), np.array(self.changes, dtype=np.int64).reshape(-1, 3)
        changes = changes[changes[:, 0] < len(self.starts)]  # the last segment may be missing
        return SVMTrace(
            y,
            w,
            origin,
            np.array(self.starts),
            lines[:, 0].copy(),
            lines[:, 1].copy(),
            np.cumsum([0, *map(len, self.free)]),
            np.concatenate(self.free),
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
    largest = float(np.diag(gram).max(initial=0.0)) or 1.0
    unit = 1.0 / (largest * float(w.sum()))
    state, free = _initial_sets(signed, y, w, max_changes)
    at = PathState(signed, y, np.ones(len(y)), np.zeros(len(y)), w, state, free, unit)
    origin, record = state.copy(), _Record()
    end = _follow(at, C_max, max_changes, record)
    return record.trace(y, w, origin, end)


def _initial_sets(
    kernel: Floats, y: Floats, w: Floats, max_changes: int
) -> tuple[NDArray[np.int8], Ints]:
    """The states for vanishing C, and the free rows.

    b tends to the label of the commoner class. With α = Ca, its rows balance the weight of the
    rarer class so that ‖f‖ is least.
    """
    state = np.full(len(y), BOUND, dtype=np.int8)
    plus, minus = float(w[y > 0].sum()), float(w[y < 0].sum())
    if abs(plus - minus) <= 1e-12 * (plus + minus):
        return state, np.empty(0, dtype=np.int64)
    common = y > 0 if plus > minus else y < 0
    fraction = min(plus, minus) / max(plus, minus)
    p, r = np.where(common, fraction * w, w), np.where(common, (1.0 - fraction) * w, 0.0)
    state[~common] = FIXED
    at = PathState(kernel, y, np.zeros(len(y)), p, r, state, np.empty(0, dtype=np.int64), 1.0)
    _follow(at, 1.0, max_changes, None)
    at.state[~common] = BOUND
    return at.state, at.free[: at.m].copy()


def _follow(at: PathState, end: float, max_changes: int, record: _Record | None) -> float:
    """Follow the events to ``end``; returns the end of the last segment, ∞ after the last event."""
    stalled, perturbations, patience = 0, 0, DEGENERATE * len(at.y) + 50
    for number in range(max_changes):
        at.solve()
        inaccurate = at.inaccurate()
        if inaccurate:
            at.recompute()
            at.solve()
        restored = _restore_bounds(at)
        if (inaccurate or restored) and at.inaccurate():
            return at.tau
        if record is not None:
            record.changes += [(number, change.row, change.state) for change in restored]
        if record is not None:
            record.segment(at)
        event = at.next()
        if event is None or event.tau > end:
            return np.inf if event is None else end
        stalled = stalled + 1 if event.tau <= at.tau * (1.0 + 1e-12) else 0
        if stalled > patience:
            if perturbations == PERTURBATIONS:
                return at.tau
            stalled, perturbations = 0, perturbations + 1
            _perturb(at)
        for change in at.apply(event):
            if record is not None:
                record.changes.append((number + 1, change.row, change.state))
    return at.tau


def _restore_bounds(at: PathState) -> list[Event]:
    """Free rows whose α is beyond its bounds by rounding are set to them, the farthest first."""
    changes: list[Event] = []
    for _ in range(at.m):
        event = at.out_of_box()
        if event is None:
            break
        changes += at.apply(event)
        at.solve()
    return changes


def _perturb(at: PathState) -> None:
    """Break ties that cycle: every margin is perturbed."""
    at.q = at.q + PERTURBATION * np.random.default_rng(0).uniform(-1.0, 1.0, len(at.q))
    at.recompute()

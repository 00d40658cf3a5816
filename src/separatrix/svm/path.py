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

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.optimize.convex import Certificate
from separatrix.svm.loops import enter, leave, next_event, segment
from separatrix.svm.problem import (
    certify_kernel_svm,
    classification_problem,
    clearing_factor,
    score_rounding,
)

#: What margins, or weights, are perturbed by where ties have ended a path.
PERTURBATION = 1e-11


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

    def segment(self, path_state: PathState) -> None:
        m = path_state.m
        self.starts.append(path_state.tau)
        self.lines.append((path_state.fixed[0], path_state.slope[0]))
        self.free.append(path_state.free[:m].copy())
        self.fixed.append(path_state.fixed[1 : m + 1].copy())
        self.slope.append(path_state.slope[1 : m + 1].copy())

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
    traces: list[SVMTrace] = []
    rate = w
    # A path that rounding ends before C_max is followed again, with perturbed weights: of smooth
    # kernels on many equal rows one path in twenty ends at first.
    while len(traces) < 4:
        state, free = _initial_sets(signed, y, rate, max_changes)
        path_state = PathState(
            signed, y, np.ones(len(y)), np.zeros(len(y)), rate, state, free, unit
        )
        origin, record = state.copy(), _Record()
        end = _follow(path_state, C_max, max_changes, record)
        traces.append(record.trace(y, w, origin, end))
        if end >= C_max or len(traces[-1]) >= max_changes:
            break
        noise = np.random.default_rng(len(traces)).uniform(-1.0, 1.0, len(w))
        rate = w * (1.0 + PERTURBATION * noise)
    return max(traces, key=lambda trace: trace.end)


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
    path_state = PathState(
        kernel, y, np.zeros(len(y)), p, r, state, np.empty(0, dtype=np.int64), 1.0
    )
    _follow(path_state, 1.0, max_changes, None)
    path_state.state[~common] = BOUND
    return path_state.state, path_state.free[: path_state.m].copy()


def _follow(path_state: PathState, end: float, max_changes: int, record: _Record | None) -> float:
    """Follow the events to ``end``; returns the end of the last segment, ∞ after the last event."""
    # Events without progress after which ties are broken by perturbing the margins.
    stalled, perturbations, patience = 0, 0, 4 * len(path_state.y) + 50
    for number in range(max_changes):
        path_state.solve()
        inaccurate = path_state.inaccurate()
        if inaccurate:
            path_state.recompute()
            path_state.solve()
        restored = _restore_bounds(path_state)
        if (inaccurate or restored) and path_state.inaccurate():
            return path_state.tau
        if record is not None:
            record.changes += [(number, change.row, change.state) for change in restored]
        if record is not None:
            record.segment(path_state)
        event = path_state.next()
        if event is None or event.tau > end:
            return np.inf if event is None else end
        stalled = stalled + 1 if event.tau <= path_state.tau * (1.0 + 1e-12) else 0
        if stalled > patience:
            if perturbations == 3:
                return path_state.tau
            stalled, perturbations = 0, perturbations + 1
            _perturb(path_state)
        for change in path_state.apply(event):
            if record is not None:
                record.changes.append((number + 1, change.row, change.state))
    return path_state.tau


def _restore_bounds(path_state: PathState) -> list[Event]:
    """Free rows whose α is beyond its bounds by rounding are set to them, the farthest first."""
    changes: list[Event] = []
    for _ in range(path_state.m):
        event = path_state.out_of_box()
        if event is None:
            break
        changes += path_state.apply(event)
        path_state.solve()
    return changes


def _perturb(path_state: PathState) -> None:
    """Break ties that cycle: every margin is perturbed."""
    path_state.q = path_state.q + PERTURBATION * np.random.default_rng(0).uniform(
        -1.0, 1.0, len(path_state.q)
    )
    path_state.recompute()


# -------------------------------------------------------------------------------------------------
# The state of an SVM path: which rows are bound, free or no support vectors, and what follows.
#
#     K α_F + y_F b = q_F − K_FB c_B,     y·α = 0,     c = p + τ r
#
# K includes the signs of both labels; F are the free support vectors, on the margin, and B the
# bound ones, with α = c. Given these sets, α and b are linear in τ, and so are all gradients y·f −
# q of the dual objective: positive beyond the margin, zero on it.


BOUND, FREE, NON_SUPPORT, FIXED = 1, 0, -1, 2
NO_ROW = -1


@dataclass(frozen=True)
class Event:
    """At τ a row enters a state, and its partner with it; NO_ROW: only b has a kink."""

    tau: float
    row: int
    state: int
    partner: int = NO_ROW


@dataclass(frozen=True)
class _Interval:
    """Bounds t0 + τ t1 on b by row: the ``upper``, the ``lower``, and the tightest of each."""

    t0: Floats
    t1: Floats
    upper: Ints
    lower: Ints
    u: int
    v: int


class PathState:
    """The sets, and the inverse, sums and linear functions of τ that are updated with them."""

    def __init__(
        self,
        kernel: Floats,
        y: Floats,
        q: Floats,
        p: Floats,
        r: Floats,
        state: NDArray[np.int8],
        free: Ints,
        unit: float,
    ) -> None:
        """Start at τ = 0; ``unit`` is the scale of the first events."""
        self.kernel, self.y, self.q, self.p, self.r = kernel, y, q, p, r
        self.state, self.tau, self.unit = state, 0.0, unit
        n = len(y)
        self.m = len(free)
        self.free = np.zeros(n + 1, dtype=np.int64)
        self.free[: self.m] = free
        self.inverse = np.zeros((self.m + 66, self.m + 66))
        self.fixed, self.slope, self.along = np.zeros(n + 2), np.zeros(n + 2), np.zeros(n + 2)
        self.e0, self.e1 = np.zeros(n), np.zeros(n)
        self.size = float(np.abs(np.diag(kernel)).max(initial=0.0)) or 1.0
        self.min_rate = 1e-14 * self.size * float(np.abs(r).sum())
        self.recompute()

    def recompute(self) -> None:
        """Compute sums and inverse from the sets alone."""
        bound = self.state > 0
        self.n_bound = int(bound.sum())
        self.h0 = self.kernel[:, bound] @ self.p[bound]
        self.h1 = self.kernel[:, bound] @ self.r[bound]
        self.s0 = float(self.y[bound] @ self.p[bound])
        self.s1 = float(self.y[bound] @ self.r[bound])
        self.invert()

    def invert(self) -> None:
        """Compute the inverse of the system of the free rows, instead of updating it."""
        free = self.free[: self.m]
        if not self.m:
            return
        system = np.zeros((self.m + 1, self.m + 1))
        system[0, 1:] = system[1:, 0] = self.y[free]
        system[1:, 1:] = self.kernel[np.ix_(free, free)]
        try:
            inverse = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            inverse = np.linalg.pinv(system, hermitian=True)
        self.inverse[: self.m + 1, : self.m + 1] = inverse

    def solve(self) -> None:
        """(b, α) and the gradients as functions of τ; inverts again where digits were lost."""
        if not self.m:
            self._middle_intercept()
            return
        for _ in range(2):
            correction = segment(
                self.kernel,
                self.y,
                self.q,
                self.h0,
                self.h1,
                self.s0,
                self.s1,
                self.free,
                self.m,
                self.inverse,
                self.fixed,
                self.slope,
                self.e0,
                self.e1,
            )
            if correction < 1e-7:
                return
            self.invert()

    def next(self) -> Event | None:
        """The next event; None where the sets never change again."""
        if not self.m:
            return self._next_without_free()
        if self.m == 1 and (redundant := self._redundant()) is not None:
            return redundant
        tau, row, state = next_event(
            self.tau,
            self.state,
            self.p,
            self.r,
            self.free,
            self.m,
            self.fixed,
            self.slope,
            self.e0,
            self.e1,
            self._rate_rounding(),
        )
        if row < 0:
            return None
        return Event(self.tau if tau - self.tau < 1e-12 * self.unit else tau, row, state)

    def _rate_rounding(self) -> float:
        """What rounding may leave of the derivative of a gradient that is constant.

        Rates of α that nearly cancel are large where free rows nearly depend on one another.
        """
        rates = float(np.abs(self.slope[1 : self.m + 1]).sum())
        return self.min_rate + 1e-13 * self.size * rates

    def _redundant(self) -> Event | None:
        """A single free row whose α follows its bound need not be free."""
        i, noise = int(self.free[0]), 1e-10 * float(np.abs(self.r).max())
        alpha, rate = self.alphas(self.tau)[0], self.slope[1]
        top = self.p[i] + self.tau * self.r[i]
        near = 1e-10 * (top + self.unit * float(np.abs(self.r).max()))
        if abs(rate - self.r[i]) <= noise and abs(alpha - top) <= near:
            return Event(self.tau, i, BOUND)
        return (
            Event(self.tau, i, NON_SUPPORT) if abs(rate) <= noise and abs(alpha) <= near else None
        )

    def apply(self, event: Event) -> list[Event]:
        """Carry out an event; returns the changes of state, two for a swap."""
        self.tau = event.tau
        if event.row == NO_ROW:
            return []
        if event.partner != NO_ROW:
            return [*self._enter(event.row), *self._enter(event.partner)]
        if event.state != FREE:
            self._leave(event.row, event.state)
            return [event]
        return self._enter(event.row)

    def alphas(self, tau: float) -> Floats:
        """α of the free rows."""
        return np.asarray(self.fixed[1 : self.m + 1] + tau * self.slope[1 : self.m + 1])

    def _leave(self, row: int, state: int) -> None:
        place = int(np.flatnonzero(self.free[: self.m] == row)[0])
        self.m = leave(self.free, self.m, self.inverse, place)
        self._set(row, state)

    def _set(self, row: int, state: int) -> None:
        """Change the state of a row, and the sums over bound rows."""
        sign = float(state == BOUND) - float(self.state[row] == BOUND)
        if sign:
            self.n_bound += int(sign)
            column = self.kernel[row]
            self.h0 += sign * self.p[row] * column
            self.h1 += sign * self.r[row] * column
            self.s0 += sign * float(self.y[row] * self.p[row])
            self.s1 += sign * float(self.y[row] * self.r[row])
        self.state[row] = state
        if not self.n_bound:  # not even rounding is left
            self.h0[:], self.h1[:], self.s0, self.s1 = 0.0, 0.0, 0.0, 0.0

    def inaccurate(self) -> bool:
        """Whether rounding has given gradients the wrong sign, or put α beyond its bounds."""
        if not self.m or self.tau == 0.0:
            return False
        gradient = self.e0 + self.tau * self.e1
        # A gradient of the wrong sign, or α relative to its bound, that is more than rounding.
        inaccurate = 1e-7
        if float(np.max(self.state * gradient * (self.state != FIXED), initial=0.0)) > inaccurate:
            return True
        free, alpha = self.free[: self.m], self.alphas(self.tau)
        top = self.p[free] + self.tau * self.r[free]
        noise = inaccurate * (top + 1e-3 / self.size)
        return bool((np.maximum(-alpha, alpha - top) > noise).any())

    def out_of_box(self) -> Event | None:
        """The free row whose α is farthest beyond its bounds, with the state of that bound.

        A row that nearly depends on the other free rows amplifies rounding in its α; its gradient
        changes by (excess of α) / (diagonal of the inverse), which is negligible.
        """
        if not self.m or self.tau == 0.0:
            return None
        free, alpha = self.free[: self.m], self.alphas(self.tau)
        top = self.p[free] + self.tau * self.r[free]
        excess = np.maximum(-alpha, alpha - top)
        worst = int(np.argmax(excess))
        # An α beyond its bounds by more than this fraction of them is set to the bound.
        if excess[worst] <= 1e-10 * float(top.max()):
            return None
        return Event(self.tau, int(free[worst]), BOUND if alpha[worst] > 0.0 else NON_SUPPORT)

    def _grow(self) -> None:
        if self.m + 2 < len(self.inverse):
            return
        wider = np.zeros((2 * len(self.inverse), 2 * len(self.inverse)))
        wider[: self.m + 1, : self.m + 1] = self.inverse[: self.m + 1, : self.m + 1]
        self.inverse = wider

    def _enter(self, row: int) -> list[Event]:
        """Make a row free; one that depends on the free rows replaces one of them.

        Along a dependency no score changes: αᵢ leaves its bound until another α reaches one.
        """
        self._grow()
        room = enter(self.kernel, self.y, self.free, self.m, self.inverse, row, self.along)
        if room > 0.0:
            self.m += 1
            self._set(row, FREE)
            return [Event(self.tau, row, FREE)]
        direction = float(self.state[row])  # α of a bound row decreases, that of others increases
        rate = direction * self.along[1 : self.m + 1]
        self.solve()
        free, alpha = self.free[: self.m], self.alphas(self.tau)
        top = self.p + self.tau * self.r
        distance = np.maximum(np.where(rate > 0, top[free] - alpha, alpha), 0.0)
        changing = np.abs(rate) > 1e-9
        steps = np.where(changing, distance / np.where(changing, np.abs(rate), 1), np.inf)
        first = int(np.argmin(steps)) if self.m else 0
        if top[row] <= steps[first]:
            self._set(row, -int(direction))
            return [Event(self.tau, row, -int(direction))]
        other, new_state = int(free[first]), BOUND if rate[first] > 0 else NON_SUPPORT
        self._leave(other, new_state)
        return [Event(self.tau, other, new_state), *self._enter(row)]

    # -- no free rows ----------------------------------------------------------------------------

    def _bounds(self) -> _Interval:
        """The rows that bound b from above and from below, just after τ."""
        t0, t1 = self.y * (self.q - self.h0), -self.y * self.h1
        variable = self.state != FIXED
        upper = np.flatnonzero((self.y * self.state > 0) & variable)
        lower = np.flatnonzero((self.y * self.state < 0) & variable)
        return _Interval(
            t0, t1, upper, lower, self._tightest(t0, t1, upper), self._tightest(-t0, -t1, lower)
        )

    def _tightest(self, t0: Floats, t1: Floats, among: Ints) -> int:
        """The smallest bound at τ, and of equals the one that decreases fastest; −1 for none."""
        if not len(among):
            return -1
        now = t0[among] + self.tau * t1[among]
        tied = among[now <= now.min() + 1e-11 * (1.0 + np.abs(now).max())]
        return int(tied[np.argmin(t1[tied])])

    def _imbalance_rate(self) -> float:
        """Derivative of Σ y α if all rows stayed at their bounds, relative to Σ r."""
        return self.s1 / max(float(np.abs(self.r).sum()), np.finfo(float).tiny)

    def _middle_intercept(self) -> None:
        """The middle of the interval of optimal b, as a function of τ."""
        at = self._bounds()
        ends = [i for i in (at.u, at.v) if i >= 0]
        self.fixed[0] = np.mean(at.t0[ends]) if ends else 0.0
        self.slope[0] = np.mean(at.t1[ends]) if ends else 0.0

    def _next_without_free(self) -> Event | None:
        """The interval of b closes, or another row becomes its end (which changes no set)."""
        at, rate = self._bounds(), self._imbalance_rate()
        if abs(rate) > 1e-11:  # a row must become free at once: b moves to its margin
            row = at.u if rate > 0 else at.v
            return None if row < 0 else Event(self.tau, row, FREE)
        kink = min(
            self._next_crossing(at.t0, at.t1, at.upper, at.u),
            self._next_crossing(-at.t0, -at.t1, at.lower, at.v),
        )
        if at.u >= 0 and at.v >= 0:
            closing = at.t1[at.v] - at.t1[at.u]
            if closing > self.min_rate:
                root = max(float((at.t0[at.u] - at.t0[at.v]) / closing), self.tau)
                if root <= kink:
                    return Event(root, at.u, FREE, partner=at.v)
        return Event(kink, NO_ROW, FREE) if np.isfinite(kink) else None

    def _next_crossing(self, t0: Floats, t1: Floats, among: Ints, i: int) -> float:
        """The first τ at which another bound falls below that of row i."""
        faster = among[t1[among] < t1[i] - self.min_rate] if i >= 0 else among[:0]
        if not len(faster):
            return np.inf
        when = (t0[faster] - t0[i]) / (t1[i] - t1[faster])
        later = when[when > self.tau * (1.0 + 1e-10) + 1e-12 * self.unit]
        return float(later.min()) if len(later) else np.inf


# -------------------------------------------------------------------------------------------------
# Along a path of SVMs: scores of rows, errors for every C, certificates.
#
# Scores are linear between breakpoints, so that a prediction changes at most once in a segment: the
# error is a step function of C, and all its steps are known exactly.


@dataclass(frozen=True)
class Steps:
    """A step function of C: ``first`` for small C, then ``values[j]`` from ``at[j]`` on."""

    at: Floats
    values: Floats
    first: float

    def __call__(self, C: Floats) -> Floats:
        """The value at each C."""
        where = np.searchsorted(self.at, C, side="right")
        return np.concatenate([[self.first], self.values])[where]


def scores_along(trace: SVMTrace, cross: Floats, C: Floats, segments: NDArray[np.int64]) -> Floats:
    """Scores (rows x points) of new rows at each C, by the linear functions of the segment given.

    ``cross`` is κ(new, training).
    """
    out = np.empty((len(cross), len(C)))
    chunk = 256  # segments whose α are computed at a time
    for begin in range(0, len(C), chunk):
        part = range(begin, min(begin + chunk, len(C)))
        alpha = np.stack([trace.alpha(C[j], int(segments[j])) for j in part], axis=1)
        b = [trace.intercept(C[j], int(segments[j])) for j in part]
        out[:, part] = cross @ (trace.y[:, None] * alpha) + np.array(b)
    return out


def error_steps(trace: SVMTrace, cross: Floats, y: Floats, w: Floats, C_max: float) -> Steps:
    """Weighted error rate on new rows with labels y = ±1, as a function of C."""
    top = min(C_max, trace.end)
    starts = np.minimum(trace.starts, top)
    ends = np.append(starts[1:], top)
    real = np.flatnonzero(ends > starts)
    if not len(real):
        real = np.array([len(starts) - 1])
    left = y[:, None] * scores_along(trace, cross, starts[real], real)
    right = y[:, None] * scores_along(trace, cross, ends[real], real)
    wrong = [_wrong(side, y[:, None]) for side in (left, right)]
    # Within a segment scores are interpolated linearly; between two segments b may jump.
    crossing = np.nonzero(wrong[0] != wrong[1])
    low, high = left[crossing], right[crossing]
    width = (ends - starts)[real][crossing[1]]
    fraction = np.abs(low) / np.maximum(np.abs(low) + np.abs(high), np.finfo(float).tiny)
    jump = np.nonzero(wrong[1][:, :-1] != wrong[0][:, 1:])
    block = np.concatenate(
        [starts[real][crossing[1]] + fraction * width, starts[real][1:][jump[1]]]
    )
    change = np.concatenate(
        [
            w[crossing[0]] * np.where(wrong[1][crossing], 1.0, -1.0),
            w[jump[0]] * np.where(wrong[0][:, 1:][jump], 1.0, -1.0),
        ]
    )
    order = np.argsort(block, kind="stable")
    first = float(w @ wrong[0][:, 0])
    total = float(w.sum())
    values = np.clip((first + np.cumsum(change[order])) / total, 0.0, 1.0)
    return Steps(block[order], values, first / total)


def _wrong(margin: Floats, y: Floats) -> Floats:
    """Whether the prediction is wrong; a score of zero predicts the negative class."""
    return np.where(margin == 0.0, y > 0.0, margin < 0.0)


def gaps_along(trace: SVMTrace, gram: Floats, C: Floats, *, mercer: bool = True) -> Floats:
    """Duality gap relative to the objective at each C, from the rows and α alone.

    NaN without a Mercer kernel, whose dual is not a bound.
    """
    certificates = [certify_at(trace, gram, float(value), mercer=mercer) for value in C]
    return np.array([proof.gap / (proof.primal or 1.0) for proof in certificates])


def certify_at(trace: SVMTrace, gram: Floats, C: float, *, mercer: bool = True) -> Certificate:
    """The certificate at one C, from the Gram matrix, β and b alone."""
    return certify_point(
        trace, gram, C, trace.y * trace.alpha(C), trace.intercept(C), mercer=mercer
    )


def certify_point(
    trace: SVMTrace, gram: Floats, C: float, beta: Floats, b: float, *, mercer: bool = True
) -> Certificate:
    """The certificate of β and b as the solution at C."""
    claim = f"Support vector machine at C = {C:.6g}, on a path of {len(trace)} linear segments"
    problem = classification_problem(trace.y, C * trace.w)
    return certify_kernel_svm(
        problem, beta, gram @ beta, b, tolerance=1e-6, claim=claim, mercer=mercer
    )


def clear_of_rounding(trace: SVMTrace, gram: Floats, C: float) -> tuple[Floats, float]:
    """β and b at C, grown where rounding of rows on the margin would cost much and β may grow."""
    alpha, b = trace.alpha(C), trace.intercept(C)
    beta, cost = trace.y * alpha, C * trace.w
    f = gram @ beta
    z, noise = trace.y * (f + b), score_rounding(np.diag(gram), beta, b)
    factor = clearing_factor(z, cost, noise)
    near = np.abs(1.0 - z) <= 1e-6  # rows that rounding may put across their margin
    # What they may cost relative to ‖w‖².
    matters = float(cost[near] @ noise[near]) > 1e-9 * float(beta @ f)
    if matters and (factor * alpha <= cost).all():
        return factor * beta, factor * b
    return beta, b

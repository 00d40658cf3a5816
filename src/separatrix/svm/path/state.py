"""Where a path of support vector machines stands: who is inside, outside, on the margin.

    K α_M + y_M b = q_M − K_ML c_L,     y·α = 0,     c = p + τ r

K has the signs of both labels in it; L are the points inside their margin, with α = c. Given the
sets, α and b are straight lines in τ, and so are all leads y·f − q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats
from separatrix.svm.loops.path import enter, leave, next_event, segment

INSIDE, ON, OUTSIDE, HELD = 1, 0, -1, 2
NOBODY = -1
#: A lead on the wrong side, or α out of its box as a share of it, that is no longer rounding.
STRAYED = 1e-7
#: An α out of its box by more than this fraction of it is put on its bound.
BOX = 1e-10


@dataclass(frozen=True)
class Event:
    """At τ the point moves to a state, and its partner with it; NOBODY: only b bends."""

    tau: float
    point: int
    state: int
    partner: int = NOBODY


@dataclass(frozen=True)
class _Interval:
    """Bounds t0 + τ t1 on b by point: the ``upper``, the ``lower``, and the tightest of each."""

    t0: Floats
    t1: Floats
    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    u: int
    v: int


class PathState:
    """The sets with everything that follows from them, kept up to date change by change."""

    def __init__(
        self,
        kernel: Floats,
        y: Floats,
        q: Floats,
        p: Floats,
        r: Floats,
        state: NDArray[np.int8],
        on: NDArray[np.int64],
        unit: float,
    ) -> None:
        """Start at τ = 0; ``unit`` is a τ at which something may happen for the first time."""
        self.kernel, self.y, self.q, self.p, self.r = kernel, y, q, p, r
        self.state, self.tau, self.unit = state, 0.0, unit
        n = len(y)
        self.m = len(on)
        self.on = np.zeros(n + 1, dtype=np.int64)
        self.on[: self.m] = on
        self.inverse = np.zeros((self.m + 66, self.m + 66))
        self.fixed, self.slope, self.along = np.zeros(n + 2), np.zeros(n + 2), np.zeros(n + 2)
        self.e0, self.e1 = np.zeros(n), np.zeros(n)
        self.size = float(np.abs(np.diag(kernel)).max(initial=0.0)) or 1.0
        self.still = 1e-14 * self.size * float(np.abs(r).sum())
        self.refresh()

    def refresh(self) -> None:
        """Sum the contributions anew, and invert anew."""
        inside = self.state > 0
        self.inside = int(inside.sum())
        self.h0 = self.kernel[:, inside] @ self.p[inside]
        self.h1 = self.kernel[:, inside] @ self.r[inside]
        self.s0 = float(self.y[inside] @ self.p[inside])
        self.s1 = float(self.y[inside] @ self.r[inside])
        self.invert()

    def invert(self) -> None:
        """The inverse of the margin's system by elimination, instead of by updates."""
        on = self.on[: self.m]
        if not self.m:
            return
        system = np.zeros((self.m + 1, self.m + 1))
        system[0, 1:] = system[1:, 0] = self.y[on]
        system[1:, 1:] = self.kernel[np.ix_(on, on)]
        try:
            found = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            found = np.linalg.pinv(system, hermitian=True)
        self.inverse[: self.m + 1, : self.m + 1] = found

    def solve(self) -> None:
        """(b, α) and the leads as lines in τ; inverted anew where updates have lost digits."""
        if not self.m:
            self._middle()
            return
        for _ in range(2):
            change = segment(
                self.kernel,
                self.y,
                self.q,
                self.h0,
                self.h1,
                self.s0,
                self.s1,
                self.on,
                self.m,
                self.inverse,
                self.fixed,
                self.slope,
                self.e0,
                self.e1,
            )
            if change < 1e-7:
                return
            self.invert()

    def next(self) -> Event | None:
        """The next change; None where the sets stay for ever."""
        if not self.m:
            return self._next_of_interval()
        if self.m == 1 and (idle := self._idle()) is not None:
            return idle
        tau, point, state = next_event(
            self.tau,
            self.state,
            self.p,
            self.r,
            self.on,
            self.m,
            self.fixed,
            self.slope,
            self.e0,
            self.e1,
            self.still,
        )
        if point < 0:
            return None
        return Event(self.tau if tau - self.tau < 1e-12 * self.unit else tau, point, state)

    def _idle(self) -> Event | None:
        """A lone point on the margin whose α runs along its bound is not needed there."""
        i, noise = int(self.on[0]), 1e-10 * float(np.abs(self.r).max())
        alpha, rate = self.alphas(self.tau)[0], self.slope[1]
        top = self.p[i] + self.tau * self.r[i]
        near = 1e-10 * (top + self.unit * float(np.abs(self.r).max()))
        if abs(rate - self.r[i]) <= noise and abs(alpha - top) <= near:
            return Event(self.tau, i, INSIDE)
        return Event(self.tau, i, OUTSIDE) if abs(rate) <= noise and abs(alpha) <= near else None

    def change(self, event: Event) -> list[Event]:
        """Carry the change out; what happened (an exchange is two changes)."""
        self.tau = event.tau
        if event.point == NOBODY:
            return []
        if event.partner != NOBODY:
            return [*self._enter(event.point), *self._enter(event.partner)]
        if event.state != ON:
            self._leave(event.point, event.state)
            return [event]
        return self._enter(event.point)

    def alphas(self, tau: float) -> Floats:
        """α of the points on the margin."""
        return np.asarray(self.fixed[1 : self.m + 1] + tau * self.slope[1 : self.m + 1])

    def _leave(self, point: int, state: int) -> None:
        place = int(np.flatnonzero(self.on[: self.m] == point)[0])
        self.m = leave(self.on, self.m, self.inverse, place)
        self._set(point, state)

    def _set(self, point: int, state: int) -> None:
        """Change the state; a point that goes inside or comes from there moves the sums."""
        sign = float(state == INSIDE) - float(self.state[point] == INSIDE)
        if sign:
            self.inside += int(sign)
            row = self.kernel[point]
            self.h0 += sign * self.p[point] * row
            self.h1 += sign * self.r[point] * row
            self.s0 += sign * float(self.y[point] * self.p[point])
            self.s1 += sign * float(self.y[point] * self.r[point])
        self.state[point] = state
        if not self.inside:  # nothing is left of what was added and taken away, not even rounding
            self.h0[:], self.h1[:], self.s0, self.s1 = 0.0, 0.0, 0.0, 0.0

    def strayed(self) -> bool:
        """Whether rounding has put points on the wrong side of their margin or α out of its box."""
        if not self.m or self.tau == 0.0:
            return False
        lead = self.e0 + self.tau * self.e1
        if float(np.max(self.state * lead * (self.state != HELD), initial=0.0)) > STRAYED:
            return True
        on, alpha = self.on[: self.m], self.alphas(self.tau)
        top = self.p[on] + self.tau * self.r[on]
        noise = STRAYED * (top + 1e-3 / self.size)
        return bool((np.maximum(-alpha, alpha - top) > noise).any())

    def out_of_box(self) -> Event | None:
        """The point on the margin whose α has left [0, top] farthest; it goes to that bound.

        A point that nearly depends on the others there amplifies rounding: its lead changes by the
        excess of α over the diagonal of the inverse, next to nothing.
        """
        if not self.m or self.tau == 0.0:
            return None
        on, alpha = self.on[: self.m], self.alphas(self.tau)
        top = self.p[on] + self.tau * self.r[on]
        excess = np.maximum(-alpha, alpha - top)
        worst = int(np.argmax(excess))
        if excess[worst] <= BOX * float(top.max()):
            return None
        return Event(self.tau, int(on[worst]), INSIDE if alpha[worst] > 0.0 else OUTSIDE)

    def _grow(self) -> None:
        if self.m + 2 < len(self.inverse):
            return
        wider = np.zeros((2 * len(self.inverse), 2 * len(self.inverse)))
        wider[: self.m + 1, : self.m + 1] = self.inverse[: self.m + 1, : self.m + 1]
        self.inverse = wider

    def _enter(self, point: int) -> list[Event]:
        """Put a point on the margin; one that depends on others there takes the place of one.

        Along a dependency no score changes: αᵢ leaves its bound until some α reaches one.
        """
        self._grow()
        room = enter(self.kernel, self.y, self.on, self.m, self.inverse, point, self.along)
        if room > 0.0:
            self.m += 1
            self._set(point, ON)
            return [Event(self.tau, point, ON)]
        outward = float(self.state[point])  # from inside α falls, from outside it rises
        rate = outward * self.along[1 : self.m + 1]
        self.solve()
        on, alpha = self.on[: self.m], self.alphas(self.tau)
        top = self.p + self.tau * self.r
        space = np.where(rate > 0, top[on] - alpha, alpha)
        moving = np.abs(rate) > 1e-9
        steps = np.where(moving, np.maximum(space, 0.0) / np.where(moving, np.abs(rate), 1), np.inf)
        first = int(np.argmin(steps)) if self.m else 0
        if top[point] <= steps[first]:
            self._set(point, -int(outward))
            return [Event(self.tau, point, -int(outward))]
        other, its = int(on[first]), INSIDE if rate[first] > 0 else OUTSIDE
        self._leave(other, its)
        return [Event(self.tau, other, its), *self._enter(point)]

    # -- nobody on the margin --------------------------------------------------------------------

    def _bounds(self) -> _Interval:
        """Which points bound b from above and from below, just after τ."""
        t0, t1 = self.y * (self.q - self.h0), -self.y * self.h1
        free = self.state != HELD
        upper = np.flatnonzero((self.y * self.state > 0) & free)
        lower = np.flatnonzero((self.y * self.state < 0) & free)
        return _Interval(
            t0, t1, upper, lower, self._tightest(t0, t1, upper), self._tightest(-t0, -t1, lower)
        )

    def _tightest(self, t0: Floats, t1: Floats, among: NDArray[np.int64]) -> int:
        """The line that is lowest at τ, and of those the one that falls fastest; −1 for none."""
        if not len(among):
            return -1
        now = t0[among] + self.tau * t1[among]
        tied = among[now <= now.min() + 1e-11 * (1.0 + np.abs(now).max())]
        return int(tied[np.argmin(t1[tied])])

    def _drift(self) -> float:
        """How fast Σ y α would leave zero if all stayed at their bounds, as a share of Σ r."""
        return self.s1 / max(float(np.abs(self.r).sum()), np.finfo(float).tiny)

    def _middle(self) -> None:
        """Of the interval that is left to b the middle, as a line in τ."""
        at = self._bounds()
        ends = [i for i in (at.u, at.v) if i >= 0]
        self.fixed[0] = np.mean(at.t0[ends]) if ends else 0.0
        self.slope[0] = np.mean(at.t1[ends]) if ends else 0.0

    def _next_of_interval(self) -> Event | None:
        """The interval for b closes, or another point becomes its end (which changes no set)."""
        at, drift = self._bounds(), self._drift()
        if abs(drift) > 1e-11:  # someone must give way at once: b moves on to the next point
            point = at.u if drift > 0 else at.v
            return None if point < 0 else Event(self.tau, point, ON)
        bend = min(
            self._overtaken(at.t0, at.t1, at.upper, at.u),
            self._overtaken(-at.t0, -at.t1, at.lower, at.v),
        )
        if at.u >= 0 and at.v >= 0:
            closing = at.t1[at.v] - at.t1[at.u]
            if closing > self.still:
                root = max(float((at.t0[at.u] - at.t0[at.v]) / closing), self.tau)
                if root <= bend:
                    return Event(root, at.u, ON, partner=at.v)
        return Event(bend, NOBODY, ON) if np.isfinite(bend) else None

    def _overtaken(self, t0: Floats, t1: Floats, among: NDArray[np.int64], i: int) -> float:
        """The first τ at which another line falls below line i."""
        faster = among[t1[among] < t1[i] - self.still] if i >= 0 else among[:0]
        if not len(faster):
            return np.inf
        when = (t0[faster] - t0[i]) / (t1[i] - t1[faster])
        later = when[when > self.tau * (1.0 + 1e-10) + 1e-12 * self.unit]
        return float(later.min()) if len(later) else np.inf

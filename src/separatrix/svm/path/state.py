"""The state of an SVM path: which rows are bound, free or no support vectors, and what follows.

    K α_F + y_F b = q_F − K_FB c_B,     y·α = 0,     c = p + τ r

K includes the signs of both labels; F are the free support vectors, on the margin, and B the bound
ones, with α = c. Given these sets, α and b are linear in τ, and so are all gradients y·f − q of the
dual objective: positive beyond the margin, zero on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.path import enter, leave, next_event, segment

BOUND, FREE, NON_SUPPORT, FIXED = 1, 0, -1, 2
NO_ROW = -1
#: A gradient of the wrong sign, or α relative to its bound, that is more than rounding.
INACCURATE = 1e-7
#: An α beyond its bounds by more than this fraction of them is set to the bound.
BOX = 1e-10


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
            found = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            found = np.linalg.pinv(system, hermitian=True)
        self.inverse[: self.m + 1, : self.m + 1] = found

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
            self.min_rate,
        )
        if row < 0:
            return None
        return Event(self.tau if tau - self.tau < 1e-12 * self.unit else tau, row, state)

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
        if float(np.max(self.state * gradient * (self.state != FIXED), initial=0.0)) > INACCURATE:
            return True
        free, alpha = self.free[: self.m], self.alphas(self.tau)
        top = self.p[free] + self.tau * self.r[free]
        noise = INACCURATE * (top + 1e-3 / self.size)
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
        if excess[worst] <= BOX * float(top.max()):
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

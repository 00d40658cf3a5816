"""Interior point for errors that grow in straight lines: the dual lives in a box, row by row.

    min over β of Σ w max(0, |y − zβ| − ε)
    max over u of y·u − ε‖u‖₁   with zᵀu = 0, |u| ≤ w

With ε = 0 the slopes u = v − w need one box 0 ≤ v ≤ 2w; otherwise u = v₁ − v₂ with two boxes
0 ≤ v ≤ w. A hinge, max(0, q − zβ), has the one box 0 ≤ v ≤ w, and a quadratic ½ βᵀPβ − h·β may
stand beside the errors: then Pβ = h + zᵀu. Either way one step solves (P + zᵀ D z) δ = …, a single
weighted product of the rows, and some twenty steps suffice for any number of rows. Steps follow
Mehrotra: a straight look ahead tells how far to aim at the centre and how the curvature of the
path bends the step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats

#: Fraction of the way to the nearest wall of the box that a step may go.
SHORT_OF_WALL = 0.9995


@dataclass(frozen=True)
class Interior:
    """β and slopes u near the optimum; ``certainty`` is large where a slope is free in its box.

    ``certainty`` has one row per box: 1 x n for ε = 0, else 2 x n (above and below the tube).
    """

    beta: Floats
    u: Floats
    certainty: Floats
    iterations: int
    history: Floats


@dataclass
class Point:
    """Slopes v with room s above, multipliers p (at 0) and q (at the upper wall), and β."""

    v: Floats
    s: Floats
    p: Floats
    q: Floats
    beta: Floats

    def gap(self) -> float:
        """What separates primal and dual objective."""
        return float(np.vdot(self.p, self.v) + np.vdot(self.q, self.s))

    def moved(self, step: Point, slopes: float, multipliers: float) -> Point:
        """The point after a step of the given lengths."""
        return Point(
            self.v + slopes * step.v,
            self.s + slopes * step.s,
            self.p + multipliers * step.p,
            self.q + multipliers * step.q,
            self.beta + multipliers * step.beta,
        )


class Boxes:
    """The linear program: rows z, targets, and the sign that each box has in u."""

    ridge: Floats | None = None  # the diagonal of P
    linear: Floats | float = 0.0  # h

    def __init__(self, z: Floats, y: Floats, w: Floats, epsilon: float) -> None:
        self.z, self.y, self.epsilon = z, y, epsilon
        self.sign = np.array([[1.0]]) if epsilon == 0.0 else np.array([[1.0], [-1.0]])
        self.top = np.tile(2.0 * w if epsilon == 0.0 else w, (len(self.sign), 1))
        self.base = w if epsilon == 0.0 else np.zeros_like(w)

    def slopes(self, v: Floats) -> Floats:
        """U."""
        return np.asarray((self.sign * v).sum(axis=0) - self.base)

    def imbalance(self, at: Point) -> Floats:
        """h + zᵀu − Pβ, which vanishes at the optimum."""
        pull = self.z.T @ self.slopes(at.v) + self.linear
        return np.asarray(pull if self.ridge is None else pull - self.ridge * at.beta)

    def cost(self, beta: Floats) -> Floats:
        """ε ∓ residual: positive where the slope should sit at 0, negative at the upper wall."""
        return np.asarray(self.epsilon - self.sign * (self.y - self.z @ beta))

    def start(self, beta: Floats) -> Point:
        """Slopes in the middle of their boxes (so zᵀu = 0), multipliers that explain the costs."""
        cost = self.cost(beta)
        lift = max(float(np.abs(cost).mean()), 1e-3)
        return Point(
            self.top / 2,
            self.top / 2,
            np.maximum(cost, 0.0) + lift,
            np.maximum(-cost, 0.0) + lift,
            beta,
        )


class HingeBoxes(Boxes):
    """min over β of ½ Σ ridge β² − linear·β + Σ w max(0, q − zβ): one box a row."""

    def __init__(self, z: Floats, q: Floats, w: Floats, ridge: Floats, linear: Floats) -> None:
        self.z, self.y, self.epsilon = z, q, 0.0
        self.sign, self.top, self.base = np.array([[1.0]]), w[None, :], np.zeros_like(w)
        self.ridge, self.linear = ridge, linear


class _Step:
    """The linear system at a point, factorised once for the look ahead and the step proper."""

    def __init__(self, boxes: Boxes, at: Point) -> None:
        self.boxes, self.at = boxes, at
        self.d = 1.0 / (at.p / at.v + at.q / at.s)
        weighted = boxes.z * np.sqrt(self.d.sum(axis=0))[:, None]
        gram = weighted.T @ weighted
        if boxes.ridge is not None:
            gram.flat[:: len(gram) + 1] += boxes.ridge
        gram.flat[:: len(gram) + 1] *= 1.0 + 1e-14
        self.factor = linalg.cho_factor(gram, check_finite=False)
        self.unbalanced = boxes.imbalance(at)
        self.unexplained = boxes.cost(at.beta) - at.p + at.q

    def towards(self, low: Floats, high: Floats) -> Point:
        """The step for which v·p changes by ``low`` and s·q by ``high``, to first order."""
        at, boxes = self.at, self.boxes
        g = low / at.v - high / at.s - self.unexplained
        right = self.unbalanced + boxes.z.T @ (boxes.sign * self.d * g).sum(axis=0)
        beta = linalg.cho_solve(self.factor, right, check_finite=False)
        v = self.d * (g - boxes.sign * (boxes.z @ beta))
        return Point(v, -v, (low - at.p * v) / at.v, (high + at.q * v) / at.s, beta)


def interior_point(
    z: Floats, y: Floats, w: Floats, *, epsilon: float, start: Floats, tol: float, max_iter: int
) -> Interior:
    """Follow the central path until the gap is ``tol`` of the objective, or rounding stops it."""
    boxes = Boxes(z, y, w, epsilon)
    at = boxes.start(start)
    history = [at.gap()]
    while history[-1] > tol * _objective(boxes, at, w) and len(history) <= max_iter:
        try:
            new = advance(boxes, at)
        except linalg.LinAlgError:
            break  # the free slopes no longer span all directions: a corner is very near
        if not np.isfinite(new.gap()) or new.gap() > 0.999 * history[-1]:
            break
        at = new
        history.append(at.gap())
    with np.errstate(divide="ignore"):
        certainty = 1.0 / (at.p / at.v + at.q / at.s)
    return Interior(at.beta, boxes.slopes(at.v), certainty, len(history) - 1, np.array(history))


def _objective(boxes: Boxes, at: Point, w: Floats) -> float:
    outside = np.maximum(np.abs(boxes.y - boxes.z @ at.beta) - boxes.epsilon, 0.0)
    return float(w @ outside)


def advance(boxes: Boxes, at: Point) -> Point:
    """One predictor–corrector step."""
    step = _Step(boxes, at)
    low, high = -at.p * at.v, -at.q * at.s
    ahead = step.towards(low, high)
    reached = at.moved(ahead, *_together(boxes, at, ahead)).gap()
    gap = at.gap()
    centre = (reached / gap) ** 3 * gap / (2 * at.v.size)
    bent = step.towards(centre + low - ahead.v * ahead.p, centre + high - ahead.s * ahead.q)
    return at.moved(bent, *_together(boxes, at, bent))


def _lengths(at: Point, step: Point) -> tuple[float, float]:
    """How far slopes and multipliers may go before one of them reaches zero."""
    return (
        min(_room(at.v, step.v), _room(at.s, step.s)),
        min(_room(at.p, step.p), _room(at.q, step.q)),
    )


def _together(boxes: Boxes, at: Point, step: Point) -> tuple[float, float]:
    """With a quadratic β stands on both sides, so that both must go equally far."""
    slopes, multipliers = _lengths(at, step)
    if boxes.ridge is None:
        return slopes, multipliers
    return min(slopes, multipliers), min(slopes, multipliers)


def _room(value: Floats, change: Floats) -> float:
    fastest = float(np.max(-change / value))
    return min(1.0, SHORT_OF_WALL / fastest) if fastest > 0 else 1.0

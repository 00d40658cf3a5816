"""The smallest enclosing ball, exactly.

    primal  minimize over c      R² = max ‖xᵢ − c‖²
    dual    maximize over λ      Σ λᵢ ‖xᵢ − c(λ)‖²,   c(λ) = Σ λᵢ xᵢ,   λ ≥ 0, Σ λ = 1

The dual is a concave quadratic. An active set of affinely independent points carries λ; the
farthest point joins it, and λ moves toward the weights of the circumcenter, where all of the set
are equally far. A weight that reaches zero on the way leaves. The dual grows with every step, so
that the method ends, at a ball whose support points prove it: they are all R away from a center in
their convex hull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class EnclosingBall:
    """Center, squared radius, and the rows on the sphere with convex weights of the center.

    ``dual`` is the value of the dual at ``weights``, no more than the least squared radius.
    """

    center: Floats
    squared_radius: float
    support: Ints
    weights: Floats
    dual: float
    iterations: int

    @property
    def gap(self) -> float:
        """By how much the squared radius may exceed the least one."""
        return max(self.squared_radius - self.dual, 0.0)


def enclosing_ball(x: Floats) -> EnclosingBall:
    """The smallest ball around the rows of ``x``."""
    origin = (x.min(axis=0) + x.max(axis=0)) / 2
    first = int(squared_distances(x, origin).argmax())
    support, weights = np.array([first]), np.ones(1)
    center = x[first].copy()
    best: tuple[float, Ints, Floats, Floats] | None = None
    limit = 20 * (x.shape[1] + 2) + 100
    iterations = 0
    while iterations < limit:
        iterations += 1
        distances = squared_distances(x, center)
        far = int(distances.argmax())
        radius = float(distances[far])
        if best is None or radius < best[0]:
            best = (radius, support, weights, center)
        dual = float(weights @ squared_distances(x[support], center))
        if radius - dual <= 8 * EPS * radius or far in support:
            break
        support, weights = _joined(x, np.append(support, far), np.append(weights, 0.0))
        center = weights @ x[support]
    assert best is not None
    radius, support, weights, center = best
    order = np.lexsort(x[support].T)
    support, weights = support[order], weights[order]
    dual = float(weights @ squared_distances(x[support], weights @ x[support]))
    return EnclosingBall(center, radius, support, weights, min(dual, radius), iterations)


def squared_distances(x: Floats, center: Floats) -> Floats:
    """‖x − c‖² of every row."""
    found = np.empty(len(x))

    def of_piece(rows: slice) -> None:
        difference = x[rows] - center
        found[rows] = np.einsum("ij,ij->i", difference, difference)

    parallel_map(of_piece, pieces(len(x), 4096))
    return found


def _joined(x: Floats, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """The dual optimum on the face of some points, the last of which has just joined."""
    while len(support) > 1:
        direction, bounded = _toward(x[support], weights)
        falling = direction < 0.0
        steps = np.full(len(support), np.inf)
        steps[falling] = weights[falling] / -direction[falling]
        step = float(steps.min())
        if bounded and step >= 1.0:
            weights = weights + direction
            break
        if not np.isfinite(step):
            break
        leaving = int(steps.argmin())
        weights = np.maximum(weights + step * direction, 0.0)
        support, weights = np.delete(support, leaving), np.delete(weights, leaving)
    return support, weights / weights.sum()


def _toward(points: Floats, weights: Floats) -> tuple[Floats, bool]:
    """The change of weights to those of the circumcenter, and True; if points are dependent, a
    direction along which the center stays and the dual grows, and False.
    """
    first, others = points[0], points[1:]
    edges = others - first
    q, r = np.linalg.qr(edges.T)
    diagonal = np.abs(np.diag(r)) if len(others) <= points.shape[1] else np.zeros(1)
    lengths = np.linalg.norm(edges, axis=1)
    center = weights @ points
    if len(others) > points.shape[1] or diagonal[-1] <= 64 * EPS * lengths.max():
        # The point that joined is an affine combination of the others.
        combination = np.linalg.lstsq(edges[:-1].T, edges[-1], rcond=None)[0]
        return np.concatenate([[combination.sum() - 1.0], -combination, [1.0]]), False
    # (p − p₀)·(c − p₀) = ‖p − p₀‖²/2 for all: c − p₀ = Q y with Rᵀ y = ‖p − p₀‖²/2.
    y = np.linalg.solve(r.T, lengths**2 / 2)
    # c = p₀ + edgesᵀ μ, with R μ = y; changes from the present center keep their digits.
    change = np.linalg.solve(r, y - q.T @ (center - first))
    return np.concatenate([[-change.sum()], change]), True

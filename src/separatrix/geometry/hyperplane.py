"""Hyperplanes and quadrics: the surfaces that models draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats, Matrix, NDArray

# -------------------------------------------------------------------------------------------------
# Hyperplanes w·x = t, one per output of an affine map.
#
# score(x) = w·x − t,    signed distance = (w·x − t) / ‖w‖,    margin = ±1 · signed distance


@dataclass(frozen=True)
class Hyperplane:
    """k hyperplanes: ``coef`` (k x d) and ``intercept`` (k), scores x·coefᵀ + intercept."""

    coef: Floats
    intercept: Floats
    names: tuple[str, ...] = ()

    def score(self, x: Matrix) -> Floats:
        """Scores w·x − t of every row and output (n x k)."""
        return np.asarray(x @ self.coef.T + self.intercept)

    def signed_distance(self, x: Matrix) -> Floats:
        """Signed distances to the hyperplanes, positive on the side that w points to."""
        return _divide_by_norm(self.score(x), np.linalg.norm(self.coef, axis=1))

    def margin(self, x: Matrix, side: Floats) -> Floats:
        """Signed distance times ``side`` (±1 per row): positive where correctly classified."""
        return np.asarray(side * self.signed_distance(x)[:, 0])

    def class_margin(self, x: Matrix, code: NDArray[np.int64]) -> Floats:
        """Distance to the decision boundary of the class ``code`` (n) of the argmax rule.

        min over j ≠ k of (scoreₖ − scoreⱼ) / ‖wₖ − wⱼ‖, negative if another score is larger.
        """
        score = self.score(x)
        nearest = np.full(len(score), np.inf)
        for j, w in enumerate(self.coef):
            norm = np.linalg.norm(self.coef - w, axis=1)[code]
            difference = np.take_along_axis(score, code[:, None], axis=1)[:, 0] - score[:, j]
            nearest = np.where(
                code == j, nearest, np.minimum(nearest, _divide_by_norm(difference, norm))
            )
        return nearest

    def projection(self, x: Floats) -> Floats:
        """Orthogonal projection of every row onto the hyperplane (one output only)."""
        w = self.coef[0]
        return np.asarray(x - np.outer(self.signed_distance(x)[:, 0], w / np.linalg.norm(w)))


def _divide_by_norm(score: Floats, norm: Floats) -> Floats:
    """score / ‖w‖; ±∞ where w = 0, and 0 if the score is zero as well."""
    infinite = np.where(score == 0.0, 0.0, np.copysign(np.inf, score))
    return np.where(norm > 0.0, score / np.where(norm > 0.0, norm, 1.0), infinite)


# -------------------------------------------------------------------------------------------------
# Quadrics xᵀWx + w·x + w₀ = 0, the decision boundaries of quadratic discriminants.


@dataclass(frozen=True)
class Quadric:
    """A quadric: ``quadratic`` W (d x d, symmetric), ``linear`` w (d) and ``constant`` w₀."""

    quadratic: Floats
    linear: Floats
    constant: float

    def score(self, x: Floats) -> Floats:
        """xᵀWx + w·x + w₀ of every row."""
        form = np.einsum("ij,ij->i", x @ self.quadratic, x)
        return np.asarray(form + x @ self.linear + self.constant)

    def gradient(self, x: Floats) -> Floats:
        """Gradient 2Wx + w of the score at every row."""
        return np.asarray(2.0 * x @ self.quadratic + self.linear)

    def line_intersections(self, origin: Floats, direction: Floats) -> Floats:
        """All t, in order, at which origin + t·direction lies on the quadric."""
        a = float(direction @ self.quadratic @ direction)
        b = float(direction @ self.gradient(origin[None, :])[0])
        c = float(self.score(origin[None, :])[0])
        return real_roots(a, b, c)

    @property
    def kind(self) -> str:
        """``"plane"``, ``"ellipsoid"``, ``"hyperboloid"`` or ``"paraboloid or cylinder"``."""
        values = np.linalg.eigvalsh(self.quadratic)
        largest = np.abs(values).max(initial=0.0)
        zero = np.abs(values) <= 1e-12 * largest
        if largest == 0 or zero.all():
            return "plane"
        if zero.any():
            return "paraboloid or cylinder"
        return "ellipsoid" if (values > 0).all() or (values < 0).all() else "hyperboloid"


def real_roots(a: float, b: float, c: float) -> Floats:
    """Real roots of a t² + b t + c, in order, without cancellation; a double root once.

    q = −½ (b + sign(b) √(b² − 4ac)),     t₁ = q/a,  t₂ = c/q
    """
    if abs(a) <= 1e-14 * max(abs(b), abs(c)):  # linear: the other root overflows
        return np.array([-c / b]) if b else np.zeros(0)
    discriminant = b * b - 4.0 * a * c
    if discriminant < 0:
        return np.zeros(0)
    q = -0.5 * (b + np.copysign(np.sqrt(discriminant), b))
    if q == 0:
        return np.zeros(1)
    return np.unique([q / a, c / q])

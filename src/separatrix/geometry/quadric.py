"""Quadrics xᵀWx + w·x + w₀ = 0, the decision boundaries of quadratic discriminants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats


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

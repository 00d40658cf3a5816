"""The quadric xᵀWx + w·x + w₀ = 0: an ellipse, hyperbola, plane … between two classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Quadric:
    """``quadratic`` W (d x d, symmetric), ``linear`` w (d) and ``constant`` w₀."""

    quadratic: Floats
    linear: Floats
    constant: float

    def score(self, x: Floats) -> Floats:
        """xᵀWx + w·x + w₀ for every row: its sign is the side."""
        bent = np.einsum("ij,ij->i", x @ self.quadratic, x)
        return np.asarray(bent + x @ self.linear + self.constant)

    def gradient(self, x: Floats) -> Floats:
        """2Wx + w for every row: the direction in which the score rises fastest."""
        return np.asarray(2.0 * x @ self.quadratic + self.linear)

    def crossings(self, origin: Floats, direction: Floats) -> Floats:
        """All t at which origin + t·direction lies on the quadric, in order: none, one or two."""
        a = float(direction @ self.quadratic @ direction)
        b = float(direction @ self.gradient(origin[None, :])[0])
        c = float(self.score(origin[None, :])[0])
        return real_roots(a, b, c)

    @property
    def kind(self) -> str:
        """``"plane"``, ``"ellipsoid"``, ``"hyperboloid"``, ``"paraboloid or cylinder"``."""
        values = np.linalg.eigvalsh(self.quadratic)
        size = np.abs(values).max(initial=0.0)
        flat = np.abs(values) <= 1e-12 * size
        if size == 0 or flat.all():
            return "plane"
        if flat.any():
            return "paraboloid or cylinder"
        return "ellipsoid" if (values > 0).all() or (values < 0).all() else "hyperboloid"


def real_roots(a: float, b: float, c: float) -> Floats:
    """Real roots of a t² + b t + c, in order, without cancellation; a double root once.

    q = −½ (b + sign(b) √(b² − 4ac)),     t₁ = q/a,  t₂ = c/q
    """
    if abs(a) <= 1e-14 * max(abs(b), abs(c)):  # a line: the other crossing is beyond all numbers
        return np.array([-c / b]) if b else np.zeros(0)
    inside = b * b - 4.0 * a * c
    if inside < 0:
        return np.zeros(0)
    q = -0.5 * (b + np.copysign(np.sqrt(inside), b))
    if q == 0:
        return np.zeros(1)
    return np.unique([q / a, c / q])

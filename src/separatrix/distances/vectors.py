"""Distances between rows of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.distances.base import Metric, vectors
from separatrix.distances.loops import distances as loops
from separatrix.distances.loops.point_distances import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Up to so many columns, subtracting coordinates is as fast as a matrix product, and more exact.
FEW_COLUMNS = 16


@dataclass(frozen=True)
class Manhattan(Metric):
    """Σ |x − z|: along the streets of a grid."""

    def precompute(self, z: Floats) -> Floats:
        """The points as columns."""
        return np.ascontiguousarray(z.T)

    def fill(self, x: Floats, prepared: Floats, out: Floats) -> None:
        """Σ |x − z|."""
        loops.plain(x, prepared, MANHATTAN, out)


@dataclass(frozen=True)
class Chebyshev(Manhattan):
    """max |x − z|: the moves of a king on a chessboard."""

    def fill(self, x: Floats, prepared: Floats, out: Floats) -> None:
        """max |x − z|."""
        loops.plain(x, prepared, CHEBYSHEV, out)


class Points(NamedTuple):
    """Points about their centre, as columns, with their squared norms."""

    centre: Floats
    columns: Floats
    norms: Floats


@dataclass(frozen=True)
class SquaredEuclidean(Metric):
    """Σ (x − z)². No metric: the square makes two short steps cheaper than a long one.

    In many columns by matrix products, ‖x‖² + ‖z‖² − 2 x·z about the centre of the points;
    distances that would drown in rounding are measured again coordinate by coordinate.
    """

    @property
    def is_metric(self) -> bool:
        """No: it breaks the triangle inequality."""
        return False

    def transform(self, about: Floats) -> Floats:
        """Where a linear map takes the centred points before they are measured."""
        return about

    def precompute(self, z: Floats) -> Points:
        """The points about their centre: a distance does not depend on the origin."""
        centre = z.mean(axis=0) if len(z) else np.zeros(z.shape[1])
        about = self.transform(z - centre)
        return Points(centre, np.ascontiguousarray(about.T), np.einsum("ij,ij->i", about, about))

    def fill(self, x: Floats, prepared: Points, out: Floats) -> None:
        """Σ (x − z)²."""
        x = self.transform(x - prepared.centre)
        if x.shape[1] <= FEW_COLUMNS:
            loops.plain(x, prepared.columns, EUCLIDEAN, out)
        else:
            np.matmul(x, prepared.columns, out=out)
            norms = np.einsum("ij,ij->i", x, x)
            loops.squared_from_products(x, prepared.columns, norms, prepared.norms, out)


@dataclass(frozen=True)
class Euclidean(SquaredEuclidean):
    """√Σ (x − z)²: as the crow flies."""

    @property
    def is_metric(self) -> bool:
        """Yes."""
        return True

    def fill(self, x: Floats, prepared: Points, out: Floats) -> None:
        """√Σ (x − z)²."""
        super().fill(x, prepared, out)
        np.sqrt(out, out=out)


@dataclass(frozen=True)
class Minkowski(Metric):
    """(Σ |x − z|^p)^(1/p): Manhattan for p = 1, Euclidean for 2, Chebyshev in the limit.

    For p < 1 it is no metric: going round the corner is shorter than going straight.
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.p > 0:
            raise InputError(f"Minkowski's p is positive, not {self.p!r}.")

    @property
    def is_metric(self) -> bool:
        """From p = 1 on."""
        return self.p >= 1

    def precompute(self, z: Floats) -> Any:
        """As the distance prepares them that has this p."""
        return self._plain().precompute(z)

    def fill(self, x: Floats, prepared: Any, out: Floats) -> None:
        """(Σ |x − z|^p)^(1/p)."""
        plain = self._plain()
        if isinstance(plain, Euclidean) or self.p in (1.0, np.inf):
            plain.fill(x, prepared, out)
        else:
            loops.minkowski(x, prepared, float(self.p), out)

    def _plain(self) -> Metric:
        if self.p == 2:
            return Euclidean()
        return Chebyshev() if self.p == np.inf else Manhattan()


@dataclass(frozen=True)
class Cosine(SquaredEuclidean):
    """1 − cos(x, z) = ½ ‖x/‖x‖ − z/‖z‖‖². No metric: it has the square's shortcut."""

    def validate(self, x: Any) -> Floats:
        """Directions: rows of length one."""
        x = vectors(x)
        size = np.abs(x).max(axis=1, initial=0.0)
        if (size == 0).any():
            raise InputError(f"Row {int(np.argmin(size))} is zero and has no direction.")
        x = x / size[:, None]
        return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])

    def fill(self, x: Floats, prepared: Points, out: Floats) -> None:
        """Half the squared chord between two points of the unit sphere."""
        super().fill(x, prepared, out)
        out *= 0.5

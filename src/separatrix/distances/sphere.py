"""Great-circle distance between points of a sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.base import as_dense_matrix
from separatrix.distances.vectors import CenteredPoints, Euclidean, SquaredEuclidean
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Haversine(SquaredEuclidean):
    """Great-circle distance between points of the unit sphere.

        d(x, z) = 2 asin √(sin²(Δφ/2) + cos φ cos φ' sin²(Δλ/2))

    The two columns are latitude φ and longitude λ in radians; times 6371 it is in kilometers on
    the Earth. Each point is a vector of three coordinates, whose chord gives the arc.

    See Also
    --------
    Euclidean : The length of the chord through the sphere.
    Cosine : The angle between vectors of any dimension, as 1 − cos.

    References
    ----------
    R. W. Sinnott, Virtues of the haversine, Sky and Telescope 68, 1984.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> paris, rome = np.radians([[48.86, 2.35], [41.90, 12.50]])
    >>> round(6371 * sx.Haversine()(paris, rome))
    1106
    """

    @property
    def is_metric(self) -> bool:
        """True, of points of the sphere: longitudes a full turn apart are one point."""
        return True

    def validate(self, x: Any) -> Floats:
        """Rows of two columns."""
        points = as_dense_matrix(x)
        if points.shape[1] != 2:
            raise InputError(
                f"The haversine distance is of 2 columns, latitude and longitude; there are "
                f"{points.shape[1]}."
            )
        return points

    def embed(self, x: Floats) -> Floats:
        """Unit vectors."""
        latitude, longitude = x[:, 0], x[:, 1]
        across = np.cos(latitude)
        return np.column_stack(
            [across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)]
        )

    def of_euclidean(self, d: Floats) -> Floats:
        """The arc over a chord."""
        return np.asarray(2.0 * np.arcsin(np.minimum(0.5 * d, 1.0)))

    def euclidean_radius(self, radius: float) -> float:
        """The chord under an arc."""
        return float(2.0 * np.sin(0.5 * min(radius, np.pi)))

    def precompute(self, z: Floats) -> CenteredPoints:
        """As unit vectors."""
        return Euclidean().precompute(self.embed(z))

    def fill(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """Arcs over Euclidean chords."""
        Euclidean().fill(self.embed(x), precomputed, out)
        out[:] = self.of_euclidean(out)

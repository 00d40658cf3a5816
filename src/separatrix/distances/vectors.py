"""Distances between rows of numbers: Minkowski's family, and the cosine distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.base import Metric, as_dense_matrix
from separatrix.distances.extent import largest_magnitude
from separatrix.distances.loops import distances as loops
from separatrix.distances.loops.point_distances import CHEBYSHEV, MANHATTAN
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Up to this many columns, coordinate differences are as fast as a matrix product, and more exact.
FEW_COLUMNS = 16
#: Squares of larger numbers overflow in a sum; squares of smaller ones lose digits.
LARGEST, SMALLEST = 1e150, 1e-140


def beyond_squares(*points: Floats) -> bool:
    """Whether the largest coordinate is so large or so small that its square leaves the range."""
    largest = max(map(largest_magnitude, points), default=0.0)
    return largest > LARGEST or 0.0 < largest < SMALLEST


@dataclass(frozen=True)
class Manhattan(Metric):
    """Manhattan (city block, L1) distance.

        d(x, z) = Σ |xⱼ − zⱼ|

    See Also
    --------
    Euclidean : the L2 distance.
    Chebyshev : the L∞ distance.
    Minkowski : the family that holds all three.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Manhattan()([0.0, 0.0], [3.0, 4.0])
    7.0
    """

    kind: ClassVar[int] = MANHATTAN

    def precompute(self, z: Floats) -> Floats:
        """The points as columns."""
        return np.ascontiguousarray(z.T)

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """Σ |x − z|, or max |x − z|."""
        loops.by_coordinates(x, precomputed, self.kind, out)


@dataclass(frozen=True)
class Chebyshev(Manhattan):
    """Chebyshev (maximum, L∞) distance.

        d(x, z) = max |xⱼ − zⱼ|

    See Also
    --------
    Manhattan : the L1 distance.
    Minkowski : the family, of which it is the limit p → ∞.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Chebyshev()([0.0, 0.0], [3.0, 4.0])
    4.0
    """

    kind: ClassVar[int] = CHEBYSHEV


class CenteredPoints(NamedTuple):
    """Points minus their mean, as columns, with their squared norms."""

    center: Floats
    columns: Floats
    squared_norms: Floats


@dataclass(frozen=True)
class SquaredEuclidean(Metric):
    """Squared Euclidean distance, which violates the triangle inequality.

        d(x, z) = Σ (xⱼ − zⱼ)²

    See Also
    --------
    Euclidean : its square root, a metric.

    Notes
    -----
    With many columns it is ‖x‖² + ‖z‖² − 2 x·z by a matrix product of centered points. Distances
    that cancellation would spoil are recomputed from the coordinate differences.

    Examples
    --------
    >>> import separatrix as sx
    >>> metric = sx.SquaredEuclidean()
    >>> metric([0.0, 0.0], [3.0, 4.0]), metric.is_metric
    (25.0, False)
    """

    @property
    def is_metric(self) -> bool:
        """False: it violates the triangle inequality."""
        return False

    def transform(self, centered: Floats) -> Floats:
        """The linear map after which distances are Euclidean; here the identity."""
        return centered

    def embed(self, x: Floats) -> Floats:
        """Validated rows as points whose Euclidean distances order the distances as well."""
        return x

    def of_euclidean(self, d: Floats) -> Floats:
        """The distance of points whose Euclidean distance is d."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(d**2)

    def euclidean_radius(self, radius: float) -> float:
        """The Euclidean distance at which the distance is ``radius``."""
        return float(np.sqrt(radius))

    def precompute(self, z: Floats) -> CenteredPoints:
        """The points centered (which changes no distance), mapped, and their squared norms."""
        center = np.zeros(z.shape[1]) if not len(z) or beyond_squares(z) else z.mean(axis=0)
        mapped = self.transform(z - center)
        with np.errstate(over="ignore", under="ignore"):
            squared_norms = np.einsum("ij,ij->i", mapped, mapped)
        return CenteredPoints(center, np.ascontiguousarray(mapped.T), squared_norms)

    def fill(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """Σ (x − z)²."""
        x = self.transform(x - precomputed.center)
        if beyond_squares(x, precomputed.columns):
            loops.minkowski(x, precomputed.columns, 2.0, out)
            out[:] = SquaredEuclidean.of_euclidean(self, out)
        elif x.shape[1] <= FEW_COLUMNS:
            loops.squares_by_coordinates(x, precomputed.columns, out)
        else:
            np.matmul(x, precomputed.columns, out=out)
            squared_norms = np.einsum("ij,ij->i", x, x)
            loops.squared_from_products(
                x, precomputed.columns, squared_norms, precomputed.squared_norms, out
            )


@dataclass(frozen=True)
class Euclidean(SquaredEuclidean):
    """Euclidean (L2) distance.

        d(x, z) = √Σ (xⱼ − zⱼ)²

    See Also
    --------
    SquaredEuclidean : its square.
    Mahalanobis : the Euclidean distance of whitened points.
    Minkowski : the family that holds it.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Euclidean().distances([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """

    @property
    def is_metric(self) -> bool:
        """True."""
        return True

    def of_euclidean(self, d: Floats) -> Floats:
        """Itself."""
        return d

    def euclidean_radius(self, radius: float) -> float:
        """Itself."""
        return radius

    def fill(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """√Σ (x − z)², relative to the largest difference where squares leave the range."""
        mapped = self.transform(x - precomputed.center)
        if beyond_squares(mapped, precomputed.columns):
            loops.minkowski(mapped, precomputed.columns, 2.0, out)
            return
        super().fill(x, precomputed, out)
        np.sqrt(out, out=out)


@dataclass(frozen=True)
class Minkowski(Metric):
    """Minkowski (Lp) distance.

        d(x, z) = (Σ wⱼ |xⱼ − zⱼ|^p)^(1/p)

    Parameters
    ----------
    p : float, default=2.0
        The exponent, above zero: 1 is Manhattan, 2 Euclidean, infinity Chebyshev distance. With
        p < 1 the triangle inequality fails.
    w : tuple of float, optional
        Weights of the columns, none negative; one each by default. A column of weight zero is left
        out, and points that differ only there are a distance of zero apart.

    See Also
    --------
    Manhattan : p = 1.
    Euclidean : p = 2.
    Chebyshev : p = ∞.

    Examples
    --------
    >>> import separatrix as sx
    >>> round(sx.Minkowski(3)([0.0, 0.0], [3.0, 4.0]), 4)
    4.4979
    >>> sx.Minkowski(0.5).is_metric
    False
    """

    p: float = 2.0
    w: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.p > 0:
            raise InputError(f"Minkowski's p is {self.p!r}.", remedy="Give a positive number.")
        if self.w is None:
            return
        w = np.asarray(self.w, dtype=float)
        if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any():
            raise InputError("Minkowski's w holds a finite weight for each column, none negative.")
        object.__setattr__(self, "w", tuple(w.tolist()))

    @property
    def is_metric(self) -> bool:
        """Whether p ≥ 1, and no column has weight zero."""
        return self.p >= 1 and (self.w is None or min(self.w, default=1.0) > 0.0)

    def scaled(self, x: Floats) -> Floats:
        """Columns times w^(1/p): the distance is then the unweighted one."""
        if self.w is None:
            return x
        w = np.asarray(self.w)
        if len(w) != x.shape[1]:
            raise InputError(f"Minkowski's w has {len(w)} weights, for {x.shape[1]} columns.")
        return np.asarray(x * ((w > 0.0) if self.p == np.inf else w ** (1.0 / self.p)))

    def precompute(self, z: Floats) -> Any:
        """As the metric does that this p names."""
        return self.unweighted().precompute(self.scaled(z))

    def fill(self, x: Floats, precomputed: Any, out: Floats) -> None:
        """(Σ w |x − z|^p)^(1/p)."""
        x = self.scaled(x)
        if self.p in (1.0, 2.0, np.inf):
            self.unweighted().fill(x, precomputed, out)
        else:
            loops.minkowski(x, precomputed, float(self.p), out)

    def unweighted(self) -> Metric:
        """The metric of p = 1, 2 or ∞; Manhattan's columns serve every other p."""
        if self.p == 2:
            return Euclidean()
        return Chebyshev() if self.p == np.inf else Manhattan()


@dataclass(frozen=True)
class Cosine(SquaredEuclidean):
    """Cosine distance, which violates the triangle inequality.

        d(x, z) = 1 − x·z / (‖x‖ ‖z‖) = ½ ‖x/‖x‖ − z/‖z‖‖²

    A row of zeros has no direction: its distance to all others is one.

    See Also
    --------
    Euclidean : the distance that also counts the lengths of vectors.
    Correlation : the same of rows minus their means.
    kernel_cosine : the cosine in the feature space of a kernel.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Cosine()([1.0, 0.0], [0.0, 5.0])
    1.0
    """

    def validate(self, x: Any) -> Floats:
        """Rows scaled to unit length; rows of zeros as they are."""
        x = as_dense_matrix(x)
        largest = np.abs(x).max(axis=1, initial=0.0)[:, None]
        x = x / np.where(largest > 0.0, largest, 1.0)
        length = np.linalg.norm(x, axis=1)[:, None]
        return np.asarray(x / np.where(length > 0.0, length, 1.0))

    def of_euclidean(self, d: Floats) -> Floats:
        """Half the squared distance between two points of the unit sphere."""
        return np.asarray(0.5 * d**2)

    def euclidean_radius(self, radius: float) -> float:
        """The distance of unit vectors with this cosine."""
        return float(np.sqrt(2.0 * radius))

    def fill(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """Half the squared distance between two points of the unit sphere."""
        super().fill(x, precomputed, out)
        out *= 0.5
        shifted = precomputed.columns + precomputed.center[:, None]
        points: NDArray[np.bool_] = ~np.asarray(shifted.any(axis=0))
        rows: NDArray[np.bool_] = ~np.asarray(x.any(axis=1))
        if points.any() or rows.any():
            out[rows[:, None] | points] = 1.0
            out[rows[:, None] & points] = 0.0

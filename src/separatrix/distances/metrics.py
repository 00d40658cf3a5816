"""Metrics d(x, z): what they all have, and those between rows of numbers.

A metric computes distance matrices, single distances and blocks of rows; of rows of numbers there
are Minkowski's family, the cosine distance, and others of SciPy's names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from separatrix.arrays import Floats, NDArray
from separatrix.distances import loops
from separatrix.distances.loops import CHEBYSHEV, MANHATTAN
from separatrix.messages import InputError, check_option
from separatrix.rows.schema import all_finite, largest_magnitude, n_items
from separatrix.statistics.columns import column_extremes
from separatrix.threads import PIECE_NUMBERS, parallel_map, pieces


class Metric(ABC):
    """A distance d(x, z) ≥ 0; ``is_metric`` says whether it satisfies the axioms of a metric.

    Metrics are immutable. Parameters estimated from data (a covariance, the range of a column) are
    set by :meth:`fitted`, which returns a new metric.
    """

    of_vectors: ClassVar[bool] = True  #: rows of numbers; otherwise lists of any objects

    @property
    def is_metric(self) -> bool:
        """Whether d(x, x) = 0, d > 0 otherwise, symmetry and the triangle inequality hold."""
        return True

    def fitted(self, x: Any, w: Floats | None = None) -> Metric:  # noqa: ARG002
        """A copy with its parameters estimated from a sample; row i counts w[i] times."""
        return self

    def rounding_error(self, x: Any) -> float:  # noqa: ARG002
        """Distances among these points that differ by less may differ by rounding alone."""
        return 0.0

    def validate(self, x: Any) -> Any:
        """The sample in the form that :meth:`fill` reads, checked."""
        return as_dense_matrix(x)

    @abstractmethod
    def precompute(self, z: Any) -> Any:
        """Whatever about the validated points z is computed once for many calls of :meth:`fill`."""

    @abstractmethod
    def fill(self, x: Any, precomputed: Any, out: Floats) -> None:
        """Write the distances of x to the precomputed points into ``out``."""

    def prepare(self, z: Any) -> PreparedMetric:
        """The metric with its second argument fixed to the points z."""
        z = self.validate(z)
        return PreparedMetric(self, z, self.precompute(z))

    def distances(self, x: Any, z: Any = None) -> Floats:
        """Distance matrix between the rows of x and those of z, or among the rows of x."""
        return self.prepare(x if z is None else z).rows(x)

    def __call__(self, a: Any, b: Any) -> float:
        """The distance of two points."""
        return float(self.distances([a], [b])[0, 0])


@dataclass(frozen=True)
class PreparedMetric:
    """A metric with its second argument fixed to ``points``; ``state`` is computed once."""

    metric: Metric
    points: Any
    state: Any

    def __len__(self) -> int:
        return n_items(self.points)

    def rows(self, x: Any) -> Floats:
        """Distances of every row of x to all points."""
        return self.validated_rows(self.metric.validate(x))

    def blocks(self, x: Any, budget: int = 1 << 25) -> Iterator[tuple[slice, Floats]]:
        """Distances by blocks of rows, each of at most ``budget`` bytes."""
        x = self.metric.validate(x)
        step = max(1, budget // (8 * max(1, len(self))))
        for start in range(0, n_items(x), step):
            part = slice(start, min(start + step, n_items(x)))
            yield part, self.validated_rows(x[part])

    def validated_rows(self, x: Any) -> Floats:
        """Distances of rows that the metric has validated already; large blocks on threads."""
        self._check_columns(x)
        n = n_items(x)
        out = np.empty((n, len(self)))
        columns = x.shape[1] if isinstance(x, np.ndarray) and x.ndim == 2 else 16
        # Coordinate differences below which a second thread costs more than it saves.
        if n < 2 or n * len(self) * columns < 1_000_000:
            self.metric.fill(x, self.state, out)
            return out
        # Coordinate differences of a piece, and rows of a wide one: each reads all points again.
        smallest = max(32 if columns > 256 else 1, 200_000 // max(1, len(self) * columns))

        def fill(part: slice) -> None:
            self.metric.fill(x[part], self.state, out[part])

        parallel_map(fill, pieces(n, smallest))
        return out

    def _check_columns(self, x: Any) -> None:
        matrices = isinstance(x, np.ndarray), isinstance(self.points, np.ndarray)
        if matrices == (True, True) and x.shape[1:] != self.points.shape[1:]:
            raise InputError(
                f"Points with {x.shape[1]} columns have no distance to points with "
                f"{self.points.shape[1]}.",
                remedy="Give both the same columns.",
            )
        if any(matrices) and not all(matrices):
            raise InputError(
                "Rows of a matrix and lists of objects have no distance.",
                remedy="Give both in the same form.",
            )


def as_dense_matrix(x: Any, *, allow_missing: bool = False) -> Floats:
    """A float64 matrix with points in rows; NaN only if missing values are allowed."""
    if sparse.issparse(x):
        x = x.toarray()
    try:
        x = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "This distance is between rows of numbers, and something else was given.",
            remedy="Use Edit() for strings, Gower() for mixed columns, or a function of two "
            "objects.",
        ) from None
    if x.ndim != 2:
        raise InputError(
            f"Points are the rows of a matrix; this has {x.ndim} dimension(s).",
            remedy="A single column of numbers: x.reshape(-1, 1).",
        )
    if not all_finite(x) and (np.isinf(x).any() or (not allow_missing and np.isnan(x).any())):
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise InputError(
            f"Row {row}, column {column} is {x[row, column]}: no distance to it exists.",
            remedy="Impute or drop missing values first; Gower() skips them.",
        )
    return np.asarray(x)


# -------------------------------------------------------------------------------------------------
# Distance matrices in condensed form: the entries above the diagonal, row by row.
#
#     v = (d₀₁, d₀₂, …, d₀ₙ₋₁, d₁₂, …),     n (n − 1) / 2 numbers
#
# This is the form of SciPy's ``pdist``.


def is_condensed(distances: Any) -> bool:
    """Whether these are distances in condensed form: one dimension, and numbers."""
    if isinstance(distances, str) or hasattr(distances, "columns"):
        return False
    if not isinstance(distances, np.ndarray | list | tuple):
        return False
    return np.ndim(distances) == 1 and np.asarray(distances).dtype.kind in "fiub"


def condensed_size(length: int) -> int:
    """n, of which n (n − 1) / 2 is this length; refused if there is none."""
    n = int((1.0 + np.sqrt(1.0 + 8.0 * length)) / 2.0 + 0.5)
    if n * (n - 1) // 2 != length:
        raise InputError(
            f"{length} distances in a vector belong to no number of points: n points have "
            "n (n − 1) / 2 pairs.",
            remedy="Give the vector of scipy.spatial.distance.pdist, or a square matrix.",
        )
    return n


def as_square(distances: Any) -> Any:
    """The square matrix of distances in condensed form; anything else as it is."""
    if not is_condensed(distances):
        return distances
    vector = np.asarray(distances, dtype=np.float64)
    n = condensed_size(len(vector))
    square: Floats = np.zeros((n, n))
    square[np.triu_indices(n, 1)] = vector
    square += square.T
    return square


# -------------------------------------------------------------------------------------------------
# Centers of rows and how far they reach, in one pass on threads.


def center_and_reach(x: Floats) -> tuple[Floats, float]:
    """The mean of the rows, and the largest deviation of any number from that of its column."""
    found = parallel_map(lambda part: (x[part].sum(axis=0), *column_extremes(x[part])), _parts(x))
    sums, least, most = zip(*found, strict=True)
    center = sum(total / len(x) for total in sums)
    low, high = np.min(least, axis=0), np.max(most, axis=0)
    return center, float(np.maximum(high - center, center - low).max(initial=0.0))


def _parts(x: Floats) -> list[slice]:
    return pieces(len(x), max(1, PIECE_NUMBERS // max(1, x[0].size)))


# -------------------------------------------------------------------------------------------------
# Distances between rows of numbers.


#: Squares of larger numbers overflow in a sum; squares of smaller ones lose digits.
LARGEST, SMALLEST = 1e150, 1e-140
#: Columns up to which coordinate differences are as fast as a matrix product, and more exact.
FEW_COLUMNS = 16


def beyond_squares(points: Floats, largest: float = 0.0) -> bool:
    """Whether the largest coordinate is so large or so small that its square leaves the range.

    ``largest`` is that of other points, which count as well.
    """
    largest = max(largest_magnitude(points), largest)
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
    """Points minus their mean, as columns, with their squared norms and largest coordinate."""

    center: Floats
    columns: Floats
    squared_norms: Floats
    largest: float


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
        # Products take rows as they are; loops over few columns need them one after another.
        columns = np.ascontiguousarray(mapped.T) if mapped.shape[1] <= FEW_COLUMNS else mapped.T
        return CenteredPoints(center, columns, squared_norms, largest_magnitude(mapped))

    def fill(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """Σ (x − z)²."""
        x = self.transform(x - precomputed.center)
        if beyond_squares(x, precomputed.largest):
            loops.minkowski(x, np.ascontiguousarray(precomputed.columns), 2.0, out)
            out[:] = SquaredEuclidean.of_euclidean(self, out)
        else:
            self._fill_squares(x, precomputed, out)

    def _fill_squares(self, x: Floats, precomputed: CenteredPoints, out: Floats) -> None:
        """Σ (x − z)² of mapped rows whose squares are numbers."""
        if x.shape[1] <= FEW_COLUMNS:
            loops.squares_by_coordinates(x, precomputed.columns, out)
        else:
            np.matmul(x, precomputed.columns, out=out)
            squared_norms = np.einsum("ij,ij->i", x, x)
            loops.squared_from_products(
                x, precomputed.columns.T, squared_norms, precomputed.squared_norms, out
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
        if beyond_squares(mapped, precomputed.largest):
            loops.minkowski(mapped, np.ascontiguousarray(precomputed.columns), 2.0, out)
            return
        self._fill_squares(mapped, precomputed, out)
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


# -------------------------------------------------------------------------------------------------
# Distances between rows of truth values, from how often they agree.
#
# With a the number of columns true in both rows, b and c in one of them, e in neither:
#
#     jaccard         (b + c) / (a + b + c)
#     dice            (b + c) / (2a + b + c)
#     matching        (b + c) / (a + b + c + e)
#     rogerstanimoto  2(b + c) / (a + 2(b + c) + e)
#     sokalsneath     2(b + c) / (a + 2(b + c))
#     russellrao      (b + c + e) / (a + b + c + e)
#     yule            2bc / (ae + bc)


#: (a, b, c, e) → numerator and denominator.
_Ratio = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Floats]]

_RATIOS: dict[str, _Ratio] = {
    "jaccard": lambda a, b, c, _: (b + c, a + b + c),
    "dice": lambda a, b, c, _: (b + c, 2.0 * a + b + c),
    "matching": lambda a, b, c, e: (b + c, a + b + c + e),
    "rogerstanimoto": lambda a, b, c, e: (2.0 * (b + c), a + 2.0 * (b + c) + e),
    "sokalmichener": lambda a, b, c, e: (2.0 * (b + c), a + 2.0 * (b + c) + e),
    "sokalsneath": lambda a, b, c, _: (2.0 * (b + c), a + 2.0 * (b + c)),
    "russellrao": lambda a, b, c, e: (b + c + e, a + b + c + e),
    "yule": lambda a, b, c, e: (2.0 * b * c, a * e + b * c),
}
#: Those that violate an axiom: the triangle inequality, or d(x, x) = 0 (russellrao).
_NO_METRICS = ("dice", "russellrao", "yule")


@dataclass(frozen=True)
class BooleanDistance(Metric):
    """Distance between rows of truth values, from how often they agree.

    With a the number of columns true in both rows, b and c in one of them, e in neither::

        dice            (b + c) / (2a + b + c)
        matching        (b + c) / (a + b + c + e)
        rogerstanimoto  2(b + c) / (a + 2(b + c) + e), also named sokalmichener
        sokalsneath     2(b + c) / (a + 2(b + c))
        russellrao      (b + c + e) / (a + b + c + e)
        yule            2bc / (ae + bc)

    Numbers are true unless they are zero; 0/0 is 0. Counts come from one matrix product.

    Parameters
    ----------
    kind : str, default="matching"
        One of these names, or "jaccard". "dice", "russellrao" and "yule" violate an axiom of a
        metric.

    See Also
    --------
    JaccardDistance : Of all columns true in either row, the fraction true in one only.
    Hamming : Columns that differ, of any values.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.BooleanDistance("dice")([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    >>> sx.BooleanDistance("dice").is_metric
    False
    """

    kind: str = "matching"

    def __post_init__(self) -> None:
        check_option("kind", self.kind, _RATIOS)

    @property
    def is_metric(self) -> bool:
        """Whether the axioms hold, as those of rows of truth values."""
        return self.kind not in _NO_METRICS

    def validate(self, x: Any) -> Floats:
        """Zeros and ones."""
        return np.asarray(as_dense_matrix(x) != 0.0, dtype=np.float64)

    def precompute(self, z: Floats) -> tuple[Floats, Floats]:
        """The points as columns, and how many of their values are true."""
        return np.ascontiguousarray(z.T), z.sum(axis=1)

    def fill(self, x: Floats, precomputed: tuple[Floats, Floats], out: Floats) -> None:
        """The ratio of counts."""
        columns, of_points = precomputed
        both = x @ columns
        first = x.sum(axis=1)[:, None] - both
        second = of_points - both
        neither = x.shape[1] - both - first - second
        above, below = _RATIOS[self.kind](both, first, second, neither)
        np.divide(above, np.where(below > 0.0, below, 1.0), out=out)


@dataclass(frozen=True)
class JaccardDistance(BooleanDistance):
    """Jaccard distance of rows of truth values.

        d(x, z) = 1 − |x ∧ z| / |x ∨ z|

    Of all columns true in either row, the fraction true in only one. Two rows without a true value
    have distance zero. Numbers are true unless they are zero.

    Attributes
    ----------
    kind : str
        "jaccard".

    See Also
    --------
    Jaccard : The similarity of sets, as a kernel.
    BooleanDistance : Others of the kind.

    References
    ----------
    P. Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11, 1912.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.JaccardDistance()([1, 1, 0, 0], [1, 0, 0, 1]) * 3
    2.0
    """

    kind: str = field(default="jaccard", init=False)


# -------------------------------------------------------------------------------------------------
# Distances between profiles: differences relative to size, and correlation.


@dataclass(frozen=True)
class Canberra(Metric):
    """Canberra distance: differences relative to the size of both values, column by column.

        d(x, z) = Σ |xⱼ − zⱼ| / (|xⱼ| + |zⱼ|)

    Columns where both are zero count nothing. The units of columns do not matter.

    See Also
    --------
    BrayCurtis : The same ratio of sums over all columns.
    Manhattan : Differences without regard to size.

    References
    ----------
    G. N. Lance and W. T. Williams, Computer programs for hierarchical polythetic
    classification, Computer Journal 9, 1966.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Canberra()([1.0, 0.0, 3.0], [3.0, 0.0, 1.0])
    1.0
    """

    name: ClassVar[str] = "canberra"

    def precompute(self, z: Floats) -> Floats:
        """The points themselves."""
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """The sum of ratios, or the ratio of sums; 0/0 is 0."""
        if x.shape[1] == 0:
            out[:] = 0.0
            return
        with np.errstate(invalid="ignore", over="ignore"):
            out[:] = cdist(x, precomputed, self.name)
        out[np.isnan(out)] = 0.0


@dataclass(frozen=True)
class BrayCurtis(Canberra):
    """Bray–Curtis dissimilarity of counts, which violates the triangle inequality.

        d(x, z) = Σ |xⱼ − zⱼ| / Σ |xⱼ + zⱼ|

    Two rows of zeros are equal.

    See Also
    --------
    Canberra : A sum of ratios, and a metric.
    JaccardDistance : The same for presence and absence.

    References
    ----------
    J. R. Bray and J. T. Curtis, An ordination of the upland forest communities of southern
    Wisconsin, Ecological Monographs 27, 1957.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.BrayCurtis()([1.0, 0.0, 3.0], [3.0, 0.0, 1.0])
    0.5
    """

    name: ClassVar[str] = "braycurtis"

    @property
    def is_metric(self) -> bool:
        """False: it violates the triangle inequality."""
        return False


@dataclass(frozen=True)
class Correlation(Cosine):
    """One minus the correlation of two rows, which violates the axioms of a metric.

        d(x, z) = 1 − corr(x, z)

    Rows that differ by a positive factor and a constant have distance zero. A constant row has
    distance one to all others.

    See Also
    --------
    Cosine : The same without centering the rows.

    Examples
    --------
    >>> import separatrix as sx
    >>> round(sx.Correlation()([1.0, 2.0, 3.0], [30.0, 20.0, 10.0]), 12)
    2.0
    """

    def validate(self, x: Any) -> Floats:
        """Rows centered and scaled to unit length."""
        x = as_dense_matrix(x)
        largest = np.abs(x).max(axis=1, initial=0.0)[:, None]
        x = x / np.where(largest > 0.0, largest, 1.0)
        centered = x - x.mean(axis=1, keepdims=True) if x.shape[1] else x
        centered[np.ptp(x, axis=1) == 0.0 if x.shape[1] else slice(0)] = 0.0
        return super().validate(centered)


# -------------------------------------------------------------------------------------------------
# Great-circle distance between points of a sphere.


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

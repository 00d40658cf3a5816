"""Weighted count, means and centered scatter of [X Y]: sufficient statistics of least squares.

    μ = Σ w z / Σ w,    S = Σ w (z − μ)(z − μ)ᵀ        for z = (x, y)

Two sets of rows merge by the centered update, with δ the difference of their means:

    S = S₁ + S₂ + (w₁ w₂ / (w₁ + w₂)) δ δᵀ

which never forms Σz² − n·μ², the difference of two large numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, cast

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.formatting import plural
from separatrix.matrices.loops import sparse_gram_rows
from separatrix.messages import InputError, warn
from separatrix.rows.parts import Parts
from separatrix.rows.rows import (
    ArrayRows,
    EncodedRows,
    InMemory,
    MappedStatistic,
    Rows,
    S,
    SelectedParts,
    merge,
)
from separatrix.rows.schema import (
    NO_TERMS,
    Block,
    Column,
    Encoding,
    Imputation,
    Kind,
    Schema,
    Term,
    TermMap,
    Terms,
    identity,
    scratch,
    unit_weights,
    without_missing,
)
from separatrix.rows.sources.reader import MAX_LEVELS, no_usable_rows, too_many_levels
from separatrix.statistics.loops import add_parts
from separatrix.statistics.triangular import TriangularFactor

# -------------------------------------------------------------------------------------------------
# Means of a table: what an encoding is learned from, where moments would be a large matrix.


class Means:
    """Number and weight of the rows, and the means of features and targets; merges with ``+``."""

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        count: int = 0,
        weight: float = 0.0,
        mean: Floats | None = None,
    ) -> None:
        self.terms, self.targets = terms, targets
        self.count, self.weight = count, weight
        self.mean = np.zeros(len(terms) + len(targets)) if mean is None else mean

    def fresh(self) -> Self:
        """Return an empty statistic of the same kind."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        w = unit_weights(block.w, block.n)
        count, weight = int(np.count_nonzero(w)), float(w.sum())
        if not count:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.concatenate([np.ravel(block.x.T @ w), block.y.T @ w])
        added = type(self)(block.terms, block.targets, count, weight, sums / weight)
        self.__dict__.update((self + added).__dict__)

    def __add__(self, other: Self) -> Self:
        if not other.count or not self.count:
            return self if self.count else other
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        weight = self.weight + other.weight
        a, b = self._over(terms, targets), other._over(terms, targets)
        mean = a + (b - a) * (other.weight / weight)
        return type(self)(terms, targets, self.count + other.count, weight, mean)

    def _over(self, terms: Terms, targets: Terms) -> Floats:
        """The means over other terms; one absent here (a level) was always zero."""
        mean = np.zeros(len(terms) + len(targets))
        mean[self._positions(terms, targets)] = self.mean
        return mean

    def _positions(self, terms: Terms, targets: Terms) -> list[int]:
        """Where the features and targets are among others."""
        at = [terms.position[t] for t in self.terms]
        return at + [len(terms) + targets.position[t] for t in self.targets]

    @property
    def x_mean(self) -> Floats:
        """Means of the features."""
        return self.mean[: len(self.terms)]

    @property
    def y_mean(self) -> Floats:
        """Means of the targets."""
        return self.mean[len(self.terms) :]


class Moments(Means):
    """Weighted mean and scatter matrix of features and targets, mergeable with ``+``.

        μ = Σ w z / Σ w,    S = Σ w (z − μ)(z − μ)ᵀ,    z = (x, y)

    They suffice to fit linear, ridge and lasso regression. The moments of two tables add up to
    those of both together, without loss of digits.

    Parameters
    ----------
    terms : Terms, default=Terms(())
        The features, by column and level.
    targets : Terms, default=Terms(())
        The targets, which come after the features in ``mean`` and ``scatter``.
    count : int, default=0
        Number of rows of positive weight.
    weight : float, default=0.0
        Sum of the weights.
    mean : ndarray of shape (p,), default=None
        The means μ; None for zeros.
    scatter : ndarray of shape (p, p), default=None
        The scatter matrix S; None for zeros.

    Attributes
    ----------
    terms : Terms
        The features.
    targets : Terms
        The targets.
    count : int
        Number of rows of positive weight.
    weight : float
        Sum of the weights.
    mean : ndarray of shape (p,)
        The means μ.
    scatter : ndarray of shape (p, p)
        The scatter matrix S.

    See Also
    --------
    TriangularFactor : The QR factor, for ill-conditioned least squares.
    scan : Read a table as rows, which reduce to moments.
    LinearRegression : An estimator that fits from moments.

    References
    ----------
    Chan, Golub and LeVeque, Algorithms for computing the sample variance (1983).

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 5.0])
    >>> first = sx.scan(x[:2], y[:2]).reduce(sx.Moments())
    >>> both = first + sx.scan(x[2:], y[2:]).reduce(sx.Moments())
    >>> both.count, both.mean.round(3).tolist()
    (3, [2.333, 3.0])
    >>> sx.LinearRegression().fit(both).coef_.round(3).tolist()
    [1.286]
    """

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        count: int = 0,
        weight: float = 0.0,
        mean: Floats | None = None,
        scatter: Floats | None = None,
    ) -> None:
        super().__init__(terms, targets, count, weight, mean)
        p = len(self.mean)
        self.scatter = np.zeros((p, p)) if scatter is None else scatter

    def __repr__(self) -> str:
        of = f"{plural(len(self.terms), 'column')} and {plural(len(self.targets), 'target')}"
        return f"Moments of {of} over {plural(self.count, 'row')}"

    # -- a pass over the rows ------------------------------------------------------------------

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        merged = self + _block_moments(block)
        self.__dict__.update(merged.__dict__)

    def __add__(self, other: Moments) -> Self:
        if not other.count:
            return self
        if not self.count:
            return type(self)(**other.__dict__)
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        a, b = self.aligned(terms, targets), other.aligned(terms, targets)
        weight = a.weight + b.weight
        step = b.mean - a.mean
        scatter = a.scatter + b.scatter
        scatter += np.outer(step, step * (a.weight * b.weight / weight))
        mean = a.mean + step * (b.weight / weight)
        return type(self)(terms, targets, a.count + b.count, weight, mean, scatter)

    def aligned(self, terms: Terms, targets: Terms) -> Moments:
        """Return the moments over the given terms; a term absent here (a level) was always zero."""
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        at, mean = self._positions(terms, targets), self._over(terms, targets)
        scatter = np.zeros((len(mean), len(mean)))
        scatter[np.ix_(at, at)] = self.scatter
        return Moments(terms, targets, self.count, self.weight, mean, scatter)

    # -- finished numbers ----------------------------------------------------------------------

    @property
    def d(self) -> int:
        """Number of feature terms."""
        return len(self.terms)

    @property
    def covariance(self) -> Floats:
        """S / Σw: the maximum-likelihood (1/N) covariance."""
        return self.scatter / self.weight

    @property
    def correlation(self) -> Floats:
        """The correlation matrix; NaN for constant columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.sqrt(np.maximum(np.diag(self.scatter), 0.0) / self.weight)
            scale = zero_if_constant(scale, self.mean)
            scale = np.where(scale > 0.0, scale, np.nan)
            return np.asarray(np.clip(self.covariance / np.outer(scale, scale), -1.0, 1.0))

    @property
    def xx(self) -> Floats:
        """Centered scatter of the features."""
        return self.scatter[: self.d, : self.d]

    @property
    def xy(self) -> Floats:
        """Centered scatter between features and targets."""
        return self.scatter[: self.d, self.d :]

    @property
    def yy(self) -> Floats:
        """Centered scatter of the targets."""
        return self.scatter[self.d :, self.d :]

    @property
    def mean_squares(self) -> Floats:
        """Σ w x² / Σ w of the features."""
        with np.errstate(over="ignore"):
            return np.asarray(np.diag(self.xx) / self.weight + self.x_mean**2)

    def about_origin(self) -> Moments:
        """Return the moments about 0 in place of the mean, for fits without intercept."""
        scatter = self.scatter + self.weight * np.outer(self.mean, self.mean)
        mean = np.zeros_like(self.mean)
        return Moments(self.terms, self.targets, self.count, self.weight, mean, scatter)

    def mapped(self, a: Matrix, b: Matrix, terms: Terms, targets: Terms) -> Moments:
        """Return the moments of (x A, y B): μ ↦ Mᵀμ and S ↦ MᵀSM with M = diag(A, B)."""
        m = sparse.block_diag([a, b], format="csr")
        half = m.T @ self.scatter
        scatter = m.T @ half.T
        scatter = (scatter + scatter.T) / 2
        return Moments(terms, targets, self.count, self.weight, m.T @ self.mean, scatter)


def _block_moments(block: Block) -> Moments:
    """Moments of the rows of one block, in cache-sized chunks about a provisional center."""
    x, y, w = block.x, block.y, block.w
    if w is not None and (w == 0).any():  # zero weight is the same as removing the row
        positive = np.flatnonzero(w > 0)
        x, y, w = x[positive], y[positive], w[positive]
    n, d = x.shape
    p = d + y.shape[1]
    if n == 0:
        return Moments(block.terms, block.targets)
    rows = Block(x, y, w, block.terms, block.targets)
    if _narrow(x, p):
        by_part = moments_by_part(replace(rows, parts=np.zeros(n, np.int64)))
        if by_part is not None:
            return by_part[0]
    if sparse.issparse(x):
        centered = _sparse_moments(rows)
        if centered is not None:
            return centered
    chunk = int(np.clip(200_000 // max(p, 1), 64, 8192))
    by_column = isinstance(x, np.ndarray) and not x.flags.c_contiguous
    buffer = scratch((min(chunk, n), p), "F" if by_column else "C")
    shift = np.zeros(p)
    first = len(buffer)
    shift[:d] = rows.dense(0, first).sum(axis=0) / first
    shift[d:] = y[:first].sum(axis=0) / first
    shift[~np.isfinite(shift)] = 0.0
    weight = rows.weight
    for _ in range(2):
        total, gram = np.zeros(p), np.zeros((p, p))
        with np.errstate(over="ignore", invalid="ignore"):
            _accumulate(rows, shift, chunk, buffer, total, gram)
        if not np.isfinite(total).all():
            raise not_finite(block, total)
        if not np.isfinite(gram).all():
            raise too_large(block, gram)
        total /= weight
        far = _far_off(np.diag(gram), weight, total, shift)
        shift += total
        if not far:
            break
    gram -= weight * np.outer(total, total)
    return Moments(block.terms, block.targets, n, weight, shift, gram)


def _far_off(squares: Floats, weight: float, mean: Floats, shift: Floats) -> bool:
    """Whether the scatter about ``shift`` has few digits left at the mean, ``shift + mean``."""
    between = weight * mean**2
    # Of the digits of a scatter about a provisional center four may be lost at that of the mean.
    lost = between > 1e4 * np.maximum(squares - between, 0.0)
    # A center that is the mean of hundreds of rows but for rounding is off by less, and may stay.
    return bool((lost & (np.abs(mean) > 1e-12 * np.abs(shift))).any())


def _sparse_moments(rows: Block) -> Moments | None:
    """From the stored entries alone, centered afterwards; None where dense chunks are better."""
    x, w = rows.x, rows.weights
    n, d = x.shape
    # A multiplication of two stored entries, in those of dense rows.
    if 10.0 * float((np.diff(x.indptr).astype(float) ** 2).sum()) > 0.5 * n * float(d) ** 2:
        return None
    by_row = sparse.csr_array(x, copy=True)
    by_row.sum_duplicates()
    by_row.data *= np.repeat(np.sqrt(w), np.diff(by_row.indptr))
    by_column, weight, gram = by_row.tocsc(), rows.weight, np.zeros((d, d))
    with np.errstate(over="ignore", invalid="ignore"):
        sparse_gram_rows(
            0, d, by_column.indptr, by_column.indices, by_column.data,
            by_row.indptr, by_row.indices, by_row.data, gram,
        )  # fmt: skip
        mean, squares = np.asarray(x.T @ w) / weight, np.diag(gram).copy()
        gram -= weight * np.outer(mean, mean)
    # Σ x²/Σ (x − x̄)² up to which centering afterwards costs no more than a digit.
    if not np.isfinite(gram).all() or (squares > 10.0 * np.abs(np.diag(gram))).any():
        return None
    y_mean = w @ rows.y / weight
    z = rows.y - y_mean
    weighted = z * w[:, None]
    cross = np.asarray(x.T @ weighted)
    scatter = np.block([[gram, cross], [cross.T, weighted.T @ z]])
    return Moments(rows.terms, rows.targets, n, weight, np.append(mean, y_mean), scatter)


def _narrow(x: Matrix, p: int) -> bool:
    """Whether rows are many and short, so that NumPy's loop over each is most of the time."""
    return isinstance(x, np.ndarray) and x.flags.c_contiguous and p <= 50 and x.size >= 100_000


def _accumulate(
    rows: Block, shift: Floats, chunk: int, buffer: Floats, total: Floats, gram: Floats
) -> None:
    """Add Σ w z and Σ w z zᵀ, z = (x, y) − shift, to ``total`` and ``gram``."""
    x, y, w = rows.x, rows.y, rows.w
    n, d = x.shape
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        z = buffer[: stop - start]
        np.subtract(rows.dense(start, stop), shift[:d], out=z[:, :d])
        np.subtract(y[start:stop], shift[d:], out=z[:, d:])
        if w is None:
            total += z.sum(axis=0)
        else:
            total += w[start:stop] @ z
            z *= np.sqrt(w[start:stop])[:, None]
        gram += z.T @ z


def not_finite(block: Block, total: Floats) -> InputError:
    """The refusal of the first column with NaN or infinity."""
    j = int(np.flatnonzero(~np.isfinite(total))[0])
    term: Term = (block.terms.items + block.targets.items)[j]
    return InputError(
        "contains NaN or infinity.",
        column=term.column,
        remedy="Remove these rows, or impute missing values with scan(…, missing='mean').",
    )


def too_large(block: Block, gram: Floats) -> InputError:
    """The refusal of numbers whose squares overflow."""
    j = int(np.flatnonzero(~np.isfinite(np.diag(gram)))[0])
    return InputError(
        "holds numbers so large that their squares overflow (beyond about 1e150).",
        column=(block.terms.items + block.targets.items)[j].column,
        remedy="Divide the column by a power of ten.",
    )


# -------------------------------------------------------------------------------------------------
# Statistics that merge field by field: sums, minima and maxima over the rows.


class FieldStatistic:
    """A mergeable statistic whose fields are sums, minima or maxima over the rows.

    A subclass names its fields; all other attributes are settings, equal in all parts.
    """

    sums: ClassVar[tuple[str, ...]] = ()
    minima: ClassVar[tuple[str, ...]] = ()
    maxima: ClassVar[tuple[str, ...]] = ()

    def fresh(self) -> Self:
        """An empty one with the same settings."""
        empty = copy(self)
        for name in self.sums:
            setattr(empty, name, np.zeros_like(getattr(self, name))[()])
        for name in self.minima:
            setattr(empty, name, np.inf)
        for name in self.maxima:
            setattr(empty, name, -np.inf)
        return empty

    def __add__(self, other: Self) -> Self:
        merged = copy(self)
        rules = ((self.sums, np.add), (self.minima, np.minimum), (self.maxima, np.maximum))
        for names, combine in rules:
            for name in names:
                setattr(merged, name, combine(getattr(self, name), getattr(other, name)))
        return merged


# -------------------------------------------------------------------------------------------------
# Standardization: z = (x − μ)/σ, with one rule for constant columns.


EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


def zero_if_constant(scale: Floats, mean: Floats) -> Floats:
    """Standard deviations, exactly 0 where they are no more than rounding errors of the mean.

    This is the one rule for "this column is constant"; subnormal deviations count as 0 too, since
    1/σ would overflow.
    """
    return np.where(scale > np.maximum(4 * EPS * np.abs(mean), TINY), scale, 0.0)


@dataclass(frozen=True)
class Standardizer:
    """z = (x − μ)/σ by column, weights counted as repeated rows; a constant column becomes 0.

    ``scale`` holds σ (1/N), exactly 0 for a constant column. CSR matrices are divided and not
    centered, so that they stay sparse: their ``mean`` is 0.
    """

    mean: Floats
    scale: Floats

    @classmethod
    def from_moments(cls, moments: Moments) -> Standardizer:
        """Means and standard deviations of the features."""
        scale = np.sqrt(np.maximum(np.diag(moments.xx), 0.0) / moments.weight)
        return cls(moments.x_mean.copy(), zero_if_constant(scale, moments.x_mean))

    @classmethod
    def from_rows(cls, x: Matrix, w: Floats, *, keep_mean: bool = False) -> Standardizer:
        """Means and standard deviations of rows in memory, dense or CSR.

        ``keep_mean`` is for callers that center sparse rows implicitly: the mean of a CSR matrix
        is then the true one.
        """
        total = w.sum()
        mean = np.asarray(x.T @ w) / total
        if not sparse.issparse(x):
            centered = x - mean
            # A long sum rounds: the mean of the differences is its error.
            error = w @ centered / total
            variance = w @ centered**2 / total - error**2
            mean = mean + error
            return cls(mean, zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), mean))
        square = np.asarray(x.multiply(x).T @ w) / total - mean**2
        scale = zero_if_constant(np.sqrt(np.maximum(square, 0.0)), mean)
        return cls(mean if keep_mean else np.zeros_like(mean), scale)

    def with_pooled_scales(self, groups: Iterable[list[int]]) -> Standardizer:
        """One scale for the 0/1 columns of each discrete column: σ = √Σσⱼ², but at least ½.

        Together they then have variance 1, as a numeric column has, however many levels there are;
        and ½, the σ of a 0/1 column of equal halves, keeps a rare level from counting for more.
        """
        scale = self.scale.copy()
        for columns in groups:
            pooled = np.sqrt((self.scale[columns] ** 2).sum())
            # Standard deviation of a 0/1 column of equal halves.
            scale[columns] = max(pooled, 0.5) if pooled > 0 else 0.0
        return Standardizer(self.mean, scale)

    @property
    def inverse_scale(self) -> Floats:
        """1/σ, and 0 for a constant column."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def transform(self, x: Matrix) -> Any:
        """(x − μ)/σ; CSR stays CSR."""
        if sparse.issparse(x):
            return sparse.csr_array(x.multiply(self.inverse_scale))
        return np.ascontiguousarray((x - self.mean) * self.inverse_scale)

    def inverse_transform(self, z: Matrix) -> Any:
        """σz + μ: rows in the units of the table."""
        if sparse.issparse(z):
            return sparse.csr_array(z.multiply(self.scale))
        return z * self.scale + self.mean

    def unscale(self, coef: Floats, intercept: Any) -> tuple[Floats, Any]:
        """(coefficients of x, intercepts) from those of z; the last axis of ``coef`` is columns.

        b·z + a = (b/σ)·x + a − (b/σ)·μ; a constant column has the coefficient 0.
        """
        unscaled = coef * self.inverse_scale
        return unscaled, intercept - unscaled @ self.mean


# -------------------------------------------------------------------------------------------------
# Moments by part of one dense block, without putting its rows in order first.


#: Numbers of a block below which NumPy is as fast, with nothing to compile.
MIN_VALUES = 20_000


#: Columns up to which buffers of sums by class stay in cache, and values from which compiled code
#: is faster.
COMPILED_COLUMNS, COMPILED_VALUES = 160, 100_000


def use_compiled(x: object) -> bool:
    """Whether compiled sums by class are faster than BLAS: many values, in few enough columns."""
    many = isinstance(x, np.ndarray) and x.size >= COMPILED_VALUES
    return many and 0 < x.shape[1] <= COMPILED_COLUMNS  # type: ignore[attr-defined]


def use_order(x: object, k: int, structure: str) -> bool:
    """Whether there are many classes, of few values in all."""
    few = isinstance(x, np.ndarray) and 0 < x.size < COMPILED_VALUES
    return few and k > 16 and structure != "full"  # classes above which none is visited by itself


def use_tiles(x: object) -> bool:
    """Whether columns are too many for buffers of the compiled loops, and rows worth threads."""
    return isinstance(x, np.ndarray) and x.size >= COMPILED_VALUES and x.shape[1] > COMPILED_COLUMNS


def on_threads(x: object) -> bool:
    """Whether sums of a block of rows are added up on threads by themselves."""
    return use_compiled(x) or use_tiles(x)


def moments_by_part(block: Block) -> dict[int, Moments] | None:
    """The moments of every part; None where NumPy is as fast, or sums are too many."""
    x, y, labels = block.x, block.y, block.parts
    if not isinstance(x, np.ndarray) or x.dtype != np.float64 or labels is None or not block.n:
        return None
    low, count = int(labels.min()), int(labels.max()) - int(labels.min()) + 1
    p = x.shape[1] + y.shape[1]
    width = p + 1 + -(p + 1) % 4  # the loop multiplies four columns at a time
    # Numbers in the sums of all parts together.
    # Columns beyond which BLAS multiplies faster than the compiled loop.
    if p > 100 or x.size < MIN_VALUES or count * width**2 > 2_000_000:
        return None
    # as few kinds of arrays as can be: each would be compiled by itself
    if not (x.flags.c_contiguous or x.flags.f_contiguous) or not x.flags.writeable:
        x = x.copy(order="C")
    y, labels = np.require(y, None, ["C", "W"]), np.require(labels, np.int64, ["C", "W"])
    w = np.empty(0) if block.w is None else np.require(block.w, None, ["C", "W"])
    # Rows that are sorted by part together: those of few columns stay in cache.
    # Rows that are multiplied together: few enough to stay in cache, in an odd number of its lines.
    chunk = 520
    order = np.empty(min(block.n, max(8_192, 2 * chunk * count)), np.int64)
    z = scratch((width, chunk), "C")
    z[p + 1 :] = 0.0
    counts, shift = np.zeros(count, np.int64), np.zeros((count, p))
    sums = np.zeros((count, width, width))
    add_parts(x, y, w, labels, low, order, np.empty(count, np.int64), z, counts, shift, sums)
    parts = np.flatnonzero(counts).tolist()
    if block.w is not None:  # zero weight is the same as removing the row
        counts = np.bincount(labels[block.w > 0.0] - low, minlength=count)
    found = {
        low + k: _moments(block, int(counts[k]), sums[k, : p + 1, : p + 1], shift[k]) for k in parts
    }
    return None if None in found.values() else found  # type: ignore[return-value]


def _moments(block: Block, count: int, sums: Floats, shift: Floats) -> Moments | None:
    """Moments from Σ w (z, 1)(z, 1)ᵀ, of which the lower triangle is given; z is less ``shift``.

    None where this is too far from the mean.
    """
    weight = float(sums[-1, -1])
    if not count or not weight > 0.0:
        return Moments(block.terms, block.targets)
    total, lower = sums[-1, :-1], np.tril(sums[:-1, :-1])
    if not np.isfinite(total).all():
        raise not_finite(block, total)
    if not np.isfinite(lower).all():
        raise too_large(block, lower)
    gram = lower + np.tril(lower, -1).T
    mean = total / weight
    if _far_off(np.diag(gram), weight, mean, shift):
        return None
    gram -= weight * np.outer(mean, mean)
    return Moments(block.terms, block.targets, count, weight, shift + mean, gram)


# -------------------------------------------------------------------------------------------------
# A statistic by part of the data (fold, class, test part), and rows of which only that is left.


class Grouped(Generic[S]):
    """One statistic like ``inner`` for each value of ``block.parts``; merges part by part."""

    def __init__(self, inner: S, parts: dict[int, S] | None = None) -> None:
        self.inner = inner
        self.parts: dict[int, S] = {} if parts is None else parts

    def fresh(self) -> Self:
        """An empty statistic over the same inner statistic."""
        return type(self)(self.inner)

    def update(self, block: Block) -> None:
        """Add the rows of a block, each to the statistic of its part."""
        assert block.parts is not None, "the rows have no parts"
        labels = block.parts
        if isinstance(self.inner, Moments):
            moments = moments_by_part(block)
            if moments is not None:
                self.parts = merge(self.parts, cast(dict[int, S], moments))
                return
        if (np.diff(labels) < 0).any():  # sort once, so that every part is a contiguous slice
            order = counting_argsort(labels)
            block, labels = block.take(order), labels[order]
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        for a, b in pairwise(cuts):
            if b > a:
                part = self.parts.setdefault(int(labels[a]), self.inner.fresh())
                part.update(block.take(slice(a, b)))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.inner, merge(self.parts, other.parts))

    def total(self, without: int | None = None) -> S:
        """The statistic of all parts but ``without`` (the test rows of a fold)."""
        parts = [self.parts[v] for v in sorted(self.parts) if v != without]
        return reduce(lambda a, b: a + b, parts) if parts else self.inner.fresh()


def counting_argsort(labels: Ints) -> NDArray[np.intp]:
    """Stable order; labels that fit in one byte are sorted by counting, ten times faster."""
    low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
    small = (labels - low).astype(np.uint8) if high - low < 256 else labels
    return np.argsort(small, kind="stable")


class SummedRows(Rows):
    """A table of which only sums are left: what needs the rows is refused."""

    #: What is stored, and the models that it suffices for.
    stored: ClassVar[str] = "their moments"
    models: ClassVar[str] = "linear, ridge or lasso"

    def blocks(self) -> Iterator[Block]:
        """Refused: there are no rows."""
        self._refuse()

    def read(self) -> InMemory:
        """Refused: there are no rows."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"This model needs the rows, but only {self.stored} are stored.",
            remedy=f"Fit it to the table itself, or choose {self.models}.",
        )


class MomentRows(SummedRows):
    """A table reduced to raw moments by part; any other statistic is refused.

    The parts are relabeled 0, 1, …, and serve as the folds of cross-validation: the split was made
    when the rows were read.
    """

    def __init__(self, schema: Schema, parts: Mapping[int, Moments]) -> None:
        self.schema = schema
        self.parts = {i: parts[key] for i, key in enumerate(sorted(parts))}

    def without(self, fold: int) -> MomentRows:
        """All parts but one: the training part of a fold."""
        return MomentRows(self.schema, {k: m for k, m in self.parts.items() if k != fold})

    def reduce(self, statistic: S) -> S:
        """The moments of all rows, or by part; other statistics are refused."""
        grouped = Grouped(Moments(), dict(self.parts))
        if isinstance(statistic, Moments):
            return cast(S, grouped.total())
        if isinstance(statistic, Grouped) and isinstance(statistic.inner, Moments):
            return cast(S, grouped)
        return self._refuse()

    def with_parts(self, parts: Any) -> MomentRows:
        """Return these rows: the parts are those of the moments."""
        folds = parts.folds if isinstance(parts, Parts) else len(self.parts)
        if folds != len(self.parts):
            raise InputError(
                f"The moments are stored for {len(self.parts)} folds, not {folds}.",
                remedy=f"Use {len(self.parts)} folds, or summarize the table again.",
            )
        return self


# -------------------------------------------------------------------------------------------------
# Encoding of a table and moments of its design, in one pass; for each fold of a split, too.
#
# Imputation by a constant and dummy coding are linear in the raw terms, so the encoding is learned
# from raw moments and applied to raw moments: a fold is imputed with the means of its training rows
# without another pass. Only regression imputation reads the rows again.


M = TypeVar("M", Moments, Means)

#: Label of the test part.
TEST = -1


#: Columns from which those who need no moments of rows in memory should not pay for them.
MANY_COLUMNS = 100


class Prepared:
    """The design of a table: its rows, the encoding, the targets, and the moments when asked for.

    Parameters
    ----------
    rows, encoding, targets
        The design rows, how they were encoded, and the terms of their targets.
    moments : callable
        The moments of the design: known already, or computed in another pass.
    """

    def __init__(
        self, rows: Rows, encoding: Encoding, targets: Terms, moments: Callable[[], Moments]
    ) -> None:
        self.rows, self.encoding, self.targets = rows, encoding, targets
        self._compute = moments

    @cached_property
    def moments(self) -> Moments:
        """The moments of the design."""
        return self._compute()


def prepare(rows: Rows) -> Prepared:
    """Learn the encoding of a table in one pass over its rows (more for regression).

    The same pass finds the moments of a stream or of few columns. Those of many columns in memory
    are a large matrix, which is computed only if it is asked for.
    """
    if isinstance(rows, ArrayRows):
        targets = rows.block.targets
        return Prepared(rows, identity(rows.schema), targets, partial(rows.reduce, Moments()))
    if isinstance(rows, EncodedRows):
        known = not rows.encoding.is_identity
        targets = rows.encoding.targets if known else rows.reduce(Means()).targets
        return Prepared(rows, rows.encoding, targets, partial(rows.reduce, Moments()))
    schema = rows.schema
    if _many_columns(rows) and schema.missing != "regress":
        encoding = learn_encoding(schema, _some(rows, rows.reduce(Means())))
        moments = partial(_raw_moments, rows, encoding)
        return Prepared(EncodedRows(rows, encoding), encoding, encoding.targets, moments)
    raw = _some(rows, rows.reduce(Moments()))
    if schema.missing == "regress":
        imputation, raw = fit_imputation(rows.reduce, schema, raw)
        encoding = learn_encoding(schema, raw, imputation)
    else:
        encoding = learn_encoding(schema, raw)
    moments = partial(design_moments, encoding, raw)
    return Prepared(EncodedRows(rows, encoding), encoding, encoding.targets, moments)


def _many_columns(rows: Rows) -> bool:
    return isinstance(rows, InMemory) and rows.block.x.shape[1] >= MANY_COLUMNS


def _raw_moments(rows: Rows, encoding: Encoding) -> Moments:
    return design_moments(encoding, rows.reduce(Moments()))


def _some(rows: Rows, raw: M) -> M:
    """A statistic of at least one row."""
    if not raw.count:
        raise no_usable_rows(rows.schema, rows.dropped, None)
    return raw


@dataclass(frozen=True)
class PreparedSplit:
    """Moments of the training rows and of the test rows of a split.

    Both are over the design of ``encoding``, which was learned from the training rows alone.
    """

    encoding: Encoding
    train: Moments
    test: Moments


@dataclass(frozen=True)
class PreparedParts:
    """Raw moments of every part. Part −1 is the test part and is never trained on."""

    rows: Rows
    raw: Grouped[Moments]

    @property
    def folds(self) -> tuple[int, ...]:
        """The labels of the folds."""
        return tuple(sorted(part for part in self.raw.parts if part != TEST))

    def split(self, test: int = TEST) -> PreparedSplit:
        """The split into a test part (a fold, or the test part itself) and all other folds."""
        parts = frozenset(part for part in self.folds if part != test)
        train = Grouped(Moments(), {p: self.raw.parts[p] for p in sorted(parts)}).total()
        left_out = self.raw.parts.get(test, Moments())
        if not train.count:
            raise InputError(
                "a fold leaves no row to train on.", remedy="Use fewer folds or more rows."
            )
        if isinstance(self.rows, ArrayRows):
            return PreparedSplit(identity(self.rows.schema), train, left_out)
        if self.rows.schema.missing != "regress":
            encoding = learn_encoding(self.rows.schema, train)
            return PreparedSplit(
                encoding, design_moments(encoding, train), design_moments(encoding, left_out)
            )
        return self._by_regression(parts, test, train)

    def _by_regression(self, parts: frozenset[int], test: int, raw: Moments) -> PreparedSplit:
        """Imputed values depend on whole rows here, so both parts are read again."""

        def run(statistic: MappedStatistic[Moments]) -> MappedStatistic[Moments]:
            return MappedStatistic(
                self.rows.reduce(MappedStatistic(statistic, SelectedParts(parts))).inner.inner
            )

        schema = self.rows.schema
        imputation, completed = fit_imputation(run, schema, raw)
        encoding = learn_encoding(schema, completed, imputation)
        test_rows = MappedStatistic(Moments(), SelectedParts(frozenset({test})), encoding)
        return PreparedSplit(
            encoding, design_moments(encoding, completed), self.rows.reduce(test_rows).inner
        )


def prepare_parts(rows: Rows) -> PreparedParts:
    """Raw moments of each part, in one pass over rows with parts."""
    raw = rows.reduce(Grouped(Moments()))
    if not any(part.count for part in raw.parts.values()):
        raise no_usable_rows(rows.schema, rows.dropped, None)
    return PreparedParts(rows, raw)


# -- the encoding, from moments ----------------------------------------------------------------


def learn_encoding(
    schema: Schema, raw: Moments | Means, imputation: Imputation | None = None
) -> Encoding:
    """Fill values, levels and reference levels of a table, from its raw (or completed) moments."""
    terms: list[Term] = []
    columns: list[Column] = []
    fill_values: dict[str, float] = {}
    reference_levels: dict[str, str] = {}
    notes: list[str] = []
    for column in schema.columns:
        means = {term: raw.mean[raw.terms.position[term]] for term in _own_terms(column, raw)}
        if not means or not observed_fraction(raw, column.name):
            notes.append(f"Column {column.name!r} is left out: it has no value in any row.")
        elif column.kind is Kind.DISCRETE:
            levels = sorted(str(term.level) for term in means)
            reference = _most_frequent(means)
            if column.pooled in levels:  # a level without a coefficient, as those that come later
                reference = column.pooled
            reference_levels[column.name] = reference
            terms += [Term(column.name, level) for level in levels if level != reference]
            column = replace(column, levels=tuple(sorted({*column.levels, *levels})))
        else:
            mean = observed_mean(raw, Term(column.name), column.placeholder)
            fill_values[column.name] = float(mean > 0.5) if column.kind is Kind.BOOLEAN else mean
            terms.append(Term(column.name))
        if schema.missing == "indicator" and 0 < observed_fraction(raw, column.name) < 1:
            terms.append(Term(column.name, missing=True))
        columns.append(column)
    if not terms:
        raise InputError(
            "no column can be used: each has one level only, or no values.",
            remedy="Give more columns.",
        )
    return Encoding(
        schema=replace(schema, columns=tuple(columns)),
        terms=schema.ordered(terms),
        targets=schema.ordered(_observed_targets(raw)),
        fill_values={} if imputation is not None else fill_values,
        reference_levels=reference_levels,
        imputation=imputation,
        notes=tuple(notes),
    )


def _own_terms(column: Column, raw: Moments | Means) -> list[Term]:
    """The value of a numeric column, or the levels that occur."""
    if column.kind is not Kind.DISCRETE:
        return [term for term in (Term(column.name),) if term in raw.terms.position]
    levels = [
        term
        for term, mean in zip(raw.terms, raw.x_mean, strict=True)
        if term.column == column.name and term.level is not None and mean > 0
    ]
    if len(levels) > MAX_LEVELS:
        raise too_many_levels(column.name, None)
    return levels


def _most_frequent(means: dict[Term, float]) -> str:
    """The most frequent level; of equally frequent ones the first by name."""
    most = max(means.values())
    return min(str(t.level) for t, mean in means.items() if mean >= most * (1 - 1e-9))


def _observed_targets(raw: Moments | Means) -> list[Term]:
    return [
        term
        for term, mean in zip(raw.targets, raw.y_mean, strict=True)
        if term.level is None or mean > 0
    ]


def design_moments(encoding: Encoding, raw: Moments) -> Moments:
    """Moments of the design from raw moments: μ ↦ Aᵀμ, S ↦ AᵀSA.

    Levels and classes absent from the encoding are zero in the design.
    """
    if encoding.is_identity:
        return raw
    features, targets = encoding.map_from(raw.terms), encoding.targets_from(raw.targets)
    if features.is_identity and targets.is_identity:
        return raw
    return raw.mapped(features.matrix, targets.matrix, features.new, targets.new)


def with_placeholders(moments: Moments, old: Schema, new: Schema) -> Moments:
    """Raw moments restated for a schema with other placeholders, ready to be added."""
    before = {column.name: column.placeholder for column in old.columns}
    entries = [(i, i, 1.0) for i in range(len(moments.terms))]
    for column in new.columns:
        missing = moments.terms.position.get(Term(column.name, missing=True))
        value = moments.terms.position.get(Term(column.name))
        if missing is not None and value is not None and column.placeholder != before[column.name]:
            entries.append((missing, value, column.placeholder - before[column.name]))
    features = TermMap(moments.terms, moments.terms, tuple(entries))
    same = sparse.eye_array(len(moments.targets))
    return moments.mapped(features.matrix, same, moments.terms, moments.targets)


# -------------------------------------------------------------------------------------------------
# Estimation of the Gaussian behind regression imputation: impute, take moments, repeat.
#
#     (μ, Σ) of the completed table → imputed values → (μ, Σ) …      until (μ, Σ) is stable
#
# Each iteration is one pass over the rows. At the fixed point every missing value is its regression
# on the other columns. :class:`separatrix.rows.schema.Imputation` applies the result to rows.


MAX_ITER = 100


Pass = Callable[[MappedStatistic[Moments]], MappedStatistic[Moments]]


def fit_imputation(run: Pass, schema: Schema, raw: Moments) -> tuple[Imputation, Moments]:
    """The imputation at the fixed point, and the moments of the completed table.

    ``run`` passes a statistic over the training rows; ``raw`` are their raw moments.
    """
    current = _initial(schema, raw)
    if not any(term.missing for term in raw.terms):
        return replace(current, precision=_precision(raw), last_change=0.0), raw
    moments = run(MappedStatistic(Moments(), current)).inner
    change = np.inf
    for n_iter in range(1, MAX_ITER + 1):
        current = replace(
            current, mean=moments.x_mean, precision=_precision(moments), n_iter=n_iter
        )
        before, moments = moments, run(MappedStatistic(Moments(), current)).inner
        change = _change(before, moments)
        # Convergence: no mean moves by more standard deviations, no correlation by more.
        if change <= 1e-6:
            break
    else:
        warn(
            "SEP003",
            f"regression imputation still changed by {change:.1e} standard deviations "
            f"after {MAX_ITER} iterations.",
        )
    return replace(current, last_change=float(change)), moments


def _initial(schema: Schema, raw: Moments) -> Imputation:
    """Means of the observed values; columns without any value take no part."""
    empty = {t.column for t in raw.terms if t.missing and observed_fraction(raw, t.column) <= 0}
    terms = schema.ordered(t for t in without_missing(raw.terms) if t.column not in empty)
    columns = schema.by_name
    mean = np.array([observed_mean(raw, t, columns[t.column].placeholder) for t in terms])
    categorical = tuple(c.name for c in schema.columns if c.kind is not Kind.NUMERIC)
    return Imputation(terms, mean, np.eye(len(terms)), categorical)


def observed_fraction(raw: Moments | Means, column: str) -> float:
    """The fraction of the weight whose value in this column is observed."""
    missing = raw.terms.position.get(Term(column, missing=True))
    fraction = 1.0 if missing is None else 1.0 - float(raw.mean[missing])
    return fraction if fraction > 1e-12 else 0.0


def observed_mean(raw: Moments | Means, term: Term, placeholder: float) -> float:
    """Mean of the observed values: placeholder + (mean − placeholder) / observed fraction.

    Where the value is missing, the indicator of a level is 0 and a number is ``placeholder``.
    """
    origin = 0.0 if term.level is not None else placeholder
    mean = float(raw.mean[raw.terms.position[term]])
    return origin + (mean - origin) / observed_fraction(raw, term.column)


def _scales(moments: Moments) -> Floats:
    """Standard deviations, 1 for a constant column."""
    scale = Standardizer.from_moments(moments).scale
    return np.where(scale > 0, scale, 1.0)


def _precision(moments: Moments) -> Floats:
    """Inverse covariance, the eigenvalues of the correlation matrix bounded away from 0."""
    scale = _scales(moments)
    values, vectors = np.linalg.eigh(moments.xx / moments.weight / np.outer(scale, scale))
    # Eigenvalues of the correlation matrix below this are rounding errors.
    bounded = np.maximum(values, 1e-10 * max(float(values[-1]), 1.0))
    return np.asarray((vectors / bounded) @ vectors.T / np.outer(scale, scale))


def _change(before: Moments, after: Moments) -> float:
    """The largest change of a mean (in standard deviations) or of a correlation."""
    scale = _scales(after)
    means = np.abs(after.x_mean - before.x_mean) / scale
    correlations = np.abs(after.xx - before.xx) / after.weight / np.outer(scale, scale)
    return float(max(means.max(initial=0.0), correlations.max(initial=0.0)))


# -------------------------------------------------------------------------------------------------
# Right preconditioning of the columns: standardization, or whitening where nearly collinear.
#
#     z = (x − center) P,     Σ w zⱼ² = Σ w  for every column j,     b = P β
#
# Iterative methods fit β on z and do not depend on the units of x. P is diagonal (the reciprocal
# standard deviations) unless the columns of x are nearly collinear: then it also rotates them onto
# their principal axes, so that the columns of z are uncorrelated. Where columns are exactly
# dependent, z has as many columns as the rank, and b has the smallest norm.


@dataclass(frozen=True)
class Preconditioner:
    """The map z = (x − center) · rotation / scale; ``rotation`` (d x r) is None for the identity.

    ``dependent`` lists the columns that are linear combinations of earlier ones, constant columns
    included.
    """

    center: Floats
    scale: Floats
    rotation: Floats | None
    y_center: Floats
    centered: bool
    dependent: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Number of columns of z."""
        return len(self.scale)

    @property
    def rotated(self) -> bool:
        """Whether z are other directions than the columns."""
        return self.rotation is not None

    @property
    def matrix(self) -> Floats:
        """P, d x r."""
        return np.diag(1.0 / self.scale) if self.rotation is None else self.rotation / self.scale

    def transform(self, x: Floats) -> Floats:
        """Rows of z."""
        z = x - self.center
        if self.rotation is not None:
            z = z @ self.rotation
        z /= self.scale
        return np.asarray(z)

    def chunks(self, block: Block) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (z, y − y_center, w) of a block in chunks, without the rows of weight 0."""
        # Values in a chunk of rows that stays in cache.
        weights, step = block.weights, max(64, 400_000 // max(len(self.center), 1))
        for start in range(0, block.n, step):
            y = block.y[start : start + step] - self.y_center
            z = self.transform(block.dense(start, start + step))
            w = weights[start : start + step]
            if not w.all():
                z, y, w = z[w > 0], y[w > 0], w[w > 0]
            yield z, y, w

    def gram(self, moments: Moments) -> Floats:
        """Σ w z zᵀ; rotated columns are uncorrelated by construction."""
        if self.rotation is not None:
            return moments.weight * np.eye(self.rank)
        m = moments if self.centered else moments.about_origin()
        return np.asarray(m.xx / np.outer(self.scale, self.scale))

    def least_squares(self, moments: Moments) -> Floats:
        """The least-squares β (r x k), as a starting point."""
        m = moments if self.centered else moments.about_origin()
        return np.asarray(np.linalg.solve(self.gram(moments), self.matrix.T @ m.xy))

    def coef(self, beta: Floats) -> Floats:
        """P β, the coefficients of x."""
        return beta / self.scale[:, None] if self.rotation is None else self.matrix @ beta

    def unscale(self, beta: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """(coefficients, intercept) for x and y from those for z and y − y_center."""
        b = self.coef(beta)
        return b, self.y_center + intercept - self.center @ b

    def inverse(self, coef: Floats, intercept: float) -> tuple[Floats, float]:
        """β and the intercept for z and y − y_center, of one target, from those for x and y."""
        length = np.linalg.norm(self.matrix, axis=1)  # in units of each column, whatever those are
        length[length == 0.0] = 1.0
        beta = np.linalg.lstsq(self.matrix / length[:, None], coef / length, rcond=None)[0]
        return beta, intercept - float(self.y_center[0]) + float(self.center @ coef)


def column_scales(moments: Moments, about: Moments) -> Floats:
    """Root mean squares of the columns, exactly 0 for a constant column.

    ``about`` are the moments about the mean, or about the origin (a fit without intercept); what
    rounding alone could make of a column is measured by its mean in both cases.
    """
    scale = np.sqrt(np.maximum(np.diag(about.xx), 0.0) / about.weight)
    return zero_if_constant(scale, moments.x_mean)


def precondition(
    rows: Rows, moments: Moments, *, fit_intercept: bool, standard_norm: bool = False
) -> Preconditioner:
    """The preconditioner of a table; the rows are read again only if columns are collinear.

    Where columns are dependent, b has the smallest norm, or with ``standard_norm`` the coefficients
    of standardized columns have.
    """
    m = moments if fit_intercept else moments.about_origin()
    center, y_center = m.mean[: m.d], m.mean[m.d :]
    scale = column_scales(moments, m)
    varies = scale > 0
    unit = np.where(varies, scale, 1.0)
    correlation = m.xx / np.outer(unit, unit) / m.weight
    # Where the smallest eigenvalue of the correlation matrix is larger, standardization suffices.
    if varies.all() and (m.d == 0 or (m.d < m.count and linalg.eigvalsh(correlation)[0] > 1e-9)):
        return Preconditioner(center, scale, None, y_center, fit_intercept)
    r = rows.reduce(TriangularFactor(shift=m.mean)).r
    # below its first row, the factor of [1 X Y] is that of the centered [X Y]
    r = (r[1:] if fit_intercept else r)[:, 1 : 1 + m.d] / unit * varies
    # the rows themselves are rounded: columns far from zero depend on each other up to that
    offset = float(np.abs(moments.x_mean[varies] / unit[varies]).max(initial=1.0))
    tol = EPS * max(m.d, 10) * offset
    rotation, singular = _principal_axes(r, unit, tol, standard_norm)
    names = tuple(str(m.terms.items[j]) for j in dependent_columns(r, tol))
    names = names if len(singular) < m.d else ()
    scale = singular / np.sqrt(m.weight)
    return Preconditioner(center, scale, rotation, y_center, fit_intercept, names)


def _principal_axes(
    r: Floats, unit: Floats, tol: float, standard_norm: bool
) -> tuple[Floats, Floats]:
    """Principal axes of the standardized columns whose singular values exceed rounding errors.

    The rows of x span unit·V; coefficients within that span have the smallest norm of all with the
    same predictions, which the QR factorization of unit·V yields.
    """
    singular, v = linalg.svd(r, full_matrices=False)[1:]
    rank = int((singular > tol * singular.max(initial=0.0)).sum())
    v, singular = v[:rank].T, singular[:rank]
    if rank == len(unit) or standard_norm:
        return v / unit[:, None], singular
    q, triangle = linalg.qr(unit[:, None] * v, mode="economic")
    return q @ linalg.solve_triangular(triangle, np.eye(rank), trans="T"), singular


def dependent_columns(r: Floats, tol: float) -> list[int]:
    """Columns within rounding errors of the span of earlier ones; zero columns included."""
    basis = np.zeros((len(r), 0))
    found = []
    for j in range(r.shape[1]):
        length = float(np.linalg.norm(r[:, j]))
        residual = r[:, j] - basis @ (basis.T @ r[:, j])
        residual = residual - basis @ (basis.T @ residual)  # reorthogonalized against rounding
        distance = float(np.linalg.norm(residual))
        if distance <= 10 * tol * length or basis.shape[1] == len(r):
            found.append(j)
        else:
            basis = np.column_stack([basis, residual / distance])
    return found

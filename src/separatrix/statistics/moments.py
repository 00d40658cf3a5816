"""Weighted count, means and centered scatter of [X Y]: sufficient statistics of least squares.

    μ = Σ w z / Σ w,    S = Σ w (z − μ)(z − μ)ᵀ        for z = (x, y)

Two sets of rows merge by the centered update, with δ the difference of their means:

    S = S₁ + S₂ + (w₁ w₂ / (w₁ + w₂)) δ δᵀ

which never forms Σz² − n·μ², the difference of two large numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import NO_TERMS, Term, Terms
from separatrix.statistics.means import Means
from separatrix.statistics.standardizer import zero_if_constant


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
        return type(self)(
            terms,
            targets,
            a.count + b.count,
            weight,
            a.mean + step * (b.weight / weight),
            a.scatter + b.scatter + np.outer(step, step * (a.weight * b.weight / weight)),
        )

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
        from separatrix.statistics.part_moments import moments_by_part

        found = moments_by_part(replace(rows, parts=np.zeros(n, np.int64)))
        if found is not None:
            return found[0]
    chunk = int(np.clip(200_000 // max(p, 1), 64, 8192))
    by_column = isinstance(x, np.ndarray) and not x.flags.c_contiguous
    buffer = scratch((min(chunk, n), p), "F" if by_column else "C")
    shift = np.zeros(p)
    first = slice(0, len(buffer))
    shift[:d] = rows.dense(0, len(buffer)).mean(axis=0)
    shift[d:] = y[first].mean(axis=0)
    shift[~np.isfinite(shift)] = 0.0
    total, gram = np.zeros(p), np.zeros((p, p))
    with np.errstate(over="ignore", invalid="ignore"):
        _accumulate(rows, shift, chunk, buffer, total, gram)
    if not np.isfinite(total).all():
        raise not_finite(block, total)
    if not np.isfinite(gram).all():
        raise too_large(block, gram)
    weight = rows.weight
    total /= weight
    gram -= weight * np.outer(total, total)
    return Moments(block.terms, block.targets, n, weight, shift + total, gram)


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

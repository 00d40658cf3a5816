"""The triangular factor R of the QR factorization of [1 X Y], block by block (TSQR).

    [1 X Y] = Q R,     RᵀR = [1 X Y]ᵀ[1 X Y]

The condition number of R is that of X; that of XᵀX is its square. Two factors merge by the QR
factorization of one stacked on the other, so that one pass over blocks of rows suffices.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.formatting import plural
from separatrix.rows.schema import NO_TERMS, Block, Terms


class TriangularFactor:
    """Triangular factor R of the QR factorization of the weighted rows, mergeable with ``+``.

        √w [1, X − s, Y − s] = Q R

    R has the condition number of X, where the scatter matrix has its square: least squares from R
    is as accurate as from the rows.

    Parameters
    ----------
    terms : Terms, default=Terms(())
        The features, by column and level.
    targets : Terms, default=Terms(())
        The targets.
    count : int, default=0
        Number of rows of positive weight.
    r : ndarray of shape (rows, 1 + d + k), default=None
        The factor R, with a non-negative diagonal; None for that of no rows.
    shift : ndarray of shape (d + k,), default=None
        Numbers s subtracted from the columns, so that columns far from zero lose no digits.

    Attributes
    ----------
    terms : Terms
        The features.
    targets : Terms
        The targets.
    count : int
        Number of rows of positive weight.
    r : ndarray
        The factor R.
    shift : ndarray or None
        Numbers subtracted from the columns.

    See Also
    --------
    Moments : Mean and scatter matrix, cheaper and enough for well-conditioned columns.
    LinearRegression : Least squares, which uses R where columns are nearly collinear.
    TotalLeastSquares : Errors in all columns, from R.

    References
    ----------
    Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR and LU
    factorizations (2012).

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 5.0])
    >>> factor = sx.scan(x, y).reduce(sx.TriangularFactor())
    >>> rows = np.column_stack([np.ones(3), x, y])
    >>> bool(np.allclose(factor.r.T @ factor.r, rows.T @ rows))
    True
    """

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        count: int = 0,
        r: Floats | None = None,
        shift: Floats | None = None,
    ) -> None:
        self.terms, self.targets, self.count, self.shift = terms, targets, count, shift
        self.r = np.zeros((0, 1 + len(terms) + len(targets))) if r is None else r

    def __repr__(self) -> str:
        of = f"{plural(len(self.terms), 'column')} and {plural(len(self.targets), 'target')}"
        return f"Triangular factor of {of} over {plural(self.count, 'row')}"

    def fresh(self) -> Self:
        """Return the factor of no rows, with the same shift."""
        return type(self)(shift=self.shift)

    def update(self, block: Block) -> None:
        """Add the rows of a block, in chunks that stay in cache."""
        positive = block if block.w is None else block.take(np.flatnonzero(block.w > 0))
        step = max(1024, 4 * (1 + len(block.terms) + len(block.targets)))
        for start in range(0, positive.n, step):
            stop = min(start + step, positive.n)
            rows = np.concatenate(
                [np.ones((stop - start, 1)), positive.dense(start, stop), positive.y[start:stop]],
                axis=1,
            )
            if self.shift is not None:
                rows[:, 1:] -= self.shift
            if positive.w is not None:
                rows *= np.sqrt(positive.w[start:stop])[:, None]
            r = _r_of(rows)
            chunk = TriangularFactor(block.terms, block.targets, stop - start, r, self.shift)
            self.__dict__.update((self + chunk).__dict__)

    def __add__(self, other: TriangularFactor) -> Self:
        if not other.count:
            return self
        if not self.count:
            return type(self)(other.terms, other.targets, other.count, other.r, other.shift)
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        stacked = np.vstack([_align_factor(part, terms, targets) for part in (self, other)])
        return type(self)(terms, targets, self.count + other.count, _r_of(stacked), self.shift)


def _align_factor(factor: TriangularFactor, terms: Terms, targets: Terms) -> Floats:
    at = [0]
    at += [1 + terms.position[t] for t in factor.terms]
    at += [1 + len(terms) + targets.position[t] for t in factor.targets]
    wide = np.zeros((len(factor.r), 1 + len(terms) + len(targets)))
    wide[:, at] = factor.r
    return wide


def _r_of(rows: Floats) -> Floats:
    """R with a non-negative diagonal, so that it does not depend on the order of merging."""
    r = linalg.qr(rows, mode="r", check_finite=False)[0][: min(rows.shape)]
    sign = np.where(np.diag(r) < 0, -1.0, 1.0)
    return np.asarray(r * sign[:, None])

"""Weighted count, means and centred scatter of [X Y]: all that least squares needs of the rows.

    μ = Σ w z / Σ w,    S = Σ w (z − μ)(z − μ)ᵀ        for z = (x, y)

Two sets of rows merge by the centred update, with δ the difference of their means:

    S = S₁ + S₂ + (w₁ w₂ / (w₁ + w₂)) δ δᵀ

which never forms Σz² − n·μ², the difference of two large numbers.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Term, Terms

_NO_TERMS = Terms(())


class Moments:
    """Mergeable first and second moments. Features come first, targets after them."""

    def __init__(
        self,
        terms: Terms = _NO_TERMS,
        targets: Terms = _NO_TERMS,
        count: int = 0,
        weight: float = 0.0,
        mean: Floats | None = None,
        scatter: Floats | None = None,
    ) -> None:
        p = len(terms) + len(targets)
        self.terms, self.targets = terms, targets
        self.count, self.weight = count, weight
        self.mean = np.zeros(p) if mean is None else mean
        self.scatter = np.zeros((p, p)) if scatter is None else scatter

    # -- a pass over the rows ------------------------------------------------------------------

    def fresh(self) -> Self:
        """An empty one."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        merged = self + _of_block(block)
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
        """Over the given terms; a term unknown here was zero in every row (a level not met)."""
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        at = [terms.position[t] for t in self.terms]
        at += [len(terms) + targets.position[t] for t in self.targets]
        p = len(terms) + len(targets)
        mean, scatter = np.zeros(p), np.zeros((p, p))
        mean[at] = self.mean
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
        """Covariances of columns of unit variance; constant columns have none and give NaN."""
        sd = np.sqrt(np.diag(self.scatter))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.scatter / np.outer(sd, sd))

    @property
    def x_mean(self) -> Floats:
        """Means of the features."""
        return self.mean[: self.d]

    @property
    def y_mean(self) -> Floats:
        """Means of the targets."""
        return self.mean[self.d :]

    @property
    def xx(self) -> Floats:
        """Centred scatter of the features."""
        return self.scatter[: self.d, : self.d]

    @property
    def xy(self) -> Floats:
        """Centred scatter between features and targets."""
        return self.scatter[: self.d, self.d :]

    @property
    def yy(self) -> Floats:
        """Centred scatter of the targets."""
        return self.scatter[self.d :, self.d :]

    def about_origin(self) -> Moments:
        """The same rows about 0 in place of their mean: what a fit without intercept needs."""
        outer = self.weight * np.outer(self.mean, self.mean)
        return Moments(
            self.terms,
            self.targets,
            self.count,
            self.weight,
            np.zeros_like(self.mean),
            self.scatter + outer,
        )

    def mapped(self, matrix: Floats, terms: Terms) -> Moments:
        """Moments of (x A, y) without the rows: μ ↦ Aᵀμ, S ↦ AᵀSA; new terms named ``terms``."""
        full = np.zeros((len(self.mean), matrix.shape[1] + len(self.targets)))
        full[: self.d, : matrix.shape[1]] = matrix
        full[self.d :, matrix.shape[1] :] = np.eye(len(self.targets))
        return Moments(
            terms,
            self.targets,
            self.count,
            self.weight,
            self.mean @ full,
            full.T @ self.scatter @ full,
        )


def _of_block(block: Block) -> Moments:
    """Moments of the rows of one block, in cache-sized chunks about a provisional centre."""
    x, y, w = block.x, block.y, block.w
    if w is not None and (w == 0).any():  # a row of weight zero is a row removed
        keep = np.flatnonzero(w > 0)
        x, y, w = x[keep], y[keep], w[keep]
    n, d = x.shape
    p = d + y.shape[1]
    if n == 0:
        return Moments(block.terms, block.targets)
    kept = Block(x, y, w, block.terms, block.targets)
    chunk = int(np.clip(200_000 // max(p, 1), 64, 8192))
    by_column = isinstance(x, np.ndarray) and not x.flags.c_contiguous
    buffer = scratch((min(chunk, n), p), "F" if by_column else "C")
    shift = np.zeros(p)
    first = slice(0, len(buffer))
    shift[:d] = kept.dense(0, len(buffer)).mean(axis=0)
    shift[d:] = y[first].mean(axis=0)
    shift[~np.isfinite(shift)] = 0.0
    total, gram = np.zeros(p), np.zeros((p, p))
    with np.errstate(over="ignore", invalid="ignore"):
        _accumulate(kept, shift, chunk, buffer, total, gram)
    if not np.isfinite(total).all():
        raise not_finite(block, total)
    if not np.isfinite(gram).all():
        raise too_large(block, gram)
    weight = kept.weight
    total /= weight
    gram -= weight * np.outer(total, total)
    return Moments(block.terms, block.targets, n, weight, shift + total, gram)


def _accumulate(
    kept: Block, shift: Floats, chunk: int, buffer: Floats, total: Floats, gram: Floats
) -> None:
    """Add Σ w z and Σ w z zᵀ, z = (x, y) − shift, to ``total`` and ``gram``."""
    x, y, w = kept.x, kept.y, kept.w
    n, d = x.shape
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        z = buffer[: stop - start]
        np.subtract(kept.dense(start, stop), shift[:d], out=z[:, :d])
        np.subtract(y[start:stop], shift[d:], out=z[:, d:])
        if w is None:
            total += z.sum(axis=0)
        else:
            total += w[start:stop] @ z
            z *= np.sqrt(w[start:stop])[:, None]
        gram += z.T @ z


def not_finite(block: Block, total: Floats) -> InputError:
    """The refusal that names the first column with NaN or infinity."""
    j = int(np.flatnonzero(~np.isfinite(total))[0])
    term: Term = (block.terms.items + block.targets.items)[j]
    return InputError(
        "contains NaN or infinity.",
        column=term.column,
        remedy="Remove these rows, or fill the gaps with scan(…, missing='mean').",
    )


def too_large(block: Block, gram: Floats) -> InputError:
    """The refusal of numbers whose squares leave the range of a float."""
    j = int(np.flatnonzero(~np.isfinite(np.diag(gram)))[0])
    return InputError(
        "holds numbers so large that their squares overflow (beyond about 1e150).",
        column=(block.terms.items + block.targets.items)[j].column,
        remedy="Divide the column by a power of ten.",
    )

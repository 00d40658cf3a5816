"""Quadratic discriminant analysis without each of its rows: one class loses one term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.discriminant.leave_one_out.downdates import (
    LEAST_LEFT,
    downdated,
    left,
    plain_rows,
    softmax_in_place,
    whitening_of,
)
from separatrix.discriminant.leave_one_out.shared import priors_without_one
from separatrix.rows.block import Floats, Ints, to_array


@dataclass(frozen=True)
class QuadraticFits:
    """Probabilities without each row, of classes with covariances of their own.

    ``whitenings`` (K x d x d) have A Aᵀ = S⁻¹ of each class and ``volumes`` are ln|S|; ``white``
    (n x d) are the rows about the means of their classes times A; the rest as in ``SharedFits``.
    """

    own: Floats
    whitenings: Floats
    volumes: Floats
    means: Floats
    white: Floats
    codes: Ints
    counts: Floats
    log_priors: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """P₋ᵢ(k | x) (m x n x K)."""
        x = np.asarray(to_array(model._design(X)), dtype=float)
        scores = np.empty((len(x), len(self.codes), len(self.counts)))
        for k in range(len(self.counts)):
            t = (x - self.means[k]) @ self.whitenings[k]
            a = np.einsum("md,md->m", t, t)[:, None]
            rows = np.flatnonzero(self.codes == k)
            scores[:, :, k] = self._unchanged(k, a) + self.log_priors[self.codes, k]
            b = t @ self.white[rows].T
            scores[:, rows, k] = self._changed(k, a, b, rows) + self.log_priors[k, k]
        return softmax_in_place(scores)

    def _unchanged(self, k: int, a: Floats) -> Floats:
        """−½ ln|Σ| − ½ (x − μ)ᵀΣ⁻¹(x − μ) of a class with all its rows."""
        n, d = self.counts[k], self.means.shape[1]
        return np.asarray(-0.5 * (self.volumes[k] - d * np.log(n)) - 0.5 * n * a)

    def _changed(self, k: int, a: Floats, b: Floats, rows: Ints) -> Floats:
        """The same without each of some of its rows, along the last axis."""
        count, d = self.counts[k], self.means.shape[1]
        n = count - 1.0
        c = np.einsum("nd,nd->n", self.white[rows], self.white[rows])
        volume = self.volumes[k] + np.log(left(c, count)) - d * np.log(n)
        return np.asarray(-0.5 * volume - 0.5 * n * downdated(a, b, c, count, moves=True))

    def probabilities_of_rows(self, x: Floats) -> Floats:
        """P₋ᵢ(k | xᵢ) of the rows themselves (n x K)."""
        scores = np.empty((len(x), len(self.counts)))
        for k in range(len(self.counts)):
            t = (x - self.means[k]) @ self.whitenings[k]
            a = np.einsum("md,md->m", t, t)
            rows = np.flatnonzero(self.codes == k)
            scores[:, k] = self._unchanged(k, a)
            b = np.einsum("md,md->m", t[rows], self.white[rows])
            scores[rows, k] = self._changed(k, a[rows], b, rows)
        return softmax_in_place(scores + self.log_priors[self.codes])


def quadratic_fits(
    model: Any, X: Any, y: Any, sample_weight: Any, given: Floats | None
) -> QuadraticFits | None:
    """The fits of classes with own covariances; None where a row holds up the rank of one."""
    d = model.means_.shape[1]
    rows = plain_rows(model, X, y, sample_weight, least=d + 3)
    if rows is None:
        return None
    k = len(rows.counts)
    means, white = np.empty((k, d)), np.empty_like(rows.x)
    whitenings, volumes = np.empty((k, d, d)), np.empty(k)
    for c in range(k):
        mine = rows.codes == c
        means[c] = rows.x[mine].mean(axis=0)
        apart = rows.x[mine] - means[c]
        found = whitening_of(apart.T @ apart)
        if found is None:
            return None
        whitenings[c], volumes[c] = found
        white[mine] = apart @ whitenings[c]
    if left(np.einsum("nd,nd->n", white, white), rows.counts[rows.codes]).min() < LEAST_LEFT:
        return None
    fits = QuadraticFits(
        np.zeros((0, 0)), whitenings, volumes, means, white, rows.codes, rows.counts,
        priors_without_one(rows.counts, given),
    )  # fmt: skip
    own = fits.probabilities_of_rows(rows.x)
    return QuadraticFits(own, *list(vars(fits).values())[1:])

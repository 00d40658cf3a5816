"""Linear discriminant analysis without each of its rows: the shared scatter loses one term."""

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
from separatrix.rows.block import Floats, Ints, to_array


@dataclass(frozen=True)
class SharedFits:
    """Probabilities without each row, of classes with one covariance.

    ``whitening`` A (d x d) has A Aᵀ = S⁻¹, the scatter within classes; ``white`` (n x d) are the
    rows about the means of their classes, and ``means`` (K x d) those means, both times A.
    ``log_priors`` (K x K) are those of all classes (columns) when a class loses a row.
    """

    own: Floats
    whitening: Floats
    center: Floats
    white: Floats
    means: Floats
    codes: Ints
    counts: Floats
    log_priors: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """P₋ᵢ(k | x) (m x n x K)."""
        x = (np.asarray(to_array(model._design(X)), dtype=float) - self.center) @ self.whitening
        from_means = x[:, None, :] - self.means
        a = np.einsum("mkd,mkd->mk", from_means, from_means)
        b = x @ self.white.T
        products = self.means @ self.white.T
        scores = np.empty((len(x), len(self.codes), len(self.means)))
        for k in range(len(self.means)):
            self._score(scores[:, :, k], k, a[:, [k]], b - products[k])
        return softmax_in_place(scores)

    def _score(self, out: Floats, k: int, a: Floats, b: Floats) -> None:
        """Log scores of class k for m rows and each row left out, from a (m x 1) and b (m x n)."""
        c, n = np.einsum("nd,nd->n", self.white, self.white), self.counts[self.codes]
        factor = -0.5 * (self.counts.sum() - 1.0)
        mine = self.codes == k
        for rows, moves in ((mine, True), (~mine, False)):
            q = downdated(a, b[:, rows], c[rows], n[rows], moves=moves)
            out[:, rows] = factor * q + self.log_priors[self.codes[rows], k]

    def probabilities_of_rows(self) -> Floats:
        """P₋ᵢ(k | xᵢ) of the rows themselves (n x K)."""
        c, n = np.einsum("nd,nd->n", self.white, self.white), self.counts[self.codes]
        apart = self.means[self.codes][:, None, :] - self.means  # n x K x d
        from_means = self.white[:, None, :] + apart
        a = np.einsum("nkd,nkd->nk", from_means, from_means)
        b = np.einsum("nkd,nd->nk", from_means, self.white)
        stays = downdated(a, b, c[:, None], n[:, None], moves=False)
        moves = downdated(a, b, c[:, None], n[:, None], moves=True)
        own = np.arange(self.means.shape[0]) == self.codes[:, None]
        factor = -0.5 * (self.counts.sum() - 1.0)
        return softmax_in_place(factor * np.where(own, moves, stays) + self.log_priors[self.codes])


def priors_without_one(counts: Floats, given: Floats | None) -> Floats:
    """Log priors of all classes (columns) when each class (row) loses a row."""
    k = len(counts)
    if given is not None:
        with np.errstate(divide="ignore"):
            return np.tile(np.log(given), (k, 1))
    return np.asarray(np.log((counts - np.eye(k)) / (counts.sum() - 1.0)))


def shared_fits(
    model: Any, X: Any, y: Any, sample_weight: Any, given: Floats | None
) -> SharedFits | None:
    """The fits of classes with one covariance; None where a row holds up the rank of it."""
    rows = plain_rows(model, X, y, sample_weight, least=2)
    if rows is None or rows.x.shape[0] <= rows.x.shape[1] + len(rows.counts) + 1:
        return None
    sums = np.zeros((len(rows.counts), rows.x.shape[1]))
    center = rows.x.mean(axis=0)
    z = rows.x - center
    np.add.at(sums, rows.codes, z)
    means = sums / rows.counts[:, None]
    apart = z - means[rows.codes]
    found = whitening_of(apart.T @ apart, float(model.tol))
    if found is None:
        return None
    whitening = found[0]
    white = apart @ whitening
    if left(np.einsum("nd,nd->n", white, white), rows.counts[rows.codes]).min() < LEAST_LEFT:
        return None
    fits = SharedFits(
        np.zeros((0, 0)), whitening, center, white, means @ whitening, rows.codes, rows.counts,
        priors_without_one(rows.counts, given),
    )  # fmt: skip
    return SharedFits(fits.probabilities_of_rows(), *list(vars(fits).values())[1:])

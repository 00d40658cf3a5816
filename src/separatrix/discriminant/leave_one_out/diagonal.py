"""Gaussian naive Bayes without each of its rows: means and variances of one class change.

What is added to all variances depends on the range of the columns: without one of the rows at the
ends of a column every class changes, and is computed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.discriminant.leave_one_out.downdates import plain_rows, softmax_in_place
from separatrix.discriminant.leave_one_out.shared import priors_without_one
from separatrix.rows.block import Floats, Ints, to_array


@dataclass(frozen=True)
class DiagonalFits:
    """Probabilities without each row, of classes with variances of their own.

    ``means`` and ``variances`` (K x d) are those of all rows; ``own_means`` and ``own_variances``
    (n x d) those of the class of a row without it. ``extreme`` are the rows without which all
    variances change, to ``extreme_variances`` (e x K x d).
    """

    own: Floats
    means: Floats
    variances: Floats
    own_means: Floats
    own_variances: Floats
    codes: Ints
    log_priors: Floats
    extreme: Ints
    extreme_variances: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """P₋ᵢ(k | x) (m x n x K)."""
        x = np.asarray(to_array(model._design(X)), dtype=float)
        scores = np.empty((len(x), len(self.codes), len(self.means)))
        for k, mean in enumerate(self.means):
            scores[:, :, k] = _log_density(x, mean, self.variances[k])[:, None]
            rows = np.flatnonzero(self.codes == k)
            scores[:, rows, k] = _log_densities(
                x - mean, self.own_means[rows] - mean, self.own_variances[rows]
            )
        for e, i in enumerate(self.extreme):
            for k in range(len(self.means)):
                mean = self.own_means[i] if k == self.codes[i] else self.means[k]
                scores[:, i, k] = _log_density(x, mean, self.extreme_variances[e, k])
        scores += self.log_priors[self.codes]
        return softmax_in_place(scores)

    def probabilities_of_rows(self, x: Floats) -> Floats:
        """P₋ᵢ(k | xᵢ) of the rows themselves (n x K)."""
        scores = np.stack(
            [_log_density(x, m, v) for m, v in zip(self.means, self.variances, strict=True)], axis=1
        )
        every = np.arange(len(x))
        scores[every, self.codes] = _log_density(x, self.own_means, self.own_variances)
        for e, i in enumerate(self.extreme):
            for k in range(len(self.means)):
                mean = self.own_means[i] if k == self.codes[i] else self.means[k]
                scores[i, k] = _log_density(x[[i]], mean, self.extreme_variances[e, k])[0]
        return softmax_in_place(scores + self.log_priors[self.codes])


def _log_density(x: Floats, mean: Floats, variance: Floats) -> Floats:
    """−½ Σ (ln v + (x − μ)²/v) of every row."""
    return np.asarray(-0.5 * ((x - mean) ** 2 / variance + np.log(variance)).sum(axis=-1))


def _log_densities(z: Floats, means: Floats, variances: Floats) -> Floats:
    """The same of m rows under each of n densities (m x n), by products."""
    inverse = 1.0 / variances
    found = z**2 @ inverse.T - 2.0 * (z @ (means * inverse).T)
    found += (means**2 * inverse + np.log(variances)).sum(axis=1)
    found *= -0.5
    return np.asarray(found)


def diagonal_fits(
    model: Any, X: Any, y: Any, sample_weight: Any, given: Floats | None
) -> DiagonalFits | None:
    """The fits of Gaussian naive Bayes; None where a class does not vary without a row."""
    rows = plain_rows(model, X, y, sample_weight, least=3)
    if rows is None:
        return None
    x, codes, n = rows.x, rows.codes, rows.counts[rows.codes][:, None]
    classes = range(len(rows.counts))
    means = np.stack([x[codes == k].mean(axis=0) for k in classes])
    apart = x - means[codes]
    scatter = np.stack([(apart[codes == k] ** 2).sum(axis=0) for k in classes])
    added, extreme, other = _added(x, float(model.var_smoothing))
    own_means = means[codes] - apart / (n - 1.0)
    plain = (scatter[codes] - n / (n - 1.0) * apart**2) / (n - 1.0)
    spread = scatter / rows.counts[:, None]
    if (plain <= 1e-9 * spread[codes]).any() or (spread <= 1e-20 * np.abs(means) ** 2).any():
        return None
    extreme_variances = spread + other[:, None, :]
    extreme_variances[np.arange(len(extreme)), codes[extreme]] = plain[extreme] + other
    fits = DiagonalFits(
        np.zeros((0, 0)), means, spread + added, own_means, plain + added, codes,
        priors_without_one(rows.counts, given), extreme, extreme_variances,
    )  # fmt: skip
    own = fits.probabilities_of_rows(x)
    return DiagonalFits(own, *list(vars(fits).values())[1:])


def _added(x: Floats, smoothing: float) -> tuple[Floats, Ints, Floats]:
    """What is added to variances; the rows whose absence changes it, and to what (e x d)."""
    order = np.sort(x, axis=0)
    added = smoothing * (0.5 * (order[-1] - order[0])) ** 2
    if not smoothing:
        return added, np.zeros(0, dtype=np.int64), np.zeros((0, x.shape[1]))
    lowest = (x == order[0]) & (order[0] < order[1])
    highest = (x == order[-1]) & (order[-1] > order[-2])
    extreme = np.flatnonzero((lowest | highest).any(axis=1))
    low = np.where(lowest[extreme], order[1], order[0])
    high = np.where(highest[extreme], order[-2], order[-1])
    return added, extreme, smoothing * (0.5 * (high - low)) ** 2

"""Discriminants without each of their rows, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.rows.rows import Rows
from separatrix.rows.schema import to_array

# -------------------------------------------------------------------------------------------------
# Linear discriminant analysis without each of its rows: the shared scatter loses one term.


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
            q = downdate(a, b[:, rows], c[rows], n[rows], moves=moves)
            out[:, rows] = factor * q + self.log_priors[self.codes[rows], k]

    def probabilities_of_rows(self) -> Floats:
        """P₋ᵢ(k | xᵢ) of the rows themselves (n x K)."""
        c, n = np.einsum("nd,nd->n", self.white, self.white), self.counts[self.codes]
        apart = self.means[self.codes][:, None, :] - self.means  # n x K x d
        from_means = self.white[:, None, :] + apart
        a = np.einsum("nkd,nkd->nk", from_means, from_means)
        b = np.einsum("nkd,nd->nk", from_means, self.white)
        stays = downdate(a, b, c[:, None], n[:, None], moves=False)
        moves = downdate(a, b, c[:, None], n[:, None], moves=True)
        is_own_class = np.arange(self.means.shape[0]) == self.codes[:, None]
        factor = -0.5 * (self.counts.sum() - 1.0)
        return softmax_in_place(
            factor * np.where(is_own_class, moves, stays) + self.log_priors[self.codes]
        )


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


# -------------------------------------------------------------------------------------------------
# Quadratic discriminant analysis without each of its rows: one class loses one term.


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
            scores[:, :, k] = self._keep_factor(k, a) + self.log_priors[self.codes, k]
            b = t @ self.white[rows].T
            scores[:, rows, k] = self._change_factor(k, a, b, rows) + self.log_priors[k, k]
        return softmax_in_place(scores)

    def _keep_factor(self, k: int, a: Floats) -> Floats:
        """−½ ln|Σ| − ½ (x − μ)ᵀΣ⁻¹(x − μ) of a class with all its rows."""
        n, d = self.counts[k], self.means.shape[1]
        return np.asarray(-0.5 * (self.volumes[k] - d * np.log(n)) - 0.5 * n * a)

    def _change_factor(self, k: int, a: Floats, b: Floats, rows: Ints) -> Floats:
        """The same without each of some of its rows, along the last axis."""
        count, d = self.counts[k], self.means.shape[1]
        n = count - 1.0
        c = np.einsum("nd,nd->n", self.white[rows], self.white[rows])
        volume = self.volumes[k] + np.log(left(c, count)) - d * np.log(n)
        return np.asarray(-0.5 * volume - 0.5 * n * downdate(a, b, c, count, moves=True))

    def probabilities_of_rows(self, x: Floats) -> Floats:
        """P₋ᵢ(k | xᵢ) of the rows themselves (n x K)."""
        scores = np.empty((len(x), len(self.counts)))
        for k in range(len(self.counts)):
            t = (x - self.means[k]) @ self.whitenings[k]
            a = np.einsum("md,md->m", t, t)
            rows = np.flatnonzero(self.codes == k)
            scores[:, k] = self._keep_factor(k, a)
            b = np.einsum("md,md->m", t[rows], self.white[rows])
            scores[rows, k] = self._change_factor(k, a[rows], b, rows)
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
        whitening = whitening_of(apart.T @ apart)
        if whitening is None:
            return None
        whitenings[c], volumes[c] = whitening
        white[mine] = apart @ whitenings[c]
    if left(np.einsum("nd,nd->n", white, white), rows.counts[rows.codes]).min() < LEAST_LEFT:
        return None
    fits = QuadraticFits(
        np.zeros((0, 0)), whitenings, volumes, means, white, rows.codes, rows.counts,
        priors_without_one(rows.counts, given),
    )  # fmt: skip
    probabilities = fits.probabilities_of_rows(rows.x)
    return QuadraticFits(probabilities, *list(vars(fits).values())[1:])


# -------------------------------------------------------------------------------------------------
# Gaussian naive Bayes without each of its rows: means and variances of one class change.
#
# What is added to all variances depends on the range of the columns: without one of the rows at the
# ends of a column every class changes, and is computed by itself.


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
    densities = z**2 @ inverse.T - 2.0 * (z @ (means * inverse).T)
    densities += (means**2 * inverse + np.log(variances)).sum(axis=1)
    densities *= -0.5
    return np.asarray(densities)


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
    added, extreme, other = _smoothing_terms(x, float(model.var_smoothing))
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
    probabilities = fits.probabilities_of_rows(x)
    return DiagonalFits(probabilities, *list(vars(fits).values())[1:])


def _smoothing_terms(x: Floats, smoothing: float) -> tuple[Floats, Ints, Floats]:
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


# -------------------------------------------------------------------------------------------------
# What leaving a row out does to the mean and the scatter of its class.
#
#     μ′ = μ − v/(n − 1),     S′ = S − β v vᵀ,     v = xᵢ − μ,  β = n/(n − 1)
#     (x − μ′)ᵀ S′⁻¹ (x − μ′) = a′ + β b′² / (1 − β c),     |S′| = |S| (1 − β c)
#
# with a′ = a + 2 b/(n − 1) + c/(n − 1)², b′ = b + c/(n − 1) and, for t = x − μ, a = tᵀS⁻¹t,
# b = tᵀS⁻¹v, c = vᵀS⁻¹v. Of a class that keeps its mean a′ = a and b′ = b.


#: Below this 1 − β c a row is the only one in its direction: without it the scatter is singular.
LEAST_LEFT = 1e-8


@dataclass(frozen=True)
class DenseClassRows:
    """Dense rows, the class of each, and how many rows each class has."""

    x: Floats
    codes: Ints
    counts: Floats


def plain_rows(model: Any, X: Any, y: Any, sample_weight: Any, least: int) -> DenseClassRows | None:
    """The rows of a fit; None with weights, encoded columns, or a class of fewer than ``least``."""
    weighted = sample_weight is not None and bool((np.asarray(sample_weight) != 1.0).any())
    if isinstance(X, Rows) or weighted or not model.encoding_.is_identity:
        return None
    x = np.asarray(to_array(model._design(X)), dtype=float)
    codes = np.searchsorted(model.classes_, np.asarray(y))
    counts = np.bincount(codes, minlength=len(model.classes_)).astype(float)
    return None if counts.min() < least else DenseClassRows(x, codes, counts)


def whitening_of(scatter: Floats, tol: float = 0.0) -> tuple[Floats, float] | None:
    """A with A Aᵀ = S⁻¹, and ln|S|; None where S is nearly singular in standardized columns.

    ``tol`` is the standard deviation up to which a model leaves directions out.
    """
    scale = np.sqrt(np.diagonal(scatter))
    if not (scale > 0.0).all():
        return None
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    # The least eigenvalue of a scatter matrix in standardized columns that is inverted here.
    if values.min() < max(1e-7, 10.0 * tol**2):
        return None
    volume = float(np.log(values).sum() + 2.0 * np.log(scale).sum())
    return (vectors / np.sqrt(values)) / scale[:, None], volume


def downdate(a: Floats, b: Floats, c: Floats, n: Floats | float, *, moves: bool) -> Floats:
    """(x − μ′)ᵀS′⁻¹(x − μ′), of the class that loses the row (``moves``) or of another."""
    beta, step = n / (n - 1.0), 1.0 / (n - 1.0)
    if moves:
        a, b = a + 2.0 * step * b + step**2 * c, b + step * c
    return np.asarray(a + beta * b**2 / (1.0 - beta * c))


def left(c: Floats, n: Floats | float) -> Floats:
    """1 − β c."""
    return np.asarray(1.0 - n / (n - 1.0) * c)


def softmax_in_place(scores: Floats) -> Floats:
    """Probabilities from log scores along the last axis, written over them."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores

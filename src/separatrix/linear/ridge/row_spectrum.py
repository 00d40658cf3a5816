"""All penalties from one eigendecomposition of the n x n products of the rows.

    ZZᵀ = U diag(λ) Uᵀ   ⇒   c(α) = U (Uᵀy / (λ + α)),   b(α) = Zᵀc(α)

Leave-one-out errors and folds come from the same matrix: removing rows, and centering about the
mean of those that are left, are operations on inner products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.linear.ridge.wide import CenteredRows, dual_certificate
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints


@dataclass(frozen=True)
class RowSpectrum:
    """Eigenvalues ``values`` (r) > 0 and eigenvectors ``vectors`` (n x r) of √w ``gram`` √w.

    ``gram`` holds the products of centered rows before weights, ``root`` is √w.
    """

    gram: Floats
    root: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, gram: Floats, root: Floats) -> RowSpectrum:
        """Eigenvalues beyond rounding."""
        weighted = gram if (root == 1.0).all() else gram * np.outer(root, root)
        values, vectors = linalg.eigh(weighted, check_finite=False)
        positive = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
        return cls(gram, root, values[positive], vectors[:, positive])

    def duals(self, y: Floats, alphas: Floats) -> Floats:
        """c for every α > 0 and target (n x m x k)."""
        inverse = 1.0 / (self.values[:, None] + alphas)
        inner = inverse[:, :, None] * (self.vectors.T @ y)[:, None, :]
        n, (r, m, k) = len(self.vectors), inner.shape
        return (self.vectors @ inner.reshape(r, m * k)).reshape(n, m, k)

    def coordinates(self) -> Floats:
        """Rows along the principal directions, each in units of √λ (n x r), before weights."""
        u = self.vectors / np.where(self.root > 0.0, self.root, 1.0)[:, None]
        out = self.root == 0.0
        if out.any():
            u[out] = self.gram[out] @ (self.root[:, None] * self.vectors) / self.values
        return u


def coefs_of(rows: CenteredRows, duals: Floats) -> Floats:
    """b = Zᵀc for every α and target (m x d x k)."""
    n, m, k = duals.shape
    coefs = rows.transposed_times(duals.reshape(n, m * k))
    return coefs.reshape(-1, m, k).transpose(1, 0, 2)


def certify_duals(
    rows: CenteredRows, gram: Floats, duals: Floats, coefs: Floats, alphas: Floats
) -> list[Certificate]:
    """Certificates for every α; objectives and gaps of the targets add up."""
    n, m, k = duals.shape
    fitted = rows.times(coefs.transpose(1, 0, 2).reshape(-1, m * k)).reshape(n, m, k)
    found = []
    for i, alpha in enumerate(alphas):
        c, square = duals[:, i], (coefs[i] ** 2).sum(axis=0)
        weighted = rows.root[:, None] * c
        inner = np.einsum("nk,nk->k", weighted, gram @ weighted)
        apart = np.abs(square - 2.0 * np.einsum("nk,nk->k", c, fitted[:, i]) + inner).sum()
        found.append(
            dual_certificate(rows.y, fitted[:, i], alpha * c, alpha * square, float(alpha * apart))
        )
    return found


def fold_predictions(
    gram: Floats,
    y: Floats,
    w: Floats,
    fold: tuple[Ints, Ints],
    alphas: Floats,
    *,
    fit_intercept: bool,
) -> Floats:
    """Predictions for test rows (n x m x k) by the other rows, from the products of all rows.

    ``gram`` and ``y`` are those before weights, ``gram`` about any point near the mean.
    """
    train, test = fold
    among, across, weight = gram[np.ix_(train, train)], gram[np.ix_(test, train)], w[train]
    mean = np.zeros(y.shape[1])
    if fit_intercept:
        share = weight / weight.sum()
        mean = share @ y[train]
        middle, beside = among @ share, across @ share
        square = float(share @ middle)
        among = among - middle[:, None] - middle + square
        across = across - beside[:, None] - middle + square
    root = np.sqrt(weight)
    spectrum = RowSpectrum.of(among, root)
    duals = spectrum.duals((y[train] - mean) * root[:, None], alphas) * root[:, None, None]
    n, m, k = duals.shape
    found = (across @ duals.reshape(n, m * k)).reshape(-1, m, k)
    return np.asarray(found + mean)

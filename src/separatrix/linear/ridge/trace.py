"""Ridge on rows in memory: one penalty, or a path, by the route that suits their shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from separatrix.linear.least_squares.certificate import certify_ridge_rows
from separatrix.linear.least_squares.minimum_norm import solve_wide
from separatrix.linear.ridge.implicit import (
    by_products,
    implicit_path,
    largest_eigenvalue,
    solve_sparse,
)
from separatrix.linear.ridge.row_spectrum import RowSpectrum, certify_duals, coefs_of
from separatrix.linear.ridge.spectrum import RidgeOptions, RidgeTrace, Spectrum
from separatrix.linear.ridge.wide import CenteredRows, solve_in_rows
from separatrix.matrices.graded import GradedRows
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats, to_array
from separatrix.statistics.moments import Moments

Grid = Callable[[Spectrum], Floats]


def ridge_from_block(block: Block, alpha: Floats, options: RidgeOptions) -> Solution:
    """One α > 0 per target, from rows in memory: in the space of the rows.

    By products alone where there are too many of rows and columns; on graded rows where units
    differ so much that the products of rows lose the small columns.
    """
    if by_products(block):
        return solve_sparse(block, alpha, **vars(options))
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    found = solve_in_rows(rows, alpha)
    if found is not None:
        certificate = found.certificate(rows.y, alpha)
        if certificate.holds:
            return Solution(*rows.in_table_units(found.coef), certificate)
    z = rows.dense()
    coef, dual = GradedRows.of(z).solve(z, rows.y, alpha)
    certificate = certify_ridge_rows(z, rows.y, coef, alpha, dual)
    return Solution(*rows.in_table_units(coef), certificate)


def trace_rows(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace:
    """The path from rows in memory, every point certified; ``grid`` places the penalties."""
    return (_trace_products if by_products(block) else _trace_block)(block, options, grid)


def path_coefs(
    source: Moments | Block, alphas: Floats, options: RidgeOptions
) -> tuple[Floats, Floats]:
    """Coefficients (m x d x k) and intercepts (m x k) for every α."""
    if isinstance(source, Block):
        path = trace_rows(source, options, lambda _: alphas)
        return path.coefs, path.intercepts
    return Spectrum.from_moments(*options.scaled(source)).coefs(alphas)


def _trace_products(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace:
    """By products alone, without eigenvalues but the largest."""
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    k, none = rows.y.shape[1], np.zeros(0)
    spectrum = Spectrum(
        none, None, np.zeros((0, k)), rows.scale, rows.x_mean, rows.y_mean,
        (rows.y**2).sum(axis=0), rows.weight,
    )  # fmt: skip
    largest = replace(spectrum, values=np.array([largest_eigenvalue(rows)]))
    alphas = grid(largest)
    coefs, certificates = implicit_path(rows, alphas)
    coefs /= rows.scale[:, None]
    intercepts = rows.y_mean - np.einsum("d,adk->ak", rows.x_mean, coefs)
    return RidgeTrace(spectrum, alphas, coefs, intercepts, tuple(certificates))


def _trace_block(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace:
    """The path from rows in memory, every point certified; α = 0 is least squares.

    ``grid`` places the penalties on a spectrum.
    """
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    found = RowSpectrum.of(rows.unweighted_gram(), rows.root)
    spectrum = Spectrum.from_rows(rows, found)
    alphas = grid(spectrum)
    positive = np.where(alphas > 0.0, alphas, 1.0)
    duals = found.duals(rows.y, positive)
    coefs = coefs_of(rows, duals)
    certificates = certify_duals(rows, found.gram, duals, coefs, positive)
    if not all(certificate.holds for certificate in certificates):
        return _trace_graded(block, rows, options, grid)
    coefs = coefs / rows.scale[:, None]
    intercepts = rows.y_mean - np.einsum("d,adk->ak", rows.x_mean, coefs)
    path = RidgeTrace(spectrum, alphas, coefs, intercepts, tuple(certificates), found.coordinates())
    return _without_penalty(path, block, options)


def _trace_graded(
    block: Block, rows: CenteredRows, options: RidgeOptions, grid: Grid
) -> RidgeTrace:
    """The same on graded rows, where units differ too much for products of rows."""
    z = rows.dense()
    u, s, v = GradedRows.of(z).singular()
    spectrum = Spectrum.from_singular(rows, u, s, v)
    alphas = grid(spectrum)
    coefs, intercepts = spectrum.coefs(alphas)
    certificates, inner = [], u.T @ rows.y
    for alpha, coef in zip(np.where(alphas > 0.0, alphas, 1.0), coefs, strict=True):
        dual = rows.y - u @ (inner * (s**2 / (s**2 + alpha))[:, None])
        same = np.full(coef.shape[1], alpha)
        certificates.append(certify_ridge_rows(z, rows.y, coef * rows.scale[:, None], same, dual))
    path = RidgeTrace(
        spectrum, alphas, coefs, intercepts, tuple(certificates), _unweighted(rows, u, v / s), True
    )
    return _without_penalty(path, block, options)


def _unweighted(rows: CenteredRows, u: Floats, rotation: Floats) -> Floats:
    """Coordinates of the rows before weights; those of weight zero by products with the row."""
    out = rows.root == 0.0
    u = u / np.where(out, 1.0, rows.root)[:, None]
    if out.any():
        centered = (to_array(rows.x[out]) - rows.x_mean) / rows.scale
        u[out] = centered @ rotation
    return np.asarray(u)


def _without_penalty(path: RidgeTrace, block: Block, options: RidgeOptions) -> RidgeTrace:
    """Least squares, by its own solver, at the points of the path where α = 0."""
    at = np.flatnonzero(path.alphas == 0.0)
    if not len(at):
        return path
    plain = solve_wide(block, fit_intercept=options.fit_intercept)
    path.coefs[at], path.intercepts[at] = plain.coef, plain.intercept
    certificates = [
        plain.certificate if alpha == 0.0 else found
        for alpha, found in zip(path.alphas, path.certificates, strict=True)
    ]
    return replace(path, certificates=tuple(certificates))

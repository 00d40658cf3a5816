"""Predictive probabilities: the mean of the sigmoid, or of the softmax, of normal scores.

    P(class) = E σ(f),   f ~ N(m, s²)

Two classes, by quadrature: Gauss–Hermite with 64 nodes for s ≤ 1; beyond, where the sigmoid is
steeper than the normal density, the same integral by parts, ∫ σ′(u) Φ((m − u)/s) du, by the
trapezoidal rule, which converges geometrically because σ′ is analytic in a strip. Both are within
1e-12. The probit approximation replaces σ by Φ(√(π/8) f) of equal slope: σ(m / √(1 + πs²/8)).

Several classes: tensor products of Gauss–Hermite rules for three and four classes while the scores
have small variances, and a fixed Sobol sequence with its mirror image otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, ndtr, ndtri

from separatrix.bayes.logistic.loops.softmax import to_probabilities
from separatrix.geometry.class_scores import softmax
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Nodes by dimension of a tensor product, and those of a Sobol sequence.
TENSOR, SOBOL = {2: 61, 3: 19}, 2048
#: Variance of a coordinate of the scores up to which tensor products are the more accurate.
WIDE: defaultdict[int, float] = defaultdict(lambda: -1.0, {2: 9.0, 3: 2.0})
#: Scores of nodes computed at a time.
CHUNK = 50_000
#: Largest difference between the probit approximation and the integral, over all m and s.
PROBIT_ERROR = 0.018
#: Error of the quadrature of two classes.
QUADRATURE_ERROR = 1e-12


def sigmoid_mean(mean: Floats, variance: Floats) -> Floats:
    """E σ(f) by quadrature."""
    sd = np.sqrt(variance)
    out = np.empty_like(mean)
    parallel_map(
        lambda rows: _sigmoid_mean(mean[rows], sd[rows], out[rows]), pieces(len(mean), 4096)
    )
    return out


def _sigmoid_mean(mean: Floats, sd: Floats, out: Floats) -> None:
    nodes, weights = _hermite(64)
    small = sd <= 1.0
    out[small] = expit(mean[small, None] + sd[small, None] * nodes) @ weights
    u, slope = _logistic_density()
    m, s = mean[~small], sd[~small]
    # the nearer class, so that a small probability has its digits
    tail = ndtr((-np.abs(m)[:, None] - u) / s[:, None]) @ slope
    out[~small] = np.where(m <= 0.0, tail, 1.0 - tail)


@cache
def _hermite(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a rule for N(0, 1)."""
    nodes, weights = hermegauss(count)
    total = float(np.sum(weights))
    return np.array(nodes, dtype=np.float64), np.array(weights / total, dtype=np.float64)


@cache
def _logistic_density() -> tuple[Floats, Floats]:
    """Nodes u and h σ′(u) of the trapezoidal rule, which add up to one."""
    u = np.linspace(-32.0, 32.0, 129)
    slope = expit(u) * expit(-u)
    return u, np.asarray(slope / slope.sum())


def probit_mean(mean: Floats, variance: Floats) -> Floats:
    """σ(m / √(1 + πs²/8)), MacKay's approximation."""
    return np.asarray(expit(mean / np.sqrt(1.0 + np.pi * variance / 8.0)))


def softmax_mean(
    mean: Floats, covariance: Floats, basis: Floats, *, coarse: bool = False
) -> Floats:
    """E softmax(C f) by row over the nodes of a rule; a ``coarse`` one has about half of them."""
    out, dimension = np.empty((len(mean), len(basis))), mean.shape[1]
    narrow = np.einsum("naa->na", covariance).max(axis=1) <= WIDE[dimension]
    for rule, rows in ((_tensor, np.flatnonzero(narrow)), (_sobol, np.flatnonzero(~narrow))):
        if len(rows):
            out[rows] = _over_nodes(mean[rows], covariance[rows], basis, *rule(dimension, coarse))
    return out


def _over_nodes(
    mean: Floats, covariance: Floats, basis: Floats, nodes: Floats, weights: Floats
) -> Floats:
    """Σ over nodes of weight · softmax(C (mean + root · node)) by row.

    The most probable class at the mean has what the others leave of one: their probabilities are
    sums of positive terms, small as they may be.
    """
    out, k = np.empty((len(mean), len(basis))), np.arange(len(basis) - 1)

    def part(rows: slice) -> None:
        values, vectors = np.linalg.eigh(covariance[rows])
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
        first = (mean[rows] @ basis.T).argmax(axis=1)[:, None]
        others = k + (k >= first)
        differences = basis[others] - basis[first]
        scores = differences @ root @ nodes + differences @ mean[rows, :, None]
        to_probabilities(scores, weights)
        found = scores.sum(axis=2)
        np.put_along_axis(out[rows], others, found, 1)
        np.put_along_axis(out[rows], first, 1.0 - found.sum(axis=1, keepdims=True), 1)

    parallel_map(part, pieces(len(mean), 1, max(64, len(mean) * nodes.size // CHUNK)))
    return out


@cache
def _tensor(dimension: int, coarse: bool) -> tuple[Floats, Floats]:
    """Nodes (dimension x q) and weights of a tensor product of Gauss–Hermite rules."""
    count = TENSOR[dimension] * 3 // 4 if coarse else TENSOR[dimension]
    t, w = _hermite(count)
    grid = np.meshgrid(*[t] * dimension, indexing="ij")
    weights = np.prod(np.meshgrid(*[w] * dimension, indexing="ij"), axis=0).ravel()
    nodes = np.stack([axis.ravel() for axis in grid])
    used = weights > 1e-17
    return np.ascontiguousarray(nodes[:, used]), weights[used] / weights[used].sum()


@cache
def _sobol(dimension: int, coarse: bool) -> tuple[Floats, Floats]:
    """Nodes (dimension x q) of a Sobol sequence and of its mirror image, and equal weights."""
    from scipy.stats import qmc

    count = SOBOL // 2 if coarse else SOBOL
    uniform = qmc.Sobol(dimension, scramble=False).random(count) + 0.5 / count
    half = ndtri(uniform).T
    nodes = np.concatenate([half, -half], axis=1)
    return np.ascontiguousarray(nodes), np.full(2 * count, 0.5 / count)


def softmax_probit(mean: Floats, covariance: Floats, basis: Floats) -> Floats:
    """1 / Σⱼ exp((mⱼ − mₖ) / √(1 + πsⱼₖ²/8)), sⱼₖ² the variance of a difference of scores.

    Divided by their sum; with two classes this is MacKay's approximation.
    """
    scores = mean @ basis.T
    spread = np.einsum("ka,nab,lb->nkl", basis, covariance, basis, optimize=True)
    own = np.einsum("nkk->nk", spread)
    variance = np.maximum(own[:, :, None] + own[:, None, :] - 2.0 * spread, 0.0)
    differences = scores[:, None, :] - scores[:, :, None]  # mⱼ − mₖ at [k, j]
    return softmax(
        -np.logaddexp.reduce(differences / np.sqrt(1.0 + np.pi * variance / 8.0), axis=2)
    )

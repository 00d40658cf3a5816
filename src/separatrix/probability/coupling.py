"""Pairwise coupling: class probabilities from those of every pair of classes.

    min over p of  Σᵢ Σⱼ≠ᵢ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)²     with Σ p = 1,     rᵢⱼ = P(i | i or j)

Every term vanishes if one p agrees with all pairs. This is the second method of Wu, Lin and Weng
(2004): one linear system for each row, whose solution is never negative.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.special import expit

from separatrix.rows.block import Floats

#: Pairwise probabilities stay this far from 0 and 1, where the system would be singular.
LEAST = 1e-7
#: Matrix entries of the systems that are solved at a time.
BATCH = 2_000_000


def couple(log_odds: Floats, k: int) -> Floats:
    """n x K probabilities; a column of ``log_odds`` for each pair i < j, positive for j."""
    p = np.empty((len(log_odds), k))
    step = max(1, BATCH // (k + 1) ** 2)
    for start in range(0, len(p), step):
        here = slice(start, start + step)
        p[here] = _solve_batch(log_odds[here], k)
    return p


def _solve_batch(log_odds: Floats, k: int) -> Floats:
    n = len(log_odds)
    r = np.zeros((n, k, k))
    for s, (i, j) in zip(log_odds.T, combinations(range(k), 2), strict=True):
        r[:, j, i] = np.clip(expit(s), LEAST, 1.0 - LEAST)
        r[:, i, j] = 1.0 - r[:, j, i]
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))

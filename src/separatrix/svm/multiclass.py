"""Several classes from binary SVMs: dual coefficients in scikit-learn's layout, and votes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.svm.solver import BinarySVM


def dual_coef_one_vs_rest(svms: list[BinarySVM], n: int) -> Floats:
    """β of every row in each binary SVM, (n x number of SVMs)."""
    weights = np.zeros((n, len(svms)))
    for j, svm in enumerate(svms):
        weights[svm.rows, j] = svm.beta
    return weights


def dual_coef_one_vs_one(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class."""
    weights = np.zeros((len(codes), k - 1))
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        own = codes[svm.rows]
        weights[svm.rows[own == i], j - 1] = svm.beta[own == i]
        weights[svm.rows[own == j], i] = svm.beta[own == j]
    return weights


def votes(scores: Floats, k: int) -> Floats:
    """Votes of the pairs; ties are broken by sums of scores, which count less than half a vote."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for s, (i, j) in zip(scores.T, combinations(range(k), 2), strict=True):
        count[:, i] += s <= 0
        count[:, j] += s > 0
        total[:, i] -= s
        total[:, j] += s
    return count + total / (3.0 * (np.abs(total) + 1.0))

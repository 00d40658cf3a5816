"""Cross-validated losses of many covariance shrinkages at once, from class moments by fold.

In standardized columns a shrunk covariance is Σ = α σ²I + (1 − α) M with M = t S + (1 − t) Sₖ and
t = β/(1 − α). With M = Q diag(μ) Qᵀ, all α with the same t share Q:

    (x − m)ᵀ Σ⁻¹ (x − m) = Σⱼ pⱼ² / (α σ² + (1 − α) μⱼ),     p = Qᵀ(x − m)
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.discriminant.class_covariances import (
    mean_variance,
    span_basis,
    total_standardizer,
)
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Terms
from separatrix.selection.folds import folds_of, leave_each_out
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.statistics.standardizer import EPS
from separatrix.threads import one_blas_thread

#: Numbers that one step of the search stores at a time.
CHUNK = 1_500_000


@dataclass(frozen=True)
class ClassFold:
    """Class moments of the training rows, and the test rows in the same design."""

    train: ClassMoments
    test: Block


def array_folds(rows: ArrayRows, cv: Any, k: int) -> tuple[list[ClassFold], ClassMoments]:
    """Every fold, and the class moments of all rows; one pass if the folds partition the rows."""
    block = rows.block
    d = block.x.shape[1]
    assert block.parts is not None
    found = folds_of(cv, block.n, codes=block.parts)
    empty = ClassMoments.empty("full", k, d)
    if found.labels is None:
        folds = found.map(
            lambda train, test: ClassFold(rows.take(train).reduce(empty), block.take(test))
        )
        return folds, rows.reduce(empty)
    by_class_and_fold = ClassMoments.empty("full", k * len(found), d)
    by_fold = rows.with_parts(found.labels * k + block.parts).reduce(by_class_and_fold)
    parts = [by_fold.take(slice(f * k, (f + 1) * k)) for f in range(len(found))]
    training, whole = leave_each_out(parts, empty)
    folds = [
        ClassFold(train, block.take(test))
        for train, (_, test) in zip(training, found.pairs, strict=True)
    ]
    return folds, whole


def table_folds(rows: InMemory, cv: Any, targets: Terms) -> list[ClassFold]:
    """Every fold of a table; levels and imputed values are those of its training rows."""
    codes = rows.block.codes(targets)

    def one(train: Ints, test: Ints) -> ClassFold:
        prepared = prepare_classes(rows.take(train))
        moments = ClassMoments.from_moments("full", [prepared.of(term) for term in targets])
        test_block = prepared.encoding.apply(rows.block.take(test))
        return ClassFold(moments, replace(test_block, parts=codes[test]))

    return folds_of(cv, len(codes), codes=codes).map(one)


def cross_validated_losses(
    folds: list[ClassFold], grid: Floats, priors: Floats | None
) -> tuple[Floats, Floats]:
    """Log loss and error (P x folds) of every (α, β) in ``grid``; +∞ where one is singular."""
    by_ratio = _by_ratio(grid)
    log_loss, error = np.empty((2, len(grid), len(folds)))
    tasks = []
    for f, fold in enumerate(folds):
        test = _TestFold.of(fold, priors)
        tasks += [(f, test, t, points) for t, points in by_ratio.items()]

    def one(task: tuple[int, _TestFold, float, list[int]]) -> None:
        f, test, t, points = task
        log_loss[points, f], error[points, f] = test.losses(t, grid[points, 0])

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, tasks))
    return log_loss, error


def _by_ratio(grid: Floats) -> dict[float, list[int]]:
    """Points of the grid by t = β/(1 − α); any t does for α = 1."""
    by_ratio: dict[float, list[int]] = {}
    for i, (alpha, beta) in enumerate(grid):
        t = round(float(beta / (1.0 - alpha)), 12) if alpha < 1 else 0.0
        by_ratio.setdefault(t, []).append(i)
    return by_ratio


@dataclass(frozen=True)
class _TestFold:
    """One fold: the test rows ``z`` and all training moments, in standardized coordinates."""

    z: Floats
    codes: Ints
    weight: Floats
    means: Floats
    own: Floats
    pooled: Floats
    mean_variance: float
    log_priors: Floats

    @classmethod
    def of(cls, fold: ClassFold, priors: Floats | None) -> _TestFold:
        m, test = fold.train, fold.test
        standardizer = total_standardizer(np.diag(m.within + m.between), m.grand_mean)
        basis = span_basis(m, standardizer, whole=False)
        known = m.weight > 0
        assert test.parts is not None
        w = test.weights
        rows = np.flatnonzero(
            (w > 0) & known[test.parts]
        )  # a class without training rows: left out
        priors = m.weight / m.weight.sum() if priors is None else priors
        with np.errstate(divide="ignore"):
            log_priors = np.where(known, np.log(priors), -np.inf)
        return cls(
            (test.take(rows).dense() - m.grand_mean) @ basis,
            test.parts[rows],
            w[rows],
            (np.where(known[:, None], m.mean, m.grand_mean) - m.grand_mean) @ basis,
            basis.T @ np.where(known[:, None, None], m.covariances, m.within) @ basis,
            basis.T @ m.within @ basis,
            mean_variance(np.diag(m.within), standardizer),
            log_priors,
        )

    def losses(self, t: float, alphas: Floats) -> tuple[Floats, Floats]:
        """Mean log loss and error of the test rows for every α with the ratio ``t``."""
        if not len(self.z):
            return np.zeros(len(alphas)), np.zeros(len(alphas))
        mixture = t * self.pooled + (1.0 - t) * self.own
        mu, q = np.linalg.eigh(0.5 * (mixture + mixture.swapaxes(-1, -2)))
        values = alphas * self.mean_variance + (1.0 - alphas) * mu[:, :, None]  # K x r x A
        r = max(values.shape[1], 1)
        largest = values.max(axis=1, keepdims=True, initial=0.0)
        singular = (values <= 10 * r * EPS * largest).any(axis=(0, 1))
        values = np.where(singular, 1.0, values)
        inverse = -0.5 / values
        offset = self.log_priors[:, None] - 0.5 * np.log(values).sum(axis=1)  # K x A
        means = self.means[:, None, :] @ q
        total, wrong = np.zeros(len(alphas)), np.zeros(len(alphas))
        step = max(1, CHUNK // (len(mu) * max(r, len(alphas))))
        for start in range(0, len(self.z), step):
            here = slice(start, start + step)
            square = self.z[here] @ q
            square -= means
            square *= square
            scores = square @ inverse
            scores += offset[:, None, :]
            loss, miss = _row_losses(scores, self.codes[here])
            total += self.weight[here] @ loss
            wrong += self.weight[here] @ miss
        weight = self.weight.sum()
        return (
            np.where(singular, np.inf, total / weight),
            np.where(singular, np.inf, wrong / weight),
        )


def _row_losses(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """−ln P(true class) and whether another class scores higher (n x A); overwrites ``scores``."""
    true = scores[codes, np.arange(len(codes))]
    top = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    return top - true + np.log(scores.sum(axis=0)), (true < top).astype(float)

"""Held-out losses of many covariance mixtures at once, from class moments by fold.

On equilibrated columns a mixture is Σ = α σ²I + (1 − α) M with M = t S + (1 − t) Sₖ, and
t = β/(1 − α). With M = Q diag(μ) Qᵀ, every α on the ray t has the same Q:

    (x − m)ᵀ Σ⁻¹ (x − m) = Σⱼ pⱼ² / (α σ² + (1 − α) μⱼ),     p = Qᵀ(x − m)
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np

from separatrix.discriminant.class_covariances import EPS, span_frame, sphere_variance, units
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Terms
from separatrix.selection.folds import folds_of
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.threads import one_blas_thread

#: Numbers that one step of the search holds at a time.
ROOM = 1_500_000


@dataclass(frozen=True)
class ClassFold:
    """Class moments of the training rows, and the held-out rows in the same design."""

    train: ClassMoments
    held: Block


def class_folds(rows: ArrayRows, cv: Any, k: int) -> tuple[list[ClassFold], ClassMoments]:
    """Both sides of every fold, and the class moments of all rows, in one pass where folds tile."""
    block = rows.block
    d = block.x.shape[1]
    assert block.parts is not None
    labels, pairs = _split(block.parts, cv)
    if labels is None:
        empty = ClassMoments.empty("full", k, d)
        folds = [
            ClassFold(rows.take(train).reduce(empty), block.take(test)) for train, test in pairs
        ]
        return folds, rows.reduce(empty)
    both = ClassMoments.empty("full", k * len(pairs), d)
    by_fold = rows.with_parts(labels * k + block.parts).reduce(both)
    parts = [by_fold.take(slice(f * k, (f + 1) * k)) for f in range(len(pairs))]
    none = ClassMoments.empty("full", k, d)
    before = list(accumulate(parts, add, initial=none))
    after = list(accumulate(reversed(parts), add, initial=none))[::-1]
    folds = [
        ClassFold(before[f] + after[f + 1], block.take(test)) for f, (_, test) in enumerate(pairs)
    ]
    return folds, before[-1]


def table_folds(rows: InMemory, cv: Any, targets: Terms) -> list[ClassFold]:
    """Both sides of every fold of a table; levels and fills are those of its training rows."""
    codes = rows.block.codes(targets)
    folds = []
    for train, test in _split(codes, cv)[1]:
        prepared = prepare_classes(rows.take(train))
        moments = ClassMoments.from_moments("full", [prepared.of(term) for term in targets])
        held = prepared.encoding.apply(rows.block.take(test))
        folds.append(ClassFold(moments, replace(held, parts=codes[test])))
    return folds


def _split(codes: Ints, cv: Any) -> tuple[Ints | None, tuple[tuple[Ints, Ints], ...]]:
    """Training and held-out rows of every fold, and the fold of each row where folds tile."""
    if not isinstance(cv, int | np.integer):
        found = folds_of(cv, len(codes), codes)
        return found.labels, found.pairs
    labels = _spread_evenly(codes, int(cv))
    folds = range(int(cv))
    return labels, tuple((np.flatnonzero(labels != f), np.flatnonzero(labels == f)) for f in folds)


def _spread_evenly(codes: Ints, folds: int) -> Ints:
    """A fold for every row: the rows of each class are dealt out in turn."""
    n = len(codes)
    if not 2 <= folds <= n:
        raise InputError(
            f"cv={folds} folds cannot be made of n_samples={n} rows.",
            remedy=f"Choose cv between 2 and {n}." if n >= 2 else "Give at least two rows.",
        )
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort(codes, kind="stable")] = np.arange(n) % folds
    return labels


def held_out_losses(
    folds: list[ClassFold], grid: Floats, priors: Floats | None
) -> tuple[Floats, Floats]:
    """Log loss and error (P x folds) of every mixture in ``grid``; +∞ where one is singular."""
    rays = _rays(grid)
    log_loss, error = np.empty((2, len(grid), len(folds)))
    tasks = []
    for f, fold in enumerate(folds):
        held = _Held.of(fold, priors)
        tasks += [(f, held, t, points) for t, points in rays.items()]

    def one(task: tuple[int, _Held, float, list[int]]) -> None:
        f, held, t, points = task
        log_loss[points, f], error[points, f] = held.losses(t, grid[points, 0])

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, tasks))
    return log_loss, error


def _rays(grid: Floats) -> dict[float, list[int]]:
    """Points of the grid by t = β/(1 − α); the corner α = 1 lies on every ray."""
    rays: dict[float, list[int]] = {}
    for i, (alpha, beta) in enumerate(grid):
        t = round(float(beta / (1.0 - alpha)), 12) if alpha < 1 else 0.0
        rays.setdefault(t, []).append(i)
    return rays


@dataclass(frozen=True)
class _Held:
    """One fold: the held-out rows ``z`` and all training moments, in equilibrated coordinates."""

    z: Floats
    codes: Ints
    weight: Floats
    means: Floats
    own: Floats
    pooled: Floats
    sphere: float
    log_priors: Floats

    @classmethod
    def of(cls, fold: ClassFold, priors: Floats | None) -> _Held:
        m, part = fold.train, fold.held
        total = m.within + m.between
        unit, varies = units(np.diag(total), m.grand_mean)
        frame = span_frame(m, unit, varies, whole=False)
        known = m.weight > 0
        assert part.parts is not None
        w = part.weights
        use = np.flatnonzero((w > 0) & known[part.parts])  # a class only met here cannot be scored
        shares = m.weight / m.weight.sum() if priors is None else priors
        with np.errstate(divide="ignore"):
            log_priors = np.where(known, np.log(shares), -np.inf)
        own = frame.T @ np.where(known[:, None, None], m.covariances, m.within) @ frame
        return cls(
            (part.take(use).dense() - m.grand_mean) @ frame,
            part.parts[use],
            w[use],
            (np.where(known[:, None], m.mean, m.grand_mean) - m.grand_mean) @ frame,
            own,
            frame.T @ m.within @ frame,
            sphere_variance(np.diag(m.within), unit, varies),
            log_priors,
        )

    def losses(self, t: float, alphas: Floats) -> tuple[Floats, Floats]:
        """Mean log loss and error of the held-out rows for every α on the ray ``t``."""
        if not len(self.z):
            return np.zeros(len(alphas)), np.zeros(len(alphas))
        spread = t * self.pooled + (1.0 - t) * self.own
        mu, q = np.linalg.eigh(0.5 * (spread + spread.swapaxes(-1, -2)))
        values = alphas * self.sphere + (1.0 - alphas) * mu[:, :, None]  # K x r x A
        r = max(values.shape[1], 1)
        top = values.max(axis=1, keepdims=True, initial=0.0)
        flat = (values <= 10 * r * EPS * top).any(axis=(0, 1))
        values = np.where(flat, 1.0, values)
        inverse = -0.5 / values
        offset = self.log_priors[:, None] - 0.5 * np.log(values).sum(axis=1)  # K x A
        at = self.means[:, None, :] @ q
        total, wrong = np.zeros(len(alphas)), np.zeros(len(alphas))
        step = max(1, ROOM // (len(mu) * max(r, len(alphas))))
        for start in range(0, len(self.z), step):
            here = slice(start, start + step)
            square = self.z[here] @ q
            square -= at
            square *= square
            scores = square @ inverse
            scores += offset[:, None, :]
            loss, miss = _judged(scores, self.codes[here])
            total += self.weight[here] @ loss
            wrong += self.weight[here] @ miss
        weight = self.weight.sum()
        return np.where(flat, np.inf, total / weight), np.where(flat, np.inf, wrong / weight)


def _judged(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """−ln P(true class) and whether another class scores higher (n x A); uses up ``scores``."""
    true = scores[codes, np.arange(len(codes))]
    top = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    return top - true + np.log(scores.sum(axis=0)), (true < top).astype(float)

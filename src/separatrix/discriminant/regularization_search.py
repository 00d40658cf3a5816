"""Cross-validated losses of many covariance shrinkages at once, from class moments by fold.

In standardized columns a shrunk covariance is Σ = α σ²I + (1 − α) M with M = t S + (1 − t) Sₖ and
t = β/(1 − α). With M = Q diag(μ) Qᵀ, all α with the same t share Q:

    (x − m)ᵀ Σ⁻¹ (x − m) = Σⱼ pⱼ² / (α σ² + (1 − α) μⱼ),     p = Qᵀ(x − m)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.class_covariances import span_basis
from separatrix.discriminant.gaussian_problem import mean_variance, total_standardizer
from separatrix.geometry.class_scores import softmax
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import ArrayRows, InMemory
from separatrix.rows.schema import Terms
from separatrix.selection.folds import Folds, folds_of, leave_each_out, warn_of_parted_copies
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.statistics.standardizer import EPS
from separatrix.threads import parallel_map

#: Numbers that one step of the search stores at a time.
CHUNK = 1_500_000


@dataclass(frozen=True)
class ClassFold:
    """Class moments of the training rows, and the test rows in the same design."""

    train: ClassMoments
    test: Block


def array_folds(rows: ArrayRows, found: Folds, k: int) -> tuple[list[ClassFold], ClassMoments]:
    """Every fold, and the class moments of all rows; one pass if the folds partition the rows."""
    block = rows.block
    d = block.x.shape[1]
    assert block.parts is not None
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

    folds = folds_of(cv, len(codes), codes=codes)
    warn_of_parted_copies(rows, folds, cv)
    return folds.map(one)


@dataclass(frozen=True)
class Tempering:
    """How sure densities are: P ← (P^(1/T) / Σ + s/K) / (1 + s).

    Temperatures T are 1, 2, 4, …, doubled as often as ``doublings``; s are values of ``smoothing``.
    """

    doublings: int = 0
    smoothing: tuple[float, ...] = (0.0,)

    @property
    def points(self) -> list[tuple[float, float]]:
        """All pairs of temperature and smoothing, as sure as the densities first."""
        return [(2.0**j, s) for j in range(1 + self.doublings) for s in self.smoothing]


AS_THEY_ARE = Tempering()


def cross_validated_losses(
    tests: list[ShrinkageFold], grid: Floats, tempering: Tempering = AS_THEY_ARE
) -> tuple[Floats, Floats]:
    """Log loss (P x tempering x folds) and error (P x folds) of every (α, β) in ``grid``.

    Losses are +∞ where a class is singular.
    """
    ratios = by_ratio(grid)
    log_loss = np.empty((len(grid), len(tempering.points), len(tests)))
    error = np.empty((len(grid), len(tests)))
    tasks = [(f, t, points) for f in range(len(tests)) for t, points in ratios.items()]

    def one(task: tuple[int, float, list[int]]) -> None:
        f, t, points = task
        log_loss[points, :, f], error[points, f] = tests[f].losses(t, grid[points, 0], tempering)

    parallel_map(one, tasks)
    return log_loss, error


def by_ratio(grid: Floats) -> dict[float, list[int]]:
    """Points of the grid by t = β/(1 − α); any t does for α = 1."""
    found: dict[float, list[int]] = {}
    for i, (alpha, beta) in enumerate(grid):
        t = _ratio(float(alpha), float(beta))
        found.setdefault(t, []).append(i)
    return found


def _ratio(alpha: float, beta: float) -> float:
    return round(beta / (1.0 - alpha), 12) if alpha < 1.0 else 1.0


@dataclass(frozen=True)
class ShrinkageFold:
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
    def of(cls, fold: ClassFold, priors: Floats | None) -> ShrinkageFold:
        """A fold in the standardized columns of its training rows."""
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

    def losses(self, t: float, alphas: Floats, tempering: Tempering) -> tuple[Floats, Floats]:
        """Mean log loss (A x tempering) and error of the test rows, for every α with ratio t."""
        total, wrong = np.zeros((len(alphas), len(tempering.points))), np.zeros(len(alphas))
        if not len(self.z):
            return total, wrong
        finite = np.ones(len(alphas), dtype=bool)
        for here, scores, regular in self._scores(t, alphas):
            finite = regular
            loss, miss = _row_losses(scores, self.codes[here], tempering)
            total += np.einsum("n,tna->at", self.weight[here], loss)
            wrong += self.weight[here] @ miss
        weight = self.weight.sum()
        return (
            np.where(finite[:, None], total / weight, np.inf),
            np.where(finite, wrong / weight, np.inf),
        )

    def predict(self, alpha: float, beta: float, temperature: float, smoothing: float) -> Floats:
        """Probabilities of the classes for the test rows."""
        found = np.empty((len(self.z), len(self.log_priors)))
        for here, scores, _ in self._scores(_ratio(alpha, beta), np.array([alpha])):
            found[here] = softmax(scores[:, :, 0].T / temperature)
        return smoothed(found, smoothing)

    def _scores(
        self, t: float, alphas: Floats
    ) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
        """Rows, their scores (K x n x A), and the α under which no class is singular."""
        # one covariance for all classes is decomposed once
        mixture = self.pooled[None] if t == 1.0 else t * self.pooled + (1.0 - t) * self.own
        mu, q = np.linalg.eigh(0.5 * (mixture + mixture.swapaxes(-1, -2)))
        values = alphas * self.mean_variance + (1.0 - alphas) * mu[:, :, None]  # K x r x A
        r = max(values.shape[1], 1)
        largest = values.max(axis=1, keepdims=True, initial=0.0)
        singular = (values <= 10 * r * EPS * largest).any(axis=(0, 1))
        values = np.where(singular, 1.0, values)
        inverse = -0.5 / values
        offset = self.log_priors[:, None] - 0.5 * np.log(values).sum(axis=1)  # K x A
        means = self.means[:, None, :] @ q
        step = max(1, CHUNK // (len(means) * max(r, len(alphas))))
        for start in range(0, len(self.z), step):
            here = slice(start, start + step)
            square = self.z[here] @ q - means
            square *= square
            scores = square @ inverse
            scores += offset[:, None, :]
            yield here, scores, ~singular


def smoothed(probabilities: Floats, smoothing: float) -> Floats:
    """(P + s/K) / (1 + s): no row is surer than that."""
    if not smoothing:
        return probabilities
    return np.asarray((probabilities + smoothing / probabilities.shape[1]) / (1.0 + smoothing))


def _row_losses(scores: Floats, codes: Ints, tempering: Tempering) -> tuple[Floats, Floats]:
    """−ln P(true class) by tempering, and whether another class scores higher (n x A).

    e^(s/T) squared is that of half the temperature. ``scores`` are overwritten.
    """
    k = len(scores)
    true = scores[codes, np.arange(len(codes))]
    top = scores.max(axis=0)
    behind = top - true
    scores -= top
    scores *= 0.5**tempering.doublings
    np.exp(scores, out=scores)
    losses = []
    for j in range(tempering.doublings, -1, -1):
        if j < tempering.doublings:
            scores *= scores
        plain = behind * 0.5**j + np.log(scores.sum(axis=0))
        p = np.exp(-plain) if any(tempering.smoothing) else plain
        losses.append(
            [-np.log((p + s / k) / (1.0 + s)) if s else plain for s in tempering.smoothing]
        )
    return np.array(losses[::-1]).reshape(-1, *top.shape), (true < top).astype(float)

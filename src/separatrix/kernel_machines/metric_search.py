"""What is chosen about a kernel machine with a learned metric, by predictions out of fold.

    θ = (τ, spread, rounds, λ),      θ̂ = argmin Σ over folds of ‖y − ŷ_θ(x)‖²

The columns' maps, the metric of every round and the fit come from the training rows of a fold
alone: the leave-one-out errors of a metric that has seen the left-out row are far too small. First
the shapes of the kernel (τ and spread) are compared on a few rows, with λ in steps of ten, all in
one metric learned with the first of them. Then as many rows as the work allows choose rounds and λ
for the best shape, which learns its own metric. What predicts a fold is chosen on the others.

Operations of one fit of m rows of d columns with k targets, of its metric, and of q predictions:

    p = 60 + 6 d for the kernel value of two rows
    m² p + λs m³/6 + s m (p + 4 k (d + 1)) + 11 d³ + q m (p + 2 k λs),   s = max(300, 2 d) at most m
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.kernel_machines.learned_metric import (
    AVERAGED,
    ColumnMaps,
    KernelShape,
    LearnedMetric,
    learn_rounds,
    spread_rows,
)
from separatrix.rows.schema import to_array
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData
from separatrix.threads import parallel_map

#: Kernels that are compared: along directions, along columns, and half of each; narrow and wide.
SHAPES = (
    KernelShape(0.5, 2.0),
    KernelShape(0.0, 2.0),
    KernelShape(1.0, 2.0),
    KernelShape(0.5, 6.0),
    KernelShape(0.0, 6.0),
)
#: Values of λ in units of the kernel's variance: from interpolation to noise only. The best and its
#: neighbors at a third and three times of it are compared again on more rows.
ALPHAS, FINER = (0.01, 0.1, 1.0, 10.0), 3.0
#: Rounds that are compared: later ones change the metric little.
ROUNDS = 3
#: Rows that are predicted in all folds whatever they cost: fewer decide too little.
FEWEST_QUERIES = 500


@dataclass(frozen=True)
class SearchPoint:
    """One combination of what is chosen."""

    shape: KernelShape
    rounds: int
    alpha: float

    def named(self) -> dict[str, Any]:
        """As parameters of the estimators."""
        return {
            **{"share": self.shape.share, "spread": self.shape.spread},
            **{"rounds": self.rounds, "alpha": self.alpha},
        }


@dataclass(frozen=True)
class SearchResult:
    """Losses of all points on every fold, the chosen ones, and predictions out of fold (n x k).

    ``tests`` are the rows that were predicted in each fold, ``metrics`` those that predicted them,
    learned from so many training rows.
    """

    points: tuple[SearchPoint, ...]
    losses: Floats
    best: int
    by_fold: Ints
    predictions: Floats
    tests: tuple[Ints, ...]
    metrics: tuple[LearnedMetric, ...]
    n_train: int

    @property
    def rows(self) -> Ints:
        """The rows of the predictions."""
        return np.concatenate(self.tests)

    def note(self, data: TuningData) -> str:
        """That not all training rows of a fold were taken; empty if they were."""
        largest = max(len(train) for train, _ in data.folds.pairs)
        if self.n_train >= largest:
            return ""
        return f"Tuned with {self.n_train:,} of {largest:,} training rows of a fold."


@dataclass(frozen=True)
class MetricSearch:
    """Rows with targets ``y`` (n x k), weights, folds, and an order that spreads them."""

    x: Matrix
    y: Floats
    w: Floats
    folds: Folds
    spread: Ints
    work: float
    shapes: Sequence[KernelShape] = SHAPES
    rounds: Sequence[int] = tuple(range(1, ROUNDS + 1))
    alphas: Sequence[float] = ALPHAS

    def find(self) -> SearchResult:
        """Rounds and λ for the best shape, and for those that the folds choose for one another."""
        first, most = self._screen(), self._affordable(1, 3)
        points: dict[SearchPoint, None] = {}
        for i in dict.fromkeys([first.best, *first.by_fold.tolist()]):
            points |= dict.fromkeys(self._nearby(first.points[i]))
        return self._compare(list(points), most, first)

    def choose(self) -> SearchResult:
        """The same for the best shape alone: no fold is judged by the predictions."""
        first = self._screen()
        alone = replace(first, by_fold=np.full_like(first.by_fold, first.best))
        nearby = self._nearby(first.points[first.best])
        return self._compare(nearby, self._affordable(1, 3), alone)

    def _screen(self) -> SearchResult:
        """Shapes and λ on 200 rows of a fold, in the metric of one round; 300 rows test them."""
        number = min(1, max(self.rounds))
        number = number if number in self.rounds else min(self.rounds)
        points = [SearchPoint(s, number, a) for s in self.shapes for a in self.alphas]
        if len(points) == 1:
            k = len(self.folds)
            return SearchResult(
                tuple(points),
                np.zeros((1, k)),
                0,
                np.zeros(k, np.int64),
                np.zeros((0, 0)),
                (),
                (),
                0,
            )
        most = min(200, self._affordable(len(self.shapes), len(self.alphas)))
        return self._compare(points, most)

    def _nearby(self, point: SearchPoint) -> list[SearchPoint]:
        """All rounds of its shape, with λ and its neighbors."""
        steps = (1.0 / FINER, 1.0, FINER) if len(self.alphas) > 1 else (1.0,)
        near = [step * point.alpha for step in steps]
        return [SearchPoint(point.shape, r, a) for r in self.rounds for a in near]

    def _affordable(self, shapes: int, alphas: int) -> int:
        """Training rows of a fold with which so many shapes and λ are within the work."""
        fits, n = shapes * len(self.folds) * len(self.rounds), 100  # rows at least
        while n < 20_000 and fits * fit_operations(n, *self._shape, alphas) < self.work:
            n = int(1.1 * n)
        return n

    @property
    def _shape(self) -> tuple[int, int]:
        """Columns, and targets."""
        return self.x.shape[1], self.y.shape[1]

    def _queries(self, shapes: int, alphas: int, most: int) -> list[Ints]:
        """The test rows of every fold, or an even selection that is predicted within the work."""
        tests = [test for _, test in self.folds.pairs]
        total = sum(map(len, tests))
        one = most * prediction_operations(*self._shape, alphas)
        count = max(self.work / (shapes * len(self.rounds) * one), FEWEST_QUERIES)
        if count >= total:
            return tests
        some = self.spread[: int(len(self.spread) * count / total)]
        chosen = [np.intersect1d(test, some) for test in tests]
        return [part if len(part) else test for part, test in zip(chosen, tests, strict=True)]

    def _compare(
        self, points: list[SearchPoint], most: int, before: SearchResult | None = None
    ) -> SearchResult:
        """Losses of points on every fold; shapes of a fold are those chosen ``before``."""
        shapes = list(dict.fromkeys(point.shape for point in points))
        values = {shape: self._alphas_of(points, shape) for shape in shapes}
        rounds = sorted({point.rounds for point in points})
        if before is None:
            tests = [test[spread_rows(len(test), 300)] for _, test in self.folds.pairs]
            groups = [shapes]
        else:
            tests = self._queries(len(shapes), max(map(len, values.values())), most)
            groups = [[shape] for shape in shapes]
        folds = parallel_map(lambda fold: self.mapped(fold, tests[fold], most), range(len(tests)))
        tasks = [(fold, group) for group in range(len(groups)) for fold in range(len(folds))]
        parts = parallel_map(
            lambda task: _predict(folds[task[0]], groups[task[1]], rounds, values), tasks
        )
        made = [
            {k: v for (i, _), part in zip(tasks, parts, strict=True) if i == fold
             for k, v in part.items()}
            for fold in range(len(folds))
        ]  # fmt: skip
        losses = np.empty((len(points), len(self.folds)))
        for i, point in enumerate(points):
            for fold, test in enumerate(tests):
                w = self.w[test]
                error = self.y[test] - made[fold][point][0]
                losses[i, fold] = w @ (error**2).sum(axis=1) / w.sum()
        allowed, total_allowed = np.ones(losses.shape, dtype=bool), np.ones(len(points), dtype=bool)
        if before is not None:  # each fold keeps the shape that the others chose
            chosen = [before.points[i].shape for i in before.by_fold]
            allowed = np.array([[p.shape == s for s in chosen] for p in points])
            best = before.points[before.best].shape
            total_allowed = np.array([p.shape == best for p in points])
        weights = np.array([self.w[test].sum() for test in tests])
        others = (losses @ weights)[:, None] - losses * weights
        by_fold = np.where(allowed, others, np.inf).argmin(axis=0)
        total = np.where(total_allowed, losses @ weights, np.inf)
        chosen = [made[fold][points[i]] for fold, i in enumerate(by_fold)]
        return SearchResult(
            tuple(points), losses, int(total.argmin()), by_fold,
            np.concatenate([guess for guess, _ in chosen]), tuple(tests),
            tuple(metric for _, metric in chosen), most,
        )  # fmt: skip

    @staticmethod
    def _alphas_of(points: list[SearchPoint], shape: KernelShape) -> list[float]:
        return sorted({point.alpha for point in points if point.shape == shape})

    def mapped(self, fold: int, test: Ints, most: int) -> MappedFold:
        """Training rows of a fold, so many at most, and test rows."""
        train = self.folds.pairs[fold][0]
        if len(train) > most:
            member = np.zeros(len(self.w), dtype=bool)
            member[train] = True
            train = np.sort(self.spread[member[self.spread]][:most])
        w, x = self.w[train], np.asarray(to_array(self.x[train]), dtype=np.float64)
        maps = ColumnMaps.of(x, w)
        new = maps.apply(np.asarray(to_array(self.x[test]), dtype=np.float64))
        center = w @ self.y[train] / w.sum()
        return MappedFold(maps.apply(x), self.y[train] - center, w, center, new)


@dataclass(frozen=True)
class MappedFold:
    """Mapped training rows, their centered targets, weights and center; mapped test rows."""

    z: Floats
    right: Floats
    w: Floats
    center: Floats
    new: Floats


def _predict(
    fold: MappedFold,
    shapes: list[KernelShape],
    rounds: list[int],
    alphas: dict[KernelShape, list[float]],
) -> dict[SearchPoint, tuple[Floats, LearnedMetric]]:
    """ŷ of the test rows (n x k), and the metric; the first of the shapes learns the metric."""
    k, predictions = len(fold.center), {}
    for number, rows in enumerate(learn_rounds(fold.z, fold.right, fold.w, shapes[0], rounds[-1])):
        if number not in rounds:
            continue
        pairs = rows.pairs_with(fold.new)
        for shape in shapes:
            fit = rows.fit(shape, fold.right)
            solved = [fit.solve(alpha) for alpha in alphas[shape]]
            coef = np.concatenate([coef for coef, _ in solved], axis=1).astype(np.float32)
            values = (rows.values(shape, pairs) @ coef).astype(np.float64)
            for i, (alpha, (_, offset)) in enumerate(zip(alphas[shape], solved, strict=True)):
                guess = values[:, i * k : (i + 1) * k] + (offset + fold.center)
                predictions[SearchPoint(shape, number, alpha)] = guess, rows.metric
    return predictions


def pair_operations(d: int) -> float:
    """Of the kernel value of two rows."""
    return 60.0 + 6.0 * d


def prediction_operations(d: int, k: int, alphas: int) -> float:
    """Of one kernel value, and its products with the coefficients."""
    return pair_operations(d) + 2.0 * k * alphas


def fit_operations(m: int, d: int, k: int, alphas: int) -> float:
    """Of one fit of m rows for so many λ, and its metric; single precision counts half."""
    pair = pair_operations(d)
    gradients = min(m, max(AVERAGED, 2 * d)) * m * (pair + 4.0 * k * (d + 1.0))
    return m**2 * pair + alphas * m**3 / 6.0 + gradients + 11.0 * float(d) ** 3


def find_metric(data: TuningData, y: Floats, **choices: Any) -> SearchResult:
    """The best on the folds of a comparison, found once for all models that have such a metric."""
    key = ("metric", data.work, *(tuple(value) for value in choices.values()))
    return data.once(key, lambda: search_of(data, y, **choices).find())  # type: ignore[no-any-return]


def search_of(data: TuningData, y: Floats, **choices: Any) -> MetricSearch:
    """The search on the folds of a comparison."""
    w = np.asarray(data.w, dtype=np.float64)
    return MetricSearch(data.x, y, w, data.folds, data._by_spread, data.work, **choices)

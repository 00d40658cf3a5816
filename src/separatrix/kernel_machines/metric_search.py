"""What is chosen about a kernel machine with a learned metric, by predictions out of fold.

    θ = (τ, spread, rounds, λ),      θ̂ = argmin Σ over folds of ‖y − ŷ_θ(x)‖²

The columns' maps, the metric of every round and the fit come from the training rows of a fold
alone: the leave-one-out errors of a metric that has seen the left-out row are far too small. The
shapes of the kernel (τ and spread) are compared on a part of the rows; all rows, or as many as the
work allows, then choose rounds and λ for the best. What predicts a fold is chosen on the others.

Operations of one fit of m rows of d columns with k targets, of its metric, and of q predictions:

    p = 60 + 6 d for the kernel value of two rows
    m² p + λs m³/6 + min(m, 2000) m (p + 4 k (d + 1)) + 11 d³ + q m (p + 2 k λs)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.kernel_machines.learned_metric import (
    AVERAGED,
    ColumnMaps,
    KernelShape,
    MetricKernel,
    learn_rounds,
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
#: Values of λ in units of the kernel's variance: from interpolation to noise only.
ALPHAS = (0.004, 0.02, 0.1, 0.5, 2.5, 12.5)
#: Rounds that are compared: later ones change the metric little.
ROUNDS = 3
#: Training rows of a fold on which shapes are compared, at most; and the fewest of any comparison.
FIRST, FEWEST_ROWS = 500, 100
#: Operations for a pair of rows: beside those of its columns, and of each column.
PAIR, COLUMN = 60.0, 6.0
#: Operations of the root of a metric over d³: an eigendecomposition and a product.
ROOT = 11.0
#: Values of λ that are compared for the best shape.
NEARBY = 3
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

    ``tests`` are the rows that were predicted in each fold, ``kernels`` those that predicted them,
    learned from so many training rows.
    """

    points: tuple[SearchPoint, ...]
    losses: Floats
    best: int
    by_fold: Ints
    predictions: Floats
    tests: tuple[Ints, ...]
    kernels: tuple[MetricKernel, ...]
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
    rounds: Sequence[int] = tuple(range(ROUNDS + 1))
    alphas: Sequence[float] = ALPHAS

    def find(self) -> SearchResult:
        """Shapes on a part of the rows, then rounds and λ on all that can be afforded."""
        largest = max(len(train) for train, _ in self.folds.pairs)
        most = self._affordable(1, NEARBY)
        first = min(FIRST, self._affordable(len(self.shapes), len(self.alphas)), most, largest)
        if min(largest, most) <= 1.5 * first:  # hardly fewer rows: one comparison is enough
            first = min(largest, most)
        compared = [
            SearchPoint(s, r, a) for s in self.shapes for r in self.rounds for a in self.alphas
        ]
        found = self._compare(compared, first)
        if first == min(largest, most):
            return found
        nearby: dict[SearchPoint, None] = {}
        for i in {found.best, *found.by_fold.tolist()}:
            at = list(self.alphas).index(found.points[i].alpha)
            for a in self.alphas[max(at - 1, 0) : at + 2]:
                nearby |= {SearchPoint(found.points[i].shape, r, a): None for r in self.rounds}
        return self._compare(list(nearby), most, found)

    def _affordable(self, shapes: int, alphas: int) -> int:
        """Training rows of a fold with which so many shapes and λ are within the work."""
        fits, n = shapes * len(self.folds) * len(self.rounds), FEWEST_ROWS
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
        tests = self._queries(len(shapes), max(map(len, values.values())), most)
        folds = parallel_map(lambda fold: self.mapped(fold, tests[fold], most), range(len(tests)))
        tasks = [(fold, shape) for shape in shapes for fold in range(len(folds))]
        parts = parallel_map(
            lambda task: self._predict(folds[task[0]], task[1], values[task[1]]), tasks
        )
        made = dict(zip(tasks, parts, strict=True))
        losses = np.empty((len(points), len(self.folds)))
        for i, point in enumerate(points):
            for fold, test in enumerate(tests):
                guess = self._of_point(made[fold, point.shape], values[point.shape], point)
                w = self.w[test]
                losses[i, fold] = w @ ((self.y[test] - guess) ** 2).sum(axis=1) / w.sum()
        allowed = np.ones(losses.shape, dtype=bool)
        chosen_shape = None
        if before is not None:  # each fold keeps the shape that the others chose
            chosen = [before.points[i].shape for i in before.by_fold]
            allowed = np.array([[p.shape == s for s in chosen] for p in points])
            chosen_shape = before.points[before.best].shape
        weights = np.array([self.w[test].sum() for test in tests])
        others = (losses @ weights)[:, None] - losses * weights
        by_fold = np.where(allowed, others, np.inf).argmin(axis=0)
        total = losses @ weights
        if chosen_shape is not None:
            total = np.where([p.shape == chosen_shape for p in points], total, np.inf)
        predictions, kernels = [], []
        for fold in range(len(tests)):
            point = points[by_fold[fold]]
            kernels.append(made[fold, point.shape][1][list(self.rounds).index(point.rounds)])
            predictions.append(self._of_point(made[fold, point.shape], values[point.shape], point))
        return SearchResult(
            tuple(points), losses, int(total.argmin()), by_fold,
            np.concatenate(predictions), tuple(tests), tuple(kernels), most,
        )  # fmt: skip

    @staticmethod
    def _alphas_of(points: list[SearchPoint], shape: KernelShape) -> list[float]:
        return sorted({point.alpha for point in points if point.shape == shape})

    def _of_point(
        self, made: tuple[Floats, list[MetricKernel]], alphas: list[float], point: SearchPoint
    ) -> Floats:
        return np.asarray(made[0][list(self.rounds).index(point.rounds), alphas.index(point.alpha)])

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

    def _predict(
        self, fold: MappedFold, shape: KernelShape, alphas: list[float]
    ) -> tuple[Floats, list[MetricKernel]]:
        """ŷ of the test rows of a fold for all rounds and λ: (rounds, λ, rows, k); and kernels."""
        k, out, kernels = len(fold.center), [], []
        for number, fit in enumerate(
            learn_rounds(fold.z, fold.right, fold.w, shape, max(self.rounds), np.float32)
        ):
            if number not in self.rounds:
                continue
            solved = [fit.solve(alpha) for alpha in alphas]
            coef = np.concatenate([coef for coef, _ in solved], axis=1)
            values = fit.centers.dot(fit.centers.rows(fold.new), coef.astype(np.float32))
            values = values.reshape(len(fold.new), len(alphas), k).transpose(1, 0, 2)
            offsets = np.array([offset for _, offset in solved])[:, None, :]
            out.append(values + (offsets + fold.center))
            kernels.append(fit.kernel)
        return np.array(out, dtype=np.float64), kernels


@dataclass(frozen=True)
class MappedFold:
    """Mapped training rows, their centered targets, weights and center; mapped test rows."""

    z: Floats
    right: Floats
    w: Floats
    center: Floats
    new: Floats


def prediction_operations(d: int, k: int, alphas: int) -> float:
    """Of one kernel value, and its products with the coefficients."""
    return PAIR + COLUMN * d + 2.0 * k * alphas


def fit_operations(m: int, d: int, k: int, alphas: int) -> float:
    """Of one fit of m rows for so many λ, and its metric; single precision counts half."""
    pair = PAIR + COLUMN * d
    gradients = min(m, AVERAGED) * m * (pair + 4.0 * k * (d + 1.0))
    return m**2 * pair + alphas * m**3 / 6.0 + gradients + ROOT * float(d) ** 3


def find_metric(data: TuningData, y: Floats, **choices: Any) -> SearchResult:
    """The best on the folds of a comparison, found once for all models that have such a metric."""
    key = ("metric", data.work, *(tuple(value) for value in choices.values()))
    return data.once(key, lambda: search_of(data, y, **choices).find())  # type: ignore[no-any-return]


def search_of(data: TuningData, y: Floats, **choices: Any) -> MetricSearch:
    """The search on the folds of a comparison."""
    w = np.asarray(data.w, dtype=np.float64)
    return MetricSearch(data.x, y, w, data.folds, data._by_spread, data.work, **choices)

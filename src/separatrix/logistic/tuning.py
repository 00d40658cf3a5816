"""C of logistic regression by cross-validation: ridge paths of all folds, side by side.

Paths run from strong to weak penalties and end where all folds together have become clearly worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.logistic.components import Components
from separatrix.logistic.path import MIN_L1_RATIO
from separatrix.logistic.problem import LogisticOptions
from separatrix.logistic.ridge_path import MAX_HESSIAN, RidgeRows, evaluate, ridge_path
from separatrix.rows.block import Block, Floats, Ints, Matrix
from separatrix.rows.schema import Terms
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold, require_classes
from separatrix.statistics.standardizer import Standardizer
from separatrix.threads import parallel_map

#: Decrease of the mean loss that a step must promise: the loss of a fold to about four digits.
TOLERANCE = 1e-7
#: Ratio to the least loss beyond which weaker penalties are not tried: of what decides, and of
#: the log loss where that is the error rate.
WORSE, MUCH_WORSE = 1.1, 1.25
#: Passes over the rows at each penalty, about, with the Hessian and without; operations for each
#: value of a pass beyond columns.
PASSES, MORE_PASSES, VALUE_COST = 10, 30, 12
#: Penalty per unit weight that stands for none, and the penalized fits on the way there.
LIKELIHOOD, FIT_POINTS = 1e-8, 9
#: Fewer rows than this decide too little.
MIN_ROWS = 500


@dataclass(frozen=True)
class RidgeFolds:
    """Rows of a comparison and, for each fold, which of them train and test."""

    rows: RidgeRows
    at: Ints
    pairs: list[tuple[Ints, Ints]]
    w: Floats
    note: str

    @classmethod
    def of(
        cls, data: TuningData, x: Matrix, factor: Floats, points: int, *, intercept: bool
    ) -> RidgeFolds:
        """The design of ``data`` with the columns ``x``; ``factor`` are weights of the classes."""
        require_classes(data)
        at, note = _rows_within(data, x.shape[1], points)
        codes, w = np.asarray(data.y, dtype=np.int64)[at], data.w[at]
        rows = ridge_rows(x[at], codes, w * factor[codes], data.n_classes, intercept=intercept)[0]
        place = np.full(data.n, -1, dtype=np.int64)
        place[at] = np.arange(len(at))
        pairs = [(_known(place[a]), _known(place[b])) for a, b in data.folds.pairs]
        return cls(rows, at, pairs, w, note)

    def solve(self, penalties: Floats, tolerance: float) -> Iterator[list[Floats]]:
        """θ of every fold, for one penalty after the other."""
        paths = [ridge_path(self.rows.take(train), penalties, tolerance) for train, _ in self.pairs]
        for _ in penalties:
            yield parallel_map(next, paths)

    def losses(self, thetas: list[Floats]) -> tuple[Floats, Floats]:
        """Mean log loss and error rate of the test rows of every fold."""
        log_loss, error = np.empty((2, len(thetas)))
        for fold, (theta, (_, test)) in enumerate(zip(thetas, self.pairs, strict=True)):
            p, own, w = self.predict(theta, test), self.rows.codes[test], self.w[test]
            likelihood = np.maximum(p[np.arange(len(test)), own], np.finfo(float).tiny)
            log_loss[fold] = np.average(-np.log(likelihood), weights=w)
            error[fold] = np.average(p.argmax(axis=1) != own, weights=w)
        return log_loss, error

    def predict(self, theta: Floats, test: Ints) -> Floats:
        """Probabilities of the classes."""
        scores = self.rows.z[test] @ theta
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def separated(self, theta: Floats, rows: Ints) -> bool:
        """Whether these rows are all on the side of their class."""
        rows = rows[self.rows.w[rows] > 0.0]
        return bool((self.predict(theta, rows).argmax(axis=1) == self.rows.codes[rows]).all())


def ridge_rows(
    x: Matrix, codes: Ints, w: Floats, n_classes: int, *, intercept: bool
) -> tuple[RidgeRows, Components]:
    """Rows of the columns ``x``, or of their components, with a constant for intercepts."""
    scores = n_classes if n_classes > 2 else 1
    columns = Components.of(x, w, scores, centered=intercept)
    z = np.hstack([columns.z, np.ones((len(w), int(intercept)))])
    return RidgeRows(z, codes, w, n_classes, intercept, columns.variances), columns


def grid_of_penalties(rows: RidgeRows, number: int, eps: float) -> Floats:
    """Values of C, evenly spaced on a log scale; at the first all coefficients are near zero."""
    gradient = evaluate(rows, rows.constant(), np.zeros((1, 1))).gradient
    columns = gradient[:-1] if rows.intercept else gradient
    largest = float(np.abs(columns).max(initial=0.0)) / MIN_L1_RATIO or rows.weight
    return np.asarray(np.geomspace(1.0, 1.0 / eps, number) / largest)


def tune_ridge(folds: RidgeFolds, Cs: Floats, loss: str) -> Tuning:
    """Compare values of C, in increasing order."""
    thetas: list[list[Floats]] = []
    log_losses: list[Floats] = []
    errors: list[Floats] = []
    weight = np.array([folds.w[test].sum() for _, test in folds.pairs])
    note = folds.note
    for found in folds.solve(1.0 / Cs, TOLERANCE):
        thetas.append(found)
        log_loss, error = folds.losses(found)
        log_losses.append(log_loss)
        errors.append(error)
        tried = len(thetas)
        if tried < len(Cs) and _rises(log_losses, errors, weight, loss):
            note += f"{'; ' if note else ''}C above {Cs[tried - 1]:g} was not tried: the loss rises"
            break
    losses = np.array(log_losses if loss == "log_loss" else errors)
    best, by_fold = best_by_fold(losses, weight)
    grid = tuple({"C": float(C)} for C in Cs[: len(losses)])
    chosen = [thetas[i][fold] for fold, i in enumerate(by_fold)]
    return Tuning(grid[best], grid, losses, by_fold, *out_of_fold(folds, chosen), note)


def fold_fits(folds: RidgeFolds, C: float, loss: str) -> Tuning:
    """Fits with one value of C, or by maximum likelihood (C = ∞), and predictions out of fold.

    The latter is approached from penalized fits, and left where all training rows are on the side
    of their class: no maximum exists, and only the scale of the scores would still grow.
    """
    weight = folds.rows.weight
    last = LIKELIHOOD if np.isinf(C) else 1.0 / C / weight
    penalties = weight * np.append(10.0 ** np.arange(0.0, np.log10(last) + 1e-9, -1.0), last)

    def fit(pair: tuple[Ints, Ints]) -> tuple[Floats, bool]:
        theta = folds.rows.constant()
        for theta in ridge_path(folds.rows.take(pair[0]), penalties, TOLERANCE):
            if np.isinf(C) and folds.separated(theta, pair[0]):
                return theta, True
        return theta, False

    found = parallel_map(fit, folds.pairs)
    thetas = [theta for theta, _ in found]
    separated = [str(fold) for fold, (_, known) in enumerate(found) if known]
    note = f"the classes are separable in the training rows of fold {', '.join(separated)}"
    note = "; ".join(part for part in (folds.note, note if separated else "") if part)
    log_loss, error = folds.losses(thetas)
    losses = (log_loss if loss == "log_loss" else error)[None]
    point, first = {"C": float(C)}, np.zeros(len(thetas), dtype=np.int64)
    return Tuning(point, (point,), losses, first, *out_of_fold(folds, thetas), note)


def coefficient_path(
    block: Block, targets: Terms, Cs: Floats, options: LogisticOptions
) -> tuple[Floats, Floats]:
    """Coefficients (points x scores x d) and intercepts of all rows, to a few digits."""
    w, scale = block.weights, np.ones(block.x.shape[1])
    if options.standardize:
        scale = Standardizer.from_rows(block.x, w).inverse_scale
    x, intercept = block.x * scale, options.fit_intercept
    rows, columns = ridge_rows(x, block.codes(targets), w, len(targets), intercept=intercept)
    found = [
        columns.coefficients(theta, intercept=intercept)
        for theta in ridge_path(rows, 1.0 / Cs, TOLERANCE)
    ]
    return np.array([coef.T * scale for coef, _ in found]), np.array([a for _, a in found])


def out_of_fold(folds: RidgeFolds, thetas: list[Floats]) -> tuple[Ints, Floats, str]:
    """Rows, probabilities and their kind, each fold predicted by its own θ."""
    tests = [test for _, test in folds.pairs]
    predicted = [folds.predict(theta, test) for theta, test in zip(thetas, tests, strict=True)]
    return folds.at[np.concatenate(tests)], np.concatenate(predicted), "probabilities"


def _rises(log_losses: list[Floats], errors: list[Floats], weight: Floats, loss: str) -> bool:
    """Whether the last point is clearly worse than the best one."""
    log_loss, error = np.array(log_losses) @ weight, np.array(errors) @ weight
    if loss == "log_loss":
        return bool(log_loss[-1] > WORSE * log_loss.min())
    return bool(error[-1] > error.min() and log_loss[-1] > MUCH_WORSE * log_loss.min())


def _known(rows: Ints) -> Ints:
    return rows[rows >= 0]


def _rows_within(data: TuningData, d: int, points: int) -> tuple[Ints, str]:
    """Rows to compare on: all, or so many of each class that the work allowed suffices."""
    n, size = data.n, data.n
    while size > MIN_ROWS and _work(data, size, d, points) > data.work:
        size = max(MIN_ROWS, int(0.9 * size))
    if size == n:
        return np.arange(n), ""
    return data.spread(size), f"C was chosen on {size} of {n} rows"


def _work(data: TuningData, n: int, d: int, points: int) -> float:
    """Operations of a comparison on ``n`` rows."""
    scores = data.n_classes if data.n_classes > 2 else 1
    width, k = min(n, d) + 1, len(data.folds)
    small = width * scores <= MAX_HESSIAN
    passes = PASSES if small or scores == 1 else MORE_PASSES
    passes = k * points * passes * n * scores * (width + VALUE_COST)
    if small:
        return float(passes + k * points / 3 * (1e8 + (width * scores) ** 3 / 10))
    return float(passes + n * d * width / 4 + float(width) ** 3)

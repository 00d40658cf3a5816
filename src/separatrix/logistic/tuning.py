"""C of logistic regression by cross-validation: ridge paths of all folds, side by side.

Paths run from strong to weak penalties and end where all folds together have become clearly worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.formatting import join_words
from separatrix.logistic.path import MIN_L1_RATIO
from separatrix.logistic.problem import LogisticOptions
from separatrix.optimize.linear_paths import RidgeRows
from separatrix.optimize.newton import LimitedMemory, LinearSolver, backtrack, cholesky_solver
from separatrix.probability.loops import binary_loss, softmax_by_class
from separatrix.rows.schema import Block, Terms, to_array
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold, require_classes
from separatrix.statistics.moments import Standardizer
from separatrix.threads import parallel_map

#: Decrease of the mean loss that a step must promise: the loss of a fold to about four digits.
TOLERANCE = 1e-7
#: Penalty per unit weight that stands for none, and the penalized fits on the way there.
LIKELIHOOD, FIT_POINTS = 1e-8, 9


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
            p, codes, w = self.predict(theta, test), self.rows.codes[test], self.w[test]
            likelihood = np.maximum(p[np.arange(len(test)), codes], np.finfo(float).tiny)
            log_loss[fold] = np.average(-np.log(likelihood), weights=w)
            error[fold] = np.average(p.argmax(axis=1) != codes, weights=w)
        return log_loss, error

    def predict(self, theta: Floats, test: Ints) -> Floats:
        """Probabilities of the classes."""
        scores = self.rows.z[test] @ theta
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def are_separated(self, theta: Floats, rows: Ints) -> bool:
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
    gradient = evaluate(rows, constant(rows), np.zeros((1, 1))).gradient
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
    for fitted_path in folds.solve(1.0 / Cs, TOLERANCE):
        thetas.append(fitted_path)
        log_loss, error = folds.losses(fitted_path)
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
        theta = constant(folds.rows)
        for theta in ridge_path(folds.rows.take(pair[0]), penalties, TOLERANCE):
            if np.isinf(C) and folds.are_separated(theta, pair[0]):
                return theta, True
        return theta, False

    fits = parallel_map(fit, folds.pairs)
    thetas = [theta for theta, _ in fits]
    separated = [str(fold) for fold, (_, known) in enumerate(fits) if known]
    which = f"fold{'s' if len(separated) > 1 else ''} {join_words(separated)}"
    note = f"the classes are separable in the training rows of {which}"
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
    coefs = [
        columns.coefficients(theta, intercept=intercept)
        for theta in ridge_path(rows, 1.0 / Cs, TOLERANCE)
    ]
    return np.array([coef.T * scale for coef, _ in coefs]), np.array([a for _, a in coefs])


def out_of_fold(folds: RidgeFolds, thetas: list[Floats]) -> tuple[Ints, Floats, str]:
    """Rows, probabilities and their kind, each fold predicted by its own θ."""
    tests = [test for _, test in folds.pairs]
    predicted = [folds.predict(theta, test) for theta, test in zip(thetas, tests, strict=True)]
    return folds.at[np.concatenate(tests)], np.concatenate(predicted), "probabilities"


def _rises(log_losses: list[Floats], errors: list[Floats], weight: Floats, loss: str) -> bool:
    """Whether the last point is clearly worse than the best one."""
    log_loss, error = np.array(log_losses) @ weight, np.array(errors) @ weight
    if loss == "log_loss":
        # Ratio to the least loss beyond which weaker penalties are not tried, of what decides.
        return bool(log_loss[-1] > 1.1 * log_loss.min())
    # The same ratio of the log loss, where what decides is the error rate.
    return bool(error[-1] > error.min() and log_loss[-1] > 1.25 * log_loss.min())


def _known(rows: Ints) -> Ints:
    return rows[rows >= 0]


def _rows_within(data: TuningData, d: int, points: int) -> tuple[Ints, str]:
    """Rows to compare on: all, or so many of each class that the work allowed suffices."""
    n, size = data.n, data.n
    min_rows = 500  # fewer rows than this decide too little
    while size > min_rows and _work(data, size, d, points) > data.work:
        size = max(min_rows, int(0.9 * size))
    if size == n:
        return np.arange(n), ""
    return data.spread(size), f"C was chosen on {size} of {n} rows"


def _work(data: TuningData, n: int, d: int, points: int) -> float:
    """Operations of a comparison on ``n`` rows."""
    scores = data.n_classes if data.n_classes > 2 else 1
    width, k = min(n, d) + 1, len(data.folds)
    small = width * scores <= MAX_HESSIAN
    # Passes without the Hessian.
    # Passes over the rows at each penalty, about, with the Hessian.
    passes = 10 if small or scores == 1 else 30
    # Operations for each value of a pass beyond columns.
    passes = k * points * passes * n * scores * (width + 12)
    if small:
        return float(passes + k * points / 3 * (1e8 + (width * scores) ** 3 / 10))
    return float(passes + n * d * width / 4 + float(width) ** 3)


# -------------------------------------------------------------------------------------------------
# The ridge path of logistic regression in memory, to the few digits that a comparison needs.
#
#     F(θ) = Σ w (log Σₖ e^sₖ − s_y) + ½ λ Σⱼ Σₖ θⱼₖ²,     s = θᵀz,   z = (columns, 1)
#
# From strong to weak penalties, each point starting from the extrapolation of the last two, by
# L-BFGS. The Hessian of a sample of rows at an earlier point preconditions it, with the penalty of
# the present one; where it would be too large, its block of each score does, or, where the columns
# are principal components, their variances times the curvature of each score. The constant is not
# penalized.


#: Coefficients up to which the whole Hessian preconditions.
MAX_HESSIAN = 1200
#: Multiplications that the Hessian of a sample may cost.
SAMPLE_COST = 4e8


def constant(rows: RidgeRows) -> Floats:
    """The maximum likelihood estimate without columns."""
    theta = np.zeros((rows.z.shape[1], rows.n_classes))
    if rows.intercept:
        total = np.bincount(rows.codes, rows.w, rows.n_classes)
        logs = np.log(np.maximum(total / rows.weight, np.finfo(float).tiny))
        theta[-1] = logs - logs.mean()
    return theta if rows.n_scores > 1 else theta[:, [1]] - theta[:, [0]]


@dataclass(frozen=True)
class RidgePoint:
    """F and its gradient at a point; probabilities (classes x rows; of two classes the second)."""

    value: float
    gradient: Floats
    probability: Floats


def evaluate(rows: RidgeRows, theta: Floats, ridge: Floats) -> RidgePoint:
    """One pass over the rows."""
    scores = theta.T @ rows.z.T
    residual = np.empty_like(scores)
    if rows.n_scores == 1:
        variance, positive = np.empty(scores.shape[1]), rows.codes.astype(np.float64)
        value, _ = binary_loss(scores[0], positive, rows.w, residual[0], variance)
        probability = 0.5 * (1.0 + np.tanh(0.5 * scores))
    else:
        value, probability = softmax_by_class(scores, rows.codes, rows.w, residual), scores
    shrunk = ridge * theta
    value += 0.5 * float(np.sum(theta * shrunk))
    return RidgePoint(value, (residual @ rows.z).T + shrunk, probability)


def loss_hessian(rows: RidgeRows, theta: Floats) -> Floats:
    """Σ w (diag p − p pᵀ) ⊗ z zᵀ, scores outermost."""
    d, k = theta.shape
    hessian = np.zeros((k * d, k * d))
    none = np.zeros((1, 1))
    step = max(64, 200_000 // (k * d))  # values in a chunk of rows that stays in cache
    for start in range(0, len(rows.z), step):
        part = rows.take(slice(start, start + step))
        z, w = part.z, part.w
        p = evaluate(part, theta, none).probability.T
        if k == 1:
            root = z * np.sqrt(w[:, None] * p * (1.0 - p))
            hessian += root.T @ root
            continue
        flat = ((np.sqrt(w)[:, None] * p)[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        hessian -= flat.T @ flat
        for j in range(k):
            block = slice(j * d, (j + 1) * d)
            root = z * np.sqrt(w * p[:, j])[:, None]
            hessian[block, block] += root.T @ root
    return hessian


def _sample(rows: RidgeRows, size: int) -> RidgeRows:
    """So many rows, evenly spaced, or all if there are no more."""
    n, size = len(rows.z), max(1500, size)  # rows of the sample, at least
    return rows if size >= n else rows.take((np.arange(size) * (n / size)).astype(np.int64))


class HessianPreconditioner:
    """g ↦ H⁻¹g with the Hessian of the loss of rows of a weight, and the present penalty."""

    def __init__(self, loss: Floats, weight: float, n_scores: int) -> None:
        self.loss, self.n_scores = loss, n_scores
        if n_scores > 1:  # a common shift of all scores changes nothing: it is given a curvature
            d = len(loss) // n_scores
            shift, blocks = np.arange(d), self.loss.reshape(n_scores, d, n_scores, d)
            blocks[:, shift, :, shift] += weight / n_scores**2

    @classmethod
    def of(cls, rows: RidgeRows, theta: Floats) -> HessianPreconditioner:
        """Over a sample of the rows."""
        sample = _sample(rows, int(SAMPLE_COST / theta.size**2))
        scale = rows.weight / sample.weight
        return cls(scale * loss_hessian(sample, theta), rows.weight, theta.shape[1])

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        k, full = self.n_scores, self.loss.copy()
        np.einsum("ii->i", full)[:] += np.tile(ridge[:, 0], k)
        solve = cholesky_solver(full)
        return lambda g: np.asarray(solve(g.T.ravel()).reshape(k, -1).T)


class BlockPreconditioner:
    """g ↦ H⁻¹g with the block Σ w pₖ(1 − pₖ) z zᵀ of each score, and the penalty."""

    def __init__(self, loss: Floats, weight: float) -> None:
        self.loss = loss
        # a class that the sample hardly has still has a curvature
        np.einsum("kii->ki", self.loss)[:] += 1e-6 * weight

    @classmethod
    def of(cls, rows: RidgeRows, theta: Floats) -> BlockPreconditioner:
        """Over a sample of the rows."""
        d, k = theta.shape
        sample = _sample(rows, int(SAMPLE_COST / (d * d * k)))
        return cls(hessian_blocks(sample, theta) * (rows.weight / sample.weight), rows.weight)

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        solvers = [cholesky_solver(block + np.diag(ridge[:, 0])) for block in self.loss]
        return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])


def hessian_blocks(rows: RidgeRows, theta: Floats) -> Floats:
    """The block Σ w pₖ(1 − pₖ) z zᵀ of each score."""
    d, k = theta.shape
    p = evaluate(rows, theta, np.zeros((1, 1))).probability
    blocks = np.empty((k, d, d))
    for j in range(k):
        root = rows.z * np.sqrt(rows.w * p[j] * (1.0 - p[j]))[:, None]
        blocks[j] = root.T @ root
    return blocks


class ComponentPreconditioner:
    """g ↦ H⁻¹g with H = W aₖ diag(variances) for each score k, aₖ the mean of pₖ(1 − pₖ)."""

    def __init__(self, loss: Floats) -> None:
        self.loss = loss

    @classmethod
    def of(cls, rows: RidgeRows, theta: Floats) -> ComponentPreconditioner:
        """Over all rows."""
        assert rows.variances is not None
        p = evaluate(rows, theta, np.zeros((1, 1))).probability
        curvature = np.maximum((p * (1.0 - p)) @ rows.w, 1e-4 * rows.weight)
        intercept_scale = np.ones(int(rows.intercept))
        return cls(np.append(rows.variances, intercept_scale)[:, None] * curvature)

    def with_penalty(self, ridge: Floats) -> LinearSolver:
        """The solver for one penalty."""
        curvature = self.loss + ridge
        return lambda g: g / curvature


def ridge_path(rows: RidgeRows, penalties: Floats, tolerance: float) -> Iterator[Floats]:
    """θ for every penalty λ, given in decreasing order.

    ``tolerance`` is the decrease of F per unit weight that a step must promise to be taken.
    """
    theta = last = constant(rows)
    kind: type[HessianPreconditioner | BlockPreconditioner | ComponentPreconditioner]
    kind = HessianPreconditioner if theta.size <= MAX_HESSIAN else BlockPreconditioner
    kind = kind if rows.variances is None else ComponentPreconditioner
    preconditioner = kind.of(rows, theta)
    logs = np.log(penalties)
    steps = np.diff(logs, prepend=[logs[0], logs[0]])
    for penalty, before, step in zip(penalties, steps[:-1], steps[1:], strict=True):
        ridge = rows.add_penalty(float(penalty))
        ahead = min(step / before, 1.0) if before < 0.0 else 0.0
        start = theta + ahead * (theta - last)
        last = theta
        theta, count = _lbfgs(rows, start, ridge, preconditioner.with_penalty(ridge), tolerance)
        if count > 6:  # steps at a point beyond which the Hessian is computed again
            preconditioner = kind.of(rows, theta)
        yield theta


def _lbfgs(
    rows: RidgeRows, theta: Floats, ridge: Floats, solve: LinearSolver, tolerance: float
) -> tuple[Floats, int]:
    """Steps until the next promises too little; also their number."""
    here, memory = evaluate(rows, theta, ridge), LimitedMemory()
    for count in range(200):
        step = memory.direction(here.gradient, solve)
        promised = float(np.sum(here.gradient * step))
        if promised <= tolerance * rows.weight:
            return theta, count

        def at(size: float, theta: Floats = theta, step: Floats = step) -> RidgePoint:
            return evaluate(rows, theta - size * step, ridge)

        found = backtrack(at, here.value, -promised)
        if found is None:
            return theta, count
        size, there = found
        memory.add(-size * step, there.gradient - here.gradient)
        theta, here = theta - size * step, there
    return theta, 200


# -------------------------------------------------------------------------------------------------
# The negative log-likelihood as a loss of paths over a stream (`optimize/linear_paths.py`).


@dataclass(frozen=True)
class LogisticPathLoss:
    """The negative log-likelihood."""

    n_classes: int

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""
        residual = np.empty_like(scores)
        if len(scores) > 1:
            return float(softmax_by_class(scores, codes, w, residual)), residual
        positive, second = codes.astype(np.float64), np.empty(scores.shape[1])
        return float(binary_loss(scores[0], positive, w, residual[0], second)[0]), residual

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """−log p of the true class, and whether another is more probable."""
        if len(scores) == 1:
            scores = np.vstack([np.zeros(scores.shape[1]), scores])
        at = np.arange(scores.shape[1])
        loss = np.logaddexp.reduce(scores, axis=0) - scores[codes, at]
        return loss, (scores.argmax(axis=0) != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""
        # Decrease of the mean loss of the sample that a step towards a warm start must promise.
        return list(ridge_path(sample, penalties, 1e-8))

    def curvature(self, rows: RidgeRows, theta: Floats) -> Floats:
        """The Hessian of the rows at θ, or its block of each score where it would be too large."""
        return (loss_hessian if theta.size <= MAX_HESSIAN else hessian_blocks)(rows, theta)

    def solver(self, curvature: Floats, weight: float, ridge: Floats) -> LinearSolver:
        """g ↦ H⁻¹g with the Hessian or its blocks, and the penalty."""
        if curvature.ndim == 3:
            return BlockPreconditioner(curvature, weight).with_penalty(ridge)
        return HessianPreconditioner(curvature, weight, len(curvature) // len(ridge)).with_penalty(
            ridge
        )


# -------------------------------------------------------------------------------------------------
# Columns for a ridge penalty: as they are, or principal components where they are many.
#
# An orthogonal map changes neither scores nor penalty. With more columns than rows it leads into
# the span of the rows, where every solution lies.


@dataclass(frozen=True)
class Components:
    """Rows ``z`` of columns measured from ``mean``, or of components with their ``variances``.

    ``rotate`` makes coefficients of columns from those of components.
    """

    z: Floats
    mean: Floats
    variances: Floats | None = None
    rotate: Callable[[Floats], Floats] | None = None

    @classmethod
    def of(cls, x: Matrix, w: Floats, n_scores: int, *, centered: bool) -> Components:
        """The columns themselves where a Hessian of all scores is small enough."""
        x = to_array(x)
        n, d = x.shape
        mean = np.zeros(d)
        if centered:
            mean = w @ x / w.sum()
            x = x - mean
        # Coefficients of several scores up to which the Hessian of each preconditions; with more,
        # or one score and a Hessian too large, columns become principal components.
        if d < n and (d + 1) * n_scores <= (3000 if n_scores > 1 else MAX_HESSIAN):
            return cls(x, mean)
        if d < n:
            root = x * np.sqrt(w)[:, None]
            values, vectors = linalg.eigh(root.T @ root)
            variances = np.maximum(values, 0.0) / w.sum()
            return cls(x @ vectors, mean, variances, lambda theta: vectors @ theta)
        values, vectors = linalg.eigh(x @ x.T)
        nonzero = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
        singular, vectors = np.sqrt(values[nonzero])[:, None], vectors[:, nonzero]
        z = vectors * singular.T
        variances = np.asarray(w @ z**2 / w.sum())
        return cls(z, mean, variances, lambda theta: x.T @ (vectors @ (theta / singular)))

    def coefficients(self, theta: Floats, *, intercept: bool) -> tuple[Floats, Floats]:
        """Coefficients of the columns (d x scores) and intercepts, which θ ends with if any."""
        inner = theta[:-1] if intercept else theta
        coef = inner if self.rotate is None else self.rotate(inner)
        constant = theta[-1] if intercept else np.zeros(theta.shape[1])
        return coef, constant - self.mean @ coef

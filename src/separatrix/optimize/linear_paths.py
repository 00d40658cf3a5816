"""Penalty paths of linear scores over a stream: all penalties and all folds in the same passes.

    F_cf(θ) = Σ_{rows not of fold f} w ℓ(θᵀz) + ½ λ_c ‖θ‖²,     z = (standardized columns, 1)

Every problem starts at the solution of a sample of the rows, weighted to stand for all of them,
and takes L-BFGS steps that the Hessian of the sample preconditions: each pass over the rows
evaluates the next point of every problem that has not converged, and its loss on the rows of fold
f.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.optimize.newton import ARMIJO, LimitedMemory, LinearSolver
from separatrix.rows.rows import Rows, chunks
from separatrix.rows.schema import Block, Encoding, Terms
from separatrix.rows.split import TEST
from separatrix.statistics.moments import FieldStatistic, Moments, Standardizer

#: The fold of a problem that leaves none out.
ALL = -2
#: Passes at most.
MAX_PASSES = 15
#: Decrease of the mean loss that a further step must promise: of a fit that is compared with
#: others, whose losses are known to a few digits, and of the one that is chosen.
COMPARED, CHOSEN = 1e-9, 1e-10


@dataclass(frozen=True)
class LinearDesign:
    """z = ((x − mean)/σ, 1) of encoded rows, and the classes of their target."""

    encoding: Encoding
    standardizer: Standardizer
    targets: Terms

    @classmethod
    def of(cls, encoding: Encoding, design: Moments, targets: Terms) -> LinearDesign:
        """Standardized by the moments of all training rows."""
        return cls(encoding, Standardizer.from_moments(design), targets)

    @property
    def width(self) -> int:
        """Length of z."""
        return len(self.standardizer.mean) + 1

    def z(self, block: Block) -> Floats:
        """The design rows of a raw block."""
        x = self.encoding.apply(block).dense()
        z = np.empty((len(x), self.width))
        np.subtract(x, self.standardizer.mean, out=z[:, :-1])
        z[:, :-1] *= self.standardizer.inverse_scale
        z[:, -1] = 1.0
        return z

    def sample(self, block: Block, weight: float, left_out: int) -> RidgeRows:
        """Rows of a sample but those of a fold, weighted to stand for rows of ``weight``."""
        assert block.parts is not None
        rows = block.take(np.flatnonzero(block.parts != left_out))
        w = rows.weights * (weight / rows.weight)
        codes = rows.codes(self.targets)
        return RidgeRows(self.z(rows), codes, w, len(self.targets), intercept=True)


class PathGradients(FieldStatistic):
    """Values and gradients of many problems at their ``points`` (P x D x scores), in one pass.

    ``losses`` are those of the problems. ``left_out`` is the fold whose rows a problem is not
    fitted to; of those rows ``validation`` sums weight, loss and errors (P x 3).
    """

    sums: ClassVar[tuple[str, ...]] = ("value", "gradient", "validation")

    def __init__(
        self, design: LinearDesign, losses: list[PathLoss], points: Floats, left_out: Ints
    ) -> None:
        self.design, self.losses, self.points, self.left_out = design, losses, points, left_out
        self.value = np.zeros(len(points))
        self.gradient = np.zeros_like(points)
        self.validation = np.zeros((len(points), 3))

    def update(self, block: Block) -> None:
        """Add the rows of a block that are not of the test part."""
        assert block.parts is not None
        block = block.take(np.flatnonzero(block.parts != TEST))
        p, _, k = self.points.shape
        # Scores of a chunk of rows, for all problems together.
        for chunk in chunks(block, int(np.clip(400_000 // (p * k), 256, 8192))):
            self._add(chunk)

    def _add(self, block: Block) -> None:
        z, codes = self.design.z(block), block.codes(self.design.targets)
        w, parts = block.weights, block.parts
        p, width, k = self.points.shape
        flat = self.points.transpose(0, 2, 1).reshape(p * k, width)
        scores, residual = flat @ z.T, np.empty((p * k, block.n))
        folds = {int(f): np.flatnonzero(parts == f) for f in np.unique(self.left_out)}
        weights = {f: np.where(parts == f, 0.0, w) for f in folds}
        for i, (loss, f) in enumerate(zip(self.losses, self.left_out.tolist(), strict=True)):
            own, validation = slice(i * k, (i + 1) * k), folds[f]
            if len(validation):
                losses, wrong = loss.validate(scores[own, validation], codes[validation])
                self.validation[i] += (
                    w[validation].sum(),
                    w[validation] @ losses,
                    w[validation] @ wrong,
                )
            value, residual[own] = loss.evaluate(scores[own], codes, weights[f])
            self.value[i] += value
        self.gradient += (residual @ z).reshape(p, k, width).transpose(0, 2, 1)


@dataclass
class Descent:
    """One problem on its way: loss, penalty, fold left out, and the state of L-BFGS."""

    loss: PathLoss
    penalty: Floats
    left_out: int
    weight: float
    theta: Floats
    solve: LinearSolver
    value: float = np.inf
    gradient: Floats | None = None
    validation: Floats = field(default_factory=lambda: np.zeros(3))
    memory: LimitedMemory = field(default_factory=LimitedMemory)
    step: Floats | None = None
    size: float = 1.0
    promised: float = np.inf
    tolerance: float = COMPARED
    done: bool = False

    @property
    def trial(self) -> Floats:
        """Where the next pass evaluates it."""
        return self.theta if self.step is None else self.theta - self.size * self.step

    def accept(self, value: float, gradient: Floats, validation: Floats) -> None:
        """What a pass found at the trial point: go there, or try half of the step."""
        point = self.trial
        shrunk = self.penalty * point
        value += 0.5 * float(np.sum(point * shrunk))
        gradient = gradient + shrunk
        decrease = ARMIJO * self.size * self.promised
        if self.step is not None and not value <= self.value - decrease:
            rounding = self.promised <= 1e-13 * max(abs(self.value), 1.0)
            self.size *= 0.5
            self.done = self.size < 1e-4 or rounding
            return
        if self.gradient is not None:
            self.memory.add(point - self.theta, gradient - self.gradient)
        self.theta, self.value, self.gradient, self.validation = point, value, gradient, validation
        self.step, self.size = self.memory.direction(gradient, self.solve), 1.0
        self.promised = float(np.sum(self.step * gradient))
        self.done = self.promised <= self.tolerance * self.weight

    @property
    def residual(self) -> float:
        """The largest derivative, relative to the weight of the rows."""
        assert self.gradient is not None
        return float(np.abs(self.gradient).max()) / self.weight


@dataclass(frozen=True)
class LinearPaths:
    """Solutions by penalty (in decreasing order) and fold left out (``ALL``: none)."""

    design: LinearDesign
    penalties: Floats
    folds: list[int]
    descents: dict[tuple[int, int], Descent]
    n_passes: int

    def losses(self, kind: str) -> Floats:
        """Mean loss, or error rate, of the rows of every fold (points x folds)."""
        validation = np.array(
            [
                [self.descents[c, f].validation for f in self.folds]
                for c in range(len(self.penalties))
            ]
        )
        column = 2 if kind == "error" else 1
        return np.asarray(validation[:, :, column] / np.maximum(validation[:, :, 0], 1e-300))

    def finish(self, rows: Rows, point: int) -> int:
        """Solve the problem of all folds to the end; the number of further passes."""
        descent = self.descents[point, ALL]
        descent.tolerance = CHOSEN
        descent.done = descent.promised <= CHOSEN * descent.weight
        return descend(rows, self.design, [descent])

    def undo_scaling(self, point: int, fold: int) -> tuple[Floats, Floats]:
        """Coefficients (scores x d) and intercepts for encoded rows."""
        theta = self.descents[point, fold].theta
        coef, intercept = self.design.standardizer.unscale(theta[:-1].T, theta[-1])
        return np.asarray(coef), np.asarray(intercept)


@dataclass(frozen=True)
class PathJob:
    """A loss, its penalties in decreasing order, and the weights of the rows of each problem.

    Those are by the fold that a problem leaves out; ``ALL`` leaves out none.
    """

    loss: PathLoss
    penalties: Floats
    weights: dict[int, float]

    def on_sample(self, sample: Block, design: LinearDesign) -> SampledPaths:
        """The solutions of all problems on a sample that stands for all rows."""
        starts = {
            f: np.array(self.loss.warm_starts(design.sample(sample, weight, f), self.penalties))
            for f, weight in self.weights.items()
        }
        whole = design.sample(sample, self.weights[ALL], ALL)
        assert sample.parts is not None
        return SampledPaths(self, whole, np.asarray(sample.parts), starts)


#: Root mean square difference of scores at which two penalties count as one: the mean of a loss
#: whose second derivative is at most 1/4, as of logistic regression, differs by 1e-5 at most.
SAME_SCORES = 0.01
#: Standard errors of a paired difference by which a penalty loses on the sample.
CLEARLY = 3.0


@dataclass(frozen=True)
class SampledPaths:
    """The problems of a job at their solutions on a sample, by fold (points x D x scores)."""

    job: PathJob
    whole: RidgeRows
    parts: Ints
    starts: dict[int, Floats]

    def find_competing(self) -> list[int]:
        """Points that may win on all rows: the weakest penalty, and stronger ones that differ.

        A penalty that is too strong for the sample is so for all rows, where a fit needs less of
        it: a penalty that loses there is left out, and all that are stronger.
        """
        losses = np.array([self._losses(c) for c in range(len(self.job.penalties))])
        w = self.whole.w / self.whole.weight
        best = losses[int((losses @ w).argmin())]
        competing: list[int] = []
        for c in reversed(range(len(losses))):  # from the weakest penalty on
            behind = losses[c] - best
            mean = float(behind @ w)
            error = float(np.sqrt(np.sum((w * (behind - mean)) ** 2)))
            if competing and mean > CLEARLY * error:
                break
            if not competing or self._distance(c, competing[-1]) > SAME_SCORES:
                competing.append(c)
        return competing[::-1]

    def _losses(self, c: int) -> Floats:
        """The loss of every row of the sample, out of fold."""
        losses = np.zeros(len(self.whole.w))
        for f, starts in self.starts.items():
            rows = np.flatnonzero(self.parts == f)
            if len(rows):
                scores = starts[c].T @ self.whole.z[rows].T
                losses[rows] = self.job.loss.validate(scores, self.whole.codes[rows])[0]
        return losses

    def _distance(self, c: int, other: int) -> float:
        """Root mean square difference of the scores of two penalties."""
        difference = self.whole.z @ (self.starts[ALL][c] - self.starts[ALL][other])
        return float(np.sqrt(self.whole.w @ np.mean(difference**2, axis=1) / self.whole.weight))

    def take(self, points: list[int]) -> SampledPaths:
        """Some of the penalties."""
        job = replace(self.job, penalties=self.job.penalties[points])
        starts = {f: start[points] for f, start in self.starts.items()}
        return replace(self, job=job, starts=starts)

    def descents(self) -> dict[tuple[int, int], Descent]:
        """Every problem on its way over all rows, by penalty and fold."""
        loss, found = self.job.loss, {}
        for c, penalty in enumerate(self.job.penalties.tolist()):
            ridge = self.whole.add_penalty(penalty)
            solver = loss.solver(self.whole, self.starts[ALL][c], penalty)
            for f, weight in self.job.weights.items():
                found[c, f] = Descent(loss, ridge, f, weight, self.starts[f][c], solver)
        return found


def solve_paths(rows: Rows, design: LinearDesign, sampled: list[SampledPaths]) -> list[LinearPaths]:
    """Solve all problems of all jobs together: a pass evaluates those that have not converged."""
    jobs = [paths.job for paths in sampled]
    started = [paths.descents() for paths in sampled]
    passes = descend(rows, design, [descent for found in started for descent in found.values()])
    return [
        LinearPaths(design, job.penalties, [f for f in job.weights if f != ALL], found, passes)
        for job, found in zip(jobs, started, strict=True)
    ]


def descend(rows: Rows, design: LinearDesign, every: list[Descent]) -> int:
    """Passes over the rows until all problems have converged; how many there were."""
    passes = 0
    while passes < MAX_PASSES and any(not d.done for d in every):
        active = [d for d in every if not d.done]
        points = np.array([d.trial for d in active])
        left_out = np.array([d.left_out for d in active], dtype=np.int64)
        losses = [d.loss for d in active]
        found = rows.reduce(PathGradients(design, losses, points, left_out))
        for i, descent in enumerate(active):
            descent.accept(float(found.value[i]), found.gradient[i], found.validation[i])
        passes += 1
    return passes


@dataclass(frozen=True)
class RidgeRows:
    """Columns ``z`` with a constant at the end if ``intercept``, codes and weights of the rows.

    ``variances`` are those of principal components, None for other columns.
    """

    z: Floats
    codes: Ints
    w: Floats
    n_classes: int
    intercept: bool
    variances: Floats | None = None

    @property
    def n_scores(self) -> int:
        """One for two classes, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    def take(self, rows: Ints | slice) -> RidgeRows:
        """Some of the rows."""
        return replace(self, z=self.z[rows], codes=self.codes[rows], w=self.w[rows])

    def add_penalty(self, penalty: float) -> Floats:
        """λ for each column, 0 for the constant."""
        ridge = np.full((self.z.shape[1], 1), penalty)
        if self.intercept:
            ridge[-1] = 0.0
        return ridge


class PathLoss(Protocol):
    """A loss of scores, and what a sample of the rows tells of its minimum."""

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The loss of every row, and whether another class is predicted."""

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g, H the Hessian of the sample at θ with the penalty."""

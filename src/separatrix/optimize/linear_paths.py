"""Penalty paths of linear scores over a stream: all penalties and all folds in the same passes.

    F_cf(θ) = Σ_{rows not of fold f} w ℓ(θᵀz) + ½ λ_c ‖θ‖²,     z = (standardized columns, 1)

Every problem starts at the solution of a sample of the rows, weighted to stand for all of them.
A pass evaluates the present point of every problem that has not converged, its loss on the rows of
fold f, and the Hessian of the problem of all rows, over as many rows as cost no more than the
gradients do. It gives the Newton step of each fold where all rows are among them, and else
preconditions L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.optimize.newton import ARMIJO, LimitedMemory, LinearSolver
from separatrix.rows.rows import Rows, chunks
from separatrix.rows.sampling import Together, draw_fraction
from separatrix.rows.schema import Block, Encoding, Terms
from separatrix.rows.split import TEST
from separatrix.statistics.moments import FieldStatistic, Moments, Standardizer

#: The fold of a problem that leaves none out.
ALL = -2
#: Passes at most.
MAX_PASSES = 15
#: Decrease of the mean loss that a further step of the chosen fit must promise.
CHOSEN = 1e-10


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
        rows = self.rows(block.take(np.flatnonzero(block.parts != left_out)))
        return replace(rows, w=rows.w * (weight / rows.weight))

    def rows(self, block: Block) -> RidgeRows:
        """The design of a raw block, with codes and weights."""
        codes = block.codes(self.targets)
        return RidgeRows(self.z(block), codes, block.weights, len(self.targets), intercept=True)


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

    @classmethod
    def of(cls, design: LinearDesign, active: list[Descent]) -> PathGradients:
        """Those of problems at their trial points."""
        left_out = np.array([d.left_out for d in active], dtype=np.int64)
        points = np.array([d.trial for d in active])
        return cls(design, [d.loss for d in active], points, left_out)

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


class PathCurvatures:
    """Hessians of losses at points, over a random ``fraction`` of the rows; merges with ``+``."""

    def __init__(
        self, design: LinearDesign, points: list[tuple[PathLoss, Floats]], fraction: float
    ) -> None:
        self.design, self.points, self.fraction = design, points, fraction
        self.weight, self.sums = 0.0, [np.zeros(1)] * len(points)

    def fresh(self) -> Self:
        """No rows yet."""
        return type(self)(self.design, self.points, self.fraction)

    def update(self, block: Block) -> None:
        """Add the rows of a block that are not of the test part."""
        assert block.parts is not None
        block = draw_fraction(block.take(np.flatnonzero(block.parts != TEST)), self.fraction)
        for chunk in chunks(block, 8192):
            rows = self.design.rows(chunk)
            self.weight += rows.weight
            self.sums = [
                total + loss.curvature(rows, theta)
                for total, (loss, theta) in zip(self.sums, self.points, strict=True)
            ]

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.weight = self.weight + other.weight
        total.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        return total


@dataclass
class SharedHessian:
    """g ↦ H⁻¹g of the problem of all rows, at the last point where its Hessian was computed.

    It ``is_exact`` while that is the present point, and the Hessian was over all rows.
    """

    solve: LinearSolver
    is_exact: bool = False


@dataclass
class Descent:
    """One problem on its way: loss, penalty, fold left out, and the state of L-BFGS.

    ``shared`` is the Hessian of all rows; this problem has a ``portion`` of them.
    """

    loss: PathLoss
    penalty: Floats
    left_out: int
    weight: float
    portion: float
    theta: Floats
    shared: SharedHessian
    value: float = np.inf
    gradient: Floats | None = None
    validation: Floats = field(default_factory=lambda: np.zeros(3))
    memory: LimitedMemory = field(default_factory=LimitedMemory)
    step: Floats | None = None
    size: float = 1.0
    promised: float = np.inf
    tolerance: float = 10.0 * CHOSEN  # losses that are compared are known to a few digits
    gain: float = 1.0
    done: bool = False

    def _precondition(self, gradient: Floats) -> Floats:
        """H⁻¹g, H being the fraction of the Hessian of all rows that belongs to these."""
        return self.shared.solve(gradient) / self.portion

    @property
    def is_near(self) -> bool:
        """Whether the next point will do, if its step gains as much as the last one did."""
        return self.done or self.promised * self.gain <= self.tolerance * self.weight

    @property
    def trial(self) -> Floats:
        """Where the next pass evaluates it."""
        if self.step is None or self.done:
            return self.theta
        return self.theta - self.size * self.step

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
        if self.shared.is_exact:  # differences of gradients know less of it
            self.memory.clear()
        elif self.gradient is not None:
            self.memory.add(point - self.theta, gradient - self.gradient)
        self.theta, self.value, self.gradient, self.validation = point, value, gradient, validation
        self.step, self.size = self.memory.direction(gradient, self._precondition), 1.0
        before, self.promised = self.promised, float(np.sum(self.step * gradient))
        self.gain = min(self.promised / before, 1.0) if np.isfinite(before) else 1.0
        self.done = self.promised <= self.tolerance * self.weight

    @property
    def residual(self) -> float:
        """The largest derivative, relative to the weight of the rows."""
        assert self.gradient is not None
        return float(np.abs(self.gradient).max()) / self.weight


@dataclass
class LinearPaths:
    """Problems by penalty (in decreasing order) and fold left out (``ALL``: none)."""

    design: LinearDesign
    penalties: Floats
    folds: list[int]
    descents: dict[tuple[int, int], Descent]

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

    def chosen(self, best: int, by_fold: Ints) -> list[Descent]:
        """The problems of the penalties that were chosen, of all rows and of each fold."""
        pairs = [(best, ALL), *zip(by_fold.tolist(), self.folds, strict=True)]
        return [self.descents[pair] for pair in pairs]

    def finish(self, rows: Rows, point: int) -> int:
        """Solve the problem of all folds to the end; the number of further passes."""
        descent = self.descents[point, ALL]
        descent.tolerance = CHOSEN
        descent.done = descent.promised <= CHOSEN * descent.weight
        return descend(rows, self.design, [descent])

    def undo_scaling(self, point: int, fold: int) -> tuple[Floats, Floats]:
        """Coefficients (scores x d) and intercepts for encoded rows, where the next pass looks."""
        theta = self.descents[point, fold].trial
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
        loss, whole, found = self.job.loss, self.whole, {}
        for c, penalty in enumerate(self.job.penalties.tolist()):
            ridge = whole.add_penalty(penalty)
            curvature = loss.curvature(whole, self.starts[ALL][c])
            shared = SharedHessian(loss.solver(curvature, whole.weight, ridge))
            for f, weight in self.job.weights.items():
                portion, start = weight / self.job.weights[ALL], self.starts[f][c]
                found[c, f] = Descent(loss, ridge, f, weight, portion, start, shared)
        return found


def start_paths(design: LinearDesign, sampled: list[SampledPaths]) -> list[LinearPaths]:
    """All problems of all jobs at their solutions on the sample."""
    return [
        LinearPaths(
            design,
            paths.job.penalties,
            [f for f in paths.job.weights if f != ALL],
            paths.descents(),
        )
        for paths in sampled
    ]


def approach(rows: Rows, design: LinearDesign, every: list[Descent]) -> int:
    """Passes until the next one would do for all problems; how many there were."""
    passes = 0
    while passes < MAX_PASSES and not all(d.is_near for d in every):
        active = [d for d in every if not d.done]
        wholes = [d for d in active if d.left_out == ALL]
        # a gradient takes two products with the rows, a Hessian half of one for each coefficient
        cost = sum(0.5 * d.theta.size**2 for d in wholes)
        fraction = min(1.0, sum(2.0 * d.theta.size for d in active) / max(cost, 1.0))
        points = [(d.loss, d.trial) for d in wholes]
        curvatures = PathCurvatures(design, points, fraction)
        found = rows.reduce(Together(PathGradients.of(design, active), curvatures))
        gradients, curvatures = found.statistics
        for whole, curvature in zip(wholes, curvatures.sums, strict=True):
            scaled = curvature * (whole.weight / curvatures.weight)
            whole.shared.solve = whole.loss.solver(scaled, whole.weight, whole.penalty)
            whole.shared.is_exact = fraction == 1.0
        accept(active, gradients)
        passes += 1
    return passes


def accept(active: list[Descent], found: PathGradients) -> None:
    """Tell every problem what a pass found at its trial point."""
    for i, descent in enumerate(active):
        descent.accept(float(found.value[i]), found.gradient[i], found.validation[i])
    for descent in active:
        descent.shared.is_exact = False


def descend(rows: Rows, design: LinearDesign, every: list[Descent]) -> int:
    """Passes over the rows until all problems have converged; how many there were."""
    passes = 0
    while passes < MAX_PASSES and not all(d.done for d in every):
        active = [d for d in every if not d.done]
        accept(active, rows.reduce(PathGradients.of(design, active)))
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

    def curvature(self, rows: RidgeRows, theta: Floats) -> Floats:
        """The Hessian of the rows at θ, whole or its block of each score; it adds up."""

    def solver(self, curvature: Floats, weight: float, ridge: Floats) -> LinearSolver:
        """g ↦ H⁻¹g, H being ``curvature``, of rows of such a weight, with the penalty."""

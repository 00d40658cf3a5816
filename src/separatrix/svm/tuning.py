"""Cross-validation of C and bandwidth, for SVMs that choose their own.

    for each bandwidth h:  the SVMs of all C, each started from the last, on every fold

Bandwidths start at the total standard deviation of the rows, h² = Σ variances of the columns, and
go on by factors of two to whichever side is better, then by a half step. Values of C are multiples
of 1/variance of the rows in the feature space, so that the same ones serve every bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from separatrix.estimators.class_labels import outputs_of
from separatrix.kernels import Gaussian, Linear
from separatrix.probability.calibrated import calibrated_probabilities, calibrations
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import Folds, folds_of
from separatrix.svm.loops.smo import smo
from separatrix.svm.problem import SVMProblem, classification_problem, regression_problem

#: C in units of 1/variance: from all rows within the margin to hardly any.
C_GRID = 10.0 ** np.arange(-1.0, 3.25, 0.5)
#: Largest number of doublings of the first bandwidth, either way.
MOST_DOUBLINGS = 6.0
#: Relative increase of the loss after which larger C are not tried.
INCREASE = 0.02
#: Violation of the KKT conditions that is left at each C, in the units of t; where support vectors
#: are counted.
TOLERANCE, FINE_TOLERANCE = 1e-2, 1e-3
#: Limit of iterations at each C: so many, and so many more for each row.
_MAX_ITER, _MAX_ITER_PER_ROW = 2_000, 10
#: Probabilities are at least this large.
SMALLEST = 1e-15


class Task(Protocol):
    """Classification or regression: the binary problems, and the loss of out-of-fold scores."""

    def problems(self, rows: Ints) -> list[SVMProblem]:
        """One problem for each binary SVM over some of the rows, at C = 1."""

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """Mean loss by fold of the out-of-fold scores (rows x binary SVMs)."""


@dataclass(frozen=True)
class ClassificationTask:
    """Codes of k classes; the loss is the log loss of sigmoids fitted to the scores."""

    codes: Ints
    k: int
    w: Floats

    def problems(self, rows: Ints) -> list[SVMProblem]:
        """The second of two classes, or every class, against the rest."""
        labels = [np.where(self.codes[rows] == own, 1.0, -1.0) for own in outputs_of(self.k)]
        return [classification_problem(y, self.w[rows]) for y in labels]

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """−log of the probability of the true class."""
        given = scores[:, 0] if self.k == 2 else scores
        maps = calibrations("platt", given, self.codes, self.k, self.w)
        p = calibrated_probabilities(maps, given)
        own = np.maximum(p[np.arange(len(fold)), self.codes], SMALLEST)
        return _mean_by_fold(-np.log(own), self.w, fold)


@dataclass(frozen=True)
class RegressionTask:
    """Standardized targets, and the ε of the loss."""

    y: Floats
    w: Floats
    epsilon: float

    def problems(self, rows: Ints) -> list[SVMProblem]:
        """One problem of regression."""
        return [regression_problem(self.y[rows], self.w[rows], self.epsilon)]

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """Squared errors."""
        return _mean_by_fold((self.y - scores[:, 0]) ** 2, self.w, fold)


def _mean_by_fold(loss: Floats, w: Floats, fold: Ints) -> Floats:
    total = np.bincount(fold, w)
    return np.asarray(np.bincount(fold, w * loss) / np.where(total > 0, total, 1.0))


@dataclass(frozen=True)
class Candidate:
    """One bandwidth (0 for the linear kernel): values of C, and losses (m x folds).

    ``doublings`` is log₂ of the bandwidth over the first one.
    """

    doublings: float
    bandwidth: float
    Cs: Floats
    losses: Floats

    @property
    def best(self) -> int:
        """Index of the C of least mean loss; of equals the smallest."""
        return int(self.losses.mean(axis=1).argmin())

    @property
    def loss(self) -> float:
        """The least mean loss."""
        return float(self.losses.mean(axis=1).min())


def best_candidate(candidates: Iterable[Candidate]) -> Candidate:
    """The least mean loss; of equals the largest bandwidth."""
    return min(candidates, key=lambda c: (c.loss, -c.bandwidth))


@dataclass(frozen=True)
class CrossValidation:
    """Standardized rows with their folds, and the task; the search ends at the ``deadline``."""

    x: Any
    w: Floats
    folds: Folds
    task: Task
    deadline: float = np.inf

    def linear(self) -> Candidate:
        """All C of the linear kernel."""
        return self._candidate(0.0, 0.0, self._gram(0.0))

    def gaussian(self, doublings: float = 0.0) -> Candidate:
        """All C of the Gaussian kernel of one bandwidth."""
        bandwidth = self.first_bandwidth * 2.0**doublings
        return self._candidate(doublings, bandwidth, self._gram(bandwidth))

    def search_bandwidth(self) -> list[Candidate]:
        """Downhill from the first bandwidth by factors of two, then half a step to either side."""
        found: dict[float, Candidate] = {}

        def visit(places: Iterable[float]) -> None:
            for place in places:
                late = found and time.perf_counter() >= self.deadline
                if abs(place) <= MOST_DOUBLINGS and place not in found and not late:
                    found[place] = self.gaussian(place)

        visit((0.0, -1.0, 1.0))
        for _ in range(int(MOST_DOUBLINGS)):
            here = best_candidate(found.values()).doublings
            visit((here - 1.0, here + 1.0))
        here = best_candidate(found.values()).doublings
        visit((here - 0.5, here + 0.5))
        return [found[place] for place in sorted(found)]

    def support_counts(self, candidate: Candidate) -> Floats:
        """Number of support vectors among all rows at each C."""
        gram, counts = np.ascontiguousarray(self._gram(candidate.bandwidth)), []
        problems = self.task.problems(np.arange(len(self.w)))
        paths = [WarmStartedPath(gram, p, FINE_TOLERANCE) for p in problems]
        for C in candidate.Cs:
            for path in paths:
                path.solve(C)
            counts.append(np.any([path.beta != 0.0 for path in paths], axis=0).sum())
        return np.array(counts, dtype=float)

    @cached_property
    def first_bandwidth(self) -> float:
        """√ of the total variance of the columns; 1 for rows that are all the same."""
        variance = feature_variance(self._gram(0.0), self.w)
        return float(np.sqrt(variance)) if variance > 0.0 else 1.0

    @cached_property
    def fold(self) -> Ints:
        """The fold in which each row is tested."""
        tests = [test for _, test in self.folds.pairs]
        return self.folds.out_of_fold([np.full(len(t), f) for f, t in enumerate(tests)])

    def _gram(self, bandwidth: float) -> Floats:
        kernel = Gaussian(bandwidth) if bandwidth > 0.0 else Linear()
        return np.asarray(kernel.gram(self.x), dtype=float)

    def _candidate(self, doublings: float, bandwidth: float, gram: Floats) -> Candidate:
        """One C after the other, until the loss has increased twice in a row."""
        variance, fold = feature_variance(gram, self.w), self.fold
        Cs = C_GRID / (variance if variance > 0.0 else 1.0)
        paths = self.folds.map(lambda train, test: _FoldPath(gram, train, test, self.task))
        losses: list[Floats] = []
        for C in Cs:
            scores = self.folds.out_of_fold([path.scores(C) for path in paths])
            losses.append(self.task.losses(scores, fold))
            means = [float(loss.mean()) for loss in losses]
            if len(means) > 2 and min(means[-2:]) > (1.0 + INCREASE) * min(means):
                break
        found = np.stack(losses)
        return Candidate(doublings, bandwidth, Cs[: len(found)], found)


class WarmStartedPath:
    """The SVM of one table at one C after the other, each started from the last one.

        β(C′) starts at β(C) · C′/C

    Bound support vectors stay at their bound and Σβ stays zero, so that between neighboring C only
    rows near the margin have to change. The tolerance is coarse, and the number of iterations at
    each C is limited. ``problem`` is that of C = 1, ``gram`` its Gram matrix (float64, contiguous);
    ``beta`` are the coefficients at the current C.
    """

    def __init__(self, gram: Floats, problem: SVMProblem, tol: float = TOLERANCE) -> None:
        self.gram, self.problem, self.tol = gram, problem, tol
        self.diagonal = np.ascontiguousarray(np.diag(gram))
        self.beta, self.f, self.C = np.zeros(problem.n), np.zeros(problem.n), 1.0
        self.both_signs = bool((problem.low < 0).any() and (problem.high > 0).any())

    def solve(self, C: float) -> float:
        """Solve at another C; returns the intercept b."""
        p = self.problem.with_cost(C)
        self.beta *= C / self.C
        self.f *= C / self.C
        np.clip(self.beta, p.low, p.high, out=self.beta)  # what rounding adds
        if self.both_signs:
            limit = _MAX_ITER + _MAX_ITER_PER_ROW * p.n
            data = (self.gram, self.diagonal, p.t, p.low, p.high, p.epsilon)
            smo(*data, self.beta, self.f, self.tol, limit)
        self.C = C
        return p.best_intercept(self.beta, self.f)


class _FoldPath:
    """The binary SVMs of one fold along C: solved on its training rows, scored on its test rows."""

    def __init__(self, gram: Floats, train: Ints, test: Ints, task: Task) -> None:
        own = np.ascontiguousarray(gram[np.ix_(train, train)])
        self.cross = gram[np.ix_(test, train)]
        self.paths = [WarmStartedPath(own, p) for p in task.problems(train)]

    def scores(self, C: float) -> Floats:
        """Scores of the test rows at C (rows x binary SVMs)."""
        intercepts = [path.solve(C) for path in self.paths]
        beta = np.stack([path.beta for path in self.paths], axis=1)
        return np.asarray(self.cross @ beta + intercepts)


def feature_variance(gram: Floats, w: Floats) -> float:
    """Weighted mean squared distance from the mean in the feature space."""
    p = w / w.sum()
    return float(p @ np.diag(gram) - p @ gram @ p)


def subsample(n: int, most: int, codes: Ints | None = None) -> Ints:
    """At most about ``most`` of n rows, evenly spaced; of each class, ten at least if it has them.

    The order of rows is preserved, so that the same table always gives the same subsample.
    """
    if n <= most:
        return np.arange(n)
    if codes is None:
        return np.linspace(0, n - 1, most).astype(np.int64)
    found = []
    for own in (np.flatnonzero(codes == c) for c in np.unique(codes)):
        count = min(len(own), max(10, round(most * len(own) / n)))
        found.append(own[np.linspace(0, len(own) - 1, count).astype(np.int64)])
    return np.sort(np.concatenate(found))


def search_folds(cv: Any, codes: Ints | None, rows: Ints, n: int) -> Folds:
    """Folds of some ``rows`` among ``n``; an integer assigns rows to folds in turn, by class."""
    if isinstance(cv, int | np.integer):
        cv = min(int(cv), max(len(rows), 2))
        codes = np.zeros(len(rows), dtype=np.int64) if codes is None else codes
    return folds_of(cv, n, rows=rows, codes=codes)

"""Price and bandwidth of support vectors, by what they say of rows that they did not see.

    for each bandwidth h:  the machines of every price C, one after the other, on every fold

Bandwidths start at the size of the cloud, h² = Σ variances of the columns, and go on by factors of
two to whichever side is better, then by a half step. Prices are measured in 1/variance of the rows
in the kernel's space, so that the same ones serve every bandwidth. Nothing here depends on a clock
unless a budget is given.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from separatrix.estimators.coded_rows import outputs_of
from separatrix.kernels import Gaussian, Linear
from separatrix.messages import InputError
from separatrix.probability.calibrated import calibrated_probabilities, calibrations
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import folds_of
from separatrix.svm.dual.problem import DualProblem, classes_problem, tube_problem
from separatrix.svm.dual.warm_starts import WarmStartedPath

#: Prices in units of 1/variance: from all rows inside the margin to hardly any.
PRICES = 10.0 ** np.arange(-1.0, 3.25, 0.5)
#: How far the bandwidth may go from the size of the cloud, in doublings.
FARTHEST = 6.0
#: A loss this much above the least one, as a share, is not coming back.
CLEARLY = 0.02
#: Violation at which support vectors are counted.
FINER = 1e-3
#: A probability below this counts as this.
SMALLEST = 1e-15


class Answers(Protocol):
    """What is asked of a machine: classes, or numbers."""

    def problems(self, rows: Ints) -> list[DualProblem]:
        """One problem for each machine over some of the rows, at C = 1."""

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """Mean loss by fold of the scores (rows x machines) that held-out rows got."""


@dataclass(frozen=True)
class Classes:
    """Codes of k classes; judged by the log loss of the likeliest sigmoid of the scores."""

    codes: Ints
    k: int
    w: Floats

    def problems(self, rows: Ints) -> list[DualProblem]:
        """The second of two classes, or every class, against the rest."""
        sides = [np.where(self.codes[rows] == own, 1.0, -1.0) for own in outputs_of(self.k)]
        return [classes_problem(side, self.w[rows]) for side in sides]

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """−log of the probability of the truth."""
        given = scores[:, 0] if self.k == 2 else scores
        p = calibrated_probabilities(
            calibrations("platt", given, self.codes, self.k, self.w), given
        )
        own = np.maximum(p[np.arange(len(fold)), self.codes], SMALLEST)
        return _by_fold(-np.log(own), self.w, fold)


@dataclass(frozen=True)
class Numbers:
    """Targets in their deviation, and half the width of the tube."""

    y: Floats
    w: Floats
    epsilon: float

    def problems(self, rows: Ints) -> list[DualProblem]:
        """One tube."""
        return [tube_problem(self.y[rows], self.w[rows], self.epsilon)]

    def losses(self, scores: Floats, fold: Ints) -> Floats:
        """Squared errors."""
        return _by_fold((self.y - scores[:, 0]) ** 2, self.w, fold)


def _by_fold(loss: Floats, w: Floats, fold: Ints) -> Floats:
    total = np.bincount(fold, w)
    return np.asarray(np.bincount(fold, w * loss) / np.where(total > 0, total, 1.0))


@dataclass(frozen=True)
class Tried:
    """One bandwidth (0 for the linear kernel): prices and losses (m x folds).

    ``doublings`` is how far the bandwidth is from the size of the cloud.
    """

    doublings: float
    bandwidth: float
    Cs: Floats
    losses: Floats

    @property
    def best(self) -> int:
        """The price of least mean loss; of equals the smallest."""
        return int(self.losses.mean(axis=1).argmin())

    @property
    def loss(self) -> float:
        """The least mean loss."""
        return float(self.losses.mean(axis=1).min())


@dataclass(frozen=True)
class Trial:
    """Rows on a common footing, dealt to folds, and what is to be said of them."""

    x: Any
    w: Floats
    fold: Ints
    answers: Answers
    deadline: float = np.inf

    def linear(self) -> Tried:
        """All prices of the linear kernel."""
        return self._tried(0.0, 0.0, self._gram(0.0))

    def gaussian(self, doublings: float = 0.0) -> Tried:
        """All prices of the Gaussian kernel of one bandwidth."""
        bandwidth = self.size * 2.0**doublings
        return self._tried(doublings, bandwidth, self._gram(bandwidth))

    def support(self, tried: Tried) -> Floats:
        """How many of all rows hold a boundary at each price."""
        gram, counts = np.ascontiguousarray(self._gram(tried.bandwidth)), []
        problems = self.answers.problems(np.arange(len(self.w)))
        walks = [WarmStartedPath(gram, p, FINER) for p in problems]
        for C in tried.Cs:
            for walk in walks:
                walk.to(C)
            counts.append(np.any([walk.beta != 0.0 for walk in walks], axis=0).sum())
        return np.array(counts, dtype=float)

    def _gram(self, bandwidth: float) -> Floats:
        kernel = Gaussian(bandwidth) if bandwidth > 0.0 else Linear()
        return np.asarray(kernel.gram(self.x), dtype=float)

    @cached_property
    def size(self) -> float:
        """Root of the variances of all columns together; 1 for rows that are all the same."""
        variance = _variance(self._gram(0.0), self.w)
        return float(np.sqrt(variance)) if variance > 0.0 else 1.0

    def bandwidths(self) -> list[Tried]:
        """Downhill from the size of the cloud by doublings, then half a step to either side."""
        found: dict[float, Tried] = {}

        def visit(places: Iterable[float]) -> None:
            for place in places:
                late = found and time.perf_counter() >= self.deadline
                if abs(place) <= FARTHEST and place not in found and not late:
                    found[place] = self.gaussian(place)

        visit((0.0, -1.0, 1.0))
        for _ in range(int(FARTHEST)):
            here = chosen(found.values()).doublings
            visit((here - 1.0, here + 1.0))
        here = chosen(found.values()).doublings
        visit((here - 0.5, here + 0.5))
        return [found[place] for place in sorted(found)]

    def _tried(self, doublings: float, bandwidth: float, gram: Floats) -> Tried:
        """One price after the other, until the loss has risen twice in a row."""
        variance = _variance(gram, self.w)
        Cs = PRICES / (variance if variance > 0.0 else 1.0)
        sides = [_Side(gram, self.fold, f, self.answers) for f in range(int(self.fold.max()) + 1)]
        losses: list[Floats] = []
        for C in Cs:
            scores = np.concatenate([side.scores(C) for side in sides])
            losses.append(self.answers.losses(scores[self._places], self.fold))
            means = [float(loss.mean()) for loss in losses]
            if len(means) > 2 and min(means[-2:]) > (1.0 + CLEARLY) * min(means):
                break
        found = np.stack(losses)
        return Tried(doublings, bandwidth, Cs[: len(found)], found)

    @cached_property
    def _places(self) -> Ints:
        """Where each row stands when the folds come one after the other."""
        place = np.empty(len(self.fold), dtype=np.int64)
        place[np.argsort(self.fold, kind="stable")] = np.arange(len(self.fold))
        return place


class _Side:
    """The machines of one fold: trained on the rows of the others, asked about its own."""

    def __init__(self, gram: Floats, fold: Ints, f: int, answers: Answers) -> None:
        inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        own = np.ascontiguousarray(gram[np.ix_(inside, inside)])
        self.cross = gram[np.ix_(outside, inside)]
        self.walks = [WarmStartedPath(own, p) for p in answers.problems(inside)]

    def scores(self, C: float) -> Floats:
        """What the machines of price C say (rows x machines)."""
        offsets = [walk.to(C) for walk in self.walks]
        return np.asarray(self.cross @ np.stack([w.beta for w in self.walks], axis=1) + offsets)


def chosen(tried: Iterable[Tried]) -> Tried:
    """The least mean loss; of equals the widest bandwidth."""
    return min(tried, key=lambda t: (t.loss, -t.bandwidth))


def _variance(gram: Floats, w: Floats) -> float:
    """Mean squared distance from the mean, in the space of the kernel."""
    share = w / w.sum()
    return float(share @ np.diag(gram) - share @ gram @ share)


def some_rows(n: int, most: int, codes: Ints | None = None) -> Ints:
    """At most about ``most`` of n rows, at even distances, class by class; of each ten if it has.

    The order of rows is kept, so that the same table always gives the same selection.
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


def folds_for(cv: Any, codes: Ints | None, rows: Ints, given: int) -> Ints:
    """The fold of each of some ``rows`` among the ``given`` ones; ``codes`` are their classes."""
    if isinstance(cv, int | np.integer):
        if cv < 2 or len(rows) < 2:
            raise InputError(
                f"cv={cv} folds cannot be made of n_samples={len(rows)} rows.",
                remedy="Use at least 2 folds, and as many rows.",
            )
        return dealt(len(rows), int(cv), codes)
    y = np.zeros(given, dtype=np.int64)
    if codes is not None:
        y[rows] = codes
    fold = np.full(given, -1)
    for f, (_, test) in enumerate(folds_of(cv, given, y).pairs):
        if (fold[test] >= 0).any():
            raise InputError("A row is in two test parts.", remedy="Use folds that do not overlap.")
        fold[test] = f
    if (fold[rows] < 0).any():
        raise InputError("A row is in no test part.", remedy="Use folds that cover all rows.")
    return np.unique(fold[rows], return_inverse=True)[1]


def dealt(n: int, folds: int, codes: Ints | None = None) -> Ints:
    """A fold for every row, dealt like cards in the order of rows, each class by itself."""
    folds = min(folds, n)
    if codes is None:
        return np.arange(n) % folds
    fold, start = np.empty(n, dtype=np.int64), 0
    for own in (np.flatnonzero(codes == c) for c in np.unique(codes)):
        fold[own] = (start + np.arange(len(own))) % folds
        start += len(own)
    return fold

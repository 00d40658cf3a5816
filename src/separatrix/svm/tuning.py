"""The search for C, bandwidth and ε: one Gram matrix for all folds, C and pairs of classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.class_labels import outputs_of
from separatrix.kernels.base import squared_norms
from separatrix.messages import InputError, check_option
from separatrix.rows.parts import Hashes
from separatrix.rows.schema import take_items
from separatrix.selection.folds import Folds, folds_of
from separatrix.selection.tuning import DECIMALS, NORMAL, Tuning, TuningData, best_by_fold
from separatrix.svm.class_pairs import coupled_scores
from separatrix.svm.loops import FAR, add_rows, smo
from separatrix.svm.problem import SVMProblem
from separatrix.svm.solver import widest
from separatrix.threads import parallel_map

# -------------------------------------------------------------------------------------------------
# The search for the parameters of support vector classifiers.


def gaussian_classes(sample: TuningSample, deadline: float = np.inf) -> SVMTuning:
    """C and bandwidth of the SVMs of all pairs of classes."""
    first = first_rows(sample.data.n_classes)
    return tuning_of(sample, staged_search(_pair_validation, sample, first, deadline).points)


def _pair_validation(sample: TuningSample) -> SampleValidation:
    codes, order = _sorted_codes(sample)
    problems = pair_problems(codes[order], sample.data.n_classes, sample.w[order])
    return SampleValidation(sample, problems, _loss(sample, codes), order)


def linear_classes(sample: TuningSample) -> SVMTuning:
    """C of the linear SVMs of every class against the rest."""
    codes, order = _sorted_codes(sample)
    problems = rest_problems(codes[order], sample.data.n_classes, sample.w[order])
    validation = SampleValidation(sample, problems, _loss(sample, codes), order)
    z = sample.z[order]
    gram = np.ascontiguousarray(dense(z @ z.T), dtype=np.float32)
    return tuning_of(sample, validation.points(gram, range(len(C_GRID))))


def _sorted_codes(sample: TuningSample) -> tuple[Ints, Ints]:
    """Class codes, and the order that sorts them."""
    codes = np.asarray(sample.data.y, dtype=np.int64)[sample.rows]
    return codes, np.argsort(codes, kind="stable")


def _loss(sample: TuningSample, codes: Ints) -> ClassLoss:
    tested = sample.tested
    return ClassLoss(codes[tested], sample.w[tested], sample.fold[tested], sample.data.loss)


# -------------------------------------------------------------------------------------------------
# The search for the parameters of support vector regression.
#
# ε is a tenth of a standard deviation of the target while bandwidths are compared; then a smaller
# and a larger one are compared with it.


#: Values of ε that are compared, in standard deviations of the target; the first in the search.
EPSILONS = (0.1, 0.02, 0.3)


def gaussian_numbers(sample: TuningSample, deadline: float = np.inf) -> SVMTuning:
    """C, bandwidth and ε of one SVM, in the units of the target."""
    y, mean, unit = _standardize_sample(sample)

    def validation(rows: TuningSample, epsilon: float = EPSILONS[0]) -> SampleValidation:
        targets, tested = y[rows.rows], rows.tested
        loss = NumberLoss(targets[tested], rows.w[tested], rows.fold[tested], rows.data.loss)
        problems = regression_problems(targets, rows.w, epsilon)
        return SampleValidation(rows, problems, loss, np.arange(rows.n))

    search = staged_search(validation, sample, first_rows(0), deadline)
    points = [replace(point, epsilon=EPSILONS[0]) for point in search.points]
    best = least(points)
    gram, places = search.gram(best.bandwidth), range(max(0, best.at - 1), len(C_GRID))
    for epsilon in EPSILONS[1:]:
        points += validation(sample, epsilon).points(
            gram, places, best.bandwidth, epsilon, best.at + 1
        )
    power = 2.0 if sample.data.loss == "squared" else 1.0
    return tuning_of(sample, [_in_units(point, mean, unit, unit**power) for point in points])


def _standardize_sample(sample: TuningSample) -> tuple[Floats, float, float]:
    """Standardized targets of all rows, with their mean and unit."""
    y, w = np.asarray(sample.data.y, dtype=float), np.asarray(sample.data.w, dtype=float)
    mean = float(w @ y / w.sum())
    unit = float(np.sqrt(w @ (y - mean) ** 2 / w.sum())) or 1.0
    return ((y - mean) / unit).round(DECIMALS), mean, unit


def _in_units(point: TuningPoint, mean: float, unit: float, loss_unit: float) -> TuningPoint:
    return replace(
        point,
        C=point.C * unit,
        epsilon=point.epsilon * unit,
        losses=point.losses * loss_unit,
        scores=point.scores * unit + mean,
    )


# -------------------------------------------------------------------------------------------------
# The search for bandwidth and C.
#
#     for each bandwidth h:  the SVMs of all C, each started from the last, on every fold
#
# Bandwidths start at the total standard deviation of the rows, h² = Σ variances of the columns, and
# go on by factors of two to whichever side is better, then by a half step. Values of C are
# multiples of 1/variance of the rows in the feature space, so that the same ones serve every
# bandwidth. Of many rows a part is searched in this way, and all of them from its best combination
# on, by half steps.


@dataclass
class GaussianSearch:
    """Bandwidths that were visited, by their doublings of the first one."""

    squared: NDArray[np.float32]
    first_bandwidth: float
    validation: SampleValidation
    deadline: float = np.inf
    most_work: float = np.inf
    found: dict[float, list[TuningPoint]] = field(default_factory=dict)

    def run(self) -> list[TuningPoint]:
        """Downhill from the first bandwidth by factors of two, then half a step to either side."""
        self._visit((0.0, -1.0, 1.0))
        here = 0.0
        while (there := self._better_than(here)) != here:
            here = there
            self._visit((here - 1.0, here + 1.0))
        self._visit((here - 0.5, here + 0.5))
        return self.points

    def refine(self, bandwidth: float, index: int) -> list[TuningPoint]:
        """From one combination on to better neighbors, by half steps of the bandwidth."""
        here = float(np.round(2.0 * np.log2(bandwidth / self.first_bandwidth)) / 2.0)
        self.found[here] = self._points(here, index)
        for _ in range(3):  # half steps from the best combination of a part of the rows
            self._visit((here - 0.5, here + 0.5))
            here, before = self._better_than(here), here
            if here == before:
                break
        return self.points

    @property
    def points(self) -> list[TuningPoint]:
        """All combinations that were visited."""
        return [point for points in self.found.values() for point in points]

    def gram(self, bandwidth: float) -> NDArray[np.float32]:
        """exp(−d²/2h²), in single precision."""
        gram = np.multiply(self.squared, np.float32(-0.5 / bandwidth**2))
        return np.asarray(np.exp(gram, out=gram))

    def _better_than(self, here: float) -> float:
        """The bandwidth of least loss if that is clearly less than the loss here."""
        best = min(self.found, key=lambda at: (least(self.found[at]).loss, -at))
        # Relative decrease of the loss by which another bandwidth becomes the center of the search.
        goal = (1.0 - 2e-3) * least(self.found[here]).loss
        return best if least(self.found[best]).loss < goal else here

    def _visit(self, places: Iterable[float]) -> None:
        for place in places:
            late = time.perf_counter() >= self.deadline or self.validation.work >= self.most_work
            # Least and largest number of doublings of the first bandwidth; beyond, the kernel is
            # linear.
            inside = -6.0 <= place <= 3.0
            if inside and place not in self.found and not (self.found and late):
                nearest = min(self.found, key=lambda at: abs(at - place)) if self.found else None
                at = None if nearest is None else least(self.found[nearest]).at
                self.found[place] = self._points(place, at)

    def _points(self, place: float, at: int | None) -> list[TuningPoint]:
        """All C of one bandwidth, from a little below the best of another one (``at``) on."""
        bandwidth = self.first_bandwidth * 2.0**place
        gram, start = self.gram(bandwidth), 0 if at is None else max(0, at - 1)
        enough = len(C_GRID) if at is None else at + 1
        points = self.validation.points(gram, range(start, len(C_GRID)), bandwidth, enough=enough)
        while start and least(points).at == start:
            start, end = max(0, start - 2), start
            points = self.validation.points(gram, range(start, end), bandwidth) + points
        return points


def staged_search(
    validation: Callable[[TuningSample], SampleValidation],
    whole: TuningSample,
    first: int,
    deadline: float,
) -> GaussianSearch:
    """All combinations on the ``first`` rows at most; from the best on, those of the whole."""
    most = SEARCH_SHARE * whole.data.work / ROW_ITERATION
    if whole.n <= 1.5 * first:
        search = gaussian_search(validation(whole), deadline, most)
        search.run()
        return search
    start = least(gaussian_search(validation(sample(whole.data, first)), deadline, most).run())
    search = gaussian_search(validation(whole), deadline, most)
    search.refine(start.bandwidth, start.at)
    return search


def least(points: list[TuningPoint]) -> TuningPoint:
    """The point of least mean loss; of equals the first."""
    return min(points, key=lambda point: point.loss)


def simplest_first(points: Iterable[TuningPoint]) -> list[TuningPoint]:
    """Wide bandwidths first, of each the small C, of each the large ε."""
    return sorted(points, key=lambda p: (-p.bandwidth, p.C, -p.epsilon))


def gaussian_search(
    validation: SampleValidation, deadline: float = np.inf, most_work: float = np.inf
) -> GaussianSearch:
    """The search that starts at the total standard deviation, 1 for rows that are all the same."""
    rows, order = validation.sample, validation.order
    squared = rows.squared_distances
    p = rows.w / rows.w.sum()
    variance = float(0.5 * (p @ (squared @ p)))  # half the mean squared distance of two rows
    first = float(np.sqrt(variance)) if variance > 0.0 else 1.0
    single = np.ascontiguousarray(squared[np.ix_(order, order)], dtype=np.float32)
    return GaussianSearch(single, first, validation, deadline, most_work)


# -------------------------------------------------------------------------------------------------
# What a search of SVMs found.


@dataclass(frozen=True)
class SVMTuning(Tuning):
    """:class:`Tuning` with the number of support vectors of every combination.

    A row of the search counts by the share of the folds' SVMs, of those that it trains, in which it
    is a support vector. ``n_search_rows`` is the number of rows that were compared; SMO took
    ``row_iterations`` (iterations times rows) in one fold up to the chosen C. The model is fitted
    to ``fit_rows`` evenly spaced rows, 0 for all.
    """

    n_support: Floats = field(default_factory=lambda: np.zeros(0))
    n_search_rows: int = 0
    row_iterations: float = 0.0
    fit_rows: int = 0


def tuning_of(sample: TuningSample, points: Sequence[TuningPoint]) -> SVMTuning:
    """The choice among the points, for all rows and for each fold, and predictions by it."""
    ordered, tested = simplest_first(points), sample.tested
    losses = np.stack([point.losses for point in ordered])
    fold = sample.fold[tested]
    weights = np.bincount(fold, sample.w[tested], losses.shape[1]).astype(float)
    best, by_fold = best_by_fold(losses, weights)
    predictions = np.empty_like(ordered[0].scores)
    for f, chosen in enumerate(by_fold):
        predictions[fold == f] = ordered[chosen].scores[fold == f]
    return SVMTuning(
        parameters=ordered[best].parameters,
        grid=tuple(point.parameters for point in ordered),
        losses=losses,
        by_fold=by_fold,
        rows=sample.rows[tested],
        predictions=predictions,
        kind="scores" if sample.data.n_classes else "values",
        n_support=np.array([point.n_support for point in ordered]),
        n_search_rows=sample.n,
        row_iterations=ordered[best].row_iterations,
    )


# -------------------------------------------------------------------------------------------------
# What a search may cost, in floating-point operations: rows, combinations and folds follow.


#: Operations (half a nanosecond each) of an iteration of SMO for each row.
ROW_ITERATION = 4.0
#: Share of the work that goes into the comparison; the rest is for fits of all rows.
SEARCH_SHARE = 0.3


def search_rows(n: int, n_classes: int, work: float) -> int:
    """Rows whose combinations are compared: work grows with their square."""
    scale = float(np.sqrt(work / NORMAL))
    # Rows up to which all are searched at the usual work, and rows of a search of more: fewer of
    # regression, where every row is near its margin.
    all_rows, some_rows = (4_000, max(2_000, 80 * n_classes)) if n_classes else (1_800, 1_200)
    most = 6_000  # whatever the work
    if n <= min(all_rows * scale, most):
        return n
    return int(np.clip(some_rows * scale, 400, most))


def first_rows(n_classes: int) -> int:
    """Rows on which the search begins."""
    return max(1_000, 40 * n_classes)  # rows of the first part of a search, and for each class


def fit_cost(row_iterations: float, n_search: int, sizes: Ints, columns: int) -> float:
    """Operations of one fit to problems of ``sizes`` rows.

    ``row_iterations`` are those of one fold of a search of ``n_search`` rows; they grow with the
    square of the rows, like the kernel values.
    """
    n = float(np.max(sizes)) if len(sizes) == 1 else float(np.sqrt(np.sum(sizes**2) / 2.0))
    # Operations of a kernel value: an exponential, and a multiplication for each column.
    kernel = np.sum(sizes.astype(float) ** 2) * (3.0 + 0.15 * columns)
    return float(ROW_ITERATION * row_iterations * (n / n_search) ** 2 + kernel)


def linear_fit_cost(n: int, columns: int, outputs: int) -> float:
    """Operations of the linear SVMs of n rows, one for each output."""
    # Passes over the rows that a linear SVM needs, and columns that a row counts beside its own.
    return 600.0 * n * (columns + 10.0) * outputs


# -------------------------------------------------------------------------------------------------
# The rows that a search uses, with their folds: all of them, or an evenly spaced subsample.


@dataclass(frozen=True)
class TuningSample:
    """Some ``rows`` (positions) of the data, in their order."""

    data: TuningData
    rows: Ints

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def complete(self) -> bool:
        """Whether these are all rows."""
        return self.n == self.data.n

    @cached_property
    def w(self) -> Floats:
        """Their weights."""
        return np.asarray(self.data.w, dtype=float)[self.rows]

    @cached_property
    def z(self) -> Any:
        """Their columns, standardized as those of all rows are."""
        return self.data.z if self.complete else take_items(self.data.z, self.rows)

    @cached_property
    def pairs(self) -> tuple[tuple[Ints, Ints], ...]:
        """Training and test positions among the rows, by fold."""
        place = np.full(self.data.n, -1, dtype=np.int64)
        place[self.rows] = np.arange(self.n)
        return tuple(
            (place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in self.data.folds.pairs
        )

    @cached_property
    def fold(self) -> Ints:
        """The fold in which each row is tested, −1 for none."""
        return folds_of_tests(self.data.folds, self.data.n)[self.rows]

    @cached_property
    def tested(self) -> Ints:
        """The rows, as positions among these, that are in a test fold."""
        return np.flatnonzero(self.fold >= 0)

    @cached_property
    def squared_distances(self) -> Floats:
        """‖zᵢ − zⱼ‖² of all pairs of rows; of all rows those that searches share."""
        shared = self.data.squared_distances if self.complete else None
        return squared_distances(self.z) if shared is None else shared


def squared_distances(z: Any) -> Floats:
    """‖zᵢ − zⱼ‖² of all pairs of rows, dense or CSR."""
    squares = squared_norms(z)
    d = dense(z @ z.T)
    d *= -2.0
    d += squares[:, None]
    d += squares
    np.maximum(d, 0.0, out=d)
    np.fill_diagonal(d, 0.0)
    return d


def dense(matrix: Any) -> Floats:
    """A matrix without zeros left out."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=float)


def folds_of_tests(folds: Folds, n: int) -> Ints:
    """The fold in which each of n rows is tested, −1 for none; two are refused."""
    fold = np.full(n, -1, dtype=np.int64)
    for f, (_, test) in enumerate(folds.pairs):
        if (fold[test] >= 0).any() or len(np.unique(test)) < len(test):
            raise InputError(
                "A row is in two test folds.", remedy="Use folds whose test rows do not overlap."
            )
        fold[test] = f
    return fold


def sample(data: TuningData, most: int) -> TuningSample:
    """At most about ``most`` rows, by class and fold."""
    fold = folds_of_tests(data.folds, data.n)
    codes = np.asarray(data.y, dtype=np.int64) if data.n_classes else np.zeros(data.n, np.int64)
    return TuningSample(data, subsample(data.n, most, codes * (len(data.folds) + 1) + fold))


def subsample(n: int, most: int, codes: Ints) -> Ints:
    """At most about ``most`` of n rows, evenly spaced; of each code a few if it has them.

    The order of rows is preserved, so that the same table always gives the same subsample.
    """
    if n <= most:
        return np.arange(n)
    sampled = []
    for members in (np.flatnonzero(codes == c) for c in np.unique(codes)):
        # Rows of a class in a fold that a subsample keeps, if there are so many.
        count = min(len(members), max(4, round(most * len(members) / n)))
        sampled.append(members[np.linspace(0, len(members) - 1, count).astype(np.int64)])
    return np.sort(np.concatenate(sampled))


def search_folds(
    cv: Any,
    codes: Ints | None,
    rows: Ints,
    n: int,
    copied: Callable[[], Hashes | None] = lambda: None,
) -> Folds:
    """Folds of some ``rows`` among ``n``; an integer assigns rows to folds in turn, by class.

    ``copied`` gives :func:`copies_of` those rows, which such folds keep together.
    """
    keys = None
    if isinstance(cv, int | np.integer):
        keys = copied()
        distinct = len(rows) if keys is None else len(np.unique(keys))
        cv = min(int(cv), max(distinct, 2))
        codes = np.zeros(len(rows), dtype=np.int64) if codes is None else codes
    folds = folds_of(cv, n, rows=rows, codes=codes, copied=lambda: keys)
    folds.out_of_fold([test for _, test in folds.pairs])  # refuses rows tested twice or never
    return folds


# -------------------------------------------------------------------------------------------------
# The binary problems that a search solves on the training rows of each fold, at C = 1.


@dataclass(frozen=True)
class Problems:
    """Problems over two segments of rows each (problems x 4), one after the other.

    ``rows`` are the row numbers of all problems, from ``starts[p]`` to ``starts[p + 1]`` those of
    problem p; ``t`` their targets, ``low`` and ``high`` the bounds of β. With ``pairs`` there is
    one problem for every pair of as many classes.
    """

    segments: Ints
    starts: Ints
    rows: Ints
    t: Floats
    low: Floats
    high: Floats
    epsilon: float = 0.0
    pairs: int = 0

    @property
    def count(self) -> int:
        """Number of problems."""
        return len(self.segments)

    def grams(self, gram: NDArray[np.floating]) -> list[NDArray[np.floating]]:
        """The Gram matrix of the rows of each problem; copies where there are several classes."""

        def of_rows(p: int) -> NDArray[np.floating]:
            a, b, c, d = self.segments[p]
            if b - a + d - c == len(gram):
                return gram
            return np.block([[gram[a:b, a:b], gram[a:b, c:d]], [gram[c:d, a:b], gram[c:d, c:d]]])

        return parallel_map(of_rows, range(self.count))

    def bounds(self, training: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """low and high; zero for rows that are not for training."""
        codes = training[self.rows]
        return np.where(codes, self.low, 0.0), np.where(codes, self.high, 0.0)


def pair_problems(codes: Ints, k: int, w: Floats) -> Problems:
    """Every pair of classes of rows that are sorted by class; of two, the one pair."""
    ends = np.r_[0, np.cumsum(np.bincount(codes, minlength=k))]
    pairs = list(combinations(range(k), 2))
    segments = np.array([[ends[i], ends[i + 1], ends[j], ends[j + 1]] for i, j in pairs])
    labels = [
        np.where(codes[_rows(s)] == j, 1.0, -1.0) for s, (_, j) in zip(segments, pairs, strict=True)
    ]
    return _hinges(segments, np.concatenate(labels), w, k if k > 2 else 0)


def rest_problems(codes: Ints, k: int, w: Floats) -> Problems:
    """The second of two classes, or every class, against the rest."""
    n, outputs = len(codes), outputs_of(k)
    segments = np.tile(np.array([0, n, n, n]), (len(outputs), 1))
    return _hinges(segments, np.where(codes == outputs[:, None], 1.0, -1.0).ravel(), w)


def regression_problems(y: Floats, w: Floats, epsilon: float) -> Problems:
    """One problem, of all rows."""
    n = len(y)
    segments, starts = np.array([[0, n, n, n]]), np.array([0, n])
    return Problems(segments, starts, np.arange(n), y, -w, w.copy(), float(epsilon))


def _rows(segment: Ints) -> Ints:
    a, b, c, d = segment
    return np.concatenate([np.arange(a, b), np.arange(c, d)])


def _hinges(segments: Ints, t: Floats, w: Floats, pairs: int = 0) -> Problems:
    """Problems of the hinge loss of labels ±1."""
    rows = [_rows(segment) for segment in segments]
    starts = np.r_[0, np.cumsum([len(row) for row in rows])]
    every = np.concatenate(rows)
    low, high = np.where(t > 0, 0.0, -w[every]), np.where(t > 0, w[every], 0.0)
    return Problems(segments, starts, every, t, low, high, pairs=pairs)


# -------------------------------------------------------------------------------------------------
# Cross-validation of SVMs along C, for one Gram matrix at a time.


#: C in units of 1/variance: from all rows within the margin to hardly any.
C_GRID = 10.0 ** np.arange(-1.0, 3.25, 0.5)


@dataclass(frozen=True)
class TuningPoint:
    """One combination of parameters: losses by fold, and scores of the rows that are tested.

    ``at`` is the place of C in :data:`C_GRID`; ``n_support`` the number of support vectors, a row
    counted by the share of its SVMs in which it is one; ``row_iterations`` the iterations of SMO
    times rows, up to this C in one fold.
    """

    at: int
    C: float
    bandwidth: float
    epsilon: float
    losses: Floats
    scores: Floats
    n_support: float
    row_iterations: float = 0.0

    @property
    def loss(self) -> float:
        """The mean over the folds."""
        return float(self.losses.mean())

    @property
    def parameters(self) -> dict[str, float]:
        """C, with bandwidth and ε where there are any."""
        more = {"bandwidth": self.bandwidth, "epsilon": self.epsilon}
        return {"C": self.C} | {name: value for name, value in more.items() if value >= 0.0}


@dataclass
class SampleValidation:
    """The problems of a sample with their loss: losses of every C for a Gram matrix.

    ``order`` are the rows in the order of the Gram matrix and of the problems; ``work`` counts
    iterations of SMO times rows.
    """

    sample: TuningSample
    problems: Problems
    loss: FoldLoss
    order: Ints
    work: float = 0.0

    @property
    def tol(self) -> float:
        """Violation of the KKT conditions that is left."""
        return 1e-4 if self.sample.n <= 300 else TOLERANCE  # finer of few rows: it costs nothing

    @cached_property
    def pairs(self) -> list[tuple[Ints, Ints]]:
        """Training and test rows of each fold, as places in the order."""
        place = np.empty(self.sample.n, dtype=np.int64)
        place[self.order] = np.arange(self.sample.n)
        return [(place[train], place[test]) for train, test in self.sample.pairs]

    def points(
        self,
        gram: NDArray[Any],
        places: range,
        bandwidth: float = -1.0,
        epsilon: float = -1.0,
        enough: int = len(C_GRID),
    ) -> list[TuningPoint]:
        """One C after the other, until the loss has increased twice in a row.

        From the place ``enough`` on, one increase ends the path.
        """
        variance = feature_variance(gram, self.sample.w[self.order])
        unit = 1.0 / variance if variance > 1e-12 * abs(float(gram[0, 0])) else 1.0
        tuning_points: list[TuningPoint] = []
        grams = self.problems.grams(gram)
        paths = [SVMFoldPath(gram, grams, self.problems, a, b, self.tol) for a, b in self.pairs]
        for place in places:
            C = float(C_GRID[place] * unit)
            parts = parallel_map(lambda path, C=C: _solve_fold(path, C), paths)  # type: ignore[misc]
            tuning_points.append(self._point(place, C, bandwidth, epsilon, paths, parts))
            losses = [point.loss for point in tuning_points]
            if (place >= enough and losses[-1] > min(losses)) or _past_the_best(losses):
                break
        self.work += sum(path.work for path in paths)
        return tuning_points

    def _point(
        self,
        index: int,
        C: float,
        bandwidth: float,
        epsilon: float,
        paths: list[SVMFoldPath],
        parts: list[Floats],
    ) -> TuningPoint:
        scores = np.full((self.sample.n, parts[0].shape[1]), np.nan)
        for (_, test), part in zip(self.pairs, parts, strict=True):
            scores[self.order[test]] = part
        scores = scores[self.sample.tested]
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        share = sum(path.n_support for path in paths) / max(len(paths) - 1, 1)
        work = sum(path.work for path in paths) / len(paths)
        return TuningPoint(
            index, C, bandwidth, epsilon, self.loss.by_fold(scores), scores, share, work
        )


def _past_the_best(losses: list[float]) -> bool:
    """Whether the loss increased twice in a row, or no longer changes."""
    if len(losses) < 3:
        return False
    last, best = losses[-3:], min(losses)
    # Relative change of the loss that is none.
    # Relative increase of the loss after which larger C are not tried.
    return min(last[1:]) > 1.02 * best or max(last) - min(last) <= 1e-3 * best


def _solve_fold(path: SVMFoldPath, C: float) -> Floats:
    """Scores of the test rows at C."""
    path.solve(C)
    scores = path.scores()
    return coupled_scores(scores, path.problems.pairs) if path.problems.pairs else scores


def feature_variance(gram: NDArray[Any], w: Floats) -> float:
    """Weighted mean squared distance from the mean in the feature space."""
    p = w / w.sum()
    return float(p @ np.diag(gram) - p @ (gram @ p.astype(gram.dtype)))


# -------------------------------------------------------------------------------------------------
# The binary SVMs of one fold along C: solved on its training rows, scored on its test rows.
#
#     β(C′) starts at β(C) · C′/C
#
# Bound support vectors stay at their bound and Σβ stays zero, so that between neighboring C only
# rows near the margin have to change. The tolerance is coarse, and the number of iterations at each
# C is limited.


#: Violation of the KKT conditions that is left at each C, in the units of t.
TOLERANCE = 3e-2


class SVMFoldPath:
    """One C after the other for all problems of a fold; ``gram`` is that of all rows.

    ``grams`` are those of the rows of each problem; ``work`` counts iterations times rows.
    """

    def __init__(
        self,
        gram: NDArray[np.floating],
        grams: list[NDArray[np.floating]],
        problems: Problems,
        train: Ints,
        test: Ints,
        tol: float = TOLERANCE,
    ) -> None:
        self.gram, self.grams, self.problems, self.test, self.tol = gram, grams, problems, test, tol
        training = np.zeros(len(gram), dtype=bool)
        training[train] = True
        self.low, self.high = problems.bounds(training)
        self.diagonal = np.ascontiguousarray(np.diag(gram), dtype=float)
        n = len(problems.t)
        self.beta, self.f, self.b = np.zeros(n), np.zeros(n), np.zeros(problems.count)
        self.C, self.work = 1.0, 0
        self.cross = gram[test] if problems.pairs else gram[:0]

    def solve(self, C: float) -> None:
        """Every problem at another C."""
        p, grown = self.problems, float(C) / self.C
        low, high, diagonal = C * self.low, C * self.high, self.diagonal[p.rows]
        np.clip(grown * self.beta, low, high, out=self.beta)  # what rounding adds is cut off
        self.f *= grown
        for at, gram in enumerate(self.grams):
            span = slice(p.starts[at], p.starts[at + 1])
            bounded = SVMProblem(p.t[span], low[span], high[span], p.epsilon)
            problem = BinaryProblem(gram, diagonal[span], bounded)
            # Limit of iterations at each C: for a problem of any size, and for each row.
            limit = 5_000 + 5 * bounded.n
            work, self.b[at] = problem.solve(self.beta[span], self.f[span], self.tol, limit)
            self.work += work
        self.C = float(C)

    @property
    def n_support(self) -> int:
        """Number of training rows that are support vectors of any problem."""
        return len(np.unique(self.problems.rows[self.beta != 0.0]))

    def scores(self) -> Floats:
        """Scores of the test rows (rows x problems) at the current C."""
        p = self.problems
        if p.pairs:
            return self._pair_scores()
        return np.asarray(self.f.reshape(p.count, -1)[:, self.test].T + self.b)

    def _pair_scores(self) -> Floats:
        """Products of the rows of each class with its coefficients against every other class."""
        p, k = self.problems, self.problems.pairs
        ends = np.r_[p.segments[: k - 1, 0][:1], p.segments[0, 1], p.segments[: k - 1, 3]]
        weights = [np.empty((ends[c + 1] - ends[c], k - 1), self.gram.dtype) for c in range(k)]
        pairs = list(combinations(range(k), 2))
        for q, (i, j) in enumerate(pairs):
            cut = p.starts[q] + len(weights[i])
            weights[i][:, j - 1] = self.beta[p.starts[q] : cut]
            weights[j][:, i] = self.beta[cut : p.starts[q + 1]]
        parts = [self.cross[:, ends[c] : ends[c + 1]] @ weights[c] for c in range(k)]
        scores = np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)
        return np.asarray(scores + self.b, dtype=float)


# -------------------------------------------------------------------------------------------------
# One binary problem of a search at one C.
#
#     min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β = 0, low ≤ β ≤ high
#
# A row of the test fold has low = high = 0: it never moves, and its f = Kβ comes with the others.


@dataclass(frozen=True)
class BinaryProblem:
    """A problem, and the Gram matrix of its rows with its diagonal."""

    gram: NDArray[np.floating]
    diagonal: Floats
    problem: SVMProblem

    def solve(self, beta: Floats, f: Floats, tol: float, limit: int) -> tuple[int, float]:
        """SMO on all rows, then on those that may still move, in turn until no row violates.

        β and f change in place; returns iterations times rows, and the intercept.
        """
        p, m, count, work = self.problem, len(beta), 0, 0
        # Iterations on all rows before some are left out: so many, and this fraction of the rows.
        burst = max(50, m // 4)
        # Rows that are optimized at a time where more than that cannot be left out.
        working_set = 1_000
        while True:
            steps = min(burst, limit - count)
            n_steps, least, most = smo(
                self.gram, self.diagonal, p.t, p.low, p.high, p.epsilon, beta, f, tol, steps
            )
            count, work = count + n_steps, work + (n_steps + 10) * m
            if most - least <= tol or n_steps < steps or count >= limit:
                return work, _intercept(least, most)
            up, down = p.up_gradient(beta, f), p.down_gradient(beta, f)
            room = 0.2 * (most - least)  # how far from violating the rows left out must be
            moving = (up < most + room) | (down > least - room)
            active = np.flatnonzero(moving & (p.low < p.high))
            goal, most_steps = 0.5 * tol, limit - count
            if len(active) > 0.7 * m:  # too many for leaving out the others to be worth it
                if m <= working_set:
                    continue
                active = widest(up, down, working_set)
                goal, most_steps = max(goal, 0.5 * (most - least)), min(most_steps, 10 * m)
            n_steps, more = self._solve_active(beta, f, active, goal, most_steps)
            count, work = count + n_steps * len(active) // m, work + more

    def _solve_active(
        self, beta: Floats, f: Floats, active: Ints, tol: float, limit: int
    ) -> tuple[int, int]:
        """SMO on the active rows alone, then f of all rows; returns iterations and work."""
        k, p = len(active), self.problem.take(active)
        part = self.gram[active].take(active, axis=1)
        beta_active, score = beta[active], f[active]
        data = (part, self.diagonal[active], p.t, p.low, p.high, p.epsilon, beta_active, score)
        n_steps, *_ = smo(*data, tol, limit)
        change = beta_active - beta[active]
        moved = np.flatnonzero(change)
        add_rows(self.gram, active[moved], change[moved], f, 0, len(f))
        beta[active], f[active] = beta_active, score
        return n_steps, n_steps * k + k * k + len(moved) * len(beta) // 8


def _intercept(least: float, most: float) -> float:
    """The middle between the least up and the greatest down gradient; one class alone has one."""
    if least < 0.5 * FAR and most > -0.5 * FAR:
        return -0.5 * (least + most)
    if least < 0.5 * FAR:
        return -least
    return -most if most > -0.5 * FAR else 0.0


# -------------------------------------------------------------------------------------------------
# Predictions out of fold by fits to all training rows, after a search on some of them.


#: Scores of test rows by a fit to training rows with the parameters given.
FitAndScore = Callable[[Mapping[str, Any], Ints, Ints], Floats]


def predicted_at_full_size(
    data: TuningData, tuning: SVMTuning, scores: FitAndScore, cost: float, work: float
) -> SVMTuning:
    """The tuning with predictions of as many folds as the ``work`` allows, at least one.

    ``cost`` is that of one fit to all rows. Where even that is too dear, fits have fewer rows.
    """
    folds = data.folds.pairs
    count = int(np.clip(work / cost, 1, len(folds)))
    share = min(1.0, float(np.sqrt(work / cost)))
    codes = np.asarray(data.y, dtype=np.int64) if data.n_classes else np.zeros(data.n, np.int64)
    rows, parts = [], []
    for f, (train, test) in enumerate(folds[:count]):
        some = train[subsample(len(train), int(share * len(train)), codes[train])]
        rows.append(test)
        parts.append(scores(tuning.grid[tuning.by_fold[f]], some, test))
    order = np.argsort(np.concatenate(rows), kind="stable")
    fit_rows = 0 if share == 1.0 else int(share * data.n)
    return replace(
        tuning,
        rows=np.concatenate(rows)[order],
        predictions=np.concatenate(parts)[order],
        fit_rows=fit_rows,
        note=_note(data, tuning, count, fit_rows),
    )


def _note(data: TuningData, tuning: SVMTuning, count: int, fit_rows: int) -> str:
    notes = [f"parameters compared on {tuning.n_search_rows} of {data.n} rows"]
    if count < len(data.folds):
        notes.append(f"{count} of {len(data.folds)} folds predicted")
    if fit_rows:
        notes.append(f"fitted to {fit_rows} rows")
    return ", ".join(notes)


# -------------------------------------------------------------------------------------------------
# Loss by fold of out-of-fold scores: what a search minimizes.


class FoldLoss(Protocol):
    """Mean loss by fold of the scores of all rows."""

    def by_fold(self, scores: Floats) -> Floats:
        """One number for each fold."""


@dataclass(frozen=True)
class ClassLoss:
    """Log loss of a sigmoid or a temperature fitted to scores (n or n x K), or the error rate."""

    codes: Ints
    w: Floats
    fold: Ints
    kind: str = "log_loss"

    def __post_init__(self) -> None:
        check_option("loss", self.kind, ("log_loss", "error"))

    def by_fold(self, scores: Floats) -> Floats:
        """−log of the probability of the true class; or errors, equal ones decided by that."""
        if scores.ndim == 1:
            loss = sigmoid_losses(scores, self.codes, self.w)
            chosen = (scores > 0).astype(np.int64)
        else:
            loss = softmax_losses(scores, self.codes, self.w)
            chosen = scores.argmax(axis=1)
        if self.kind == "error":
            # Weight of the log loss beside the error rate: it decides between equal rates.
            loss = (chosen != self.codes) + 1e-3 * loss
        return mean_by_fold(loss, self.w, self.fold)


@dataclass(frozen=True)
class NumberLoss:
    """Squared or absolute error of predictions (n x 1)."""

    y: Floats
    w: Floats
    fold: Ints
    kind: str = "squared"

    def __post_init__(self) -> None:
        check_option("loss", self.kind, ("squared", "absolute"))

    def by_fold(self, scores: Floats) -> Floats:
        """Mean error by fold."""
        away = np.abs(self.y - scores)
        return mean_by_fold(away**2 if self.kind == "squared" else away, self.w, self.fold)


def mean_by_fold(loss: Floats, w: Floats, fold: Ints) -> Floats:
    """Weighted means; zero for a fold without weight."""
    total = np.bincount(fold, w)
    return np.asarray(np.bincount(fold, w * loss) / np.where(total > 0, total, 1.0))


# -------------------------------------------------------------------------------------------------
# Log loss of scores, by a sigmoid (two classes) or one temperature (several) fitted to them.


#: Newton steps at most, the decrease that ends them (relative to the weight), and halvings.
STEPS, ENOUGH, HALVINGS = 30, 1e-12, 30


def sigmoid_losses(score: Floats, codes: Ints, w: Floats) -> Floats:
    """Fit Platt's sigmoid, p = 1/(1 + e^{−γ z − b}); −log p of the true class of every row.

    z are the standardized scores, and targets are smoothed by one row of each class.
    """
    weight, positive = float(w.sum()), float(w @ codes)
    z = _standardize_scores(score, w)
    target = np.where(codes, (positive + 1.0) / (positive + 2.0), 1.0 / (weight - positive + 2.0))
    slope, offset = 0.0, float(np.log((positive + 1.0) / (weight - positive + 1.0)))

    def value(slope: float, offset: float) -> float:
        m = slope * z + offset
        return float(w @ (np.logaddexp(0.0, m) - target * m))

    now = value(slope, offset)
    for _ in range(STEPS):
        p = _sigmoid(slope * z + offset)
        r, c = w * (p - target), w * p * (1.0 - p)
        cz = c * z
        g0, g1, h01 = float(r @ z), float(r.sum()), float(cz.sum())
        h00, h11 = float(cz @ z) + 1e-12 * weight, float(c.sum()) + 1e-12 * weight
        determinant = h00 * h11 - h01 * h01
        d0, d1 = (h01 * g1 - h11 * g0) / determinant, (h01 * g0 - h00 * g1) / determinant
        if -(d0 * g0 + d1 * g1) <= ENOUGH * weight:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = value(slope + length * d0, offset + length * d1)
            if there <= now:
                break
            length *= 0.5
        else:
            break
        slope, offset, now = slope + length * d0, offset + length * d1, there
    m = slope * z + offset
    return np.asarray(np.logaddexp(0.0, np.where(codes, -m, m)))


def _standardize_scores(score: Floats, w: Floats) -> Floats:
    """Scores of mean zero and spread one; zeros where all are equal."""
    mean = float(np.average(score, weights=w))
    away = score - mean
    spread = float(np.sqrt(np.average(away**2, weights=w)))
    return away / spread if spread > 1e-14 * abs(mean) else np.zeros(len(score))


def _sigmoid(m: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-m)))


def softmax_losses(scores: Floats, codes: Ints, w: Floats) -> Floats:
    """Fit β of p ∝ e^{β s}, β ≥ 0; −log p of the true class of every row.

    Newton steps in log β from a start in the units of the scores, halved until the sum decreases.
    Targets are smoothed by one row of each class.
    """
    k, weight = scores.shape[1], float(w.sum())
    away = scores - scores.max(axis=1, keepdims=True)
    mean, of_true_class = away.mean(axis=1), away[np.arange(len(codes)), codes]
    total = np.bincount(codes, w, minlength=k)[codes]
    target = (total * of_true_class + k * mean) / (total + k)
    size = -float(w @ mean)
    if size <= 0.0:
        return np.full(len(codes), np.log(k))

    def value(beta: float) -> tuple[float, float, float]:
        e = np.exp(beta * away)
        sums = e.sum(axis=1)
        e *= away
        first = e.sum(axis=1) / sums
        second = np.einsum("ij,ij->i", e, away) / sums
        loss = float(w @ (np.log(sums) - beta * target))
        return loss, float(w @ (first - target)), float(w @ (second - first**2))

    beta = weight / size
    now = value(beta)
    for _ in range(STEPS):
        slope = beta * now[1]
        bend = beta * beta * now[2] + abs(slope)
        step = min(max(-slope / max(bend, 1e-300), -1.0), 1.0)
        if -slope * step <= ENOUGH * weight:
            break
        for _ in range(HALVINGS):
            there = beta * float(np.exp(step))
            loss_there = value(there)
            if loss_there[0] <= now[0]:
                break
            step *= 0.5
        else:
            break
        beta, now = there, loss_there
    return np.asarray(np.log(np.exp(beta * away).sum(axis=1)) - beta * of_true_class)

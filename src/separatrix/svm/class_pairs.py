"""Many classes by the binary SVMs of their pairs: scores of classes, all pairs solved at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.kernels import KernelExpansion
from separatrix.optimize.convex import Certificate, Hinge, Status
from separatrix.svm.loops import fill_pair, smo
from separatrix.svm.problem import INDEFINITE_CLAIM, KERNEL_CLAIM, SolverOptions
from separatrix.svm.solver import DIRECT, LARGE, WHOLE, BinarySVM, GramMatrix, few_columns
from separatrix.threads import parallel_map

# -------------------------------------------------------------------------------------------------
# Scores of K classes from those of the binary SVMs of every pair of them.


#: Scores of pairs, or kernel values between classes, that a thread computes at a time.
ENTRIES = 1 << 19
#: Slope of the sigmoid 1/(1 + e^{−3s}) that a pair of classes has; e^s grows no further than this.
SLOPE, MOST = 3.0, 200.0


def coupled_scores(scores: Floats, k: int) -> Floats:
    """log pₖ of every class (n x K) from pair scores (n x pairs i < j, positive for j).

        1/pₖ = Σⱼ 1/rₖⱼ − (K − 2),     rₖⱼ = 1/(1 + e^{−3 sₖⱼ})  the probability of k among k, j

    The smallest margin of a class counts most, so that a pair of which neither is the class of the
    row hardly does (Price, Knerr, Personnaz and Dreyfus, 1995).
    """
    total = np.zeros((len(scores), k))
    for i, first in _by_first(scores, k):
        odds = np.exp(SLOPE * np.clip(first, -MOST, MOST))
        total[:, i] += odds.sum(axis=1)
        total[:, i + 1 :] += 1.0 / odds
    return np.asarray(-np.log1p(total))


def _by_first(scores: NDArray[Any], k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The columns of the pairs i < j, all j of an i at a time."""
    start = 0
    for i in range(k - 1):
        stop = start + k - 1 - i
        yield i, scores[:, start:stop]
        start = stop


def pair_scores(expansions: list[KernelExpansion], x: Any, intercept: Floats) -> Floats:
    """Scores (n x pairs i < j) from one expansion for each class, its k − 1 pairs in columns."""
    k = len(expansions)
    parts = np.stack([expansion.scores(x) for expansion in expansions])
    scores = np.empty((parts.shape[1], len(intercept)))
    for i, pairs in _by_first(scores, k):
        np.add(parts[i, :, i:], parts[i + 1 :, :, i].T, out=pairs)
    scores += intercept
    return scores


def count_votes(scores: Floats, k: int, first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Votes of the pairs, for the ``first`` class of each or the other, and sums of scores."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for (i, s), (_, for_first) in zip(_by_first(scores, k), _by_first(first, k), strict=True):
        count[:, i] += for_first.sum(axis=1)
        count[:, i + 1 :] += ~for_first
        total[:, i] += s.sum(axis=1)
        total[:, i + 1 :] -= s
    return count, total


def vote_scores(scores: Floats, k: int) -> Floats:
    """Votes; ties are broken by sums of scores, which count less than half a vote."""
    count, total = count_votes(scores, k, scores >= 0.0)
    return count + total / (3.0 * (np.abs(total) + 1.0))


def dual_coef_of_pairs(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class.

    Rows of a binary SVM are those of the first class, then those of the second.
    """
    weights, sizes = np.zeros((len(codes), k - 1)), np.bincount(codes, minlength=k)
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        n = sizes[i]
        weights[svm.rows[:n], j - 1] = svm.beta[:n]
        weights[svm.rows[n:], i] = svm.beta[n:]
    return weights


# -------------------------------------------------------------------------------------------------
# Binary SVMs of all pairs of many classes, a class and its kernel rows at a time.
#
# A row takes part in K − 1 pairs. The kernel of two rows of one class serves all of these pairs: it
# is computed once, in single precision. That of rows of two classes serves one pair, and is
# forgotten with it; rounded, SMO reads it, and f = Kβ is summed from it in double precision. Memory
# is 4 Σ n_c² bytes for classes of n_c rows, 16 n K for coefficients and gradients, and a pair on
# every thread.
#
# Pairs that single precision does not solve are left to :mod:`separatrix.svm.solver`.


#: Iterations of SMO per row of a pair, and the violation at which it ends, in tolerances.
_ITERATIONS, _REDUCTION = 100, 0.8

_Memory = tuple[Floats, NDArray[np.float32]]


def suitable(gram: GramMatrix, codes: Ints, cost: Floats, options: SolverOptions) -> bool:
    """Whether all pairs are small enough, and neither exact nor limited solutions are wanted."""
    sizes = np.sort(np.bincount(codes))[::-1]
    # Classes up to which few rows are solved pair by pair, exactly up to rounding.
    few = gram.n <= DIRECT and len(sizes) <= 10
    # The largest pair is solved at once, and the kernel within classes has half a gigabyte.
    large = sizes[:2].sum() > WHOLE or 4 * int((sizes.astype(float) ** 2).sum()) > 1 << 29
    primal = gram.linear and few_columns(gram.x)
    limited = options.max_iter >= 1 or np.isfinite(options.deadline)
    size = float(np.abs(gram.diagonal).max(initial=0.0)) * max(1.0, float(cost.max(initial=0.0)))
    return not (few or large or limited or primal) and size < LARGE


class ClassPairs:
    """The rows in order of their classes, and the state of all pairs."""

    def __init__(self, gram: GramMatrix, codes: Ints, cost: Floats, options: SolverOptions) -> None:
        self.k = k = int(codes.max()) + 1
        self.order = np.argsort(codes, kind="stable")
        self.gram, self.options = gram if gram.precomputed else gram.subset(self.order), options
        self.sizes = np.bincount(codes, minlength=k)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.places = np.concatenate([[0], np.cumsum(self.sizes**2)])
        self.cost, self.diagonal = cost[self.order], gram.diagonal[self.order]
        self.beta, self.f = np.zeros((k, gram.n)), np.zeros((k, gram.n))
        self.counts = np.zeros((k, k), dtype=np.int64)

    def part(self, c: int) -> slice:
        """The places of the rows of a class."""
        return slice(int(self.starts[c]), int(self.starts[c + 1]))

    def rows(self, first: int, stop: int) -> Any:
        """The rows of some classes: in the order of classes unless the kernel is precomputed."""
        part = slice(int(self.starts[first]), int(self.starts[stop]))
        return self.order[part] if self.gram.precomputed else part

    def solve(self) -> None:
        """β, f and the figures of the certificates of all pairs."""
        within = np.empty(self.places[-1], dtype=np.float32)
        classes = range(self.k)
        spare: list[_Memory] = []  # of threads that are done

        def inside(c: int) -> None:
            rows, place = self.rows(c, c + 1), slice(self.places[c], self.places[c + 1])
            within[place] = self.gram.square(rows).ravel()

        def solve(block: tuple[int, int, int]) -> None:
            i, j, stop = block
            memory = spare.pop() if spare else self._memory()
            cross = self.gram.between(self.rows(j, stop), self.rows(i, i + 1), memory[0])
            for c in range(j, stop):
                self._solve_pair(i, c, cross, int(self.starts[c] - self.starts[j]), within, memory)
            spare.append(memory)

        def complete(c: int) -> None:
            part = self.part(c)
            square = np.asarray(self.gram.square(self.rows(c, c + 1)), dtype=float)
            self.f[:, part] += self.beta[:, part] @ square

        parallel_map(inside, classes)
        parallel_map(solve, self._blocks())
        parallel_map(complete, classes)
        self.figures = PairFigures(self.starts, self.cost, self.beta, self.f)

    def _solve_pair(
        self,
        i: int,
        c: int,
        cross: Floats,
        top: int,
        within: NDArray[np.float32],
        memory: _Memory,
    ) -> None:
        """SMO for classes i < c, whose kernel is in ``cross`` from the row ``top`` on."""
        n, size = int(self.sizes[i]), int(self.sizes[c])
        m, between = n + size, cross[top : top + size]
        gram = memory[1][: m * m].reshape(m, m)
        first_block, other = slice(*self.places[i : i + 2]), slice(*self.places[c : c + 2])
        fill_pair(between, within[first_block], within[other], gram)
        first, second = self.part(i), self.part(c)
        diagonal = np.concatenate([self.diagonal[first], self.diagonal[second]])
        (t, low, high, beta, f), limit = np.zeros((5, m)), _ITERATIONS * m
        t[:n], t[n:] = 1.0, -1.0
        high[:n], low[n:] = self.cost[first], -self.cost[second]
        data = (gram, diagonal, t, low, high, 0.0, beta, f)
        self.counts[i, c], *_ = smo(*data, _REDUCTION * self.options.tol, limit)
        self.beta[c, first], self.beta[i, second] = beta[:n], beta[n:]
        self.f[i, second], self.f[c, first] = between @ beta[:n], beta[n:] @ between

    def _memory(self) -> _Memory:
        """Room for any block between classes, and for the Gram matrix of any pair."""
        largest = np.sort(self.sizes)[-2:]
        block = max(ENTRIES, int(largest.prod()))
        return np.empty(block), np.empty(int(largest.sum()) ** 2, dtype=np.float32)

    def _blocks(self) -> list[tuple[int, int, int]]:
        """A class i and the classes from j to stop that it is paired with at a time."""
        blocks = []
        for i in range(self.k - 1):
            most = max(1, ENTRIES // max(int(self.sizes[i]), 1))
            j = i + 1
            for c in range(i + 1, self.k):
                if c > j and self.starts[c + 1] - self.starts[j] > most:
                    blocks.append((i, j, c))
                    j = c
            blocks.append((i, j, self.k))
        return blocks

    def record(self, i: int, j: int) -> BinarySVM | None:
        """The binary SVM of a pair; None where it is not solved."""
        tol, figures = self.options.tol, self.figures
        if not figures.violation[i, j] <= tol:
            return None
        first, second = self.part(i), self.part(j)
        b, square = float(figures.b[i, j]), float(figures.square[i, j])
        primal, gap = float(figures.primal[i, j]), float(figures.gap[i, j])
        kkt, scale = float(figures.kkt[i, j]), float(figures.scale[i, j])
        if self.gram.mercer:
            certificate = Certificate(
                KERNEL_CLAIM,
                primal,
                primal - gap,
                gap,
                kkt,
                tol,
                scale,
                statistic="the rows",
            )
        else:
            certificate = Certificate(
                INDEFINITE_CLAIM, primal, kkt=kkt, tolerance=tol, promised=("kkt",)
            )

        def both(values: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([values[first], values[second]])

        return BinarySVM(
            both(self.order),
            np.concatenate([self.beta[j, first], self.beta[i, second]]),
            both(self.cost),
            np.concatenate(
                [
                    np.maximum(1.0 - (self.f[j, first] + b), 0.0),
                    np.maximum(1.0 + (self.f[i, second] + b), 0.0),
                ]
            ),
            b,
            square,
            certificate,
            int(self.counts[i, j]),
            str(Status.SOLVED),
        )


def fit_class_pairs(
    gram: GramMatrix, codes: Ints, cost: Floats, options: SolverOptions
) -> list[BinarySVM | None]:
    """The binary SVM of every pair of classes i < j; None where single precision is too little."""
    pairs = ClassPairs(gram, codes, cost, options)
    pairs.solve()
    return [pairs.record(i, j) for i, j in combinations(range(pairs.k), 2)]


# -------------------------------------------------------------------------------------------------
# Intercepts and the figures of certificates of the binary SVMs of all pairs of classes.
#
# Rows are in order of their classes, class i from ``starts[i]`` to ``starts[i + 1]``. Line c of β
# and of f = Kβ has the rows of every class i in its pair with class c, the lower class of which has
# t = +1. A pair has two parts: what is summed over the rows of each class, lines by classes, is
# added to its transpose. All is in double precision.


class PairFigures:
    """Numbers for every pair (K x K, symmetric)."""

    def __init__(self, starts: Ints, cost: Floats, beta: Floats, f: Floats) -> None:
        self.starts, self.cost, self.beta, self.f = starts, cost, beta, f
        k, sizes = len(starts) - 1, np.diff(starts)
        lines, self.own = range(k), np.repeat(np.arange(k), sizes)
        ends = np.array(parallel_map(self._gradients, lines))
        up, down = ends[:, 0], ends[:, 1]
        up, down = np.minimum(up, up.T), np.maximum(down, down.T)
        #: Violation of the worst pair of rows, and the intercept in the middle of it.
        self.violation, self.b = np.maximum(down - up, 0.0), -0.5 * (up + down)
        np.fill_diagonal(self.b, 0.0)  # a class is not a pair with itself
        parts = np.array(parallel_map(lambda c: self._sums(c, np.repeat(self.b[c], sizes)), lines))
        sums, kkt = parts[:, :5].transpose(1, 0, 2), parts[:, 5]
        square, loss, excess, imbalance, total = sums + sums.transpose(0, 2, 1)
        #: ‖w‖², primal value, duality gap, KKT residual, and the objective of the best constant.
        self.square, self.primal = square, 0.5 * square + loss
        self.gap = excess + np.abs(self.b * imbalance)
        unbalanced = np.abs(imbalance) / np.where(total > 0.0, total, 1.0)
        self.kkt = np.maximum(np.maximum(kkt, kkt.T), unbalanced)
        costs = np.add.reduceat(cost, starts[:-1])
        self.scale = 2.0 * np.minimum(costs[:, None], costs)

    def _by_class(self, values: Floats, add: Any = np.add) -> Floats:
        """Sums (or extremes) over the rows of each class."""
        return np.asarray(add.reduceat(values, self.starts[:-1], axis=-1))

    def _gradients(self, c: int) -> tuple[Floats, Floats]:
        """The least up and the greatest down gradient of each class in its pair with c."""
        first, beta = self.own < c, self.beta[c]
        gradient = self.f[c] - np.where(first, 1.0, -1.0)
        up = np.where(beta < np.where(first, self.cost, 0.0), gradient, np.inf)
        down = np.where(beta > np.where(first, 0.0, -self.cost), gradient, -np.inf)
        return self._by_class(up, np.minimum), self._by_class(down, np.maximum)

    def _sums(self, c: int, b: Floats) -> Floats:
        """Sums over each class in its pair with c, and its largest KKT residual."""
        t, beta, f, loss = np.where(self.own < c, 1.0, -1.0), self.beta[c], self.f[c], Hinge()
        z, u = t * (f + b), -t * beta / self.cost
        costs = (self.cost * loss.value(z), self.cost * loss.excess(z, u))
        sums = self._by_class(np.stack([beta * f, *costs, beta, np.abs(beta)]))
        return np.vstack([sums, self._by_class(loss.violation(z, u, 1.0), np.maximum)])

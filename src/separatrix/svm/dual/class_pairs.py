"""Binary SVMs of all pairs of many classes, a class and its kernel rows at a time.

A row takes part in K − 1 pairs. The kernel of two rows of one class serves all of these pairs: it
is computed once, in single precision. That of rows of two classes serves one pair, and is forgotten
with it; rounded, SMO reads it, and f = Kβ is summed from it in double precision. Memory is 4 Σ n_c²
bytes for classes of n_c rows, 16 n K for coefficients and gradients, and a pair on every thread.

Pairs that single precision does not solve are left to :mod:`separatrix.svm.solver`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import INDEFINITE_CLAIM, KERNEL_CLAIM
from separatrix.svm.dual.gram_matrix import LARGE, GramMatrix
from separatrix.svm.dual.pair_figures import PairFigures
from separatrix.svm.loops.class_pairs import fill_pair
from separatrix.svm.loops.smo import smo
from separatrix.svm.primal.solver import few_columns
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import DIRECT, BinarySVM
from separatrix.threads import parallel_map

#: Rows of the largest pair.
LARGEST = 2500
#: Classes up to which few rows are solved pair by pair, exactly up to rounding.
FEW_CLASSES = 10
#: Bytes for the kernel within classes.
MEMORY = 1 << 29
#: Kernel values between classes that are computed at a time.
_BLOCK = 1 << 19
#: Iterations of SMO per row of a pair, and the violation at which it ends, in tolerances.
_ITERATIONS, _REDUCTION = 100, 0.8

Memory = tuple[Floats, NDArray[np.float32]]


def suitable(gram: GramMatrix, codes: Ints, cost: Floats, options: SolverOptions) -> bool:
    """Whether all pairs are small enough, and neither exact nor limited solutions are wanted."""
    sizes = np.sort(np.bincount(codes))[::-1]
    few = gram.n <= DIRECT and len(sizes) <= FEW_CLASSES
    large = sizes[:2].sum() > LARGEST or 4 * int((sizes.astype(float) ** 2).sum()) > MEMORY
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
        spare: list[Memory] = []  # of threads that are done

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
            own = self.part(c)
            square = np.asarray(self.gram.square(self.rows(c, c + 1)), dtype=float)
            self.f[:, own] += self.beta[:, own] @ square

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
        memory: Memory,
    ) -> None:
        """SMO for classes i < c, whose kernel is in ``cross`` from the row ``top`` on."""
        n, size = int(self.sizes[i]), int(self.sizes[c])
        m, between = n + size, cross[top : top + size]
        gram = memory[1][: m * m].reshape(m, m)
        own, other = slice(*self.places[i : i + 2]), slice(*self.places[c : c + 2])
        fill_pair(between, within[own], within[other], gram)
        first, second = self.part(i), self.part(c)
        diagonal = np.concatenate([self.diagonal[first], self.diagonal[second]])
        (t, low, high, beta, f), limit = np.zeros((5, m)), _ITERATIONS * m
        t[:n], t[n:] = 1.0, -1.0
        high[:n], low[n:] = self.cost[first], -self.cost[second]
        data = (gram, diagonal, t, low, high, 0.0, beta, f)
        self.counts[i, c], *_ = smo(*data, _REDUCTION * self.options.tol, limit)
        self.beta[c, first], self.beta[i, second] = beta[:n], beta[n:]
        self.f[i, second], self.f[c, first] = between @ beta[:n], beta[n:] @ between

    def _memory(self) -> Memory:
        """Room for any block between classes, and for the Gram matrix of any pair."""
        largest = np.sort(self.sizes)[-2:]
        block = max(_BLOCK, int(largest.prod()))
        return np.empty(block), np.empty(int(largest.sum()) ** 2, dtype=np.float32)

    def _blocks(self) -> list[tuple[int, int, int]]:
        """A class i and the classes from j to stop that it is paired with at a time."""
        blocks = []
        for i in range(self.k - 1):
            most = max(1, _BLOCK // max(int(self.sizes[i]), 1))
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

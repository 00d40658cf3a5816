"""K-means in the space of a kernel, where centers have no coordinates: clusters are partitions.

    ‖φ(x) − μ_j‖² = κ(x,x) − 2 · mean over j of κ(x,·) + mean over j × j of κ        (centroid)
    mean over y in j of ‖φ(x) − φ(y)‖                                                (members)

Assigning by centroids lowers the scatter at every sweep, as K-means does. Assigning by the mean
distance to members follows no such quantity and may come back to a partition it has left; it then
stops and says so. The Gram matrix is kept where it fits, and else computed again by blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.cluster.initialization import drawn
from separatrix.kernels.base import PreparedKernel
from separatrix.rows.block import Floats, Ints

#: Bytes of a Gram matrix that is kept between sweeps, and of one block of it.
KEPT, BLOCK = 1 << 29, 1 << 25
#: Where more than this share of the rows moved, sums are taken afresh.
MANY_MOVED = 0.3


@dataclass(frozen=True)
class KernelPartition:
    """``labels`` of all rows; ``norms`` ‖μ_j‖² and ``mass`` by cluster; the scatter and the end."""

    labels: Ints
    mass: Floats
    norms: Floats
    scatter: float
    iterations: int
    ending: str  # settled, cycle, limit
    history: Floats


class GramBlocks:
    """κ of all training rows with all training rows, some rows at a time."""

    def __init__(self, prepared: PreparedKernel) -> None:
        self.prepared, self.n = prepared, len(prepared)
        self.diagonal = np.asarray(prepared.diagonal, dtype=float)
        self.whole = prepared.gram() if 8 * self.n**2 <= KEPT else None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        step = max(1, BLOCK // (8 * self.n))
        for a in range(0, self.n, step):
            part = slice(a, min(a + step, self.n))
            yield (
                part,
                self.rows(np.arange(self.n)[part]) if self.whole is None else self.whole[part],
            )

    def rows(self, index: Ints) -> Floats:
        """κ of some training rows with all."""
        return np.asarray(self.prepared.take(index) if self.whole is None else self.whole[index])

    def squares_to(self, i: int) -> Floats:
        """‖φ(x) − φ(xᵢ)‖² of all rows."""
        square = self.diagonal - 2.0 * self.rows(np.array([i]))[0] + self.diagonal[i]
        return np.asarray(np.maximum(square, 0.0))


def membership(labels: Ints, weight: Floats, k: int) -> tuple[Floats, Floats]:
    """Weights of rows in the mean of their cluster (n x k), and the mass of the clusters."""
    mass = np.asarray(np.bincount(labels, weight, minlength=k), dtype=float)
    share = np.zeros((len(labels), k))
    share[np.arange(len(labels)), labels] = weight / mass[labels]
    return share, mass


def kernel_distances(block: Floats, own: Floats, others: Floats) -> Floats:
    """√(κ(x,x) − 2κ(x,z) + κ(z,z)) from a block of κ and the two diagonals."""
    return np.asarray(np.sqrt(np.maximum(own[:, None] - 2.0 * block + others, 0.0)))


MEASURES = ("centroid", "members")


class Towards:
    """Σ w m(x, z) over the members z of every cluster, m = κ or the distance in its space.

    A row that moves takes its terms from one sum to another, so that a sweep costs a column of the
    matrix for every row that moved and not the whole of it.
    """

    def __init__(self, gram: GramBlocks, weight: Floats, k: int, assign: str) -> None:
        self.gram, self.weight, self.k, self.assign = gram, weight, k, assign

    def afresh(self, labels: Ints) -> None:
        """All sums from all pairs."""
        belongs = np.zeros((self.gram.n, self.k))
        belongs[np.arange(self.gram.n), labels] = self.weight
        self.labels, self.exact = labels, True
        self.sums = np.concatenate(
            [self._terms(block, rows) @ belongs for rows, block in self.gram]
        )

    def follow(self, labels: Ints) -> None:
        """The sums after some rows moved."""
        moved = np.flatnonzero(labels != self.labels)
        if len(moved) > MANY_MOVED * self.gram.n:
            return self.afresh(labels)
        for rows in np.array_split(moved, max(1, -(-8 * len(moved) * self.gram.n // BLOCK))):
            change = np.zeros((len(rows), self.k))
            here = np.arange(len(rows))
            change[here, labels[rows]] += self.weight[rows]
            change[here, self.labels[rows]] -= self.weight[rows]
            self.sums += self._terms(self.gram.rows(rows), rows).T @ change
        self.labels, self.exact = labels, not len(moved) and self.exact
        return None

    def _terms(self, block: Floats, rows: Ints | slice) -> Floats:
        if self.assign == "centroid":
            return block
        return kernel_distances(block, self.gram.diagonal[rows], self.gram.diagonal)

    def measured(self) -> tuple[Floats, Floats, Floats]:
        """Distances of rows to clusters (centroids: squared), ‖μ‖² or zeros, and the masses."""
        mass = np.bincount(self.labels, self.weight, minlength=self.k).astype(float)
        means = self.sums / np.where(mass > 0, mass, 1.0)
        norms = np.zeros(self.k)
        if self.assign == "centroid":
            own = means[np.arange(self.gram.n), self.labels]
            norms += np.bincount(self.labels, self.weight * own, minlength=self.k)
            norms /= np.where(mass > 0, mass, 1.0)
            means = self.gram.diagonal[:, None] - 2.0 * means + norms
        return means, norms, mass


def kernel_sweeps(
    gram: GramBlocks, weight: Floats, start: Ints, k: int, *, assign: str, max_iter: int
) -> KernelPartition:
    """Sweeps from the partition ``start`` until it stays or repeats an earlier one."""
    history, ending = [], "limit"
    seen = {start.tobytes()}
    towards = Towards(gram, weight, k, assign)
    towards.afresh(start)
    rows = np.arange(gram.n)
    for _ in range(max_iter):
        measured, _, mass = towards.measured()
        history.append(float(weight @ measured[rows, towards.labels]))
        new = _assigned(measured, mass, towards.labels, weight)
        if np.array_equal(new, towards.labels):
            if towards.exact:
                ending = "settled"
                break
            towards.afresh(new)  # sums that followed many moves are taken again before the end
            continue
        towards.follow(new)
        if new.tobytes() in seen:
            ending = "cycle"
            break
        seen.add(new.tobytes())
    return _finished(towards, np.array(history), ending)


def _finished(towards: Towards, history: Floats, ending: str) -> KernelPartition:
    gram, weight, labels = towards.gram, towards.weight, towards.labels
    if towards.assign != "centroid" or not towards.exact:
        towards = Towards(gram, weight, towards.k, "centroid")
        towards.afresh(labels)
    squares, norms, mass = towards.measured()
    own = np.maximum(squares[np.arange(gram.n), labels], 0.0)
    return KernelPartition(labels, mass, norms, float(weight @ own), len(history), ending, history)


def _assigned(measured: Floats, mass: Floats, labels: Ints, weight: Floats) -> Ints:
    """Nearest clusters; a row stays where another is nearer by rounding only. None is emptied."""
    rows = np.arange(len(labels))
    measured = np.where(mass > 0, measured, np.inf)
    new = measured.argmin(axis=1)
    noise = 1e-12 * np.abs(measured[rows, labels]).max(initial=0.0)
    stays = measured[rows, labels] <= measured[rows, new] + noise
    new = np.where(stays, labels, new)
    loss = weight * measured[rows, new]
    for j in range(len(mass)):
        if not (new == j).any():
            crowd = np.bincount(new, minlength=len(mass))[new] > 1
            far = int(np.where(crowd, loss, -np.inf).argmax())
            new[far], loss[far] = j, -np.inf
    return np.asarray(new)


def spread_partition(gram: GramBlocks, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn far apart in the space of the kernel; every row joins the nearest of them."""
    chosen = [int(drawn(weight, rng.random(1))[0])]
    nearest, labels = gram.squares_to(chosen[0]), np.zeros(gram.n, dtype=np.int64)
    for j in range(1, k):
        pull = weight * nearest
        pull[chosen] = 0.0
        if not pull.any():
            pull = weight.copy()
            pull[chosen] = 0.0
        i = int(drawn(pull, rng.random(1))[0])
        squares = gram.squares_to(i)
        closer = squares < nearest
        closer[i] = True
        labels[closer], nearest = j, np.minimum(nearest, squares)
        chosen.append(i)
    labels[chosen] = np.arange(k)
    return labels

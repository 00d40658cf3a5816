"""Large margin nearest neighbors: the metric in which rows of other classes keep away.

    min over M ⪰ 0 of  (1 − μ) Σ tᵢⱼ dᵢⱼ + μ Σ tᵢⱼ wₗ max(0, 1 + dᵢⱼ − dᵢₗ)
    dᵢⱼ = tr M Dᵢⱼ,    Dᵢⱼ = (xᵢ − xⱼ)(xᵢ − xⱼ)ᵀ

over the target neighbors j of every row i (those of its class that are nearest in the table) and
the rows l of other classes. tᵢⱼ is wᵢ times how many of the targets of row i are row j: a row of
weight w is w equal rows, w − 1 of which are targets of one another. The problem is convex, and

    Σ α    for 0 ≤ α ≤ μ tᵢⱼ wₗ  with  Z = (1 − μ) Σ tᵢⱼ Dᵢⱼ + Σ α (Dᵢⱼ − Dᵢₗ) ⪰ 0

is a lower bound. L-BFGS descends in a square L with M = LᵀL, which has no local minima other than
the global one, with the corner of the loss rounded within δ; Z is its gradient in M, and δ shrinks
until the bound is near. Coordinates are those in which the first sum is the identity: a direction
in which targets hardly differ counts as FLOOR of the one in which they differ most, so that M does
not grow without end there. Of a diagonal metric L, M and what Z needs are diagonal.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import linalg, optimize

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import coded_rows
from separatrix.messages import InputError, warn
from separatrix.metric_learning import loops
from separatrix.metric_learning.base import MetricLearner, root_of
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.statistics.moments import Standardizer
from separatrix.threads import parallel_map

#: The least share of the largest eigenvalue of the first sum that a direction counts with.
FLOOR = 1e-6


@declare_parameters
class LargeMarginNearestNeighbors(MetricLearner):
    """Large margin nearest neighbors: rows of other classes keep a margin beyond those of the own.

        min over M ⪰ 0 of (1 − μ) Σ d(xᵢ, xⱼ)² + μ Σ max(0, 1 + d(xᵢ, xⱼ)² − d(xᵢ, xₗ)²)

    over the k nearest rows j of the class of row i, and the rows l of other classes. The problem is
    convex: the duality gap says how far M is from the best at most. A direction in which target
    neighbors hardly differ counts as 10⁻⁶ of the one in which they differ most.

    Parameters
    ----------
    n_neighbors : int, default=3
        Target neighbors k of every row, or as many as its class has. Equally near rows share.
    push : float, default=0.5
        μ, between 0 and 1: the share of the margins in the objective.
    max_iter : int, default=1000
        Iterations for each width of the rounded corner, at most.
    tol : float, default=1e-4
        Relative duality gap at which the search ends.
    diagonal : bool, default=False
        Whether M only weighs the columns, one by one.
    standardize : bool, default=False

    Attributes
    ----------
    components_ : ndarray of shape (r, n_features)
        L with M = LᵀL, of the rank of M: eigenvectors times roots of eigenvalues, largest first,
        for rows in the units of the table.
    metric_ : Elliptical
        The learned metric, for neighbors, exemplars and clusters.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
        Number of columns.
    n_iter_ : int
    certificate_ : Certificate
        Objective, lower bound and duality gap.

    See Also
    --------
    NeighborhoodComponentsAnalysis : Random neighbors, low rank; a local search.
    KNeighborsClassifier : Neighbors in the learned metric.

    References
    ----------
    K. Weinberger and L. Saul, Distance metric learning for large margin nearest neighbor
    classification, Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> model = sx.LargeMarginNearestNeighbors().fit(x, x[:, 0] > 0)
    >>> bool(abs(model.components_[0, 0]) > 5 * abs(model.components_[0, 1:]).max())
    True
    >>> model.certificate_.holds
    True
    """

    n_iter_: int = field(init=False)

    n_neighbors: int = 3
    _: KW_ONLY
    push: float = 0.5
    max_iter: int = 1000
    tol: float = 1e-4
    diagonal: bool = False
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn M from the rows of ``X`` and their classes."""
        self._check_parameters()
        coded = coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        x = np.ascontiguousarray(coded.x, dtype=np.float64)
        units = Standardizer.from_rows(x, coded.w)
        # what rounding of a mean leaves open, in weights or the order of rows, is cut off
        mantissa, exponent = np.frexp(units.inverse_scale)
        factor = np.ldexp(np.round(mantissa, 12), exponent)
        factor = factor if self.standardize else (units.scale > 0.0).astype(float)
        # not the mean, whose rounding depends on weights and order
        z = (x - 0.5 * (x.min(axis=0) + x.max(axis=0))) * factor
        size = float(np.exp2(np.frexp(np.abs(z).max(initial=0.0))[1]))
        z, codes, w = _distinct(z / size, coded.codes, coded.w)
        diagonal = bool(self.diagonal)
        margins = MarginProblem.of(
            z, codes, w, int(self.n_neighbors), float(self.push), diagonal=diagonal
        )
        m, claim = self._descend(margins)
        self.components_ = root_of(m, diagonal=diagonal) * (factor / size)
        self.certificate_ = claim
        if not claim.holds:
            warn("SEP003", f"{claim}")
        return self

    def _descend(self, margins: MarginProblem) -> tuple[Floats, Certificate]:
        """M in the coordinates of the rows, and its certificate."""
        d, self.n_iter_ = margins.x.shape[1], 0
        flat, best, bound = np.eye(d)[margins.free], np.inf, 0.0
        m = np.zeros((d, d))
        for width in (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5):  # δ of the rounded corner, in margins
            found = optimize.minimize(
                margins.evaluate, flat, args=(width,), jac=True, method="L-BFGS-B",
                options={"maxiter": int(self.max_iter), "ftol": 1e-15, "gtol": 0.0, "maxcor": 20,
                         "maxfun": 10 * int(self.max_iter)},
            )  # fmt: skip
            flat, self.n_iter_ = found.x, self.n_iter_ + int(found.nit)
            root = margins.matrix(flat)
            sums = margins.sums(root, width)
            bound = max(bound, margins.bound(sums))
            if sums.objective < best:
                best, m = sums.objective, root.T @ root
            if best - bound <= 0.5 * self.tol * max(best, margins.scale):
                break
        certificate = Certificate(
            f"Large margin nearest neighbors: no other {'diagonal ' * bool(self.diagonal)}metric "
            "has a lower objective",
            primal=best, dual=bound, gap=max(best - bound, 0.0), tolerance=float(self.tol),
            scale=margins.scale, scale_of="a thousandth of the objective of M = 0",
            promised=("gap",),
        )  # fmt: skip
        return margins.coordinates @ m @ margins.coordinates.T, certificate

    def _check_parameters(self) -> None:
        for name in ("n_neighbors", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name}={value!r} must be a whole number of at least 1.")
        if not 0.0 < self.push < 1.0:
            raise InputError(f"push={self.push!r} must be between 0 and 1.")
        if not 0.0 < self.tol < np.inf:
            raise InputError(f"tol={self.tol!r} must be a number above 0.")


def _distinct(x: Floats, codes: Ints, w: Floats) -> tuple[Floats, Ints, Floats]:
    """Rows in an order of their own, copies merged: neither changes anything from here on."""
    rows = np.column_stack([codes, x])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return x[first], codes[first], np.bincount(which.ravel(), w).astype(np.float64)


# -------------------------------------------------------------------------------------------------
# The objective, its gradient in M, and the bound.


@dataclass(frozen=True)
class MarginSums:
    """The objective, that with the rounded corner, Z = ``pull`` + ``push``, and Σ α."""

    objective: float
    rounded: float
    pull: Floats
    push: Floats
    alphas: float


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Rows x, which are (those of the table) @ ``coordinates``, and their target neighbors.

    ``targets`` (n x k) are padded with −1; ``counts`` are tᵢⱼ; of L only ``free`` numbers differ
    from zero.
    """

    x: Floats
    codes: Ints
    w: Floats
    targets: Ints
    counts: Floats
    mu: float
    coordinates: Floats
    free: NDArray[np.bool_]

    @classmethod
    def of(
        cls, x: Floats, codes: Ints, w: Floats, k: int, mu: float, *, diagonal: bool = False
    ) -> MarginProblem:
        """Targets by distances in the coordinates given."""
        targets, counts = _target_neighbors(x, codes, w, k)
        used = np.flatnonzero(counts.any(axis=0))
        targets, counts = targets[:, used], counts[:, used]
        if not len(used):
            raise InputError(
                "No class has two rows: there are no target neighbors.",
                remedy="Give several rows of a class.",
            )
        first = (1.0 - mu) * _target_scatter(x, targets, counts)
        everything = (x - x.mean(axis=0)).T @ (x - x.mean(axis=0))
        if diagonal:
            everything, first = (np.diag(np.diagonal(m)) for m in (everything, first))
        values, vectors = np.linalg.eigh(everything)
        basis = vectors[:, values > 1e-13 * values[-1]]  # rows do not differ in other directions
        values, vectors = np.linalg.eigh(basis.T @ first @ basis)
        # copies alone do not differ at all: then rows do
        floor = FLOOR * max(float(values[-1]), FLOOR * float(np.trace(everything)))
        if floor == 0.0:
            raise InputError("All rows are equal.", remedy="Give rows that differ.")
        turn = basis @ (vectors / np.sqrt(np.maximum(values, floor)))
        r = turn.shape[1]
        free = np.eye(r, dtype=bool) if diagonal else np.ones((r, r), dtype=bool)
        return cls(x @ turn, codes, w, targets, counts, mu, turn, free)

    @cached_property
    def pull(self) -> Floats:
        """(1 − μ) Σ t D, in these coordinates."""
        return np.eye(self.x.shape[1])

    @cached_property
    def scale(self) -> float:
        """A thousandth of the objective of M = 0, for gaps where margins cost nothing."""
        others = self.w.sum() - np.bincount(self.codes, self.w)[self.codes]
        return 1e-3 * self.mu * float(self.counts.sum(axis=1) @ others)

    def matrix(self, flat: Floats) -> Floats:
        """L of its free numbers."""
        root = np.zeros(self.free.shape)
        root[self.free] = flat
        return root

    def evaluate(self, flat: Floats, width: float) -> tuple[float, Floats]:
        """The rounded objective and its gradient in the free numbers of L."""
        root = self.matrix(flat)
        sums = self.sums(root, width)
        return sums.rounded, 2.0 * (root @ (sums.pull + sums.push))[self.free]

    def sums(self, root: Floats, width: float) -> MarginSums:
        """Everything at M = LᵀL, by strips of rows."""
        z = self.x @ root.T
        norms = np.einsum("ij,ij->i", z, z)

        def strip(rows: slice) -> tuple[Floats, Floats]:
            q = z[rows] @ z.T
            q *= -2.0
            q += norms
            q += norms[rows, None]
            np.maximum(q, 0.0, out=q)
            totals = np.zeros(3)
            loops.margin_tile(
                rows.start, q, self.targets, self.counts, self.codes, self.mu * self.w, width,
                totals,
            )  # fmt: skip
            x = self.x[rows]
            cross = x.T @ (q @ self.x)
            own = x.T @ (q.sum(axis=1)[:, None] * x) + self.x.T @ (q.sum(axis=0)[:, None] * self.x)
            return totals, own - cross - cross.T

        n = len(z)
        height = 128  # rows whose distances to all others are computed together
        parts = parallel_map(strip, [slice(t, min(t + height, n)) for t in range(0, n, height)])
        totals = sum((part for part, _ in parts), start=np.zeros(3))
        push = sum((part for _, part in parts), start=np.zeros_like(self.pull))
        near = float(np.vdot(self.pull @ root.T, root.T))
        return MarginSums(
            near + float(totals[0]), near + float(totals[1]), self.pull, push, float(totals[2])
        )

    def bound(self, sums: MarginSums) -> float:
        """Σ α of the largest multiple of α with Z ⪰ 0, to rounding of Z."""
        slack = -1e-13 * float(np.abs(sums.pull).max() + np.abs(sums.push).max())

        def feasible(share: float) -> bool:
            z = (sums.pull + share * sums.push) * self.free
            return bool(linalg.eigvalsh(0.5 * (z + z.T), subset_by_index=[0, 0])[0] >= slack)

        if feasible(1.0):
            return sums.alphas
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if feasible(middle) else (low, middle)
        return low * sums.alphas


def _target_neighbors(x: Floats, codes: Ints, w: Floats, k: int) -> tuple[Ints, Floats]:
    """Target neighbors of every row, and t: w times how many of its k each is."""
    found: list[tuple[Ints, Floats]] = [(np.zeros(0, dtype=np.int64), np.zeros(0))] * len(x)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        for i in members:
            square = ((x[members] - x[i]) ** 2).sum(axis=1)
            there = w[members] - (members == i)  # a row is no neighbor of itself
            there = np.maximum(there, 0.0)
            order = np.argsort(square, kind="stable")
            total = np.cumsum(there[order])
            last = min(int(np.searchsorted(total, k * (1.0 - 1e-12))), len(order) - 1)
            limit = square[order[last]] * (1.0 + 1e-9)
            tied = np.abs(square - square[order[last]]) <= 1e-9 * limit
            inside = (square <= limit) & ~tied
            taken = np.where(inside, there, 0.0)
            rest = min(float(k), float(total[-1])) - float(taken.sum())
            weight = float(there[tied].sum())
            if weight > 0.0:
                taken[tied] = there[tied] * min(1.0, rest / weight)
            some = np.flatnonzero(taken > 0.0)
            found[i] = members[some], w[i] * taken[some]
    widest = max((len(some) for some, _ in found), default=0)
    targets = np.full((len(x), widest), -1, dtype=np.int64)
    counts = np.zeros((len(x), widest))
    for row, (some, share) in enumerate(found):
        targets[row, : len(some)], counts[row, : len(some)] = some, share
    return targets, counts


def _target_scatter(x: Floats, targets: Ints, counts: Floats) -> Floats:
    """Σ t D."""
    total = np.zeros((x.shape[1], x.shape[1]))
    for column, share in zip(targets.T, counts.T, strict=True):
        difference = x - x[column]
        total += difference.T @ (share[:, None] * difference)
    return total

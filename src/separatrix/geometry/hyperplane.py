"""Hyperplanes, quadrics and kernel expansions: the surfaces that models draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.kernels.base import MAX_VALUES, Items, Kernel, PreparedKernel, as_matrix, join_items
from separatrix.kernels.names import Precomputed
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.schema import n_items, take_items

# -------------------------------------------------------------------------------------------------
# Hyperplanes w·x = t, one per output of an affine map.
#
# score(x) = w·x − t,    signed distance = (w·x − t) / ‖w‖,    margin = ±1 · signed distance


@dataclass(frozen=True)
class Hyperplane:
    """k hyperplanes: ``coef`` (k x d) and ``intercept`` (k), scores x·coefᵀ + intercept."""

    coef: Floats
    intercept: Floats
    names: tuple[str, ...] = ()

    def score(self, x: Matrix) -> Floats:
        """Scores w·x − t of every row and output (n x k)."""
        return np.asarray(x @ self.coef.T + self.intercept)

    def signed_distance(self, x: Matrix) -> Floats:
        """Signed distances to the hyperplanes, positive on the side that w points to."""
        return _divide_by_norm(self.score(x), np.linalg.norm(self.coef, axis=1))

    def margin(self, x: Matrix, side: Floats) -> Floats:
        """Signed distance times ``side`` (±1 per row): positive where correctly classified."""
        return np.asarray(side * self.signed_distance(x)[:, 0])

    def class_margin(self, x: Matrix, code: NDArray[np.int64]) -> Floats:
        """Distance to the decision boundary of the class ``code`` (n) of the argmax rule.

        min over j ≠ k of (scoreₖ − scoreⱼ) / ‖wₖ − wⱼ‖, negative if another score is larger.
        """
        score = self.score(x)
        nearest = np.full(len(score), np.inf)
        for j, w in enumerate(self.coef):
            norm = np.linalg.norm(self.coef - w, axis=1)[code]
            difference = np.take_along_axis(score, code[:, None], axis=1)[:, 0] - score[:, j]
            nearest = np.where(
                code == j, nearest, np.minimum(nearest, _divide_by_norm(difference, norm))
            )
        return nearest

    def projection(self, x: Floats) -> Floats:
        """Orthogonal projection of every row onto the hyperplane (one output only)."""
        w = self.coef[0]
        return np.asarray(x - np.outer(self.signed_distance(x)[:, 0], w / np.linalg.norm(w)))


def _divide_by_norm(score: Floats, norm: Floats) -> Floats:
    """score / ‖w‖; ±∞ where w = 0, and 0 if the score is zero as well."""
    infinite = np.where(score == 0.0, 0.0, np.copysign(np.inf, score))
    return np.where(norm > 0.0, score / np.where(norm > 0.0, norm, 1.0), infinite)


# -------------------------------------------------------------------------------------------------
# Quadrics xᵀWx + w·x + w₀ = 0, the decision boundaries of quadratic discriminants.


@dataclass(frozen=True)
class Quadric:
    """A quadric: ``quadratic`` W (d x d, symmetric), ``linear`` w (d) and ``constant`` w₀."""

    quadratic: Floats
    linear: Floats
    constant: float

    def score(self, x: Floats) -> Floats:
        """xᵀWx + w·x + w₀ of every row."""
        form = np.einsum("ij,ij->i", x @ self.quadratic, x)
        return np.asarray(form + x @ self.linear + self.constant)

    def gradient(self, x: Floats) -> Floats:
        """Gradient 2Wx + w of the score at every row."""
        return np.asarray(2.0 * x @ self.quadratic + self.linear)

    def line_intersections(self, origin: Floats, direction: Floats) -> Floats:
        """All t, in order, at which origin + t·direction lies on the quadric."""
        a = float(direction @ self.quadratic @ direction)
        b = float(direction @ self.gradient(origin[None, :])[0])
        c = float(self.score(origin[None, :])[0])
        return real_roots(a, b, c)

    @property
    def kind(self) -> str:
        """``"plane"``, ``"ellipsoid"``, ``"hyperboloid"`` or ``"paraboloid or cylinder"``."""
        values = np.linalg.eigvalsh(self.quadratic)
        largest = np.abs(values).max(initial=0.0)
        zero = np.abs(values) <= 1e-12 * largest
        if largest == 0 or zero.all():
            return "plane"
        if zero.any():
            return "paraboloid or cylinder"
        return "ellipsoid" if (values > 0).all() or (values < 0).all() else "hyperboloid"


def real_roots(a: float, b: float, c: float) -> Floats:
    """Real roots of a t² + b t + c, in order, without cancellation; a double root once.

    q = −½ (b + sign(b) √(b² − 4ac)),     t₁ = q/a,  t₂ = c/q
    """
    if abs(a) <= 1e-14 * max(abs(b), abs(c)):  # linear: the other root overflows
        return np.array([-c / b]) if b else np.zeros(0)
    discriminant = b * b - 4.0 * a * c
    if discriminant < 0:
        return np.zeros(0)
    q = -0.5 * (b + np.copysign(np.sqrt(discriminant), b))
    if q == 0:
        return np.zeros(1)
    return np.unique([q / a, c / q])


# -------------------------------------------------------------------------------------------------
# Kernel expansions f(x) = Σⱼ aⱼ κ(zⱼ, x) + b, the functions that kernel methods learn.


@dataclass(frozen=True, repr=False)
class KernelExpansion(Shown):
    """Linear combination of kernel functions around centers (k functions at once).

        f(x) = Σⱼ aⱼ κ(zⱼ, x) + b

    In feature space it is a hyperplane with the normal w = Σⱼ aⱼ φ(zⱼ). Centers whose weights are
    all zero are dropped.

    Parameters
    ----------
    kernel : Kernel
        κ.
    centers : array-like or list of m items
        zⱼ. With a precomputed kernel, the indices of the columns to read.
    weights : array of shape (m,) or (m, k)
        aⱼ.
    intercept : float or array of shape (k,)
        b.
    n_train : int, default=0
        Number of training rows, that is of columns of a precomputed kernel matrix; m if zero.

    See Also
    --------
    SVC : learns such a function.
    KernelPerceptron : learns such a function, too.

    References
    ----------
    B. Schölkopf, R. Herbrich and A. J. Smola, A generalized representer theorem, COLT, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> f = sx.KernelExpansion(sx.Gaussian(1.0), [[0.0], [1.0], [2.0]], [1.0, 0.0, -1.0], 0.5)
    >>> len(f), f.scores([[1.0]]).round(6).tolist()
    (2, [[0.5]])
    """

    kernel: Kernel
    centers: Any
    weights: Floats
    intercept: Floats
    n_train: int = 0

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        weights = weights.reshape(len(weights), -1)
        intercept = np.broadcast_to(np.asarray(self.intercept, dtype=float), weights.shape[1:])
        centers = self.centers
        if isinstance(self.kernel, Precomputed):
            column_indices = np.ndim(centers) == 1
            centers = np.asarray(centers) if column_indices else np.arange(len(weights))
        else:
            centers = self.kernel.serializable(centers)
        if self.kernel.of_vectors and not sparse.issparse(centers):
            centers = np.asarray(centers)
        if n_items(centers) != len(weights):
            raise InputError(
                f"There are {len(weights)} weights for {n_items(centers)} centers.",
                remedy="Give one weight (or row of weights) for every center.",
            )
        nonzero = np.flatnonzero((weights != 0.0).any(axis=1))
        object.__setattr__(self, "n_train", int(self.n_train) or len(weights))
        if len(nonzero) < len(weights):
            centers, weights = take_items(centers, nonzero), weights[nonzero]
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "weights", np.ascontiguousarray(weights))
        object.__setattr__(self, "intercept", intercept.copy())

    def __add__(self, other: KernelExpansion) -> KernelExpansion:
        """f + g of functions with the same kernel."""
        if self.kernel is not other.kernel or isinstance(self.kernel, Precomputed):
            raise InputError("Only expansions in one kernel of rows can be added.")
        return KernelExpansion(
            self.kernel,
            join_items(self.centers, other.centers),
            np.concatenate([self.weights, other.weights]),
            self.intercept + other.intercept,
            self.n_train + other.n_train,
        )

    def __len__(self) -> int:
        """The number of centers."""
        return len(self.weights)

    def scores(self, x: Items) -> Floats:
        """f(x) of every item and function (n x k), by blocks of bounded memory."""
        if isinstance(self.kernel, Precomputed):
            return self._scores_precomputed(x)
        x = as_matrix(x) if self.kernel.of_vectors else x
        if len(self) == 0:
            return np.tile(self.intercept, (n_items(x), 1))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(self._prepared.dot(x, self.weights) + self.intercept)
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            raise InputError(
                "The kernel of the row with the training rows is too large for a number.",
                row=int(np.argmin(finite)) + 1,
                remedy="Give rows in the units of the training rows.",
            )
        return scores

    def _scores_precomputed(self, x: Items) -> Floats:
        x = as_matrix(x)
        if x.shape[1] != self.n_train:
            raise InputError(
                f"The kernel matrix has {x.shape[1]} columns.",
                remedy=f"Give one column for each of the {self.n_train} training rows.",
            )
        return np.asarray(x[:, self.centers] @ self.weights + self.intercept)

    @cached_property
    def _prepared(self) -> PreparedKernel:
        return self.kernel.prepare(self.centers)

    def __str__(self) -> str:
        """Number of centers and their memory."""
        text = f"{len(self)} of {self.n_train} training rows are centers"
        if isinstance(self.kernel, Precomputed) or not hasattr(self.centers, "shape"):
            return text
        data = self.centers.data if sparse.issparse(self.centers) else self.centers
        return f"{text}, {data.nbytes / 1e6:.1f} MB"

    def squared_norm(self) -> Floats:
        """‖w‖² = Σᵢⱼ aᵢ aⱼ κ(zᵢ, zⱼ) of every function, by blocks of rows."""
        total = np.zeros(self.weights.shape[1])
        if isinstance(self.kernel, Precomputed):
            raise InputError(
                "The Gram matrix of the centers is not stored by a precomputed kernel."
            )
        step = max(1, MAX_VALUES // max(1, len(self)))
        for start in range(0, len(self), step):
            rows = np.arange(start, min(start + step, len(self)))
            total += np.einsum(
                "ik,ik->k", self.weights[rows], self._prepared.take(rows) @ self.weights
            )
        return total

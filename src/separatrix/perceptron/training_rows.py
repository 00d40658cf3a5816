"""Training rows of a perceptron, dense or sparse, with weights in the form that suits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.perceptron.loops import train_dense, train_sparse
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.statistics.standardizer import Standardizer


@dataclass(frozen=True)
class PerceptronState:
    """Weights of a perceptron in training, so that it can continue.

    ``weights`` and ``step_sums`` are outputs x (1 + d), the intercept first; ``seen`` counts rows.
    """

    weights: Floats
    step_sums: Floats
    seen: int

    @property
    def mean(self) -> Floats:
        """The weights, averaged over all rows seen."""
        return self.weights - self.step_sums / max(self.seen, 1)


class TrainingRows:
    """Rows about a ``center`` with class codes and learning rates, and the weights being trained.

    Dense rows are centered already: their center is zero.
    """

    _loop: Callable[..., bool] = staticmethod(train_dense)

    def __init__(
        self,
        x: Matrix,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        constant: bool,
        center: Floats | None = None,
    ) -> None:
        self.x, self.codes, self.output_class, self.rate = x, codes, output_class, rate
        self.constant = float(constant)
        self.n, self.d = x.shape
        self.center = np.zeros(self.d) if center is None else center
        self._arrays: tuple[Any, ...] = (x,)

    @property
    def signs(self) -> Floats:
        """The ±1 target of every row for every output, one-vs-rest (n x outputs)."""
        return np.where(self.codes[:, None] == self.output_class, 1.0, -1.0)

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        self.w, self.step_sums = state.weights.copy(), state.step_sums.copy()

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        return PerceptronState(self.w.copy(), self.step_sums.copy(), seen)

    def run_epoch(
        self, order: Ints, mistakes: Ints, streak: Ints, longest: Ints, position: Ints
    ) -> bool:
        """Update the weights from ``position`` in the order on; False if the pass paused."""
        return bool(
            self._loop(
                *(*self._arrays, self.codes, self.output_class, self.rate, self.constant),
                *(self.w, self.step_sums, order, mistakes, streak, longest, position),
            )
        )

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        intercept = weights[:, 0] - weights[:, 1:] @ self.center
        return np.asarray(self.x @ weights[:, 1:].T + intercept)

    def misclassified(self, weights: Floats) -> NDArray[np.bool_]:
        """Which rows are not strictly on the right side (n x outputs)."""
        return np.asarray(self.signs * self.scores(weights) <= 0.0)

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The weighted mean of some of the rows, from the center."""
        weight = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ weight / weight.sum() - self.center)

    def squared_norms(self) -> Floats:
        """‖x‖² by row."""
        return np.asarray(np.einsum("ij,ij->i", self.x, self.x))


class SparseRows(TrainingRows):
    """CSR rows about a ``center`` that is never subtracted from them."""

    _loop = staticmethod(train_sparse)

    def __init__(
        self,
        x: Matrix,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        constant: bool,
        center: Floats | None = None,
    ) -> None:
        super().__init__(x, codes, output_class, rate, constant, center)
        self.center_square = float(self.center @ self.center)
        self.center_product = np.append(
            np.asarray(x @ self.center) - self.center_square, self.center_square
        )
        columns, starts = x.indices.astype(np.int64), x.indptr.astype(np.int64)
        self._arrays = (x.data, columns, starts, self.center_product)

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        k = len(state.weights)
        self.w, self.step_sums = np.zeros((k, 3 + self.d)), np.zeros((k, 3 + self.d))
        for own, given in ((self.w, state.weights), (self.step_sums, state.step_sums)):
            own[:, 0], own[:, 3:] = given[:, 0], given[:, 1:]
        self.w[:, 2] = state.weights[:, 1:] @ self.center

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        weights, step_sums = (
            np.column_stack([v[:, 0], v[:, 3:] - v[:, 1:2] * self.center])
            for v in (self.w, self.step_sums)
        )
        return PerceptronState(weights, step_sums, seen)

    def squared_norms(self) -> Floats:
        """‖x − c‖² by row."""
        square = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        square = square - 2.0 * self.center_product[:-1] - self.center_square
        return np.asarray(np.maximum(square, 0.0))


def training_rows(
    x: Matrix,
    codes: Ints,
    output_class: Ints,
    rate: Floats,
    constant: bool,
    standardizer: Standardizer | None = None,
) -> TrainingRows:
    """Dense or sparse rows; with a ``standardizer`` they are (x − μ)/σ."""
    if sparse.issparse(x):
        if standardizer is None:
            return SparseRows(x, codes, output_class, rate, constant)
        center = standardizer.mean * standardizer.inverse_scale
        z = standardizer.transform(x)
        return SparseRows(z, codes, output_class, rate, constant, center)
    z = np.asarray(x, dtype=np.float64) if standardizer is None else standardizer.transform(x)
    return TrainingRows(np.ascontiguousarray(z), codes, output_class, rate, constant)

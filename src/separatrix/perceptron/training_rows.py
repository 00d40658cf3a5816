"""Training rows of a perceptron, dense or sparse, with weights in the form that suits them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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


class TrainingRows(ABC):
    """Rows with their class codes and learning rates, and the weights being trained."""

    def __init__(
        self, x: Matrix, codes: Ints, output_class: Ints, rate: Floats, constant: bool
    ) -> None:
        self.x, self.codes, self.output_class, self.rate = x, codes, output_class, rate
        self.constant = float(constant)
        self.n, self.d = x.shape

    @property
    def signs(self) -> Floats:
        """The ±1 target of every row for every output, one-vs-rest (n x outputs)."""
        return np.where(self.codes[:, None] == self.output_class, 1.0, -1.0)

    @abstractmethod
    def start(self, state: PerceptronState) -> None:
        """Set the weights."""

    @abstractmethod
    def run_epoch(
        self, order: Ints, mistakes: Ints, streak: Ints, longest: Ints, position: Ints
    ) -> bool:
        """Update the weights from ``position`` in the order on; False if the pass paused."""

    @abstractmethod
    def state(self, seen: int) -> PerceptronState:
        """The weights now."""

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""

    @abstractmethod
    def squared_norms(self) -> Floats:
        """‖x‖² by row."""

    @abstractmethod
    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The weighted mean of some of the rows."""

    def misclassified(self, weights: Floats) -> NDArray[np.bool_]:
        """Which rows are not strictly on the right side (n x outputs)."""
        return np.asarray(self.signs * self.scores(weights) <= 0.0)


class DenseRows(TrainingRows):
    """Rows in one array."""

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        self.w, self.step_sums = state.weights.copy(), state.step_sums.copy()

    def run_epoch(
        self, order: Ints, mistakes: Ints, streak: Ints, longest: Ints, position: Ints
    ) -> bool:
        """Update the weights from ``position`` in the order on; False if the pass paused."""
        return bool(
            train_dense(
                *(self.x, self.codes, self.output_class, self.rate, order, self.constant),
                *(self.w, self.step_sums, mistakes, streak, longest, position),
            )
        )

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        return PerceptronState(self.w.copy(), self.step_sums.copy(), seen)

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        return np.asarray(self.x @ weights[:, 1:].T + weights[:, 0])

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The weighted mean of some of the rows."""
        weight = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ weight / weight.sum())

    def squared_norms(self) -> Floats:
        """‖x‖² by row."""
        return np.asarray(np.einsum("ij,ij->i", self.x, self.x))


class SparseRows(TrainingRows):
    """CSR rows about a ``center`` that is never subtracted from them."""

    def __init__(
        self,
        x: Matrix,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        constant: bool,
        center: Floats | None = None,
    ) -> None:
        super().__init__(x, codes, output_class, rate, constant)
        self.center = np.zeros(self.d) if center is None else center
        self.center_square = float(self.center @ self.center)
        self.center_product = np.append(
            np.asarray(x @ self.center) - self.center_square, self.center_square
        )
        self.columns = x.indices.astype(np.int64), x.indptr.astype(np.int64)

    def start(self, state: PerceptronState) -> None:
        """Set the weights."""
        k = len(state.weights)
        self.w, self.step_sums = np.zeros((k, 3 + self.d)), np.zeros((k, 3 + self.d))
        for own, given in ((self.w, state.weights), (self.step_sums, state.step_sums)):
            own[:, 0], own[:, 3:] = given[:, 0], given[:, 1:]
        self.w[:, 2] = state.weights[:, 1:] @ self.center

    def run_epoch(
        self, order: Ints, mistakes: Ints, streak: Ints, longest: Ints, position: Ints
    ) -> bool:
        """Update the weights from ``position`` in the order on; False if the pass paused."""
        return bool(
            train_sparse(
                *(self.x.data, *self.columns, self.center_product, self.codes),
                *(self.output_class, self.rate, order, self.constant),
                *(self.w, self.step_sums, mistakes, streak, longest, position),
            )
        )

    def state(self, seen: int) -> PerceptronState:
        """The weights now."""
        weights, step_sums = (
            np.column_stack([v[:, 0], v[:, 3:] - v[:, 1:2] * self.center])
            for v in (self.w, self.step_sums)
        )
        return PerceptronState(weights, step_sums, seen)

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        intercept = weights[:, 0] - weights[:, 1:] @ self.center
        return np.asarray(self.x @ weights[:, 1:].T + intercept)

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The weighted mean of some of the rows, from the center."""
        weight = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ weight / weight.sum() - self.center)

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
    return DenseRows(np.ascontiguousarray(z), codes, output_class, rate, constant)

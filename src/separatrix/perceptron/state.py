"""Rows that a perceptron walks on: dense, or sparse and measured from a centre never subtracted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.perceptron.loops import walk_dense, walk_sparse
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.statistics.standardizer import Standardizer


@dataclass(frozen=True)
class PerceptronState:
    """Where a walk stands: ``weights`` and ``drift`` (outputs x (1 + d)), rows ``seen`` so far."""

    weights: Floats
    drift: Floats
    seen: int

    @property
    def mean(self) -> Floats:
        """The weights, averaged over all rows seen."""
        return self.weights - self.drift / max(self.seen, 1)


class PerceptronRows(ABC):
    """Rows to walk on: their classes, steps, and the weights in a form that suits them."""

    def __init__(self, x: Matrix, codes: Ints, own: Ints, rate: Floats, constant: bool) -> None:
        self.x, self.codes, self.own, self.rate = x, codes, own, rate
        self.constant = float(constant)
        self.n, self.d = x.shape

    @property
    def sides(self) -> Floats:
        """+1 where a row is of the class that an output speaks for, else −1 (n x outputs)."""
        return np.where(self.codes[:, None] == self.own, 1.0, -1.0)

    @abstractmethod
    def begin(self, state: PerceptronState) -> None:
        """Take up the weights."""

    @abstractmethod
    def go(self, order: Ints, mistakes: Ints, runs: Ints, record: Ints, at: Ints) -> bool:
        """Walk on; False if paused."""

    @abstractmethod
    def state(self, seen: int) -> PerceptronState:
        """The weights reached."""

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""

    @abstractmethod
    def squares(self) -> Floats:
        """‖x‖² by row."""

    @abstractmethod
    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The mean of some of the rows, weighed as their steps are."""

    def wrong(self, weights: Floats) -> NDArray[np.bool_]:
        """Which rows are not strictly on their side (n x outputs)."""
        return np.asarray(self.sides * self.scores(weights) <= 0.0)


class DenseRows(PerceptronRows):
    """Rows in one array."""

    def begin(self, state: PerceptronState) -> None:
        """Take up the weights."""
        self.w, self.drift = state.weights.copy(), state.drift.copy()

    def go(self, order: Ints, mistakes: Ints, runs: Ints, record: Ints, at: Ints) -> bool:
        """Walk on; False if paused."""
        return bool(
            walk_dense(
                *(self.x, self.codes, self.own, self.rate, order, self.constant),
                *(self.w, self.drift, mistakes, runs, record, at),
            )
        )

    def state(self, seen: int) -> PerceptronState:
        """The weights reached."""
        return PerceptronState(self.w.copy(), self.drift.copy(), seen)

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        return np.asarray(self.x @ weights[:, 1:].T + weights[:, 0])

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The mean of some of the rows, weighed as their steps are."""
        share = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ share / share.sum())

    def squares(self) -> Floats:
        """‖x‖² by row."""
        return np.asarray(np.einsum("ij,ij->i", self.x, self.x))


class SparseRows(PerceptronRows):
    """CSR rows, measured from a ``centre`` that is never subtracted from them."""

    def __init__(
        self,
        x: Matrix,
        codes: Ints,
        own: Ints,
        rate: Floats,
        constant: bool,
        centre: Floats | None = None,
    ) -> None:
        super().__init__(x, codes, own, rate, constant)
        self.centre = np.zeros(self.d) if centre is None else centre
        self.far = float(self.centre @ self.centre)
        self.shared = np.append(np.asarray(x @ self.centre) - self.far, self.far)
        self.columns = x.indices.astype(np.int64), x.indptr.astype(np.int64)

    def begin(self, state: PerceptronState) -> None:
        """Take up the weights."""
        k = len(state.weights)
        self.w, self.drift = np.zeros((k, 3 + self.d)), np.zeros((k, 3 + self.d))
        for mine, given in ((self.w, state.weights), (self.drift, state.drift)):
            mine[:, 0], mine[:, 3:] = given[:, 0], given[:, 1:]
        self.w[:, 2] = state.weights[:, 1:] @ self.centre

    def go(self, order: Ints, mistakes: Ints, runs: Ints, record: Ints, at: Ints) -> bool:
        """Walk on; False if paused."""
        return bool(
            walk_sparse(
                *(self.x.data, *self.columns, self.shared, self.codes, self.own, self.rate),
                *(order, self.constant, self.w, self.drift, mistakes, runs, record, at),
            )
        )

    def state(self, seen: int) -> PerceptronState:
        """The weights reached."""
        weights, drift = (
            np.column_stack([v[:, 0], v[:, 3:] - v[:, 1:2] * self.centre])
            for v in (self.w, self.drift)
        )
        return PerceptronState(weights, drift, seen)

    def scores(self, weights: Floats) -> Floats:
        """n x outputs."""
        away = weights[:, 0] - weights[:, 1:] @ self.centre
        return np.asarray(self.x @ weights[:, 1:].T + away)

    def mean(self, rows: NDArray[np.bool_]) -> Floats:
        """The mean of some of the rows, weighed as their steps are, from the centre."""
        share = np.where(rows, self.rate, 0.0)
        return np.asarray(self.x.T @ share / share.sum() - self.centre)

    def squares(self) -> Floats:
        """‖x − c‖² by row."""
        own = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        return np.asarray(np.maximum(own - 2.0 * self.shared[:-1] - self.far, 0.0))


def ground_of(
    x: Matrix,
    codes: Ints,
    own: Ints,
    rate: Floats,
    constant: bool,
    standardizer: Standardizer | None = None,
) -> PerceptronRows:
    """Dense or sparse; with a ``standardizer`` rows are (x − μ)/σ."""
    if standardizer is None:
        if sparse.issparse(x):
            return SparseRows(x, codes, own, rate, constant)
        return DenseRows(np.ascontiguousarray(x, dtype=np.float64), codes, own, rate, constant)
    z = standardizer.transform(x)
    if sparse.issparse(x):
        center = standardizer.mean * standardizer.inverse_scale
        return SparseRows(z, codes, own, rate, constant, center)
    return DenseRows(z, codes, own, rate, constant)

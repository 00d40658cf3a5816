"""Rows of a logistic fit with an ℓ₁ part, and its loss at scores of any number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.logistic.lasso.loops import two_class_model
from separatrix.logistic.problem import LogisticProblem
from separatrix.logistic.wide.problem import WideLogistic
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.probability.likelihood.derivatives import class_variances
from separatrix.probability.likelihood.loops import softmax_by_class
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Rows whose loss is worth another thread.
MIN_ROWS = 1000


@dataclass(frozen=True)
class LassoRows:
    """Columns ``z``, centered and scaled without filling in; codes and weights of the rows."""

    z: Standardized
    codes: Ints
    w: Floats
    n_scores: int

    @classmethod
    def of(cls, problem: LogisticProblem) -> LassoRows:
        """The rows of a problem in memory."""
        if isinstance(problem, WideLogistic):
            assert isinstance(problem.x, Standardized)
            return cls(problem.x, problem.codes, problem.w, problem.design.n_scores)
        block, design = problem.rows.collect(), problem.design
        columns = len(design.center)
        z = Standardized(products(block.x), design.center, problem.scale[:columns])
        return cls(z, block.codes(design.targets), block.weights, design.n_scores)

    @cached_property
    def positive(self) -> Floats:
        """1 for rows of the second class."""
        return self.codes.astype(np.float64)

    def loss(self, scores: Floats, move: Floats, t: float, floor: float) -> ModelRows:
        """Loss and derivatives at scores + t·move (scores x n)."""
        k, n = scores.shape
        residual, h = np.empty((k, n)), np.empty((k, n))
        p = np.empty((k, n)) if k > 1 else h

        def part(rows: slice) -> float:
            if k == 1:
                return float(
                    two_class_model(
                        scores[0, rows],
                        move[0, rows],
                        t,
                        self.positive[rows],
                        self.w[rows],
                        floor,
                        residual[0, rows],
                        h[0, rows],
                    )
                )
            there = scores[:, rows] + t * move[:, rows]
            own = np.empty_like(there)
            value = softmax_by_class(there, self.codes[rows], self.w[rows], own)
            residual[:, rows], p[:, rows] = own, there
            h[:, rows] = np.maximum(class_variances(there, own), self.w[rows] * floor)
            return float(value)

        value = sum(parallel_map(part, pieces(n, MIN_ROWS)))
        return ModelRows(value, residual, h, p, self.w)


@dataclass(frozen=True)
class ModelRows:
    """The loss, w (p − y), curvatures w p(1 − p), and p of several classes, by score and row."""

    value: float
    residual: Floats
    h: Floats
    p: Floats
    w: Floats

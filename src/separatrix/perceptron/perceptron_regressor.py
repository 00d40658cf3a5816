"""Perceptron regression: every row pulls the line towards itself, in proportion to its residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from separatrix.estimators.base import LinearModel
from separatrix.estimators.standard_design import StandardDesign, standard_design
from separatrix.estimators.targets import one_number
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.perceptron.epochs import Plan, epochs, plan_of
from separatrix.perceptron.loops import walk_regression
from separatrix.rows.block import Block, Floats
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer

#: Share of the longest step that cannot overshoot at any row, used where no rate is given.
CAREFUL = 0.1


@dataclass(frozen=True)
class ResidualTrace:
    """Sum of the squared residuals met during each epoch, and why the walk ended.

    ``status`` is "bound reached", "epochs done" or "diverged"; ``step`` is the learning rate.
    """

    squares: Floats
    status: str
    step: float


class PerceptronRegressor(RegressorMixin, LinearModel):
    """w ← w + η (y − w·x) x for every row, over and over.

    The on-line form of least squares (Widrow and Hoff). At a constant rate it ends near the least
    squares, not at them: the rows keep pulling. ``average=True`` lets these pulls cancel. A rate
    above 2/‖x‖² overshoots; where that makes the residuals grow without bound it is said (SEP003)
    and the best epoch is returned. :class:`LinearRegression` finds the least squares themselves.

    A row's weight, as a share of the largest, multiplies its step.

    Parameters
    ----------
    learning_rate : float, optional
        η. Without it a tenth of 1/max ‖(1, x)‖², a length that is safe for every row.
    max_epochs : int, default=200
        T, the number of passes.
    bound : float, optional
        Stop when the sum of the squared residuals met during a pass is no more than this.
    order : {"given", "shuffled", "random"}, default="given"
        The rows as they come, in a new order every epoch, or drawn at random.
    average : bool, default=False
        Return the mean of the weights over all rows seen.
    fit_intercept : bool, default=True
        Whether there is a constant.
    standardize : bool, default=True
        Walk in columns of mean 0 and deviation 1. In raw units no rate may suit all columns.
    random_state : seed of the order.

    Attributes
    ----------
    trace_ : squared residuals by epoch.
    """

    _sparse_ok = False

    def __init__(
        self,
        learning_rate: float | None = None,
        *,
        max_epochs: int = 200,
        bound: float | None = None,
        order: str = "given",
        average: bool = False,
        fit_intercept: bool = True,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.bound = bound
        self.order = order
        self.average = average
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from ``X`` and numbers ``y``, or from :class:`~separatrix.rows.rows.Rows`."""
        plan = self._plan()
        rows = self._training_rows(X, y, sample_weight)
        prepared = prepare(rows)
        one_number(prepared.moments.targets)
        block = _counted(prepared.rows.collect())
        design = standard_design(block, prepared.moments, scaled=self.standardize)
        if not self.fit_intercept:
            design = _through_origin(design)
        weights, trace = self._walk(design, block, plan)
        self.trace_ = trace
        coef, intercept = design.unscale(weights[:, None])
        residual = block.y[:, 0] - block.dense() @ coef[:, 0] - intercept[0]
        certificate = _certificate(trace, residual, block)
        if trace.status == "diverged":
            warn("SEP003", f"{certificate}")
        solution = Solution(coef, intercept, certificate, trace.status, len(trace.squares))
        self._accept(solution, prepared.encoding, flat=True)
        return self

    def _plan(self) -> Plan:
        for name in ("learning_rate", "bound"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name}={value!r} leads nowhere.", remedy="Use more than zero.")
        return plan_of(self)

    def _walk(
        self, design: StandardDesign, block: Block, plan: Plan
    ) -> tuple[Floats, ResidualTrace]:
        x = np.ascontiguousarray(design.z[:, 1:])
        constant = float(self.fit_intercept)
        longest = float((np.einsum("ij,ij->i", x, x) + constant).max()) or 1.0
        step = CAREFUL / longest if self.learning_rate is None else float(self.learning_rate)
        rate = step * block.weights / block.weights.max()
        y = np.ascontiguousarray(block.y[:, 0])
        random = check_random_state(self.random_state)
        w, drift = np.zeros(x.shape[1] + 1), np.zeros(x.shape[1] + 1)
        squares: list[float] = []
        best, status, seen = w.copy(), "epochs done", 0
        for order in epochs(plan, block.n, random):
            met = float(walk_regression(x, y, rate, order, constant, w, drift, float(seen)))
            seen += len(order)
            if not (np.isfinite(met) and np.isfinite(w).all() and met < 1e6 * _first(squares, met)):
                status = "diverged"
                break
            squares.append(met)
            if met <= min(squares):
                best = w.copy()
            if self.bound is not None and met <= self.bound:
                status = "bound reached"
                break
        if status == "diverged":
            return best, ResidualTrace(np.array(squares), status, step)
        final = w - drift / seen if self.average else w
        return final, ResidualTrace(np.array(squares), status, step)


def _first(squares: list[float], met: float) -> float:
    return squares[0] if squares and squares[0] > 0.0 else max(met, 1.0)


def _counted(block: Block) -> Block:
    """The rows of positive weight."""
    return block if block.w is None or block.w.all() else block.take(np.flatnonzero(block.w > 0.0))


def _through_origin(design: StandardDesign) -> StandardDesign:
    """Without a constant columns are scaled but not moved."""
    z = design.z.copy()
    standardizer, scale = design.standardizer, design.standardizer.scale
    z[:, 1:] += standardizer.mean * standardizer.inverse_scale
    return StandardDesign(z, design.w, Standardizer(np.zeros_like(scale), scale))


def _certificate(trace: ResidualTrace, residual: Floats, block: Block) -> Certificate:
    w = block.weights
    total = float(w @ residual**2)
    said = {
        "epochs done": "after its epochs, near least squares and no more than that",
        "bound reached": "its squared residuals fell to the bound asked for",
        "diverged": "the learning rate is too long and residuals grew; the best epoch is returned",
    }
    return Certificate(
        f"Perceptron regression: {said[trace.status]}",
        notes=(
            f"{len(trace.squares)} epochs with learning rate {trace.step:.3g}.",
            f"The squared residuals add up to {total:.6g}; no optimality is claimed.",
        ),
        promised=(),
    )

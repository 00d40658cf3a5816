"""Perceptron regression: online least squares (Widrow and Hoff)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.arrays import Floats
from separatrix.estimators.base import LinearModel, one_number, reads_tables
from separatrix.estimators.transformers import StandardDesign, standard_design
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.parameters import declare_parameters
from separatrix.perceptron.loops import train_regression
from separatrix.perceptron.perceptron import PerceptronState, TrainingOptions, epoch_orders
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, identity
from separatrix.statistics.moments import prepare

_CLAIMS = {
    Status.LIMIT: "all epochs were run; near least squares, without a claim of optimality",
    Status.BOUND: "the squared residuals fell to the bound",
    Status.DIVERGED: "the learning rate is too large, residuals grew; the best epoch is returned",
}


@dataclass(frozen=True)
class ResidualTrace:
    """Sum of the squared residuals met during each epoch, and why training ended.

    ``status`` is "bound reached", "limit reached" or "diverged"; ``step`` is the learning rate.
    """

    squares: Floats
    status: Status
    step: float


@declare_parameters
class PerceptronRegressor(RegressorMixin, LinearModel):
    """Least squares by stochastic gradient steps, one row at a time (Widrow and Hoff).

        w ← w + η (y − w·x) x     for every row, in every epoch

    At a constant learning rate it ends near the least-squares solution, not at it; ``average=True``
    averages the noise of the steps. A rate above 2/‖x‖² overshoots; where that makes the residuals
    grow it warns (SEP003) and returns the best epoch, which may be the start.
    :class:`LinearRegression` finds the least-squares solution itself.

    A sample weight, divided by the largest, multiplies the step of its row.

    Parameters
    ----------
    learning_rate : float or None, default=None
        η. None is a tenth of 1/max ‖(1, x)‖², which cannot overshoot at any row.
    max_epochs : int, default=200
        Passes over the rows at most.
    bound : float or None, default=None
        Stop when the sum of the squared residuals met during an epoch is no more than this.
    order : {"given", "shuffled", "random"}, default="given"
        The rows as they come, in a new order every epoch, or drawn at random.
    average : bool, default=False
        Return the average of the weights over all rows seen.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    standardize : bool, default=True
        Train on columns of mean 0 and standard deviation 1. In raw units no learning rate may suit
        all columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the order.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    trace_ : ResidualTrace
        Squared residuals by epoch.
    certificate_ : Certificate
        How training ended; no optimality is claimed, and after divergence it does not hold.
    state_ : PerceptronState
        What ``partial_fit`` continues from.
    n_iter_ : int
        Epochs.

    See Also
    --------
    LinearRegression : The least-squares solution.
    Perceptron : The same scheme for classes.

    References
    ----------
    B. Widrow and M. E. Hoff, "Adaptive switching circuits", 1960.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = sx.PerceptronRegressor().fit(X, 1.0 + 2.0 * X[:, 0])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([2.]), 1.0)
    """

    _sparse_ok = False
    state_: PerceptronState = field(init=False)

    learning_rate: float | None = None
    _: KW_ONLY
    max_epochs: int = 200
    bound: float | None = None
    order: str = "given"
    average: bool = False
    fit_intercept: bool = True
    standardize: bool = True
    random_state: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options()
        rows = self._training_rows(X, y, sample_weight)
        prepared = prepare(rows)
        one_number(prepared.targets)
        block = _positive_weight(prepared.rows.collect())
        design = standard_design(
            block, prepared.moments, scaled=self.standardize, centered=self.fit_intercept
        )
        weights, trace = self._train(design, block, options)
        self.trace_ = trace
        coef, intercept = design.unscale(weights[:, None])
        residual = block.y[:, 0] - block.dense() @ coef[:, 0] - intercept[0]
        certificate = _certificate(trace, residual, block)
        if trace.status is Status.DIVERGED:
            warn("SEP003", f"{certificate}")
        solution = Solution(coef, intercept, certificate, trace.status, len(trace.squares))
        self._accept(solution, prepared.encoding, flat=True)
        return self

    @available_if(lambda self: self._trains_online())  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One pass over these rows from the present weights; needs ``standardize=False``.

        Without ``learning_rate``, η is that of the rows given.
        """
        self._options()
        begun = hasattr(self, "state_")
        rows = self._training_rows(X, y, sample_weight, reset=not begun)
        assert isinstance(rows, ArrayRows)
        block = _positive_weight(rows.block)
        x, target = np.ascontiguousarray(block.dense()), np.ascontiguousarray(block.y[:, 0])
        constant, rate = float(self.fit_intercept), self._rate(x, block)
        w, sums, seen = np.zeros(1 + x.shape[1]), np.zeros(1 + x.shape[1]), 0
        if begun:
            w, sums = self.state_.weights[0].copy(), self.state_.step_sums[0].copy()
            seen = self.state_.seen
        order = np.arange(block.n)
        met = float(train_regression(x, target, rate, order, constant, w, sums, float(seen)))
        seen += block.n
        if not np.isfinite(w).all():
            raise InputError(
                "The weights overflow.", remedy="Use a smaller learning_rate, or scale columns."
            )
        self.state_ = PerceptronState(w[None], sums[None], seen)
        self.trace_ = ResidualTrace(np.array([met]), Status.LIMIT, float(rate.max()))
        final = w - sums / seen if self.average else w
        residual = target - final[0] - x @ final[1:]
        certificate = _certificate(self.trace_, residual, block)
        solution = Solution(final[1:, None], final[:1], certificate, Status.LIMIT, 1)
        self._accept(solution, identity(rows.schema), flat=True)
        return self

    def _trains_online(self) -> bool:
        if self.standardize:
            raise AttributeError(
                "partial_fit cannot do standardize=True, which needs all rows. Use "
                "standardize=False, or fit."
            )
        return True

    def _rate(self, x: Floats, block: Block) -> Floats:
        """The learning rate of every row."""
        longest = float((np.einsum("ij,ij->i", x, x) + float(self.fit_intercept)).max()) or 1.0
        # Default learning rate, as a fraction of the largest that cannot overshoot at any row.
        step = 0.1 / longest if self.learning_rate is None else float(self.learning_rate)
        return np.asarray(step * block.weights / block.weights.max())

    def _options(self) -> TrainingOptions:
        for name, value in (("learning_rate", self.learning_rate), ("bound", self.bound)):
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name}={value!r} must be positive and finite.")
        return TrainingOptions(self.order, self.max_epochs, self.average)

    def _train(
        self, design: StandardDesign, block: Block, options: TrainingOptions
    ) -> tuple[Floats, ResidualTrace]:
        x = np.ascontiguousarray(design.z[:, 1:])
        constant = float(self.fit_intercept)
        rate = self._rate(x, block)
        step = float(rate.max())
        y = np.ascontiguousarray(block.y[:, 0])
        random = check_random_state(self.random_state)
        w, step_sums = np.zeros(x.shape[1] + 1), np.zeros(x.shape[1] + 1)
        squares: list[float] = []
        start = least = _sum_of_squares(x, y, rate, w)
        best, status, seen = w.copy(), Status.LIMIT, 0
        for order in epoch_orders(options, block.n, random):
            met = float(train_regression(x, y, rate, order, constant, w, step_sums, float(seen)))
            seen += len(order)
            now = _sum_of_squares(x, y, rate, w)
            # Growth of the squared residuals beyond which training has diverged.
            if not (np.isfinite(met) and now <= 1e6 * max(start, least)):
                return best, ResidualTrace(np.array(squares), Status.DIVERGED, step)
            squares.append(met)
            if now <= least:
                best, least = w.copy(), now
            if self.bound is not None and met <= self.bound:
                status = Status.BOUND
                break
        final = w - step_sums / seen if self.average else w
        if not _sum_of_squares(x, y, rate, final) <= start * (1.0 + 1e-9):
            return best, ResidualTrace(np.array(squares), Status.DIVERGED, step)
        return final, ResidualTrace(np.array(squares), status, step)


def _sum_of_squares(x: Floats, y: Floats, rate: Floats, w: Floats) -> float:
    """The weighted squared residuals of all rows; infinite where weights are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(rate @ (y - w[0] - x @ w[1:]) ** 2)
    return total if np.isfinite(total) and np.isfinite(w).all() else np.inf


def _positive_weight(block: Block) -> Block:
    """The rows of positive weight."""
    return block if block.w is None or block.w.all() else block.take(np.flatnonzero(block.w > 0.0))


def _certificate(trace: ResidualTrace, residual: Floats, block: Block) -> Certificate:
    """How training ended. No bound on the distance to least squares is known after divergence."""
    total = float(block.weights @ residual**2)
    return Certificate(
        f"Perceptron regression: {_CLAIMS[trace.status]}",
        gap=np.inf if trace.status is Status.DIVERGED else np.nan,
        tolerance=0.0,
        notes=(
            f"{len(trace.squares)} epochs with learning rate {trace.step:.3g}.",
            f"The squared residuals add up to {total:.6g}.",
        ),
        promised=(),
    )

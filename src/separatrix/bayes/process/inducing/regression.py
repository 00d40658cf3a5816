"""Gaussian process regression with inducing points: the part of the estimator that fits them.

The rows are read block by block: a sample once, their sums once or a few times. Files larger than
memory and Dask collections work as for any model, and ``partial_fit`` adds rows to the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.process.fitting import Plan
from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.certificate import certify
from separatrix.bayes.process.inducing.fit import fit_inducing
from separatrix.bayes.process.inducing.points import InducingPoints
from separatrix.bayes.process.inducing.posterior import InducingPosterior
from separatrix.bayes.process.inducing.sample import sampled
from separatrix.bayes.process.inducing.search import SAMPLE_ROWS, noise_level
from separatrix.bayes.process.inducing.stages import InducingFit
from separatrix.bayes.process.inducing.sums import InducingSums, Targets, reduced, stored
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.options import check_noise, given_kernel, refuse_without_points
from separatrix.bayes.process.predictions import ProcessPredictions
from separatrix.bayes.process.trend import TrendBasis
from separatrix.estimators.base import require_labels
from separatrix.estimators.targets import numeric
from separatrix.kernels import Kernel
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.threads import one_blas_thread


@dataclass(frozen=True)
class InducingState:
    """Inducing points and the sums of all rows so far, from which everything else follows."""

    points: Floats
    noise: float
    weight: float
    count: int
    trace: float
    gram: Floats
    inner: Floats
    squares: Floats

    @classmethod
    def of(cls, bound: CollapsedBound) -> InducingState:
        """The sums of a bound."""
        sums = bound.sums
        return cls(
            bound.inducing.points, bound.noise, sums.weight, sums.count, sums.trace,
            sums.gram, sums.inner, sums.squares,
        )  # fmt: skip

    def bound(self, kernel: Kernel, targets: Targets) -> CollapsedBound:
        """The bound with these sums."""
        function = SplitKernel(kernel).function
        assert function is not None
        sums = InducingSums(InducingPoints.of(function, self.points), targets)
        sums.weight, sums.count, sums.trace = self.weight, self.count, self.trace
        sums.gram, sums.inner, sums.squares = self.gram, self.inner, self.squares
        return CollapsedBound(sums, self.noise)


class InducingRegression(ProcessPredictions):
    """Fit, ``partial_fit`` and posterior of a process whose ``n_inducing`` is not None."""

    alpha: Any
    trend: str
    normalize_y: bool
    optimizer: Any
    n_restarts_optimizer: int
    random_state: Any
    n_inducing: Any
    inducing_: InducingState | None

    def _fit_inducing(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to all rows, a block at a time."""
        refuse_without_points(self.kernel, self.optimizer)
        if np.ndim(self.alpha):
            raise InputError(
                "alpha differs from row to row, and inducing points need one noise variance.",
                remedy="Give alpha as a number, or leave n_inducing at None.",
            )
        if not isinstance(X, Rows):
            require_labels(self, y)
        prepared = prepare(self._training_rows(X, y, sample_weight))
        numeric(prepared.moments.targets)
        self.encoding_ = prepared.encoding
        rows = stored(prepared.rows)
        self._standardize_targets(prepared.moments)
        if self.trend == "none":
            self.basis_ = TrendBasis.of("none", None, None)
        else:
            some = sampled(rows, SAMPLE_ROWS)
            self.basis_ = TrendBasis.of(self.trend, some.x, some.w)
        plan = Plan(
            self.kernel is not None,
            self.optimizer,
            int(self.n_restarts_optimizer),
            self.random_state,
        )
        kernel = given_kernel(self.kernel, self.noise, len(self.encoding_.names))
        known = (check_noise(self.noise), None if self.alpha is None else float(self.alpha))
        fit = fit_inducing(rows, kernel, self._targets, known, self.n_inducing, plan)
        return self._accept_inducing(fit)

    def _standardize_targets(self, moments: Moments) -> None:
        k = len(moments.targets)
        self.target_mean_, self.target_scale_ = np.zeros(k), np.ones(k)
        if self.normalize_y:
            spread = np.sqrt(np.diagonal(moments.scatter)[-k:] / moments.weight)
            self.target_mean_ = np.array(moments.y_mean)
            size = 10.0 * np.finfo(float).eps * np.abs(self.target_mean_)
            self.target_scale_ = np.where(spread > size, spread, 1.0)

    @property
    def _targets(self) -> Targets:
        k = len(self.target_scale_)
        return Targets(k, self.target_mean_, self.target_scale_, self.basis_)

    def _accept_inducing(self, fit: InducingFit) -> Self:
        for name in ("y_train_", "row_weight_", "row_noise_", "_found"):
            self.__dict__.pop(name, None)  # of an exact fit before
        self.kernel_, self.learned_ = fit.kernel, fit.learned
        self.certificate_ = certify(fit)
        return self._accept_sums(fit.bound)

    def _accept_sums(self, bound: CollapsedBound) -> Self:
        k = bound.outputs
        self.inducing_ = InducingState.of(bound)
        self.X_train_ = bound.inducing.points
        combined = bound.inducing.whitening @ (bound.solved @ bound.combination)[:, :k]
        self.alpha_ = combined[:, 0] if k == 1 else combined
        self.trend_coef_ = bound.trend[0]
        self.jitter_ = bound.inducing.jitter
        self.log_marginal_likelihood_value_ = bound.lower
        units = float(np.log(self.target_scale_).sum()) * bound.sums.weight
        self.evidence_bounds_ = (bound.lower - units, bound.upper - units)
        self.__dict__["_bound"] = bound
        return self

    @available_if(lambda self: self.n_inducing is not None)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the sums; hyperparameters and inducing points stay those of the first fit."""
        if getattr(self, "inducing_", None) is None:
            return self.fit(X, y, sample_weight)  # type: ignore[attr-defined,no-any-return]
        rows = self._training_rows(X, y, sample_weight, reset=False)
        with one_blas_thread():
            before = self._inducing_bound
            added = reduced(rows, before.sums.fresh())
            bound = CollapsedBound(before.sums + added, before.noise)
            fit = InducingFit(self.kernel_, bound.inducing.points, bound, None, 0, False)
            self.certificate_ = certify(fit, "hyperparameters and points of the first fit")
            return self._accept_sums(bound)

    @property
    def _inducing_bound(self) -> CollapsedBound:
        """The bound of the last fit, or computed again after loading."""
        found: CollapsedBound | None = self.__dict__.get("_bound")
        if found is None:
            if not self._is_inducing:
                raise AttributeError("this process has no inducing points")
            assert self.inducing_ is not None
            found = self.__dict__["_bound"] = self.inducing_.bound(self.kernel_, self._targets)
        return found

    def _posterior(self) -> Any:
        """Of the inducing points, or exact."""
        if not self._is_inducing:
            return super()._posterior()
        split = SplitKernel(self.kernel_)
        return InducingPosterior(self._inducing_bound, noise_level(split, self.X_train_))

    @property
    def _is_inducing(self) -> bool:
        return getattr(self, "inducing_", None) is not None

    def _refuse_inducing(self, what: str) -> None:
        """Refuse what only the exact process has."""
        check_is_fitted(self)
        if self._is_inducing:
            raise InputError(
                f"With inducing points there is no {what}: the rows were reduced to sums.",
                remedy="Leave n_inducing at None for the exact process.",
            )

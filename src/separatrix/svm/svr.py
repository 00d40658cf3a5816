"""Support vector regression: the flattest function that leaves few rows outside a tube."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import check_sample_weight
from separatrix.estimators.targets import one_number
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import identity
from separatrix.statistics.preparation import prepare
from separatrix.svm.base import SupportVectors
from separatrix.svm.binary_svm import BinarySVM, SolverOptions, changes, train, warn_if_short
from separatrix.svm.dual.problem import tube_problem


class SVR(RegressorMixin, SupportVectors):
    """min over w, b of ½‖w‖² + C Σ max(0, |y − w·φ(x) − b| − ε),     φ the map behind the kernel.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit outside the tube; a row's weight multiplies it.
    epsilon : float, default=0.1
        ε, half the width of the tube, in units of the target.
    kernel, degree, gamma, coef0, standardize, cache_size, time_budget, max_iter
        As in :class:`SVC`.
    tol : float, default=1e-3
        Violation of the optimality conditions at which to stop, in deviations of the target.
    shrinking, verbose : taken so that code written for scikit-learn runs.

    Attributes
    ----------
    support_, support_vectors_ : rows on the edge of the tube or outside.
    dual_coef_ : their coefficients β, (1, support vectors).
    intercept_ : b.
    coef_ : w, for the linear kernel.
    alpha_, slack_ : |β| of every training row, and how far it is outside the tube.
    group_ : ``outside`` the sum (β = 0: within the tube), ``on the margin`` (the tube),
        or ``inside`` (|β| = C: beyond the tube).
    certificate_ : primal and dual value, gap, worst violation.
    """

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        standardize: bool = False,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
        max_iter: int = -1,
        shrinking: bool = True,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.standardize = standardize
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        how = SolverOptions.of(self)
        if np.isinf(self.C):
            raise InputError(
                "C=inf asks that every row lies in the tube.", remedy="Choose a finite C."
            )
        if not 0.0 <= self.epsilon < np.inf:
            raise InputError(f"epsilon={self.epsilon!r} must not be negative.")
        x, target, w = (
            self._listed(X, y, sample_weight)
            if self._structures
            else self._table(X, y, sample_weight)
        )
        kept = np.flatnonzero(w > 0.0)
        t, w_kept = np.ascontiguousarray(target[kept]), w[kept]
        points = self._points(take_items(x, kept), w_kept, kept)
        away = t - w_kept @ t / w_kept.sum()
        unit = float(np.sqrt(w_kept @ away**2 / w_kept.sum())) or 1.0
        self.bound_ = float(self.C) * w_kept
        problem = tube_problem(t, self.bound_, float(self.epsilon))
        found = train(points, np.arange(points.n), problem, how, unit)
        self._expose(found, points, kept, len(w))
        warn_if_short(self.svms_, points)
        return self

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:
        rows = self._training_rows(X, y, sample_weight)
        if isinstance(rows, ArrayRows):
            block, self.encoding_ = rows.block, identity(rows.schema)
        else:
            prepared = prepare(rows)
            block, self.encoding_ = prepared.rows.collect(), prepared.encoding
        one_number(block.targets)
        return block.x, block.y[:, 0], block.weights

    def _listed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:
        """Python objects, as a kernel on structures takes them."""
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = 1  # one object for each row
        target = column_or_1d(y).astype(float)
        check_consistent_length(X, target)
        w = check_sample_weight(sample_weight, len(target))
        return list(X), target, unit_weights(w, len(target))

    def _expose(self, found: BinarySVM, points: Any, kept: Any, n: int) -> None:
        self.rows_given_ = n
        used = np.flatnonzero(found.beta)
        self.support_ = kept[used]
        self.dual_coef_ = found.beta[used][None, :]
        self.intercept_ = np.array([found.offset])
        weights = found.beta[used][:, None]
        self.expansions_ = [self._expansion(points, used, kept, n, weights, self.intercept_)]
        self.__dict__.pop("coef_", None)
        if self._is_linear:
            self.coef_, self.intercept_ = self._linear(
                found.beta[:, None], points.x, self.intercept_
            )
        self.certificate_ = found.certificate
        self.n_iter_ = changes(found)
        self.svms_ = [
            BinarySVM(
                kept[found.rows],
                found.beta,
                found.slack,
                found.offset,
                found.square,
                found.certificate,
            )
        ]

    def predict(self, X: Any) -> Floats:
        """w·φ(x) + b for every row."""
        x = self._placed(X)
        if self._is_linear:
            return np.asarray(self._design(X) @ self.coef_[0] + self.intercept_[0])
        return self.expansions_[0].scores(x)[:, 0]

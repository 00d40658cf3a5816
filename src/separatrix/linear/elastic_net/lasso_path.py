"""The lasso for every penalty at once; the one that predicts best, or that a criterion prefers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import (
    MAX_STORED_COLUMNS,
    MomentEstimator,
    PartialFitMixin,
    TrainingData,
)
from separatrix.linear.elastic_net.lasso import SELECTED, settings_of
from separatrix.linear.elastic_net.path import Stopping
from separatrix.linear.elastic_net.problem import ElasticNetPath, Settings
from separatrix.linear.elastic_net.solve import Source, problem_of, solve_elastic_net
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.selection import rules
from separatrix.selection.folds import folded, folding, folds_of
from separatrix.statistics.moments import Moments

CRITERIA = {"aic": rules.aic, "bic": rules.bic}


class LassoFamily(RegressorMixin, MomentEstimator):
    """What both share: the path itself, any point of it, and why there is no inference."""

    alphas: Any
    eps: float
    l1_ratio: float
    tol: float
    max_iter: int
    _no_inference = SELECTED

    @property
    def dual_gap_(self) -> float:
        """The duality gap left at the chosen point: see ``certificate_``."""
        return self.certificate_.gap

    def coef_at(self, alpha: float) -> tuple[Floats, float]:
        """Coefficients and intercept at any penalty, from the nearest solution on the path."""
        check_is_fitted(self)
        source = self._source()
        nearest = int(np.argmin(np.abs(np.log(self.alphas_ / alpha)))) if alpha > 0.0 else -1
        found = solve_elastic_net(
            source, float(alpha), settings_of(self), start=self.coefs_[nearest]
        )
        return found.coef[:, 0], float(found.intercept[0])

    def _source(self) -> Source:
        if self.moments_ is not None:
            return self.moments_
        rows = getattr(self, "_rows", None)
        if rows is None:
            raise InputError(
                "The rows of this model were left behind when it was stored, and with more columns "
                "than rows it kept no moments.",
                remedy="Use coefs_ at the stored alphas_, or fit again.",
            )
        return rows.collect()  # type: ignore[no-any-return]

    def _trace(self, source: Source) -> ElasticNetPath:
        """The path over all rows, kept as ``alphas_``, ``coefs_``, ``intercepts_``, ``gaps_``."""
        settings = settings_of(self)
        problem = problem_of(source, settings)
        alphas = penalties_of(self.alphas)
        grid = problem.grid(alphas, float(self.eps)) if isinstance(alphas, int) else alphas
        path = problem.path(grid, Stopping(settings.tol, sweeps=settings.max_iter))
        if not path.reached.all():
            warn(
                "SEP003",
                f"{np.count_nonzero(~path.reached)} of {len(grid)} points of the path were left "
                f"after {settings.max_iter} sweeps with a gap above tol; see gaps_. Raise max_iter "
                "or eps.",
            )
        self.alphas_, self.coefs_, self.intercepts_ = path.alphas, path.coefs, path.intercepts
        self.gaps_, self.degrees_of_freedom_ = path.gaps, path.freedom
        return path

    def _settle(self, source: Source, index: int) -> Solution:
        """The chosen point, solved further than a point that is passed by, and certified."""
        self.alpha_ = float(self.alphas_[index])
        return solve_elastic_net(source, self.alpha_, settings_of(self), start=self.coefs_[index])


class LassoPath(PartialFitMixin, LassoFamily):
    """The whole path of the lasso (or elastic net), and its best point by AIC or BIC.

    Parameters
    ----------
    alphas : int or array, default=100
        Penalties, or how many to place evenly on a log scale below the smallest one that sets all
        coefficients to zero.
    eps : float, default=1e-3
        The last of them as a share of the first.
    l1_ratio : float, default=1.0
        Share of the ℓ₁ part, as in :class:`~separatrix.ElasticNet`.
    criterion : {"bic", "aic"}, default="bic"
        Chooses ``alpha_``; see :func:`separatrix.selection.rules.information`.
    fit_intercept, max_iter, positive, standardize
        As in :class:`~separatrix.ElasticNet`.
    tol : float, default=1e-6
        Duality gap at each point, as a share of the objective without coefficients.

    Attributes
    ----------
    alphas_, coefs_, intercepts_ : the path, largest penalty first; ``coefs_`` is (m x d).
    gaps_ : certified distance of every objective from its best value.
    degrees_of_freedom_, aic_, bic_ : for every point.
    alpha_, coef_, intercept_, certificate_ : the chosen point.
    """

    def __init__(
        self,
        alphas: Any = 100,
        *,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        criterion: str = "bic",
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
        positive: bool = False,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.positive = positive
        self.standardize = standardize

    def _solve(self, given: TrainingData) -> Solution:
        return self._best(given.moments)

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        return self._best(rows.block if self.moments_ is None else self.moments_)

    def _best(self, source: Source) -> Solution:
        if self.criterion not in CRITERIA:
            raise InputError(f"criterion={self.criterion!r} must be 'aic' or 'bic'.")
        path = self._trace(source)
        freedom = path.freedom + float(self.fit_intercept)
        self.aic_ = rules.aic(path.squares, freedom, source.weight)
        self.bic_ = rules.bic(path.squares, freedom, source.weight)
        values = self.aic_ if self.criterion == "aic" else self.bic_
        return self._settle(source, rules.minimum(self.alphas_, values))


class LassoCV(LassoFamily):
    """The point of the lasso's path that predicts rows best that it was not fitted to.

    Folds come from one pass over the rows: each fold's moments are kept, and the training side of
    a fold is the sum of the others.

    Parameters
    ----------
    alphas, eps, l1_ratio, fit_intercept, max_iter, tol, positive, standardize
        As in :class:`LassoPath`.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn; None is 5.
    rule : {"min", "one_se"}, default="min"
        Take the penalty of the least mean error, or the largest penalty whose mean error is within
        one standard error of it.
    n_jobs : int or None, default=None
        Threads for the folds; None is one per processor.
    precompute, copy_X, verbose, random_state, selection
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    mse_path_ : mean squared error for every penalty and fold (m x k).
    alphas_, coefs_, intercepts_, gaps_, degrees_of_freedom_ : the path over all rows.
    alpha_, coef_, intercept_, certificate_ : the chosen point, fitted to all rows.
    """

    def __init__(
        self,
        *,
        alphas: Any = 100,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
        positive: bool = False,
        standardize: bool = False,
        n_jobs: int | None = None,
        precompute: Any = "auto",
        copy_X: bool = True,
        verbose: Any = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.positive = positive
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.precompute = precompute
        self.copy_X = copy_X
        self.verbose = verbose
        self.random_state = random_state
        self.selection = selection

    def _wide(self, block: Block) -> bool:
        return bool(block.x.shape[1] > max(block.n, MAX_STORED_COLUMNS))

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        parts = folded(rows, self.cv)
        return TrainingData(parts.moments, None, tuple(parts.halves)), parts.encoding

    def _solve(self, given: TrainingData) -> Solution:
        if given.halves is None:
            raise InputError(
                "Moments of all rows together hold no folds.",
                remedy="Use LassoPath, which chooses by AIC or BIC.",
            )
        return self._best(given.moments, list(given.halves))

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        whole = rows.block.take(folding(rows.block.w, self.cv))
        pairs = folds_of(self.cv, whole.n, whole.y[:, 0]).pairs
        return self._best(whole, [(whole.take(a), whole.take(b)) for a, b in pairs])

    def _best(self, source: Source, halves: Sequence[tuple[Source, Source]]) -> Solution:
        if self.rule not in rules.RULES:
            raise InputError(f"rule={self.rule!r} must be one of {', '.join(rules.RULES)}.")
        settings = settings_of(self)
        self._trace(source)

        def error(half: tuple[Source, Source]) -> Floats:
            return _held_out_error(*half, self.alphas_, settings)

        jobs = self.n_jobs if self.n_jobs and self.n_jobs > 0 else os.cpu_count() or 1
        if jobs == 1:
            errors = [error(half) for half in halves]
        else:
            with ThreadPoolExecutor(min(jobs, len(halves))) as pool:
                errors = list(pool.map(error, halves))
        self.mse_path_ = np.stack(errors, axis=1)
        return self._settle(source, rules.RULES[self.rule](self.alphas_, self.mse_path_))


def penalties_of(alphas: Any) -> int | Floats:
    """A number of penalties (None is 100), or the penalties, largest first."""
    if alphas is None:
        return 100
    if isinstance(alphas, int | np.integer):
        if alphas < 1:
            raise InputError(f"alphas={alphas} must be at least 1, or a list of penalties.")
        return int(alphas)
    given = np.sort(np.asarray(alphas, dtype=float).ravel())[::-1]
    if not len(given) or not (np.isfinite(given) & (given > 0.0)).all():
        raise InputError(
            "alphas must be numbers greater than 0.",
            remedy="For a fit without penalty use LinearRegression.",
        )
    return given


def _held_out_error(train: Source, test: Source, alphas: Floats, settings: Settings) -> Floats:
    """Mean squared error on the held-out side at every penalty."""
    stopping = Stopping(settings.tol, sweeps=settings.max_iter)
    path = problem_of(train, settings).path(alphas, stopping)
    if isinstance(test, Moments):
        return rules.validation_error(test, path.coefs, path.intercepts)
    assert isinstance(test, Block)
    residual = test.y[:, [0]] - (test.x @ path.coefs.T + path.intercepts)
    return np.asarray(np.average(residual**2, axis=0, weights=test.w))

"""Support vector machines that choose their own price C, and their own bandwidth."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.estimators.class_weights import weighted_coded_rows
from separatrix.estimators.coded_rows import coded_rows
from separatrix.kernels import Gaussian
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.linear_svc import LinearSVC
from separatrix.svm.svc import SVC
from separatrix.svm.svr import SVR
from separatrix.svm.tuning import (
    Answers,
    Classes,
    Numbers,
    Trial,
    Tried,
    chosen,
    folds_for,
    some_rows,
)

#: Widths of the tube that are tried, in deviations of the target; the first while searching.
TUBES = (0.1, 0.02, 0.3)
#: Digits behind the point, in deviations, of what the search looks at.
DIGITS = 6


class _Search:
    """What was tried, and what was taken."""

    cv: Any
    search_rows: int
    time_budget: float | None
    C_: float
    Cs_: Floats
    score_path_: Floats
    n_support_path_: Floats
    bandwidths_: Floats
    bandwidth_scores_: Floats
    searched_: int
    certificate_: Certificate

    def _begin(self) -> float:
        """When to stop searching: half of the budget is left for the last fit."""
        if not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        if self.time_budget is None:
            return np.inf
        if not self.time_budget > 0.0:
            raise InputError(
                f"time_budget={self.time_budget!r} must be greater than 0 seconds.",
                remedy="None sets no limit.",
            )
        return time.perf_counter() + float(self.time_budget) / 2.0

    @property
    def _rest(self) -> float | None:
        """Seconds for the last fit: the half that the search leaves."""
        return None if self.time_budget is None else self.time_budget / 2.0

    def _take(self, best: Tried, tried: list[Tried], trial: Trial) -> None:
        self.C_ = float(best.Cs[best.best])
        self.Cs_, self.score_path_ = best.Cs, best.losses
        self.n_support_path_ = trial.support(best)
        self.bandwidths_ = np.array([t.bandwidth for t in tried])
        self.bandwidth_scores_ = np.array([t.loss for t in tried])
        self.searched_ = len(trial.w)

    def _adopt(self, svm: Any) -> Self:
        """Become the machine that was fitted with what was chosen."""
        for name, value in vars(svm).items():
            if name.endswith("_") or name == "_duals":
                setattr(self, name, value)
        self.certificate_ = replace(svm.certificate_, notes=(*svm.certificate_.notes, self._words))
        return self

    @property
    def _words(self) -> str:
        kinds = len(self.bandwidths_)
        widths = f" and {kinds} bandwidths" if kinds > 1 else ""
        return (
            f"Chosen on held-out parts of {self.searched_} rows ({self.score_path_.shape[1]} "
            f"folds): {len(self.Cs_)} prices{widths} were tried; that choice is no optimum proved."
        )


def _trial(
    x: Any, w: Floats, answers: Answers, fold: Any, some: Any, deadline: float = np.inf
) -> Trial:
    """Some of the rows, on the footing of all, to as many digits as a choice can see.

    The choice is then the same in whatever units the columns are: their last digits are gone.
    """
    placed = Standardizer.from_rows(x, w).transform(take_items(x, some))
    if sparse.issparse(placed):
        placed.data = placed.data.round(DIGITS)
    else:
        placed = placed.round(DIGITS)
    return Trial(placed, w[some], fold, answers, deadline)


class SVCSearch(_Search, SVC):
    """:class:`SVC` with the Gaussian kernel whose C and bandwidth are chosen on held-out rows.

    min over C, h of the held-out log loss of sigmoids of the scores;   columns in deviations

    For each bandwidth the machines of all prices are found one from the other, on every fold of at
    most ``search_rows`` rows; bandwidths go downhill from the size of the cloud. The machine of the
    chosen pair is then fitted to all rows, several classes each against the rest.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds: a number is dealt class by class in the order of rows; others must put every row
        into one test part.
    search_rows : int, default=1000
        Rows that the search looks at: of more, an even selection of every class.
    class_weight : dict, "balanced" or None
    tol, cache_size : as in :class:`SVC`.
    time_budget : float or None
        Seconds: half of them for the search, which then stops at the best so far.

    Attributes
    ----------
    C_, bandwidth_ : what was chosen; the bandwidth counts deviations of the columns.
    Cs_, score_path_, n_support_path_ : prices at the chosen bandwidth, held-out log loss (m x
        folds), and support vectors among the rows that were looked at.
    bandwidths_, bandwidth_scores_ : all bandwidths tried, and the least loss of each.
    searched_ : rows that the search looked at.
    machines_, support_, certificate_, … : as in :class:`SVC`.
    """

    standardize = True
    kernel: Any = "rbf"
    decision = "ovr"
    decision_function_shape = "ovr"
    probability = False

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int = 1000,
        class_weight: Any = None,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
    ) -> None:
        self.cv = cv
        self.search_rows = search_rows
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        deadline = self._begin()
        trial = _class_trial(self, X, y, sample_weight, deadline)
        tried = trial.bandwidths()
        best = chosen(tried)
        self._take(best, tried, trial)
        self.bandwidth_ = best.bandwidth
        svm = SVC(
            self.C_,
            Gaussian(best.bandwidth),
            standardize=True,
            decision="ovr",
            class_weight=self.class_weight,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._rest,
        )
        return self._adopt(svm.fit(X, y, sample_weight))


class LinearSVCSearch(_Search, LinearSVC):
    """:class:`LinearSVC` whose C is chosen on held-out rows; columns in deviations.

    Parameters and attributes as for :class:`SVCSearch`, without a bandwidth; the rest as in
    :class:`LinearSVC`.
    """

    standardize = True
    fit_intercept = True
    probability = False

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int = 1000,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
        time_budget: float | None = None,
    ) -> None:
        self.cv = cv
        self.search_rows = search_rows
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        trial = _class_trial(self, X, y, sample_weight, self._begin())
        best = trial.linear()
        self._take(best, [best], trial)
        svm = LinearSVC(
            self.C_,
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            time_budget=self._rest,
        )
        return self._adopt(svm.fit(X, y, sample_weight))


def _class_trial(model: Any, X: Any, y: Any, sample_weight: Any, deadline: float) -> Trial:
    """Some of the rows of classes, dealt to folds."""
    coded = coded_rows(model, X, y, sample_weight)
    coded = weighted_coded_rows(coded, model.class_weight, model.classes_)
    some = some_rows(len(coded.codes), int(model.search_rows), coded.codes)
    codes = coded.codes[some]
    answers = Classes(codes, len(model.classes_), coded.w[some])
    fold = folds_for(model.cv, codes, coded.rows[some], coded.given)
    return _trial(coded.x, coded.w, answers, fold, some, deadline)


class SVRSearch(_Search, SVR):
    """:class:`SVR` with the Gaussian kernel; C, bandwidth and tube are chosen on held-out rows.

    min over C, h, ε of the held-out squared error;   columns and target in deviations

    As :class:`SVCSearch`; the tube is 0.1 deviations of the target wide while bandwidths are tried,
    then a narrower and a wider one are compared with it.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        As in :class:`SVCSearch`; a number is dealt in the order of rows.
    search_rows : int, default=500
        Rows that the search looks at: of more, an even selection.
    time_budget : as in :class:`SVCSearch`.
    tol, cache_size : as in :class:`SVR`.

    Attributes
    ----------
    C_, bandwidth_, epsilon_ : what was chosen, C and ε in units of the target.
    Cs_, score_path_, n_support_path_, bandwidths_, bandwidth_scores_, searched_ : as in
        :class:`SVCSearch`, with squared errors for losses.
    machines_, support_, certificate_, … : as in :class:`SVR`.
    """

    standardize = True
    kernel: Any = "rbf"

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int = 500,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
    ) -> None:
        self.cv = cv
        self.search_rows = search_rows
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and numbers ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        deadline = self._begin()
        x, target, w = self._table(X, y, sample_weight)
        kept, given = np.flatnonzero(w > 0.0), len(w)
        x, target, w = take_items(x, kept), target[kept], w[kept]
        if len(kept) < 2:
            raise InputError(f"n_samples={len(kept)} row cannot be dealt to two folds.")
        away = target - w @ target / w.sum()
        unit = float(np.sqrt(w @ away**2 / w.sum())) or 1.0
        z = (away / unit).round(DIGITS)
        some = some_rows(len(w), int(self.search_rows))
        fold = folds_for(self.cv, None, kept[some], given)

        def trial(tube: float) -> Trial:
            answers = Numbers(z[some], w[some], tube)
            return _trial(x, w, answers, fold, some, deadline)

        tried = trial(TUBES[0]).bandwidths()
        narrow = chosen(tried)
        by_tube = {TUBES[0]: narrow}
        for tube in TUBES[1:]:
            by_tube[tube] = trial(tube).gaussian(narrow.doublings)
        tube = min(by_tube, key=lambda t: (by_tube[t].loss, -t))
        best = by_tube[tube]
        self._take(best, tried, trial(tube))
        self.Cs_, self.C_ = unit * self.Cs_, unit * self.C_
        self.score_path_ = unit**2 * self.score_path_
        self.bandwidth_scores_ = unit**2 * self.bandwidth_scores_
        self.bandwidth_, self.epsilon_ = best.bandwidth, tube * unit
        svm = SVR(
            self.C_,
            self.epsilon_,
            Gaussian(best.bandwidth),
            standardize=True,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._rest,
        )
        return self._adopt(svm.fit(X, y, sample_weight))

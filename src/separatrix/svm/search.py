"""Support vector classifiers that choose C, and the bandwidth, by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.estimators.class_labels import coded_rows
from separatrix.kernels import Gaussian
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import Folds
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.linear_svc import LinearSVC
from separatrix.svm.problem import deadline_after
from separatrix.svm.svc import SVC
from separatrix.svm.tuning import (
    Candidate,
    ClassificationTask,
    CrossValidation,
    Task,
    best_candidate,
    search_folds,
    subsample,
)

#: Decimal places, in standard deviations, of the numbers that the search uses.
DECIMALS = 6


class ParameterSearch:
    """The candidates of a search, and the one that was chosen."""

    cv: Any
    search_rows: int
    time_budget: float | None
    C_: float
    Cs_: Floats
    score_path_: Floats
    n_support_path_: Floats
    bandwidths_: Floats
    bandwidth_scores_: Floats
    n_search_rows_: int
    certificate_: Certificate

    def _deadline(self) -> float:
        """When the search stops: half of the time budget is for the final fit."""
        if not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        return deadline_after(self.time_budget, 0.5)

    @property
    def _time_for_fit(self) -> float | None:
        return None if self.time_budget is None else self.time_budget / 2.0

    def _choose(
        self, best: Candidate, candidates: list[Candidate], validation: CrossValidation
    ) -> None:
        self.C_ = float(best.Cs[best.best])
        self.Cs_, self.score_path_ = best.Cs, best.losses
        self.n_support_path_ = validation.support_counts(best)
        self.bandwidths_ = np.array([c.bandwidth for c in candidates])
        self.bandwidth_scores_ = np.array([c.loss for c in candidates])
        self.n_search_rows_ = len(validation.w)

    def _adopt(self, svm: Any) -> Self:
        """Take over the fitted attributes of the SVM of the chosen parameters."""
        for name, value in vars(svm).items():
            if name.endswith("_") or name == "_svms":
                setattr(self, name, value)
        many = len(self.bandwidths_)
        bandwidths = f" and {many} bandwidths" if many > 1 else ""
        note = (
            f"Chosen by cross-validation on {self.n_search_rows_} rows "
            f"({self.score_path_.shape[1]} folds) among {len(self.Cs_)} values of C{bandwidths}; "
            "the certificate does not cover this choice."
        )
        self.certificate_ = replace(svm.certificate_, notes=(*svm.certificate_.notes, note))
        return self


def cross_validation(
    x: Any, w: Floats, task: Task, folds: Folds, rows: Ints, deadline: float = np.inf
) -> CrossValidation:
    """Some of the rows, standardized as all rows are, and rounded.

    The last digits depend on the units of the columns; without them the choice does not.
    """
    z = Standardizer.from_rows(x, w).transform(take_items(x, rows))
    if sparse.issparse(z):
        z.data = z.data.round(DECIMALS)
    else:
        z = z.round(DECIMALS)
    return CrossValidation(z, w[rows], folds, task, deadline)


def _class_validation(
    model: Any, X: Any, y: Any, sample_weight: Any, deadline: float
) -> CrossValidation:
    """A subsample of the rows of classes with its folds."""
    data = coded_rows(model, X, y, sample_weight, model.class_weight)
    rows = subsample(len(data.codes), int(model.search_rows), data.codes)
    codes = data.codes[rows]
    task = ClassificationTask(codes, len(model.classes_), data.w[rows])
    folds = search_folds(model.cv, codes, data.rows[rows], data.n_samples)
    return cross_validation(data.x, data.w, task, folds, rows, deadline)


class SVCSearch(ParameterSearch, SVC):
    """:class:`SVC` with the Gaussian kernel, its C and bandwidth chosen by cross-validation.

    With standardized columns and bandwidth h,

        min over C, h of the out-of-fold log loss of sigmoids fitted to the scores.

    For each bandwidth the SVMs of all C are solved one from the other, on every fold of at most
    ``search_rows`` rows; bandwidths go downhill from the total standard deviation. The SVM of the
    chosen pair is then fitted to all rows, several classes each against the rest.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds. A number is stratified: the rows of each class are assigned to folds in turn. Others
        must put every row into one test fold.
    search_rows : int, default=1000
        Rows that the search uses: of more, an evenly spaced subsample of every class.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-3
        Violation of the KKT conditions at which the final fit stops, in units of the margin.
    cache_size : float, default=500.0
        Megabytes for the cache of kernel rows.
    time_budget : float or None, default=None
        Seconds: half of them for the search, which then stops at the best candidate so far.

    Attributes
    ----------
    C_, bandwidth_ : float
        The chosen C and bandwidth, the latter in standard deviations of the columns.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C at the chosen bandwidth.
    score_path_ : ndarray of shape (n_Cs, n_folds)
        Out-of-fold log loss at each C.
    n_support_path_ : ndarray of shape (n_Cs,)
        Number of support vectors at each C, among the rows of the search.
    bandwidths_, bandwidth_scores_ : ndarray of shape (n_bandwidths,)
        The bandwidths compared, and the least loss of each.
    n_search_rows_ : int
        Number of rows that the search used.
    classes_, support_, dual_coef_, intercept_, svms_, certificate_ : object
        As in :class:`SVC`, like the further attributes there.

    See Also
    --------
    SVC : The same model with given parameters.
    SVMPath : All solutions along C for one kernel.
    LinearSVCSearch : Chooses C of the linear SVM.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(100, noise=0.1, factor=0.4, random_state=0)
    >>> model = sx.SVCSearch().fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> model.score_path_.shape == (len(model.Cs_), 3)
    True
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
        validation = _class_validation(self, X, y, sample_weight, self._deadline())
        candidates = validation.search_bandwidth()
        best = best_candidate(candidates)
        self._choose(best, candidates, validation)
        self.bandwidth_ = best.bandwidth
        svm = SVC(
            self.C_,
            Gaussian(best.bandwidth),
            standardize=True,
            decision="ovr",
            class_weight=self.class_weight,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._time_for_fit,
        )
        return self._adopt(svm.fit(X, y, sample_weight))


class LinearSVCSearch(ParameterSearch, LinearSVC):
    """:class:`LinearSVC` with standardized columns, its C chosen by cross-validation.

        min over C of the out-of-fold log loss of sigmoids fitted to the scores

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds, as in :class:`SVCSearch`.
    search_rows : int, default=1000
        Rows that the search uses: of more, an evenly spaced subsample of every class.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-6
        Duality gap relative to the objective at which the final fit stops.
    max_iter : int, default=2000
        Limit of iterations of the final fit, as in :class:`LinearSVC`.
    time_budget : float or None, default=None
        Seconds: half of them for the search.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C.
    score_path_ : ndarray of shape (n_Cs, n_folds)
        Out-of-fold log loss at each C.
    n_support_path_ : ndarray of shape (n_Cs,)
        Number of support vectors at each C, among the rows of the search.
    n_search_rows_ : int
        Number of rows that the search used.
    classes_, coef_, intercept_, certificate_ : object
        As in :class:`LinearSVC`, like the further attributes there.

    See Also
    --------
    LinearSVC : The same model with a given C.
    SVCSearch : Chooses C and the bandwidth of a Gaussian kernel.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.LinearSVCSearch().fit(X, y)
    >>> model.score(X, y) > 0.93
    True
    >>> bool(model.C_ == model.Cs_[model.score_path_.mean(axis=1).argmin()])
    True
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
        validation = _class_validation(self, X, y, sample_weight, self._deadline())
        best = validation.linear()
        self._choose(best, [best], validation)
        svm = LinearSVC(
            self.C_,
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            time_budget=self._time_for_fit,
        )
        return self._adopt(svm.fit(X, y, sample_weight))

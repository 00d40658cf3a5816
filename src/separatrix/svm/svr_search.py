"""Support vector regression that chooses C, bandwidth and ε by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from separatrix.kernels import Gaussian
from separatrix.kernels.base import take_items
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import copies_of
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.svm.kernel_regressor import regression_table
from separatrix.svm.parameter_search import ParameterSearch
from separatrix.svm.svr import SVR
from separatrix.svm.tuning.fold_path import TOLERANCE
from separatrix.svm.tuning.full_size import predicted_at_full_size
from separatrix.svm.tuning.numbers import gaussian_numbers
from separatrix.svm.tuning.result import SVMTuning
from separatrix.svm.tuning.sample import sample, search_folds
from separatrix.svm.tuning.work import SEARCH_SHARE, fit_cost


class SVRSearch(ParameterSearch, SVR):
    """:class:`SVR` with the Gaussian kernel; C, bandwidth and ε chosen by cross-validation.

    With standardized columns and target, and bandwidth h,

        min over C, h, ε of the out-of-fold squared error.

    As :class:`SVCSearch`; ε is 0.1 standard deviations of the target while bandwidths are compared,
    then a smaller and a larger one are compared with it.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds, as in :class:`SVCSearch`; a number assigns rows to folds in turn.
    search_rows : int or None, default=None
        Rows that the search uses: of more, an evenly spaced subsample. None: as many as a few
        seconds allow.
    tol : float, default=1e-3
        Violation of the KKT conditions at which the final fit stops, in standard deviations of the
        target.
    cache_size : float, default=500.0
        Megabytes for the cache of kernel rows.
    time_budget : float or None, default=None
        Seconds: half of them for the search, which then stops at the best candidate so far.

    Attributes
    ----------
    C_, bandwidth_, epsilon_ : float
        The chosen parameters; C and ε in units of the target, the bandwidth in standard deviations
        of the columns.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C at the chosen bandwidth and ε.
    score_path_ : ndarray of shape (n_Cs, n_folds)
        Out-of-fold loss at each C: the squared error, or the one that :meth:`tune` was given.
    n_support_path_ : ndarray of shape (n_Cs,)
        Number of support vectors at each C, among the rows of the search: a row counts by the
        share of the SVMs fitted with it in which it is one.
    bandwidths_, bandwidth_scores_ : ndarray of shape (n_bandwidths,)
        The bandwidths compared, and the least loss of each.
    n_search_rows_ : int
        Number of rows that the search used.
    support_, dual_coef_, intercept_, svms_, certificate_ : object
        As in :class:`SVR`, like the further attributes there.

    See Also
    --------
    SVR : The same model with given parameters.
    SVCSearch : The same for classification.

    References
    ----------
    C.-W. Hsu, C.-C. Chang and C.-J. Lin, A practical guide to support vector classification,
    National Taiwan University, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = sx.SVRSearch().fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    >>> model.bandwidth_ in model.bandwidths_
    True
    """

    standardize = True
    kernel: Any = "rbf"

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int | None = None,
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
        deadline = self._deadline()
        x, target, w, self.encoding_ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        x, target = take_items(x, rows), target[rows]
        folds = search_folds(self.cv, None, rows, len(w), lambda: copies_of(x, target))
        data = TuningData(x, target, w[rows], folds, loss="squared")
        return self.fit_tuned(X, self._searched(data, deadline), y, sample_weight)

    def tune(self, data: TuningData) -> Tuning:
        """Compare C, bandwidths and ε on the folds; predictions are numbers."""
        tuning = self._searched(data)
        if tuning.n_search_rows == data.n:
            return tuning
        sizes, columns = np.array([data.n]), data.x.shape[1]
        cost = fit_cost(tuning.row_iterations, tuning.n_search_rows, sizes, columns)
        y = np.asarray(data.y, dtype=float)

        def values(parameters: Mapping[str, Any], train: Ints, test: Ints) -> Floats:
            C, epsilon, bandwidth = (parameters[p] for p in ("C", "epsilon", "bandwidth"))
            svm = SVR(
                C=C,
                epsilon=epsilon,
                kernel=Gaussian(bandwidth),
                tol=TOLERANCE,
                cache_size=self.cache_size,
            )
            return svm.fit(data.z[train], y[train], data.w[train]).predict(data.z[test])

        return predicted_at_full_size(data, tuning, values, cost, data.work * (1.0 - SEARCH_SHARE))

    def fit_tuned(
        self, rows: Any, tuning: Tuning, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to all rows (or ``X`` with numbers ``y``) with the parameters that were chosen."""
        self._choose(tuning)
        self.bandwidth_ = float(tuning.parameters["bandwidth"])
        self.epsilon_ = float(tuning.parameters["epsilon"])
        svm = SVR(
            C=self.C_,
            epsilon=self.epsilon_,
            kernel=Gaussian(self.bandwidth_),
            standardize=True,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._time_for_fit,
        )
        return self._adopt(svm.fit(*self._fitted_rows(tuning, rows, y, sample_weight)))

    def _searched(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        return gaussian_numbers(sample(data, self._most_rows(data)), deadline)

"""Support vector classifiers that choose C, and the bandwidth, by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import (
    coded_rows,
    outputs_of,
    refuse_singletons,
    weights_by_class,
)
from separatrix.formula import nodes
from separatrix.kernels import Gaussian
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.parameters import describe_parameters
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import take_items
from separatrix.selection.folds import copies_of
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.svm.class_pairs import MOST, SLOPE, coupled_scores
from separatrix.svm.linear import LinearSVC
from separatrix.svm.problem import STEPS, deadline_after
from separatrix.svm.svc import DEPRECATED, SVC
from separatrix.svm.svr import SVR, regression_table
from separatrix.svm.tuning import (
    SEARCH_SHARE,
    TOLERANCE,
    SVMTuning,
    first_rows,
    fit_cost,
    gaussian_classes,
    gaussian_numbers,
    linear_classes,
    linear_fit_cost,
    predicted_at_full_size,
    sample,
    search_folds,
    search_rows,
)
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# What SVMs that choose their own parameters share: the combinations compared, and the choice.


class ParameterSearch:
    """The combinations of a search, and the one that was chosen."""

    cv: Any
    search_rows: int | None
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
        if self.search_rows is not None and not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        return deadline_after(self.time_budget, 0.5)

    def _most_rows(self, data: TuningData) -> int:
        """Rows that the search may use."""
        if self.search_rows is not None:
            return int(self.search_rows)
        return search_rows(data.n, data.n_classes, data.work)

    @staticmethod
    def _fitted_rows(tuning: Tuning, rows: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The arguments of the final fit: of too many rows, evenly spaced ones."""
        most = tuning.fit_rows if isinstance(tuning, SVMTuning) else 0
        if not most:
            return rows, y, sample_weight
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        some = np.linspace(0, n - 1, min(most, n)).astype(np.int64)
        taken = rows.take(some) if isinstance(rows, InMemory) else take_items(rows, some)
        y, w = (None if a is None else np.asarray(a)[some] for a in (y, sample_weight))
        return taken, y, w

    @property
    def _time_for_fit(self) -> float | None:
        return None if self.time_budget is None else self.time_budget / 2.0

    def _choose(self, tuning: Tuning) -> None:
        """The chosen C, with the path along C at the other parameters chosen."""
        chosen = dict(tuning.parameters)
        self.C_ = float(chosen.pop("C"))
        along = [
            i for i, p in enumerate(tuning.grid) if all(p[name] == chosen[name] for name in chosen)
        ]
        self.Cs_ = np.array([tuning.grid[i]["C"] for i in along])
        self.score_path_ = tuning.losses[along]
        bandwidth = np.array([p.get("bandwidth", 0.0) for p in tuning.grid])
        means = tuning.losses.mean(axis=1)
        self.bandwidths_ = np.unique(bandwidth)
        self.bandwidth_scores_ = np.array([means[bandwidth == h].min() for h in self.bandwidths_])
        assert isinstance(tuning, SVMTuning)
        self.n_support_path_ = tuning.n_support[along]
        self.n_search_rows_ = tuning.n_search_rows

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


#: Relative duality gap of linear fits for predictions out of fold.
LINEAR_TOLERANCE = 1e-3


def _class_data(model: Any, X: Any, y: Any, sample_weight: Any) -> TuningData:
    """The rows of classes with their folds."""
    data = coded_rows(model, X, y, sample_weight, model.class_weight)
    refuse_singletons(len(data.codes), model.classes_)
    folds = search_folds(
        model.cv,
        data.codes,
        data.rows,
        data.n_samples,
        lambda: copies_of(data.x, data.codes.astype(str)),
    )
    return TuningData(data.x, data.codes, data.w, folds, len(model.classes_))


def _apply_class_weight(model: Any, data: TuningData) -> TuningData:
    """Data whose weights are multiplied by those of the classes, and no fold lacks a class."""
    require_classes(data)
    if model.class_weight is None:
        return data
    codes = np.asarray(data.y, dtype=np.int64)
    total = np.bincount(codes, data.w, data.n_classes).astype(float)
    factor = weights_by_class(model.class_weight, list(range(data.n_classes)), total)
    return TuningData(
        data.x, data.y, data.w * factor[codes], data.folds, data.n_classes, data.loss, data.work
    )


@describe_parameters
class SVCSearch(ParameterSearch, SVC):
    """:class:`SVC` with the Gaussian kernel, its C and bandwidth chosen by cross-validation.

    With standardized columns and bandwidth h,

        min over C, h of the out-of-fold log loss of sigmoids fitted to the scores.

    For each bandwidth the SVMs of all C are solved one from the other, on every fold of at most
    ``search_rows`` rows; bandwidths go downhill from the total standard deviation. The SVM of the
    chosen C and bandwidth is then fitted to all rows. Of K classes every pair has an SVM, and the
    score of a class is the logarithm of its probability by coupling them,

        1/pₖ = Σⱼ 1/rₖⱼ − (K − 2),     rₖⱼ = 1/(1 + e^{−3 sₖⱼ}),

    which ranks classes as the votes of the pairs do, and is smooth.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds. A number is stratified: the rows of each class are assigned to folds in turn. Others
        must put every row into one test fold.
    search_rows : int or None, default=None
        Rows that the search uses: of more, an evenly spaced subsample of every class. None: as many
        as a few seconds allow.
    class_weight : dict, "balanced" or None, default=None
    tol : float, default=1e-3
        Violation of the KKT conditions at which the final fit stops, in units of the margin.
    cache_size : float, default=500.0
    time_budget : float or None, default=None
        Seconds: half of them for the search, which then stops at the best candidate so far.

    Attributes
    ----------
    C_, bandwidth_ : float
        The chosen C and bandwidth, the latter in standard deviations of the columns.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C at the chosen bandwidth.
    score_path_ : ndarray of shape (n_Cs, n_folds)
        Out-of-fold loss at each C: the log loss, or the one that :meth:`tune` was given.
    n_support_path_ : ndarray of shape (n_Cs,)
    bandwidths_, bandwidth_scores_ : ndarray of shape (n_bandwidths,)
        The bandwidths compared, and the least loss of each.
    n_search_rows_ : int
    classes_, support_, dual_coef_, intercept_, svms_, certificate_ : object
        As in :class:`SVC`, like the further attributes there.

    See Also
    --------
    SVC : The same model with given parameters.
    SVMPath : All solutions along C for one kernel.
    LinearSVCSearch : Chooses C of the linear SVM.

    References
    ----------
    C.-W. Hsu, C.-C. Chang and C.-J. Lin, A practical guide to support vector classification,
    National Taiwan University, 2003.

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
    decision = "ovo"
    decision_function_shape = "ovr"
    break_ties = False
    probability: Any = DEPRECATED

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int | None = None,
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

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        deadline = self._deadline()
        data = _class_data(self, X, y, sample_weight)
        return self.fit_tuned(X, self._search_parameters(data, deadline), y, sample_weight)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare C and bandwidths on the folds; predictions are scores, as those of the model."""
        data = _apply_class_weight(self, data)
        tuning = self._search_parameters(data)
        if tuning.n_search_rows == data.n:
            return tuning
        codes, k = np.asarray(data.y, dtype=np.int64), data.n_classes
        sizes = np.bincount(codes, minlength=k)
        pairs = np.array([sizes[i] + sizes[j] for i, j in combinations(range(k), 2)])
        cost = fit_cost(tuning.row_iterations, tuning.n_search_rows, pairs, data.x.shape[1])

        def scores(parameters: Mapping[str, Any], train: Ints, test: Ints) -> Floats:
            C, kernel = parameters["C"], Gaussian(parameters["bandwidth"])
            svm = SVC(C=C, kernel=kernel, tol=TOLERANCE, cache_size=self.cache_size)
            svm.fit(data.z[train], codes[train], data.w[train])
            scores_of_fold = svm._scores(data.z[test])
            return scores_of_fold[:, 0] if k == 2 else coupled_scores(-scores_of_fold, k)

        return predicted_at_full_size(data, tuning, scores, cost, data.work * (1.0 - SEARCH_SHARE))

    @on_one_blas_thread
    def fit_tuned(
        self, rows: Any, tuning: Tuning, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to all rows (or ``X`` with labels ``y``) with the parameters that were chosen."""
        self._choose(tuning)
        self.bandwidth_ = float(tuning.parameters["bandwidth"])
        svm = SVC(
            C=self.C_,
            kernel=Gaussian(self.bandwidth_),
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._time_for_fit,
        )
        return self._adopt(svm.fit(*self._fitted_rows(tuning, rows, y, sample_weight)))

    def _search_parameters(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        return gaussian_classes(sample(data, self._most_rows(data)), deadline)

    def _by_class(self, scores: Floats) -> Floats:
        k = len(self.classes_)
        return np.asarray(scores[:, 0]) if k == 2 else coupled_scores(-scores, k)

    def _rank(self, scores: Floats) -> Floats:
        return self._by_class(scores)

    def formula(self) -> nodes.ClassFormula:
        """The sign of one score, or the class of the largest coupled score of pairs."""
        scores, k = self._binary_scores(self._names_of_scores()), len(self.classes_)
        if k > 2:
            scores = nodes.CoupledScores(scores, k, SLOPE, MOST)
        return nodes.by_score(scores, self.classes_)


class _RoughLinearSVC(LinearSVC):
    """Fits whose scores are only compared."""

    _accuracy = LINEAR_TOLERANCE


@describe_parameters
class LinearSVCSearch(ParameterSearch, LinearSVC):
    """:class:`LinearSVC` with standardized columns, its C chosen by cross-validation.

        min over C of the out-of-fold log loss of sigmoids fitted to the scores

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=3
        Folds, as in :class:`SVCSearch`.
    search_rows : int or None, default=None
        Rows that the search uses: of more, an evenly spaced subsample of every class. None: as many
        as a few seconds allow.
    class_weight : dict, "balanced" or None, default=None
    tol : float, default=1e-6
        Duality gap relative to the objective at which the final fit stops.
    max_iter : int, default=2000
        Limit of interior-point steps or epochs of the final fit.
    time_budget : float or None, default=None
        Seconds: half of them for the search.

    Attributes
    ----------
    C_ : float
    Cs_ : ndarray of shape (n_Cs,)
        Values of C.
    score_path_ : ndarray of shape (n_Cs, n_folds)
        Out-of-fold loss at each C: the log loss, or the one that :meth:`tune` was given.
    n_support_path_ : ndarray of shape (n_Cs,)
    n_search_rows_ : int
    classes_, coef_, intercept_, certificate_ : object
        As in :class:`LinearSVC`, like the further attributes there.

    See Also
    --------
    LinearSVC : The same model with a given C.
    SVCSearch : Chooses C and the bandwidth of a Gaussian kernel.

    References
    ----------
    C.-W. Hsu, C.-C. Chang and C.-J. Lin, A practical guide to support vector classification,
    National Taiwan University, 2003.

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
    loss = "hinge"

    def __init__(
        self,
        *,
        cv: Any = 3,
        search_rows: int | None = None,
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

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        self._deadline()
        data = _class_data(self, X, y, sample_weight)
        return self.fit_tuned(X, self._search_parameters(data), y, sample_weight)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare values of C on the folds; predictions are scores, as those of the model."""
        data = _apply_class_weight(self, data)
        tuning = self._search_parameters(data)
        if tuning.n_search_rows == data.n:
            return tuning
        codes, outputs = np.asarray(data.y, dtype=np.int64), len(outputs_of(data.n_classes))

        def scores(parameters: Mapping[str, Any], train: Ints, test: Ints) -> Floats:
            svm = _RoughLinearSVC(loss="hinge", C=parameters["C"], tol=LINEAR_TOLERANCE)
            svm.fit(data.z[train], codes[train], data.w[train])
            return svm.decision_function(data.z[test])

        cost = linear_fit_cost(data.n, data.x.shape[1], outputs)
        return predicted_at_full_size(data, tuning, scores, cost, data.work * (1.0 - SEARCH_SHARE))

    @on_one_blas_thread
    def fit_tuned(
        self, rows: Any, tuning: Tuning, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to all rows (or ``X`` with labels ``y``) with the C that was chosen."""
        self._choose(tuning)
        svm = LinearSVC(
            loss="hinge",
            C=self.C_,
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=-(-self.max_iter // STEPS),
            time_budget=self._time_for_fit,
        )
        return self._adopt(svm.fit(*self._fitted_rows(tuning, rows, y, sample_weight)))

    def _search_parameters(self, data: TuningData) -> SVMTuning:
        most, few = self._most_rows(data), first_rows(data.n_classes)
        if self.search_rows is None and data.n > 1.5 * few:  # the linear C hardly depends on rows
            most = few
        return linear_classes(sample(data, most))


# -------------------------------------------------------------------------------------------------
# Support vector regression that chooses C, bandwidth and ε by cross-validation.


@describe_parameters
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
    bandwidths_, bandwidth_scores_ : ndarray of shape (n_bandwidths,)
        The bandwidths compared, and the least loss of each.
    n_search_rows_ : int
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

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and numbers ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        deadline = self._deadline()
        x, target, w, self.encoding_ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        x, target = take_items(x, rows), target[rows]
        folds = search_folds(self.cv, None, rows, len(w), lambda: copies_of(x, target))
        data = TuningData(x, target, w[rows], folds, loss="squared")
        return self.fit_tuned(X, self._search_parameters(data, deadline), y, sample_weight)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare C, bandwidths and ε on the folds; predictions are numbers."""
        tuning = self._search_parameters(data)
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

    @on_one_blas_thread
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

    def _search_parameters(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        return gaussian_numbers(sample(data, self._most_rows(data)), deadline)

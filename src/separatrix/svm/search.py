"""Support vector machines that choose C, the bandwidth and ε by cross-validation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, reads_tables
from separatrix.formula import nodes
from separatrix.kernels import Gaussian
from separatrix.messages import InputError
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import take_items
from separatrix.selection.folds import copies_of
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.svm import tuning as searches
from separatrix.svm.class_pairs import MOST, SLOPE, coupled_scores
from separatrix.svm.linear import LinearSVC
from separatrix.svm.problem import STEPS, deadline_after
from separatrix.svm.svc import SVC
from separatrix.svm.svr import SVR, regression_table
from separatrix.svm.tuning import SVMTuning
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# What SVMs that choose their own parameters share: the combinations compared, and the choice.


def _of_the_svm(*names: str) -> Iterator[property]:
    """Attributes that are those of ``svm_``."""
    return (property(attrgetter(f"svm_.{name}")) for name in names)


class ParameterSearch(RowsEstimator):
    """The combinations of a search, and ``svm_``, the SVM of the one that was chosen."""

    cv: Any
    search_rows: int | None
    time_budget: float | None
    svm_: Any
    C_: float
    Cs_: Floats
    score_path_: Floats
    n_support_path_: Floats
    bandwidths_: Floats
    bandwidth_scores_: Floats
    n_search_rows_: int
    certificate_: Certificate
    standardize = True

    alpha_, slack_, group_, margin_, t_, svms_, support_ = _of_the_svm(
        "alpha_", "slack_", "group_", "margin_", "t_", "svms_", "support_"
    )
    intercept_, n_iter_, n_samples_fit_, training_range_ = _of_the_svm(
        "intercept_", "n_iter_", "n_samples_fit_", "training_range_"
    )

    # -- what each search says -------------------------------------------------------------------

    @abstractmethod
    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TuningData:
        """The rows of a fit with their folds."""

    @abstractmethod
    def _compare(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        """Compare the combinations on the folds."""

    @abstractmethod
    def _svm_of(self, parameters: Mapping[str, Any]) -> Any:
        """An SVM of these parameters, whose predictions are only compared."""

    @abstractmethod
    def _final_svm(self) -> Any:
        """The SVM of the parameters that were chosen, to be fitted to all rows."""

    @abstractmethod
    def _fit_cost(self, data: TuningData, tuning: SVMTuning) -> float:
        """Operations of one fit to all rows."""

    @staticmethod
    @abstractmethod
    def _answers(svm: Any, X: Any) -> Floats:
        """What a fitted SVM predicts: scores, or numbers."""

    def _weighted(self, data: TuningData) -> TuningData:
        """Data of a study with the weights that this model adds."""
        return data

    # -- the search ------------------------------------------------------------------------------

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and targets ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        if self.search_rows is not None and not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        deadline = deadline_after(self.time_budget, 0.5)  # the other half is for the final fit
        data = self._training_data(X, y, sample_weight)
        return self.fit_tuned(X, self._compare(data, deadline), y, sample_weight)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare the combinations on the folds; predictions are scores, or numbers."""
        data = self._weighted(data)
        tuning = self._compare(data)
        if tuning.n_search_rows == data.n:
            return tuning
        y = np.asarray(data.y, dtype=np.int64 if data.n_classes else float)

        def answers(parameters: Mapping[str, Any], train: Ints, test: Ints) -> Floats:
            svm = self._svm_of(parameters).fit(data.z[train], y[train], data.w[train])
            return self._answers(svm, data.z[test])

        cost, work = self._fit_cost(data, tuning), data.work * (1.0 - searches.SEARCH_SHARE)
        return searches.predicted_at_full_size(data, tuning, answers, cost, work)

    @on_one_blas_thread
    def fit_tuned(
        self, rows: Any, tuning: Tuning, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to all rows (or ``X`` with targets ``y``) with the parameters that were chosen."""
        assert isinstance(tuning, SVMTuning)
        self._choose(tuning)
        if tuning.fit_rows:
            rows, y, sample_weight = _evenly_spaced(tuning.fit_rows, rows, y, sample_weight)
        self.svm_ = svm = self._final_svm().fit(rows, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_", "encoding_"):
            self.__dict__.pop(name, None)
            if hasattr(svm, name):
                setattr(self, name, getattr(svm, name))
        many = len(self.bandwidths_)
        bandwidths = f" and {many} bandwidths" if many > 1 else ""
        note = (
            f"Chosen by cross-validation on {self.n_search_rows_} rows "
            f"({self.score_path_.shape[1]} folds) among {len(self.Cs_)} values of C{bandwidths}; "
            "the certificate does not cover this choice."
        )
        self.certificate_ = replace(svm.certificate_, notes=(*svm.certificate_.notes, note))
        return self

    def _choose(self, tuning: SVMTuning) -> None:
        """The chosen parameters, with the path along C at the others."""
        chosen = dict(tuning.parameters)
        for name, value in chosen.items():
            setattr(self, f"{name}_", float(value))
        del chosen["C"]
        along = [
            i for i, p in enumerate(tuning.grid) if all(p[name] == chosen[name] for name in chosen)
        ]
        self.Cs_ = np.array([tuning.grid[i]["C"] for i in along])
        self.score_path_ = tuning.losses[along]
        bandwidth = np.array([p.get("bandwidth", 0.0) for p in tuning.grid])
        means = tuning.losses.mean(axis=1)
        self.bandwidths_ = np.unique(bandwidth)
        self.bandwidth_scores_ = np.array([means[bandwidth == h].min() for h in self.bandwidths_])
        self.n_support_path_ = tuning.n_support[along]
        self.n_search_rows_ = tuning.n_search_rows

    def _sample(self, data: TuningData) -> searches.TuningSample:
        """The rows that are compared."""
        most = self.search_rows
        if most is None:
            most = searches.search_rows(data.n, data.n_classes, data.work)
        return searches.sample(data, int(most))

    @property
    def _time_for_fit(self) -> float | None:
        return None if self.time_budget is None else self.time_budget / 2.0

    def _keep_range(self, rows: Rows, *, reset: bool) -> None:
        """The SVM keeps the ranges of its rows."""

    def formula(self) -> nodes.Formula:
        """That of the SVM."""
        return self.svm_.formula()  # type: ignore[no-any-return]


def _evenly_spaced(most: int, rows: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The arguments of a fit, of too many rows evenly spaced ones."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    some = np.linspace(0, n - 1, min(most, n)).astype(np.int64)
    taken = rows.take(some) if isinstance(rows, InMemory) else take_items(rows, some)
    y, w = (None if a is None else np.asarray(a)[some] for a in (y, sample_weight))
    return taken, y, w


# -------------------------------------------------------------------------------------------------
# Classification.


class ClassifierSearch(ClassifierMixin, ParameterSearch):
    """A search among SVMs of classes, by the log loss of sigmoids fitted to their scores."""

    class_weight: Any

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TuningData:
        data = class_labels.coded_rows(self, X, y, sample_weight, self.class_weight)
        class_labels.refuse_singletons(len(data.codes), self.classes_)
        folds = searches.search_folds(
            self.cv,
            data.codes,
            data.rows,
            data.n_samples,
            lambda: copies_of(data.x, data.codes.astype(str)),
        )
        return TuningData(data.x, data.codes, data.w, folds, len(self.classes_))

    def _weighted(self, data: TuningData) -> TuningData:
        """Data whose weights are multiplied by those of the classes, and no fold lacks a class."""
        require_classes(data)
        if self.class_weight is None:
            return data
        codes = np.asarray(data.y, dtype=np.int64)
        total = np.bincount(codes, data.w, data.n_classes).astype(float)
        factor = class_labels.weights_by_class(
            self.class_weight, list(range(data.n_classes)), total
        )
        w, folds = data.w * factor[codes], data.folds
        return TuningData(data.x, data.y, w, folds, data.n_classes, data.loss, data.work)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        check_is_fitted(self)
        return self._answers(self.svm_, X)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, or the largest score."""
        return class_labels.label_scores(self.decision_function(X), self.classes_)


@declare_parameters
class SVCSearch(ClassifierSearch):
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
    svm_ : SVC
        The SVM of the chosen parameters, fitted to all rows.
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

    support_vectors_, n_support_, dual_coef_, expansions_, kernel_ = _of_the_svm(
        "support_vectors_", "n_support_", "dual_coef_", "expansions_", "kernel_"
    )
    standardizer_, class_weight_, shape_fit_, fit_status_ = _of_the_svm(
        "standardizer_", "class_weight_", "shape_fit_", "fit_status_"
    )

    _: KW_ONLY
    cv: Any = 3
    search_rows: int | None = None
    class_weight: Any = None
    tol: float = 1e-3
    cache_size: float = 500.0
    time_budget: float | None = None

    def _compare(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        return searches.gaussian_classes(self._sample(data), deadline)

    def _svm_of(self, parameters: Mapping[str, Any]) -> SVC:
        C, kernel = parameters["C"], Gaussian(parameters["bandwidth"])
        return SVC(C=C, kernel=kernel, tol=searches.TOLERANCE, cache_size=self.cache_size)

    def _final_svm(self) -> SVC:
        return SVC(
            C=self.C_,
            kernel=Gaussian(self.bandwidth_),
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._time_for_fit,
        )

    def _fit_cost(self, data: TuningData, tuning: SVMTuning) -> float:
        sizes = np.bincount(np.asarray(data.y, dtype=np.int64), minlength=data.n_classes)
        first, second = np.triu_indices(data.n_classes, 1)
        pairs, columns = sizes[first] + sizes[second], data.x.shape[1]
        return searches.fit_cost(tuning.row_iterations, tuning.n_search_rows, pairs, columns)

    @staticmethod
    def _answers(svm: SVC, X: Any) -> Floats:
        k = len(svm.classes_)
        if k == 2:
            return svm.decision_function(X)
        return svm._from_scores(X, lambda scores: coupled_scores(-scores, k))

    def formula(self) -> nodes.ClassFormula:
        """The sign of one score, or the class of the largest coupled score of pairs."""
        svm, k = self.svm_, len(self.classes_)
        scores = svm._binary_scores(svm._names_of_scores())
        if k > 2:
            scores = nodes.CoupledScores(scores, k, SLOPE, MOST)
        return nodes.by_score(scores, self.classes_)


class _RoughLinearSVC(LinearSVC):
    """Fits whose scores are only compared."""

    _accuracy = 1e-3


@declare_parameters
class LinearSVCSearch(ClassifierSearch):
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
    svm_ : LinearSVC
        The SVM of the chosen C, fitted to all rows.
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

    coef_, hyperplane_, certificates_ = _of_the_svm("coef_", "hyperplane_", "certificates_")

    _: KW_ONLY
    cv: Any = 3
    search_rows: int | None = None
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 2000
    time_budget: float | None = None

    def _compare(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:  # noqa: ARG002
        return searches.linear_classes(self._sample(data))

    def _sample(self, data: TuningData) -> searches.TuningSample:
        few = searches.first_rows(data.n_classes)
        if self.search_rows is None and data.n > 1.5 * few:  # the linear C hardly depends on rows
            return searches.sample(data, few)
        return super()._sample(data)

    def _svm_of(self, parameters: Mapping[str, Any]) -> LinearSVC:
        return _RoughLinearSVC(loss="hinge", C=parameters["C"], tol=_RoughLinearSVC._accuracy)

    def _final_svm(self) -> LinearSVC:
        return LinearSVC(
            loss="hinge",
            C=self.C_,
            standardize=True,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=-(-self.max_iter // STEPS),
            time_budget=self._time_for_fit,
        )

    def _fit_cost(self, data: TuningData, tuning: SVMTuning) -> float:  # noqa: ARG002
        outputs = len(class_labels.outputs_of(data.n_classes))
        return searches.linear_fit_cost(data.n, data.x.shape[1], outputs)

    @staticmethod
    def _answers(svm: LinearSVC, X: Any) -> Floats:
        return svm.decision_function(X)

    def signed_distance(self, X: Any) -> Floats:
        """Distance of every row to the hyperplane, as :meth:`decision_function` in sign and shape.

        In the units of the columns. For K classes: to the hyperplane fₖ(x) = 0 of each class.
        """
        check_is_fitted(self)
        return self.svm_.signed_distance(X)  # type: ignore[no-any-return]

    def margin(self, X: Any, y: Any) -> Floats:
        """Distance of every row to the boundary of its class ``y``; negative if misclassified."""
        check_is_fitted(self)
        return self.svm_.margin(X, y)  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------------------------
# Regression.


@declare_parameters
class SVRSearch(RegressorMixin, ParameterSearch):
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
    svm_ : SVR
        The SVM of the chosen parameters, fitted to all rows.
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

    support_vectors_, n_support_, dual_coef_, expansions_, kernel_ = _of_the_svm(
        "support_vectors_", "n_support_", "dual_coef_", "expansions_", "kernel_"
    )
    standardizer_, shape_fit_, fit_status_ = _of_the_svm(
        "standardizer_", "shape_fit_", "fit_status_"
    )

    _: KW_ONLY
    cv: Any = 3
    search_rows: int | None = None
    tol: float = 1e-3
    cache_size: float = 500.0
    time_budget: float | None = None

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TuningData:
        x, target, w, _ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        x, target = take_items(x, rows), target[rows]
        folds = searches.search_folds(self.cv, None, rows, len(w), lambda: copies_of(x, target))
        return TuningData(x, target, w[rows], folds, loss="squared")

    def _compare(self, data: TuningData, deadline: float = np.inf) -> SVMTuning:
        return searches.gaussian_numbers(self._sample(data), deadline)

    def _svm_of(self, parameters: Mapping[str, Any]) -> SVR:
        C, epsilon, bandwidth = (parameters[p] for p in ("C", "epsilon", "bandwidth"))
        tol, cache = searches.TOLERANCE, self.cache_size
        return SVR(C=C, epsilon=epsilon, kernel=Gaussian(bandwidth), tol=tol, cache_size=cache)

    def _final_svm(self) -> SVR:
        return SVR(
            C=self.C_,
            epsilon=self.epsilon_,
            kernel=Gaussian(self.bandwidth_),
            standardize=True,
            tol=self.tol,
            cache_size=self.cache_size,
            time_budget=self._time_for_fit,
        )

    def _fit_cost(self, data: TuningData, tuning: SVMTuning) -> float:
        sizes, columns = np.array([data.n]), data.x.shape[1]
        return searches.fit_cost(tuning.row_iterations, tuning.n_search_rows, sizes, columns)

    @staticmethod
    def _answers(svm: SVR, X: Any) -> Floats:
        return svm.predict(X)

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """w·φ(x) + b for every row."""
        check_is_fitted(self)
        return self._answers(self.svm_, X)

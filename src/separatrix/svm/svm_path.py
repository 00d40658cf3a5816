"""The exact regularization path of an SVM over C, and the C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators import class_labels
from separatrix.estimators.base import KernelModel, reads_tables
from separatrix.formula import nodes
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels import Kernel, KernelExpansion, Linear, Precomputed
from separatrix.kernels.base import finite_diagonal, training_gram
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.structures import as_list
from separatrix.matrices.products import multiply
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import ClassifierMixin
from separatrix.parameters import declare_parameters
from separatrix.selection import rules
from separatrix.selection.criteria import PathFigures
from separatrix.selection.folds import DEFAULT_FOLDS, Folds, copies_of, folds_of
from separatrix.statistics.moments import Standardizer
from separatrix.svm.path import (
    NON_SUPPORT,
    Steps,
    SVMTrace,
    certify_point,
    clear_of_rounding,
    error_steps,
    gaps_along,
    scores_along,
    trace_svm,
)
from separatrix.svm.problem import badness
from separatrix.svm.tuning import feature_variance
from separatrix.threads import on_one_blas_thread


@declare_parameters
class SVMPath(ClassifierMixin, KernelModel):
    """Support vector classification for all C at once.

    The whole regularization path, f in the feature space of the kernel:

        min over f, b of ½‖f‖² + C Σ ω max(0, 1 − y (f(x) + b)),   for all C from 0 to ``C_max``.

    Between breakpoints α, w and b are linear in C; ``at(C)`` is exact for any C. ``C_`` has the
    least cross-validated error: with two classes the error is known as a step function of C, with
    more it is compared at breakpoints. Several classes have a path each, against the rest, and one
    common C. With a kernel that is not Mercer (warning SEP007) the path follows the KKT conditions,
    and no optimality is claimed.

    Parameters
    ----------
    kernel : Kernel, callable or str, default="linear"
        A kernel of :mod:`separatrix.kernels`, "linear", "rbf", "poly", "sigmoid", "precomputed", or
        a function of two matrices. Kernels on structures take lists of Python objects.
    gamma : {"scale", "auto"} or float, default="scale"
    degree : int, default=3
    coef0 : float, default=0.0
    C : float or None, default=None
        Predict at this C; None chooses it by cross-validation.
    C_max : float or None, default=None
        End of the path; None is 10³ over the variance of the rows in the feature space.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn: a number (None is 5) is stratified, and lowered to the number of
        rows of the rarest class.
    rule : {"min", "one_se", "elbow"}, default="min"
        Take the C of the least mean error, or the smallest C within one standard error of it: that
        of its mean, or of the differences from it ("elbow").
    class_weight : dict, "balanced" or None, default=None
    max_changes : int, default=200000
        Limit of events along one path.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the linear kernel's
        coefficients are those of the columns as given.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    breakpoints_ : ndarray of shape (n_breakpoints,), or list of them
        Every C at which a row reaches or leaves its margin; a list for more than two classes.
    paths_ : list of SVMTrace
        The linear segments of each path.
    C_, C_max_ : float
        The chosen C, and the end of the path.
    Cs_, errors_ : ndarray of shape (n_Cs,) and (n_Cs, n_folds)
        Values of C that were compared, and their cross-validated errors.
    coef_, intercept_ : ndarray of shape (n_paths, n_features) and (n_paths,)
        w at ``C_``, for the linear kernel, and b; ``hyperplane_`` measures distances.
    expansion_, kernel_ : KernelExpansion and Kernel
        The kernel expansion at ``C_``, and the kernel used.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual at ``C_``; of several classes the
        worst.

    See Also
    --------
    SVC : Support vector classification at one C.
    SVCSearch : Chooses C and the bandwidth by cross-validation.
    LassoPath : The path of the lasso.

    References
    ----------
    T. Hastie, S. Rosset, R. Tibshirani and J. Zhu, The entire regularization path for the support
    vector machine, Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    >>> path = sx.SVMPath(C=1.0).fit(X, y)
    >>> path.breakpoints_.round(4).tolist()
    [0.1, 0.1875, 0.3125, 0.5]
    >>> path.alpha_at(5 / 16).round(4).tolist()
    [0.3125, 0.0, 0.0625, 0.25]
    >>> path.coef_.round(6).tolist()
    [[0.6, -0.8]]
    """

    kernel: Any = "linear"
    _: KW_ONLY
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0
    C: float | None = None
    C_max: float | None = None
    cv: Any = None
    rule: str = "min"
    class_weight: Any = None
    max_changes: int = 200_000
    standardize: bool = False

    standardizer_: Standardizer | None = field(init=False)
    _training: PathTraining | None = field(init=False, default=None)

    # -- the path ------------------------------------------------------------------------------

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trace the path of ``X`` and labels ``y``, or of :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        read = class_labels.coded_items if self._structures else class_labels.coded_rows
        coded = read(self, X, y, sample_weight, self.class_weight)
        most_rows = 15_000  # rows whose Gram matrix is computed at most
        if len(coded.codes) > most_rows:
            raise InputError(
                f"The path needs the Gram matrix, {len(coded.codes)} x {len(coded.codes)}.",
                remedy=f"Use at most {most_rows} rows, or LinearSVC at a few values of C.",
            )
        if not self._structures:
            self.encoding_ = coded.encoding
        self.standardizer_ = None
        if self.standardize and not self._structures and not self._precomputed:
            self.standardizer_ = Standardizer.from_rows(coded.x, coded.w)
            coded = replace(coded, x=self.standardizer_.transform(coded.x))
        self._set_kernel(coded.x, coded.sample_weight)
        self._training = training = path_training(coded, self.kernel_)
        variance = feature_variance(training.gram, coded.w)
        # The default end of the path, in units of one over the variance in the feature space.
        self.C_max_ = float(self.C_max or 1e3 / (variance if variance > 0.0 else 1.0))
        self.paths_ = self._traces(np.arange(len(coded.codes)))
        breaks = [path.breakpoints for path in self.paths_]
        self.breakpoints_ = breaks[0] if len(breaks) == 1 else breaks
        reach = min(path.end for path in self.paths_)
        if reach < self.C_max_:
            warn("SEP003", f"the path ends at C = {reach:.4g}: beyond it is lost to rounding.")
            self.C_max_ = reach
        if self.C is None:
            return self.cross_validate()
        self.__dict__.pop("errors_", None)
        return self._predict_at(float(self.C))

    def _check(self) -> None:
        check_option("rule", self.rule, rules.RULES)
        for name in ("C", "C_max"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name}={value!r} must be a number greater than 0, or None.")

    def _traces(self, rows: Ints) -> list[SVMTrace]:
        return self._data.traces(rows, self.classes_.tolist(), self.C_max_, int(self.max_changes))

    @property
    def _data(self) -> PathTraining:
        check_is_fitted(self)
        if self._training is None:
            raise InputError(
                "The training rows are not stored with this model.",
                remedy="Fit again, or predict at the stored C_.",
            )
        return self._training

    # -- one C ---------------------------------------------------------------------------------

    def alpha_at(self, C: float) -> Floats:
        """The α of every training row at C: (n,) for two classes, else (n, K)."""
        self._within(C)
        return self._data.by_row([path.alpha(C) for path in self.paths_], 0.0)

    def group_at(self, C: float) -> NDArray[np.int8]:
        """Of every row: 1 bound (α = C), 0 free, −1 non-support (α = 0); (n,) or (n, K)."""
        self._within(C)
        return self._data.by_row([p.states(p.segment_of(C)) for p in self.paths_], NON_SUPPORT)

    def at(self, C: float) -> Hyperplane | KernelExpansion:
        """The SVM at C: a hyperplane with the linear kernel, else a kernel expansion.

        The expansion is one of standardized columns if so fitted.
        """
        weights, b = self._weights(C)
        if isinstance(self.kernel_, Linear):
            return Hyperplane(*self._hyperplanes(weights, b), self.encoding_.names)
        return KernelExpansion(self.kernel_, self._data.x, weights, b)

    def _hyperplanes(self, weights: Floats, b: Floats) -> tuple[Floats, Floats]:
        """w and b in the units of the table."""
        coef, b = self._data.hyperplanes(weights, b)
        return (coef, b) if self.standardizer_ is None else self.standardizer_.unscale(coef, b)

    def _weights(self, C: float) -> tuple[Floats, Floats]:
        """(y α as n x k, b) at C."""
        self._within(C)
        weights = np.stack([path.y * path.alpha(C) for path in self.paths_], axis=1)
        return weights, np.array([path.intercept(C) for path in self.paths_])

    def _within(self, C: float) -> None:
        check_is_fitted(self)
        reach = min(path.end for path in self.paths_)
        if not 0.0 < C <= reach:
            raise InputError(
                f"C={C!r} is not on the path, which goes from 0 to {reach:.4g}.",
                remedy="Give a C in between, or fit with a larger C_max.",
            )

    @property
    def hyperplane_(self) -> Hyperplane:
        """w·x + b at ``C_``, for the linear kernel: signed distances, margins, projections."""
        if "coef_" not in vars(self):
            raise AttributeError("hyperplane_ exists after fit with the linear kernel only.")
        return Hyperplane(self.coef_, self.intercept_, self.encoding_.names)

    @property
    def coef_path_(self) -> Any:
        """w at every breakpoint (m x d), with the linear kernel; a list of them for K classes."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("Only the linear kernel has coefficients. Use at(C).")
        if self._training is None:
            raise AttributeError("The training rows are not stored with this model. Fit again.")
        coefs = []
        for path in self.paths_:
            points = path.breakpoints
            weights = np.zeros((len(path.y), len(points)))
            for j, C in enumerate(points):
                weights[:, j] = path.y * path.alpha(C)
            coefs.append(self._hyperplanes(weights, np.zeros(len(points)))[0])
        return coefs[0] if len(coefs) == 1 else coefs

    def gaps(self, C: Any = None) -> Any:
        """Relative duality gap at each C (None: at every breakpoint); NaN if not Mercer."""
        data, found = self._data, []
        for path in self.paths_:
            points = path.breakpoints if C is None else np.atleast_1d(C)
            found.append(gaps_along(path, data.gram, points, mercer=data.mercer))
        return found[0] if len(found) == 1 else found

    # -- choice of C ----------------------------------------------------------------------------

    def cross_validate(self, cv: Any = None, rule: str | None = None) -> Self:
        """Choose ``C_`` by the cross-validated error, for all C at once."""
        self.Cs_, self.errors_ = self._fold_errors(cv)
        chosen = rules.RULES[rule or self.rule](1.0 / self.Cs_, self.errors_)
        return self._predict_at(float(self.Cs_[chosen]))

    def _fold_errors(self, cv: Any) -> tuple[Floats, Floats]:
        """Values of C, and their errors (m x folds)."""
        data = self._data
        folds = path_folds(data, cv if cv is not None else self.cv)
        reaches: list[float] = []

        def traces(rows: Ints) -> list[SVMTrace]:
            paths = self._traces(rows)
            reaches.append(min(path.end for path in paths))
            return paths

        if len(self.classes_) == 2:
            errors = errors_for_all_C(data, folds, traces, self.C_max_)
        else:
            errors = errors_at_breakpoints(data, folds, traces, self.paths_, self.C_max_)
        if min(reaches) < self.C_max_:
            early = sum(reach < self.C_max_ for reach in reaches)
            warn(
                "SEP003",
                f"the paths of {early} of {len(reaches)} folds end before C = {self.C_max_:.4g}, "
                f"the first at C = {min(reaches):.4g}: beyond, their errors are those at the end. "
                "Choose C by SVCSearch.",
            )
        return errors

    def path_figures(
        self,
        X: Any = None,  # noqa: ARG002 - the path has its rows
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,  # noqa: ARG002
        cv: Any = None,
    ) -> PathFigures:
        """What :func:`criteria` reads of the path, which has its training rows already."""
        known = cv is None and hasattr(self, "errors_")
        Cs, errors = (self.Cs_, self.errors_) if known else self._fold_errors(cv)
        return svm_figures(self, self._data, Cs, errors)

    def _predict_at(self, C: float) -> Self:
        """Set ``C_`` and what follows from it."""
        self._within(C)
        data = self._data
        self.C_ = C
        points = [clear_of_rounding(path, data.gram, C) for path in self.paths_]
        weights = np.stack([beta for beta, _ in points], axis=1)
        b = np.array([b for _, b in points])
        proofs = [
            certify_point(path, data.gram, C, *point, mercer=data.mercer)
            for path, point in zip(self.paths_, points, strict=True)
        ]
        self.certificate_ = max(proofs, key=badness)
        self.__dict__.pop("coef_", None)
        if isinstance(self.kernel_, Linear):
            self.coef_, self.intercept_ = self._hyperplanes(weights, b)
        else:
            self.intercept_ = b
        self.expansion_ = KernelExpansion(self.kernel_, data.x, weights, b)
        return self

    # -- predictions ---------------------------------------------------------------------------

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        check_is_fitted(self)
        if isinstance(self.kernel_, Linear):
            scores = np.asarray(multiply(self._design(X), self.coef_.T) + self.intercept_)
        else:
            x = as_list(X) if self._structures else self._design(X)
            given = x if self.standardizer_ is None else self.standardizer_.transform(x)
            scores = self.expansion_.scores(given)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row at ``C_``: by the sign of the score, or by the largest one."""
        return class_labels.label_scores(self.decision_function(X), self.classes_)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_training"}

    def formula(self) -> nodes.ClassFormula:
        """The SVM at the C that was chosen."""
        names = nodes.score_names(self.classes_)
        if "coef_" in vars(self):
            return nodes.by_score(nodes.hyperplanes(self, names), self.classes_)
        z = nodes.standardize_rows(self.standardizer_, nodes.design_of(self))
        return nodes.by_score(nodes.kernel_sum(self.expansion_, z, names), self.classes_)


# -------------------------------------------------------------------------------------------------
# Training data of a path, and its cross-validated errors for all C at once.


#: The paths, one for each output, over some of the training rows.
Traces = Callable[[Ints], list[SVMTrace]]
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True)
class PathTraining:
    """Training data of a path: rows, class codes, weights, and the Gram matrix.

    That of the linear kernel may be centered: the intercept is free, so that nothing but it
    changes, and columns far from zero lose no digits. ``mercer`` says whether a feature map exists.
    """

    x: Matrix
    codes: Ints
    w: Floats
    gram: Floats
    rows: Ints
    n_samples: int
    center: Floats | None = None
    mercer: bool = True

    def traces(
        self, rows: Ints, labels: list[Any], C_max: float, max_changes: int
    ) -> list[SVMTrace]:
        """The path of each output over some of the rows; ``labels`` are the classes."""
        gram = self.gram if len(rows) == len(self.w) else self.gram[np.ix_(rows, rows)]
        found = []
        for output in class_labels.outputs_of(len(labels)):
            y = np.where(self.codes[rows] == output, 1.0, -1.0)
            if (y[0] == y).all():
                raise InputError(
                    f"The training rows of a fold are all or none of class {labels[output]!r}.",
                    remedy="Use stratified folds, such as cv=5.",
                )
            found.append(trace_svm(gram, y, self.w[rows], C_max=C_max, max_changes=max_changes))
        return found

    def by_row(self, values: list[Array], absent: float) -> Array:
        """Values of the weighted rows as (n_samples,) or (n_samples, k); others are ``absent``."""
        whole = np.full((self.n_samples, len(values)), absent, dtype=values[0].dtype)
        whole[self.rows] = np.stack(values, axis=1)
        return cast(Array, whole[:, 0] if len(values) == 1 else whole)

    def hyperplanes(self, weights: Floats, b: Floats) -> tuple[Floats, Floats]:
        """w (k x d) of the linear kernel, and b for rows as given, from that for centered rows."""
        if self.center is None:
            return np.ascontiguousarray(np.asarray(self.x.T @ weights).T), b
        coef = np.ascontiguousarray(((self.x - self.center).T @ weights).T)
        return coef, b - coef @ self.center


def path_training(data: class_labels.CodedRows, kernel: Kernel) -> PathTraining:
    """The Gram matrix of coded rows; warns (SEP007) if the kernel is not Mercer on them."""
    x = data.x
    if isinstance(kernel, Precomputed):
        x = training_gram(x, data.rows, data.n_samples)
    finite_diagonal(kernel, x)
    mercer = check_mercer(kernel, x)
    center = _distant_center(x) if isinstance(kernel, Linear) else None
    gram = np.asarray(kernel.gram(x if center is None else x - center), dtype=np.float64)
    return PathTraining(x, data.codes, data.w, gram, data.rows, data.n_samples, center, mercer)


def _distant_center(x: Matrix) -> Floats | None:
    """A center for dense rows that are far from zero; None if they are not.

    One standard deviation beside the mean: rows centered at the mean itself sum to zero, and
    rounding would decide which of the ties that follow come first.
    """
    if not isinstance(x, np.ndarray):
        return None
    mean, spread = x.mean(axis=0), x.std(axis=0)
    # Standard deviations from zero at which inner products lose digits that matter.
    return mean + spread if (np.abs(mean) > 1e3 * spread).any() else None


def path_folds(data: PathTraining, cv: Any) -> Folds:
    """Stratified folds of the weighted rows, at most as many as the rarest class has rows.

    Copies of a row are one row here, and in one fold.
    """
    cv, copied = DEFAULT_FOLDS if cv is None else cv, None
    if isinstance(cv, int | np.integer):
        # structures are not a table: equal ones have equal rows of the Gram matrix
        columns = data.gram if isinstance(data.x, list) else data.x
        copied = copies_of(columns, data.codes.astype(str))
        distinct = slice(None) if copied is None else np.unique(copied, return_index=True)[1]
        rarest = int(np.bincount(data.codes[distinct]).min())
        if min(int(cv), rarest) < 2:
            raise InputError(
                f"cv={cv} folds cannot be made of n_samples={len(data.codes)} rows: the rarest "
                f"class has {rarest}{'' if copied is None else ' that differ'}.",
                remedy="Give at least 2 rows of each class and 2 folds, or give C.",
            )
        cv = min(int(cv), rarest)
    return folds_of(cv, data.n_samples, rows=data.rows, codes=data.codes, copied=lambda: copied)


def errors_for_all_C(
    data: PathTraining, folds: Folds, traces: Traces, C_max: float
) -> tuple[Floats, Floats]:
    """Two classes: a C between each two steps of the error, and the errors (m x folds)."""

    def error(train: Ints, test: Ints) -> Steps:
        y = np.where(data.codes[test] == 1, 1.0, -1.0)
        cross = data.gram[np.ix_(test, train)]
        return error_steps(traces(train)[0], cross, y, data.w[test], C_max)

    steps = folds.map(error)
    at = np.unique(np.concatenate([step.at for step in steps]))
    at = at[(at > 0.0) & (at < C_max)]
    bounds = np.concatenate([[at[0] / 4.0 if len(at) else C_max / 4.0], at, [C_max]])
    wide = bounds[1:] > bounds[:-1] * (1.0 + 1e-7)  # steps that differ by rounding are one
    Cs = np.sqrt(bounds[1:] * bounds[:-1])[wide]
    return Cs, np.stack([step(Cs) for step in steps], axis=1)


def errors_at_breakpoints(
    data: PathTraining, folds: Folds, traces: Traces, paths: list[SVMTrace], C_max: float
) -> tuple[Floats, Floats]:
    """More classes: the errors at breakpoints, evenly chosen among those of all classes."""
    breakpoints = np.unique(np.concatenate([p.breakpoints for p in paths]))
    breakpoints = breakpoints[breakpoints <= C_max] if len(breakpoints) else np.array([C_max])
    # Values of C at which several classes are compared.
    even = np.linspace(0, len(breakpoints) - 1, min(200, len(breakpoints))).astype(int)
    Cs = breakpoints[even]

    def error(train: Ints, test: Ints) -> Floats:
        cross, scores = data.gram[np.ix_(test, train)], []
        for path in traces(train):
            points = np.minimum(Cs, path.end)
            segments = np.array([path.segment_of(C) for C in points])
            scores.append(scores_along(path, cross, points, segments))
        wrong = np.argmax(np.stack(scores), axis=0) != data.codes[test][:, None]
        return np.asarray(np.average(wrong, axis=0, weights=data.w[test]))

    return Cs, np.stack(folds.map(error), axis=1)


# -------------------------------------------------------------------------------------------------
# What criteria of complexity read of the path of a support vector machine.
#
# A margin of 1/‖f‖ around rows within a ball of radius R bounds the VC dimension of hyperplanes of
# that margin by R²‖f‖² + 1, however many columns there are.


NO_LIKELIHOOD = "a support vector machine has no likelihood."
MARGIN = (
    "R²‖w‖² + 1 stands for the VC dimension; the margin was seen before it was bounded, so that "
    "this ranks models and guarantees nothing."
)
SEVERAL = "the bound is that of two classes."


def svm_figures(model: Any, data: PathTraining, Cs: Floats, errors: Floats) -> PathFigures:
    """Figures at ``Cs``, thinned, whose cross-validated ``errors`` (m x folds) are known."""
    at = _thin(errors.mean(axis=1))
    C, losses = Cs[at], errors[at]
    reasons = dict.fromkeys(("AIC", "AICc", "BIC", "MDL", "evidence"), NO_LIKELIHOOD)
    capacity = wrong = None
    if len(model.paths_) == 1 and data.mercer:
        reasons["structural risk"] = MARGIN
        capacity, wrong = margin_capacity(model.paths_[0], data, C)
    else:
        reasons["structural risk"] = SEVERAL if data.mercer else "the kernel is not Mercer."
    return PathFigures(
        "C",
        tuple(C.tolist()),
        1.0 / C,
        float(data.w.sum()),
        capacity=capacity,
        errors=wrong,
        fold_losses=losses,
        loss="error rate",
        reasons=reasons,
    )


def _thin(means: Floats) -> Ints:
    """Positions of points spread evenly, and of the least error."""
    m = len(means)
    # Values of C that are compared, at most.
    evenly = np.linspace(0, m - 1, min(m, 60)).round().astype(np.int64)
    return np.unique(np.append(evenly, int(means.argmin())))


def margin_capacity(trace: SVMTrace, data: PathTraining, C: Floats) -> tuple[Floats, Floats]:
    """R²‖f‖² + 1, at most the number of rows, and the fraction of errors, at each C.

    R is the largest distance of a row from the mean, no less than the radius of the ball.
    """
    gram, w, n = data.gram, data.w, float(data.w.sum())
    share = w / n
    centered = np.diag(gram) - 2.0 * (gram @ share) + share @ gram @ share
    radius = float(np.maximum(centered, 0.0).max())
    segments = np.array([trace.segment_of(float(c)) for c in C], dtype=np.int64)
    beta = np.stack([trace.y * trace.alpha(float(c)) for c in C], axis=1)
    norms = np.einsum("ij,ij->j", beta, gram @ beta)
    scores = scores_along(trace, gram, C, segments)
    wrong = (scores > 0.0) != (trace.y > 0.0)[:, None]
    errors = np.average(wrong, axis=0, weights=w)
    return np.minimum(radius * np.maximum(norms, 0.0) + 1.0, n), np.asarray(errors)

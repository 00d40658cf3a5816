"""The exact regularization path of an SVM over C, and the C chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import KernelModel
from separatrix.estimators.class_labels import ClassLabels, coded_items, coded_rows
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.kernel_expansion import KernelExpansion
from separatrix.kernels import Linear
from separatrix.kernels.features import as_list
from separatrix.matrices.products import multiply
from separatrix.messages import InputError, check_option, warn
from separatrix.rows.block import Floats, Ints
from separatrix.selection import rules
from separatrix.selection.criteria.figures import PathFigures
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.certificate import badness
from separatrix.svm.path.cross_validation import (
    PathTraining,
    errors_at_breakpoints,
    errors_for_all_C,
    path_folds,
    path_training,
)
from separatrix.svm.path.figures import svm_figures
from separatrix.svm.path.scores import certify_point, clear_of_rounding, gaps_along
from separatrix.svm.path.state import NON_SUPPORT
from separatrix.svm.path.trace import SVMTrace
from separatrix.svm.tuning.validation import feature_variance

#: Rows whose Gram matrix is computed at most.
MOST_ROWS = 15_000
#: The default end of the path, in units of one over the variance in the feature space.
FAR = 1e3


class SVMPath(ClassifierMixin, KernelModel, ClassLabels):
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
        Coefficient of a kernel given by name, as in scikit-learn.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
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
        Weights of classes, which multiply those of the rows.
    max_changes : int, default=200000
        Limit of events along one path.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the linear kernel's
        coefficients are those of the columns as given.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
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

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        C: float | None = None,
        C_max: float | None = None,
        cv: Any = None,
        rule: str = "min",
        class_weight: Any = None,
        max_changes: int = 200_000,
        standardize: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.C_max = C_max
        self.cv = cv
        self.rule = rule
        self.class_weight = class_weight
        self.max_changes = max_changes
        self.standardize = standardize

    standardizer_: Standardizer | None
    _training: PathTraining | None = None

    # -- the path ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trace the path of ``X`` and labels ``y``, or of :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        read = coded_items if self._structures else coded_rows
        coded = read(self, X, y, sample_weight, self.class_weight)
        if len(coded.codes) > MOST_ROWS:
            raise InputError(
                f"The path needs the Gram matrix, {len(coded.codes)} x {len(coded.codes)}.",
                remedy=f"Use at most {MOST_ROWS} rows, or LinearSVC at a few values of C.",
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
        self.C_max_ = float(self.C_max or FAR / (variance if variance > 0.0 else 1.0))
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
        found = []
        for path in self.paths_:
            points = path.breakpoints
            weights = np.zeros((len(path.y), len(points)))
            for j, C in enumerate(points):
                weights[:, j] = path.y * path.alpha(C)
            found.append(self._hyperplanes(weights, np.zeros(len(points)))[0])
        return found[0] if len(found) == 1 else found

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
        if len(self.classes_) == 2:
            return errors_for_all_C(data, folds, self._traces, self.C_max_)
        return errors_at_breakpoints(data, folds, self._traces, self.paths_, self.C_max_)

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

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row at ``C_``: by the sign of the score, or by the largest one."""
        return self._predicted(self.decision_function(X))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_training"}

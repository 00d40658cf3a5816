"""The support vector machine for every C at once, and the C that predicts best."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.class_weights import weighted_coded_rows
from separatrix.estimators.coded_rows import CodedRows, coded_items, coded_rows, outputs_of
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.kernel_expansion import KernelExpansion
from separatrix.kernels import Kernel, Linear, Precomputed, kernel_from
from separatrix.kernels.precomputed import require_symmetric
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.selection import rules
from separatrix.svm.path.cross_validation import (
    PathTraining,
    errors_compared,
    errors_for_all,
    far_middle,
    folds_among,
)
from separatrix.svm.path.scores import certify_point, gaps_along
from separatrix.svm.path.trace import SVMTrace, trace_svm

#: Rows whose Gram matrix is held at most.
MOST_ROWS = 15_000
#: The default end of the path, in units of one over the variance of the rows.
FAR = 1e3


class SVMPath(ClassifierMixin, ClassLabels):
    """min over f, b of ½‖f‖² + C Σ ω max(0, 1 − y (f(x) + b)),   for all C from 0 to ``C_max``.

    Between breakpoints α, w and b are straight lines in C; ``at(C)`` is exact for any C. ``C_`` is
    the value with the least error on held-out rows: with two classes that error is known as a step
    function of C, with more it is compared at breakpoints. Several classes have a path each,
    against the rest, and one common C.

    Parameters
    ----------
    kernel : Kernel, "linear", "rbf", "poly", "sigmoid", "precomputed" or function, default="linear"
        Kernels on structures take lists of Python objects.
    gamma, degree, coef0 : as in scikit-learn, for kernels given by name.
    C : float or None, default=None
        Predict at this C; None chooses it by cross-validation.
    C_max : float or None, default=None
        End of the path; None is 10³ over the variance of the rows in the kernel's space.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn: a number (None is 5) keeps the shares of the classes, and is
        lowered to the number of rows of the rarest one.
    rule : {"min", "one_se"}, default="min"
        Take the C of the least mean error, or the smallest C within one standard error of it.
    class_weight : dict, "balanced" or None
    max_changes : int, default=200000
        Limit of changes along one path.

    Attributes
    ----------
    breakpoints_ : every C at which a row comes to its margin or leaves it; a list for K classes.
    paths_ : the segments of each path.
    C_ : the chosen C; ``Cs_`` and ``errors_`` (m x folds): the held-out errors that chose it.
    alpha_, coef_ (linear kernel), intercept_, expansion_ : the machine at ``C_``.
    kernel_ : the kernel used.
    certificate_ : primal, dual, gap and worst violation at ``C_``; of several classes the worst.
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

    # -- the path ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trace the path of ``X`` and labels ``y``, or of :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        coded = (coded_items if self._structures else coded_rows)(self, X, y, sample_weight)
        coded = weighted_coded_rows(coded, self.class_weight, self.classes_)
        if len(coded.codes) > MOST_ROWS:
            raise InputError(
                f"The path needs all {len(coded.codes)} x {len(coded.codes)} inner products.",
                remedy=f"Use at most {MOST_ROWS} rows, or LinearSVC at a few values of C.",
            )
        if not self._structures:
            self.encoding_ = coded.encoding
        self._training = training = self._pairs(coded)
        share = coded.w / coded.w.sum()
        variance = float(share @ np.diag(training.gram) - share @ training.gram @ share)
        self.C_max_ = float(self.C_max or FAR / (variance if variance > 0.0 else 1.0))
        self.paths_ = self._traces(np.arange(len(coded.codes)))
        breaks = [path.breakpoints for path in self.paths_]
        self.breakpoints_ = breaks[0] if len(breaks) == 1 else breaks
        reach = min(path.end for path in self.paths_)
        if reach < self.C_max_:
            warn("SEP003", f"the path is known up to C = {reach:.4g}: beyond, rounding decides.")
            self.C_max_ = reach
        if self.C is None:
            return self.cross_validate()
        self.__dict__.pop("errors_", None)
        return self._settle(float(self.C))

    def _check(self) -> None:
        if self.rule not in rules.RULES:
            raise InputError(f"rule={self.rule!r} must be one of {', '.join(rules.RULES)}.")
        for name in ("C", "C_max"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name}={value!r} must be a number greater than 0, or None.")

    @property
    def _structures(self) -> bool:
        return isinstance(self.kernel, Kernel) and not self.kernel.of_vectors

    def _pairs(self, coded: CodedRows) -> PathTraining:
        x = coded.x
        self.kernel_ = kernel_from(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            x=x,
            sample_weight=coded.w,
        )
        if isinstance(self.kernel_, Precomputed) and len(coded.rows) < coded.given:
            x = x[:, coded.rows]
        if isinstance(self.kernel_, Precomputed):
            require_symmetric(x)
        middle = far_middle(x) if isinstance(self.kernel_, Linear) else None
        gram = self.kernel_.gram(x if middle is None else x - middle)
        gram = np.asarray(gram, dtype=np.float64)
        return PathTraining(x, coded.codes, coded.w, gram, coded.rows, coded.given, middle)

    def _traces(self, rows: NDArray[np.int64]) -> list[SVMTrace]:
        """A path for each output over some of the training rows."""
        from_all, traces = self._kept, []
        gram = from_all.gram if len(rows) == len(from_all.w) else from_all.gram[np.ix_(rows, rows)]
        for own in outputs_of(len(self.classes_)):
            y = np.where(from_all.codes[rows] == own, 1.0, -1.0)
            if (y[0] == y).all():
                label = self.classes_.tolist()[own]
                raise InputError(
                    f"A fold trains on rows that are all or none of class {label!r}.",
                    remedy="Use folds that keep the shares of the classes, such as cv=5.",
                )
            w = from_all.w[rows]
            limit = int(self.max_changes)
            traces.append(trace_svm(gram, y, w, C_max=self.C_max_, max_changes=limit))
        return traces

    @property
    def _kept(self) -> PathTraining:
        check_is_fitted(self)
        kept: PathTraining | None = self.__dict__.get("_training")
        if kept is None:
            raise InputError(
                "The training rows were left behind when this model was stored.",
                remedy="Fit again, or predict at the stored C_.",
            )
        return kept

    # -- points of it --------------------------------------------------------------------------

    def alpha_at(self, C: float) -> Floats:
        """The α of every training row at C: (n,) for two classes, else (n, K)."""
        self._within(C)
        kept = self._kept
        alpha = np.zeros((kept.given, len(self.paths_)))
        alpha[kept.rows] = np.stack([path.alpha(C) for path in self.paths_], axis=1)
        return alpha[:, 0] if alpha.shape[1] == 1 else alpha

    def group_at(self, C: float) -> NDArray[np.int8]:
        """Of every training row: 1 inside its margin, 0 on it, −1 outside; (n,) or (n, K)."""
        self._within(C)
        kept = self._kept
        group = np.full((kept.given, len(self.paths_)), -1, dtype=np.int8)
        group[kept.rows] = np.stack([p.states(p.segment_of(C)) for p in self.paths_], axis=1)
        return group[:, 0] if group.shape[1] == 1 else group

    def at(self, C: float) -> Hyperplane | KernelExpansion:
        """The machine at C: a hyperplane with the linear kernel, else a kernel expansion."""
        weights, b = self._weights(C)
        x = self._kept.x
        if isinstance(self.kernel_, Linear):
            return Hyperplane(*self._linear(weights, b), self.encoding_.names)
        return KernelExpansion(self.kernel_, x, weights, b)

    def _linear(self, weights: Floats, b: Floats) -> tuple[Floats, Floats]:
        """w of every path and b for rows as they are, from b for rows seen from their middle."""
        kept = self._kept
        if kept.middle is None:
            return np.ascontiguousarray(np.asarray(kept.x.T @ weights).T), b
        coef = np.ascontiguousarray(((kept.x - kept.middle).T @ weights).T)
        return coef, b - coef @ kept.middle

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
    def coef_path_(self) -> Any:
        """w at every breakpoint (m x d), with the linear kernel; a list of them for K classes."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise InputError("Only the linear kernel has coefficients.", remedy="Use at(C).")
        found = []
        for path in self.paths_:
            points = path.breakpoints
            weights = np.stack([path.y * path.alpha(C) for C in points], axis=1)
            found.append(self._linear(weights, np.zeros(len(points)))[0])
        return found[0] if len(found) == 1 else found

    def gaps(self, C: Any = None) -> Any:
        """Relative gap between primal and dual at each C (None: at every breakpoint)."""
        gram, found = self._kept.gram, []
        for path in self.paths_:
            points = path.breakpoints if C is None else np.atleast_1d(C)
            found.append(gaps_along(path, gram, points))
        return found[0] if len(found) == 1 else found

    # -- choosing ------------------------------------------------------------------------------

    def cross_validate(self, cv: Any = None, rule: str | None = None) -> Self:
        """Choose ``C_`` by the error on held-out rows, for all C at once."""
        kept = self._kept
        pairs = folds_among(kept, cv if cv is not None else self.cv)
        if len(self.classes_) == 2:
            self.Cs_, self.errors_ = errors_for_all(kept, pairs, self._traces, self.C_max_)
        else:
            self.Cs_, self.errors_ = errors_compared(
                kept, pairs, self._traces, self.paths_, self.C_max_
            )
        chosen = rules.RULES[rule or self.rule](1.0 / self.Cs_, self.errors_)
        return self._settle(float(self.Cs_[chosen]))

    def _settle(self, C: float) -> Self:
        """Predict at C from now on."""
        weights, b = self._weights(C)
        kept = self._kept
        self.C_ = C
        self.certificate_ = self._certificate(C, weights, b)
        self.__dict__.pop("coef_", None)
        if isinstance(self.kernel_, Linear):
            self.coef_, b = self._linear(weights, b)
        self.intercept_ = b
        self.expansion_ = KernelExpansion(self.kernel_, kept.x, weights, b)
        return self

    def _certificate(self, C: float, weights: Floats, b: Floats) -> Certificate:
        """The proof at C; of several classes the worst."""
        gram = self._kept.gram
        found = [
            certify_point(path, gram, C, path.y * weights[:, k], float(b[k]), tol=1e-6)
            for k, path in enumerate(self.paths_)
        ]
        return max(found, key=lambda c: (not c.holds, c.gap / max(c.primal, 1e-300)))

    # -- predictions ---------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        check_is_fitted(self)
        if isinstance(self.kernel_, Linear):
            scores = np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        else:
            x = list(X) if self._structures else self._design(X)
            scores = self.expansion_.scores(x)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row at ``C_``: by the sign of the score, or by the largest one."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_training"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = given or isinstance(self.kernel, Precomputed)
        return tags

"""Support vector classification: the widest margin in the space of a kernel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_weights import weighted_coded_rows
from separatrix.estimators.coded_rows import CodedRows, coded_items, coded_rows
from separatrix.estimators.wrapped import joint_certificate
from separatrix.messages import InputError
from separatrix.probability.probability_mixin import ProbabilityMixin
from separatrix.rows.block import Floats, Ints
from separatrix.svm.base import SupportVectors
from separatrix.svm.binary_svm import BinarySVM, SolverOptions, changes, warn_if_short
from separatrix.svm.dual.points import Points
from separatrix.svm.multiclass import by_pairs, part_of, shared, side_by_side, two_sides, votes_of
from separatrix.threads import one_blas_thread

#: Classes of which every pair may have a machine.
MOST_CLASSES = 300


class SVC(ClassifierMixin, ProbabilityMixin, SupportVectors):
    """min over w, b of ½‖w‖² + C Σ max(0, 1 − y (w·φ(x) + b)),     φ the map behind the kernel.

    Two classes need one machine. Of K classes every pair has its own and the one with most votes
    wins (``decision="ovo"``), or each has one against the rest and the largest score wins
    (``"ovr"``). ``C=inf`` allows no mistakes, and is refused with a proof where some are needed.

    Parameters
    ----------
    C : float, default=1.0
        Price of a row inside the margin; a row's weight multiplies it.
    kernel : Kernel, function or name, default="rbf"
        A kernel of :mod:`separatrix.kernels`, scikit-learn's name of one, "precomputed"
        (``X`` is then the Gram matrix), or a function of two matrices. Kernels on structures take
        lists of Python objects.
    degree, gamma, coef0 : parameters of a kernel given by name, as in scikit-learn.
    standardize : bool, default=False
        Measure every column in its deviation first, so that units do not matter.
    decision : {"ovo", "ovr"}, default="ovo"
    probability : bool, default=False
        Learn probabilities from the scores of held-out rows (Platt); ``predict`` then answers the
        most probable class.
    class_weight : dict, "balanced" or None
    tol : float, default=1e-3
        Violation of the optimality conditions at which to stop, in units of the margin. Tables of
        up to about a thousand rows are solved up to rounding anyway.
    cache_size : float, default=500
        Megabytes for kernel rows.
    time_budget : float or None
        Seconds after which the best answer so far is returned, with its gap.
    max_iter : int, default=-1
        Pairs of coefficients to change at most, for each machine; −1 for 1000 n + 10⁶.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes: one score for each class, or one for each machine.
    shrinking, break_ties, verbose, random_state
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    support_, support_vectors_, n_support_ : rows that carry the boundaries, also by class.
    dual_coef_ : their coefficients β = α y, (machines, support vectors); for pairs of K classes as
        in scikit-learn, (K − 1, support vectors), positive for the later class.
    intercept_ : b of each machine.
    coef_ : w of each machine, for the linear kernel.
    machines_ : what each machine found, with its certificate.
    alpha_, slack_, group_, t_, margin_ : of every training row, for two classes; the score is
        w·φ(x) − t and the margin 1/‖w‖.
    certificate_ : primal and dual value, gap, worst violation.
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        standardize: bool = False,
        decision: str = "ovo",
        probability: bool = False,
        class_weight: Any = None,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        shrinking: bool = True,
        break_ties: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.standardize = standardize
        self.decision = decision
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.shrinking = shrinking
        self.break_ties = break_ties
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        how = SolverOptions.of(self)
        for name in ("decision", "decision_function_shape"):
            if getattr(self, name) not in ("ovo", "ovr"):
                raise InputError(f"{name}={getattr(self, name)!r}.", remedy="'ovo' or 'ovr'.")
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        data = (
            coded_items(self, X, y, sample_weight)
            if self._structures
            else self._table(X, y, sample_weight)
        )
        data = weighted_coded_rows(data, self.class_weight, self.classes_)
        points = self._points(data.x, data.w, data.rows)
        bound = float(self.C) * data.w
        self.svms_ = self._svms(points, data.codes, bound, how)
        self._expose(points, data.codes, data.rows, data.given)
        self.bound_ = bound if len(self.classes_) == 2 else np.zeros(0)
        warn_if_short(self.svms_, points)
        return self

    # -- rows in ---------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any, sample_weight: Any) -> CodedRows:
        data = coded_rows(self, X, y, sample_weight)
        self.encoding_ = data.encoding
        return data

    # -- machines --------------------------------------------------------------------------------

    def _svms(self, points: Points, codes: Ints, C: Floats, how: SolverOptions) -> list[BinarySVM]:
        k = len(self.classes_)
        every = np.arange(points.n)
        if k == 2:
            return [two_sides(points, every, np.where(codes == 1, 1.0, -1.0), C, how)]
        if self.decision == "ovo" and k > MOST_CLASSES:
            raise InputError(
                f"{k} classes make {k * (k - 1) // 2} pairs, and each needs a machine.",
                remedy="Use decision='ovr': one machine for each class.",
            )
        points = shared(points, how.megabytes)
        if self.decision == "ovr":
            sides = [(every, np.where(codes == c, 1.0, -1.0)) for c in range(k)]
            return [two_sides(points, rows, side, C, how) for rows, side in sides]
        by_class = [np.flatnonzero(codes == c) for c in range(k)]

        def pair(ends: tuple[int, int]) -> BinarySVM:
            rows = np.sort(np.concatenate([by_class[ends[0]], by_class[ends[1]]]))
            side = np.where(codes[rows] == ends[1], 1.0, -1.0)
            return two_sides(part_of(points, rows), rows, side, C[rows], how)

        # held for all pairs at once: else the time at which one ends would tell in another's sums
        with one_blas_thread(), ThreadPoolExecutor(2) as pool:
            return list(pool.map(pair, combinations(range(k), 2)))

    def _expose(self, points: Points, codes: Ints, kept: Ints, n: int) -> None:
        """Support vectors, coefficients and expansions, from the machines."""
        k, svms = len(self.classes_), self.svms_
        self.rows_given_ = n
        self.intercept_ = np.array([m.offset for m in svms])
        pairs = k > 2 and self.decision == "ovo"
        weights = by_pairs(svms, codes, k) if pairs else side_by_side(svms, points.n)
        used = np.flatnonzero((weights != 0.0).any(axis=1))
        order = used[np.argsort(codes[used], kind="stable")] if pairs else used
        self.support_ = kept[order]
        self.n_support_ = np.bincount(codes[used], minlength=k)
        self.dual_coef_ = np.ascontiguousarray(weights[order].T)
        parts = [order[codes[order] == c] for c in range(k)] if pairs else [order]
        offsets = np.zeros(k - 1) if pairs else self.intercept_
        self.expansions_ = [
            self._expansion(points, part, kept, n, weights[part], offsets) for part in parts
        ]
        self.__dict__.pop("coef_", None)
        if self._is_linear:
            each = np.zeros((points.n, len(svms)))
            for j, m in enumerate(svms):
                each[m.rows, j] = m.beta
            self.coef_, self.intercept_ = self._linear(each, points.x, self.intercept_)
        if len(svms) == 1:
            self.certificate_ = svms[0].certificate
        else:
            self.certificate_ = joint_certificate(
                f"{len(svms)} machines of two classes decide among {k}",
                [SimpleNamespace(certificate_=m.certificate) for m in svms],
            )
        self.n_iter_ = np.array([changes(m) for m in svms])
        # machines keep places in the table that was given, not among the rows that count
        self.svms_ = [
            BinarySVM(kept[m.rows], m.beta, m.slack, m.offset, m.square, m.certificate)
            for m in svms
        ]

    # -- answers ---------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """A column for each machine."""
        check_is_fitted(self)
        if self._is_linear:
            return np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        x, k = self._placed(X), len(self.classes_)
        if k == 2 or self.decision == "ovr":
            return self.expansions_[0].scores(x)
        parts = [expansion.scores(x) for expansion in self.expansions_]
        pairs = combinations(range(k), 2)
        scores = np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)
        return np.asarray(scores + self.intercept_)

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        if self.decision == "ovr" or self.decision_function_shape == "ovo":
            return scores
        return votes_of(scores, len(self.classes_))

    def _class_scores(self, X: Any) -> Floats:
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision == "ovr" else votes_of(scores, len(self.classes_))

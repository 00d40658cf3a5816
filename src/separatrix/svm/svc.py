"""Support vector classification with kernels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import class_labels, wrapped
from separatrix.estimators.base import KernelModel, codes_of, known_codes, reads_tables
from separatrix.formula import nodes
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels import Custom, Kernel, KernelExpansion, Linear, Precomputed
from separatrix.kernels.base import training_gram
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.structures import as_list, holds_objects
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate, Status
from separatrix.parameters import declare_parameters
from separatrix.probability.calibrations import PlattCalibration, calibrate
from separatrix.probability.multiclass import couple
from separatrix.rows.schema import n_items, take_items
from separatrix.selection.folds import folds_of
from separatrix.statistics.moments import Standardizer
from separatrix.svm import class_pairs
from separatrix.svm.problem import SolverOptions, classification_problem
from separatrix.svm.solver import (
    BinarySVM,
    GramMatrix,
    alpha_of,
    by_row,
    certify,
    few_columns,
    fit_kernel_svm,
    group_of,
    margin_of,
    slack_of,
    threshold_of,
)
from separatrix.threads import on_one_blas_thread, parallel_map, pieces

#: scikit-learn's default of ``probability``, which means False.
DEPRECATED = "deprecated"

# -------------------------------------------------------------------------------------------------
# What all SVMs with a kernel share: kernels in, expansions out.


class KernelSVM(KernelModel):
    """An SVM with any kernel: ``expansions_`` hold its support vectors."""

    cache_size: float
    standardize: bool
    svms_: list[BinarySVM]
    expansions_: list[KernelExpansion]
    intercept_: Any
    certificate_: Certificate
    #: w·x + b in the units of the table, for the linear kernel: distances, margins, projections.
    hyperplane_: Hyperplane
    alpha_, slack_, group_ = property(alpha_of), property(slack_of), property(group_of)
    margin_, t_ = property(margin_of), property(threshold_of)
    _items = False  # the function given as kernel compares Python objects

    # -- the kernel ------------------------------------------------------------------------------

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel_, Linear)

    @property
    def _structures(self) -> bool:
        return self._items or super()._structures

    def _recognize_items(self, X: Any) -> None:
        """Note whether ``kernel`` is a function and ``X`` holds strings or other objects."""
        function = callable(self.kernel) and not isinstance(self.kernel, Kernel)
        self._items = function and holds_objects(X)

    def _set_kernel(self, x: Any, w: Floats | None = None) -> None:
        super()._set_kernel(x, w)
        if self._items:
            self.kernel_ = Custom(self.kernel, of_vectors=False)

    def _gram_matrix(
        self, x: Any, w: Floats, rows: Ints, n: int, sample_weight: Floats
    ) -> GramMatrix:
        """The kernel of the rows of positive weight w among ``n``, standardized if so chosen.

        ``gamma="scale"`` is that of the rows with their ``sample_weight``, not weights of classes.
        """
        self.standardizer_ = None
        self.shape_fit_ = (n,) if self._structures else (n, int(x.shape[1]))
        if self._precomputed:
            x = training_gram(x, rows, n)
        elif self.standardize and not self._structures:
            self.standardizer_ = Standardizer.from_rows(x, w)
            x = self.standardizer_.transform(x)
        self._set_kernel(x, sample_weight)
        mercer = self.kernel_.mercer or check_mercer(self.kernel_, x)
        return GramMatrix(self.kernel_, x, mercer=mercer)

    def _kernel_input(self, X: Any) -> Any:
        """New rows as the kernel takes them."""
        check_is_fitted(self)
        if self._structures:
            return as_list(X)
        x = self._design(X)
        return x if self.standardizer_ is None else self.standardizer_.transform(x)

    # -- the solution ----------------------------------------------------------------------------

    def _expose(
        self,
        gram: GramMatrix,
        svms: list[BinarySVM],
        rows: Ints,
        n: int,
        codes: Ints | None = None,
        weights: Floats | None = None,
    ) -> Ints:
        """Set the fitted attributes; returns the positions of the support vectors among ``rows``.

        ``rows`` are those of positive weight among ``n``. Support vectors are in order of their
        class ``codes``; ``weights`` are dual coefficients of pairs of classes, a row for each row.
        """
        self.intercept_ = np.array([svm.intercept for svm in svms])
        pairs = weights is not None
        if weights is None:
            weights = by_row(svms, [svm.beta for svm in svms], gram.n)
        support = np.flatnonzero(weights.any(axis=1))
        if codes is not None:
            support = support[np.argsort(codes[support], kind="stable")]
        parts = [support]
        if pairs and codes is not None:
            parts = [support[codes[support] == c] for c in range(weights.shape[1] + 1)]
        self.support_ = rows[support].astype(np.int32)
        dual = np.ascontiguousarray(weights[support].T)
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(gram.x) else dual
        b = np.zeros(weights.shape[1]) if pairs else self.intercept_
        self.expansions_ = [
            self._expansion(gram, part, rows, n, weights[part], b) for part in parts
        ]
        self._set_hyperplane(gram, svms)
        if len(rows) < n:
            svms = [replace(svm, rows=rows[svm.rows]) for svm in svms]
        self.svms_, self.n_samples_fit_ = svms, n
        self.fit_status_ = int(any(svm.status != Status.SOLVED for svm in svms))
        certify(self, svms, lambda: _cause_of_inaccuracy(gram, svms))
        return support

    def _expansion(
        self, gram: GramMatrix, index: Ints, rows: Ints, n: int, weights: Floats, b: Floats
    ) -> KernelExpansion:
        """The rows of ``index`` as centers; of a precomputed kernel, their row numbers."""
        if not len(index):  # a constant: one center of weight zero
            index, weights = np.zeros(1, dtype=np.int64), np.zeros((1, weights.shape[1]))
        centers = rows[index] if gram.precomputed else gram.items(index)
        return KernelExpansion(self.kernel_, centers, weights, b, n if gram.precomputed else 0)

    def _set_hyperplane(self, gram: GramMatrix, svms: list[BinarySVM]) -> None:
        """``hyperplane_`` and ``intercept_`` in the units of the table, for the linear kernel."""
        self.__dict__.pop("hyperplane_", None)
        if not self._is_linear:
            return
        coef = np.stack(
            [svm.coef if len(svm.coef) else svm.beta @ gram.items(svm.rows) for svm in svms]
        )
        if self.standardizer_ is not None:
            coef, self.intercept_ = self.standardizer_.unscale(coef, self.intercept_)
        self.hyperplane_ = Hyperplane(coef, self.intercept_, self.encoding_.names)

    @property
    def coef_(self) -> Any:
        """The normal w of each binary SVM, for the linear kernel; read only."""
        plane = vars(self).get("hyperplane_")
        if plane is None:
            raise AttributeError("coef_ exists after fit with the linear kernel only.")
        if sparse.issparse(self.expansions_[0].centers):
            coef: Any = sparse.csr_array(plane.coef)
            coef.data.flags.writeable = False
            return coef
        coef = plane.coef.view()
        coef.flags.writeable = False
        return coef

    @property
    def support_vectors_(self) -> Any:
        """The support vectors themselves, in the order of ``support_``; none if precomputed."""
        check_is_fitted(self)
        if isinstance(self.kernel_, Precomputed):
            return np.empty((0, 0))
        parts = [expansion.centers for expansion in self.expansions_]
        if self._structures:
            return [item for part in parts for item in part]
        joint: Any = (
            sparse.vstack(parts, format="csr")
            if sparse.issparse(parts[0])
            else np.concatenate(parts)
        )
        return joint if self.standardizer_ is None else self.standardizer_.inverse_transform(joint)

    def _binary_scores(self, names: Sequence[str] = ()) -> nodes.Node:
        """A column for each binary SVM."""
        x, known = nodes.design_of(self), tuple(names)
        plane = vars(self).get("hyperplane_")
        if plane is not None:
            return nodes.Affine(x, plane.coef.T, plane.intercept, names=known)
        z = nodes.standardize_rows(self.standardizer_, x)
        sums = tuple(nodes.kernel_sum(one, z) for one in self.expansions_)
        k = len(sums)
        if k == 1:
            return replace(sums[0], names=known)
        chosen = np.zeros((k * (k - 1), k * (k - 1) // 2))
        for pair, (i, j) in enumerate(combinations(range(k), 2)):
            chosen[i * (k - 1) + j - 1, pair] = 1.0
            chosen[j * (k - 1) + i, pair] = 1.0
        return nodes.Affine(nodes.Joined(sums), chosen, self.intercept_)


def _cause_of_inaccuracy(gram: GramMatrix, svms: list[BinarySVM]) -> str:
    """Why SMO converges slowly, if the columns or the size of the terms show it."""
    x = gram.x
    if isinstance(x, np.ndarray) and x.ndim == 2 and not gram.precomputed:
        spread = x.std(axis=0)
        spread = spread[spread > 0]
        # Ratio of column deviations from which on it is named as a cause of slow convergence.
        if len(spread) and spread.max() >= 1e3 * spread.min():
            return (
                f"The deviations of the columns differ by a factor of "
                f"{spread.max() / spread.min():.0e}, so that the problem is ill-conditioned: "
                "standardize=True helps."
            )
    cost = max(
        float(np.where(np.isinf(svm.C), np.abs(svm.beta), svm.C).max(initial=0.0)) for svm in svms
    )
    size = cost * float(np.abs(gram.diagonal).max())
    if size < 1e10:  # C κ(x, x) from which on it is named as a cause of inaccuracy
        return ""
    return (
        f"C times the largest kernel value is {size:.0e}, and scores are sums of such terms that "
        "must be accurate near ±1: standardize=True or a smaller C helps, and for the linear "
        "kernel LinearSVC or LinearSVR, which do without these sums."
    )


# -------------------------------------------------------------------------------------------------
# Classification by binary SVMs with a kernel: one for each pair of classes, or for each class.


def _has_hyperplane(estimator: Any) -> bool:
    return "hyperplane_" in vars(estimator)


class KernelClassifier(ClassifierMixin, KernelSVM):
    """Two classes have one binary SVM, its score positive for the second class.

    Of K classes every pair i < j has one, its score positive for class i (``decision="ovo"``), or
    each class has one against the rest (``"ovr"``).
    """

    decision = "ovo"
    decision_function_shape: str
    break_ties: bool
    class_weight: Any
    probability: Any
    calibrations_: list[PlattCalibration]

    @abstractmethod
    def _fit_binary(
        self,
        gram: GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> BinarySVM:
        """One binary SVM of labels ±1 and weights; ``classes`` are the names of +1 and −1."""

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit every binary SVM, and expose them in scikit-learn's layout."""
        options = SolverOptions.of(self, self.cache_size)
        for name in ("decision", "decision_function_shape"):
            check_option(name, getattr(self, name), ("ovo", "ovr"))
        self._recognize_items(X)
        if self._structures:
            data = class_labels.coded_items(self, X, y, sample_weight, self.class_weight)
        else:
            data = class_labels.coded_rows(self, X, y, sample_weight, self.class_weight)
            self.encoding_ = data.encoding
        class_labels.refuse_singletons(len(data.codes), self.classes_)
        self.class_weight_ = data.class_weight
        gram = self._gram_matrix(data.x, data.w, data.rows, data.n_samples, data.sample_weight)
        svms = self._fit_svms(gram, data.codes, data.w, options)
        codes, k, weights = data.codes, len(self.classes_), None
        if k > 2 and self.decision == "ovo":
            weights = class_pairs.dual_coef_of_pairs(svms, codes, k)
        support = self._expose(gram, svms, data.rows, data.n_samples, codes, weights)
        self.n_support_ = np.bincount(codes[support], minlength=k).astype(np.int32)
        self.n_iter_ = np.array([max(1, svm.n_iter) for svm in svms], dtype=np.int32)
        return self

    # -- binary SVMs -----------------------------------------------------------------------------

    def _fit_svms(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions
    ) -> list[BinarySVM]:
        k = len(self.classes_)
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        rest = names[0] if k == 2 else "the rest"
        if self.decision == "ovo" and k > 300:  # classes of which every pair may have a binary SVM
            raise InputError(
                f"{k} classes have {k * (k - 1) // 2} pairs, and each needs a binary SVM.",
                remedy="Use decision='ovr': one binary SVM for each class.",
            )
        if k > 2 and not (gram.linear and few_columns(gram.x)):
            gram = gram.compute(options.cache_size)

        if k > 2 and self.decision == "ovo":
            return self._fit_pairs(gram, codes, w, options, names)

        def against_rest(c: int) -> BinarySVM:
            y, every = np.where(codes == c, 1.0, -1.0), np.arange(gram.n)
            return self._fit_binary(gram, y, w, every, options, (names[c], rest))

        return [against_rest(c) for c in class_labels.outputs_of(k)]

    def _fit_pairs(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions, names: list[str]
    ) -> list[BinarySVM]:
        """The binary SVM of every pair of classes; rows of the first, then of the second."""
        by_class = [np.flatnonzero(codes == c) for c in range(len(names))]
        known = self._fit_together(gram, codes, w, options)

        def of_pair(pair: tuple[int, int]) -> BinarySVM:
            i, j = pair
            rows = np.concatenate([by_class[i], by_class[j]])
            y, classes = np.where(codes[rows] == i, 1.0, -1.0), (names[i], names[j])
            return self._fit_binary(gram.subset(rows), y, w[rows], rows, options, classes)

        pairs = list(combinations(range(len(names)), 2))
        left = [p for p, svm in enumerate(known) if svm is None] if known else range(len(pairs))
        fitted_pairs = parallel_map(of_pair, [pairs[p] for p in left])
        solved = dict(zip(left, fitted_pairs, strict=True))
        return [solved[p] if p in solved else known[p] for p in range(len(pairs))]

    def _fit_together(
        self,
        gram: GramMatrix,  # noqa: ARG002
        codes: Ints,  # noqa: ARG002
        w: Floats,  # noqa: ARG002
        options: SolverOptions,  # noqa: ARG002
    ) -> list[Any]:
        """The binary SVMs of all pairs at once, None for one that is not solved; or nothing."""
        return []

    # -- predictions -----------------------------------------------------------------------------

    @property
    def _has_pairs(self) -> bool:
        """Whether every pair of more than two classes has a binary SVM."""
        return len(self.classes_) > 2 and self.decision == "ovo"

    def _scores(self, X: Any) -> Floats:
        """A column for each binary SVM."""
        return self._from_scores(X, lambda scores: scores)

    def _from_scores(self, X: Any, finish: Callable[[Floats], Floats]) -> Floats:
        """A function of the scores of every row; those of many pairs some rows at a time."""
        check_is_fitted(self)
        if self._is_linear:
            return finish(self.hyperplane_.score(self._design(X)))
        x, k = self._kernel_input(X), len(self.classes_)
        if not self._has_pairs:
            return finish(self.expansions_[0].scores(x))
        n, rows = n_items(x), max(64, min(512, class_pairs.ENTRIES // (k * (k - 1) // 2)))
        if n <= rows:
            return finish(class_pairs.pair_scores(self.expansions_, x, self.intercept_))

        def piece(part: slice) -> Floats:
            return finish(
                class_pairs.pair_scores(self.expansions_, take_items(x, part), self.intercept_)
            )

        try:
            return np.concatenate(parallel_map(piece, pieces(n, rows, n // rows)))
        except InputError:  # all rows once more, to name the row among all
            return finish(class_pairs.pair_scores(self.expansions_, x, self.intercept_))

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class.

        With ``decision_function_shape="ovo"`` one for each binary SVM: that of classes i < j is
        positive for i.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2 and self.decision_function_shape == "ovo":
            return self._scores(X)
        return self._from_scores(X, self._by_class)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, most votes, or the largest score."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError(
                "break_ties=True with decision_function_shape='ovo': pairs have no ties.",
                remedy="break_ties must be False when decision_function_shape is 'ovo'.",
            )
        return class_labels.label_scores(self._from_scores(X, self._rank), self.classes_)

    @available_if(_has_hyperplane)  # type: ignore[untyped-decorator]
    def signed_distance(self, X: Any) -> Floats:
        """Distance of every row to the hyperplane, in the units of the columns; linear kernel only.

        Two classes: positive for ``classes_[1]``. More: a column for each binary SVM, that of
        classes i < j positive for i.
        """
        distances = self.hyperplane_.signed_distance(self._design(X))
        return distances[:, 0] if len(self.classes_) == 2 else distances

    @available_if(_has_hyperplane)  # type: ignore[untyped-decorator]
    def margin(self, X: Any, y: Any) -> Floats:
        """Distance of every row to the boundary of its class ``y``; linear kernel only.

        Negative if misclassified. Of several classes: the smallest one among its pairs.
        """
        x, codes, k = self._design(X), known_codes(y, self.classes_), len(self.classes_)
        if k == 2:
            return self.hyperplane_.margin(x, np.where(codes == 1, 1.0, -1.0))
        if not self._has_pairs:
            return self.hyperplane_.class_margin(x, codes)
        nearest = np.full(len(codes), np.inf)
        distances = self.hyperplane_.signed_distance(x)
        for d, (i, j) in zip(distances.T, combinations(range(k), 2), strict=True):
            side = np.where(codes == i, d, np.where(codes == j, -d, np.inf))
            nearest = np.minimum(nearest, side)
        return nearest

    def _class_scores(self, X: Any) -> Floats:
        return self._from_scores(X, self._by_class)

    def _by_class(self, scores: Floats) -> Floats:
        """One score for the second of two classes, or one for each class."""
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return class_pairs.vote_scores(scores, len(self.classes_)) if self._has_pairs else scores

    def _rank(self, scores: Floats) -> Floats:
        """Scores whose largest is the class predicted; the first of several with most votes.

        A score of exactly zero counts for the later class, as in libsvm.
        """
        if len(self.classes_) == 2:
            return np.where(scores[:, 0] >= 0.0, 1.0, -1.0)
        if self.break_ties or not self._has_pairs:
            return self._by_class(scores)
        return class_pairs.count_votes(scores, len(self.classes_), scores > 0.0)[0]

    def _names_of_scores(self) -> tuple[str, ...]:
        return () if self._has_pairs else nodes.score_names(self.classes_)

    def _formula_of(self, scores: nodes.Node, p: nodes.Node | None = None) -> nodes.ClassFormula:
        labels, k, pairs = self.classes_, len(self.classes_), self._has_pairs
        by_class = nodes.Votes(scores, k, zero_is_first=True, break_ties=True) if pairs else scores
        if k == 2:
            chosen = nodes.ChosenLabel(scores, one=True, zero_is_second=True)
            return nodes.ClassFormula(chosen, labels, scores, p, decided_by=scores, by_sign=True)
        plain = scores if self.decision_function_shape == "ovo" else by_class
        if not pairs or self.break_ties:
            chosen = nodes.ChosenLabel(by_class, one=False)
            return nodes.ClassFormula(chosen, labels, plain, p, decided_by=by_class)
        votes = nodes.Votes(scores, k, zero_is_first=False, break_ties=False)
        chosen = nodes.ChosenLabel(votes, one=False)
        return nodes.ClassFormula(chosen, labels, plain, p, decided_by=scores, by_sign=True)

    # -- ``probability=True``: Platt scaling of every binary SVM, coupled to classes -------------
    #
    #     P(i | i or j, x) = 1/(1 + exp(A s(x) + B)),     s the score of the pair i < j
    #
    # A and B maximize the likelihood of out-of-fold scores of the rows of both classes, and the
    # probabilities of all pairs are coupled to one for each class (Wu, Lin and Weng, 2004).
    # Calibrations apply to the very scores that they were fitted to: those of the binary SVMs.

    @property
    def _with_probabilities(self) -> bool:
        return self.probability != DEPRECATED and bool(self.probability)

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self.__dict__.pop("calibrations_", None)
        if self.probability != DEPRECATED:
            name = type(self).__name__
            warnings.warn(
                f"The `probability` parameter of {name} is deprecated in scikit-learn 1.9 and "
                f"removed in 1.11; CalibratedClassifier({name}(), method='platt') stays.",
                FutureWarning,
                stacklevel=2,
            )
        self._fit_classes(X, y, sample_weight)
        if self._with_probabilities:
            self._calibrate(wrapped.labeled_rows(self, X, y, sample_weight))
        return self

    # -- calibration ------------------------------------------------------------------------------

    def _calibrate(self, rows: wrapped.LabeledRows) -> None:
        """One Platt sigmoid for each binary SVM, from scores of rows that it was not fitted to."""
        scores, codes, w = self._out_of_fold(rows)
        self.calibrations_ = []
        for s, (positive, takes_part) in zip(scores.T, self._targets(codes), strict=True):
            weight = None if w is None else w[takes_part]
            fit = PlattCalibration().fit(s[takes_part], positive[takes_part], weight)
            self.calibrations_.append(fit)
        claim = f"Calibrated (platt) on {len(codes)} out-of-fold scores"
        joint = wrapped.joint_certificate(claim, [*self.calibrations_, self])
        certificate = self.certificate_
        self.certificate_ = (
            replace(certificate, notes=(*certificate.notes, f"{claim}.")) if joint.holds else joint
        )

    def _targets(self, codes: Ints) -> list[tuple[Any, Any]]:
        """Of each binary SVM: which rows are of its positive class, and which take part."""
        k, every = len(self.classes_), np.ones(len(codes), dtype=bool)
        if k == 2:
            return [(codes == 1, every)]
        if self.decision == "ovr":
            return [(codes == c, every) for c in range(k)]
        pairs = combinations(range(k), 2)
        return [(codes == i, (codes == i) | (codes == j)) for i, j in pairs]

    def _out_of_fold(self, rows: wrapped.LabeledRows) -> tuple[Floats, Ints, Floats | None]:
        """Scores (n x binary SVMs) of each fold by a model of the others, codes and weights."""
        weighted, codes = rows.positive_weight, codes_of(rows.y, self.classes_)
        plain = clone(self).set_params(probability=DEPRECATED)
        copied = rows.copies(weighted)
        # Folds of the scores that are calibrated.
        k = min(5, len(weighted if copied is None else np.unique(copied)))
        folds = folds_of(k, len(codes), rows=weighted, codes=codes[weighted], copied=lambda: copied)
        with wrapped.warn_once():
            scores = folds.map(
                lambda train, test: self._fold_scores(
                    plain, rows, codes, weighted[train], weighted[test]
                )
            )
        tests = weighted[np.concatenate([test for _, test in folds.pairs])]
        return np.concatenate(scores), codes[tests], None if rows.w is None else rows.w[tests]

    def _fold_scores(
        self, plain: Any, rows: wrapped.LabeledRows, codes: Ints, train: Ints, test: Ints
    ) -> Floats:
        """Scores of the test rows; ±1 where only one side of a binary SVM has training rows."""
        present = np.unique(codes[train])
        train_rows, test_rows = rows.split(self, train, test)
        if len(present) == len(self.classes_):
            return np.asarray(wrapped.fit_wrapped(plain, train_rows)._scores(test_rows.x))
        sides = [  # +1 or −1 if only that class of the pair has rows, 0 for neither
            float((positive & part)[train].any()) - float((~positive & part)[train].any())
            for positive, part in self._targets(codes)
        ]
        scores = np.tile(np.array(sides), (len(test), 1))
        if len(present) > 2 and self._has_pairs:
            known = set(present.tolist())
            pairs = combinations(range(len(self.classes_)), 2)
            known_pairs = [p for p, (i, j) in enumerate(pairs) if i in known and j in known]
            scores[:, known_pairs] = wrapped.fit_wrapped(plain, train_rows)._scores(test_rows.x)
        return scores

    # -- probabilities ----------------------------------------------------------------------------

    @available_if(lambda self: self._with_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``; needs ``probability=True``."""
        check_is_fitted(self)
        if "calibrations_" not in vars(self):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again."
            )
        scores = self._scores(X)
        if not self._has_pairs:
            return calibrate(self.calibrations_, self._by_class(scores))
        log_odds = [c.map_.log_odds(s) for c, s in zip(self.calibrations_, scores.T, strict=True)]
        return couple(-np.stack(log_odds, axis=1), len(self.classes_))

    @available_if(lambda self: self._with_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @property
    def probA_(self) -> Floats:
        """A of the sigmoid 1/(1 + exp(A s + B)) of every pair; empty without probabilities."""
        return self._sigmoids("probA_")[0]

    @property
    def probB_(self) -> Floats:
        """B of the sigmoid 1/(1 + exp(A s + B)) of every pair; empty without probabilities."""
        return self._sigmoids("probB_")[1]

    def _sigmoids(self, name: str) -> tuple[Floats, Floats]:
        if "expansions_" not in vars(self):
            raise AttributeError(f"{name} exists after fit.")
        warnings.warn(
            f"Attribute `{name}` was deprecated in scikit-learn 1.9 and is removed in 1.11; "
            "calibrations_ stays.",
            FutureWarning,
            stacklevel=3,
        )
        maps = [c.map_ for c in getattr(self, "calibrations_", [])]
        sign = (
            1.0 if len(self.classes_) > 2 else -1.0
        )  # scikit-learn's score of two is of the first
        A = np.array([-m.slope for m in maps])
        return A, np.array([-sign * m.log_odds(np.zeros(1))[0] for m in maps])

    def formula(self) -> nodes.ClassFormula:
        """Signs, votes of pairs, or the largest score; probabilities by a sigmoid for each SVM.

        They are coupled where these are of pairs.
        """
        scores = self._binary_scores(self._names_of_scores())
        if "calibrations_" not in vars(self):
            return self._formula_of(scores)
        maps = [one.map_ for one in self.calibrations_]
        if not self._has_pairs:
            return self._formula_of(scores, nodes.calibrate_scores(maps, scores, self.classes_))
        odds = nodes.Joined(tuple(m.odds(nodes.Columns(scores, (i,))) for i, m in enumerate(maps)))
        k, names = len(self.classes_), nodes.probability_names(self.classes_)
        against = nodes.Affine(odds, -np.eye(len(maps)))
        return self._formula_of(scores, nodes.Coupled(against, k, names=names))


@declare_parameters
class SVC(KernelClassifier):
    """Support vector classification with any kernel.

    Each binary SVM solves, with φ the feature map of the kernel,

        min over w, b of ½‖w‖² + C Σ ω max(0, 1 − y (w·φ(x) + b)),     y = ±1.

    Two classes need one binary SVM. Of K classes every pair has one and the class with most votes
    is predicted (``decision="ovo"``), or each class has one against the rest and the largest score
    is predicted (``"ovr"``).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack, multiplied by the weight ω of the row. Infinity is the hard margin,
        refused with a proof where the classes are not separable.
    kernel : Kernel, callable or str, default="rbf"
        A kernel of :mod:`separatrix.kernels`, scikit-learn's name of one, "precomputed"
        (``X`` is then the Gram matrix), or a function of two matrices, or of two lists where ``X``
        holds strings or other objects. Kernels on structures take lists of Python objects.
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn; weights of classes do not change
        "scale".
    coef0 : float, default=0.0
    shrinking : bool, default=True
    probability : bool, default="deprecated"
        Fit a Platt sigmoid to the cross-validated scores of every binary SVM, coupled to
        probabilities of classes. The default is False; scikit-learn deprecates the parameter.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in units of the margin. Up to about a
        thousand rows the solution is exact up to rounding anyway.
    cache_size : float, default=200
    class_weight : dict, "balanced" or None, default=None
    verbose : bool, default=False
    max_iter : int, default=-1
        Limit of SMO iterations for each binary SVM; −1 is 1000 n + 10⁶.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Scores of more than two classes: one for each class, or one for each binary SVM.
    break_ties : bool, default=False
        Whether sums of scores decide between classes of equally many votes; else the first does.
    random_state : int, RandomState or None, default=None
        Ignored, the solution is deterministic; accepted for scikit-learn compatibility.
    standardize : bool, default=False
    decision : {"ovo", "ovr"}, default="ovo"
        Binary SVMs for more than two classes: one for each pair, or one for each class.
    time_budget : float or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors, ordered by class.
    support_vectors_ : ndarray or sparse array of shape (n_support, n_features)
        The support vectors; none for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_svms, n_support)
        Coefficients β = αy of the support vectors; for pairs of K classes as in scikit-learn,
        (K − 1, n_support), positive for the first class of a pair.
    intercept_ : ndarray of shape (n_svms,)
        The intercept b of each binary SVM; ``t_`` is −b.
    coef_ : ndarray of shape (n_svms, n_features)
        The normal w of each binary SVM, for the linear kernel.
    hyperplane_ : Hyperplane
        w·x + b of each binary SVM, for the linear kernel: signed distances, margins, projections.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of each class.
    shape_fit_ : tuple
        Shape of the training data.
    fit_status_ : int
        0 if every binary SVM was solved, else 1.
    calibrations_ : list of PlattCalibration
        The sigmoid of each binary SVM, with ``probability=True``; ``probA_`` and ``probB_`` are
        their parameters in scikit-learn's form.
    alpha_, slack_, group_ : ndarray of shape (n_samples,) or (n_samples, n_svms)
        α, slack ξ and group of every training row: "non-support" (α = 0), "free" (0 < α < C, on the
        margin) or "bound" (α = C).
    margin_, t_ : float or ndarray of shape (n_svms,)
        The margin 1/‖w‖ in the feature space, and the threshold of the score w·φ(x) − t.
    svms_ : list of BinarySVM
        The solution of each binary SVM, with its certificate.
    kernel_ : Kernel
        The kernel used.
    n_iter_ : ndarray of shape (n_svms,)
        Iterations of each binary SVM.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual; of several binary SVMs the worst.

    See Also
    --------
    LinearSVC : Linear SVM for many rows or many columns.
    SVMPath : All solutions along C.
    SVCSearch : Chooses C and the bandwidth by cross-validation.
    SVR : Support vector regression.

    References
    ----------
    - C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20, 1995.
    - J. Platt, Fast training of support vector machines using sequential minimal optimization,
      1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    >>> model = sx.SVC(C=5 / 16, kernel="linear").fit(X, y)
    >>> model.alpha_.round(4).tolist()
    [0.3125, 0.0, 0.0625, 0.25]
    >>> model.group_.tolist()
    ['bound', 'non-support', 'free', 'free']
    >>> round(model.margin_, 6)
    1.6
    """

    _: KW_ONLY
    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: Any = DEPRECATED
    tol: float = 1e-3
    cache_size: float = 200
    class_weight: Any = None
    verbose: bool = False
    max_iter: int = -1
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    standardize: bool = False
    decision: str = "ovo"
    time_budget: float | None = None

    def _fit_together(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions
    ) -> list[Any]:
        cost = float(self.C) * w
        return (
            class_pairs.fit_class_pairs(gram, codes, cost, options)
            if class_pairs.suitable(gram, codes, cost, options)
            else []
        )

    def _fit_binary(
        self,
        gram: GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> BinarySVM:
        problem = classification_problem(y, float(self.C) * w)
        return fit_kernel_svm(gram, problem, rows, options, classes=classes)

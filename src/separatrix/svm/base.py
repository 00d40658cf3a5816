"""What support vector estimators share: records of binary SVMs, kernels in, expansions out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.estimators.base import KernelModel, LinearModel
from separatrix.formula import nodes
from separatrix.geometry.hyperplane import Hyperplane, KernelExpansion
from separatrix.kernels import Custom, Kernel, Linear, Precomputed
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.names import training_gram
from separatrix.kernels.structures import as_list, holds_objects
from separatrix.messages import warn
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.rows.schema import Encoding
from separatrix.statistics.moments import Standardizer, zero_if_constant
from separatrix.svm.problem import ACCURACY, badness
from separatrix.svm.solver import GROUPS, BinarySVM, GramMatrix

# -------------------------------------------------------------------------------------------------
# Numbers for every training row of an estimator made of binary SVMs ``svms_``.
#
# Each is (n_samples,) for one binary SVM, else (n_samples, number of SVMs); rows that took no part,
# and rows without weight, have zeros.


def _alpha(model: Any) -> Floats:
    """α of every training row, from 0 to C; in regression α⁺ − α⁻, from −C to C."""
    signed = is_regressor(model)
    return _of_rows(model, lambda svm: svm.beta if signed else np.abs(svm.beta))


def _slack(model: Any) -> Floats:
    """ξ of every training row: the loss that it has, zero beyond its margin or within ε."""
    return _of_rows(model, lambda svm: svm.slack)


def _group(model: Any) -> NDArray[np.str_]:
    """ "non-support" (α = 0), "free" (0 < |α| < C, on the margin) or "bound" (|α| = C)."""
    return GROUPS[_of_rows(model, lambda svm: svm.group).astype(np.int64)]


def _margin(model: Any) -> Any:
    """1/‖w‖ in the feature space (of standardized columns if so fitted); infinite for w = 0."""
    return _only([svm.margin for svm in _records(model)])


def _threshold(model: Any) -> Any:
    """The threshold t of the score w·x − t: the intercept with the other sign."""
    check_is_fitted(model)
    return _only((-np.ravel(model.intercept_)).tolist())


def _records(model: Any) -> list[BinarySVM]:
    """``svms_`` of a fitted model."""
    check_is_fitted(model)
    svms: list[BinarySVM] = model.svms_
    return svms


def _of_rows(model: Any, value: Callable[[BinarySVM], Any]) -> Floats:
    """One number per training row and binary SVM."""
    svms = _records(model)
    whole = _by_row(svms, [value(svm) for svm in svms], model.n_samples_fit_)
    return whole[:, 0] if len(svms) == 1 else whole


def certify(model: Any, svms: list[BinarySVM], cause: Callable[[], str]) -> None:
    """Expose the worst certificate, and warn where it does not hold."""
    worst = max(svms, key=lambda svm: badness(svm.certificate))
    model.certificate_ = worst.certificate
    if len(svms) > 1:
        claim = f"{len(svms)} binary SVMs; this is the worst of their certificates: "
        model.certificate_ = replace(worst.certificate, claim=claim + worst.certificate.claim)
    if not worst.certificate.holds:
        text = f"support vector machine, {worst.status}: {worst.certificate} {cause()}"
        warn("SEP003", text.strip())


def _by_row(svms: list[BinarySVM], values: list[Any], n: int) -> Floats:
    """(n x number of SVMs) values of the rows of each SVM, and zeros for the others."""
    whole = np.zeros((n, len(svms)))
    for j, svm in enumerate(svms):
        whole[svm.rows, j] = values[j]
    return whole


def _only(values: Sequence[float]) -> Any:
    """The one value, or an array of several."""
    return float(values[0]) if len(values) == 1 else np.array(values)


class LinearSVM(LinearModel):
    """A linear SVM: hyperplanes without a kernel. Numbers of rows are not stored with it."""

    n_samples_fit_: int
    standardize: bool
    _accuracy: float = ACCURACY
    alpha_, slack_, group_ = property(_alpha), property(_slack), property(_group)
    margin_, t_ = property(_margin), property(_threshold)
    _svms: list[BinarySVM] | None = None

    @property
    def svms_(self) -> list[BinarySVM]:  # type: ignore[override]
        """The solution of each binary SVM, with its certificate."""
        if self._svms is None:
            raise AttributeError(
                "The numbers of training rows are not stored with this model. "
                "Fit again, or use coef_, intercept_ and certificate_."
            )
        return self._svms

    @property
    def support_(self) -> Ints:
        """Row numbers of the support vectors of any hyperplane."""
        return np.unique(np.concatenate([svm.support for svm in _records(self)]))

    def _ridge(self, x: Matrix, w: Floats) -> Floats:
        """ρ of every column: its variance if standardized (one if it is constant), else 1."""
        if not self.standardize:
            return np.ones(x.shape[1])
        mean = np.asarray(w @ x).ravel() / w.sum()
        if sparse.issparse(x):
            variance = np.asarray(w @ x.multiply(x).tocsr()).ravel() / w.sum() - mean**2
        else:
            variance = sum(
                w[i : i + 20_000] @ (x[i : i + 20_000] - mean) ** 2
                for i in range(0, len(w), 20_000)
            ) / float(w.sum())
        spread = zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), mean)
        return np.where(spread > 0.0, spread, 1.0) ** 2

    def _expose(self, svms: list[BinarySVM], n: int, encoding: Encoding, *, flat: bool) -> None:
        self.certificates_ = [svm.certificate for svm in svms]
        solution = Solution(
            np.stack([svm.coef for svm in svms], axis=1),
            np.array([svm.intercept for svm in svms]),
            svms[0].certificate,
            iterations=max(svm.n_iter for svm in svms),
        )
        self._accept(solution, encoding, flat=flat)
        remedy = "Raise max_iter or time_budget; columns of very different size are slow"
        self._svms, self.n_samples_fit_ = svms, n
        certify(self, svms, lambda: f"{remedy}, and standardize=True scales them.")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_svms"}


class KernelSVM(KernelModel):
    """An SVM with any kernel: ``expansions_`` hold its support vectors."""

    svms_: list[BinarySVM]
    n_samples_fit_: int
    intercept_: Any
    certificate_: Certificate
    alpha_, slack_, group_ = property(_alpha), property(_slack), property(_group)
    margin_, t_ = property(_margin), property(_threshold)
    standardize: bool
    support_: NDArray[Any]
    n_support_: NDArray[Any]
    dual_coef_: Any
    expansions_: list[KernelExpansion]
    standardizer_: Standardizer | None
    #: w·x + b in the units of the table, for the linear kernel: distances, margins, projections.
    hyperplane_: Hyperplane
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
            weights = _by_row(svms, [svm.beta for svm in svms], gram.n)
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
# Scores of K classes from those of the binary SVMs of every pair of them.


#: Slope of the sigmoid 1/(1 + e^{−3s}) that a pair of classes has; e^s grows no further than this.
SLOPE, MOST = 3.0, 200.0


def coupled_scores(scores: Floats, k: int) -> Floats:
    """log pₖ of every class (n x K) from pair scores (n x pairs i < j, positive for j).

        1/pₖ = Σⱼ 1/rₖⱼ − (K − 2),     rₖⱼ = 1/(1 + e^{−3 sₖⱼ})  the probability of k among k, j

    The smallest margin of a class counts most, so that a pair of which neither is the class of the
    row hardly does (Price, Knerr, Personnaz and Dreyfus, 1995).
    """
    total = np.zeros((len(scores), k))
    for i, first in _by_first(scores, k):
        odds = np.exp(SLOPE * np.clip(first, -MOST, MOST))
        total[:, i] += odds.sum(axis=1)
        total[:, i + 1 :] += 1.0 / odds
    return np.asarray(-np.log1p(total))


def _by_first(scores: NDArray[Any], k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The columns of the pairs i < j, all j of an i at a time."""
    start = 0
    for i in range(k - 1):
        stop = start + k - 1 - i
        yield i, scores[:, start:stop]
        start = stop


def pair_scores(expansions: list[KernelExpansion], x: Any, intercept: Floats) -> Floats:
    """Scores (n x pairs i < j) from one expansion for each class, its k − 1 pairs in columns."""
    k = len(expansions)
    parts = np.stack([expansion.scores(x) for expansion in expansions])
    scores = np.empty((parts.shape[1], len(intercept)))
    for i, pairs in _by_first(scores, k):
        np.add(parts[i, :, i:], parts[i + 1 :, :, i].T, out=pairs)
    scores += intercept
    return scores


def count_votes(scores: Floats, k: int, first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Votes of the pairs, for the ``first`` class of each or the other, and sums of scores."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for (i, s), (_, for_first) in zip(_by_first(scores, k), _by_first(first, k), strict=True):
        count[:, i] += for_first.sum(axis=1)
        count[:, i + 1 :] += ~for_first
        total[:, i] += s.sum(axis=1)
        total[:, i + 1 :] -= s
    return count, total


def vote_scores(scores: Floats, k: int) -> Floats:
    """Votes; ties are broken by sums of scores, which count less than half a vote."""
    count, total = count_votes(scores, k, scores >= 0.0)
    return count + total / (3.0 * (np.abs(total) + 1.0))


def dual_coef_of_pairs(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class.

    Rows of a binary SVM are those of the first class, then those of the second.
    """
    weights, sizes = np.zeros((len(codes), k - 1)), np.bincount(codes, minlength=k)
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        n = sizes[i]
        weights[svm.rows[:n], j - 1] = svm.beta[:n]
        weights[svm.rows[n:], i] = svm.beta[n:]
    return weights

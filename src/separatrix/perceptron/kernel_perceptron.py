"""The kernel perceptron: perceptron training in a feature space, on the rows it misclassified."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import blas
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import class_labels
from separatrix.estimators.base import KernelModel, reads_tables
from separatrix.formula import nodes
from separatrix.kernels import KernelExpansion, Precomputed, PreparedKernel
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError, warn
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate, Status
from separatrix.parameters import declare_parameters
from separatrix.perceptron import perceptron
from separatrix.perceptron.loops import next_mistake
from separatrix.threads import on_one_blas_thread


@declare_parameters
class KernelPerceptron(ClassifierMixin, KernelModel):
    """The perceptron in its dual form, with a kernel in place of inner products.

        f(x) = Σ αⱼ yⱼ (κ(xⱼ, x) + 1),     αᵢ ← αᵢ + 1  where yᵢ f(xᵢ) ≤ 0

    αⱼ counts the mistakes on row j. With the kernel ``Linear()`` it is :class:`Perceptron` from
    zero with learning rate 1, and w = Σ αⱼ yⱼ xⱼ. Several classes are trained one-vs-rest and share
    the rows of the kernel. Only misclassified rows enter the model, and only their rows of the Gram
    matrix are computed. A sample weight is what a mistake adds to α.

    The theory of the perceptron needs a Mercer kernel. With an indefinite one (SEP007) training is
    the same, but no margin stands behind it: the certificate states counted mistakes only.

    Parameters
    ----------
    kernel : Kernel, callable or str, default="rbf"
        A kernel of :mod:`separatrix.kernels`, scikit-learn's name of one, "precomputed"
        (``X`` is then the Gram matrix), or a function of two matrices. Kernels on structures take
        lists of Python objects.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of a kernel given by name, as in scikit-learn.
    degree : int, default=3
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels given by name.
    order : {"given", "shuffled", "random"}, default="given"
        As in :class:`Perceptron`.
    max_epochs : int, default=200
        Passes over the rows at most.
    average : bool, default=False
        Return the average of the coefficients over all rows seen.
    pocket : bool, default=False
        Return the coefficients that misclassified the fewest rows.
    fit_intercept : bool, default=True
        Whether 1 is added to the kernel, which is an intercept in f.
    cache_size : float, default=200.0
        Megabytes for rows of the Gram matrix, which is never stored as a whole unless it fits.
    random_state : int, RandomState instance or None, default=None
        Seed of the order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Mistakes on every training row.
    support_ : ndarray of int
        The rows with a mistake.
    expansion_ : KernelExpansion
        f.
    kernel_ : Kernel
        The kernel used.
    trace_ : MistakeTrace
        Mistakes by epoch and output.
    mistakes_ : ndarray of int
        All mistakes made, by output.
    mistake_bound_ : float
        (R/γ)² with the margin γ reached, in the feature space of a Mercer kernel; else infinite.
    n_kernel_rows_ : int
        Rows of the Gram matrix that were computed.
    cache_megabytes_ : float
        The most memory that rows of the Gram matrix took.
    certificate_ : Certificate
        The misclassified training rows, counted; it holds if there are none.
    n_iter_ : int
        Epochs.

    See Also
    --------
    Perceptron : The linear perceptron, in the primal.
    SVC : The maximum margin in the feature space of a kernel.

    References
    ----------
    M. A. Aizerman, E. M. Braverman and L. I. Rozonoer, "Theoretical foundations of the potential
    function method in pattern recognition learning", 1964.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> model = sx.KernelPerceptron("rbf", gamma=1.0).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> str(model.trace_.status)
    'converged'
    """

    expansion_: KernelExpansion = field(init=False)
    mistakes_: Ints = field(init=False)

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0
    order: str = "given"
    max_epochs: int = 200
    average: bool = False
    pocket: bool = False
    fit_intercept: bool = True
    cache_size: float = 200.0
    random_state: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` (rows, Rows, or a list for kernels on structures) and labels ``y``."""
        options = perceptron.TrainingOptions(self.order, self.max_epochs, self.average, self.pocket)
        if not self.cache_size > 0:
            raise InputError(f"cache_size={self.cache_size!r} must be positive megabytes.")
        if self._structures:
            coded = class_labels.coded_items(self, X, y, sample_weight)
        else:
            coded = class_labels.coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
        items = coded.x
        self._set_kernel(items)
        if isinstance(self.kernel_, Precomputed) and len(coded.rows) < coded.n_samples:
            items = items[:, coded.rows]
        mercer = check_mercer(self.kernel_, items)
        output_class = class_labels.outputs_of(len(self.classes_))
        gram = GramCache(self.kernel_.prepare(items), self.cache_size, float(self.fit_intercept))
        random = check_random_state(self.random_state)
        result = train_kernel(gram, coded.codes, output_class, coded.w, options, random)
        self._store(result, gram, items, coded)
        signs = np.where(coded.codes[:, None] == output_class, 1.0, -1.0)
        self.mistake_bound_ = np.inf
        if mercer and len(set(coded.w.tolist())) == 1:
            self.mistake_bound_ = self._mistake_bound(result, gram, signs * result.scores)
        self.certificate_ = self._certificate(result, gram, signs * result.scores, mercer)
        if result.status is not Status.CONVERGED:
            warn("SEP003", f"{self.certificate_}")
        return self

    @available_if(lambda self: self._trains_online())  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one epoch on these rows from the present f; the first call names the classes.

        Rows with a mistake join the model, so that it grows with every call. ``alpha_``,
        ``support_`` and ``trace_`` are those of the last rows; γ given as "scale" is that of the
        first ones.
        """
        begun = hasattr(self, "expansion_")
        known = class_labels.known_classes(self, X, classes)
        if self._structures:
            coded = class_labels.coded_items(self, X, y, sample_weight, known=known)
        else:
            coded = class_labels.coded_arrays(
                class_labels.rows_with_codes(
                    self,
                    X,
                    y,
                    sample_weight,
                    known=known,
                    closed=known is not None,
                    reset=not begun,
                )
            )
            self.encoding_ = coded.encoding
        before = self.expansion_ if begun else None
        if before is None:
            self._set_kernel(coded.x)
        output_class = class_labels.outputs_of(len(self.classes_))
        gram = GramCache(self.kernel_.prepare(coded.x), self.cache_size, float(self.fit_intercept))
        start = None if before is None else before.scores(coded.x)
        once = perceptron.TrainingOptions(max_epochs=1)
        result = train_kernel(gram, coded.codes, output_class, coded.w, once, start=start)
        mistakes = self.mistakes_ if begun else 0
        self._store(result, gram, coded.x, coded)
        if before is not None:
            self.expansion_ = before + self.expansion_
        self.mistakes_ = self.mistakes_ + mistakes
        self.mistake_bound_ = np.inf
        signs = np.where(coded.codes[:, None] == output_class, 1.0, -1.0)
        wrong = int((signs * result.scores <= 0.0).any(axis=1).sum())
        notes = [f"{int(self.mistakes_.sum())} mistakes in all."]
        self.certificate_ = replace(
            perceptron.certify_mistakes("Kernel perceptron", wrong, gram.n, notes, np.inf, 1),
            claim=f"Kernel perceptron: {wrong} of the last {gram.n} rows are misclassified",
        )
        return self

    def _trains_online(self) -> bool:
        """Whether rows may come in portions; an AttributeError says why not."""
        for reason, word in (
            (self.average, "average=True"),
            (self.pocket, "pocket=True"),
            (self._precomputed, "a precomputed kernel"),
        ):
            if reason:
                raise AttributeError(
                    f"partial_fit cannot do {word}, which needs all rows: use fit."
                )
        return True

    def _store(
        self,
        result: KernelTrainingResult,
        gram: GramCache,
        items: Any,
        coded: class_labels.CodedRows,
    ) -> None:
        n = coded.n_samples
        alpha = np.zeros((n, result.coefficients.shape[1]))
        alpha[coded.rows] = np.abs(result.coefficients)
        self.alpha_ = alpha[:, 0] if alpha.shape[1] == 1 else alpha
        self.support_ = np.flatnonzero(alpha.any(axis=1))
        intercept = result.coefficients.sum(axis=0) * float(self.fit_intercept)
        centers = coded.rows if isinstance(self.kernel_, Precomputed) else items
        self.expansion_ = KernelExpansion(self.kernel_, centers, result.coefficients, intercept, n)
        empty = np.zeros(0)
        self.trace_ = perceptron.MistakeTrace(result.mistakes, gram.n, result.status, empty, empty)
        self.mistakes_ = result.mistakes.sum(axis=0)
        self.n_kernel_rows_, self.cache_megabytes_ = gram.computed, gram.peak_megabytes
        self.n_iter_ = len(result.mistakes)

    def _mistake_bound(
        self, result: KernelTrainingResult, gram: GramCache, margins: Floats
    ) -> float:
        """Novikoff's R²/γ², the largest over the outputs: γ = min y f / ‖w‖, ‖w‖² = Σ αy f."""
        if not (margins > 0.0).all() or self.average or self.pocket:
            return np.inf
        radius_square = float(gram.prepared.diagonal.max()) + gram.constant
        norm_square = np.einsum("nk,nk->k", result.coefficients, result.scores)
        return float((radius_square * norm_square / margins.min(axis=0) ** 2).max())

    def _certificate(
        self, result: KernelTrainingResult, gram: GramCache, margins: Floats, mercer: bool
    ) -> Certificate:
        """The certificate, with notes on the support, the limit of epochs and the kernel."""
        wrong, n = int((margins <= 0.0).any(axis=1).sum()), len(margins)
        notes = [
            f"{int(result.mistakes.sum())} mistakes in {len(result.mistakes)} epochs.",
            f"{len(self.support_)} of {n} rows are in the model; "
            f"{gram.computed} rows of the Gram matrix were computed.",
        ]
        if wrong and result.status is not Status.CONVERGED:
            notes.append("The limit of epochs was reached.")
        if not mercer:
            notes.append(
                "The kernel is not positive semi-definite on these rows: without a feature space "
                "there is no margin and no bound on the number of mistakes."
            )
        bound, outputs = self.mistake_bound_, margins.shape[1]
        return perceptron.certify_mistakes("Kernel perceptron", wrong, n, notes, bound, outputs)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """f(x): one score for two classes, positive for ``classes_[1]``; else one for each."""
        check_is_fitted(self)
        scores = self.expansion_.scores(as_list(X) if self._structures else self._design(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, or by the largest one."""
        return class_labels.label_scores(self.decision_function(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Sums of kernel values of the rows that were mistaken."""
        names = nodes.score_names(self.classes_)
        scores = nodes.kernel_sum(self.expansion_, nodes.design_of(self), names)
        return nodes.by_score(scores, self.classes_)


# -------------------------------------------------------------------------------------------------
# Perceptron training in the dual: coefficients α count the mistakes on each row.
#
#     f(x) = Σ αⱼ yⱼ (κ(xⱼ, x) + c),     αᵢ ← αᵢ + w̃ᵢ  where yᵢ f(xᵢ) ≤ 0
#
# c is 1 with an intercept, else 0. The scores of all rows are updated at every mistake, so a
# mistake costs one row of the Gram matrix and a correctly classified row costs nothing. Rows of the
# matrix are computed at their first mistake and cached within a given memory, least recently used
# out first.


@dataclass(frozen=True)
class KernelTrainingResult:
    """Dual coefficients αy (n x outputs), the scores of the training rows, and the history."""

    coefficients: Floats
    scores: Floats
    mistakes: Ints
    status: Status


class GramCache:
    """Rows κ(xᵢ, ·) + c of the Gram matrix on demand, in an LRU cache of bounded size.

    ``computed`` counts kernel rows; ``peak`` is the largest number of rows cached at once.
    """

    def __init__(self, prepared: PreparedKernel, megabytes: float, constant: float) -> None:
        self.prepared, self.constant = prepared, constant
        self.n = len(prepared)
        self.capacity = max(1, int(megabytes * 1e6 / (8 * self.n)))
        self.rows: OrderedDict[int, Floats] = OrderedDict()
        self.computed, self.peak = 0, 0

    @property
    def peak_megabytes(self) -> float:
        """The most memory that cached rows took."""
        return self.peak * self.n * 8 / 1e6

    def get(self, i: int, others: list[int]) -> Floats:
        """Row i; if it must be computed, so are the ``others`` that are not cached."""
        row = self.rows.get(i)
        if row is not None:
            self.rows.move_to_end(i)
            return row
        wanted = [i, *(j for j in others if j != i and j not in self.rows)][: self.capacity]
        block = np.asarray(self.prepared.take(np.array(wanted)), dtype=np.float64)
        block += self.constant
        self.computed += len(wanted)
        for j, values in zip(wanted[::-1], block[::-1], strict=True):
            self.rows[j] = values.copy()
        while len(self.rows) > self.capacity:
            self.rows.popitem(last=False)
        self.peak = max(self.peak, len(self.rows))
        return self.rows[i]


class _DualVariables:
    """Coefficients αy and scores of all rows (outputs x n), and those that will be returned."""

    def __init__(
        self,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        options: perceptron.TrainingOptions,
        start: Floats | None = None,
    ) -> None:
        self.rate, self.options = rate, options
        self.signs = np.where(codes == output_class[:, None], 1.0, -1.0)
        shape = self.signs.shape
        self.coefficients = np.zeros(shape)
        self.scores = np.zeros(shape) if start is None else np.ascontiguousarray(start.T)
        # averaging: sums of steps times rows seen before them; pocket: the best so far
        self.other_coefficients, self.other_scores = np.zeros(shape), np.zeros(shape)
        self.fewest = np.full(shape[0], np.inf)

    def update(self, k: int, i: int, row: Floats, seen: int) -> None:
        """Output k misclassified row i."""
        step = float(self.signs[k, i] * self.rate[i])
        blas.daxpy(row, self.scores[k], a=step)
        self.coefficients[k, i] += step
        if self.options.average:
            blas.daxpy(row, self.other_scores[k], a=seen * step)
            self.other_coefficients[k, i] += seen * step
        elif self.options.pocket:
            wrong = float(self.rate @ (self.signs[k] * self.scores[k] <= 0.0))
            if wrong < self.fewest[k]:
                self.fewest[k] = wrong
                self.other_coefficients[k] = self.coefficients[k]
                self.other_scores[k] = self.scores[k]

    def upcoming_mistakes(self, order: Ints, index: int) -> list[int]:
        """The next rows of the order that are misclassified by the present scores."""
        ahead = order[index : index + 1024]  # how many rows ahead they are sought
        wrong = (self.signs[:, ahead] * self.scores[:, ahead] <= 0.0).any(axis=0)
        # Rows of the Gram matrix computed together at most.
        return [int(i) for i in ahead[wrong][:4]]

    def final(self, seen: int) -> tuple[Floats, Floats]:
        """Coefficients and scores to be returned."""
        if self.options.pocket:
            return self.other_coefficients, self.other_scores
        if self.options.average:
            factor = 1.0 / max(seen, 1)
            return (
                self.coefficients - factor * self.other_coefficients,
                self.scores - factor * self.other_scores,
            )
        return self.coefficients, self.scores


def train_kernel(
    gram: GramCache,
    codes: Ints,
    output_class: Ints,
    rate: Floats,
    options: perceptron.TrainingOptions,
    random: np.random.RandomState | None = None,
    start: Floats | None = None,
) -> KernelTrainingResult:
    """Epochs until one is without mistake, or the limit is reached.

    They begin at zero, or at the scores ``start`` (n x outputs) by what was learned before.
    """
    dual = _DualVariables(codes, output_class, rate, options, start)
    history: list[Ints] = []
    status, seen = Status.LIMIT, 0
    for order in perceptron.epoch_orders(options, gram.n, random):
        mistakes = np.zeros(len(output_class), dtype=np.int64)
        position = np.zeros(2, dtype=np.int64)
        while next_mistake(dual.scores, codes, output_class, order, position):
            index, k = int(position[0]), int(position[1])
            i = int(order[index])
            others = [] if i in gram.rows else dual.upcoming_mistakes(order, index)
            dual.update(k, i, gram.get(i, others), seen + index)
            mistakes[k] += 1
            position[1] += 1
        history.append(mistakes)
        seen += len(order)
        if not mistakes.any() and (dual.signs * dual.scores > 0.0).all():
            status = Status.CONVERGED
            break
    coefficients, scores = dual.final(seen)
    return KernelTrainingResult(coefficients.T.copy(), scores.T.copy(), np.array(history), status)

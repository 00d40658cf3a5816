"""The kernel perceptron: a hyperplane among the features, made of the rows it was wrong on."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.coded_rows import coded_items, coded_rows, outputs_of
from separatrix.geometry.kernel_expansion import KernelExpansion
from separatrix.kernels import Kernel, Precomputed, kernel_from
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.perceptron.dual import DualWalk, GramRows, walk_dual
from separatrix.perceptron.epochs import MistakeTrace, plan_of
from separatrix.rows.block import Floats


class KernelPerceptron(ClassifierMixin, ClassLabels):
    """f(x) = Σ αⱼ yⱼ (κ(xⱼ, x) + 1): αⱼ counts how often row j was mistaken, y f ≤ 0.

    The perceptron in its dual form. With the kernel ``Linear()`` it is :class:`Perceptron` from
    zero with learning rate 1, with w = Σ αⱼ yⱼ xⱼ. Several classes are told apart one against the
    rest and share the rows of the kernel.

    Only rows that were mistaken enter the model, and only their rows of the Gram matrix are
    computed. A row's weight is what a mistake adds to its α.

    Parameters
    ----------
    kernel : Kernel, function or name, default="rbf"
        A kernel of :mod:`separatrix.kernels`, scikit-learn's name of one, "precomputed"
        (``X`` is then the Gram matrix), or a function of two matrices. Kernels on structures take
        lists of Python objects.
    gamma, degree, coef0 : parameters of a kernel given by name, as in scikit-learn.
    order : {"given", "shuffled", "random"}, default="given"
        See :class:`Perceptron`.
    max_epochs : int, default=200
        Passes at most.
    average : bool, default=False
        Return the mean of the weights over all rows seen.
    pocket : bool, default=False
        Return the weights that had the fewest rows on the wrong side.
    fit_intercept : bool, default=True
        Whether 1 is added to the kernel, which is a constant in f.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix. All of it is never there unless it fits.
    random_state : seed of the order.

    Attributes
    ----------
    alpha_ : mistakes of every training row, (n,) for two classes, else (n, K).
    support_ : the rows that were ever mistaken.
    expansion_ : f, a :class:`~separatrix.geometry.kernel_expansion.KernelExpansion`.
    kernel_ : the kernel used.
    trace_ : mistakes by epoch and output.
    kernel_rows_ : rows of the Gram matrix computed, and the most megabytes they took.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        order: str = "given",
        max_epochs: int = 200,
        average: bool = False,
        pocket: bool = False,
        fit_intercept: bool = True,
        cache_size: float = 200.0,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.order = order
        self.max_epochs = max_epochs
        self.average = average
        self.pocket = pocket
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from ``X`` (rows, Rows, or a list for kernels on structures) and labels ``y``."""
        plan = plan_of(self)
        if not self.cache_size > 0:
            raise InputError(f"cache_size={self.cache_size!r} holds nothing.", remedy="Give MB.")
        if self._structures:
            coded = coded_items(self, X, y, sample_weight)
        else:
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
        items, codes, w, kept, n = coded.x, coded.codes, coded.w, coded.rows, coded.given
        self.kernel_ = kernel_from(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, x=items
        )
        if isinstance(self.kernel_, Precomputed) and len(kept) < n:
            items = items[:, kept]
        own = outputs_of(len(self.classes_))
        gram = GramRows(self.kernel_.prepare(items), self.cache_size, float(self.fit_intercept))
        found = walk_dual(gram, codes, own, w, plan, check_random_state(self.random_state))
        self._expose(found, gram, items, kept, n)
        self.certificate_ = self._certificate(found, gram, codes, own, w)
        if found.status != "converged":
            warn("SEP003", f"{self.certificate_}")
        return self

    @property
    def _structures(self) -> bool:
        return isinstance(self.kernel, Kernel) and not self.kernel.of_vectors

    def _expose(
        self, found: DualWalk, gram: GramRows, items: Any, kept: NDArray[np.int64], n: int
    ) -> None:
        alpha = np.zeros((n, found.weights.shape[1]))
        alpha[kept] = np.abs(found.weights)
        self.alpha_ = alpha[:, 0] if alpha.shape[1] == 1 else alpha
        self.support_ = np.flatnonzero(alpha.any(axis=1))
        constant = found.weights.sum(axis=0) * float(self.fit_intercept)
        centers = kept if isinstance(self.kernel_, Precomputed) else items
        self.expansion_ = KernelExpansion(self.kernel_, centers, found.weights, constant, n)
        empty = np.zeros(0)
        self.trace_ = MistakeTrace(found.mistakes, gram.n, found.status, empty, empty)
        self.mistakes_ = found.mistakes.sum(axis=0)
        self.kernel_rows_ = (found.computed, found.megabytes)
        self.n_iter_ = len(found.mistakes)

    def _certificate(
        self, found: DualWalk, gram: GramRows, codes: Any, own: Any, w: Floats
    ) -> Certificate:
        leads = np.where(codes[:, None] == own, 1.0, -1.0) * found.scores
        wrong = int((leads <= 0.0).any(axis=1).sum())
        notes = [
            f"{int(found.mistakes.sum())} mistakes in {len(found.mistakes)} epochs.",
            f"{len(self.support_)} of {len(leads)} rows are in the model; "
            f"{found.computed} rows of the Gram matrix were computed.",
        ]
        if wrong == 0:
            claim = "Kernel perceptron: every row is strictly on its own side"
            if len(set(w.tolist())) == 1 and not (self.average or self.pocket):
                length = float(gram.prepared.diagonal.max()) + gram.constant
                norm = np.einsum("nk,nk->k", found.weights, found.scores)
                bound = float((length * norm / leads.min(axis=0) ** 2).max())
                each = "" if len(own) == 1 else " for each class"
                notes.append(
                    f"By the margin reached, at most {bound:.4g} mistakes{each} were possible."
                )
        else:
            claim = f"Kernel perceptron: {wrong} of {len(leads)} rows are on the wrong side"
            if found.status != "converged":
                notes.append("The walk was ended by its limit of epochs.")
        return Certificate(
            claim,
            notes=tuple(notes),
            promised=(),
        )

    def decision_function(self, X: Any) -> Floats:
        """f(x): one score for two classes, positive for ``classes_[1]``; else one for each."""
        check_is_fitted(self)
        scores = self.expansion_.scores(list(X) if self._structures else self._design(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, or by the largest one."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.kernel == "precomputed" if isinstance(self.kernel, str) else False
        tags.input_tags.pairwise = given or isinstance(self.kernel, Precomputed)
        return tags

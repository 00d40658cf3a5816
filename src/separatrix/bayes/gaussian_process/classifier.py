"""Gaussian process classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy.special import logit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.bayes.gaussian_process import laplace, model
from separatrix.bayes.gaussian_process.formula import classes_formula
from separatrix.bayes.gaussian_process.inducing import store_rows
from separatrix.bayes.gaussian_process.inducing_search import check_count
from separatrix.bayes.gaussian_process.learning import Bounds, box_around, data_starts, lengths
from separatrix.bayes.gaussian_process.tuning import TunableClasses
from separatrix.bayes.gaussian_process.variational import (
    InducingBinary,
    certify_inducing,
    fit_inducing_binary,
)
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, reads_tables
from separatrix.formula import nodes
from separatrix.kernels import Constant, Gaussian, Kernel, natural_scales
from separatrix.kernels.base import Items
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.probability.calibrations import normalize
from separatrix.probability.multiclass import couple
from separatrix.rows.rows import InMemory, MappedRows, Rows
from separatrix.rows.schema import Block, Term, Terms, take_items, to_array
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread, one_blas_thread, parallel_map, thread_limit


@declare_parameters
class GaussianProcessClassifier(ClassifierMixin, TunableClasses, RowsEstimator):
    """Gaussian process classification by Laplace's approximation.

        P(class 1 | x) = ∫ σ(f) p(f | x, data) df,     f ~ GP(0, κ),     σ(f) = 1/(1 + e⁻ᶠ)

    The posterior of f is approximated by a normal distribution about its mode, whose evidence is
    maximized over the hyperparameters of the kernel. Of K classes each has a process against the
    rest, whose probabilities are normalized, or every pair has one, whose probabilities are
    coupled.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        A kernel of :mod:`separatrix.kernels`, or of ``sklearn.gaussian_process.kernels``. None is
        a multiple of the Gaussian kernel with a bandwidth for each column, learned from starts
        that follow the scales of the columns; with fewer than ten rows a column one factor of
        those scales is learned for all.
    optimizer : {"fmin_l_bfgs_b"}, callable or None, default="fmin_l_bfgs_b"
        None takes the kernel as it is (but learns that of ``kernel=None``); a callable is called
        as scikit-learn does. The default is the library's own ascent.
    n_restarts_optimizer : int, default=0
        Further starts at random.
    max_iter_predict : int, default=100
        Limit of Newton's steps to the mode.
    warm_start : bool, default=False
        Whether a second fit starts from the hyperparameters of the first.
    copy_X_train : bool, default=True
        Ignored, training rows are never changed; accepted for scikit-learn compatibility.
    random_state : int, RandomState or None, default=None
        Seed of the restarts.
    multi_class : {"one_vs_rest", "one_vs_one"}, default="one_vs_rest"
        How several classes are told apart.
    n_jobs : int or None, default=None
        Limit of threads; None for all.
    n_inducing : int, "auto" or None, default=None
        None is the process of all rows. Otherwise rows are read block by block into sums over so
        many inducing points, and a variational lower bound on the evidence takes its place;
        "auto" doubles the points, up to 256, until that gains at most 0.001 nats a row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
        How many there are.
    binaries_ : list of BinaryProcess or InducingBinary
        The process of two classes; of several, that of each class or each pair.
    kernel_ : Kernel or tuple of Kernel
        The kernel with its learned hyperparameters; of several classes one for each process.
    log_evidence_ : float
        Laplace's approximation of the log evidence, with inducing points a lower bound on it; of
        two classes only.
    log_marginal_likelihood_value_ : float
        The same by scikit-learn's name; of several classes the mean over the processes.
    certificate_ : Certificate
        The mode equation f = K g(f) checked with kernel values computed anew, and the gradient of
        the evidence from its definition.

    See Also
    --------
    GaussianProcessRegressor : Numbers instead of classes.
    BayesianLogisticRegression : The same for linear functions.
    SVC : Kernels without probabilities of their own.

    References
    ----------
    C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 1, 0, 0]
    >>> model = sx.GaussianProcessClassifier(4.0 * sx.Gaussian(1.0), optimizer=None).fit(X, y)
    >>> model.predict([[0.5], [2.5]]).tolist()
    [0, 1]
    >>> model.predict_proba([[2.5]]).round(3).tolist()
    [[0.284, 0.716]]
    """

    binaries_: Sequence[laplace.BinaryProcess | InducingBinary] = field(init=False)
    certificate_: Certificate = field(init=False)

    kernel: Any = None
    _: KW_ONLY
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    max_iter_predict: int = 100
    warm_start: bool = False
    copy_X_train: bool = True
    random_state: Any = None
    multi_class: str = "one_vs_rest"
    n_jobs: int | None = None
    n_inducing: Any = None

    # -- fit -----------------------------------------------------------------------------------

    @property
    def _structures(self) -> bool:
        """Whether the kernel compares Python objects."""
        return self.kernel is not None and not model.kernel_of(self.kernel).of_vectors

    def _use_of_frames(self) -> str:
        return "objects" if self._structures else "encode"

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        Parameters
        ----------
        X : array-like of shape (n, d), list of objects, or Rows
            Rows of numbers, or what the kernel compares; a data frame of any columns is encoded.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            A weight of w equals w equal rows.
        """
        check_option("multi_class", self.multi_class, ("one_vs_rest", "one_vs_one"))
        if not (self.optimizer is None or callable(self.optimizer)):
            check_option("optimizer", self.optimizer, ["fmin_l_bfgs_b"], "None, or a function")
        warm = self.warm_start and hasattr(self, "binaries_")
        before = [binary.kernel for binary in self.binaries_] if warm else []
        with thread_limit(self.n_jobs):
            if self.n_inducing is None:
                self._fit_exact(X, y, sample_weight, before)
            else:
                self._fit_inducing(X, y, sample_weight, before)
        self.n_classes_ = len(self.classes_)
        return self

    def _fit_exact(self, X: Any, y: Any, sample_weight: Any, before: list[Kernel]) -> None:
        """Laplace's approximation of all rows."""
        if self._structures:
            data = class_labels.coded_items(self, X, y, sample_weight)
        else:
            data = class_labels.coded_rows(self, X, y, sample_weight)
            self.encoding_ = data.encoding
        class_labels.refuse_singletons(len(data.codes), self.classes_)
        x: Any = data.x if self._structures else np.ascontiguousarray(to_array(data.x))
        kernel = self._given_kernel(model.width(x))
        x, codes, w = single_rows(kernel, x, data.codes, data.w)
        parts = coded_parts(codes, len(self.classes_), pairs=self._has_pairs)
        model.check_memory(max(len(rows) for rows, _ in parts))

        def fit_binary_part(i: int) -> laplace.BinaryProcess:
            rows, labels = parts[i]
            some = take_items(x, rows)
            previous = before[i] if len(before) == len(parts) else None
            search = self._search(kernel, some, w[rows], previous)
            return laplace.fit_binary(
                kernel, some, labels, w[rows], search, int(self.max_iter_predict)
            )

        processes = parallel_map(fit_binary_part, range(len(parts)))
        self.binaries_, self.certificate_ = processes, laplace.certify(processes)

    def _fit_inducing(self, X: Any, y: Any, sample_weight: Any, before: list[Kernel]) -> None:
        """A variational bound of all rows, which are read block by block."""
        count = check_count(self.n_inducing)
        model.refuse_without_points(self.kernel, self.optimizer)
        table = class_labels.class_rows(self, X, y, sample_weight)
        prepared = prepare(table)
        targets = class_labels.class_terms(self, table, prepared.targets)
        self.encoding_ = prepared.encoding
        kernel = self._given_kernel(len(self.encoding_.names))
        rows = store_rows(prepared.rows)
        tables = [two_class.of(rows) for two_class in two_classes(targets, pairs=self._has_pairs)]

        def fit_binary_part(i: int) -> InducingBinary:
            previous = before[i] if len(before) == len(tables) else None
            return fit_inducing_binary(
                tables[i], kernel, lambda x, w: self._search(kernel, x, w, previous), count
            )

        processes = parallel_map(fit_binary_part, range(len(tables)))
        self.binaries_, self.certificate_ = processes, certify_inducing(processes, tables)

    def _given_kernel(self, columns: int) -> Kernel:
        if self.kernel is None:
            return Constant(1.0) * Gaussian((1.0,) * max(columns, 1))
        return model.kernel_of(self.kernel)

    def _search(
        self, kernel: Kernel, x: Items, w: Floats, start_kernel: Kernel | None
    ) -> laplace.SearchSpace | None:
        """Starts from the data's scales, from the kernel's own values, and at random."""
        if self.optimizer is None and self.kernel is not None:
            return None
        given = [] if self.kernel is None else [kernel.theta]
        given += [] if start_kernel is None else [start_kernel.theta]
        optimizer = self.optimizer if callable(self.optimizer) else None
        further = (int(self.n_restarts_optimizer), self.random_state)
        return search_of(kernel, x, w, given, further, optimizer, tie=self.kernel is None)

    # -- what was learned ----------------------------------------------------------------------

    @property
    def kernel_(self) -> Any:
        """The kernel with its learned hyperparameters; of several classes one for each process."""
        check_is_fitted(self)
        kernels = laplace.Kernels(binary.kernel for binary in self.binaries_)
        return kernels[0] if len(self.classes_) == 2 else kernels

    @property
    def log_evidence_(self) -> float:
        """Laplace's approximation of the log evidence of two classes, or its lower bound."""
        check_is_fitted(self)
        if len(self.binaries_) > 1:
            raise AttributeError(
                f"the {len(self.binaries_)} processes of {len(self.classes_)} classes have an "
                "evidence each, of whether a row is of its class, and none of the classes together"
            )
        return self.binaries_[0].evidence

    @property
    def log_marginal_likelihood_value_(self) -> np.floating[Any]:
        """The log evidence; of several processes the mean, as in scikit-learn."""
        if "binaries_" not in vars(self):
            raise AttributeError("log_marginal_likelihood_value_ exists after fit.")
        return np.mean([binary.evidence for binary in self.binaries_])

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Log evidence of the training rows, and its gradient, at θ.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            Logarithms of the hyperparameters, of one process or of all in turn; None for the
            learned ones.
        eval_gradient : bool, default=False
            Whether to return the gradient too; of two classes only.
        clone_kernel : bool, default=True
            Whether the model is left as it is; else it becomes that of θ.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise InputError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        if eval_gradient and len(self.binaries_) > 1:
            raise NotImplementedError(
                "Gradient of log-marginal-likelihood not implemented for multi-class GPC."
            )
        exact = [one for one in self.binaries_ if isinstance(one, laplace.BinaryProcess)]
        if len(exact) < len(self.binaries_):
            raise InputError(
                "With inducing points there is no evidence at other hyperparameters.",
                remedy="Leave n_inducing at None for the process of all rows.",
            )
        steps, each = (
            int(self.max_iter_predict),
            laplace.thetas_of(exact, np.asarray(theta, dtype=float)),
        )
        with one_blas_thread():
            evidences = [
                laplace.LaplaceEvidence(one.kernel, one.x, one.y, one.w, steps)(gradient)
                for one, gradient in zip(exact, each, strict=True)
            ]
            if not clone_kernel:
                anew = [
                    laplace.fit_binary(
                        one.kernel.with_theta(gradient), one.x, one.y, one.w, None, steps
                    )
                    for one, gradient in zip(exact, each, strict=True)
                ]
                self.binaries_, self.certificate_ = anew, laplace.certify(anew)
        if eval_gradient:
            return evidences[0]
        # NumPy's number, as scikit-learn's: arithmetic with single precision stays in double
        return np.mean([value for value, _ in evidences])

    # -- predictions ---------------------------------------------------------------------------

    def _items(self, X: Any) -> Items:
        check_is_fitted(self)
        return as_list(X) if self._structures else to_array(self._design(X))

    @property
    def _has_pairs(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class == "one_vs_one"

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """Mean and variance of f at new rows; of two classes only."""
        x = self._items(X)
        if len(self.binaries_) > 1:
            raise InputError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {len(self.classes_)} classes."
            )
        with one_blas_thread():
            return self.binaries_[0].latent(x)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: the more probable of two, the most probable of several."""
        x = self._items(X)
        if len(self.classes_) == 2:
            return class_labels.label_scores(self.binaries_[0].latent_mean(x), self.classes_)
        return np.asarray(self.classes_[self._probabilities(x).argmax(axis=1)])

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``."""
        return self._probabilities(self._items(X))

    def _probabilities(self, x: Items) -> Floats:
        p = np.stack([binary.probabilities(x) for binary in self.binaries_], axis=1)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p, p])
        return couple(logit(p), len(self.classes_)) if self._has_pairs else normalize(p)

    def formula(self) -> nodes.ClassFormula:
        """Class probabilities of Laplace's approximation, or of inducing points."""
        return classes_formula(self)


# -------------------------------------------------------------------------------------------------
# Rows of a table as those of a process of two classes: a target of 0 or 1.


LABEL = Terms((Term("class"),))


@dataclass(frozen=True)
class TwoClasses:
    """Blocks of class indicators as class ``second`` (1) against ``first``, or against the rest."""

    targets: Terms
    second: int
    first: int | None = None

    def apply(self, block: Block) -> Block:
        """The rows of both classes."""
        indicators = block.indicators(self.targets)
        labeled = Block(block.x, indicators[:, [self.second]], block.w, block.terms, LABEL)
        if self.first is None:
            return labeled
        return labeled.take(np.flatnonzero(indicators[:, [self.first, self.second]].any(axis=1)))

    def of(self, rows: Rows) -> Rows:
        """The rows of both classes, in memory where all rows are."""
        if isinstance(rows, InMemory):
            return InMemory(rows.schema, self.apply(rows.block))
        return MappedRows(rows, self)


def two_classes(targets: Terms, *, pairs: bool) -> list[TwoClasses]:
    """What every process tells apart: pairs of classes, or each from the rest (one of two)."""
    if pairs:
        return [TwoClasses(targets, j, i) for i, j in combinations(range(len(targets)), 2)]
    return [TwoClasses(targets, c) for c in class_labels.outputs_of(len(targets))]


def coded_parts(codes: Ints, n_classes: int, *, pairs: bool) -> list[tuple[Ints, Floats]]:
    """The same of class codes in memory: rows, and labels 0 or 1, of every process."""
    every = np.arange(len(codes))
    if not pairs:
        return [(every, (codes == c).astype(float)) for c in class_labels.outputs_of(n_classes)]
    chosen = [(every[(codes == i) | (codes == j)], j) for i, j in combinations(range(n_classes), 2)]
    return [(rows, (codes[rows] == j).astype(float)) for rows, j in chosen]


# -------------------------------------------------------------------------------------------------
# Where hyperparameters of a process of classes are looked for; rows with noise of their own.


def search_of(
    kernel: Kernel,
    x: Items,
    w: Floats,
    given: Sequence[Floats],
    further: tuple[int, Any],
    optimizer: Any,
    *,
    tie: bool,
) -> laplace.SearchSpace:
    """Starts from the data's scales, from given values, and at random (how many, and the seed).

    With ``tie`` length scales have one factor where rows are few.
    """
    natural = natural_scales(kernel, x, w, 4.0)  # variance of f where the search begins
    first, fast, slow = data_starts(natural)
    count, seed = further
    rng = check_random_state(seed)
    spread = [first + rng.uniform(-3.0, 3.0, len(first)) for _ in range(count)]
    box = limit_bounds(box_around(natural, first, *given), natural, *given)
    # Rows for each column below which all length scales of the default kernel have one factor.
    if tie and w.sum() < 10 * lengths(natural).sum():
        return tied_lengths(natural, lengths(natural), box)
    if optimizer is not None and given:
        return laplace.SearchSpace([*given, *spread], box, optimizer)
    return laplace.SearchSpace([*given, first, *spread, fast, slow], box, optimizer)


def tied_lengths(natural: Kernel, is_length: np.ndarray, box: Bounds) -> laplace.SearchSpace:
    """One factor for all length scales in place of one for each, where rows are few."""
    theta = natural.theta
    directions = np.eye(len(theta))[:, ~is_length]
    directions = np.column_stack([directions, is_length.astype(float)])
    low, high = box.low - theta, box.high - theta
    low = np.append(low[~is_length], low[is_length].max())
    high = np.append(high[~is_length], high[is_length].min())
    zero = np.zeros(len(low))
    shift = np.where(np.arange(len(low)) == len(low) - 1, np.log(3.0), 0.0)
    return laplace.SearchSpace(
        [zero, zero - shift, zero + shift], Bounds.of(low, high), None, theta, directions
    )


def limit_bounds(box: Bounds, natural: Kernel, *given: Floats) -> Bounds:
    """The box without kernels so large that probabilities are 0 and 1 but for rounding."""
    most = natural.theta + float(np.log(1e4))  # how many times that it may become (as a logarithm)
    for values in given:
        most = np.maximum(most, values)
    return Bounds(
        box.low, np.where(lengths(natural), box.high, np.minimum(box.high, most)), box.vanishing
    )


def single_rows(kernel: Kernel, x: Items, codes: Ints, w: Floats) -> tuple[Items, Ints, Floats]:
    """Rows with weights; with white noise in f every copy of a row has an f of its own."""
    if not model.SplitKernel(kernel).has_noise or (w == 1.0).all():
        return x, codes, w
    if (w != np.round(w)).any():
        raise InputError(
            "With White() in the kernel every row has latent noise of its own, and weights that "
            "are no whole numbers have no meaning.",
            remedy="Leave White() out: a classifier needs no noise.",
        )
    copies = np.repeat(np.arange(len(w)), w.astype(int))
    return take_items(x, copies), codes[copies], np.ones(len(copies))

"""Sigmoid outputs fitted to labels by least squares, by Newton's method.

    f(b) = ½ Σ w (σ(z·b) − r)² + ½ α v ‖b without its intercept‖²,    σ(s) = 1/(1 + e⁻ˢ)

v = 4p(1 − p) is the variance of a label with the mean p, compared with that of an even one: the
penalty of a rare label is in proportion to the errors that it can make.

f is not convex: where an output is saturated and wrong it is flat and concave. Damped Newton steps
end at a point where the gradient vanishes and the Hessian is positive semi-definite: a local
minimum, possibly not the global one.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit, log_expit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.base import check_labels, reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.transformers import standard_design
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.geometry.class_scores import softmax
from separatrix.matrices.products import multiply
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.global_search import SEARCHES, LowPoint, search_globally
from separatrix.optimize.newton import newton
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term, check_sample_weight
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread, parallel_map


class SigmoidSquares:
    """f, its gradient and Hessian for rows ``z`` (a column of ones first), targets r in [0, 1].

    ``penalty`` is α v. What all outputs share may be given: ``squares`` = Σ w z² of every column.
    """

    def __init__(
        self, z: Floats, r: Floats, w: Floats, penalty: float, squares: Floats | None = None
    ) -> None:
        self.z, self.r, self.w = z, r, w
        self.squares = w @ z**2 if squares is None else squares
        self.penalty = np.full(z.shape[1], penalty)
        self.penalty[0] = 0.0
        self.at, self.outputs = np.full(z.shape[1], np.nan), np.zeros(0)

    def _outputs(self, b: Floats) -> Floats:
        """σ(z·b), computed once for a value and its derivatives."""
        if not np.array_equal(b, self.at):
            self.at, self.outputs = b.copy(), expit(self.z @ b)
        return self.outputs

    def value(self, b: Floats) -> float:
        """f(b)."""
        error = self._outputs(b) - self.r
        return 0.5 * float(self.w @ error**2 + self.penalty @ b**2)

    def gradient(self, b: Floats) -> Floats:
        """Σ w (y − r) y (1 − y) z + α v b."""
        y = self._outputs(b)
        return np.asarray((self.w * (y - self.r) * y * (1 - y)) @ self.z + self.penalty * b)

    def hessian(self, b: Floats) -> Floats:
        """The Hessian, but for rows that matter little beside others: of a rare label most do."""
        second = self._second(b)
        size = np.abs(second)
        # Factors of rows that Newton's method leaves out of Hessians, beside the largest.
        counted = np.flatnonzero(size > 1e-6 * size.max(initial=0.0))
        if 2 * len(counted) > len(second):
            return self.exact_hessian(b)
        z = self.z[counted]
        return np.asarray((z.T * second[counted]) @ z + np.diag(self.penalty))

    def exact_hessian(self, b: Floats) -> Floats:
        """Σ w y(1 − y) [y(1 − y) + (y − r)(1 − 2y)] z zᵀ + α v I."""
        return np.asarray((self.z.T * self._second(b)) @ self.z + np.diag(self.penalty))

    def _second(self, b: Floats) -> Floats:
        y = self._outputs(b)
        derivative = y * (1 - y)
        return np.asarray(self.w * derivative * (derivative + (y - self.r) * (1 - 2 * y)))

    def metric(self, _: Floats) -> Floats:
        """An upper bound of the diagonal of the Gauss–Newton matrix: σ′ is at most ¼."""
        return np.asarray(self.squares / 16 + self.penalty) + np.finfo(float).tiny


def _starts(z: Floats, r: Floats, w: Floats) -> Floats:
    """The linear discriminant of every label against all others, from one factorization.

    Rows far from a rare label start with outputs near zero, as they end.
    """
    weight = w.sum()
    p = np.clip(w @ r / weight, 1e-3 / len(w), 1.0 - 1e-3 / len(w))
    gram = (z[:, 1:].T * w) @ z[:, 1:] / weight
    means = (z[:, 1:].T * w) @ r / (weight * p)  # columns of z are centered
    direction = linalg.solve(gram + 1e-3 * np.eye(len(gram)), means, assume_a="pos") / (1.0 - p)
    explained = np.sum(means * direction, axis=0) * p
    direction /= np.maximum(1.0 - explained, 0.05)
    middle = 0.5 * np.sum(means * direction, axis=0) * (1.0 - p / (1.0 - p))
    return np.vstack([np.log(p / (1.0 - p)) - middle, direction])


@dataclass(frozen=True)
class StartSearch:
    """How a lower start is looked for, beside that of the linear discriminant; None: not at all."""

    solver: str
    max_evaluations: int
    seed: int


def _lower_start(problem: SigmoidSquares, start: Floats, search: StartSearch) -> LowPoint:
    """The lowest point found: a minimum has a penalty that is no more than the value elsewhere."""
    with np.errstate(divide="ignore"):
        bound = np.sqrt(2.0 * problem.value(np.zeros_like(start)) / problem.penalty)
    # Coefficients of standardized columns beyond which an output is a step: none is looked for.
    bound = np.minimum(bound, 20.0)
    return search_globally(
        problem.value,
        -bound,
        bound,
        start,
        solver=search.solver,
        max_evaluations=search.max_evaluations,
        seed=search.seed,
    )


def fit_sigmoid_squares(
    z: Floats,
    r: Floats,
    w: Floats,
    *,
    alpha: float,
    tol: float,
    max_iter: int,
    search: StartSearch | None = None,
) -> Solution:
    """Coefficients of (1, z), (1 + d) x k, for k outputs with targets ``r`` (n x k).

    Of a ``search`` the lower of two local minima is taken: that from its start, and the usual one.
    """

    starts, squares, share = _starts(z, r, w), w @ z**2, w @ r / w.sum()
    variance = 4.0 * share * (1.0 - share)
    variance[variance <= 0.0] = 1.0  # a constant label

    def output(j: int) -> tuple[Solution, float, int]:
        problem = SigmoidSquares(z, r[:, j], w, alpha * variance[j], squares)

        def descend(start: Floats) -> Solution:
            return newton(problem, start, tol=tol, max_iter=max_iter, gradient_scale=0.25)

        solution, evaluations = descend(starts[:, j]), 0
        if search is not None:
            low = _lower_start(problem, solution.coef[:, 0], search)
            evaluations = low.evaluations
            other = descend(low.x)
            below = other.certificate.primal < solution.certificate.primal * (1.0 - 1e-9)
            if other.certificate.holds and (below or not solution.certificate.holds):
                solution = other
        b = solution.coef[:, 0]
        unit = np.sqrt(problem.metric(b))
        return (
            solution,
            float(linalg.eigvalsh(problem.exact_hessian(b) / np.outer(unit, unit))[0]),
            (evaluations),
        )

    minima, eigenvalues, evaluations = zip(*parallel_map(output, range(r.shape[1])), strict=True)
    smallest = min(eigenvalues)
    tried: tuple[str, ...] = ()
    if search is not None:
        tried = (
            f"The lowest point of {sum(evaluations):,} evaluations by {search.solver} was a "
            "further start.",
        )
    definite = "is" if smallest >= -1e-9 else "is not"
    certificate = Certificate(
        "Squared error of sigmoid outputs: a local minimum",
        primal=sum(s.certificate.primal for s in minima),
        kkt=max(s.certificate.kkt for s in minima),
        tolerance=tol,
        notes=(
            f"The Hessian {definite} positive semi-definite (smallest eigenvalue {smallest:.1e} "
            "relative to the largest possible).",
            "The objective is not convex: another local minimum may be lower.",
            *tried,
        ),
        promised=("kkt",),
    )
    return Solution(
        np.column_stack([s.coef[:, 0] for s in minima]),
        np.zeros(len(minima)),
        certificate,
        Status.SOLVED if certificate.holds else Status.LIMIT,
        max(s.iterations for s in minima),
    )


@declare_parameters
class SigmoidRegressionClassifier(ProbabilisticLinearClassifier):
    """Sigmoid outputs fitted to classes or labels by penalized least squares.

        min over W, a of ½ Σ w ‖r − σ(Wx + a)‖² / Σ w + ½ α Σₖ vₖ ‖sWₖ‖²,    vₖ = 4pₖ(1 − pₖ)

    with s the standard deviations of the columns and pₖ the share of rows with label k: errors of
    a rare label are few, and so is its penalty. Each label has an output σ(w·x + a) between 0 and
    1 of its own: labels need neither exclude each other nor be exhaustive. Distant rows cost
    nothing if they are right and at most ½ if they are wrong: single wrong labels do less harm than
    under a likelihood, but the objective has several local minima, and the certificate claims one.

    Parameters
    ----------
    alpha : float, default=1e-3
        Penalty on the coefficients of standardized columns. It keeps them finite where a hyperplane
        separates the labels; the fit does not depend on units.
    tol : float, default=1e-9
        Tolerance on the gradient, relative to the largest possible.
    max_iter : int, default=200
        Newton steps at most.
    solver : {"newton", "annealing", "evolution"}, default="newton"
        Newton's method from the linear discriminant; or besides from the lowest point that
        simulated annealing or differential evolution finds, the lower minimum being taken.
    max_evaluations : int, default=10000
        Evaluations of such a search, for each output, about.
    random_state : int, RandomState or None, default=0
        What the search is drawn from.

    Attributes
    ----------
    classes_ : ndarray
        The labels in order; column numbers if multilabel.
    coef_ : ndarray of shape (n_outputs, n_features)
        Coefficients: for ``classes_[1]`` of two classes, else for each class or label.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    multilabel_ : bool
        Whether ``y`` was a table of 0 and 1 with a column for each label.
    certificate_ : Certificate
        The gradient and the smallest eigenvalue of the Hessian.
    n_iter_ : int
        Newton steps of the slowest output.

    See Also
    --------
    LogisticRegression : The likelihood instead of the squared error.
    LeastSquaresClassifier : Linear outputs.
    GradientDescent : Logistic or squared loss, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    >>> y = np.column_stack([X[:, 0] > -1.5, X[:, 0] > 0.5]).astype(int)
    >>> model = sx.SigmoidRegressionClassifier().fit(X, y)
    >>> model.predict([[-3.0], [0.0], [3.0]]).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """

    _sparse_ok = False
    _multi_output = True

    alpha: float = 1e-3
    _: KW_ONLY
    tol: float = 1e-9
    max_iter: int = 200
    solver: str = "newton"
    max_evaluations: int = 10_000
    random_state: Any = 0

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y`` (n, or n x labels of 0 and 1), or to Rows."""
        if not self.alpha >= 0:
            raise InputError(f"alpha={self.alpha!r} must not be negative.")
        search = self._search()
        rows = self._labeled_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = prepared.targets
        if not self.multilabel_:
            terms = class_terms(self, rows, terms)
        block = prepared.rows.collect()
        r = block.indicators(terms)
        if not self.multilabel_ and r.shape[1] == 2:
            r = r[:, 1:]
        design = standard_design(block, prepared.moments)
        found = fit_sigmoid_squares(
            design.z,
            r,
            design.w,
            alpha=self.alpha,
            tol=self.tol,
            max_iter=self.max_iter,
            search=search,
        )
        if not found.certificate.holds:
            warn("SEP003", f"{found.certificate}")
        coef, intercept = design.unscale(found.coef)
        solution = Solution(coef, intercept, found.certificate, found.status, found.iterations)
        self._accept(solution, prepared.encoding, flat=False)
        return self

    def _search(self) -> StartSearch | None:
        """The search for a lower start, if one is asked for."""
        check_option("solver", self.solver, ("newton", *SEARCHES))
        if not isinstance(self.max_evaluations, int | np.integer) or self.max_evaluations < 1:
            raise InputError(
                f"max_evaluations={self.max_evaluations!r} must be a whole number above zero."
            )
        if self.solver == "newton":
            return None
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return StartSearch(self.solver, int(self.max_evaluations), int(seed))

    def _labeled_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows with an indicator per class, or with the given columns if multilabel."""
        if not isinstance(X, Rows) and np.asarray(y).ndim == 1:
            check_labels(np.asarray(y))
        kind = "" if isinstance(X, Rows) or y is None else type_of_target(y)
        self.multilabel_ = kind == "multilabel-indicator"
        if kind == "multiclass-multioutput":
            raise ValueError("Unknown label type: several targets must hold 0 and 1 alone.")
        if not self.multilabel_:
            labels = np.asarray(y).ravel() if kind else y
            return class_rows(self, X, labels, sample_weight)

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            dense = labels.toarray() if sparse.issparse(labels) else labels
            _refuse_other_codes(np.asarray(dense))
            self.classes_ = np.arange(dense.shape[1])
            check_sample_weight(sample_weight, len(dense))
            return np.asarray(dense, dtype=float), [Term(f"y{j}") for j in self.classes_]

        return self._training_rows(X, y, sample_weight, encode_target=encode)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """w·x + a of every output; one number for two classes."""
        check_is_fitted(self)
        scores = np.asarray(multiply(self._design(X), self.coef_.T) + self.intercept_)
        binary = len(self.classes_) == 2 and not self.multilabel_
        return scores[:, 0] if binary else scores

    def outputs(self, X: Any) -> Floats:
        """σ(w·x + a) of every output (n x k), not normalized."""
        check_is_fitted(self)
        return np.asarray(expit(multiply(self._design(X), self.coef_.T) + self.intercept_))

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Multilabel outputs as they are; those of classes divided by their sum.

        The sum is taken in logarithms, so that it cannot underflow.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return np.asarray(expit(scores))
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(log_expit(scores))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest output; if multilabel, 1 where an output exceeds ½."""
        check_is_fitted(self)
        if self.multilabel_:
            return np.asarray(self.decision_function(X) > 0, dtype=int)
        return super().predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def formula(self) -> nodes.ClassFormula:
        """Sigmoids of linear scores; of several classes divided by their sum, in logarithms."""
        if self.multilabel_:
            raise NoFormula("Several labels for a row have no export.")
        if len(self.classes_) == 2:
            return super().formula()
        scores = self._linear_scores()
        logs = nodes.Elementwise(
            scores, "log_sigmoid", names=nodes.score_names(self.classes_, "log")
        )
        return nodes.by_probability(nodes.probabilities(logs, self.classes_), self.classes_, scores)


def _refuse_other_codes(labels: NDArray[Any]) -> None:
    """Outputs lie between 0 and 1, as must their targets: −1 or 2 would be fitted in silence."""
    for row, column in np.argwhere((labels != 0) & (labels != 1))[:1]:
        raise InputError(
            f"Label {column} of several is {labels[row, column]!s}, neither 0 nor 1.",
            row=int(row) + 1,
            remedy="Code labels as 0 and 1, such as (y > 0).astype(int) for −1 and 1.",
        )

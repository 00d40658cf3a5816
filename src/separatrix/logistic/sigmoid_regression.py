"""Sigmoid outputs fitted to labels by least squares, by Newton's method.

    f(b) = ½ Σ w (σ(z·b) − r)² + ½ α ‖b without its intercept‖²,    σ(s) = 1/(1 + e⁻ˢ)

f is not convex: where an output is saturated and wrong it is flat and concave. Damped Newton steps
end at a point where the gradient vanishes and the Hessian is positive semi-definite: a local
minimum, possibly not the global one.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import expit, log_expit
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import check_sample_weight
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.standard_design import standard_design
from separatrix.estimators.targets import check_labels
from separatrix.geometry.class_scores import softmax
from separatrix.messages import InputError, warn
from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term
from separatrix.statistics.preparation import prepare
from separatrix.threads import parallel_map


class SigmoidSquares:
    """f, its gradient and Hessian for rows ``z`` (a column of ones first), targets r in [0, 1]."""

    def __init__(self, z: Floats, r: Floats, w: Floats, alpha: float) -> None:
        self.z, self.r, self.w = z, r, w
        self.penalty = np.full(z.shape[1], alpha)
        self.penalty[0] = 0.0

    def value(self, b: Floats) -> float:
        """f(b)."""
        error = expit(self.z @ b) - self.r
        return 0.5 * float(self.w @ error**2 + self.penalty @ b**2)

    def gradient(self, b: Floats) -> Floats:
        """Σ w (y − r) y (1 − y) z + α b."""
        y = expit(self.z @ b)
        return np.asarray((self.w * (y - self.r) * y * (1 - y)) @ self.z + self.penalty * b)

    def hessian(self, b: Floats) -> Floats:
        """Σ w y(1 − y) [y(1 − y) + (y − r)(1 − 2y)] z zᵀ + αI."""
        y = expit(self.z @ b)
        derivative = y * (1 - y)
        second = self.w * derivative * (derivative + (y - self.r) * (1 - 2 * y))
        return np.asarray((self.z.T * second) @ self.z + np.diag(self.penalty))

    def metric(self, _: Floats) -> Floats:
        """An upper bound of the diagonal of the Gauss–Newton matrix: σ′ is at most ¼."""
        return np.asarray(self.w @ self.z**2 / 16 + self.penalty) + np.finfo(float).tiny

    def start(self) -> Floats:
        """Least squares on the tangent of the sigmoid at 0, ½ + s/4."""
        gram = (self.z.T * self.w) @ self.z
        gram += np.diag(np.r_[0.0, np.full(len(gram) - 1, 1e-3)])
        return np.asarray(
            4 * linalg.solve(gram, (self.w * (self.r - 0.5)) @ self.z, assume_a="pos")
        )


def fit_sigmoid_squares(
    z: Floats, r: Floats, w: Floats, *, alpha: float, tol: float, max_iter: int
) -> Solution:
    """Coefficients of (1, z), (1 + d) x k, for k outputs with targets ``r`` (n x k)."""

    def output(target: Floats) -> tuple[Solution, float]:
        problem = SigmoidSquares(z, target, w, alpha)
        one = newton(problem, problem.start(), tol=tol, max_iter=max_iter, gradient_scale=0.25)
        b = one.coef[:, 0]
        unit = np.sqrt(problem.metric(b))
        return one, float(linalg.eigvalsh(problem.hessian(b) / np.outer(unit, unit))[0])

    found, eigenvalues = zip(*parallel_map(output, list(r.T)), strict=True)
    smallest = min(eigenvalues)
    definite = "is" if smallest >= -1e-9 else "is not"
    certificate = Certificate(
        "Squared error of sigmoid outputs: a local minimum",
        primal=sum(s.certificate.primal for s in found),
        kkt=max(s.certificate.kkt for s in found),
        tolerance=tol,
        notes=(
            f"The Hessian {definite} positive semi-definite (smallest eigenvalue {smallest:.1e} "
            "relative to the largest possible).",
            "The objective is not convex: another local minimum may be lower.",
        ),
        promised=("kkt",),
    )
    return Solution(
        np.column_stack([s.coef[:, 0] for s in found]),
        np.zeros(len(found)),
        certificate,
        Status.SOLVED if certificate.holds else Status.LIMIT,
        max(s.iterations for s in found),
    )


class SigmoidRegressionClassifier(ProbabilisticLinearClassifier):
    """Sigmoid outputs fitted to classes or labels by penalized least squares.

        min over W, a of ½ Σ w ‖r − σ(Wx + a)‖² / Σ w + ½ α ‖sW‖²

    with s the standard deviations of the columns. Each label has an output σ(w·x + a) between 0 and
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

    def __init__(self, alpha: float = 1e-3, *, tol: float = 1e-9, max_iter: int = 200) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y`` (n, or n x labels of 0 and 1), or to Rows."""
        if not self.alpha >= 0:
            raise InputError(f"alpha={self.alpha!r} must not be negative.")
        rows = self._labeled_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = prepared.moments.targets
        if not self.multilabel_:
            terms = self._class_terms(rows, terms)
        block = prepared.rows.collect()
        r = block.indicators(terms)
        if not self.multilabel_ and r.shape[1] == 2:
            r = r[:, 1:]
        design = standard_design(block, prepared.moments)
        found = fit_sigmoid_squares(
            design.z, r, design.w, alpha=self.alpha, tol=self.tol, max_iter=self.max_iter
        )
        if not found.certificate.holds:
            warn("SEP003", f"{found.certificate}")
        coef, intercept = design.unscale(found.coef)
        solution = Solution(coef, intercept, found.certificate, found.status, found.iterations)
        self._accept(solution, prepared.encoding, flat=False)
        return self

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
            return self._class_rows(X, labels, sample_weight)

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            dense = labels.toarray() if sparse.issparse(labels) else labels
            _refuse_other_codes(np.asarray(dense))
            self.classes_ = np.arange(dense.shape[1])
            check_sample_weight(sample_weight, len(dense))
            return np.asarray(dense, dtype=float), [Term(f"y{j}") for j in self.classes_]

        return self._training_rows(X, y, sample_weight, encode_target=encode)

    def decision_function(self, X: Any) -> Floats:
        """w·x + a of every output; one number for two classes."""
        check_is_fitted(self)
        scores = np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        one = len(self.classes_) == 2 and not self.multilabel_
        return scores[:, 0] if one else scores

    def outputs(self, X: Any) -> Floats:
        """σ(w·x + a) of every output (n x k), not normalized."""
        check_is_fitted(self)
        return np.asarray(expit(self._design(X) @ self.coef_.T + self.intercept_))

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


def _refuse_other_codes(labels: NDArray[Any]) -> None:
    """Outputs lie between 0 and 1, as must their targets: −1 or 2 would be fitted in silence."""
    for row, column in np.argwhere((labels != 0) & (labels != 1))[:1]:
        raise InputError(
            f"Label {column} of several is {labels[row, column]!s}, neither 0 nor 1.",
            row=int(row) + 1,
            remedy="Code labels as 0 and 1, such as (y > 0).astype(int) for −1 and 1.",
        )

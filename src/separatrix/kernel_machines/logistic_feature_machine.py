"""Kernel logistic regression whose metric is learned: probabilities by the loss they are judged by.

    min over f, b of Σ w ℓ(y, f(x) + b) + ½ λ Σₖ ‖fₖ‖²,   ℓ = log Σₖ exp(fₖ + bₖ) − f_y − b_y

in the space of the kernel κ_M of :mod:`separatrix.kernel_machines.learned_metric`. M comes from the
rounds of ridge regressions of :class:`RecursiveFeatureMachineClassifier`, which a factorization
solves; λ is chosen by the log loss of rows left out, along a path that starts from the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import coded_rows, label_scores
from separatrix.formula import nodes
from separatrix.kernel_machines.kernel_logistic import (
    TOLERANCE,
    ClassScores,
    KernelLogisticFit,
    by_factor,
    fit_scores,
)
from separatrix.kernel_machines.learned_metric import KernelFit, MetricCenters, MetricRows
from separatrix.kernel_machines.metric_search import (
    ALPHAS,
    MetricSearch,
    SearchPoint,
    SearchResult,
    find_metric,
    search_of,
)
from separatrix.kernel_machines.recursive_feature_machine import (
    CHOOSING_FOLDS,
    DistinctRows,
    RecursiveFeatureMachine,
    indicators,
)
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import Encoding, to_array
from separatrix.selection.folds import CV
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.threads import on_one_blas_thread, parallel_map

#: Values of λ in units of the kernel's variance, from strong to hardly any shrinkage.
PENALTIES = (3.0, 0.75, 0.2, 0.05, 0.012, 0.003)
#: Relative duality gap of fits that are only compared: log losses differ by far more.
COMPARED = 3e-3


@dataclass(frozen=True)
class PenaltyPath:
    """Penalties, their log losses on every fold, the chosen ones, and probabilities of the rows.

    Each fold has the kernel and the penalty that the others choose.
    """

    alphas: tuple[float, ...]
    losses: Floats
    best: int
    by_fold: Ints
    probabilities: Floats


def follow_penalties(
    search: MetricSearch, found: SearchResult, alphas: Sequence[float]
) -> PenaltyPath:
    """Penalties for the kernel that was found without each fold, the largest first.

    A penalty is the best of those before a loss that has risen: less shrinkage would be worse
    still. For a fold that is the loss of the others, and no further penalty is computed once the
    losses of all have risen, those without each fold and that of all folds.
    """
    fits = parallel_map(
        lambda fold: FoldPath.of(search, found, fold), list(range(len(search.folds)))
    )
    weights = np.array([fit.w.sum() for fit in fits])
    losses: list[Floats] = []
    made: list[list[Floats]] = []
    for alpha in alphas:
        made.append(parallel_map(partial(FoldPath.next, alpha=alpha), fits))
        losses.append(np.array([f.loss(p) for f, p in zip(fits, made[-1], strict=True)]))
        if _first_minima(_sums(np.array(losses), weights)).max() < len(losses) - 1:
            break
    table = np.array(losses)
    best, *by_fold = _first_minima(_sums(table, weights)).tolist()
    p = np.concatenate([made[by_fold[fold]][fold] for fold in range(len(fits))])
    return PenaltyPath(tuple(alphas[: len(table)]), table, best, np.array(by_fold), p)


def _sums(losses: Floats, weights: Floats) -> Floats:
    """Loss of all folds, and of those other than each: (penalties, 1 + folds)."""
    total = losses @ weights
    return np.column_stack([total, total[:, None] - losses * weights])


def _first_minima(sums: Floats) -> Ints:
    """The last place of every column before it rises."""
    rises = np.vstack([sums[1:] > sums[:-1], np.ones((1, sums.shape[1]), dtype=bool)])
    return np.asarray(rises.argmax(axis=0))


@dataclass
class FoldPath:
    """Training rows of a fold with their kernel, the rows it predicts, and the fit before."""

    gram: Floats
    unit: float
    hot: Floats
    cost: Floats
    new: Floats
    truth: Ints
    w: Floats
    solved: KernelLogisticFit | None = None

    @classmethod
    def of(cls, search: MetricSearch, found: SearchResult, fold: int) -> FoldPath:
        """With the kernel that was found without the fold."""
        test, point = found.tests[fold], found.points[found.by_fold[fold]]
        part = search.mapped(fold, test, found.n_train)
        rows = MetricRows.of(found.metrics[fold], part.z, part.w, np.float32)
        fit = rows.fit(point.shape, part.right)
        hot = search.y[test]
        truth = hot[:, 0] if hot.shape[1] == 1 else hot.argmax(axis=1)
        return cls(
            fit.gram.astype(np.float64), fit.unit, part.right + part.center, part.w,
            rows.values(point.shape, rows.pairs_with(part.new)).astype(np.float64),
            truth.astype(np.int64), search.w[test],
        )  # fmt: skip

    def next(self, alpha: float) -> Floats:
        """Probabilities at the next penalty of the path."""
        problem = ClassScores(self.hot, self.cost / (alpha * self.unit), self.gram)
        start = by_factor(self.gram, problem.cost)
        self.solved = fit_scores(problem, start, self.solved, COMPARED)
        return class_probabilities(self.new @ self.solved.coef + self.solved.offset)

    def loss(self, p: Floats) -> float:
        """Mean log loss."""
        return float(self.w @ -np.log(p[np.arange(len(p)), self.truth]) / self.w.sum())


def class_probabilities(scores: Floats) -> Floats:
    """A column for each class, none of them zero."""
    if scores.shape[1] == 1:
        p = np.concatenate([expit(-scores), expit(scores)], axis=1)
    else:
        p = np.asarray(softmax(scores, axis=1))
    return np.asarray(np.maximum(p, np.finfo(float).tiny))


@declare_parameters
class LogisticRecursiveFeatureMachine(ClassifierMixin, RecursiveFeatureMachine):
    """Kernel logistic regression whose metric is learned from the gradients of kernel fits.

        min over f, b of Σ w ℓ(y, f(x) + b) + ½ λ Σₖ ‖fₖ‖²  over functions of the kernel κ_M of
        :class:`RecursiveFeatureMachineClassifier`, whose rounds learn M

    Probabilities are those of the loss that is minimized, and need no calibration. Kernel and
    rounds are chosen by the squared error of rows left out, λ by their log loss, with the metric
    learned inside each training fold. Every training row is a center.

    Parameters
    ----------
    share : float or None, default=None
        τ, from 0 to 1: the share of the kernel along columns.
    spread : float or None, default=None
        Bandwidths h and g, in mean distances of two rows.
    alpha : float or None, default=None
        λ, in multiples of the mean of 1 − κ over pairs of rows.
    rounds : int or None, default=None
        Updates of the metric; 0 leaves it even.
    class_weight : dict, "balanced" or None, default=None
    cv : int, splitter or iterable of (train, test), default=3
        Folds that choose; of a number, rows of each class are dealt to them in turn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    n_iter_ : int
        Newton steps.
    metric_, eigenvalues_, eigenvectors_, rounds_, alpha_, share_, spread_, cv_results_ : object
        As in :class:`RecursiveFeatureMachineRegressor`; losses are log losses.
    columns_, centers_, dual_coef_, intercept_ : object
        Likewise, with a column of coefficients for the second of two classes, or for each.
    certificate_ : Certificate
        Duality gap of the fit given its metric.

    See Also
    --------
    RecursiveFeatureMachineClassifier : the same by least squares, for more rows.
    KernelLogisticRegressionCV : any kernel that is given.

    References
    ----------
    J. Zhu and T. Hastie, Kernel logistic regression and the import vector machine, Journal of
    Computational and Graphical Statistics 14, 2005.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.LogisticRecursiveFeatureMachine().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_proba(X[:1]).round(1).tolist()
    [[1.0, 0.0, 0.0]]
    """

    _: KW_ONLY
    share: float | None = None
    spread: float | None = None
    alpha: float | None = None
    rounds: int | None = None
    class_weight: Any = None
    cv: CV = CHOOSING_FOLDS

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        return self._fit_classes(X, y, sample_weight, None)

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any, tuning: Tuning | None) -> Self:
        data = coded_rows(self, X, y, sample_weight, self.class_weight)
        self.encoding_: Encoding = data.encoding
        x = np.asarray(to_array(data.x), dtype=np.float64)
        hot = indicators(data.codes, len(self.classes_))
        folds = self._given_folds(data.n_samples, data.rows, codes=data.codes)
        rows = DistinctRows.of(x, hot, data.w, np.zeros(hot.shape[1]), 1.0, folds)
        self._fit_rows(rows, tuning)
        return self

    @property
    def _alphas(self) -> tuple[float, ...]:
        return PENALTIES if self.alpha is None else (float(self.alpha),)

    def _choices(self) -> dict[str, Any]:
        """What ridge regressions compare: all of their penalties."""
        return {**super()._choices(), "alphas": ALPHAS}

    def _search(self, search: MetricSearch, _: DistinctRows) -> SearchPoint:
        found = search.choose()
        path = follow_penalties(search, found, self._alphas)
        points = [replace(found.points[found.best], alpha=a) for a in path.alphas]
        self._state_search([p.named() for p in points], path.losses)
        return points[path.best]

    def _fit_point(self, rows: DistinctRows, point: SearchPoint) -> None:
        z, kernel = self._learn_kernel(rows, rows.y - rows.w @ rows.y / rows.w.sum(), point)
        centers = kernel.prepare(z)
        fit = KernelFit(centers.gram(), rows.y, rows.w)
        lam, gram = point.alpha * fit.unit, fit.gram + np.tril(fit.gram, -1).T
        problem = ClassScores(rows.y, rows.w / lam, gram)
        solved = fit_scores(problem, by_factor(gram, problem.cost))
        self.middle_, self.centers_ = centers.middle, z
        self.alpha_, self.n_iter_ = lam, solved.steps
        self.dual_coef_, self.intercept_ = solved.coef, solved.offset
        self.certificate_ = _certify(problem, centers, solved, lam, point.rounds)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare on the folds; predictions are probabilities."""
        require_classes(data)
        y = indicators(np.asarray(data.y, dtype=np.int64), data.n_classes)
        choices = self._choices()
        found = find_metric(data, y, **choices)
        path = follow_penalties(search_of(data, y, **choices), found, self._alphas)
        points = [replace(found.points[found.best], alpha=a).named() for a in path.alphas]
        return Tuning(
            points[path.best], tuple(points), path.losses,
            path.by_fold, found.rows, path.probabilities, "probabilities", found.note(data),
        )  # fmt: skip

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen."""
        return self._fit_classes(rows, None, None, tuning)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """f(x) + b: of the second of two classes, or of every class."""
        scores = self._values(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``."""
        return class_probabilities(self._values(X))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return label_scores(self.decision_function(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Probabilities of kernel sums over the centers."""
        scores = self._expansion(nodes.score_names(self.classes_))
        return nodes.by_score(
            scores, self.classes_, probabilities=nodes.probabilities(scores, self.classes_)
        )


def _certify(
    problem: ClassScores, centers: MetricCenters, solved: KernelLogisticFit, lam: float, rounds: int
) -> Certificate:
    """The gap in units of the objective, from kernel values that are computed again."""
    a, b = solved.coef, solved.offset
    f = centers.dot(centers, a) + b
    primal = problem.loss(f) + 0.5 * float(np.vdot(a, f - b))
    p = problem.means(f)
    unbalanced = float(np.abs(problem.pull(p).sum(axis=0)) @ np.abs(b))
    dual = problem.bound(p) - unbalanced
    return Certificate(
        "Kernel logistic regression, exact given its metric",
        primal=primal * lam, dual=dual * lam, gap=max(primal - dual, 0.0) * lam,
        tolerance=TOLERANCE, scale=float(problem.cost.sum()) * lam * 1e-3,
        scale_of="a thousandth of the weight of the rows",
        notes=(f"The metric was found in {rounds} rounds and is not claimed to be optimal.",),
        promised=("gap",),
    )  # fmt: skip

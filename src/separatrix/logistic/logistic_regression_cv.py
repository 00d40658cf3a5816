"""Logistic regression with C and ρ by cross-validation, with scikit-learn's name and parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, process_routing

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.callbacks import CallbackSupportMixin, with_callbacks
from separatrix.estimators.base import reads_tables
from separatrix.logistic import logistic_regression
from separatrix.logistic.fit import fit_logistic, starting_point
from separatrix.logistic.path import shared_products, solve_path, training_rows
from separatrix.logistic.problem import LogisticOptions, constant_start
from separatrix.messages import InputError, warn, warn_as
from separatrix.optimize.convex import Certificate, Status
from separatrix.parameters import declare_parameters
from separatrix.probability.likelihood import LogisticRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Encoding, Terms, check_sample_weight, identity
from separatrix.selection.folds import (
    Folds,
    default_folds,
    fold_router,
    folding,
    of_rows,
    require_rows,
    route_params,
    warn_of_parted_copies,
)
from separatrix.threads import parallel_map

# -------------------------------------------------------------------------------------------------
# Defaults that scikit-learn is about to change, and what it warns of.


#: scikit-learn's mark of a default that will change.
LATER = "warn"
_CHANGES = {
    "l1_ratios": "for l1_ratios will change from None to (0.0,)",
    "scoring": "of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss'",
    "use_legacy_attributes": "of use_legacy_attributes will change from True to False",
}


def warn_of_defaults(model: Any) -> None:
    """scikit-learn's defaults are about to change: the same warnings."""
    unset = [
        name
        for name in _CHANGES
        if isinstance(getattr(model, name), str) and getattr(model, name) == LATER
    ]
    if model.penalty != logistic_regression.UNSET:
        warn_as(FutureWarning, "'penalty' was deprecated: use l1_ratios, such as (0.0,) for 'l2'.")
    elif model.l1_ratios is None:
        warn_as(FutureWarning, "'l1_ratios=None' was deprecated: use numbers from 0 to 1.")
    for name in unset:
        warn_as(FutureWarning, f"The default value {_CHANGES[name]}, as in scikit-learn.")


@declare_parameters
class LogisticRegressionCV(CallbackSupportMixin, logistic_regression.LogisticClassifier):
    """Logistic regression with C, and the ratio of penalties, of the best cross-validated score.

        min over W, a of C Σ w (log Σₖ e^sₖ − s_y) + ρ ‖W‖₁ + ½ (1 − ρ) ‖W‖²,   s = W x + a

    Every fold has a path over C for each ρ, scored on the rows left out. :class:`LogisticCV` does
    this for the log loss, on a grid of C that suits the table.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C, or how many from 10⁻⁴ to 10⁴.
    l1_ratios : array-like or None, default="warn"
        Values of ρ; None, the default, is 0.
    fit_intercept : bool, default=True
        Whether scores have an intercept.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn: stratified, 5 by default, or fewer where no class has so many
        rows.
    dual : bool, default=False
        Ignored; accepted for scikit-learn compatibility.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        As in scikit-learn, where it is deprecated: say ``l1_ratios``.
    scoring : str, callable or None, default="warn"
        What to maximize; None, the default, is the accuracy.
    solver : str, default="lbfgs"
        One of scikit-learn's names; only "liblinear" has an answer of its own, as in
        :class:`LogisticRegression`.
    tol : float, default=1e-4
        Upper bound of the tolerance, as in :class:`LogisticRegression`.
    max_iter : int, default=100
        Steps at most, at each point.
    class_weight : dict, "balanced" or None, default=None
    n_jobs : object, default=None
        Ignored; accepted for scikit-learn compatibility.
    verbose : int, default=0
    refit : bool, default=True
        Fit to all rows at the best mean score; otherwise average the best coefficients of each
        fold.
    intercept_scaling : float, default=1.0
        As in :class:`LogisticRegression`.
    random_state : object, default=None
        Ignored; accepted for scikit-learn compatibility.
    use_legacy_attributes : bool, default="warn"
        Whether attributes have scikit-learn's older form: dicts by class, and C_ repeated.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    Cs_ : ndarray of shape (n_cs,)
        Values of C.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        Values of ρ.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, 1 or n_classes, n_terms) or dict
        Coefficients of every fold, the intercept last.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs) or dict
        Scores of every fold.
    C_ : float or ndarray
        The chosen C; without refit the mean of those chosen by the folds.
    l1_ratio_ : float or ndarray
        The chosen ρ, likewise.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Steps at every point.
    certificate_ : Certificate
        That of the fit to all rows.

    See Also
    --------
    LogisticCV : C by the cross-validated log loss, with a certified path.
    LogisticRegression : One value of C.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X[:, 0] + rng.logistic(size=100) > 0
    >>> model = sx.LogisticRegressionCV(
    ...     Cs=5, cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.scores_.shape, bool(model.C_ in model.Cs_)
    ((3, 1, 5), True)
    """

    C, l1_ratio, reference = 1.0, 0.0, None
    scores_: Any = field(init=False)  # arrays, or dicts by class
    coefs_paths_: Any = field(init=False)
    C_: Any = field(init=False)
    l1_ratio_: Any = field(init=False)
    _no_inference = (
        "the penalty shrinks the coefficients and was chosen by looking at the same rows. Fit "
        "LogisticRegression with C=inf for inference."
    )

    # the scorer asks for the weights of ``score``, or not
    __metadata_request__score = {"sample_weight": UNUSED}  # noqa: RUF012

    _: KW_ONLY
    Cs: Any = 10
    l1_ratios: Any = LATER
    fit_intercept: bool = True
    cv: Any = None
    dual: bool = False
    penalty: Any = logistic_regression.UNSET
    scoring: Any = LATER
    solver: str = "lbfgs"
    tol: float = 1e-4
    max_iter: int = 100
    class_weight: Any = None
    n_jobs: Any = None
    verbose: int = 0
    refit: bool = True
    intercept_scaling: float = 1.0
    random_state: Any = None
    use_legacy_attributes: Any = LATER
    standardize: bool = False

    @reads_tables
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter and the scorer by scikit-learn's metadata
        routing.
        """
        Cs, ratios = self._grid()
        warn_of_defaults(self)
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        routed = route_params(self, params, sample_weight)
        rows, weights = self._training(X, y, sample_weight)
        model = self._model(1.0, 0.0)
        targets = self._read(rows, model._options(1.0))[1]
        if self.solver == logistic_regression.LIBLINEAR and len(self.classes_) > 2:
            raise InputError(
                "The 'liblinear' solver does not support multiclass classification.",
                remedy="Leave solver at its default.",
            )
        model.classes_ = self.classes_
        codes = rows.block.codes(targets)
        labels = self.classes_[codes]
        cv = default_folds(np.bincount(codes).max()) if self.cv is None else self.cv
        splitter = check_cv(cv, labels, classifier=True)
        split = splitter.split(np.empty((len(labels), 1)), labels, **routed["split"])
        folds = list(require_rows(split))
        fold = np.zeros(len(labels), dtype=np.int64)
        for number, (_, test) in enumerate(folds):
            fold[test] = number
        warn_of_parted_copies(rows, Folds.from_labels(fold), self.cv)
        scorer, more = scorer_of_classes(self._get_scorer(), self.classes_), routed["score"]

        if weights is not None and not get_config().get("enable_metadata_routing", False):
            more = {"sample_weight": weights}

        def score(fitted: Any, x: Any, y: Any, test: Ints) -> float:
            return float(scorer(fitted, x, y, **of_rows(more, len(labels), test)))

        options = [self._model(1.0, ratio)._options(1.0) for ratio in ratios]
        solved = solved_folds(rows, targets, folds, Cs, options)
        paths = [
            [
                scored_path(rows, targets, test, fold_fit, chosen, model, score)
                for fold_fit, chosen in zip(fits, options, strict=True)
            ]
            for (_, test), fits in zip(folds, solved, strict=True)
        ]
        if not all(path.converged for fold in paths for path in fold):
            warn("SEP003", "points of the path reached max_iter. Raise it.")
        self._choose(X, y, sample_weight, Cs, ratios, paths)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def score(  # type: ignore[override]
        self, X: Any, y: Any, *, sample_weight: Any = None, **score_params: Any
    ) -> float:
        """The score by which C was chosen, on new rows."""
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if score_params and get_config().get("enable_metadata_routing", False):
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(self._get_scorer()(self, X, y, **score_params))

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the scorer and to the splitter."""
        return fold_router(self, scores=True, scorer=self._get_scorer())

    # -- parameters -----------------------------------------------------------------------------

    def _grid(self) -> tuple[Floats, list[float]]:
        """Values of C and of ρ, checked."""
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, int | np.integer) else self.Cs
        Cs = np.atleast_1d(np.asarray(Cs, dtype=float))
        if not len(Cs) or not (Cs > 0.0).all():
            raise InputError("Cs must be greater than 0, at least one.", remedy="Use Cs=10.")
        default = self.l1_ratios is None or isinstance(self.l1_ratios, str)
        given = [] if default else [float(ratio) for ratio in self.l1_ratios]
        if self.penalty == "elasticnet" and not given:
            raise InputError(
                "penalty='elasticnet' needs l1_ratios.", remedy="Say l1_ratios=(0.5,)."
            )
        ratios = {"l1": [1.0], "l2": [0.0]}.get(self.penalty, given or [0.0])
        if not all(0.0 <= ratio <= 1.0 for ratio in ratios):
            raise InputError(f"l1_ratios={self.l1_ratios!r} must lie between 0 and 1.")
        if self.penalty is None:
            raise InputError("penalty=None has nothing to choose.", remedy="Say Cs=[np.inf].")
        logistic_regression.check_parameters(self._model(1.0, 0.0))
        return Cs, ratios

    def _model(self, C: float, ratio: float) -> logistic_regression.LogisticRegression:
        return logistic_regression.LogisticRegression(
            penalty=self.penalty
            if self.penalty in (logistic_regression.UNSET, "l1", "l2", "elasticnet")
            else "",
            C=C,
            l1_ratio={"l1": 1.0, "l2": 0.0}.get(self.penalty, ratio),
            dual=self.dual,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            class_weight=self.class_weight,
            solver=self.solver,
            max_iter=self.max_iter,
            standardize=self.standardize,
        )

    def _get_scorer(self) -> Any:
        chosen = self.scoring
        if chosen is None or (isinstance(chosen, str) and chosen == LATER):
            chosen = "accuracy"
        return get_scorer(chosen)

    # -- fit ------------------------------------------------------------------------------------

    def _training(self, X: Any, y: Any, sample_weight: Any) -> tuple[InMemory, Floats | None]:
        """Rows with the weights of their classes, and the weights that scores use."""
        rows = self._weighted_rows(X, y, sample_weight).read()
        given = None if sample_weight is None else check_sample_weight(sample_weight, len(rows))
        weights = X.read().block.w if isinstance(X, Rows) else given
        index = folding(rows.block.w, self.cv)
        return rows.take(index), None if weights is None else weights[index]

    def _choose(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        Cs: Floats,
        ratios: list[float],
        paths: list[list[LogisticFoldPath]],
    ) -> None:
        """The best point, the fit there, and the attributes."""
        scores = np.array([[path.scores for path in fold] for fold in paths])
        coefs = np.array([[path.coefs for path in fold] for fold in paths])
        by_point = np.swapaxes(scores, 1, 2).reshape(len(paths), -1)  # first C, then ρ, as there
        points = [(C, ratio) for C in Cs for ratio in ratios]
        if self.refit:
            C, ratio = points[int(np.argmax(by_point.sum(axis=0)))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                fitted = self._model(float(C), ratio).fit(X, y, sample_weight)
            self.coef_, self.intercept_ = fitted.coef_, fitted.intercept_
            self.certificate_, self.encoding_ = fitted.certificate_, fitted.encoding_
            self.separation_ = fitted.separation_
        else:
            best = by_point.argmax(axis=1)
            at = [divmod(int(k), len(ratios)) for k in best]
            mean = np.mean([coefs[f, j, i] for f, (i, j) in enumerate(at)], axis=0)
            self._average(X, y, sample_weight, mean)
            C = np.mean([points[k][0] for k in best])
            ratio = float(np.mean([points[k][1] for k in best]))
        self.Cs_, self.C_, self.l1_ratio_ = Cs, float(C), ratio
        self.l1_ratios_ = np.array(ratios)
        self.scores_, self.coefs_paths_ = scores, coefs
        self.n_iter_ = np.array([[path.steps for path in fold] for fold in paths])
        if self.use_legacy_attributes:  # "warn" too
            self._older_form()

    def _average(self, X: Any, y: Any, sample_weight: Any, mean: Floats) -> None:
        """Coefficients averaged over folds, in the columns of a fit to all rows."""
        rows = self._weighted_rows(X, y, sample_weight)
        data, _ = self._read(rows, self._model(1.0, 0.0)._options(1.0))
        d = data.n_columns
        self.coef_ = mean[:, :d]
        self.intercept_ = mean[:, d] if self.fit_intercept else np.zeros(len(mean))
        self.encoding_, self.separation_ = data.encoding, None
        self.certificate_ = Certificate(
            "Coefficients averaged over folds: none of them minimizes an objective", promised=()
        )

    def _older_form(self) -> None:
        """scikit-learn's attributes before 1.10: dicts by class, C and ρ repeated."""
        keys = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        scores = np.swapaxes(self.scores_, 1, 2)
        coefs = np.moveaxis(self.coefs_paths_, (3, 0, 2, 1), (0, 1, 2, 3))
        steps = np.swapaxes(self.n_iter_, 1, 2)[None]
        if self.l1_ratios is None or isinstance(self.l1_ratios, str):
            scores, coefs, steps = scores[..., 0], coefs[..., 0, :], steps[..., 0]
        self.scores_ = {key: scores.copy() for key in keys.tolist()}
        self.coefs_paths_ = dict(zip(keys.tolist(), coefs, strict=True))
        self.n_iter_ = steps
        self.C_, self.l1_ratio_ = np.full(len(keys), self.C_), np.full(len(keys), self.l1_ratio_)


# -------------------------------------------------------------------------------------------------
# Paths of logistic regression over the training rows of folds, scored on their test rows.


#: A class without training rows has an intercept of −∞: that of this probability stands for it,
#: since the log loss of scikit-learn counts none below it.
LEAST_PRIOR = float(np.finfo(float).eps)
#: (model, X, y, row numbers) → score.
Score = Callable[[Any, Any, Any, Ints], float]


@dataclass(frozen=True)
class LogisticFoldPath:
    """What a path over the training rows of a fold found, for every C in the order given.

    ``coefs`` (points x scores x terms) have the intercept last if there is one.
    """

    coefs: Floats
    scores: Floats
    steps: Ints
    converged: bool


@dataclass(frozen=True)
class FoldPoint:
    """Coefficients (scores x d) and intercepts at one C, how the fit ended and after how many."""

    coef: Floats
    intercept: Floats
    status: Status
    passes: int


def solved_folds(
    rows: InMemory,
    targets: Terms,
    folds: list[tuple[Ints, Ints]],
    Cs: Floats,
    options: list[LogisticOptions],
) -> list[list[tuple[Encoding, list[FoldPoint]]]]:
    """Fits to the training rows of each fold for each of ``options``, all on threads."""
    x, each = shared_products(rows), len(options)

    def one(fold_and_options: tuple[Ints, LogisticOptions]) -> tuple[Encoding, list[FoldPoint]]:
        train, chosen = fold_and_options
        data = training_rows(rows, train, x)
        return data.encoding, _points(data, targets, Cs, chosen)

    points = parallel_map(one, [(train, chosen) for train, _ in folds for chosen in options])
    return [points[at : at + each] for at in range(0, len(points), each)]


def scored_path(
    rows: InMemory,
    targets: Terms,
    test: Ints,
    fold: tuple[Encoding, list[FoldPoint]],
    options: LogisticOptions,
    model: logistic_regression.LogisticRegression,
    score: Score,
) -> LogisticFoldPath:
    """Score the fits of a fold on its test rows by ``model``."""
    encoding, points = fold
    block = encoding.apply(rows.take(test).block)
    labels = model.classes_[block.codes(targets)]
    model.n_features_in_ = block.x.shape[1]
    model.encoding_ = identity(ArrayRows(block.x, block.y).schema)
    coefs, scores, steps, converged = [], [], [], True
    for point in points:
        model.coef_, model.intercept_ = point.coef, point.intercept
        scores.append(score(model, block.x, labels, test))
        both = (
            np.column_stack([point.coef, point.intercept]) if options.fit_intercept else point.coef
        )
        coefs.append(both)
        steps.append(min(max(point.passes - 1, 1), options.max_iter))
        converged &= point.status is not Status.LIMIT
    return LogisticFoldPath(
        np.array(coefs), np.array(scores), np.array(steps, dtype=np.int32), converged
    )


def _points(
    data: LogisticRows, targets: Terms, Cs: Floats, options: LogisticOptions
) -> list[FoldPoint]:
    """Coefficients (scores x d), intercepts, status and passes at every C, in the order given."""
    points: dict[float, FoldPoint] = {}
    finite = np.unique(Cs[np.isfinite(Cs)])
    start = starting_point(data, targets, options)
    present = np.count_nonzero(start.priors)
    start = replace(start, priors=np.maximum(start.priors, LEAST_PRIOR))
    if present == 1 and options.centered:  # the free intercept alone explains one class
        coef, intercept = start.problem.unscale(constant_start(start.problem, start.priors))
        return [FoldPoint(coef.T, intercept, Status.SOLVED, 1)] * len(Cs)
    if len(finite):
        for C, (problem, at) in zip(finite, solve_path(start, finite, options), strict=True):
            coef, intercept = problem.unscale(at.theta - at.step)
            points[float(C)] = FoldPoint(coef.T, intercept, at.status, at.passes)
    if len(finite) < len(Cs) and not np.isfinite(Cs).all():
        free = fit_logistic(data, targets, replace(options, penalty=0.0, intercept_scaling=np.inf))
        points[np.inf] = FoldPoint(free.coef.T, free.intercept, free.status, free.iterations)
    return [points[float(C)] for C in Cs]


# -------------------------------------------------------------------------------------------------
# Scores of folds whose test rows may lack some of the classes.


def scorer_of_classes(scorer: Any, classes: NDArray[Any]) -> Any:
    """The scorer with all classes named, if its measure takes them: test rows may lack some."""
    measure = getattr(scorer, "_score_func", None)
    taken = () if measure is None else signature(measure).parameters
    if "labels" not in taken:
        return scorer
    named: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in taken:
        named["pos_label"] = classes[-1]
    class_scorer = copy(scorer)
    class_scorer._kwargs = {**named, **scorer._kwargs}
    return class_scorer

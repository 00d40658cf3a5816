"""Averages of several models: by evidence, by AIC, or with weights learned out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.estimators import wrapped
from separatrix.estimators.base import codes_of, with_every_class
from separatrix.estimators.extrapolation import extrapolates
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError, check_option
from separatrix.mixins import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters, describe_parameters
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import unit_weights
from separatrix.selection import averaging
from separatrix.selection.folds import Folds, fold_router, folds_of, named_folds, route_params
from separatrix.statistics.moments import Moments

# -------------------------------------------------------------------------------------------------
# Several models of the same rows as one, by the weights of each.


class MixtureOfModels(MetaEstimatorMixin, BaseEstimator):
    """Classifiers or regression models of the same rows, averaged by weights.

    The first decides which, unless the class does.
    """

    estimators: Any
    estimators_: list[Any]
    weights_: Floats
    certificate_: Certificate
    classes_: NDArray[Any]
    extrapolates = extrapolates
    _pool = "linear"

    @property
    def _of_classes(self) -> bool:
        return classifies(self)

    def _accept_models(self, models: Sequence[Any]) -> None:
        """Take the names of columns and classes from models that are fitted to the same rows."""
        self.estimators_ = list(models)
        for name in ("n_features_in_", "feature_names_in_", "encoding_", "classes_"):
            self.__dict__.pop(name, None)
            if hasattr(models[0], name):
                setattr(self, name, getattr(models[0], name))

    def _models(self) -> list[Any]:
        if not isinstance(self.estimators, list | tuple) or not self.estimators:
            raise InputError(
                f"estimators={self.estimators!r} is not a list of models.",
                remedy="Give estimators=[…] with one model or more.",
            )
        return list(self.estimators)

    @property
    def _structures(self) -> bool:
        return any(wrapped.takes_structures(model) for model in self.estimators or ())

    def formula(self) -> nodes.Formula:
        """Σₘ aₘ ŷₘ, or the most probable class by Σₘ aₘ pₘ."""
        models = [nodes.formula_of(one) for one in self.estimators_]
        weights = np.asarray(self.weights_, dtype=np.float64)
        if not hasattr(self, "classes_"):
            means = tuple(one.mean for one in models if isinstance(one, nodes.NumberFormula))
            return nodes.regression(nodes.WeightedSum(means, weights), self, flat=True)
        parts = tuple(_every_class(one, self.classes_) for one in models)
        names = nodes.probability_names(self.classes_)
        if self._pool == "linear":
            p: nodes.Node = nodes.WeightedSum(parts, weights, names=names)
        else:
            logs = tuple(nodes.BoundedLog(one, averaging.LEAST_PROBABILITY) for one in parts)
            p = nodes.Probabilities(nodes.WeightedSum(logs, weights), one=False, names=names)
        return nodes.by_probability(p, self.classes_)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> wrapped.LabeledRows:
        """Rows with labels or numbers, as the models take them."""
        read = wrapped.labeled_rows if self._of_classes else wrapped.numbered_rows
        return read(self, X, y, sample_weight)

    def _fit_models(self, rows: wrapped.LabeledRows) -> list[Any]:
        """The models, fitted to all rows."""
        fit = wrapped.fit_wrapped if self._of_classes else wrapped.fit_to_numbers
        return [fit(model, rows) for model in self._models()]

    def _stacking(self, models: list[Any], rows: wrapped.LabeledRows, cv: Any) -> averaging.Average:
        """Weights of least loss out of fold; the models are those fitted to all rows."""
        if self._of_classes:
            return stacked_classes(self._models(), rows, models[0].classes_, cv, self._pool)
        return stacked_numbers(self._models(), rows, cv)

    def _fitted_to_moments(self, moments: Moments) -> list[Any]:
        return [clone(model).fit(moments) for model in self._models()]

    def predict(self, X: Any) -> Any:
        """The mean of the predictions, Σₘ aₘ ŷₘ; or the most probable class."""
        check_is_fitted(self)
        if hasattr(self, "classes_"):
            return self.classes_[pooled_probabilities(self, X, self._pool).argmax(axis=1)]
        columns = np.stack([np.ravel(model.predict(X)) for model in self.estimators_], axis=1)
        return np.asarray(columns @ self.weights_)

    @available_if(lambda self: self._of_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The pool of the probabilities of each class in ``classes_``."""
        check_is_fitted(self)
        return pooled_probabilities(self, X, self._pool)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², or accuracy of classes."""
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(model) for model in self.estimators or ()]
        tags.input_tags.sparse = bool(inner) and all(one.input_tags.sparse for one in inner)
        tags.input_tags.allow_nan = bool(inner) and all(one.input_tags.allow_nan for one in inner)
        tags.input_tags.pairwise = any(one.input_tags.pairwise for one in inner)
        if inner:
            tags.estimator_type = inner[0].estimator_type
            tags.classifier_tags, tags.regressor_tags = (
                inner[0].classifier_tags,
                inner[0].regressor_tags,
            )
        tags.target_tags.required = True
        return tags


def _every_class(formula: nodes.Formula, classes: NDArray[Any]) -> nodes.Node:
    """Probabilities with a column for each of ``classes``; zero for one the model lacks."""
    p = formula.probabilities if isinstance(formula, nodes.ClassFormula) else None
    if p is None or not isinstance(formula, nodes.ClassFormula):
        raise NoFormula("A model without probabilities takes part in an average of them.")
    if np.array_equal(formula.labels, classes):
        return p
    return nodes.Affine(p, (formula.labels[:, None] == classes[None, :]).astype(np.float64))


def classifies(model: Any) -> bool:
    """Whether the first of the models to be averaged is a classifier."""
    return bool(model.estimators) and is_classifier(model.estimators[0])


def regresses(model: Any) -> bool:
    """Whether the models to be averaged predict numbers."""
    return not classifies(model)


def refuse_incomparable(models: Sequence[Any]) -> None:
    """Refuse models that are not fitted to the same target of the same rows."""
    kinds = {is_classifier(model) for model in models}
    labels = {tuple(getattr(model, "classes_", ())) for model in models}
    if len(kinds) > 1 or len(labels) > 1:
        raise InputError(
            "The models predict different targets, so that their weights are not comparable.",
            remedy="Average models of one target.",
        )
    if len({model.n_features_in_ for model in models}) > 1:
        raise InputError("The models are fitted to different numbers of columns.")
    known = [moments for model in models if (moments := _target_moments(model)) is not None]
    if any(not np.allclose(moments, known[0], rtol=1e-8, atol=0.0) for moments in known):
        raise InputError(
            "The models are fitted to other rows or another target, so that their weights are "
            "not comparable.",
            remedy="Fit all of them to the same rows: fit(X, y).",
        )


def _target_moments(model: Any) -> Floats | None:
    """Σw and Σwy² of the training targets in turn; None where a model does not hold them."""
    m, rows = getattr(model, "moments_", None), getattr(model, "_rows", None)
    if m is not None:
        return np.append(m.weight, np.diag(m.about_origin().yy))
    if hasattr(model, "y_train_"):
        w, y = model.row_weight_, model.y_train_.reshape(len(model.y_train_), -1)
        y = model.target_mean_ + model.target_scale_ * y  # in the units of the table
    elif isinstance(rows, InMemory):
        block = rows.collect()
        w, y = block.weights, block.y
    else:
        return None
    return np.append(w.sum(), w @ y**2)


def pooled_probabilities(model: Any, X: Any, pool: str) -> Floats:
    """Σₘ aₘ pₘ for each class in ``classes_``, or in proportion to exp Σₘ aₘ log pₘ."""
    parts = [class_probabilities(one, X, model.classes_) for one in model.estimators_]
    return averaging.Average(model.weights_, np.nan, None, pool).of(np.stack(parts))


def class_probabilities(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities with a column for each of ``classes``; zero for one the model lacks."""
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no probabilities to average.",
            remedy="Wrap it in CalibratedClassifier.",
        )
    return with_every_class(model.predict_proba(X), model.classes_, classes)


# -------------------------------------------------------------------------------------------------
# Weights of models that minimize the loss of their average out of fold (stacking).
#
# Every fold is predicted by copies of the models that are fitted to the other folds.


def stacked_classes(
    models: list[Any], rows: wrapped.LabeledRows, classes: NDArray[Any], cv: Any, pool: str
) -> averaging.Average:
    """The pool of least log loss out of fold."""
    used, codes = rows.positive_weight, codes_of(rows.y, classes)
    train_codes, copied = codes[used], lambda: rows.copies(used)
    folds = folds_of(cv, len(codes), rows=used, codes=train_codes, copied=copied)

    def predict(train: Any, test: Any) -> Floats:
        parts = [rows.split(model, used[train], used[test]) for model in models]
        return np.stack(
            [
                class_probabilities(wrapped.fit_wrapped(model, inside), outside.x, classes)
                for model, (inside, outside) in zip(models, parts, strict=True)
            ]
        )

    p = np.concatenate(folds.map(predict), axis=1)
    tests, w = _weights_of_tests(rows, used, folds)
    if pool == "logarithmic":
        return averaging.logarithmic_pool(p, codes[tests], w)
    return averaging.log_loss_average(p[:, np.arange(len(tests)), codes[tests]].T, w)


def stacked_numbers(models: list[Any], rows: wrapped.LabeledRows, cv: Any) -> averaging.Average:
    """The average of least squared error out of fold."""
    used = rows.positive_weight
    folds = folds_of(cv, len(rows.y), rows=used, copied=lambda: rows.copies(used))

    def predictions(train: Any, test: Any) -> Floats:
        parts = [rows.split(model, used[train], used[test]) for model in models]
        columns = [
            wrapped.fit_to_numbers(model, predicted).predict(outside.x)
            for model, (predicted, outside) in zip(models, parts, strict=True)
        ]
        return np.stack(columns, axis=1)

    block = np.concatenate(folds.map(predictions))
    tests, w = _weights_of_tests(rows, used, folds)
    return averaging.squared_error_average(block, rows.y[tests], w)


def _weights_of_tests(
    rows: wrapped.LabeledRows, used: NDArray[np.int64], folds: Folds
) -> tuple[NDArray[np.int64], Floats]:
    """The test rows of all folds in their order, and their weights."""
    tests = used[np.concatenate([test for _, test in folds.pairs])]
    return tests, unit_weights(None if rows.w is None else rows.w[tests], len(tests))


def stacking_certificate(average: averaging.Average) -> Certificate:
    """That the weights are optimal."""
    gap = np.nan if average.gap is None else average.gap
    # A bound on the loss left to gain, relative to the loss, at which weights count as optimal.
    tolerance = 1e-5
    return Certificate(
        "The weights minimize the loss of the average out of fold",
        gap=gap / max(abs(average.value), tolerance),
        tolerance=tolerance,
        promised=("gap",),
    )


# -------------------------------------------------------------------------------------------------
# Averages of several models, with weights that minimize the out-of-fold loss (stacking).


@declare_parameters
class StackedModels(MixtureOfModels):
    """Models with weights that are learned out of fold."""

    estimators: Any
    _: KW_ONLY
    cv: Any = 5

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        cv = named_folds(self.cv, X, y, route_params(self, params, None)["split"])
        self._models()
        rows = self._read_rows(X, y, sample_weight)
        with wrapped.warn_once():
            models = self._fit_models(rows)
            return self.from_fitted(models, self._stacking(models, rows, cv))

    def from_fitted(self, models: Sequence[Any], average: averaging.Average) -> Self:
        """Average models that are fitted already, with weights that were found before."""
        self._accept_models(models)
        self.weights_ = np.asarray(average.weights, dtype=float)
        claim, parts = f"Average of {len(self.estimators_)} models", list(models)
        if average.gap is None:
            claim += " with weights that are not optimized"
        else:
            parts.insert(0, stacking_certificate(average))
        self.certificate_ = wrapped.joint_certificate(claim, parts)
        return self


#: How probabilities are averaged.
POOLS = ("linear", "logarithmic")


@declare_parameters
class AveragedClassifier(ClassifierMixin, StackedModels):
    """Average of the probabilities of several classifiers, with weights learned out of fold.

        linear pool       p(x) = Σₘ aₘ pₘ(x),               a ≥ 0, Σ a = 1
        logarithmic pool  p(x) ∝ exp Σₘ aₘ log pₘ(x),       a ≥ 0
        a = argmin −Σ w log p(true class)

    Every fold is predicted by copies of the estimators fitted to the other folds; the weights
    minimize the log loss of these predictions, and the estimators are then fitted to all rows.

    Parameters
    ----------
    estimators : list of classifiers
        Each with ``predict_proba``.
    cv : int, splitter or iterable of (train, test), default=5
    pool : {"linear", "logarithmic"}, default="linear"
        What is averaged: probabilities, or their logarithms, with weights whose sum may exceed one,
        which sharpens what the classifiers agree on.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of classifiers
        The estimators, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
    certificate_ : Certificate
        The worst of those of the estimators and of the weights.

    See Also
    --------
    AveragedRegressor : The same for numbers.
    ModelAverage : Weights by evidence or AIC as well.
    CalibratedClassifier : Probabilities for a classifier that has none.

    References
    ----------
    - D. H. Wolpert, Stacked generalization, Neural Networks 5, 1992.
    - C. Genest and J. V. Zidek, Combining probability distributions, Statistical Science 1, 1986.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [sx.LinearDiscriminantAnalysis(), sx.GaussianNB()]
    >>> model = sx.AveragedClassifier(models).fit(X, y)
    >>> bool(abs(model.weights_.sum() - 1) < 1e-12), model.score(X, y) > 0.95
    (True, True)
    """

    _of_classes = True  # type: ignore[assignment]

    estimators: Any
    _: KW_ONLY
    cv: Any = 5
    pool: str = "linear"

    @property
    def _pool(self) -> str:  # type: ignore[override]
        check_option("pool", self.pool, POOLS)
        return self.pool


@describe_parameters
class AveragedRegressor(RegressorMixin, StackedModels):
    """Average of the predictions of several regression models, with weights learned out of fold.

        ŷ(x) = Σₘ aₘ ŷₘ(x),     a = argmin Σ w (y − Σₘ aₘ ŷₘ)²,     a ≥ 0, Σ a = 1

    Every fold is predicted by copies of the estimators fitted to the other folds; the weights
    minimize the squared error of these predictions, and the estimators are then fitted to all rows.

    Parameters
    ----------
    estimators : list of regressors
        Models of one target.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds takes them in row order.

    Attributes
    ----------
    estimators_ : list of regressors
        The estimators, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
    certificate_ : Certificate
        The worst of those of the estimators and of the weights.

    See Also
    --------
    AveragedClassifier : The same for classes.
    ModelAverage : Weights by evidence or AIC as well.

    References
    ----------
    - D. H. Wolpert, Stacked generalization, Neural Networks 5, 1992.
    - L. Breiman, Stacked regressions, Machine Learning 24, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = 2 * X[:, 0] + 1
    >>> models = [sx.LinearRegression(), sx.KNeighborsRegressor(20)]
    >>> sx.AveragedRegressor(models).fit(X, y).weights_.round(6) + 0.0
    array([1., 0.])
    """

    _of_classes = False  # type: ignore[assignment]


# -------------------------------------------------------------------------------------------------
# Averages of models with weights by evidence, by AIC, or learned out of fold.


WEIGHTS = ("stacking", "akaike", "evidence")


@declare_parameters
class ModelAverage(MixtureOfModels):
    """Average of candidates in place of the choice of one.

        ŷ(x) = Σₘ aₘ ŷₘ(x),  or  p(x) = Σₘ aₘ pₘ(x),      a ≥ 0, Σ a = 1

        stacking:  a = argmin of the loss out of fold      no model needs to be true
        akaike:    aₘ ∝ P(m) exp(−AICcₘ/2)                  maximum likelihood, no folds
        evidence:  aₘ ∝ P(m) p(y | model m)                 Bayesian models, no folds

    A choice by any criterion depends on chance where two candidates are nearly as good; their
    average does not jump. Weights by evidence or AIC tend to one model as rows become many, be it
    true or merely the best; stacking mixes where a mixture predicts better.

    Parameters
    ----------
    estimators : list of estimators
        Classifiers with ``predict_proba``, or regression models of one target.
    weights : {"stacking", "akaike", "evidence"}, default="stacking"
        What weighs them. "akaike" takes models with a likelihood and degrees of freedom:
        LinearRegression, PolynomialRegression, LogisticRegression without penalty, and the paths
        (RidgePath, LassoPath, LogisticPath) at their chosen point. "evidence" takes models with
        ``log_evidence_``.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of stacking; a number is stratified for classes, in row order for numbers.
    prior_weights : array of shape (n_estimators,) or None, default=None
        Weights P(m) before the rows are seen; None for equal ones. Stacking has none.

    Attributes
    ----------
    estimators_ : list of estimators
        The models, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
    log_scores_ : ndarray of shape (n_estimators,)
        log p(y | m), or −AICc/2; NaN for stacking.
    classes_ : ndarray of shape (K,)
        The class labels in order, of classifiers.
    certificate_ : Certificate
        The worst of those of the models, and of the weights of stacking.

    See Also
    --------
    EvidenceAveraging : Weights by evidence, with the predictive distribution of the mixture.
    AveragedClassifier : Stacking of classifiers.
    AveragedRegressor : Stacking of regression models.
    criteria : Compares the same candidates, and says what each criterion would choose.

    References
    ----------
    - Burnham and Anderson, Model Selection and Multimodel Inference, 2002.
    - Yao, Vehtari, Simpson and Gelman, Using stacking to average Bayesian predictive distributions,
      Bayesian Analysis 13, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 5, (50, 1))
    >>> y = 2 * np.sin(1.5 * x[:, 0]) + rng.standard_normal(50)
    >>> degrees = [sx.PolynomialRegression(k) for k in range(1, 7)]
    >>> sx.ModelAverage(degrees, "akaike").fit(x, y).weights_.round(2)
    array([0.  , 0.  , 0.01, 0.41, 0.46, 0.13])
    """

    estimators: Any
    weights: str = "stacking"
    _: KW_ONLY
    cv: Any = 5
    prior_weights: Any = None

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        Stacking needs rows.
        """
        check_option("weights", self.weights, WEIGHTS)
        self._models()
        fewest = 4  # rows for AICc of the least model, a mean with a variance: n > k + 1
        with wrapped.warn_once():
            if isinstance(X, Moments):
                return self.from_fitted(self._fitted_to_moments(X))
            cv = named_folds(self.cv, X, y, route_params(self, params, None)["split"])
            rows = self._read_rows(X, y, sample_weight)
            if self.weights == "akaike" and len(rows.y) < fewest:
                raise InputError(
                    f"AICc needs more rows than parameters, and n_samples={len(rows.y)}.",
                    remedy=f"Give at least {fewest} rows.",
                )
            models = self._fit_models(rows)
            if self.weights == "stacking":
                return self._stack(models, self._stacking(models, rows, cv))
            return self.from_fitted(models)

    def from_fitted(self, models: Sequence[Any]) -> Self:
        """Average models that are fitted already, to the same rows; by evidence or AIC alone."""
        check_option("weights", self.weights, WEIGHTS)
        if self.weights == "stacking":
            raise InputError(
                "Stacking learns its weights from rows out of fold, and there are none.",
                remedy='Call fit(X, y), or use weights="akaike" or "evidence".',
            )
        return self._weigh(models)

    def _weigh(self, models: Sequence[Any]) -> Self:
        """Weights by evidence, or by AICc in its place."""
        refuse_incomparable(models)
        by_evidence = self.weights == "evidence"
        scores = (
            averaging.log_evidences(models)
            if by_evidence
            else -0.5 * averaging.corrected_aics(models)
        )
        self.weights_ = averaging.evidence_weights(scores, self.prior_weights)
        return self._accept(models, scores, "their evidence" if by_evidence else "AICc", models)

    def _stacking(self, models: list[Any], rows: wrapped.LabeledRows, cv: Any) -> averaging.Average:
        if self.prior_weights is not None:
            raise InputError(
                "Stacking has no prior_weights: the folds alone decide.",
                remedy='Leave them out, or use weights="akaike" or "evidence".',
            )
        return super()._stacking(models, rows, cv)

    def _stack(self, models: Sequence[Any], average: averaging.Average) -> Self:
        self.weights_ = np.asarray(average.weights, dtype=float)
        proof = stacking_certificate(average)
        nothing = np.full(len(models), np.nan)
        return self._accept(models, nothing, "their loss out of fold", [proof, *models])

    def _accept(
        self, models: Sequence[Any], scores: Floats, by: str, certified: Sequence[Any]
    ) -> Self:
        self._accept_models(models)
        self.log_scores_ = scores
        claim = f"Average of {len(models)} models by {by}"
        self.certificate_: Certificate = wrapped.joint_certificate(claim, certified)
        return self

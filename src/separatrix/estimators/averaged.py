"""Averages of several models, with weights that minimize the out-of-fold loss (stacking)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.targets import codes_of, with_every_class
from separatrix.estimators.wrapped import (
    LabeledRows,
    fitted,
    fitted_to_numbers,
    joint_certificate,
    labeled_rows,
    numbered_rows,
    takes_structures,
    warn_once,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, unit_weights
from separatrix.selection.averaging import Average, log_loss_average, squared_error_average
from separatrix.selection.folds import folds_of
from separatrix.selection.routing import fold_router, named_folds, routed

#: A bound on the loss left to gain, relative to the loss, at which weights count as optimal.
TOLERANCE = 1e-5


class SeveralModels(MetaEstimatorMixin, BaseEstimator):
    """Models of the same rows, and their weights."""

    estimators: Any
    estimators_: list[Any]
    weights_: Floats
    certificate_: Certificate

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
                f"estimators={self.estimators!r} is no list of models.",
                remedy="Give estimators=[…] with one model or more.",
            )
        return list(self.estimators)

    @property
    def _structures(self) -> bool:
        return any(takes_structures(model) for model in self.estimators or ())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(model).input_tags for model in self.estimators or ()]
        tags.input_tags.sparse = bool(inner) and all(each.sparse for each in inner)
        tags.input_tags.allow_nan = bool(inner) and all(each.allow_nan for each in inner)
        tags.input_tags.pairwise = any(each.pairwise for each in inner)
        return tags


class _Averaged(SeveralModels):
    """Models with weights that are learned out of fold."""

    cv: Any

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def from_fitted(self, models: Sequence[Any], average: Average) -> Self:
        """Average models that are fitted already, with weights that were found before."""
        self._accept_models(models)
        self.weights_ = np.asarray(average.weights, dtype=float)
        weights = Certificate(
            "The weights minimize the loss of the average out of fold",
            gap=average.gap / max(abs(average.value), TOLERANCE),
            tolerance=TOLERANCE,
            promised=("gap",),
        )
        self.certificate_ = joint_certificate(
            f"Average of {len(self.estimators_)} models", [weights, *self.estimators_]
        )
        return self


class AveragedClassifier(ClassifierMixin, _Averaged):
    """Average of the probabilities of several classifiers, with weights learned out of fold.

        p(x) = Σₘ aₘ pₘ(x),     a = argmin −Σ w log Σₘ aₘ pₘ(true class),     a ≥ 0, Σ a = 1

    Every fold is predicted by copies of the estimators fitted to the other folds; the weights
    minimize the log loss of these predictions, and the estimators are then fitted to all rows.

    Parameters
    ----------
    estimators : list of classifiers
        Each with ``predict_proba``.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds is stratified by class.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels in order.
    estimators_ : list of classifiers
        The estimators, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
        The weights a.
    certificate_ : Certificate
        The worst of those of the estimators and of the weights.

    See Also
    --------
    AveragedRegressor : The same for numbers.
    CalibratedClassifier : Probabilities for a classifier that has none.

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

    classes_: NDArray[Any]

    def __init__(self, estimators: Any, *, cv: Any = 5) -> None:
        self.estimators = estimators
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        cv = named_folds(self.cv, X, y, routed(self, params, None)["split"])
        models, rows = self._models(), labeled_rows(self, X, y, sample_weight)
        with warn_once():
            whole = [fitted(model, rows) for model in models]
            average = self._average(models, rows, whole[0].classes_, cv)
        return self.from_fitted(whole, average)

    def _average(
        self, models: list[Any], rows: LabeledRows, classes: NDArray[Any], cv: Any
    ) -> Average:
        used, codes = rows.positive_weight, codes_of(rows.y, classes)
        folds = folds_of(cv, len(codes), rows=used, codes=codes[used])

        def true_class(train: Any, test: Any) -> Floats:
            parts = [rows.split(model, used[train], used[test]) for model in models]
            columns = [
                class_probabilities(fitted(model, own), outside.x, classes)
                for model, (own, outside) in zip(models, parts, strict=True)
            ]
            own = codes[used[test]]
            return np.stack([p[np.arange(len(own)), own] for p in columns], axis=1)

        p = np.concatenate(folds.map(true_class))
        tests = used[np.concatenate([test for _, test in folds.pairs])]
        w = unit_weights(None if rows.w is None else rows.w[tests], len(tests))
        return log_loss_average(p, w)

    def predict_proba(self, X: Any) -> Floats:
        """Σₘ aₘ pₘ for each class in ``classes_``."""
        check_is_fitted(self)
        parts = (
            weight * class_probabilities(model, X, self.classes_)
            for weight, model in zip(self.weights_, self.estimators_, strict=True)
        )
        return np.asarray(sum(parts))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def class_probabilities(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities with a column for each of ``classes``; zero for one the model lacks."""
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no probabilities to average.",
            remedy="Wrap it in CalibratedClassifier.",
        )
    return with_every_class(model.predict_proba(X), model.classes_, classes)


class AveragedRegressor(RegressorMixin, _Averaged):
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
        The weights a.
    certificate_ : Certificate
        The worst of those of the estimators and of the weights.

    See Also
    --------
    AveragedClassifier : The same for classes.

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

    def __init__(self, estimators: Any, *, cv: Any = 5) -> None:
        self.estimators = estimators
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        cv = named_folds(self.cv, X, y, routed(self, params, None)["split"])
        models, rows = self._models(), numbered_rows(self, X, y, sample_weight)
        used = rows.positive_weight
        folds = folds_of(cv, len(rows.y), rows=used)

        def predictions(train: Any, test: Any) -> Floats:
            parts = [rows.split(model, used[train], used[test]) for model in models]
            columns = [
                fitted_to_numbers(model, own).predict(outside.x)
                for model, (own, outside) in zip(models, parts, strict=True)
            ]
            return np.stack(columns, axis=1)

        with warn_once():
            whole = [fitted_to_numbers(model, rows) for model in models]
            found = np.concatenate(folds.map(predictions))
        tests = used[np.concatenate([test for _, test in folds.pairs])]
        w = unit_weights(None if rows.w is None else rows.w[tests], len(tests))
        return self.from_fitted(whole, squared_error_average(found, rows.y[tests], w))

    def predict(self, X: Any) -> Floats:
        """Σₘ aₘ ŷₘ for every row."""
        check_is_fitted(self)
        columns = np.stack([model.predict(X) for model in self.estimators_], axis=1)
        return np.asarray(columns @ self.weights_)

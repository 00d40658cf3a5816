"""Averages of several models, with weights that minimize the out-of-fold loss (stacking)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.averages.several import SeveralModels, mixed_probabilities
from separatrix.estimators.averages.stacking import (
    stacked_classes,
    stacked_numbers,
    stacking_certificate,
)
from separatrix.estimators.wrapped import (
    fitted,
    fitted_to_numbers,
    joint_certificate,
    labeled_rows,
    numbered_rows,
    warn_once,
)
from separatrix.rows.block import Floats
from separatrix.selection.averaging import Average
from separatrix.selection.routing import fold_router, named_folds, routed


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
        weights = stacking_certificate(average)
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
    ModelAverage : Weights by evidence or AIC as well.
    CalibratedClassifier : Probabilities for a classifier that has none.

    References
    ----------
    D. H. Wolpert, Stacked generalization, Neural Networks 5, 1992.

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
            average = stacked_classes(models, rows, whole[0].classes_, cv)
        return self.from_fitted(whole, average)

    def predict_proba(self, X: Any) -> Floats:
        """Σₘ aₘ pₘ for each class in ``classes_``."""
        check_is_fitted(self)
        return mixed_probabilities(self, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])


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

    def __init__(self, estimators: Any, *, cv: Any = 5) -> None:
        self.estimators = estimators
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        cv = named_folds(self.cv, X, y, routed(self, params, None)["split"])
        models, rows = self._models(), numbered_rows(self, X, y, sample_weight)
        with warn_once():
            whole = [fitted_to_numbers(model, rows) for model in models]
            average = stacked_numbers(models, rows, cv)
        return self.from_fitted(whole, average)

    def predict(self, X: Any) -> Floats:
        """Σₘ aₘ ŷₘ for every row."""
        check_is_fitted(self)
        columns = np.stack([model.predict(X) for model in self.estimators_], axis=1)
        return np.asarray(columns @ self.weights_)

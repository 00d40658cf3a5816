"""Several models of the same rows as one, by the weights of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.targets import with_every_class
from separatrix.estimators.wrapped import (
    LabeledRows,
    fitted,
    fitted_to_numbers,
    labeled_rows,
    numbered_rows,
    takes_structures,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory
from separatrix.statistics.moments import Moments


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


def classifies(model: Any) -> bool:
    """Whether the first of the models to be averaged is a classifier."""
    return bool(model.estimators) and is_classifier(model.estimators[0])


def regresses(model: Any) -> bool:
    """Whether the models to be averaged predict numbers."""
    return not classifies(model)


class MixtureOfModels(SeveralModels):
    """Classifiers or regression models, averaged by weights; the first decides which."""

    classes_: NDArray[Any]

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> LabeledRows:
        """Rows with labels or numbers, as the models take them."""
        read = labeled_rows if classifies(self) else numbered_rows
        return read(self, X, y, sample_weight)

    def _fitted(self, rows: LabeledRows) -> list[Any]:
        """The models, fitted to all rows."""
        fit = fitted if classifies(self) else fitted_to_numbers
        return [fit(model, rows) for model in self._models()]

    def _fitted_to_moments(self, moments: Moments) -> list[Any]:
        return [clone(model).fit(moments) for model in self._models()]

    def predict(self, X: Any) -> Any:
        """The mean of the predictions, Σₘ aₘ ŷₘ; or the most probable class."""
        check_is_fitted(self)
        if hasattr(self, "classes_"):
            return self.classes_[self._probabilities(X).argmax(axis=1)]
        columns = np.stack([np.ravel(model.predict(X)) for model in self.estimators_], axis=1)
        return np.asarray(columns @ self.weights_)

    @available_if(classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Σₘ aₘ pₘ for each class in ``classes_``."""
        check_is_fitted(self)
        return self._probabilities(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², or accuracy of classes."""
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _probabilities(self, X: Any) -> Floats:
        return mixed_probabilities(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(model) for model in self.estimators or ()]
        if inner:
            tags.estimator_type = inner[0].estimator_type
            tags.classifier_tags, tags.regressor_tags = (
                inner[0].classifier_tags,
                inner[0].regressor_tags,
            )
        tags.target_tags.required = True
        return tags


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
    known = [found for model in models if (found := _target_moments(model)) is not None]
    if any(not np.allclose(found, known[0], rtol=1e-8, atol=0.0) for found in known):
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


def mixed_probabilities(model: Any, X: Any) -> Floats:
    """Σₘ aₘ pₘ for each class in ``classes_``."""
    parts = (
        weight * class_probabilities(one, X, model.classes_)
        for weight, one in zip(model.weights_, model.estimators_, strict=True)
    )
    return np.asarray(sum(parts))


def class_probabilities(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities with a column for each of ``classes``; zero for one the model lacks."""
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no probabilities to average.",
            remedy="Wrap it in CalibratedClassifier.",
        )
    return with_every_class(model.predict_proba(X), model.classes_, classes)

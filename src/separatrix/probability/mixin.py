"""Classifiers of scores that learn probabilities as well, from the scores of rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.class_weights import weighted_rows, weighted_samples
from separatrix.optimize.solution import Certificate
from separatrix.probability.calibrated import CalibratedClassifier, probabilities_of
from separatrix.probability.calibrations import Calibration
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows

Method = TypeVar("Method", bound=Callable[..., Any])


def _has_probabilities(model: Any) -> bool:
    return bool(model.probability)


_if_probabilities: Callable[[Method], Method] = available_if(_has_probabilities)


class ProbabilityMixin(ClassLabels):
    """With ``probability`` Platt's sigmoid is learned, and ``predict`` is the most probable class.

    The model itself is that of all rows, as it is without probabilities.
    """

    probability: bool
    class_weight: Any
    calibrations_: list[Calibration]
    certificate_: Certificate

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """The model of all rows, and a calibration from the scores of rows that were held out."""
        plain = clone(self).set_params(probability=False)
        if self.class_weight is not None:  # the calibration counts rows as the model does
            if isinstance(X, Rows):
                X = weighted_rows(X, self.class_weight)
            elif y is not None:
                sample_weight = weighted_samples(y, sample_weight, self.class_weight)
            plain.set_params(class_weight=None)
        both = CalibratedClassifier(plain, method="platt").fit(X, y, sample_weight)
        given = self.get_params(deep=False)
        for name, value in vars(both.estimator_).items():
            if name not in given:
                setattr(self, name, value)
        self.calibrations_ = both.calibrations_
        self.certificate_ = both.certificate_
        if both.certificate_.holds:  # then what it says of the model is worth keeping
            own = both.estimator_.certificate_
            self.certificate_ = replace(own, notes=(*own.notes, f"{both.certificate_.claim}."))
        return self

    def _class_scores(self, X: Any) -> Floats:
        """A score for the second of two classes, or one for each."""
        raise NotImplementedError

    @_if_probabilities
    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class, in the order of ``classes_``; needs ``probability``."""
        check_is_fitted(self)
        return probabilities_of(self.calibrations_, self._class_scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the side of the boundary, best score, or most probable."""
        check_is_fitted(self)
        if self.probability:
            chosen = self.predict_proba(X).argmax(axis=1)
        else:
            scores = self._class_scores(X)
            chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

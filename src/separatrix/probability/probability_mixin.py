"""``probability=True``: Platt scaling of out-of-fold scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.class_weights import weighted_rows, weighted_samples
from separatrix.optimize.solution import Certificate
from separatrix.probability.calibrated import CalibratedClassifier, calibrated_probabilities
from separatrix.probability.calibrations import Calibration
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows


class ProbabilityMixin(ClassLabels):
    """With ``probability``, scores are calibrated by Platt scaling to class probabilities.

    The classifier itself is fitted to all rows, as it is without probabilities.
    """

    probability: bool
    class_weight: Any
    calibrations_: list[Calibration]
    certificate_: Certificate

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to all rows, and calibrate on out-of-fold scores."""
        plain = clone(self).set_params(probability=False)
        if self.class_weight is not None:  # the calibration weights rows as the model does
            if isinstance(X, Rows):
                X = weighted_rows(X, self.class_weight)
            elif y is not None:
                sample_weight = weighted_samples(y, sample_weight, self.class_weight)
            plain.set_params(class_weight=None)
        calibrated = CalibratedClassifier(plain, method="platt").fit(X, y, sample_weight)
        parameters = self.get_params(deep=False)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        for name, value in vars(calibrated.estimator_).items():
            if name not in parameters:
                setattr(self, name, value)
        self.calibrations_ = calibrated.calibrations_
        self.certificate_ = calibrated.certificate_
        if calibrated.certificate_.holds:
            own = calibrated.estimator_.certificate_
            self.certificate_ = replace(
                own, notes=(*own.notes, f"{calibrated.certificate_.claim}.")
            )
        return self

    def _class_scores(self, X: Any) -> Floats:
        """One score for the second of two classes, or one for each of several."""
        raise NotImplementedError

    @available_if(lambda self: bool(self.probability))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``; needs ``probability=True``."""
        check_is_fitted(self)
        return calibrated_probabilities(self.calibrations_, self._class_scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the sign of the score, the largest score, or probability."""
        check_is_fitted(self)
        scores = self.predict_proba(X) if self.probability else self._class_scores(X)
        return self._predicted(scores)

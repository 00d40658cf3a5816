"""Models of the view, and their calibrations: the estimator, and the Python that makes it."""

from __future__ import annotations

from typing import Any

import separatrix as sx
from separatrix.exploration.state import State

#: Name of the view → class, parameters, and the name of the model in ``separatrix fit --models``.
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "logistic": ("LogisticRegression", {"standardize": True}, "logistic_ridge"),
    "lda": ("LinearDiscriminantAnalysis", {}, "lda"),
    "naive_bayes": ("NaiveBayes", {}, "naive_bayes"),
    "neighbors": ("KNeighborsClassifier", {"n_neighbors": 15, "standardize": True}, "neighbors"),
    "svm": ("SVC", {"standardize": True}, "svm"),
}

#: Methods of :class:`~separatrix.CalibratedClassifier`; "none" leaves probabilities as they are.
CALIBRATIONS = ("platt", "isotonic", "temperature", "none")


def calibrated(state: State) -> tuple[Any, str]:
    """The model with its calibration; one without probabilities is always calibrated."""
    name, given, _ = MODELS[state.choice("model", MODELS)]
    model = getattr(sx, name)(**given)
    text = f"sx.{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
    known = CALIBRATIONS if hasattr(model, "predict_proba") else CALIBRATIONS[:-1]
    method = state.choice("calibration", known)
    if method == "none":
        return model, text
    calibrated = sx.CalibratedClassifier(model, method=method)
    return calibrated, f"sx.CalibratedClassifier({text}, method={method!r})"

"""Models of the view: how the state becomes an estimator, and the line of Python that makes it."""

from __future__ import annotations

from typing import Any

import separatrix as sx
from separatrix.exploration.state import State


def svm(state: State) -> tuple[Any, str]:
    """min ½‖w‖² + C Σ max(0, 1 − y f), with a Gaussian or a linear kernel."""
    c, kernel = state.number("C", 1.0, 1e-4, 1e6), state.choice("kernel", ["rbf", "linear"])
    given: dict[str, Any] = {"kernel": kernel, "C": c}
    if kernel == "rbf":
        given["gamma"] = state.number("gamma", 1.0, 1e-6, 1e6)
    return sx.SVC(**given), _call("SVC", given)


def logistic(state: State) -> tuple[Any, str]:
    """min ½‖w‖² + C Σ ln(1 + e^{−y f})."""
    given: dict[str, Any] = {"C": state.number("C", 1.0, 1e-4, 1e6)}
    return sx.LogisticRegression(**given), _call("LogisticRegression", given)


def neighbors(state: State) -> tuple[Any, str]:
    """A vote of the k nearest rows."""
    given: dict[str, Any] = {"n_neighbors": state.whole("k", 5, 1, 200)}
    return sx.KNeighborsClassifier(**given), _call("KNeighborsClassifier", given)


MODELS = {"svm": svm, "logistic": logistic, "neighbors": neighbors}


def _call(name: str, given: dict[str, Any]) -> str:
    return f"sx.{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"

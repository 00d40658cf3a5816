"""Models of the view: how the state becomes an estimator, and the line of Python that makes it.

Lengths (bandwidths, distances of neighbors) are in standard deviations of the columns, and
penalties are on standardized columns, so that no picture depends on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.exploration.state import State
from separatrix.kernels import Constant, Gaussian
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Values of C between which the slider goes.
COSTS = 1e-2, 1e2
#: Neighbors at most.
NEIGHBORS = 50
#: Rows of a Gaussian process at most: its fit takes the cube of them.
PROCESS_ROWS = 500


@dataclass(frozen=True)
class Choice:
    """An estimator, not yet fitted, and the expression that makes it."""

    estimator: Any
    text: str


def svm(state: State, _: Floats) -> Choice:
    """min ½‖w‖² + C Σ max(0, 1 − y f), with a Gaussian or a linear kernel."""
    kernel = state.choice("kernel", ["rbf", "linear"])
    gamma = {"gamma": _gamma(_bandwidth(state))} if kernel == "rbf" else {}
    return _made("SVC", kernel=kernel, C=_cost(state), **gamma, standardize=True)


def logistic(state: State, _: Floats) -> Choice:
    """min (1 − ρ)/2 ‖w‖² + ρ ‖w‖₁ + C Σ ln(1 + e^{−y f})."""
    ratio = state.number("l1", 0.0, 0.0, 1.0)
    return _made("LogisticRegression", C=_cost(state), l1_ratio=ratio, standardize=True)


def linear_discriminant(_: State, __: Floats) -> Choice:
    """Normal classes of one covariance."""
    return _made("LinearDiscriminantAnalysis")


def quadratic_discriminant(_: State, __: Floats) -> Choice:
    """Normal classes, each with a covariance of its own."""
    return _made("QuadraticDiscriminantAnalysis")


def regularized_discriminant(state: State, _: Floats) -> Choice:
    """Covariances between the own and the common one (α), and between that and a sphere (β)."""
    alpha, beta = state.number("alpha", 0.5, 0.0, 1.0), state.number("beta", 0.0, 0.0, 1.0)
    return _made("GaussianDiscriminant", alpha=alpha, beta=beta)


def naive_bayes(_: State, __: Floats) -> Choice:
    """Normal classes whose columns are independent."""
    return _made("GaussianNB")


def neighbors(state: State, x: Floats) -> Choice:
    """A vote of the k nearest rows."""
    k = min(state.whole("k", 5, 1, NEIGHBORS), len(x))
    return _made("KNeighborsClassifier", n_neighbors=k, standardize=True)


def kernel_vote(state: State, _: Floats) -> Choice:
    """A vote of all rows with weights exp(−d²/2h²)."""
    return _made("KernelVoteClassifier", bandwidth=_bandwidth(state), standardize=True)


def exemplar(state: State, _: Floats) -> Choice:
    """The class of the nearest exemplar: the mean of a class, or its medoid."""
    kind = state.choice("exemplar", ["mean", "medoid"])
    return _made("NearestExemplar", exemplar=kind, standardize=True)


def perceptron(state: State, _: Floats) -> Choice:
    """w ← w + y x for each row on the wrong side, epoch by epoch."""
    epochs = state.whole("epochs", 20, 1, 200)
    return _made("Perceptron", max_epochs=epochs, standardize=True)


def boxes(state: State, _: Floats) -> Choice:
    """A box for each class between the most specific, S, and the most general ones, G."""
    kind = state.choice("hypothesis", ["average", "specific", "general"])
    return _made("BoxClassifier", hypothesis=kind)


def process(state: State, x: Floats) -> Choice:
    """σ(f) with f from a Gaussian process of a given bandwidth."""
    if len(x) > PROCESS_ROWS:
        raise InputError(
            f"a Gaussian process of {len(x):,} rows is too slow to follow the hand.",
            remedy=f"Show at most {PROCESS_ROWS} rows, or choose another model.",
        )
    widths = tuple(float(f"{w:.6g}") for w in _bandwidth(state) * x.std(axis=0))
    kernel = Constant(4.0) * Gaussian(widths)
    text = f"sx.kernels.Constant(4.0) * sx.kernels.Gaussian({widths!r})"
    return Choice(
        sx.GaussianProcessClassifier(kernel, optimizer=None),
        f"sx.GaussianProcessClassifier({text}, optimizer=None)",
    )


MODELS: dict[str, Callable[[State, Floats], Choice]] = {
    "svm": svm,
    "logistic": logistic,
    "lda": linear_discriminant,
    "qda": quadratic_discriminant,
    "rda": regularized_discriminant,
    "bayes": naive_bayes,
    "neighbors": neighbors,
    "vote": kernel_vote,
    "exemplar": exemplar,
    "perceptron": perceptron,
    "boxes": boxes,
    "process": process,
}


def _cost(state: State) -> float:
    return state.number("C", 1.0, *COSTS)


def _bandwidth(state: State) -> float:
    return state.number("h", 0.8, 0.05, 10.0)


def _gamma(h: float) -> float:
    """γ of the Gaussian kernel exp(−γ d²) of bandwidth h."""
    return float(np.float64(f"{0.5 / h**2:.6g}"))


def _made(name: str, **given: Any) -> Choice:
    text = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return Choice(getattr(sx, name)(**given), f"sx.{name}({text})")

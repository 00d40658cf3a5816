"""Models of the view: how the state becomes an estimator, and the line of Python that makes it."""

from __future__ import annotations

from typing import Any

import separatrix as sx
from separatrix.exploration.session import Session
from separatrix.exploration.state import State
from separatrix.exploration.views.line.paths import penalty
from separatrix.exploration.views.line.scene import Scene

#: Rows from which a Gaussian process works with inducing points, and how many.
EXACT_ROWS, INDUCING = 600, 64


def model_of(session: Session, state: State, scene: Scene) -> tuple[Any, str]:
    """The estimator that the state names, and its call in Python."""
    name = state.choice("model", MODELS)
    if name in ("ridge", "lasso"):
        alpha = penalty(session, state, scene, name)
        return _made(name.capitalize(), {"alpha": alpha, "standardize": True})
    found: tuple[Any, str] = MODELS[name](state, scene)
    return found


def least_squares(*_: Any) -> tuple[Any, str]:
    """min Σ (y − a − b·x)²."""
    return _made("LinearRegression", {})


def huber(state: State, _: Scene) -> tuple[Any, str]:
    """Squares up to ε·σ, absolute values beyond."""
    return _made("HuberRegressor", {"epsilon": state.number("epsilon", 1.35, 1.0, 10.0)})


def quantile(state: State, _: Scene) -> tuple[Any, str]:
    """The line that a share τ of the points lies below; τ = ½ is least absolute deviations."""
    tau = state.number("quantile", 0.5, 0.01, 0.99)
    return _made("QuantileRegressor", {"quantile": tau, "alpha": 0.0})


def polynomial(state: State, scene: Scene) -> tuple[Any, str]:
    """Least squares on all products of the columns up to a degree."""
    most = 12 if len(scene.names) == 1 else 5
    return _made("PolynomialRegression", {"degree": state.whole("degree", 3, 1, most)})


def smoother(state: State, _: Scene) -> tuple[Any, str]:
    """Means of all points with Gaussian weights."""
    h = state.number("bandwidth", 0.3, 0.005, 20.0)
    return _made("NadarayaWatson", {"bandwidth": h, "standardize": True})


def process(state: State, scene: Scene) -> tuple[Any, str]:
    """A Gaussian process with the hyperparameters of the sliders.

    Lengths are in standard deviations of the columns, signal and noise in those of the target.
    """
    scales = scene.before.x.std(axis=0)[:-1]
    names = ("length", "length2")[: len(scales)]
    lengths = tuple(
        float(f"{state.number(name, 1.0, 0.01, 1000.0) * scale:.6g}")
        for name, scale in zip(names, scales, strict=True)
    )
    signal = state.number("signal", 1.0, 0.01, 1000.0) ** 2
    noise = state.number("noise", 0.5, 0.001, 100.0) ** 2
    kernel = sx.Constant(signal) * sx.Gaussian(lengths) + sx.White(noise)
    text = f"sx.Constant({signal!r}) * sx.Gaussian({lengths!r}) + sx.White({noise!r})"
    given = {"optimizer": None, "normalize_y": True, **_inducing(len(scene.points))}
    model = sx.GaussianProcessRegressor(kernel, **given)
    return model, f"sx.GaussianProcessRegressor({text}, {_arguments(given)})"


def learned(state: State, scene: Scene) -> dict[str, float]:
    """Parameters that the points themselves choose: by evidence, or by leave-one-out error."""
    if state.choice("model", ["process", "smoother"]) == "smoother":
        smooth = sx.NadarayaWatson("loo", standardize=True).fit(scene.X, scene.y)
        return {"bandwidth": _between(smooth.bandwidth_, 0.005, 20.0)}
    given = _inducing(len(scene.points))
    found = sx.GaussianProcessRegressor(normalize_y=True, **given).fit(scene.X, scene.y)
    kernel: Any = found.kernel_
    product, white = kernel.operands
    constant, gaussian = product.operands
    lengths = gaussian.bandwidth / scene.before.x.std(axis=0)[:-1]
    named = zip(("length", "length2"), lengths, strict=False)
    return {
        **{name: _between(value, 0.01, 1000.0) for name, value in named},
        "signal": _between(constant.constant**0.5, 0.01, 1000.0),
        "noise": _between(white.variance**0.5, 0.001, 100.0),
    }


MODELS: dict[str, Any] = {
    "least squares": least_squares,
    "ridge": None,
    "lasso": None,
    "huber": huber,
    "quantile": quantile,
    "polynomial": polynomial,
    "smoother": smoother,
    "process": process,
}


def _inducing(n: int) -> dict[str, Any]:
    return {} if n <= EXACT_ROWS else {"n_inducing": INDUCING}


def _between(value: float, low: float, high: float) -> float:
    return float(f"{min(max(value, low), high):.4g}")


def _made(name: str, given: dict[str, Any]) -> tuple[Any, str]:
    return getattr(sx, name)(**given), f"sx.{name}({_arguments(given)})"


def _arguments(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in given.items())

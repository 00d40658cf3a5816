"""Every estimator on tables of every shape, beside its twin at the same objective.

    python benchmarks/shapes.py [--only Ridge,Lasso] [--shapes tiny,csr-tall] [--seconds 5]

A row of :data:`ENTRIES` names an estimator, its twin, the arguments of both, the shapes it takes
and its objective, the smaller the better. Where the twin stops at an objective that is more than a
millionth worse, its ``tol`` is divided by ten until it does not, and that fit is timed. Runs are
interleaved, and the best of several counts. Printed is a table in Markdown: seconds of the twin
over our own, with our seconds.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.svm
from scipy import sparse

import separatrix as sx

Arrays = tuple[Any, np.ndarray, np.ndarray]
Objective = Callable[[Any, Any, np.ndarray], float]

#: Rows, columns, and the part of entries that is not zero (None: a dense table).
SHAPES: dict[str, tuple[int, int, float | None]] = {
    "tiny": (150, 4, None),
    "tall": (100_000, 20, None),
    "middle": (5_000, 100, None),
    "square": (1_500, 1_500, None),
    "wide": (200, 10_000, None),
    "csr-tall": (20_000, 1_000, 0.01),
    "csr-square": (4_000, 3_000, 0.01),
    "csr-wide": (3_000, 40_000, 0.002),
}
DENSE = tuple(name for name, (_, _, density) in SHAPES.items() if density is None)
ALL = tuple(SHAPES)


@cache
def table(shape: str) -> Arrays:
    """X, a numeric target of ten columns with noise, and the classes of its sign."""
    n, d, density = SHAPES[shape]
    rng = np.random.default_rng(0)
    if density is None:
        x: Any = rng.normal(size=(n, d))
    else:
        x = sparse.random(n, d, density, format="csr", rng=rng)
    strong = np.arange(min(d, 10)) * (d // min(d, 10))
    signal = x[:, strong] @ rng.normal(size=len(strong))
    t = signal + 0.5 * signal.std() * rng.normal(size=n)
    return x, t, (t > np.median(t)).astype(int)


# -- objectives --------------------------------------------------------------------------------


def residuals(model: Any, x: Any, y: np.ndarray) -> np.ndarray:
    return np.asarray(y - x @ np.ravel(model.coef_) - np.ravel(model.intercept_))


def squares(model: Any, x: Any, y: np.ndarray) -> float:
    return 0.5 * float(np.sum(residuals(model, x, y) ** 2))


def ridge(model: Any, x: Any, y: np.ndarray) -> float:
    return squares(model, x, y) + 0.5 * model.alpha * float(np.sum(model.coef_**2))


def elastic_net(model: Any, x: Any, y: np.ndarray) -> float:
    b, rho = np.ravel(model.coef_), getattr(model, "l1_ratio", 1.0)
    penalty = rho * np.abs(b).sum() + 0.5 * (1.0 - rho) * b @ b
    return squares(model, x, y) / len(y) + model.alpha * float(penalty)


def hinge(power: int) -> Objective:
    def objective(model: Any, x: Any, y: np.ndarray) -> float:
        w, b = np.ravel(model.coef_), float(model.intercept_[0])
        slack = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1.0, -1.0) * (x @ w + b))
        return 0.5 * float(w @ w + b * b) + model.C * float(np.sum(slack**power))

    return objective


def tube(model: Any, x: Any, y: np.ndarray) -> float:
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    slack = np.maximum(0.0, np.abs(residuals(model, x, y)) - model.epsilon)
    return 0.5 * float(w @ w + b * b) + model.C * float(slack.sum())


def log_loss(model: Any, x: Any, y: np.ndarray) -> float:
    w = np.ravel(model.coef_)
    z = np.where(y == model.classes_[1], 1.0, -1.0) * (x @ w + model.intercept_[0])
    return 0.5 * float(w @ w) + model.C * float(np.logaddexp(0.0, -z).sum())


# -- estimators --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """``name`` of ours and of a case, its ``twin``, arguments of both (or what makes them)."""

    name: str
    twin: Any
    arguments: dict[str, Any] | Callable[[Any, np.ndarray], dict[str, Any]]
    objective: Objective | None = None
    shapes: Sequence[str] = ALL
    classes: bool = False
    twin_only: tuple[tuple[str, Any], ...] = ()


def a_tenth(x: Any, y: np.ndarray) -> dict[str, Any]:
    """A tenth of the penalty that sets all coefficients to zero: tens of them are not."""
    return {"alpha": 0.1 * float(np.abs(x.T @ (y - y.mean())).max()) / len(y)}


linear, svm = sklearn.linear_model, sklearn.svm
ENTRIES = (
    Entry("LinearRegression", linear.LinearRegression, {}, squares),
    Entry("Ridge", linear.Ridge, {}, ridge),
    Entry("Lasso", linear.Lasso, a_tenth, elastic_net),
    Entry("ElasticNet", linear.ElasticNet, a_tenth, elastic_net),
    Entry("RidgeCV", linear.RidgeCV, {"cv": 5}),
    Entry("LassoCV", linear.LassoCV, {"alphas": 100}),
    Entry("LassoCV elastic", linear.ElasticNetCV, {"alphas": 100, "l1_ratio": 0.5}),
    Entry("LogisticRegression", linear.LogisticRegression, {}, log_loss, classes=True),
    Entry("LinearSVC", svm.LinearSVC, {}, hinge(2), classes=True),
    Entry("LinearSVC hinge", svm.LinearSVC, {"loss": "hinge"}, hinge(1), classes=True),
    Entry("LinearSVR", svm.LinearSVR, {}, tube),
    Entry(
        "LinearDiscriminantAnalysis", sklearn.discriminant_analysis.LinearDiscriminantAnalysis,
        {}, shapes=DENSE, classes=True,
    ),
)  # fmt: skip


# -- races -------------------------------------------------------------------------------------


def seconds_of(fit: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    model = fit()
    return time.perf_counter() - start, model


def same_objective(entry: Entry, arguments: dict[str, Any], own: Any, x: Any, y: Any) -> Any:
    """The twin with the largest ``tol`` at which its objective is not above ours."""
    twin = entry.twin(**arguments, **dict(entry.twin_only))
    if entry.objective is None or "tol" not in twin.get_params():
        return twin
    goal = entry.objective(own, x, y) * (1.0 + 1e-6)
    for _ in range(8):
        if entry.objective(twin.fit(x, y), x, y) <= goal:
            break
        twin.set_params(tol=0.1 * twin.tol)
        if isinstance(getattr(twin, "max_iter", None), int):
            twin.set_params(max_iter=10 * twin.max_iter)
    return twin


def race(entry: Entry, shape: str, seconds: float) -> str:
    """One cell of the table: twin over own, and our seconds."""
    x, t, labels = table(shape)
    y = labels if entry.classes else t
    given = entry.arguments
    arguments = given(x, y) if callable(given) else given
    kind = getattr(sx, entry.name.split()[0])
    own = kind(**arguments)
    seconds_of(lambda: own.fit(x, y))  # loops are compiled once
    twin = same_objective(entry, arguments, own, x, y)
    ours, theirs, spent, turn = np.inf, np.inf, 0.0, 0
    while turn < 3 or (spent < seconds and turn < 50):
        a, b = seconds_of(lambda: own.fit(x, y))[0], 0.0
        if turn < 2 or theirs < seconds / 2:
            b = seconds_of(lambda: twin.fit(x, y))[0]
            theirs = min(theirs, b)
        ours, spent, turn = min(ours, a), spent + a + b, turn + 1
        if spent > 4 * seconds:
            break
    return f"{theirs / ours:.2g}× ({1e3 * ours:.3g} ms)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of estimators, with commas between")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="names of shapes")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each cell")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names, shapes = [name for name in given.only.split(",") if name], given.shapes.split(",")
    print("| | " + " | ".join(shapes) + " |\n|---|" + "---|" * len(shapes))
    for entry in ENTRIES:
        if names and entry.name not in names:
            continue
        print(f"| {entry.name}", end=" ", flush=True)
        for shape in shapes:
            cell = race(entry, shape, given.seconds) if shape in entry.shapes else ""
            print(f"| {cell}", end=" ", flush=True)
        print("|", flush=True)


if __name__ == "__main__":
    main()

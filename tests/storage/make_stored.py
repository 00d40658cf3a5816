"""Makes the files in ``stored``: ``python -m tests.storage.make_stored``.

They are made once for a format version and never again: what they hold and what they answer is what
every later reader of that version must read.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.storage import save_moments
from separatrix.storage.moments_file import summarize

STORED = Path(__file__).parent / "stored"
#: Methods whose answers are stored beside a file.
ANSWERS = ("predict", "predict_proba", "decision_function")


def rows() -> tuple[Any, Any, Any]:
    """Columns, a numeric target and classes; few rows, so that files are small."""
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal((30, 3)), 2)
    y = np.round(x @ [1.0, 2.0, 0.0] + 0.1 * rng.standard_normal(30), 3)
    return x, y, np.where(x[:, 0] + x[:, 1] + 0.5 * rng.standard_normal(30) > 0, "a", "b")


def table() -> dict[str, Any]:
    """Numbers, levels and missing values with a target."""
    rng = np.random.default_rng(3)
    a, color = np.round(rng.standard_normal(30), 2), rng.choice(["red", "blue"], 30)
    y = np.round(2 * a + (color == "red") + 0.3 * rng.standard_normal(30), 2)
    a[4] = np.nan
    return {"a": a, "color": color, "y": y}


def models() -> dict[str, Any]:
    """One estimator or more of each family, fitted."""
    x, y, c = rows()
    numbers = {
        "LinearRegression": sx.LinearRegression(),
        "Lasso": sx.Lasso(alpha=0.1),
        "Ridge": sx.Ridge(alpha=1.0),
        "HuberRegressor": sx.HuberRegressor(),
        "PolynomialRegression": sx.PolynomialRegression(2, alpha=0.1),
        "SVR": sx.SVR(),
        "BayesianRidge": sx.BayesianRidge(),
        "GaussianProcessRegressor": sx.GaussianProcessRegressor(),
        "KNeighborsRegressor": sx.KNeighborsRegressor(),
        "ConformalRegressor": sx.ConformalRegressor(sx.LinearRegression()),
    }
    classes = {
        "LogisticRegression": sx.LogisticRegression(),
        "LinearDiscriminantAnalysis": sx.LinearDiscriminantAnalysis(),
        "QuadraticDiscriminantAnalysis": sx.QuadraticDiscriminantAnalysis(),
        "NaiveBayes": sx.NaiveBayes(),
        "Perceptron": sx.Perceptron(),
        "SVC": sx.SVC(),
        "KNeighborsClassifier": sx.KNeighborsClassifier(),
        "BoxClassifier": sx.BoxClassifier(),
        "CalibratedClassifier": sx.CalibratedClassifier(sx.LinearDiscriminantAnalysis()),
    }
    fitted = {name: model.fit(x, y) for name, model in numbers.items()}
    fitted |= {name: model.fit(x, c) for name, model in classes.items()}
    return fitted | {"KMeans": sx.KMeans(n_clusters=2, random_state=0).fit(x)}


def answers(model: Any, x: Any) -> dict[str, Any]:
    """What a model says about some rows, by method."""
    found = {}
    for name in ANSWERS:
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)(x)).tolist()
    return found


def main() -> None:
    """Write the files, and what they answer."""
    STORED.mkdir()
    x = rows()[0][:4]
    expected: dict[str, Any] = {"rows": x.tolist(), "files": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models().items():
            sx.save(model, STORED / f"{name}.sx")
            expected["files"][name] = answers(model, x)
        scanned = sx.scan(table(), target="y")
        study = sx.run_study(scanned, models=["linear", "ridge"], repeats=2, nested=True)
    with tempfile.TemporaryDirectory() as folder:
        from separatrix.cli.ids import Ids
        from separatrix.cli.results import write_all

        write_all(study, Path(folder) / "results", Ids(None, ()))
        (Path(folder) / "results" / "model.sx").rename(STORED / "study.sx")
    new = {"a": [0.5, None, -1.0], "color": ["red", "blue", None]}
    predicted = study.model.predict(sx.scan(_as_columns(new)))
    expected["study"] = {**new, "predicted": predicted.tolist(), "winner": study.winner}
    stored = summarize(scanned)
    save_moments(stored, STORED / "table.moments")
    total = stored.groups.total()
    expected["moments"] = {"count": total.count, "mean": total.mean.tolist()}
    x, _, c = rows()
    save_moments(summarize(sx.scan({"x": x[:, 0], "c": c}, target="c")), STORED / "classes.moments")
    (STORED / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def _as_columns(values: dict[str, Any]) -> dict[str, Any]:
    numbers = np.array([np.nan if v is None else v for v in values["a"]])
    return {"a": numbers, "color": np.array(values["color"], dtype=object)}


if __name__ == "__main__":
    main()

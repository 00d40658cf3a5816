"""Files with a sound header whose arrays were changed: refused, or they predict."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import separatrix as sx
from separatrix.storage.container import encode, write
from separatrix.storage.model_file import KIND
from tests.laws.data import fitted, points, table
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY

#: One row for each class: the arrays of its options are much the same.
ROWS = {type(row.make()).__name__: row for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES)[::-1]}
METHODS = ("predict", "predict_proba", "decision_function", "transform")


def mutations(array: np.ndarray) -> Iterator[np.ndarray]:
    """One row less, one more, one column less, an impossible number, an index out of range."""
    if array.ndim and len(array):
        yield array[:-1]
        yield np.concatenate([array, array[-1:]])
    if array.ndim == 2 and array.shape[1]:
        yield np.ascontiguousarray(array[:, :-1])
    for value in {"f": (np.nan,), "i": (-7, 120)}.get(array.dtype.kind, ()):
        if array.size:
            changed = array.copy()
            changed.flat[array.size // 2] = value
            yield changed


def stored(model: Any, path: Path, **changed: np.ndarray) -> Path:
    tensors: dict[str, np.ndarray] = {}
    body = encode(model, tensors, "model")
    content = {
        "class": body["of"],
        "parameters": body["params"],
        "attributes": body["state"],
        "versions": {},
    }
    write(path, KIND, content, {**tensors, **changed})
    return path


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.filterwarnings("ignore")
def test_changed_arrays_are_refused_or_predict(name: str, tmp_path: Path) -> None:
    row, model = ROWS[name], fitted(ROWS[name].name)
    x = (points() if row.task == "clustering" else table(row)[0])[:5]
    tensors: dict[str, np.ndarray] = {}
    encode(model, tensors, "model")
    for tensor, array in sorted(tensors.items()):
        changes = list(mutations(array))
        for change in changes[crc32(tensor.encode()) % 5 :: 5]:
            try:
                use(sx.load(stored(model, tmp_path / "m.sx", **{tensor: change})), x)
            except sx.InputError:
                continue


def use(model: Any, x: np.ndarray) -> None:
    """All that a model says of itself and of rows."""
    repr(model), str(model.certificate_)
    for method in METHODS:
        if hasattr(model, method):
            getattr(model, method)(x)
    if "return_std" in inspect.signature(model.predict).parameters:
        model.predict(x, return_std=True)
        for method in {"leave_one_out", "hyperparameter_intervals"} & set(dir(model)):
            getattr(model, method)()


@pytest.mark.parametrize(
    "options", [{}, {"trend": "linear", "normalize_y": True}, {"n_inducing": 8}], ids=str
)
@pytest.mark.filterwarnings("ignore")
def test_every_change_of_a_process_is_refused_or_predicts(options, tmp_path: Path) -> None:
    x, y = table(ROWS["GaussianProcessRegressor"], n=20)
    model = sx.GaussianProcessRegressor(**options).fit(x, y)
    tensors: dict[str, np.ndarray] = {}
    encode(model, tensors, "model")
    for tensor, array in sorted(tensors.items()):
        for change in mutations(array):
            path = stored(model, tmp_path / "m.sx", **{tensor: change})
            with contextlib.suppress(sx.InputError):
                use(sx.load(path), x)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("KNeighborsClassifier", "codes_", "indices out of range"),
        ("GaussianProcessRegressor", "row_noise_", "not finite"),
        ("KMeans", "cluster_centers_", "not finite"),
        ("GaussianDiscriminant", "means_", "not finite"),
        ("KMeans, standardized", "standardizer_.mean", "not finite"),
    ],
)
def test_the_refusal_names_the_array(name: str, array: str, reason: str, tmp_path: Path) -> None:
    tensors: dict[str, np.ndarray] = {}
    encode(fitted(name), tensors, "model")
    changed = tensors[f"model.{array}"].copy()
    changed.flat[0] = 120 if changed.dtype.kind == "i" else np.nan
    path = stored(fitted(name), tmp_path / "m.sx", **{f"model.{array}": changed})
    with pytest.raises(sx.InputError, match=rf"array '{array.split('.')[-1]}'.* {reason}"):
        sx.load(path)

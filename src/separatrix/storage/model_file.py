"""``.sx``: a fitted model, with its parameters, columns, classes, certificate and scores."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.storage.codec import Tensors, encode
from separatrix.storage.container import Container, write
from separatrix.storage.registry import MODELS, listed

KIND = "separatrix model"


def save(model: Any, path: str | os.PathLike[str], *, story: dict[str, Any] | None = None) -> None:
    """Write a fitted model to ``path``; the file is whole or absent, and equal models equal bytes.

    ``story`` holds further values to keep beside the model (how it was chosen, its scores); they
    are read back with :func:`load_story`.
    """
    if not listed(MODELS, model):
        raise InputError(
            f"{type(model).__module__}.{type(model).__qualname__} is not a separatrix model.",
            remedy="Only models of this library can be saved as .sx files.",
        )
    if not hasattr(model, "n_features_in_") and not _of_structures(model):
        raise InputError(
            f"This {type(model).__name__} is not fitted yet.", remedy="Call fit first."
        )
    tensors: Tensors = {}
    body = encode(model, tensors, "model")
    content = {
        "class": body["of"],
        "parameters": body["params"],
        "attributes": body["state"],
        "versions": {name: version(name) for name in ("separatrix", "numpy", "scikit-learn")},
    }
    for key, value in (story or {}).items():
        content[f"story {key}"] = encode(value, tensors, key)
    write(path, KIND, content, tensors)


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a ``.sx`` file. Nothing in the file is executed or imported by name."""
    file = Container(path, KIND)
    body = {
        "is": "model",
        "of": file.json("class"),
        "params": file.json("parameters"),
        "state": file.json("attributes"),
    }
    model = file.rebuild(body)
    fault = _fault(model)
    if fault:
        raise file.damaged(fault)
    return model


def load_story(path: str | os.PathLike[str], key: str) -> Any:
    """What was kept beside the model under ``key``; None if there is no such thing."""
    file = Container(path, KIND)
    return file.value(f"story {key}") if f"story {key}" in file else None


def _fault(model: Any) -> str:
    """Why a restored model cannot predict: its parts do not fit together; empty if they do."""
    lacking = [name for name in _needed(type(model)) if not hasattr(model, name)]
    if lacking:
        return f"{lacking[0]!r} is missing"
    if _of_structures(model):
        return ""
    if not isinstance(getattr(model, "n_features_in_", None), int | np.integer):
        return "the number of columns is missing"
    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        if type(encoding).__name__ != "Encoding":
            return "the encoding is of the wrong kind"
        if len(encoding.schema.names) != model.n_features_in_:
            return "the columns and their number disagree"
    columns = len(getattr(model, "term_names_", ())) or (
        model.n_features_in_ if encoding is None else len(encoding.terms)
    )
    return _misfit(model, columns) if hasattr(model, "coef_") else ""


def _of_structures(model: Any) -> bool:
    """Whether a model compares strings, sets, trees or graphs, which have no columns."""
    measures = (getattr(model, name, None) for name in ("kernel_", "metric_"))
    return any(getattr(measure, "of_vectors", True) is False for measure in measures)


def _misfit(model: Any, columns: int) -> str:
    """Which of the coefficients, intercepts and classes disagree; empty if none do."""
    coef, intercept = model.coef_, np.asarray(model.intercept_)
    if not isinstance(coef, np.ndarray) or coef.dtype.kind != "f" or coef.ndim not in (1, 2):
        return "the coefficients are not numbers"
    if coef.shape[-1] != columns:
        return f"there are {coef.shape[-1]} coefficients for {columns} columns"
    planes = len(np.atleast_2d(coef))
    if intercept.dtype.kind not in "fiu" or intercept.shape not in {(), (1,), (planes,)}:
        return "the intercepts do not fit the coefficients"
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ""
    wanted = (2,) if planes == 1 else (planes,)  # between two classes lies one plane
    if not isinstance(classes, np.ndarray) or classes.shape not in {wanted, (planes,)}:
        return "the classes do not fit the coefficients"
    return ""


def _needed(cls: type[Any]) -> list[str]:
    """The attributes without which a model of this class cannot predict."""
    declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
    needed = [name for name in ("coef_", "intercept_") if name in declared]
    return needed + (["classes_"] if hasattr(cls, "decision_function") else [])

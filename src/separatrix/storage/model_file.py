"""Model files (``.sx``): a fitted estimator, and the study that selected it."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin
from sklearn.exceptions import NotFittedError

from separatrix.messages import InputError
from separatrix.rows.encoding import Encoding
from separatrix.storage.codec import Tensors, encode
from separatrix.storage.container import Container, write
from separatrix.storage.registry import MODELS, listed
from separatrix.storage.shapes import disagreement

KIND = "separatrix model"


def save(model: Any, path: str | os.PathLike[str], *, study: Any = None) -> None:
    """Save a fitted estimator of this library to a file.

    The file is a safetensors container without pickled code: parameters and fitted attributes as
    JSON, arrays as tensors. It is written atomically, and equal models give equal bytes. Attributes
    with a leading underscore (training rows) are not stored.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    path : str or path-like
        The file to write, by custom ``name.sx``; an existing file is replaced.
    study : object, default=None
        How the model was selected; read back by ``separatrix.storage.load_study``.

    Returns
    -------
    None
        The file is written.

    See Also
    --------
    load : Load a saved model.
    run_study : Select a model, with scores on test rows.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.LinearRegression().fit(np.arange(4.0)[:, None], [1.0, 3.0, 5.0, 7.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "line.sx"
    ...     sx.save(model, path)
    ...     float(sx.load(path).predict([[10.0]])[0].round(6))
    21.0
    """
    if not listed(MODELS, model):
        raise InputError(
            f"{type(model).__module__}.{type(model).__qualname__} is not a separatrix estimator.",
            remedy="Only estimators of this library can be saved as .sx files.",
        )
    if not hasattr(model, "n_features_in_") and not _has_no_columns(model):
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
    if study is not None:
        content["study"] = encode(study, tensors, "study")
    write(path, KIND, content, tensors)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved estimator; nothing in the file is executed.

    Only classes of a closed list are restored. Values are checked against their annotations, and
    arrays against one another: shapes, ranges of indices, finite numbers. A file that is truncated,
    damaged or of another version is refused with the reason.

    Parameters
    ----------
    path : str or path-like
        A file written by :func:`save`.

    Returns
    -------
    estimator
        The fitted estimator; it predicts the same numbers as the one saved.

    See Also
    --------
    save : Save a model.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.Ridge(alpha=1.0).fit(np.arange(4.0)[:, None], [1.0, 3.0, 5.0, 7.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "ridge.sx"
    ...     sx.save(model, path)
    ...     sx.load(path)
    Ridge()
    """
    file = Container(path, KIND)
    body = {
        "is": "model",
        "of": file.json("class"),
        "params": file.json("parameters"),
        "state": file.json("attributes"),
    }
    model = file.rebuild(body)
    error = _inconsistency(model) or _failure(model)
    if error:
        raise file.damaged(error)
    return model


def load_study(path: str | os.PathLike[str]) -> Any:
    """The study stored with a model; None if there is none."""
    file = Container(path, KIND)
    return file.value("study") if "study" in file else None


def _inconsistency(model: Any) -> str:
    """Why a restored model cannot predict; empty if its attributes are consistent."""
    absent = [name for name in _required(type(model)) if not hasattr(model, name)]
    if absent:
        return f"{absent[0]!r} is missing"
    if _has_no_columns(model):
        return ""
    if not isinstance(getattr(model, "n_features_in_", None), int | np.integer):
        return "the number of columns is missing"
    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        if not isinstance(encoding, Encoding):
            return "the encoding is of the wrong type"
        if len(encoding.schema.names) > model.n_features_in_:  # columns may be left out
            return "the columns and their number disagree"
    design = model.n_features_in_ if encoding is None else len(encoding.terms)
    columns = len(getattr(model, "term_names_", ())) or design
    error = _shape_error(model, columns) if hasattr(model, "coef_") else ""
    return error or disagreement(model, design) or _nested_inconsistency(model)


def _nested_inconsistency(model: Any) -> str:
    """Why one of the estimators that a model combines cannot predict."""
    for value in vars(model).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if listed(MODELS, part) and hasattr(part, "n_features_in_"):
                error = _inconsistency(part)
                if error:
                    return f"in {type(part).__name__}, {error}"
    return ""


#: What a model may be asked for.
_ANSWERS = ("predict", "predict_proba", "decision_function", "transform")


def _failure(model: Any) -> str:
    """Why a model cannot predict two rows; empty if it can, or refuses such rows in words."""
    if _has_no_columns(model):
        return ""
    rows = np.stack([np.zeros(model.n_features_in_), np.ones(model.n_features_in_)])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in _ANSWERS:
            try:
                if hasattr(model, name):
                    getattr(model, name)(rows)
            except (InputError, NotFittedError):
                continue
            except Exception as problem:
                return f"{name} fails: {problem}"
    return ""


def _has_no_columns(model: Any) -> bool:
    """Whether a model compares strings, sets, trees or graphs, which have no columns."""
    measures = (getattr(model, name, None) for name in ("kernel_", "metric_"))
    return any(getattr(measure, "of_vectors", True) is False for measure in measures)


def _shape_error(model: Any, columns: int) -> str:
    """Which of coefficients, intercepts and classes have wrong shapes; empty if none."""
    coef, intercept = model.coef_, np.asarray(model.intercept_)
    coef = coef.toarray() if sparse.issparse(coef) else coef
    if not isinstance(coef, np.ndarray) or coef.dtype.kind != "f" or coef.ndim not in (1, 2):
        return "the coefficients are not numbers"
    if coef.shape[-1] != columns:
        return f"there are {coef.shape[-1]} coefficients for {columns} columns"
    planes = len(np.atleast_2d(coef))
    if intercept.dtype.kind not in "fiu" or intercept.shape not in {(), (1,), (planes,)}:
        return "the intercepts do not match the coefficients"
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ""
    k = len(np.atleast_1d(classes))
    expected = (1, k * (k - 1) // 2, k)  # two classes have one hyperplane, or every pair has one
    if not isinstance(classes, np.ndarray) or planes not in expected or (planes == 1 and k > 2):
        return "the classes do not match the coefficients"
    return ""


def _required(cls: type[Any]) -> list[str]:
    """The attributes without which an estimator of this class cannot predict."""
    declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
    required = [name for name in ("coef_", "intercept_") if name in declared]
    labels = hasattr(cls, "decision_function") and not issubclass(cls, OutlierMixin)
    return required + (["classes_"] if labels else [])

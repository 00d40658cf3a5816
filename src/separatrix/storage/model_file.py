"""Model files (``.sx``): a fitted estimator, and the study that selected it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from separatrix.catalogue import declaration_of
from separatrix.messages import InputError
from separatrix.mixins import OutlierMixin
from separatrix.rows.schema import Encoding
from separatrix.storage.container import Container, Tensors, encode, write

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
    if declaration_of(model) is None:
        raise InputError(
            f"{type(model).__module__}.{type(model).__qualname__} is not a separatrix estimator.",
            remedy="Only estimators of this library, and classes that were given to "
            "separatrix.register, can be saved as .sx files.",
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
    absent = [name for name in _required_packages(type(model)) if not hasattr(model, name)]
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
            if declaration_of(part) is not None and hasattr(part, "n_features_in_"):
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


def _required_packages(cls: type[Any]) -> list[str]:
    """The attributes without which an estimator of this class cannot predict."""
    declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
    required = [name for name in ("coef_", "intercept_") if name in declared]
    labels = hasattr(cls, "decision_function") and not issubclass(cls, OutlierMixin)
    return required + (["classes_"] if labels else [])


# -------------------------------------------------------------------------------------------------
# What the arrays of a stored object must agree on: shapes, ranges of indices, finite numbers.
#
# A line of a schema names an array and its dimensions, one letter each. A letter stands for the
# same number throughout an object; ``*`` is any number, ``…`` any further dimensions. After the
# dimensions, ``finite`` refuses NaN and infinity, ``<k`` asks for integers from 0 to k − 1, and
# ``≤k`` for integers from 0 to k.


#: Schemas of data classes by name.
RECORDS = {
    "Standardizer": ("mean d finite", "scale d finite"),
    "Hyperplane": ("coef c d finite", "intercept c finite"),
    "LinearScores": ("coef k d finite", "center d finite", "offset k", "common d finite"),
    "DiagonalScores": ("means k d finite", "scale k d", "offset k"),
    "QuadraticScores": ("center d finite", "means k r finite", "maps k d r", "offset k"),
    "ProjectedScores": ("center d finite", "projection d r finite"),
    "KernelExpansion": ("centers m *", "weights m c finite", "intercept c finite"),
    "Box": ("lower d", "upper d"),
    "SpannedEllipsoid": ("center d finite", "basis d r finite", "factor r r finite"),
    "AffineFits": ("own n finite", "center d finite", "change n d finite", "shift n finite"),
    "ProcessFits": ("own n finite", "error n finite"),
    "KernelRidgeFits": ("own n finite", "change n n finite"),
    "SharedFits": (
        *("own n k finite", "whitening d d finite", "center d finite", "white n d finite"),
        *("means k d finite", "codes n <k", "counts k", "log_priors k k"),
    ),
    "QuadraticFits": (
        *("own n k finite", "whitenings k d d finite", "volumes k finite", "means k d finite"),
        *("white n d finite", "codes n <k", "counts k", "log_priors k k"),
    ),
    "DiagonalFits": (
        *("own n k finite", "means k d finite", "variances k d finite", "own_means n d finite"),
        *("own_variances n d finite", "codes n <k", "log_priors k k", "extreme e <n"),
        "extreme_variances e k d finite",
    ),
    "Posterior": (
        *("center d finite", "scale d finite", "directions d r finite", "variances r finite"),
    ),
    "TrendBasis": ("centers c finite", "scales c finite", "columns q <c"),
    "Learned": ("theta p finite", "gradient p", "curvature p p", "at_limit p"),
    "InducingState": (
        *("points m *", "gram m m finite", "inner m q finite", "squares q q finite"),
    ),
    "Calibration": ("scores n", "codes n"),
    "Examples": ("x n d finite", "codes n", "w n"),
    "IsotonicMap": ("low m", "high m", "value m finite"),
    "NaiveBayesDensity": ("mean k d", "variance k d", "probabilities k *"),
    "ClassMoments": ("weight k", "count k", "mean k d"),
    "ClassColumnMoments": ("weight k", "mean k d", "observed k d", "scatter k d"),
    "ColumnBasis": ("terms t", "knots m finite", "table s p f finite", "transform f c finite"),
    "AdditiveTerm": (
        *("coordinates c o finite", "penalties b o", "covariance o c c finite", "marks *"),
        *("freedom o finite", "statistics o finite", "ranks o finite", "p_values o finite"),
    ),
    "BinarySVM": ("rows n", "C n", "beta n", "slack n"),
    "SVMTrace": (
        *("starts s", "b0 s", "b1 s", "y n", "w n", "origin n"),
        *("when e", "row e <n", "state e", "free f <n", "fixed f", "slope f", "first * ≤f"),
    ),
}

#: Schema of fitted attributes, in all estimators; d is the number of columns, k that of classes.
ATTRIBUTES = (
    *("classes_ k", "class_prior_ k", "priors_ k", "means_ k d finite", "class_means_ k d finite"),
    *("theta_ k q finite", "var_ k q", "xbar_ d finite", "scalings_ d * finite"),
    "range_ * d finite",
    *("feature_count_ k d finite", "feature_log_prob_ k d", "class_log_prior_ k", "class_count_ k"),
    *("points_ n *", "sample_weight_ n", "codes_ n <k", "output_codes_ n k", "targets_ n * finite"),
    *("X_train_ n d finite", "y_train_ n … finite", "alpha_ n … finite", "row_weight_ n finite"),
    *("row_noise_ n finite", "target_mean_ t finite", "target_scale_ t finite"),
    *("X_offset_ d finite", "X_scale_ d finite"),
    *("X_fit_ n *", "weights_fit_ n", "norms_ c", "labels_fit_ n <c"),
    *("cluster_centers_ c d finite", "sizes_ c", "medoid_indices_ c", "exemplar_indices_ *"),
    *("exemplar_codes_ e <k", "exemplars_ e *"),
    *("exponents_ b d", "basis_coef_ b t finite", "basis_intercept_ t finite", "center_ d"),
    *("scale_ d", "weights_ m", "estimators_ m", "folds_ q", "category_codes_ q"),
    *("coordinate_means_ z finite", "penalized_coordinates_ a <z"),
    "posterior_covariance_ a a finite",
)
#: Data classes of an estimator whose letters are those of the estimator, by attribute.
SHARED = {"standardizer_": "d", "posterior_": "d", "scores_": "dk"}


def disagreement(model: Any, columns: int | None) -> str:
    """The first array that disagrees with the others or with ``columns``; empty if none does."""
    sizes: dict[str, int] = {} if columns is None else {"d": columns}
    if "coordinate_means_" in vars(model):  # of the coordinates of all terms, side by side
        sizes["z"] = sum(len(term.coordinates) for term in model.terms_)
    error = _check(model, ATTRIBUTES, sizes)
    if error:
        return error
    for name, value in sorted(vars(model).items()):
        schema = RECORDS.get(type(value).__name__)
        if schema and name in SHARED:
            known = {letter: sizes[letter] for letter in SHARED[name] if letter in sizes}
            error = _check(value, schema, known)
            if error:
                return f"{name}: {error}"
    for value in _parts(list(vars(model).values())):
        error = _check(value, RECORDS.get(type(value).__name__, ()), {})
        if error:
            return f"{type(value).__name__}: {error}"
    return ""


def _parts(values: Any) -> Iterator[Any]:
    """The data classes among some values, in the lists and tuples among them and in each other."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _parts(value)
        elif isinstance(value, dict):
            yield from _parts(list(value.values()))
        elif _is_record(value):
            if type(value).__name__ in RECORDS:
                yield value
            yield from _parts([getattr(value, field.name) for field in fields(value)])


def _check(found: Any, schema: tuple[str, ...], sizes: dict[str, int]) -> str:
    """The first array of an object that does not follow its schema; ``sizes`` are filled in."""
    for line in schema:
        name, *words = line.split()
        value = getattr(found, name, None) if name in _names(found) else None
        if value is None:
            continue
        letters = [word for word in words if len(word) == 1]
        error = _wrong_shape(value, letters, sizes)
        if not error and isinstance(value, np.ndarray):
            error = _range_error(value, words[len(letters) :], sizes)
        if error:
            return f"array {name!r} {error}"
    return ""


def _names(value: Any) -> Any:
    return type(value).__dataclass_fields__ if _is_record(value) else vars(value)


def _is_record(value: Any) -> bool:
    """Whether this is a data class, all of it in its fields; an estimator has more."""
    return is_dataclass(value) and not isinstance(value, BaseEstimator)


def _wrong_shape(value: Any, letters: list[str], sizes: dict[str, int]) -> str:
    if isinstance(value, list | tuple):
        shape: tuple[int, ...] = (len(value),)  # objects: strings, sets, estimators
        letters = letters[:1]
    elif isinstance(value, np.ndarray) or sparse.issparse(value):
        shape = value.shape
    else:
        return ""
    if letters[-1] == "…":
        letters = letters[:-1] + ["*"] * (len(shape) - len(letters) + 1)
    if len(shape) != len(letters):
        return f"has {len(shape)} dimensions, not {len(letters)}"
    for letter, size in zip(letters, shape, strict=True):
        expected = size if letter == "*" else sizes.setdefault(letter, size)
        if size != expected:
            return f"has shape {shape}, where the others have {expected} for {size}"
    return ""


def _range_error(value: np.ndarray[Any, Any], rules: list[str], sizes: dict[str, int]) -> str:
    for rule in rules:
        if rule == "finite":
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                return "has numbers that are not finite"
            continue
        limit = sizes.get(rule[1:])
        if limit is None or not value.size:
            continue
        largest = limit if rule[0] == "≤" else limit - 1
        if value.dtype.kind not in "iu" or value.min() < 0 or value.max() > largest:
            return f"has indices out of range: 0 to {largest} are meant"
    return ""

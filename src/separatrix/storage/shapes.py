"""What the arrays of a stored object must agree on: shapes, ranges of indices, finite numbers.

A line of a schema names an array and its dimensions, one letter each. A letter stands for the same
number throughout an object; ``*`` is any number, ``…`` any further dimensions. After the
dimensions, ``finite`` refuses NaN and infinity, ``<k`` asks for integers from 0 to k − 1, and
``≤k`` for integers from 0 to k.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

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
    *("exponents_ b d", "basis_coef_ b t finite", "basis_intercept_ t finite", "center_ d"),
    *("scale_ d", "weights_ m", "estimators_ m", "folds_ q", "category_codes_ q"),
)
#: Data classes of an estimator whose letters are those of the estimator, by attribute.
SHARED = {"standardizer_": "d", "posterior_": "d", "scores_": "dk"}


def disagreement(model: Any, columns: int | None) -> str:
    """The first array that disagrees with the others or with ``columns``; empty if none does."""
    sizes: dict[str, int] = {} if columns is None else {"d": columns}
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
    """The data classes among some values and in the lists and tuples among them."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _parts(value)
        elif isinstance(value, dict):
            yield from _parts(list(value.values()))
        elif type(value).__name__ in RECORDS:
            yield value


def _check(found: Any, schema: tuple[str, ...], sizes: dict[str, int]) -> str:
    """The first array of an object that does not follow its schema; ``sizes`` are filled in."""
    for line in schema:
        name, *words = line.split()
        value = getattr(found, name, None) if name in _names(found) else None
        if value is None:
            continue
        letters = [word for word in words if len(word) == 1]
        error = _shape_error(value, letters, sizes)
        if not error and isinstance(value, np.ndarray):
            error = _range_error(value, words[len(letters) :], sizes)
        if error:
            return f"array {name!r} {error}"
    return ""


def _names(found: Any) -> Any:
    fields = getattr(type(found), "__dataclass_fields__", None)
    return vars(found) if fields is None else fields


def _shape_error(value: Any, letters: list[str], sizes: dict[str, int]) -> str:
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

"""Encoding of values as JSON plus named tensors, and decoding.

Plain values stay in JSON; numeric arrays become tensors that JSON refers to; our own data classes
are written as the arguments of their constructor. Anything else is refused.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from separatrix.arrays import NDArray
from separatrix.catalogue import declaration_of, declared_class
from separatrix.messages import InputError
from separatrix.storage.registry import ENUMS, KERNELS, RECORDS, class_in, is_listed

Tensors = dict[str, NDArray[Any]]

#: Array types of the tensor format, with its names of them.
TENSOR_TYPES = {
    **{"float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL"},
    **{f"int{b}": f"I{b}" for b in (8, 16, 32, 64)},
    **{f"uint{b}": f"U{b}" for b in (8, 16, 32, 64)},
}
_TAG = "is"


class DamagedFileError(Exception):
    """The content of a file is not valid."""


# -- writing -----------------------------------------------------------------------------------


def encode(value: Any, tensors: Tensors, path: str) -> Any:
    """``value`` in JSON; its arrays go to ``tensors`` under names that start with ``path``."""
    if value is None or type(value) in (bool, str, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
    if type(value) is list:
        return [encode(v, tensors, f"{path}.{i}") for i, v in enumerate(value)]
    if type(value) is tuple:
        return _tagged_types("tuple", items=encode(list(value), tensors, path))
    if type(value) is dict:
        pairs = [
            [encode(k, tensors, f"{path}.key{i}"), encode(v, tensors, f"{path}.{i}")]
            for i, (k, v) in enumerate(value.items())
        ]
        return _tagged_types("dict", items=pairs)
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors, path)
    if isinstance(value, np.generic):
        return _tagged_types(
            "scalar", dtype=value.dtype.name, value=encode(value.item(), tensors, path)
        )
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        parts = {k: encode(getattr(rows, k), tensors, f"{path}.{k}") for k in _CSR}
        return _tagged_types("csr", shape=list(rows.shape), **parts)
    return _encode_own(value, tensors, path)


_CSR = ("data", "indices", "indptr")
#: Tables of data classes by the tag under which they are written.
_DATA_CLASSES = {"record": RECORDS, "kernel": KERNELS}


def _encode_own(value: Any, tensors: Tensors, path: str) -> Any:
    """Encode an object of our own: enumeration member, data class or estimator."""
    name = type(value).__name__
    if is_listed(ENUMS, value):
        return _tagged_types("enum", of=name, value=value.value)
    for tag, table in _DATA_CLASSES.items():
        if is_listed(table, value):
            fields = {
                f: encode(getattr(value, f), tensors, f"{path}.{f}")
                for f in _fields(type(value).__init__)
            }
            return _tagged_types(tag, of=name, fields=fields)
    if declaration_of(value) is not None:
        state = {k: v for k, v in sorted(value.__getstate__().items()) if _is_fitted_attribute(k)}
        return _tagged_types(
            "model",
            of=name,
            params=encode(value.get_params(deep=False), tensors, f"{path}.params"),
            state={k: encode(v, tensors, f"{path}.{k}") for k, v in state.items()},
        )
    raise InputError(
        f"cannot be stored: {path} is of type {type(value).__module__}.{type(value).__qualname__}.",
        remedy="Only plain values, arrays and estimators of this library can be saved.",
    )


def _encode_array(value: NDArray[Any], tensors: Tensors, path: str) -> Any:
    if value.dtype.name in TENSOR_TYPES:
        tensors[path] = value
        return _tagged_types("array", tensor=path)
    items = value.ravel().tolist()
    if value.dtype.kind == "U" or (items and all(type(item) is str for item in items)):
        levels, codes = np.unique(value.astype(str), return_inverse=True)
        tensors[path] = codes.reshape(value.shape).astype(np.int32)
        text = value.dtype.kind == "U"
        return _tagged_types("labels", tensor=path, levels=levels.tolist(), text=text)
    if value.dtype == object:
        return _tagged_types("objects", shape=list(value.shape), items=encode(items, tensors, path))
    raise InputError(f"cannot be stored: {path} is an array of type {value.dtype}.")


def _is_fitted_attribute(name: str) -> bool:
    """By scikit-learn's convention; a leading underscore (training rows) is not stored."""
    return name.endswith("_") and not name.startswith("_")


def fields_of(cls: type[Any]) -> tuple[str, ...]:
    """The fields of a data class, as its constructor takes them."""
    return _fields(cls.__init__)


@cache
def _fields(init: Callable[..., None]) -> tuple[str, ...]:
    """The parameter names of a constructor."""
    return tuple(inspect.signature(init).parameters)[1:]


@cache
def _required_parameters(init: Callable[..., None]) -> tuple[str, ...]:
    """The parameters of a constructor that have no default."""
    parameters = inspect.signature(init).parameters
    empty = inspect.Parameter.empty
    return tuple(name for name in _fields(init) if parameters[name].default is empty)


def _tagged_types(tag: str, **content: Any) -> dict[str, Any]:
    return {_TAG: tag, **content}


# -- reading -----------------------------------------------------------------------------------


def decode(value: Any, tensors: Tensors) -> Any:
    """The inverse of :func:`encode`; raises :class:`DamagedFileError` for any other content."""
    if isinstance(value, list):
        return [decode(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    reader = _READERS.get(tag) if isinstance(tag, str) else None
    if reader is None:
        raise DamagedFileError(f"unknown content {str(tag)[:40]!r}")
    try:
        return reader(value, tensors)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise DamagedFileError(f"{value[_TAG]}: {problem}") from problem


def _read_labels(value: dict[str, Any], tensors: Tensors) -> NDArray[Any]:
    levels = np.array([str(level) for level in _list(value["levels"])], dtype=str)
    codes = tensors[value["tensor"]]
    if codes.dtype.kind != "i" or (codes < 0).any() or (codes >= len(levels)).any():
        raise DamagedFileError("labels do not match their levels")
    labels = levels[codes]
    return labels if value["text"] else labels.astype(object)


def _read_objects(value: dict[str, Any], tensors: Tensors) -> NDArray[Any]:
    items = decode(_list(value["items"]), tensors)
    flat = np.empty(len(items), dtype=object)
    flat[:] = items
    return flat.reshape(value["shape"])


def _read_scalar(value: dict[str, Any], tensors: Tensors) -> Any:
    if value["dtype"] not in TENSOR_TYPES and not str(value["dtype"]).startswith("str"):
        raise DamagedFileError(f"unknown number type {value['dtype']!r}")
    item = decode(value["value"], tensors)
    return np.str_(item) if isinstance(item, str) else np.dtype(value["dtype"]).type(item)


def _read_csr(value: dict[str, Any], tensors: Tensors) -> Any:
    parts = tuple(decode(value[k], tensors) for k in _CSR)
    rows = sparse.csr_array(parts, shape=tuple(value["shape"]))
    rows.check_format(full_check=True)
    return rows


def _read_record(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _known(class_in(_DATA_CLASSES[value[_TAG]], value["of"]), value)
    fields = {str(k): decode(v, tensors) for k, v in value["fields"].items()}
    unknown = sorted(set(fields) - set(_fields(cls.__init__)))
    if unknown:
        raise DamagedFileError(f"{value['of']} has no field {unknown[0]!r}")
    absent = [name for name in _required_parameters(cls.__init__) if name not in fields]
    if absent:
        raise DamagedFileError(f"{value['of']} lacks its field {absent[0]!r}")
    _check(fields, _hints_of(cls.__init__), value["of"])
    return cls(**fields)


def _read_model(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _known(declared_class(value["of"]), value)
    params = decode(value["params"], tensors)
    unknown = sorted(set(params) - set(_fields(cls.__init__)))
    if unknown:  # an absent parameter has its default
        raise DamagedFileError(f"{value['of']} has no parameter {str(unknown[0])[:60]!r}")
    model = cls(**params)
    for name, content in value["state"].items():
        if not _is_fitted_attribute(name) or isinstance(getattr(cls, name, None), property):
            raise DamagedFileError(f"{value['of']} has no attribute {name!r} to restore")
        setattr(model, name, decode(content, tensors))
    fitted = {k: v for k, v in vars(model).items() if k not in params}  # which ``fit`` checks
    _check(fitted, _hints_of(cls), value["of"])
    return model


def _check(parameters: dict[str, Any], hints: dict[str, Any], name: str) -> None:
    """Refuse values whose type is not the annotated one."""
    for key, hint in hints.items():
        if key in parameters and not _fits(parameters[key], hint):
            raise DamagedFileError(f"{name}: {key!r} is of another type")


#: Types accepted for an annotated number: those of NumPy too, but not booleans.
_NUMBERS: dict[type, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


#: The annotations of a constructor's parameters, or of a class's attributes.
_hints_of: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` agrees with the annotation ``hint``, down to the items it holds."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _array_fits(value, inner)
    if origin is tuple:
        return isinstance(value, tuple) and _each_fits(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items()
        )
    if origin is list:
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and (hint is bool or not isinstance(value, bool))
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _each_fits(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (...,):
        return all(_fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(_fits, value, inner))


def _array_fits(array: np.ndarray[Any, Any], inner: tuple[Any, ...]) -> bool:
    """Whether an array has the annotated type of number; integers are accepted as floats."""
    expected = get_args(inner[1])[0] if len(inner) > 1 and get_args(inner[1]) else Any
    if expected is np.float64:
        return array.dtype.kind in "fiu"
    return expected is Any or issubclass(array.dtype.type, expected)


def _known(cls: type[Any] | None, value: dict[str, Any]) -> type[Any]:
    if cls is None:
        raise DamagedFileError(
            f"{str(value['of'])[:60]!r} is not one of the classes that a file may hold"
        )
    return cls


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DamagedFileError("a list is missing")
    return value


_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_READERS: dict[str, Callable[[dict[str, Any], Tensors], Any]] = {
    "float": lambda value, _: _NOT_FINITE[value["value"]],
    "tuple": lambda value, tensors: tuple(decode(_list(value["items"]), tensors)),
    "dict": lambda value, tensors: {
        decode(k, tensors): decode(v, tensors) for k, v in _list(value["items"])
    },
    "array": lambda value, tensors: tensors[value["tensor"]],
    "labels": _read_labels,
    "objects": _read_objects,
    "scalar": _read_scalar,
    "csr": _read_csr,
    "enum": lambda value, _: _known(class_in(ENUMS, value["of"]), value)(value["value"]),
    "record": _read_record,
    "kernel": _read_record,
    "model": _read_model,
}

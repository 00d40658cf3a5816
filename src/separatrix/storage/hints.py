"""Type checks of values from files against the annotations of their fields."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

#: Types accepted for an annotated number: those of NumPy too, but not booleans.
_NUMBERS: dict[type, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


_seen: dict[Any, dict[str, Any]] = {}


def hints_of(of: Any) -> dict[str, Any]:
    """The annotations of a constructor's parameters, or of a class's attributes."""
    if of not in _seen:
        _seen[of] = get_type_hints(of)
    return _seen[of]


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` agrees with the annotation ``hint``, down to the items it holds."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _array_fits(value, inner)
    if origin is tuple:
        return isinstance(value, tuple) and _each_fits(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(
            fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
        )
    if origin is list:
        return isinstance(value, list) and all(fits(item, inner[0]) for item in value)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and (hint is bool or not isinstance(value, bool))
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _each_fits(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (...,):
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _array_fits(array: np.ndarray[Any, Any], inner: tuple[Any, ...]) -> bool:
    """Whether an array has the annotated type of number; integers are accepted as floats."""
    expected = get_args(inner[1])[0] if len(inner) > 1 and get_args(inner[1]) else Any
    if expected is np.float64:
        return array.dtype.kind in "fiu"
    return expected is Any or issubclass(array.dtype.type, expected)

"""Values of a model file: plain values, tensors and records, whatever classes they belong to."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from separatrix.messages import InputError
from separatrix.verification.stored.container import File, Tensor


class Record:
    """A stored data class or estimator: its name ``of``, parameters, and fields by name."""

    def __init__(self, of: str, params: dict[str, Any], fields: dict[str, Any]) -> None:
        self.of, self.params, self.fields = of, params, fields

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def get(self, name: str, default: Any = None) -> Any:
        """A field; the default where it is absent."""
        return self.fields.get(name, default)

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            raise InputError(
                f"the model file has no {name!r} of {self.of}.",
                remedy="Write it again with separatrix.",
            )
        return self.fields[name]


def model_in(file: File) -> Record:
    """The estimator of a model file."""
    body = {
        "is": "model",
        "of": file.json("class"),
        "params": file.json("parameters"),
        "state": file.json("attributes"),
    }
    found: Record = _checked(body, file)
    return found


def study_in(file: File) -> Record | None:
    """The study of a model file; None if there is none."""
    found = file.json("study")
    return None if found is None else _checked(found, file)


def _checked(value: Any, file: File) -> Any:
    try:
        return _value(value, file)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise InputError(
            f"the content of the model file is damaged ({str(problem)[:100]}).",
            remedy="Write it again with separatrix, or copy it again from its source.",
        ) from problem


def _value(value: Any, file: File) -> Any:
    if isinstance(value, list):
        return [_value(v, file) for v in value]
    if not isinstance(value, dict):
        return value
    tag = value["is"]
    if tag == "tuple":
        return [_value(v, file) for v in value["items"]]
    if tag == "dict":
        return {_key(_value(k, file)): _value(v, file) for k, v in value["items"]}
    if tag == "array":
        return file.tensors[value["tensor"]]
    if tag == "labels":
        codes = file.tensors[value["tensor"]]
        return Tensor([value["levels"][c] for c in codes.values], codes.shape, "text")
    if tag == "objects":
        return Tensor(_value(value["items"], file), tuple(value["shape"]), "object")
    if tag == "float":
        return {"nan": nan, "inf": inf, "-inf": -inf}[value["value"]]
    if tag in ("scalar", "enum"):
        return _value(value["value"], file)
    if tag == "csr":
        return Record("csr", {}, {k: _value(v, file) for k, v in value.items() if k != "is"})
    if tag in ("record", "kernel"):
        return Record(value["of"], {}, {k: _value(v, file) for k, v in value["fields"].items()})
    params = _value(value["params"], file)
    return Record(value["of"], params, {k: _value(v, file) for k, v in value["state"].items()})


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key

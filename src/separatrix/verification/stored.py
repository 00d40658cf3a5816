"""Values of a model file: plain values, tensors and records, whatever classes they belong to."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from array import array
from math import inf, nan, prod
from pathlib import Path
from typing import Any, NamedTuple

from separatrix.messages import InputError


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
    record: Record = _check_value(body, file)
    return record


def study_in(file: File) -> Record | None:
    """The study of a model file; None if there is none."""
    document = file.json("study")
    return None if document is None else _check_value(document, file)


def _check_value(value: Any, file: File) -> Any:
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


# -------------------------------------------------------------------------------------------------
# The container of a model file: safetensors read with ``struct`` and ``json`` alone.
#
# 8 bytes length, JSON header (metadata, and type, shape and offsets of every tensor), then bytes.


#: Type code of ``array`` and NumPy's name, by the name in the file.
_CODES = {
    **{"F64": ("d", "float64"), "F32": ("f", "float32"), "BOOL": ("B", "bool")},
    **{"I8": ("b", "int8"), "I16": ("h", "int16"), "I32": ("i", "int32"), "I64": ("q", "int64")},
    **{
        "U8": ("B", "uint8"),
        "U16": ("H", "uint16"),
        "U32": ("I", "uint32"),
        "U64": ("Q", "uint64"),
    },
}


class Tensor(NamedTuple):
    """A tensor: its values in order of rows, its shape, and the name of their type."""

    values: list[Any]
    shape: tuple[int, ...]
    dtype: str

    @property
    def rows(self) -> list[list[Any]]:
        """The values row by row; a vector is one column."""
        width = prod(self.shape[1:])
        return [self.values[i * width : (i + 1) * width] for i in range(self.shape[0])]


class File(NamedTuple):
    """The metadata and tensors of a file, and whether its checksum is right."""

    metadata: dict[str, str]
    tensors: dict[str, Tensor]
    intact: bool

    def json(self, key: str) -> Any:
        """The JSON under a key; None if there is none."""
        return json.loads(self.metadata[key]) if key in self.metadata else None


def read(path: str | os.PathLike[str]) -> File:
    """Read a file; one that is no such container is refused."""
    try:
        content = Path(path).read_bytes()
    except IsADirectoryError:
        raise InputError("is a directory.", file=str(path), remedy="Name the file in it.") from None
    except FileNotFoundError:
        raise InputError("does not exist.", file=str(path), remedy="Check the path.") from None
    try:
        return _parse(content)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError) as error:
        raise InputError(
            f"is not a readable separatrix model file ({str(error)[:100]}).",
            file=str(path),
            remedy="Write it again with separatrix, or copy it again from its source.",
        ) from error


def _parse(content: bytes) -> File:
    (length,) = struct.unpack_from("<Q", content)
    if length > min(1 << 28, len(content) - 8):  # a quarter of a gigabyte of JSON is none of ours
        raise ValueError("its header is longer than the file")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    if metadata.get("format") != "separatrix model":
        raise ValueError("it is not a separatrix model file")
    total = hashlib.blake2b(digest_size=16)
    for key in sorted(metadata):
        if key != "digest":
            total.update(f"{key}\0{metadata[key]}\0".encode())
    tensors = {}
    for name in sorted(header):
        code, dtype = _CODES[header[name]["dtype"]]
        shape = tuple(int(size) for size in header[name]["shape"])
        start, stop = header[name]["data_offsets"]
        part = content[8 + length + start : 8 + length + stop]
        values = array(code)
        if start < 0 or len(part) != stop - start or len(part) != prod(shape) * values.itemsize:
            raise ValueError(f"tensor {name[:60]!r} is truncated")
        total.update(f"{name}\0{dtype}\0{shape}\0".encode())
        total.update(part)
        values.frombytes(part)
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = Tensor(values.tolist(), shape, dtype)
    return File(metadata, tensors, metadata.get("digest") == total.hexdigest())

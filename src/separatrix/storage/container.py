"""Container of model and moments files: safetensors with JSON metadata under fixed keys.

    8 bytes  length of the header, little endian
    header   JSON: the metadata and, for each tensor, its type, shape and offsets
    bytes    the tensors one after the other

Written here with sorted keys, so that equal content gives equal bytes; read by the safetensors
library, which checks every offset and length before it allocates an array.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.storage.codec import TENSOR_TYPES, DamagedFileError, Tensors, decode, fields_of
from separatrix.storage.files import atomic_file
from separatrix.storage.registry import RECORDS, class_in

#: Version of the format.
FORMAT_VERSION = 1

_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
)


def write(
    path: str | os.PathLike[str], kind: str, content: dict[str, Any], arrays: Tensors
) -> None:
    """Write ``content`` (JSON values by key) and the tensors under the format name ``kind``."""
    tensors = {name: _little_endian(arrays[name]) for name in sorted(arrays)}
    content = {"versions": {"separatrix": ours()}, **content}
    metadata = {key: _CANONICAL.encode(value) for key, value in content.items()}
    metadata |= {"format": kind, "format_version": str(FORMAT_VERSION)}
    metadata["digest"] = digest(metadata, tensors)
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, array in tensors.items():
        stop = start + array.nbytes
        layout = {"dtype": TENSOR_TYPES[array.dtype.name], "shape": list(array.shape)}
        header[name] = {**layout, "data_offsets": [start, stop]}
        start = stop
    text = _CANONICAL.encode(header).encode()
    text += b" " * (-len(text) % 8)  # tensors start on a multiple of eight bytes
    with atomic_file(path) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in tensors.values():
            file.write(array.tobytes())


def digest(metadata: dict[str, str], tensors: Tensors) -> str:
    """Checksum of all content of a file, to detect any changed bit."""
    total = hashlib.blake2b(digest_size=16)
    for key in sorted(metadata):
        if key != "digest":
            total.update(f"{key}\0{metadata[key]}\0".encode())
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"{name}\0{array.dtype.name}\0{array.shape}\0".encode())
        total.update(_little_endian(array).tobytes())
    return total.hexdigest()


def _little_endian(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = np.ascontiguousarray(array).reshape(array.shape)
    big = array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big")
    return array.astype(array.dtype.newbyteorder("<")) if big else array


class Container:
    """A file opened for reading: its kind and version checked, its tensors in memory."""

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        from safetensors import SafetensorError, safe_open

        self.path = Path(path)
        _refuse_unreadable(self.path)
        try:
            with safe_open(str(self.path), framework="np") as file:
                self.metadata: dict[str, str] = file.metadata() or {}
                self.tensors: Tensors = {k: file.get_tensor(k) for k in list(file.keys())}
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, MemoryError) as problem:
            raise InputError(
                f"is not a readable {kind} file: it is truncated, damaged, or something else "
                f"({str(problem)[:120]}).",
                file=str(path),
                remedy=_REMEDY,
            ) from problem
        self._check_format(kind)
        if self.metadata.get("digest") != digest(self.metadata, self.tensors):
            raise self._invalid("its content does not match its checksum")
        #: Whether another version of the library wrote the file.
        self.foreign = self._writer() != ours()

    def _check_format(self, kind: str) -> None:
        found = self.metadata.get("format")
        if found != kind:
            what = "no separatrix file" if found is None else f"a {found[:60]} file"
            raise InputError(f"is {what}; a {kind} file is needed.", file=str(self.path))
        version = self.metadata.get("format_version", "")
        if not version.isdecimal() or len(version) > 9:
            raise InputError("has no valid format version.", file=str(self.path), remedy=_REMEDY)
        if int(version) != FORMAT_VERSION:
            raise self._of_another_version(f"only format version {FORMAT_VERSION}")

    def _writer(self) -> str:
        """The version of separatrix that wrote the file; empty if it does not say."""
        try:
            versions: Any = json.loads(self.metadata.get("versions", "{}"))
        except (ValueError, RecursionError):
            return ""
        text = versions.get("separatrix") if isinstance(versions, dict) else None
        return text if isinstance(text, str) and re.fullmatch(r"[\w.+!-]{1,40}", text) else ""

    def __contains__(self, key: str) -> bool:
        return key in self.metadata

    def json(self, key: str) -> Any:
        """The JSON under ``key``, not decoded further."""
        if key not in self.metadata:
            raise self.damaged(f"{key!r} is missing")
        try:
            return json.loads(self.metadata[key])
        except (ValueError, RecursionError) as problem:
            raise self.damaged(f"{key!r} is not JSON") from problem

    def value(self, key: str) -> Any:
        """The value under ``key``, rebuilt."""
        return self.rebuild(self.json(key))

    def rebuild(self, value: Any) -> Any:
        """Decode a value from its JSON form; any error becomes a refusal of the file."""
        try:
            known = without_new_descriptions(value) if self.foreign else value
            return decode(known, self.tensors)
        except (DamagedFileError, InputError) as problem:
            raise self.damaged(str(problem)) from problem
        except RecursionError as problem:
            raise self.damaged("it is nested too deeply") from problem
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as problem:
            raise self.damaged(f"a value that does not fit: {problem}") from problem

    def damaged(self, reason: str) -> InputError:
        """The refusal of a file whose content is not valid, or not yet."""
        if not is_newer(self._writer()):
            return self._invalid(reason)
        return self._of_another_version(f"no such content ({reason[:200]})")

    def _of_another_version(self, reads: str) -> InputError:
        """The refusal of a file that another version of separatrix can read."""
        writer, version = self._writer(), self.metadata["format_version"]
        return InputError(
            f"was written by separatrix{f' {writer}' if writer else ''}, format version "
            f"{version}; this separatrix {ours()} reads {reads}.",
            file=str(self.path),
            remedy="Update separatrix, or fit and save it again with this one.",
        )

    def _invalid(self, reason: str) -> InputError:
        return InputError(
            f"the content is damaged or was not written by separatrix ({reason[:200]}).",
            file=str(self.path),
            remedy=_REMEDY,
        )


_REMEDY = "Write it again with separatrix, or copy it again from its source."


def _refuse_unreadable(path: Path) -> None:
    if path.is_dir():
        raise InputError("is a directory.", file=str(path), remedy="Name the file in it.")
    if not path.exists():
        raise InputError("does not exist.", file=str(path), remedy="Check the path.")
    if not path.is_file():
        raise InputError(
            "is not a file on a disk.", file=str(path), remedy="Save it as a file and name that."
        )


# -------------------------------------------------------------------------------------------------
# Versions of files and of the library that wrote them.
#
# ``format_version`` is a whole number that changes only where an older reader could answer wrongly.
# New keys and new fields with defaults do not change it.


def ours() -> str:
    """The version of separatrix that is running."""
    return installed("separatrix")


def is_newer(writer: str) -> bool:
    """Whether a version of separatrix comes after the one that is running."""
    return _numbers(writer) > _numbers(ours())


def _numbers(version: str) -> tuple[int, ...]:
    """Leading numbers of a version: 1.10.2 → (1, 10, 2)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part[:9]) for part in match[0].split(".")) if match else ()


#: Data classes that describe and do not predict: what a newer version added to them is left out.
#: Certificates are not among them: one without something that it promises would say too much.
_DESCRIPTIVE = ("separatrix.study.", "separatrix.rows.profile")


def without_new_descriptions(value: Any) -> Any:
    """JSON of a file without unknown fields of records that only describe.

    Anything else that is unknown stays and is refused when it is decoded.
    """
    if isinstance(value, list):
        return [without_new_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: without_new_descriptions(item) for key, item in value.items()}
    name, fields = value.get("of"), value.get("fields")
    if not isinstance(name, str) or not isinstance(fields, dict):
        return value
    if RECORDS.get(name, "").startswith(_DESCRIPTIVE):
        cls: Any = class_in(RECORDS, name)
        known = fields_of(cls)
        value["fields"] = {k: v for k, v in fields.items() if k in known}
    return value

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
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.storage.codec import TENSOR_TYPES, DamagedFileError, Tensors, decode
from separatrix.storage.files import atomic_file
from separatrix.storage.renames import current
from separatrix.storage.versions import (
    FORMAT_VERSION,
    WITHOUT_DIGEST,
    is_newer,
    migrated,
    ours,
    writer_of,
    written_by,
)

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
        #: The version of the format, and that of the library if it is not ours.
        self.version = self._check_format(kind)
        found = self.metadata.get("digest")
        known = found is not None or self.version > WITHOUT_DIGEST
        if known and found != digest(self.metadata, self.tensors):
            raise self._invalid("its content does not match its checksum")
        self.metadata = migrated(self.metadata, self.version)
        self.foreign = self.version != FORMAT_VERSION or writer_of(self.metadata) != ours()

    def _check_format(self, kind: str) -> int:
        found = self.metadata.get("format")
        if found != kind:
            what = "no separatrix file" if found is None else f"a {found[:60]} file"
            raise InputError(f"is {what}; a {kind} file is needed.", file=str(self.path))
        version = self.metadata.get("format_version", "")
        if not version.isdecimal() or len(version) > 9:
            raise InputError("has no valid format version.", file=str(self.path), remedy=_REMEDY)
        if not 1 <= int(version) <= FORMAT_VERSION:
            raise InputError(
                f"was written by {written_by(self.metadata, int(version))}; this separatrix "
                f"{ours()} reads format versions 1 to {FORMAT_VERSION}.",
                file=str(self.path),
                remedy="Update separatrix to read it.",
            )
        return int(version)

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
            return decode(current(value, foreign=self.foreign), self.tensors)
        except (DamagedFileError, InputError) as problem:
            raise self.damaged(str(problem)) from problem
        except RecursionError as problem:
            raise self.damaged("it is nested too deeply") from problem
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as problem:
            raise self.damaged(f"a value that does not fit: {problem}") from problem

    def damaged(self, reason: str) -> InputError:
        """The refusal of a file whose content is not valid, or not any more, or not yet."""
        newer = is_newer(writer_of(self.metadata))
        if self.version == FORMAT_VERSION and not newer:
            return self._invalid(reason)
        return InputError(
            f"was written by {written_by(self.metadata, self.version)}, and this separatrix "
            f"{ours()} cannot read that ({reason[:200]}).",
            file=str(self.path),
            remedy="Update separatrix to read it." if newer else "Fit and save it again.",
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

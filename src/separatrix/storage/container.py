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
from collections.abc import Callable, Mapping
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.storage.codec import TENSOR_TYPES, DamagedFileError, Tensors, decode, fields_of
from separatrix.storage.files import atomic_file
from separatrix.storage.registry import RECORDS, class_in

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


# -------------------------------------------------------------------------------------------------
# Versions of files: which wrote one, how an older one becomes a current one, and refusals.
#
# ``format_version`` is a whole number that changes only where an older reader could answer wrongly.
# New keys and new fields with defaults do not change it.


#: Version of the files that are written.
FORMAT_VERSION = 3
#: Files that were written before checksums.
WITHOUT_DIGEST = 1

Metadata = dict[str, str]


def _one_study(metadata: Metadata) -> Metadata:
    """Version 1 stored a study among several "stories"."""
    return {("study" if key == "story study" else key): text for key, text in metadata.items()}


def _unchanged(metadata: Metadata) -> Metadata:
    """Version 3 added the writer to files of moments, and rules for what may change."""
    return metadata


#: What makes metadata of the next version from that of each older one.
MIGRATIONS: dict[int, Callable[[Metadata], Metadata]] = {1: _one_study, 2: _unchanged}


def migrated(metadata: Metadata, version: int) -> Metadata:
    """The metadata as the current version has it."""
    for older in range(version, FORMAT_VERSION):
        metadata = MIGRATIONS[older](metadata)
    return metadata


def writer_of(metadata: Metadata) -> str:
    """The version of separatrix that wrote a file; empty if it does not say."""
    try:
        found: Any = json.loads(metadata.get("versions", "{}"))
    except (ValueError, RecursionError):
        return ""
    text = found.get("separatrix") if isinstance(found, dict) else None
    return text if isinstance(text, str) and re.fullmatch(r"[\w.+!-]{1,40}", text) else ""


def ours() -> str:
    """The version of separatrix that is running."""
    return installed("separatrix")


def is_newer(writer: str) -> bool:
    """Whether a version of separatrix comes after the one that is running."""
    return _numbers(writer) > _numbers(ours())


def _numbers(version: str) -> tuple[int, ...]:
    """Leading numbers of a version: 1.10.2 → (1, 10, 2)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part[:9]) for part in found[0].split(".")) if found else ()


def written_by(metadata: Metadata, version: int) -> str:
    """Who wrote a file: ``separatrix 0.2.0, format version 4``."""
    writer = writer_of(metadata)
    return f"separatrix{f' {writer}' if writer else ''}, format version {version}"


# -------------------------------------------------------------------------------------------------
# Names that files of earlier versions have for what is called otherwise today.
#
# A class, field, parameter or attribute that is renamed enters this table in the same change, and
# files with the old name are read for good. What was removed because nothing reads it is dropped; a
# removal that changes answers has no line here, and such files are refused in one sentence.


#: Classes: old name → name today.
CLASSES: dict[str, str] = {}
#: Fields of data classes: class → old name → name today.
FIELDS: dict[str, dict[str, str]] = {
    "LinearScores": {"centre": "center"},
    "QuadraticScores": {"centre": "center"},
    "ProjectedScores": {"centre": "center"},
    "KernelExpansion": {"trained": "n_train"},
    "Separation": {"low": "smallest_margin", "high": "largest_margin"},
    "Entry": {"beside": "secondary"},
}
#: Parameters of estimators: class → old name → name today.
PARAMETERS: dict[str, dict[str, str]] = {"Perceptron": {"learning_rate": "eta0"}}
#: Fitted attributes of estimators: class → old name → name today.
ATTRIBUTES: dict[str, dict[str, str]] = {}
#: Attributes that estimators had no need of before, with the JSON of the value that says the same.
ADDED: dict[str, dict[str, Any]] = {
    "KMeans": {"standardizer_": None},
    "KNeighborsClassifier": {"outputs_2d_": False},
    "KNeighborsRegressor": {"outputs_2d_": False},
}
#: Fields, parameters and attributes that nothing reads any more: class → names.
DROPPED: dict[str, tuple[str, ...]] = {}
#: Data classes that describe and do not predict: what a newer version added to them is left out.
#: Certificates are not among them: one without something that it promises would say too much.
_DESCRIPTIVE = ("separatrix.study.", "separatrix.rows.profile")


def current(value: Any, *, foreign: bool) -> Any:
    """JSON of a file in the names of today.

    In a ``foreign`` file, one of another version, unknown fields of records that only describe are
    dropped; anything else that is unknown stays and is refused when it is decoded.
    """
    if isinstance(value, list):
        return [current(item, foreign=foreign) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: current(item, foreign=foreign) for key, item in value.items()}
    name = value.get("of")
    if not isinstance(name, str):
        return value
    name = value["of"] = CLASSES.get(name, name)
    if isinstance(value.get("fields"), dict):
        fields = _renamed(value["fields"], FIELDS.get(name, {}), name)
        value["fields"] = _known_fields(fields, name) if foreign else fields
    if isinstance(value.get("state"), dict):
        state = _renamed(value["state"], ATTRIBUTES.get(name, {}), name)
        value["state"] = {**ADDED.get(name, {}), **state} if foreign else state
    if isinstance(value.get("params"), dict):
        value["params"] = _parameters(value["params"], name)
    return value


def _renamed(found: dict[str, Any], names: Mapping[str, str], cls: str) -> dict[str, Any]:
    """Old names replaced, unless the new one is there as well; dropped ones left out."""
    dropped = DROPPED.get(cls, ())
    return {
        names[k] if k in names and names[k] not in found else k: v
        for k, v in found.items()
        if k not in dropped
    }


def _parameters(params: dict[str, Any], cls: str) -> dict[str, Any]:
    """The same for parameters, which are written as a list of pairs."""
    items = params.get("items")
    if params.get("is") != "dict" or not isinstance(items, list):
        return params
    pairs = {p[0]: p[1] for p in items if isinstance(p, list) and len(p) == 2 and _text(p[0])}
    if len(pairs) != len(items):
        return params
    return {
        **params,
        "items": list(map(list, _renamed(pairs, PARAMETERS.get(cls, {}), cls).items())),
    }


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _known_fields(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Without fields that a record which only describes does not have today."""
    home = RECORDS.get(name, "")
    if not home.startswith(_DESCRIPTIVE):
        return fields
    cls: Any = class_in(RECORDS, name)
    known = fields_of(cls)
    return {k: v for k, v in fields.items() if k in known}

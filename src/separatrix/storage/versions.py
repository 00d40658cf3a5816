"""Versions of files: which wrote one, how an older one becomes a current one, and refusals.

``format_version`` is a whole number that changes only where an older reader could answer wrongly.
New keys and new fields with defaults do not change it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

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

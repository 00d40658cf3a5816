"""Temporary names of files and folders, and what killed runs left under them.

While something has a temporary name, whoever writes it holds its lock. The system lets go of a lock
when its process ends, however it ends: leftovers are known by that.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what is left of a killed run stays
    fcntl = None  # type: ignore[assignment]

#: Seconds in which something new certainly gets its lock.
_NEW = 1.0


def temporary(place: Path) -> Path:
    """A temporary name on the disk of ``place``: in a directory, which can be a disk of its own."""
    return _new_name(*_list_partials(place)[-1])


def temporary_beside(place: Path) -> Path:
    """A temporary name beside ``place``, for a directory that takes its place as a whole."""
    return _new_name(*_list_partials(place)[0])


def _new_name(folder: Path, start: str) -> Path:
    return folder / f"{start}{secrets.token_hex(4)}.partial"


def _list_partials(place: Path) -> list[tuple[Path, str]]:
    """Where temporary names of a place are, and how they begin."""
    beside = (place.parent, f".{place.name[:40]}.")
    return [beside, (place, ".")] if place.is_dir() else [beside]


@contextmanager
def lock(partial: Path) -> Iterator[None]:
    """While entered, what has this temporary name is not a leftover."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        with suppress(OSError):  # a disk without locks: there, nothing is ever taken for a leftover
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(place: Path) -> None:
    """Remove what killed runs left under temporary names of a place, if anything."""
    if fcntl is None:
        return
    for folder, start in _list_partials(place):
        ours = re.compile(re.escape(start) + r"[0-9a-f]{8}\.partial")
        with suppress(OSError):  # a folder that cannot be listed, or is not there yet
            for entry in [entry for entry in os.scandir(folder) if ours.fullmatch(entry.name)]:
                with suppress(OSError):  # somebody is at work, it is not ours, or gone already
                    _remove_left(entry)


def _remove_left(entry: os.DirEntry[str]) -> None:
    folder = entry.is_dir(follow_symlinks=False)
    if not folder and not entry.is_file(follow_symlinks=False):
        return
    if time.time() - entry.stat(follow_symlinks=False).st_ctime < _NEW:
        return
    descriptor = os.open(entry.path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path) if folder else Path(entry.path).unlink()
    finally:
        os.close(descriptor)

"""Places of tables, ``file`` or ``file::inside``, as bytes: unpacked, near or far.

``archive.zip::part.csv`` is a member of an archive; ``s3://bucket/rows.csv`` is a file that fsspec
opens. Nothing is unpacked to disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from separatrix.rows.sources.places.archives import opened_member
from separatrix.rows.sources.places.compression import PACKED, packing_of, unpacked
from separatrix.rows.sources.places.remote import is_remote, opened_remote, remote_size

#: Between a file and what is meant inside of it.
INSIDE = "::"
#: Names of archives.
ARCHIVES = (".zip",)
_CHUNK = 1 << 18


def split_place(place: str) -> tuple[str, str | None]:
    """The file, and what is meant inside of it (None for all of it)."""
    file, separator, inside = place.partition(INSIDE)
    if not separator or (not is_remote(place) and _exists(place)):
        return place, None
    return file, inside.strip()


def _exists(place: str) -> bool:
    """Whether there is a file of this name; a query may be too long to be one."""
    try:
        return Path(place).exists()
    except (OSError, ValueError):
        return False


def join_place(file: str, inside: str | None) -> str:
    """One text for both, as they are typed and shown."""
    return file if inside is None else f"{file}{INSIDE}{inside}"


def absolute(place: str) -> str:
    """The same place, whatever folder a process works in."""
    file, inside = split_place(place)
    return place if is_remote(file) else join_place(str(Path(file).absolute()), inside)


def is_there(place: str) -> bool:
    """Whether this machine sees the file; storage is seen by all."""
    file, _ = split_place(place)
    return is_remote(file) or _exists(file)


def layout_name(place: str) -> str:
    """The name that tells the format, in small letters: of the member, and without ``.gz``."""
    file, inside = split_place(place)
    name = (inside if inside and file.lower().endswith(ARCHIVES) else file).lower()
    packing = packing_of(name)
    return name.removesuffix(packing) if packing else name


def is_plain(place: str) -> bool:
    """Whether the bytes of a table are those of a local file."""
    file, inside = split_place(place)
    return not (inside or is_remote(file) or file.lower().endswith((*PACKED, *ARCHIVES)))


def is_packed(place: str) -> bool:
    """Whether a table is compressed as a whole."""
    file, inside = split_place(place)
    return f"{file}{inside or ''}".lower().endswith(PACKED) or file.lower().endswith(ARCHIVES)


def file_size(place: str) -> int:
    """Bytes of the file as it is stored."""
    file, _ = split_place(place)
    return remote_size(file) if is_remote(file) else Path(file).stat().st_size


def stored_bytes(place: str) -> IO[bytes]:
    """The bytes of a file as it is stored."""
    file, _ = split_place(place)
    return opened_remote(file) if is_remote(file) else Path(file).open("rb")


def opened_bytes(place: str) -> IO[bytes]:
    """The bytes of a table, unpacked as they are read."""
    file, inside = split_place(place)
    raw = stored_bytes(file)
    try:
        if file.lower().endswith(ARCHIVES):
            return opened_member(raw, file, inside)
        packing = packing_of(file)
        return unpacked(raw, packing, place) if packing else raw
    except BaseException:
        raw.close()
        raise


def chunks(place: str) -> Iterator[bytearray]:
    """The bytes of a local file, so few at a time that they stay in the cache."""
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    with Path(place).open("rb", buffering=0) as file:
        while size := file.readinto(view):
            yield buffer if size == _CHUNK else buffer[:size]

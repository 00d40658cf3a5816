"""Members of zip archives as streams; nothing is unpacked to disk."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePosixPath
from typing import IO

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.sources.places.compression import Unpacked, damaged, packing_of, unpacked

#: Bytes of a member that are unpacked at a time.
_BUFFER = 1 << 20


def members(raw: IO[bytes], shown: str) -> list[str]:
    """Names of the files in an archive; what systems add of their own is left out."""
    with _archive(raw, shown) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
    return [n for n in names if not n.startswith("__MACOSX/") and PurePosixPath(n).name[:1] != "."]


def chosen_member(names: list[str], inside: str | None, shown: str) -> str:
    """The member that is meant: the one named, or the only one."""
    if inside is None and len(names) == 1:
        return names[0]
    if inside in names:
        return str(inside)
    if inside is None:
        what = f"The archive holds {len(names)} files" if names else "The archive is empty"
        raise InputError(
            f"{what}, and one table is read.",
            file=shown,
            remedy=f"Name one: {shown}::{names[0]}. {did_you_mean('', names)}" if names else None,
        )
    raise InputError(
        f"there is no {inside!r} in the archive.", file=shown, remedy=did_you_mean(inside, names)
    )


def opened_member(raw: IO[bytes], shown: str, inside: str | None) -> IO[bytes]:
    """The contents of one member; the archive is closed with them."""
    name = chosen_member(members(raw, shown), inside, shown)
    place = f"{shown}::{name}"
    if ".." in PurePosixPath(name).parts or name.startswith(("/", "\\")) or ":" in name[:2]:
        raise InputError(
            "the name leads out of the archive: it is not read.",
            file=place,
            remedy="Write the archive again with plain names.",
        )
    archive = _archive(raw, shown)
    info = archive.getinfo(name)
    if info.flag_bits & 1:
        raise InputError(
            "is encrypted.", file=place, remedy="Unpack it with its password, and give the table."
        )
    try:
        stream = archive.open(info)
    except (zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError) as reason:
        raise damaged(place, reason) from reason
    member = io.BufferedReader(Unpacked(stream, raw, lambda: info.compress_size, place), _BUFFER)
    packing = packing_of(name)
    return unpacked(member, packing, place) if packing else member


def _archive(raw: IO[bytes], shown: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError) as reason:
        raise damaged(shown, reason) from reason

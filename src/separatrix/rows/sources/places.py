"""Places of tables as bytes, ``file`` or ``file::inside``: archives, folders, storage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.sources.columns import Location

if TYPE_CHECKING:
    import pyarrow as pa


# -------------------------------------------------------------------------------------------------
# Places of tables, ``file`` or ``file::inside``, as bytes: unpacked, near or far.
#
# ``archive.zip::part.csv`` is a member of an archive; ``s3://bucket/rows.csv`` is a file that
# fsspec opens. Nothing is unpacked to disk.


#: Between a file and what is meant inside of it.
INSIDE = "::"
#: Names of archives.
ARCHIVES = (".zip",)


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
        return unpack(raw, packing, place) if packing else raw
    except BaseException:
        raw.close()
        raise


def chunks(place: str) -> Iterator[bytearray]:
    """The bytes of a local file, so few at a time that they stay in the cache."""
    chunk = 1 << 18  # bytes that are read at a time
    buffer = bytearray(chunk)
    view = memoryview(buffer)
    with Path(place).open("rb", buffering=0) as file:
        while size := file.readinto(view):
            yield buffer if size == chunk else buffer[:size]


# -------------------------------------------------------------------------------------------------
# Members of zip archives as streams; nothing is unpacked to disk.


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
        raise explain_damage(place, reason) from reason
    member = io.BufferedReader(Unpacked(stream, raw, lambda: info.compress_size, place), _BUFFER)
    packing = packing_of(name)
    return unpack(member, packing, place) if packing else member


def _archive(raw: IO[bytes], shown: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError) as reason:
        raise explain_damage(shown, reason) from reason


# -------------------------------------------------------------------------------------------------
# Compressed files as streams: nothing is unpacked to disk, and decompression bombs are refused.


#: Ends of names of compressed files.
PACKED = (".gz", ".bz2", ".xz", ".zst")
#: Bytes from which on a file that unpacks to more than ``MOST_GROWTH`` times its size is refused.
#: Tables shrink by 3 to 50 times, endless repetitions by a thousand and more.
SUSPICIOUS_BYTES, MOST_GROWTH = 256 << 20, 500
#: What the libraries raise on damaged files.
DAMAGE = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    ValueError,
    RuntimeError,
)


def packing_of(name: str) -> str | None:
    """The end of the name that says how a file is compressed; None if it is not."""
    return next((end for end in PACKED if name.lower().endswith(end)), None)


def unpack(raw: IO[bytes], packing: str, shown: str) -> IO[bytes]:
    """The contents of a compressed file, which is closed with them."""
    return io.BufferedReader(Unpacked(_OPENERS[packing](raw), raw, raw.tell, shown), _BUFFER)


def _zstandard(raw: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstandard,
}


class Unpacked(io.RawIOBase):
    """A stream that counts what it unpacks, and refuses damage and bombs in words.

    ``packed`` is the number of compressed bytes that were read so far.
    """

    def __init__(self, stream: Any, raw: IO[bytes], packed: Callable[[], int], shown: str) -> None:
        self._stream, self._raw, self._packed, self._shown = stream, raw, packed, shown
        self._count = 0

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes."""
        try:
            data = self._stream.read(len(buffer))
        except InputError:
            raise
        except DAMAGE as reason:
            raise explain_damage(self._shown, reason) from reason
        self._count += len(data)
        if self._count > max(SUSPICIOUS_BYTES, MOST_GROWTH * self._packed()):
            raise bomb(self._shown)
        buffer[: len(data)] = data
        return len(data)

    def tell(self) -> int:
        """Bytes that were unpacked so far."""
        return self._count

    def close(self) -> None:
        """Close the stream and the file below it."""
        if not self.closed:
            for file in (self._stream, self._raw):
                file.close()
        super().close()


def explain_damage(shown: str, reason: BaseException) -> InputError:
    """The refusal of a compressed file that is cut short or damaged."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be unpacked; it is cut short or damaged ({detail}).",
        file=shown,
        remedy="Write or download the file again.",
    )


def bomb(shown: str) -> InputError:
    """The refusal of a file that grows without end."""
    return InputError(
        f"unpacks to more than {MOST_GROWTH} times its size, which no table does: it is built to "
        "fill up memory or disk.",
        file=shown,
        remedy="If you trust the file, unpack it yourself and give the unpacked table.",
    )


# -------------------------------------------------------------------------------------------------
# Columns in the names of folders: ``sales/year=2024/region=north/part.parquet``.


#: What Hive writes for a missing value.
MISSING = "__HIVE_DEFAULT_PARTITION__"
_KEY = re.compile(r"^([^=]+)=(.*)$")
_INTEGER, _NUMBER = r"-?\d{1,18}", r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_DATE = r"\d{4}-\d\d-\d\d"

#: The values of one file, by column.
Keys = dict[str, str | None]


@dataclass(frozen=True)
class Partitions:
    """Columns that are constant in every file; ``texts`` of them are read as they are written."""

    values: Mapping[str, Keys] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(next(iter(self.values.values()), {}))

    def type_of(self, name: str, *, text: bool = False) -> pa.DataType:
        """Whole numbers, numbers, dates, or text: what all values are."""
        import pyarrow as pa

        found = [keys[name] for keys in self.values.values() if keys[name] is not None]
        shapes = ((_INTEGER, pa.int64()), (_NUMBER, pa.float64()), (_DATE, pa.date32()))
        for shape, type_ in () if text or name in self.texts else shapes:
            if found and all(re.fullmatch(shape, str(value)) for value in found):
                return type_ if _can_be(found, type_) else pa.string()
        return pa.string()

    def arrays(
        self, columns: list[str], location: Location, n: int, types: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array]:
        """The columns of ``n`` rows of the file at this place."""
        import pyarrow as pa

        keys = self.values[str(location.file)]
        return {
            name: pa.repeat(pa.scalar(keys[name], pa.string()).cast(types[name]), n)
            for name in columns
        }


def _can_be(values: list[str | None], type_: pa.DataType) -> bool:
    """Whether values of the right shape are of the type: 2024-02-31 is not a date."""
    import pyarrow as pa

    try:
        pa.array(values, pa.string()).cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def keys_of(path: str) -> Keys:
    """The columns in the folders of a path."""
    folders = re.split(r"[/\\]", path.partition("::")[0])[:-1]
    matches = (_KEY.match(folder) for folder in folders)
    pairs = [(unquote(m[1]), unquote(m[2])) for m in matches if m]
    return {name: None if value == MISSING else value for name, value in pairs}


def partitions_of(
    paths: list[str], roots: list[str], wanted: Iterable[str], texts: Iterable[str]
) -> Partitions:
    """The columns in the names of the folders of some files.

    A column counts if it is below the folder or pattern that was given (``roots``, one a file), if
    its values differ, or if the caller wants it: a model may be asked about one of its partitions.
    """
    keys_by_file = [keys_of(path) for path in paths]
    names = dict.fromkeys(name for keys in keys_by_file for name in keys)
    used = set(wanted)
    for name in names:
        below = any(name not in keys_of(f"{root}/") for root in roots)
        if below or len({keys.get(name) for keys in keys_by_file}) > 1:
            used.add(name)
    used &= set(names)
    for path, keys in zip(paths, keys_by_file, strict=True):
        lacking = [name for name in names if name in used and name not in keys]
        if lacking:
            other = next(p for p, k in zip(paths, keys_by_file, strict=True) if lacking[0] in k)
            raise InputError(
                f"is in no folder {lacking[0]}=…, but {other} is.",
                file=path,
                remedy="Lay out all files of a table in the same folders.",
            )
    values = {
        path: {name: value for name, value in keys.items() if name in used}
        for path, keys in zip(paths, keys_by_file, strict=True)
    }
    return Partitions(values if used else {}, frozenset(texts))


# -------------------------------------------------------------------------------------------------
# Addresses of tables: storage that fsspec opens, and addresses of the web, which are refused.


_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
#: Addresses of the web: what is there may change between two passes, and fetching tells others.
WEB = ("http", "https", "ftp", "ftps")
#: Schemes of storage, and the library that opens each (empty: fsspec alone).
STORAGE = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "adl": "adlfs",
    "hdfs": "pyarrow",
    "oss": "ossfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
    "memory": "",
}


def is_remote(file: str) -> bool:
    """Whether a text is an address, not a path."""
    return bool(_SCHEME.match(file))


def local_path(file: str) -> str:
    """``file:///rows.csv`` as a path; any other text as it is."""
    return file[len("file://") :] if file.startswith("file://") else file


def storage(file: str) -> tuple[Any, str]:
    """The file system behind an address, and the path in it."""
    match = _SCHEME.match(file)
    assert match is not None
    scheme = match[1].lower()
    if scheme in WEB:
        name = file.split("?")[0].rstrip("/").rpartition("/")[2] or "table.csv"
        raise InputError(
            "Tables are not fetched from the web: they are read several times and must not change "
            "in between, and a model should say which file it was fitted to.",
            file=file,
            remedy=f"Download it first: curl -L -o {name} '{file}', then give {name}.",
        )
    if scheme not in STORAGE:
        raise InputError(
            f"addresses that begin with {scheme}:// are not known.",
            file=file,
            remedy=did_you_mean(scheme, ["file", *STORAGE]),
        )
    try:
        import fsspec

        system = fsspec.filesystem(scheme)
    except ImportError as reason:
        needed = "separatrix[remote]" if reason.name == "fsspec" else STORAGE[scheme]
        raise InputError(
            f"{scheme}:// needs a library that is not installed.",
            file=file,
            remedy=f"Install it: pip install '{needed}'.",
        ) from reason
    except Exception as reason:
        raise unreachable(file, reason) from reason
    return system, str(system._strip_protocol(file))


def opened_remote(file: str) -> IO[bytes]:
    """The bytes of a file in storage; it can be sought in."""
    system, path = storage(file)
    try:
        return system.open(path, "rb")  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise missing_remote(file) from None
    except Exception as reason:
        raise unreachable(file, reason) from reason


def remote_size(file: str) -> int:
    """Bytes of a file in storage."""
    system, path = storage(file)
    try:
        return int(system.size(path) or 0)
    except FileNotFoundError:
        raise missing_remote(file) from None
    except Exception as reason:
        raise unreachable(file, reason) from reason


def list_archive(file: str, *, pattern: bool) -> list[str] | None:
    """Addresses that a pattern matches, or all files below a folder; None if it is a file."""
    system, path = storage(file)
    scheme = file.partition("://")[0]
    try:
        if not pattern and not system.isdir(path):
            return None if system.exists(path) else []
        names = system.glob(path) if pattern else system.find(path)
    except Exception as reason:
        raise unreachable(file, reason) from reason
    return sorted(f"{scheme}://{str(name).lstrip('/')}" for name in names)


def missing_remote(file: str) -> InputError:
    """The refusal of an address without a file."""
    return InputError("There is no such file.", file=file, remedy="Check the address.")


def unreachable(file: str, reason: BaseException) -> InputError:
    """The refusal of storage that gives no answer: credentials, network, permissions."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"the storage cannot be read ({type(reason).__name__}: {detail}).",
        file=file,
        remedy="Check the address, and the credentials that its library takes from the "
        "environment.",
    )

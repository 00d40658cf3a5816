"""Addresses of tables: storage that fsspec opens, and addresses of the web, which are refused."""

from __future__ import annotations

import re
from typing import IO, Any

from separatrix.messages import InputError, did_you_mean

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
    found = _SCHEME.match(file)
    assert found is not None
    scheme = found[1].lower()
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


def listed(file: str, *, pattern: bool) -> list[str] | None:
    """Addresses that a pattern matches, or all files below a folder; None if it is a file."""
    system, path = storage(file)
    scheme = file.partition("://")[0]
    try:
        if not pattern and not system.isdir(path):
            return None if system.exists(path) else []
        found = system.glob(path) if pattern else system.find(path)
    except Exception as reason:
        raise unreachable(file, reason) from reason
    return sorted(f"{scheme}://{str(name).lstrip('/')}" for name in found)


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

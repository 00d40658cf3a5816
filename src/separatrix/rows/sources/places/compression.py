"""Compressed files as streams: nothing is unpacked to disk, and bombs are refused in words."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any

from separatrix.messages import InputError

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
_BUFFER = 1 << 20


def packing_of(name: str) -> str | None:
    """The end of the name that says how a file is compressed; None if it is not."""
    return next((end for end in PACKED if name.lower().endswith(end)), None)


def unpacked(raw: IO[bytes], packing: str, shown: str) -> IO[bytes]:
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
            raise damaged(self._shown, reason) from reason
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


def damaged(shown: str, reason: BaseException) -> InputError:
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

"""Atomic writing of files: under a temporary name, synced, then renamed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from separatrix.messages import InputError
from separatrix.temporary import lock, remove_leftovers, temporary


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write to, renamed to ``path`` only if the block ends without an error."""
    target = Path(path)
    try:
        if _is_device(target):  # a device cannot be replaced, only written to
            with target.open("wb") as file:
                yield file
            return
        final, partial = _begun(target)
    except OSError as problem:
        raise cannot_write(target, problem) from problem
    try:
        with lock(partial):
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(final)
    except BaseException as problem:  # Ctrl-C included: leave nothing behind
        partial.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.errno is not None:  # others come from reading
            raise cannot_write(target, problem) from problem
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that :func:`atomic_file` would, and leave everything as it was."""
    target = Path(path)
    try:
        if not _is_device(target):
            _begun(target)[1].unlink()
    except OSError as problem:
        raise cannot_write(target, problem) from problem


def _begun(target: Path) -> tuple[Path, Path]:
    """The file that is to be written, and an empty one under a temporary name beside it."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory")
    final = Path(os.path.realpath(target))  # of a link, the file that it points to
    remove_leftovers(final)
    partial = temporary(final)
    partial.open("xb").close()
    return final, partial


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with atomic_file(path) as file:
        file.write(text.encode())


def cannot_write(path: Path | str, problem: OSError) -> InputError:
    """The refusal for a failed write, with its reason."""
    reasons = {
        errno.ENOSPC: ("the disk is full.", "Free some space or write to another disk."),
        errno.EDQUOT: ("the disk quota is used up.", "Free some space or write elsewhere."),
        errno.EFBIG: (
            "the file size limit is reached.",
            "Raise it (ulimit -f) or write elsewhere.",
        ),
        errno.EACCES: ("writing here is not permitted.", "Choose another place to write to."),
        errno.EROFS: ("this disk is read-only.", "Choose another place to write to."),
        errno.ENOENT: ("the directory does not exist.", "Create it first."),
        errno.EISDIR: ("this is a directory.", "Name a file in it."),
        errno.ENAMETOOLONG: ("this name is too long.", "Choose a shorter one."),
        errno.ENOTDIR: ("part of this path is a file.", "Name a directory that exists."),
    }
    what, remedy = reasons.get(problem.errno or 0, (f"cannot write: {problem.strerror}.", None))
    return InputError(what, file=str(path), remedy=remedy)


def _is_device(path: Path) -> bool:
    return path.exists() and not stat.S_ISREG(path.stat().st_mode) and not path.is_dir()

"""Workbooks of the old binary format, tried in a process of their own with little memory.

Their records can name a cell so far out that the library would fill all memory, or end the process,
and only the library knows which records it follows. So it is asked first where nothing can happen.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import IO

from separatrix.messages import InputError
from separatrix.rows.notations import Limits
from separatrix.rows.sources.watch import describe_limit

_TRIAL = """
import io, sys
memory = float(sys.argv[1])
try:
    import resource
    if memory < sys.maxsize:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass
try:
    from python_calamine import CalamineWorkbook
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    for name in book.sheet_names:
        book.get_sheet_by_name(name)
except MemoryError:
    sys.exit(2)
"""


def try_workbook(raw: IO[bytes], path: str, limits: Limits) -> None:
    """Refuse a workbook that fails other than by an error, which the library gives again."""
    # Part of the limit of memory that the file itself may take; 65 536 x 256 cells take 1.2 GB.
    most = int(min(limits.bytes / 4, sys.maxsize - 1))
    data = raw.read(most + 1)
    raw.seek(0)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _TRIAL, str(limits.bytes)],
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=min(limits.seconds, threading.TIMEOUT_MAX),
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        ended = -1
    if ended not in (0, 1) or len(data) > most:
        raise InputError(
            "takes more memory or time than any sheet of this format should: it is not read.",
            file=path,
            remedy="Save the sheet as CSV and give that, or raise the limits: "
            f"{describe_limit(limits, 'bytes')} or {describe_limit(limits, 'seconds')}.",
        )

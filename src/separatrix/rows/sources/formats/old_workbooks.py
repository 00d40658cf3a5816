"""Workbooks of the old binary format, tried in a process of their own with little memory.

Their records can name a cell so far out that the library would fill all memory, or end the process,
and only the library knows which records it follows. So it is asked first where nothing can happen.
"""

from __future__ import annotations

import subprocess
import sys
from typing import IO

from separatrix.messages import InputError

#: Bytes of a file, bytes of memory (65 536 x 256 cells take about 1.2 GB), and seconds.
MOST_BYTES, MEMORY, SECONDS = 512 << 20, 2 << 30, 300
_TRIAL = f"""
import io, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
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


def try_workbook(raw: IO[bytes], path: str) -> None:
    """Refuse a workbook that fails other than by an error, which the library gives again."""
    data = raw.read(MOST_BYTES + 1)
    raw.seek(0)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        ended = -1
    if ended not in (0, 1) or len(data) > MOST_BYTES:
        raise InputError(
            "takes more memory or time than any sheet of this format should: it is not read.",
            file=path,
            remedy="Save the sheet as CSV, and give that.",
        )

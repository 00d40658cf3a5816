"""The Python that makes the same model as the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.exploration.edits import Points, in_python
from separatrix.exploration.table import Table


def fitting(
    table: Table,
    names: Sequence[str],
    target: str,
    model: Sequence[str],
    *,
    first: Sequence[str] = (),
    before: Points | None = None,
    edits: Sequence[Any] = (),
) -> str:
    """Lines that read the shown rows as ``X, y``, repeat the edits, and then ``model``.

    ``first`` are lines before the edits (imports among them go to the top), and ``before`` the
    points without their edits.
    """
    imports = [line for line in first if line.startswith("from ")]
    first = [line for line in first if line not in imports]
    lines = ["import separatrix as sx", "from separatrix.exploration import read_table", *imports]
    lines += [""]
    lines += [f"X, y = {table.source}.arrays({list(names)!r}, {target!r})"]
    changes = [] if before is None else in_python(before, edits, len(table))
    if any("np." in line for line in (*first, *changes, *model)):
        lines.insert(0, "import numpy as np")
    return "\n".join([*lines, *first, *changes, *model])

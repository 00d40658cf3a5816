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
    before: Points | None = None,
    edits: Sequence[Any] = (),
) -> str:
    """Lines that read the shown rows as ``X, y``, repeat the edits, and then ``model``.

    ``before`` are the points without their edits.
    """
    lines = ["import separatrix as sx", "from separatrix.exploration import read_table", ""]
    lines += [f"X, y = {table.source}.arrays({list(names)!r}, {target!r})"]
    changes = [] if before is None else in_python(before, edits, len(table))
    if any("np." in line for line in (*changes, *model)):
        lines.insert(0, "import numpy as np")
    return "\n".join([*lines, *changes, *model])

"""What may be chosen of an export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from separatrix.export.sql.dialects import Dialect, dialect_named
from separatrix.messages import InputError, check_option

#: Languages, and the libraries that writing and checking them needs, by extra.
TARGETS = {
    "sql": ("sql", ("sqlglot", "duckdb")),
    "python": ("", ()),
    "json": ("", ()),
    "onnx": ("onnx", ("onnx", "onnxruntime")),
}


@dataclass(frozen=True)
class Options:
    """The checked options of an export."""

    to: str
    dialect: Dialect
    table: str = "rows"
    ids: tuple[str, ...] = ()
    level: float = 0.95


def checked_options(to: str, dialect: str, table: str, ids: Sequence[str], level: float) -> Options:
    """The options, or the first that is wrong."""
    check_option("to", to, TARGETS)
    extra, needed = TARGETS[to]
    lacking = [name for name in needed if find_spec(name) is None]
    if lacking:
        raise InputError(
            f"An export to {to} needs {' and '.join(lacking)}, which is not installed.",
            remedy=f"Run: pip install 'separatrix[{extra}]'",
        )
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be between 0 and 1.")
    if not table:
        raise InputError("The name of the table is empty.")
    return Options(to, dialect_named(dialect), table, tuple(ids), level)

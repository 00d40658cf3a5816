"""Columns in the names of folders: ``sales/year=2024/region=north/part.parquet``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Whether values of the right shape are of the type: 2024-02-31 is no date."""
    import pyarrow as pa

    try:
        pa.array(values, pa.string()).cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def keys_of(path: str) -> Keys:
    """The columns in the folders of a path."""
    folders = re.split(r"[/\\]", path.partition("::")[0])[:-1]
    found = (_KEY.match(folder) for folder in folders)
    pairs = [(unquote(m[1]), unquote(m[2])) for m in found if m]
    return {name: None if value == MISSING else value for name, value in pairs}


def partitions_of(
    paths: list[str], roots: list[str], wanted: Iterable[str], texts: Iterable[str]
) -> Partitions:
    """The columns in the names of the folders of some files.

    A column counts if it is below the folder or pattern that was given (``roots``, one a file), if
    its values differ, or if the caller wants it: a model may be asked about one of its partitions.
    """
    found = [keys_of(path) for path in paths]
    names = dict.fromkeys(name for keys in found for name in keys)
    used = set(wanted)
    for name in names:
        below = any(name not in keys_of(f"{root}/") for root in roots)
        if below or len({keys.get(name) for keys in found}) > 1:
            used.add(name)
    used &= set(names)
    for path, keys in zip(paths, found, strict=True):
        lacking = [name for name in names if name in used and name not in keys]
        if lacking:
            other = next(p for p, k in zip(paths, found, strict=True) if lacking[0] in k)
            raise InputError(
                f"is in no folder {lacking[0]}=…, but {other} is.",
                file=path,
                remedy="Lay out all files of a table in the same folders.",
            )
    values = {
        path: {name: value for name, value in keys.items() if name in used}
        for path, keys in zip(paths, found, strict=True)
    }
    return Partitions(values if used else {}, frozenset(texts))

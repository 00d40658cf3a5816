"""Columns of row identifiers, copied beside predictions.

A column counts as one by its name (``id``, ``customer_id``, ``orderId``, ``uuid``), never by its
content: the columns of the result must not depend on the rows of one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of copied columns in memory.
COPIED_ROWS = 65_536
#: All columns, as an option.
ALL = "*"
#: Names that the result has already.
TAKEN = ("row", "predicted")
#: Names that the table of clusters has.
TAKEN_BY_CLUSTERS = ("row", "cluster", "silhouette", "distance")


#: Text that is a number, or true or false, and nothing but one.
_SHAPES = {
    "int64": r"^-?(0|[1-9]\d*)$",
    "double": r"^-?(0|[1-9]\d{0,14})?(\.\d*)?([eE].*)?$",
    "bool": r"^(?i:true|false)$",
}


def choose_copied(
    names: list[str],
    requested: tuple[str, ...],
    *,
    option: str = "--keep",
    taken: Sequence[str] = TAKEN,
) -> list[str]:
    """The requested columns, then those named like identifiers; ``ALL`` that are not taken."""
    from separatrix.rows.infer import named_like_id

    if ALL in requested and ALL not in names:
        return [name for name in names if name not in taken]
    for name in requested:
        if name not in names or name in taken:
            what = (
                "there is no such column"
                if name not in names
                else "the result has a column of this name"
            )
            raise InputError(
                f"{what} (given as {option}).",
                column=name,
                remedy=did_you_mean(name, names) if name not in names else "Rename the column.",
            )
    columns = [name for name in names if named_like_id(name) and name not in taken]
    return list(dict.fromkeys([*requested, *columns]))


class Ids:
    """The values of some columns of a source, row by row in order; text as it stands in a file.

    ``types`` are those of the columns in Arrow; None lets text that is a number in every row be
    one.
    """

    def __init__(
        self, source: Any, columns: list[str], types: dict[str, pa.DataType] | None = None
    ) -> None:
        self.columns = columns
        self._source = verbatim(source, columns) if columns else None
        self._batches: Iterator[Any] = iter(())
        self._rest: list[Any] = []
        self._types = types
        if self._source is not None:
            self._batches = (piece.batch for piece in self._source.batches(columns, COPIED_ROWS))

    def take(self, n: int) -> list[list[Any]]:
        """The next ``n`` rows, a list for each column."""
        return [values.to_pylist() for values in self._next(n)]

    def take_arrow(self, n: int) -> list[pa.ChunkedArray]:
        """The next ``n`` rows as Arrow columns of the same types for every call.

        Text that is a number in every row of a file becomes one: read once more to find out.
        """
        if self._types is None:
            self._types = {} if self._source is None else types_of(self._source, self.columns)
        named = zip(self.columns, self._next(n), strict=True)
        return [values.cast(self._types[name]) for name, values in named]

    def _next(self, n: int) -> list[pa.ChunkedArray]:
        if not self.columns:
            return []
        import pyarrow as pa

        have = sum(batch.num_rows for batch in self._rest)
        while have < n:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._rest.append(batch)
            have += batch.num_rows
        table = pa.Table.from_batches(self._rest)
        self._rest = table.slice(n).to_batches()
        return [table.column(name).slice(0, n) for name in self.columns]


def verbatim(source: Any, columns: list[str]) -> Any:
    """The source with these columns as they are written, if it is a text file: NA stays NA."""
    from separatrix.rows.sources.csv import CsvSource

    if not isinstance(source, CsvSource):
        return source
    text = source.as_text(columns)
    text.options = replace(text.options, na=())
    return text


def types_of(source: Any, columns: list[str]) -> dict[str, pa.DataType]:
    """The type of each column: its own, or that of the numbers that its text is in every row.

    Leading zeros are part of an identifier, and so are digits beyond an integer's: such text stays.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from separatrix.rows.sources.csv import CsvSource

    types = {name: source.arrow.field(name).type for name in columns}
    texts = [name for name in columns if pa.types.is_string(types[name])]
    if not isinstance(source, CsvSource) or not texts:
        return types
    candidates = {name: [pa.int64(), pa.float64(), pa.bool_()] for name in texts}
    present = dict.fromkeys(texts, False)
    for piece in source.batches(texts, COPIED_ROWS):
        for name in texts:
            values = pc.drop_null(piece.batch[name])
            present[name] |= len(values) > 0
            candidates[name] = [t for t in candidates[name] if _all_are(values, t)]
    return types | {n: found[0] for n, found in candidates.items() if found and present[n]}


def _all_are(values: pa.Array, type_: pa.DataType) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    shape = _SHAPES[str(type_)]
    try:
        pc.cast(values, type_)
    except pa.ArrowInvalid:
        return False
    return bool(pc.all(pc.match_substring_regex(values, shape), min_count=0).as_py())

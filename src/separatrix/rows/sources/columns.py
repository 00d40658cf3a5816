"""One Arrow column as numbers, or as codes of levels; both with their missing values.

Numbers of every width, booleans, decimals, dates and times become float64, texts by the notation
of their column; text, categories and columns declared discrete become levels. A value is missing
if it is null or NaN, or one of the texts and numbers that stand for missing values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError, warn
from separatrix.rows import notations
from separatrix.rows.schema import PLAIN, Column, Kind, Notation

if TYPE_CHECKING:
    import pyarrow as pa


#: Codes of a missing value, and of a level outside the known ones.
MISSING_CODE, UNSEEN_CODE = -1, -2


@dataclass(frozen=True, slots=True)
class Location:
    """Position of a batch: file (or another name of the source) and the rows before its first."""

    file: str | None = None
    start: int = 0

    def row(self, index: int) -> int:
        """Number in the source of a row of the batch; the first row of data is 1."""
        return self.start + index + 1

    def error(self, what: str, index: int, column: str, remedy: str) -> InputError:
        """The refusal of one value of the batch."""
        return InputError(what, file=self.file, row=self.row(index), column=column, remedy=remedy)


@dataclass(frozen=True, slots=True)
class NumericValues:
    """Values of a numeric column, NaN where ``missing``; ``missing`` is None if there are none.

    ``range`` is the lowest and the highest of a batch as it was read; NaN where there is none.
    ``slips`` are texts that were read as missing.
    """

    values: Floats
    missing: NDArray[np.bool_] | None
    range: tuple[float, float] = (np.nan, np.nan)
    slips: Counter[str] = field(default_factory=Counter)


class Slip(str):
    """A text among numbers or dates, with the row where it occurs first and what it is not."""

    row: int
    what: str

    @classmethod
    def at(cls, text: str, row: int, what: str) -> Slip:
        """The text in a row."""
        slip = cls(text)
        slip.row, slip.what = row, what
        return slip


@dataclass(frozen=True, slots=True)
class Levels:
    """Codes into ``names`` of a discrete column; −1 is missing, −2 a level outside ``names``."""

    codes: Ints
    names: tuple[str, ...]

    @property
    def missing(self) -> NDArray[np.bool_] | None:
        """Mask of the missing values; None if there are none."""
        mask = self.codes == MISSING_CODE
        return mask if mask.any() else None


def kind_of(name: str, type_: pa.DataType) -> Kind:
    """The kind of a column of this Arrow type."""
    from pyarrow import types

    if types.is_boolean(type_):
        return Kind.BOOLEAN
    if types.is_dictionary(type_) or is_text(type_):
        return Kind.DISCRETE
    if is_number(type_) or is_time(type_) or types.is_null(type_):
        return Kind.NUMERIC
    raise InputError(
        f"holds values of type {type_}, which are neither numbers nor levels.",
        column=name,
        remedy=f"Turn it into plain columns, or leave it out with kinds={{{name!r}: 'ignore'}}.",
    )


def is_text(type_: pa.DataType) -> bool:
    """Whether values are strings."""
    from pyarrow import types

    return bool(
        types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    )


def is_number(type_: pa.DataType) -> bool:
    """Whether values are integers, floats or decimals."""
    from pyarrow import types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def is_time(type_: pa.DataType) -> bool:
    """Whether values are dates, times or durations."""
    from pyarrow import types

    return bool(types.is_temporal(type_)) and not types.is_interval(type_)


def numbers(
    array: pa.Array, name: str, location: Location, notation: Notation = PLAIN
) -> NumericValues:
    """The column as float64; refuses text and infinite values by row."""
    slips: Counter[str] = Counter()
    values = _floats(array, name, location, notation, slips)
    if notation.sentinels:
        values = notations.without_sentinels(values, notation)
    if not len(values):
        return NumericValues(values, None)
    lowest, highest = float(values.min()), float(values.max())  # NaN if one value is
    if math.isfinite(lowest) and math.isfinite(highest):
        return NumericValues(values, None, (lowest, highest))
    infinite = np.isinf(values)
    if infinite.any():
        i = int(infinite.argmax())
        raise location.error(
            f"holds an infinite value ({values[i]}).",
            i,
            name,
            "Correct it, or leave the cell empty if the value is not known.",
        )
    missing = np.isnan(values)
    low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    return NumericValues(values, missing, (low, high), slips)


def check_boolean(values: Floats, name: str, location: Location) -> None:
    """Refuse values of a boolean column other than 0, 1 and NaN."""
    other = np.flatnonzero(~((values == 0) | (values == 1) | np.isnan(values)))
    if other.size:
        i = int(other[0])
        raise location.error(
            f"holds {values[i]:g}, but a boolean column holds 0 and 1 only.",
            i,
            name,
            f"Declare it numeric with kinds={{{name!r}: 'numeric'}}.",
        )


def _floats(
    array: pa.Array, name: str, location: Location, notation: Notation, slips: Counter[str]
) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = array.type
    if pa.types.is_dictionary(type_):
        return _floats(array.dictionary_decode(), name, location, notation, slips)
    if is_text(type_):
        return _parse_numbers(array, name, location, notation, slips)
    if is_time(type_):
        array = _days(array)
    elif type_ != pa.float64():
        array = pc.cast(array, pa.float64(), safe=False)
    if array.null_count:
        array = pc.fill_null(array, float("nan"))
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parse_numbers(
    array: pa.Array, name: str, location: Location, notation: Notation, slips: Counter[str]
) -> Floats:
    """Parse text in the notation of its column; the first that does not fit is reported.

    Where the notation has slips, texts are counted among them instead if most values fit.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = notations.clean_text(array)
    tokens = {"", *notation.na} | (
        set() if notation.na_given else notations.AMONG_NUMBERS | notations.SILENT
    )
    missing = pc.is_in(text, pa.array(sorted(tokens)))
    text = pc.if_else(missing, pa.scalar(None, pa.string()), text)
    if notation.dates:
        values = notations.to_days(text, notation.dates)
    else:
        values = np.asarray(
            notations.to_floats(text, notation).to_numpy(zero_copy_only=False), dtype=float
        )
    present = np.asarray(pc.is_valid(text))
    wrong = np.isnan(values) & present
    if notation.slips and 0 < 2 * np.count_nonzero(wrong) <= np.count_nonzero(present):
        what = "date" if notation.dates else "number"
        at = np.flatnonzero(wrong)
        slips.update(Slip.at(text[int(i)].as_py(), location.row(int(i)), what) for i in at)
    elif wrong.any():
        i = int(wrong.argmax())
        place = (text[i].as_py(), name, location.file, location.row(i))
        raise text_in_dates(*place, notation.dates) if notation.dates else text_in_numbers(*place)
    return values


def text_in_dates(value: str, name: str, file: str | None, row: int, order: str) -> InputError:
    """The refusal of text among dates."""
    shown = value if len(value) <= 40 else value[:37] + "…"
    return InputError(
        f"{shown!r} is not a date, but the column holds dates ({order}).",
        file=file,
        row=row,
        column=name,
        remedy="Correct the value, or read the column as levels with "
        f"kinds={{{name!r}: 'discrete'}}.",
    )


def text_in_numbers(value: str, name: str, file: str | None, row: int) -> InputError:
    """The refusal of text among numbers."""
    shown = value if len(value) <= 40 else value[:37] + "…"
    return InputError(
        f"{shown!r} is not a number, but the column holds numbers.",
        file=file,
        row=row,
        column=name,
        remedy="Correct the value, or read the column as levels with "
        f"kinds={{{name!r}: 'discrete'}}.",
    )


_TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def _days(array: pa.Array) -> pa.Array:
    """Dates and timestamps as days since 1970-01-01, times of day and durations as seconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = array.type
    if pa.types.is_date32(type_):
        return pc.cast(pc.cast(array, pa.int32()), pa.float64())
    ticks = 1e3 if pa.types.is_date64(type_) else _TICKS[type_.unit]
    if pa.types.is_date64(type_) or pa.types.is_timestamp(type_):
        ticks *= 86400.0
    integer = (
        pc.cast(array, pa.int32()) if pa.types.is_time32(type_) else pc.cast(array, pa.int64())
    )
    return pc.divide(pc.cast(integer, pa.float64(), safe=False), ticks)


def display_of(type_: pa.DataType) -> str:
    """What the numbers of a column of dates or times are (empty for other types)."""
    from pyarrow import types

    if types.is_date(type_):
        return "date"
    if types.is_timestamp(type_):
        return "datetime"
    if types.is_time(type_):
        return "time"
    return "duration" if types.is_duration(type_) else ""


def levels(array: pa.Array, na: tuple[str, ...] | None = None) -> Levels:
    """The column as codes of its levels, which are sorted by name.

    Texts in ``na`` are missing values; by default a question mark is.
    """
    tokens = notations.IN_EVERY_COLUMN if na is None else na
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(array.type):
        if pa.types.is_floating(array.type):  # NaN is a missing value, not a level
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        array = array.dictionary_encode()
    codes = array.indices
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int64()), -1)
    found = np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)
    texts = [_without_spaces(level_text(value)) for value in array.dictionary.to_pylist()]
    occurs = np.bincount(found[found >= 0], minlength=len(texts)) > 0
    # levels of equal text are one level
    present = {text for text, used in zip(texts, occurs, strict=True) if used}
    names = sorted(text for text in present if text is not None and text not in tokens)
    rank: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    table = np.array([*(rank.get(text, MISSING_CODE) for text in texts), MISSING_CODE])
    return Levels(table[found], tuple(names))


def _without_spaces(text: str | None) -> str | None:
    """A level without spaces around it; of nothing but spaces, it is missing."""
    return text if not text else text.strip() or None


def level_text(value: Any) -> str | None:
    """A level as text: integers without a decimal point, so that 3 and 3.0 are one level."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)


# -------------------------------------------------------------------------------------------------
# Levels that training did not have: refused, treated as missing, or encoded as zeros.
#
# They are counted while a table is read, and one warning for each column follows the last row.


#: What may be done, the default first.
POLICIES = ("missing", "zeros", "error")
#: What is done, in words.
TREATMENT = {"missing": "treated as missing", "zeros": "encoded as all zeros"}

#: Column → level → rows.
Counts = dict[str, Counter[str]]


def recode(
    levels: Levels, column: Column, policy: str, file: str | None, row_ids: Ints
) -> tuple[Levels, Counter[str]]:
    """Codes into the known levels of a column, and the rows of every other level.

    Of a column with pooled levels every other one is among those.
    """
    if column.pooled:
        return into(levels, column.levels, column.levels.index(column.pooled)), Counter()
    known = set(column.levels)
    others = [code for code, name in enumerate(levels.names) if name not in known]
    if others and policy == "error":
        raise _refusal(levels, int(np.isin(levels.codes, others).argmax()), column, file, row_ids)
    counts = Counter({levels.names[i]: int((levels.codes == i).sum()) for i in others})
    code = MISSING_CODE if policy == "missing" else UNSEEN_CODE
    return into(levels, column.levels, code), counts


def into(levels: Levels, known: tuple[str, ...], other: int = UNSEEN_CODE) -> Levels:
    """Codes into ``known``; any other level has the code ``other``."""
    at = {name: i for i, name in enumerate(known)}
    codes = [at.get(name, other) for name in levels.names]
    table = np.array([*codes, UNSEEN_CODE, MISSING_CODE])
    return Levels(table[levels.codes], known)


def _refusal(
    levels: Levels, first: int, column: Column, file: str | None, row_ids: Ints
) -> InputError:
    """The refusal of the level in row ``first``."""
    shown = ", ".join(repr(level) for level in column.levels[:8])
    return InputError(
        f"the level {levels.names[levels.codes[first]]!r} was not seen in training (known: {shown}"
        f"{', …' if len(column.levels) > 8 else ''}).",
        file=file,
        row=int(row_ids[first]),
        column=column.name,
        remedy="Correct it, or treat such levels as missing with `unseen='missing'`.",
    )


def add_counts(total: Counts, more: Mapping[str, Counter[str]]) -> Counts:
    """The sum of two counts."""
    for column, counts in more.items():
        total.setdefault(column, Counter()).update(counts)
    return total


def warn_unseen(counts: Mapping[str, Counter[str]], policy: str) -> None:
    """One warning for each column: which levels, in how many rows, and what was done."""
    for column, levels in counts.items():
        if not levels:
            continue
        first = next(iter(levels))
        if isinstance(first, Slip):
            n, where = sum(levels.values()), f"{str(first)!r} in row {first.row}"
            many = f"{n:,} values are not {first.what}s, the first {where}; they are"
            one = f"{where} is not a {first.what}; it is"
            warn("SEP005", f"column {column!r}: {one if n == 1 else many} treated as missing.")
            continue
        # Levels that a warning names.
        shown = [f"{name!r} ({_rows(n)})" for name, n in levels.most_common(5)]
        more = len(levels) - len(shown)
        others = f" and {more} more level{'s' if more > 1 else ''}" if more else ""
        warn(
            "SEP005",
            f"column {column!r}: {', '.join(shown)}{others} not seen in training; "
            f"{TREATMENT[policy]}.",
        )


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"

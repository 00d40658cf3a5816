"""Rows to check an export on, made up from what is known of the columns.

Typical rows; rows far out; ends of ranges and zeros; missing values, levels that training did not
have; and, of classifiers, rows ever nearer to a boundary between two predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from separatrix.export.inputs import InputColumn
from separatrix.export.reading import Reading, core_of
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind

#: Rows in all, and how many of them may be near boundaries.
COUNT, NEAR = 512, 96
#: A level that training cannot have had.
UNSEEN = "a level 'that' \"no\" training \\ had; --"
#: Days that every calendar has: years 1900 to 2100.
FIRST_DAY, LAST_DAY = -25_567, 47_482
#: Steps towards a boundary, and those that become rows.
STEPS, TAKEN = 12, (0, 2, 5, 11)


@dataclass(frozen=True)
class Range:
    """Where the values of a numeric column are."""

    center: float
    spread: float
    lowest: float
    highest: float
    integer: bool = False


def made_up_rows(
    model: Any, reading: Reading, profiles: Sequence[ColumnProfile] = (), seed: int = 0
) -> pa.Table:
    """A table of ``COUNT`` rows."""
    rng = np.random.default_rng(seed)
    known = {profile.name: profile for profile in profiles}
    ranges = _ranges(model, reading, known)
    columns = {
        column.name: _values(rng, column, ranges.get(column.name), reading.is_matrix)
        for column in reading.columns
    }
    table = as_table(columns, reading)
    near = _near_boundaries(rng, model, reading, columns)
    return table if near is None else pa.concat_tables([table.slice(0, COUNT - len(near)), near])


def as_table(columns: Mapping[str, Any], reading: Reading) -> pa.Table:
    """Values by column (None where missing) as an Arrow table of the types of the columns."""
    return pa.table(
        {
            column.name: _array(columns[column.name], column, reading.is_matrix)
            for column in reading.columns
        }
    )


def _array(values: Any, column: InputColumn, is_matrix: bool) -> pa.Array:
    plain = [None if v is None or v != v else v for v in values]
    if is_matrix:
        return pa.array([np.nan if v is None else float(v) for v in plain], pa.float64())
    if column.kind is Kind.DISCRETE:
        return pa.array([None if v is None else str(v) for v in plain], pa.string())
    if column.kind is Kind.BOOLEAN:
        return pa.array([None if v is None else bool(v) for v in plain], pa.bool_())
    if column.display == "date":
        days = [None if v is None else round(float(v)) for v in plain]
        return pa.array(days, pa.int32()).cast(pa.date32())
    if column.display == "datetime":
        micros = [None if v is None else round(float(v) * 86400e6) for v in plain]
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us"))
    return pa.array([None if v is None else float(v) for v in plain], pa.float64())


def _ranges(model: Any, reading: Reading, known: Mapping[str, ColumnProfile]) -> dict[str, Range]:
    """Ranges by profile of the table, else by the centers that the model itself knows."""
    centers = _centers(model, reading)
    found = {}
    for column in reading.columns:
        if column.kind is Kind.DISCRETE:
            continue
        profile = known.get(column.name)
        if profile is not None and np.isfinite(profile.mean):
            spread = profile.std if np.isfinite(profile.std) and profile.std > 0 else 1.0
            found[column.name] = Range(
                profile.mean, spread, profile.minimum, profile.maximum, profile.integer
            )
            continue
        at = centers.get(column.name, np.array([column.typical]))
        center = float(at.mean())
        spread = float(np.ptp(at)) or abs(center) / 4 or 1.0
        found[column.name] = Range(center, spread, center - 3 * spread, center + 3 * spread)
    return found


def _centers(model: Any, reading: Reading) -> dict[str, Floats]:
    """Means of classes, or centers of clusters, by column; of matrices alone."""
    core = core_of(model)
    for name in ("means_", "class_means_", "theta_", "cluster_centers_", "X_offset_"):
        found = getattr(core, name, None)
        if found is not None and np.shape(found)[-1:] == (len(reading.columns),):
            means = np.atleast_2d(np.asarray(found, dtype=float))
            return {c.name: means[:, j] for j, c in enumerate(reading.columns)}
    return {}


def _values(
    rng: np.random.Generator, column: InputColumn, known: Range | None, is_matrix: bool
) -> list[Any]:
    """Values of a column; None where they are missing."""
    found: list[Any]
    if column.kind is Kind.DISCRETE:
        refused = column.unseen == "error" or column.refuses_missing
        levels = [*column.levels, *([] if refused else [UNSEEN])]
        if is_matrix:
            levels = [*column.levels, "-7"]
        odds = np.array([1.0] * len(column.levels) + [0.05] * (len(levels) - len(column.levels)))
        found = [levels[i] for i in rng.choice(len(levels), COUNT, p=odds / odds.sum())]
    elif column.kind is Kind.BOOLEAN:
        found = rng.integers(0, 2, COUNT).tolist()
    else:
        assert known is not None
        found = _numbers(rng, column, known).tolist()
    if not column.refuses_missing:
        gone = rng.random(COUNT) < 0.06
        gone[:8] = False  # some rows with every value
        found = [None if lacks else v for v, lacks in zip(found, gone, strict=True)]
    return found


def _numbers(rng: np.random.Generator, column: InputColumn, known: Range) -> Floats:
    z = rng.standard_normal(COUNT)
    x = known.center + known.spread * z
    wide = rng.random(COUNT) < 0.25
    x = np.where(wide, known.center + known.spread * z * 10.0 ** rng.uniform(-2, 2.5, COUNT), x)
    special = [known.lowest, known.highest, known.center, 0.0, *column.missing_numbers]
    if column.refuses_missing:
        special = special[:4]
    x = np.where(rng.random(COUNT) < 0.1, rng.choice(special, COUNT), x)
    x = np.where(rng.random(COUNT) < 0.01, known.center + 1e6 * known.spread * z, x)
    if known.integer:
        x = np.where(np.abs(x) < 2.0**52, np.round(x), x)
    if column.display in ("date", "datetime"):
        x = np.clip(x, FIRST_DAY, LAST_DAY)
    return x


def _near_boundaries(
    rng: np.random.Generator, model: Any, reading: Reading, columns: Mapping[str, list[Any]]
) -> pa.Table | None:
    """Rows between two that are predicted differently, ever nearer to where that changes."""
    if not hasattr(model, "classes_") or not any(
        column.kind is Kind.NUMERIC for column in reading.columns
    ):
        return None
    pairs = NEAR // len(TAKEN)
    first, second = rng.permutation(COUNT)[: 8 * pairs].reshape(2, -1)
    start = {name: [values[i] for i in first] for name, values in columns.items()}
    end = {
        c.name: [
            b if c.kind is Kind.NUMERIC and a is not None and b is not None else a
            for a, b in zip(start[c.name], (columns[c.name][i] for i in second), strict=True)
        ]
        for c in reading.columns
    }

    def predicted(rows: Mapping[str, list[Any]]) -> Any:
        return np.asarray(model.predict(reading.rows(as_table(rows, reading))))

    one, other = predicted(start), predicted(end)
    at = np.flatnonzero(one != other)[:pairs]
    if not len(at):
        return None
    start, end = (
        {name: [values[i] for i in at] for name, values in side.items()} for side in (start, end)
    )
    one, taken = one[at], []
    low, high = np.zeros(len(at)), np.ones(len(at))
    for step in range(STEPS):
        middle = (low + high) / 2
        rows = {
            c.name: [
                a + t * (b - a) if c.kind is Kind.NUMERIC and a is not None else a
                for a, b, t in zip(start[c.name], end[c.name], middle, strict=True)
            ]
            for c in reading.columns
        }
        same = predicted(rows) == one
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        if step in TAKEN:
            taken.append(as_table(rows, reading))
    return pa.concat_tables(taken)

"""Checks of an export: rows, the model's own answers, engines that run the text."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.wrapped import schema_of
from separatrix.formula.inputs import InputColumn, InputTable
from separatrix.formula.nodes import ClassFormula, Evaluation, Formula, GivenRows, formula_of
from separatrix.formula.reading import typical_points
from separatrix.messages import InputError
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.scan import rows_like
from separatrix.rows.schema import Block, Kind, Term, to_array
from separatrix.threads import one_blas_thread

# -------------------------------------------------------------------------------------------------
# Rows to check an export on, made up from what is known of the columns.
#
# Typical rows; rows far out; ends of ranges and zeros; missing values, levels that training did not
# have; and, of classifiers, rows ever nearer to a boundary between two predictions.


#: Rows in all.
COUNT = 512
#: A level that training cannot have had.
UNSEEN = "a level 'that' \"no\" training \\ had; --"
#: Steps towards a boundary that become rows.
TAKEN = (0, 2, 5, 11)


@dataclass(frozen=True)
class Range:
    """Where the values of a numeric column are."""

    center: float
    spread: float
    lowest: float
    highest: float
    integer: bool = False


def make_up_rows(
    model: Any, reading: InputTable, profiles: Sequence[ColumnProfile] = (), seed: int = 0
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


def as_table(columns: Mapping[str, Any], reading: InputTable) -> pa.Table:
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


def _ranges(
    model: Any, reading: InputTable, known: Mapping[str, ColumnProfile]
) -> dict[str, Range]:
    """Ranges by profile of the table, else by the centers that the model itself knows."""
    places = _places(model, reading)
    ranges = {}
    for column in reading.columns:
        if column.kind is Kind.DISCRETE:
            continue
        profile = known.get(column.name)
        if profile is not None and np.isfinite(profile.mean):
            spread = profile.std if np.isfinite(profile.std) and profile.std > 0 else 1.0
            ranges[column.name] = Range(
                profile.mean, spread, profile.minimum, profile.maximum, profile.integer
            )
            continue
        center, spread = places.get(column.name, (column.typical, abs(column.typical) / 4 or 1.0))
        ranges[column.name] = Range(center, spread, center - 3 * spread, center + 3 * spread)
    return ranges


def _places(model: Any, reading: InputTable) -> dict[str, tuple[float, float]]:
    """Center and spread by column, of a matrix."""
    names = [column.name for column in reading.columns]
    if reading.is_table or not names:
        return {}
    center, spread = place_of(model, typical_points(formula_of(model), len(names)), len(names))
    return dict(zip(names, zip(center.tolist(), spread.tolist(), strict=True), strict=True))


def place_of(model: Any, points: Floats | None, columns: int) -> tuple[Floats, Floats]:
    """Where the rows of the design were, and how far they spread: by moments, or by points."""
    found = _by_moments(core_of(model))
    if found is None or len(found[0]) != columns:
        if points is None:
            return np.zeros(columns), np.ones(columns)
        found = points.mean(axis=0), points.std(axis=0)
    center, spread = found
    usable = np.isfinite(spread) & (spread > 0.0)
    return center, np.where(usable, spread, np.maximum(np.abs(center), 1.0) * 0.1)


def _by_moments(core: Any) -> tuple[Floats, Floats] | None:
    """Means and standard deviations that a model has stored."""
    moments, classes = getattr(core, "moments_", None), getattr(core, "class_moments_", None)
    if moments is not None:
        weight = max(moments.weight, np.finfo(float).tiny)
        return moments.x_mean, np.sqrt(np.diag(moments.xx) / weight)
    if classes is None:
        return None
    scatter, total = np.asarray(classes.scatter), max(float(classes.weight.sum()), 1e-300)
    if classes.structure == "diagonal":
        variance = scatter.sum(axis=0) / total
    else:
        variance = (
            np.diag(scatter if classes.structure == "pooled" else scatter.sum(axis=0)) / total
        )
    return classes.mean.mean(axis=0), classes.mean.std(axis=0) + np.sqrt(variance)


def core_of(model: Any) -> Any:
    """The model within calibration, costs and averages: of several the first."""
    while True:
        if hasattr(model, "estimator_"):
            model = model.estimator_
        elif len(getattr(model, "estimators_", ())) and hasattr(model, "weights_"):
            model = model.estimators_[0]
        else:
            return model


def _values(
    rng: np.random.Generator, column: InputColumn, known: Range | None, is_matrix: bool
) -> list[Any]:
    """Values of a column; None where they are missing."""
    values: list[Any]
    if column.kind is Kind.DISCRETE:
        refused = column.unseen == "error" or column.refuses_missing
        levels = [*column.levels, *([] if refused else [UNSEEN])]
        if is_matrix:
            levels = [*column.levels, "-7"]
        odds = np.array([1.0] * len(column.levels) + [0.05] * (len(levels) - len(column.levels)))
        values = [levels[i] for i in rng.choice(len(levels), COUNT, p=odds / odds.sum())]
    elif column.kind is Kind.BOOLEAN:
        values = rng.integers(0, 2, COUNT).tolist()
    else:
        assert known is not None
        values = _numbers(rng, column, known).tolist()
    if not column.refuses_missing:
        gone = rng.random(COUNT) < 0.06
        gone[:8] = False  # some rows with every value
        values = [None if lacks else v for v, lacks in zip(values, gone, strict=True)]
    return values


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
        x = np.clip(x, -25_567, 47_482)  # days of 1900 to 2100, which every calendar has
    return x


def _near_boundaries(
    rng: np.random.Generator, model: Any, reading: InputTable, columns: Mapping[str, list[Any]]
) -> pa.Table | None:
    """Rows between two that are predicted differently, ever nearer to where that changes."""
    if not hasattr(model, "classes_") or not any(
        column.kind is Kind.NUMERIC for column in reading.columns
    ):
        return None
    pairs = 96 // len(TAKEN)  # fewer than a fifth of all rows
    first, second = rng.permutation(COUNT)[: 8 * pairs].reshape(2, -1)
    start = {name: [values[i] for i in first] for name, values in columns.items()}
    end = {
        c.name: [
            b if c.kind is Kind.NUMERIC and a is not None and b is not None else a
            for a, b in zip(start[c.name], (columns[c.name][i] for i in second), strict=True)
        ]
        for c in reading.columns
    }

    def predict(rows: Mapping[str, list[Any]]) -> Any:
        return np.asarray(model.predict(reading.rows(as_table(rows, reading))))

    point, other = predict(start), predict(end)
    at = np.flatnonzero(point != other)[:pairs]
    if not len(at):
        return None
    start, end = (
        {name: [values[i] for i in at] for name, values in side.items()} for side in (start, end)
    )
    point, taken = point[at], []
    low, high = np.zeros(len(at)), np.ones(len(at))
    for step in range(TAKEN[-1] + 1):
        middle = (low + high) / 2
        rows = {
            c.name: [
                a + t * (b - a) if c.kind is Kind.NUMERIC and a is not None else a
                for a, b, t in zip(start[c.name], end[c.name], middle, strict=True)
            ]
            for c in reading.columns
        }
        same = predict(rows) == point
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        if step in TAKEN:
            taken.append(as_table(rows, reading))
    return pa.concat_tables(taken)


# -------------------------------------------------------------------------------------------------
# Rows that were given for a check, as the columns of the model.


#: More rows than this are not checked: the first are.
MOST_ROWS = 20_000


def given_rows(rows: Any, model: Any, reading: InputTable) -> pa.Table:
    """The first rows of a table as the model reads them: numbers, truth values and levels.

    Texts in the notation of a file become the numbers they stand for, as in training.
    """
    schema = schema_of(core_of(model))
    if schema is None:
        raise InputError(
            "The model was fitted to a matrix without a table's columns.",
            remedy="Leave the rows out: some are made up.",
        )
    found: list[pa.Table] = []
    count = 0
    for block in rows_like(rows, schema).blocks():
        part = block.take(slice(0, MOST_ROWS - count))
        columns = {column.name: _given_values(part, column) for column in reading.columns}
        refused = [columns[column.name] for column in reading.columns if column.refuses_missing]
        whole = [i for i in range(part.n) if all(values[i] is not None for values in refused)]
        found.append(as_table(columns, reading).take(whole))
        count += part.n
        if count >= MOST_ROWS:
            break
    if not sum(len(row) for row in found):
        raise InputError("There are no rows to check on.")
    return pa.concat_tables(found)


def _given_values(block: Block, column: InputColumn) -> list[Any]:
    x = to_array(block.x)
    missing = block.terms.position.get(Term(column.name, missing=True))
    gone = np.zeros(block.n, dtype=bool) if missing is None else x[:, missing] != 0
    if column.kind is not Kind.DISCRETE:
        values = x[:, block.terms.position[Term(column.name)]].tolist()
    else:
        values = [None] * block.n
        for level in column.levels:
            at = block.terms.position.get(Term(column.name, level))
            if at is not None:
                for i in np.flatnonzero(x[:, at]):
                    values[i] = level
        if column.unseen == "zeros":
            values = [column.pooled if v is None else v for v in values]
    return [None if lacks else v for v, lacks in zip(values, gone, strict=True)]


# -------------------------------------------------------------------------------------------------
# The answers of the model itself, and the rows where its decision is a tie.


#: Differences of numbers that agree, relative to their size; of probabilities as they are.
TOLERANCE = 1e-9


def answers_of(model: Any, X: Any, level: float) -> dict[str, NDArray[Any]]:
    """What a model answers, by the names of outputs of a graph."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # levels that training did not have are there on purpose
        answers = {"prediction": np.asarray(model.predict(X))}
        if hasattr(model, "predict_proba"):
            answers["probabilities"] = np.asarray(model.predict_proba(X), dtype=float)
        if hasattr(model, "decision_function"):
            scores = np.asarray(model.decision_function(X))
            answers["scores"] = scores[:, None] if scores.ndim == 1 else scores
        if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
            answers["distance"] = np.asarray(model.transform(X)).min(axis=1)
        if hasattr(model, "scores_") and hasattr(model, "predict_set"):
            answers["set"] = np.asarray(model.predict_set(X, level=level))
        if hasattr(model, "guarantee") and hasattr(model, "predict_interval"):
            answers["interval"] = np.asarray(model.predict_interval(X, level=level))
        elif hasattr(model, "predictive"):
            answers |= _spread(model, X, level, several=answers["prediction"].ndim > 1)
    return answers


def _spread(model: Any, X: Any, level: float, *, several: bool) -> dict[str, NDArray[Any]]:
    """Standard deviations and intervals; nothing of a posterior too large to be stored."""
    if several:
        return {"standard_deviation": np.asarray(model.predict(X, return_std=True)[1])}
    try:
        normal = model.predictive(X)
    except InputError:
        return {}
    ends = np.asarray(normal.interval(level))
    return {"standard_deviation": np.asarray(normal.scale), "interval": ends}


def find_ties(formula: Formula, X: Any) -> NDArray[np.bool_] | None:
    """Where rounding may decide between two labels; None of a model of numbers."""
    if not isinstance(formula, ClassFormula) or formula.decided_by is None:
        return None
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        decided = np.asarray(Evaluation(GivenRows(X))(formula.decided_by).array)
    return near_ties(decided, by_sign=formula.by_sign)


def near_ties(decided: Floats, *, by_sign: bool) -> NDArray[np.bool_]:
    """Rows whose two best numbers, or whose number nearest to zero, are equal but for rounding."""
    finite = np.where(np.isfinite(decided), decided, -np.finfo(float).max)
    size = np.median(np.abs(decided[np.isfinite(decided)])) if np.isfinite(decided).any() else 1.0
    if by_sign or decided.shape[1] == 1:
        return np.asarray(np.abs(finite).min(axis=1) <= TOLERANCE * size)
    best = np.sort(finite, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] <= TOLERANCE * np.maximum(np.abs(best[:, 1]), size))


# -------------------------------------------------------------------------------------------------
# Runs what was exported: SQL in DuckDB or SQLite, Python in an interpreter of its own.


#: Rows by name of their columns.
Records = list[dict[str, Any]]

_DRIVER = (
    "import json, runpy, sys\n"
    "predict = runpy.run_path(sys.argv[1])['predict']\n"
    "rows = json.load(sys.stdin)\n"
    "json.dump([list(predict(row).values()) for row in rows], sys.stdout)\n"
)


def run_python(text: str, table: pa.Table) -> list[list[Any]]:
    """The answers of an exported module, by column, in a fresh and isolated interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"
        path.write_text(text, encoding="utf-8")
        rows = json.dumps([_plain(row) for row in table.to_pylist()])
        process = subprocess.run(
            [sys.executable, "-I", "-c", _DRIVER, str(path)],
            input=rows.encode(),
            capture_output=True,
            check=False,
        )
    if process.returncode:
        last = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return _fail_rows("Python", last[0] if last else "it ended without words")
    answers = json.loads(process.stdout)
    return [list(column) for column in zip(*answers, strict=True)]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON can hold it: dates as ISO text."""
    return {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in row.items()}


def run_duckdb(query: str, table: pa.Table, name: str, ids: int) -> list[list[Any]]:
    """The answers of a query on ``table`` under the name ``name``, by column, without ids."""
    try:
        import duckdb
    except ImportError as problem:
        raise InputError(
            "SQL is checked in DuckDB, which is not installed.",
            remedy="Run: pip install 'separatrix[sql]'",
        ) from problem

    with duckdb.connect(":memory:") as connection:
        connection.register(name, table)
        try:
            rows = connection.sql(query).fetchall()
        except duckdb.Error as problem:
            return _fail_rows("DuckDB", str(problem))
    return _by_column(sorted(rows, key=lambda row: row[0]), ids)


def run_sqlite(query: str, table: pa.Table, name: str, ids: int) -> list[list[Any]]:
    """The same in SQLite."""
    connection = sqlite3.connect(":memory:")
    try:
        columns = ", ".join(_quote(column) for column in table.column_names)
        connection.execute(f"CREATE TABLE {_quote(name)} ({columns})")
        marks = ", ".join("?" for _ in table.column_names)
        rows = [list(_plain(row).values()) for row in table.to_pylist()]
        connection.executemany(f"INSERT INTO {_quote(name)} VALUES ({marks})", rows)
        found = connection.execute(query).fetchall()
    except sqlite3.Error as problem:
        return _fail_rows("SQLite", str(problem))
    finally:
        connection.close()
    return _by_column(sorted(found, key=lambda row: row[0]), ids)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _by_column(rows: Sequence[Sequence[Any]], ids: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)][ids:]


def _fail_rows(engine: str, why: str) -> list[list[Any]]:
    raise CheckFailed(f"{engine} does not run the export ({why.splitlines()[0]}).")


# -------------------------------------------------------------------------------------------------
# Comparison of two sets of answers: equal labels, numbers to nine digits.


class CheckFailed(Exception):
    """What was written does not give the answers of the model."""


@dataclass(frozen=True)
class Check:
    """How an export was checked.

    ``rows`` is the number of rows, ``engine`` what computed the answers from the export,
    ``largest_difference`` that of numbers and probabilities, ``ties`` the number of rows whose
    label differs as two are equally good up to rounding, ``source`` where the rows come from.
    """

    rows: int
    engine: str
    largest_difference: float = 0.0
    ties: int = 0
    source: str = "rows made up from the columns of the model"

    def __str__(self) -> str:
        text = (
            f"checked on {self.rows:,} rows in {self.engine}: "
            f"largest difference {self.largest_difference:.1g}"
        )
        if self.ties:
            text += f", {self.ties} tie{'s' if self.ties > 1 else ''} decided otherwise"
        return f"{text} ({self.source})"


def compare_answers(
    names: Sequence[str],
    expected: Sequence[NDArray[Any]],
    found: Sequence[Sequence[Any]],
    engine: str,
    tie: NDArray[np.bool_] | None = None,
) -> Check:
    """The check of answers column by column; raises :class:`CheckFailed` where they differ.

    With ``tie``, the rows whose decision is a tie, the first column holds labels.
    """
    largest, ties = 0.0, 0
    for i, (name, wanted, given) in enumerate(zip(names, expected, found, strict=True)):
        if i or tie is None:
            at, difference = _compare_numbers(name, wanted, given)
            largest = max(largest, difference)
            if not difference <= TOLERANCE:
                raise CheckFailed(
                    f"{engine} gives {given[at]!r} as {name} in row {at + 1}, and the model "
                    f"{wanted[at]!r}: the export is not written."
                )
            continue
        wrong = np.array([_other(a, b) for a, b in zip(wanted.tolist(), given, strict=True)])
        ties += int((wrong & tie).sum())
        wrong &= ~tie
        if wrong.any():
            at = int(wrong.argmax())
            raise CheckFailed(
                f"{engine} gives {given[at]!r} as {name} in row {at + 1}, and the model "
                f"{wanted.tolist()[at]!r}: the export is not written."
            )
    return Check(len(expected[0]), engine, largest, ties)


def _other(a: Any, b: Any) -> bool:
    """Whether two labels differ; databases give 1 for true."""
    if isinstance(a, bool | int | float) and isinstance(b, bool | int | float):
        return float(a) != float(b)
    return bool(a != b)


def _compare_numbers(name: str, wanted: NDArray[Any], given: Sequence[Any]) -> tuple[int, float]:
    """The row of the largest difference, and that difference."""
    numbers = np.array([np.nan if v is None else float(v) for v in given])
    difference = np.where(np.isnan(numbers) & np.isnan(wanted), 0.0, np.abs(numbers - wanted))
    if not name.startswith("probability"):
        size = np.maximum(np.abs(wanted), np.nanmedian(np.abs(wanted)))
        difference = difference / np.where(size > 0, size, 1.0)
    difference = np.where(np.isnan(difference), np.inf, difference)
    index = int(difference.argmax())
    return index, float(difference[index])

"""A stored model with its study: the columns that it reads, their ranges, and rows for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.estimators.wrapped import schema_of
from separatrix.exploration.session import MODEL, Session
from separatrix.exploration.state import brief
from separatrix.exploration.table import Table
from separatrix.messages import InputError
from separatrix.rows.schema import Column, Kind, Schema, Term
from separatrix.rows.sources.new_rows import rows_like
from separatrix.storage.model_file import load, load_study

#: How dates are stored: days since 1970.
DATE = "date"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Stored:
    """A model file: the model, the one inside its calibration, its study, and its columns."""

    path: Path
    model: Any
    inner: Any
    study: Any
    schema: Schema
    columns: tuple[dict[str, Any], ...]

    @property
    def reference(self) -> Row:
        """The row of column means (middles of ranges where none are stored) and frequent levels."""
        return tuple(column["start"] for column in self.columns)

    @property
    def is_matrix(self) -> bool:
        """Whether the model reads rows of numbers, by position."""
        encoding = getattr(self.inner, "encoding_", None)
        return encoding is not None and bool(encoding.is_identity)

    def rows(self, rows: Sequence[Row]) -> Any:
        """Rows as the model takes them: an array, or ``Rows`` under its schema."""
        given = self._given(rows)
        return given if self.is_matrix else rows_like(given, self.schema)

    def _given(self, rows: Sequence[Row]) -> Any:
        """An array, or columns by name."""
        if self.is_matrix:
            return np.array(rows, dtype=float)
        named = zip(self.schema.columns, zip(*rows, strict=True), strict=True)
        return {column.name: [_written(column, v) for v in found] for column, found in named}

    def python(self, row: Row) -> str:
        """The Python that loads the model and predicts the row."""
        given = self._given([row])
        text = repr(given.tolist()) if self.is_matrix else repr(given)
        lines = ["import separatrix as sx", "", f"model = sx.load({str(self.path)!r})"]
        lines += [f"row = {text}", "prediction = model.predict(row)[0]"]
        if hasattr(self.model, "predict_proba"):
            lines.append("probabilities = model.predict_proba(row)[0]")
        return "\n".join([*lines, "print(prediction)"])


def stored(session: Session) -> Stored:
    """The model of the session, read once, without executing anything in its file."""
    if session.model is None:
        raise InputError(
            "this page has no model.", remedy="Start it as separatrix explore model.sx."
        )
    return session.once(("stored model", session.model), lambda: _read(session))


def _read(session: Session) -> Stored:
    path = Path(str(session.model))
    path = path / MODEL if path.is_dir() else path
    model, study = load(path), load_study(path)
    schema = schema_of(model)
    if schema is None or not hasattr(model, "predict"):
        raise InputError(f"{type(model).__name__} does not predict from columns.")
    inner = model
    while hasattr(inner, "estimator_"):
        inner = inner.estimator_
    columns = _columns(schema, inner, study, session.shown)
    return Stored(path, model, inner, study, schema, columns)


def _columns(
    schema: Schema, inner: Any, study: Any, table: Table | None
) -> tuple[dict[str, Any], ...]:
    """Name, kind, range or levels, and start of every column."""
    known = {column.name: column for column in getattr(study, "columns", ())}
    ranges = _ranges(inner, schema)
    return tuple(
        _column(column, known.get(column.name), table, ranges) for column in schema.columns
    )


def _column(
    column: Column, known: Any, table: Table | None, ranges: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    name = column.name
    shown = None if table is None else table.columns.get(name)
    if column.kind is not Kind.NUMERIC:
        boolean = column.kind is Kind.BOOLEAN
        levels = ["false", "true"] if boolean else list(column.levels)
        counts = getattr(known, "levels", None) or {}
        start = max(levels, key=lambda level: counts.get(level, 0)) if counts else levels[0]
        return {"name": name, "kind": "level", "levels": levels, "start": start}
    if known is not None and known.minimum is not None:
        low, high, mean = known.minimum, known.maximum, known.mean
        whole = bool(known.integer)
    elif shown is not None and shown.dtype.kind == "f":
        low, high, mean = (float(f(shown)) for f in (np.nanmin, np.nanmax, np.nanmean))
        whole = False
    else:
        middle = column.placeholder
        around = abs(middle) or 3.0  # nothing is known but a typical value
        low, high = ranges.get(name, (middle - around, middle + around))
        mean, whole = (low + high) / 2, False
    mean = round(mean) if whole else float(f"{mean:.6g}")
    kind = {"kind": "number", "whole": whole, "date": column.display == DATE}
    return {"name": name, **kind, "low": low, "high": max(high, low + 1e-9), "start": mean}


def _ranges(inner: Any, schema: Schema) -> dict[str, tuple[float, float]]:
    """Ranges of columns by what the model holds: moments, or training rows."""
    encoding, moments = getattr(inner, "encoding_", None), getattr(inner, "moments_", None)
    if encoding is None:
        return {}
    if moments is not None and len(moments.x_mean) == len(encoding.terms):
        deviation = np.sqrt(np.diag(moments.xx) / moments.weight)
        low, high = moments.x_mean - 2.5 * deviation, moments.x_mean + 2.5 * deviation
    elif hasattr(inner, "center_") and len(inner.center_) == len(encoding.terms):  # a polynomial
        low, high = inner.center_ - inner.scale_, inner.center_ + inner.scale_
    else:
        points: Any = getattr(inner, "points_", None)
        expansions = getattr(inner, "expansions_", ())
        if points is None and len(expansions):
            points = np.vstack([np.asarray(part.centers) for part in expansions])
        wide = isinstance(points, np.ndarray) and points.ndim == 2 and len(points) > 0
        if not wide or points.shape[1] != len(encoding.terms):
            return {}
        standardizer = getattr(inner, "standardizer_", None)
        if standardizer is not None:
            points = standardizer.inverse_transform(points)
        low, high = points.min(axis=0), points.max(axis=0)
    at = {term: i for i, term in enumerate(encoding.terms)}
    terms = [(column.name, at.get(Term(column.name))) for column in schema.columns]
    return {name: (float(low[i]), float(high[i])) for name, i in terms if i is not None}


def _means(inner: Any, schema: Schema) -> dict[str, float]:
    """Means of the training rows, where the model holds them."""
    encoding, moments = getattr(inner, "encoding_", None), getattr(inner, "moments_", None)
    if encoding is None:
        return {}
    found = {name: float(value) for name, value in encoding.fill_values.items()}
    holder = getattr(inner, "standardizer_", None) if moments is None else None
    mean = moments.x_mean if moments is not None else getattr(holder, "mean", None)
    if mean is None or len(mean) != len(encoding.terms):
        return found
    at = {term: i for i, term in enumerate(encoding.terms)}
    terms = [(column.name, at.get(Term(column.name))) for column in schema.columns]
    return {**{name: float(mean[i]) for name, i in terms if i is not None}, **found}


def _written(column: Column, value: Any) -> Any:
    """A value as a table has it."""
    if value is None:
        return None
    if column.kind is Kind.BOOLEAN:
        return value == "true"
    if column.display == DATE:
        return str(np.datetime64(round(value), "D"))
    return value


def row_of(found: Stored, values: Sequence[Any]) -> Row:
    """A row of the page, checked value by value; the reference where none is given."""
    if not values:
        return found.reference
    if len(values) != len(found.columns):
        raise InputError(f"a row of this model has {len(found.columns)} values.")
    return tuple(_checked(c, v) for c, v in zip(found.columns, values, strict=True))


def _checked(column: Mapping[str, Any], value: Any) -> Any:
    if value is None:
        return None
    if column["kind"] == "level":
        if value not in column["levels"]:
            raise InputError(f"{column['name']} has no level {brief(value)}.")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise InputError(f"{column['name']} is {brief(value)}, not a number.")
    return float(value)

"""``export_model``: a fitted model in another language, checked against the model at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from separatrix.export.check.compare import Check, CheckFailed
from separatrix.export.options import TARGETS, checked_options
from separatrix.storage.files import atomic_file

__all__ = ["TARGETS", "Export", "export_model"]


@dataclass(frozen=True)
class Export:
    """A model in another language.

    Parameters
    ----------
    to : str
        The language: ``"sql"``, ``"python"``, ``"json"`` or ``"onnx"``.
    content : str or bytes
        What is written to a file: text, or the bytes of an ONNX graph.
    check : Check
        On how many rows it was compared with the model, by what, and the largest difference.
    notes : tuple of str
        What a reader should know.

    See Also
    --------
    export_model : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.MeanRegressor().fit(np.zeros((2, 1)), [1.0, 2.0])
    >>> sx.export_model(model, "python").check.engine
    'Python'
    """

    to: str
    content: str | bytes
    check: Check
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The export as plain values, the bytes of a graph left out."""
        check = {**asdict(self.check), "words": str(self.check)}
        text = {"content": self.content} if isinstance(self.content, str) else {}
        return {"to": self.to, **text, "check": check, "notes": list(self.notes)}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the content to a file, whole or not at all."""
        data = self.content.encode() if isinstance(self.content, str) else self.content
        with atomic_file(path) as file:
            file.write(data)


def export_model(
    model: Any,
    to: str = "sql",
    *,
    dialect: str = "duckdb",
    table: str = "rows",
    ids: Sequence[str] = (),
    level: float = 0.95,
    rows: Any = None,
) -> Export:
    """Write a fitted model in another language, and check that it gives the same answers.

    The formulas of the model, with the encoding of its columns, missing values, levels,
    calibration and costs, become one SQL query, a Python module without dependencies, a JSON
    document or an ONNX graph. The result is run on rows of the model's columns and compared with
    the model: labels are equal, numbers agree to 1e-9.

    Parameters
    ----------
    model : estimator, str or path-like
        A fitted model, or a file written by :func:`separatrix.save` or ``separatrix fit``.
    to : {"sql", "python", "json", "onnx"}, default="sql"
        The language.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "spark"}, default="duckdb"
        That of SQL. Queries for DuckDB and SQLite are run; those for the others are parsed back,
        and their formulas are run in DuckDB.
    table : str, default="rows"
        The table that the query reads; ``schema.table`` names a schema too.
    ids : sequence of str, default=()
        Columns of the table that the query copies beside the answer.
    level : float, default=0.95
        Level of the intervals of models with predictive distributions.
    rows : table, data frame or path, default=None
        Rows to check on; None makes up 512 rows from the columns of the model, with missing
        values, levels that training did not have and extremes.

    Returns
    -------
    Export
        ``content``, ``check`` and ``write(path)``.

    Raises
    ------
    CheckFailed
        If the export and the model differ.

    See Also
    --------
    save : Store a model for this library.
    load : Load it again.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> model = sx.LinearRegression().fit(np.arange(4.0)[:, None], [1.0, 3.0, 5.0, 7.0])
    >>> exported = sx.export_model(model, "python")
    >>> exported.check.rows, exported.check.largest_difference < 1e-9
    (512, True)
    >>> "def predict(row):" in exported.content
    True
    """
    options = checked_options(to, dialect, table, ids, level)
    fitted, profiles = _loaded(model)
    if to == "onnx":
        return _onnx(fitted, options.level, profiles, rows)
    from separatrix.export.texts import exported_text

    return Export(to, *exported_text(fitted, profiles, options, rows))


def _onnx(model: Any, level: float, profiles: Any, rows: Any) -> Export:
    """The graph of a model, checked in ONNX Runtime."""
    from separatrix.export.onnx.export import onnx_file

    found = onnx_file(model, level=level, profiles=profiles, rows=rows)
    agreement = found.agreement
    if not agreement.holds:
        raise CheckFailed(f"{agreement} The export is not written.")
    largest = max(agreement.error.values(), default=0.0)
    check = Check(agreement.rows, "ONNX Runtime", float(largest), agreement.ties)
    if rows is not None:
        check = replace(check, source="the rows given")
    return Export("onnx", found.content, check, found.notes)


def _loaded(model: Any) -> tuple[Any, Any]:
    """A fitted model, and the profiles of its columns where a study is stored with it."""
    if not isinstance(model, str | os.PathLike):
        return model, ()
    from separatrix.storage import load, load_study

    study = load_study(model)
    return load(model), getattr(study, "columns", ())

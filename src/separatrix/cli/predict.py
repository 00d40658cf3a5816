"""``separatrix predict``: a stored model on new rows, which keep their order and their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from separatrix.cli.options import json_option, table_at
from separatrix.cli.output import print_json, say


@click.command(short_help="Apply a stored model to new rows.")
@click.argument("model")
@click.argument("table")
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write, not the screen.")
@json_option
def predict(model: str, table: str, out: Path | None, as_json: bool) -> None:
    """Predict every row of TABLE with MODEL (a model.sx file); CSV to standard output.

    Columns are matched by name: their order does not matter, further ones are ignored, a missing
    one is an error that names it.

    \b
    Try:
      separatrix predict diabetes-separatrix/model.sx sample:diabetes
      separatrix predict diabetes-separatrix/model.sx new.csv --out predicted.csv
    """
    from separatrix.cli.results import as_csv
    from separatrix.storage import load
    from separatrix.study.document import plain

    fitted = load(model)
    header, columns = _predicted(fitted, table, quiet=as_json)
    if as_json:
        names = dict(zip(header, (plain(c) for c in columns), strict=True))
        print_json({"model": type(fitted).__name__, "predictions": names})
        return
    text = as_csv(header, columns)
    if out is None:
        click.echo(text, nl=False)
        return
    from separatrix.storage.files import write_text

    write_text(out, text)
    say(f"Wrote {len(columns[0])} predictions to {out}")


def _predicted(fitted: Any, table: str, *, quiet: bool) -> tuple[list[str], list[list[Any]]]:
    """Header and columns: the row's number in the table, the prediction, the scores by class."""
    import warnings

    import numpy as np

    from separatrix.messages import Notice
    from separatrix.rows.scan import rows_like
    from separatrix.study.document import plain

    rows = rows_like(table_at(table), fitted.encoding_.schema)
    for remark in _remarks(rows):
        say(f"· {remark}", quiet=quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        memory = rows.read()
        predicted = fitted.predict(memory)
    for text in dict.fromkeys(str(w.message) for w in caught):
        say(f"! {text}", quiet=quiet)
    header, columns = ["row", "predicted"], [plain(memory.row_ids), plain(predicted)]
    if hasattr(fitted, "decision_function"):
        scores = np.asarray(fitted.decision_function(memory), dtype=float)
        scores = scores.reshape(len(predicted), -1)
        several = scores.shape[1] == len(fitted.classes_)
        classes = fitted.classes_ if several else fitted.classes_[-1:]
        header += [f"score {name}" for name in classes]
        columns += [plain(column) for column in scores.T]
    return header, columns


def _remarks(rows: Any) -> list[str]:
    """What differs between the columns of the new table and those of training."""
    remarks = []
    if rows.ignored:
        shown = ", ".join(rows.ignored[:6]) + (", …" if len(rows.ignored) > 6 else "")
        remarks.append(f"Not used by the model: {shown}.")
    wanted = rows.schema.names
    found = [name for name in rows.source.arrow.names if name in wanted]
    if found != list(wanted):
        remarks.append("The columns stand in another order than in training; matched by name.")
    return remarks

"""``separatrix predict``: predictions for new rows, in their order and with their ids."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from separatrix.cli.ids import TAKEN, TAKEN_BY_CLUSTERS, Ids, copied_columns
from separatrix.cli.options import as_written, json_option, table_at, text_options
from separatrix.cli.output import print_json, say
from separatrix.cli.places import ready_file
from separatrix.messages import InputError


@click.command(short_help="Apply a stored model to new rows.")
@click.argument("model")
@click.argument("table")
@click.option(
    "--out", type=click.Path(path_type=Path), help="CSV file to write instead of standard output."
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Copy this column beside the predictions. Repeatable.",
)
@text_options
@json_option
def predict(
    model: str,
    table: str,
    out: Path | None,
    keep: tuple[str, ...],
    as_json: bool,
    **written: Any,
) -> None:
    """Predict every row of TABLE with MODEL (a model.sx file); CSV to standard output.

    Columns are matched by name: their order does not matter, other columns are ignored, and a
    missing one is an error. Columns called id, or ending in it, are copied beside the
    predictions. Numbers, dates and missing values are read as they were written in training.

    \b
    Try:
      separatrix predict diabetes-separatrix/model.sx sample:diabetes
      separatrix predict diabetes-separatrix/model.sx new.csv --out predicted.csv
    """
    try:
        _predict(model, table, out, keep, as_json, written)
    except InputError as problem:
        if problem.remedy is None or "kinds=" not in problem.remedy:
            raise
        place: Any = {"file": problem.file, "row": problem.row, "column": problem.column}
        raise InputError(  # how a column is read was fixed in training
            problem.what, **place, remedy="Correct the value, or leave the cell empty."
        ) from problem


def _predict(
    model: str,
    table: str,
    out: Path | None,
    keep: tuple[str, ...],
    as_json: bool,
    written: dict[str, Any],
) -> None:
    if out is not None:
        ready_file(out)
    from sklearn.base import is_clusterer

    from separatrix.estimators.wrapped import schema_of
    from separatrix.rows.notations import options
    from separatrix.rows.scan import rows_like
    from separatrix.storage import load

    fitted = load(model)
    schema = schema_of(fitted)
    if hasattr(fitted, "dendrogram_"):
        raise InputError(
            "holds a dendrogram, which does not assign new rows.",
            file=model,
            remedy="Cluster again with --method kmeans, kmedoids or kernel.",
        )
    if not hasattr(fitted, "predict") or schema is None:
        raise InputError(
            f"holds a {type(fitted).__name__}, which does not predict from tables.",
            file=model,
            remedy="Name a model.sx file that separatrix fit or cluster wrote.",
        )
    rows: Any = rows_like(table_at(table), schema, text=options.text_options(**as_written(written)))
    answer = "cluster" if is_clusterer(fitted) else "predicted"
    taken = TAKEN_BY_CLUSTERS if answer == "cluster" else TAKEN
    ids = Ids(rows.source, copied_columns(rows.source.arrow.names, keep, taken=taken))
    for remark in _remarks(rows, ids.columns):
        say(f"· {remark}", quiet=as_json)
    extra = _extra(fitted)
    header = ["row", *ids.columns, answer, *extra.headings]
    if as_json:
        blocks = list(_predicted(fitted, rows, ids, extra))
        columns = [[v for block in blocks for v in block[j]] for j in range(len(header))]
        names = dict(zip(header, columns, strict=True))
        print_json({"model": type(fitted).__name__, "predictions": names})
        return
    from separatrix.cli.results import as_csv

    count = 0
    with _sink(out) as write:
        for columns in _predicted(fitted, rows, ids, extra):
            write(as_csv(columns, header=None if count else header))
            count += len(columns[0])
    if out is not None:
        say(f"Wrote {count} predictions to {out}")


@contextmanager
def _sink(out: Path | None) -> Iterator[Callable[[str], Any]]:
    """Somewhere to write text: standard output, or a file that is whole or absent."""
    if out is None:
        yield lambda text: click.echo(text, nl=False)
        return
    from separatrix.storage.files import atomic_file

    with atomic_file(out) as file:
        yield lambda text: file.write(text.encode())


@dataclass(frozen=True)
class Extra:
    """Columns beside the predictions: their headings, and their values for some rows."""

    headings: list[str]
    values: Callable[[Any], Any] | None = None


def _extra(fitted: Any) -> Extra:
    """Probabilities of a classifier, or its scores; the distance to the center of a cluster.

    Methods are optional in scikit-learn's interface, so they are looked for.
    """
    from sklearn.base import is_classifier, is_clusterer

    from separatrix.cli.results import class_headings

    if (
        is_clusterer(fitted)
        and hasattr(fitted, "cluster_centers_")
        and hasattr(fitted, "transform")
    ):
        return Extra(["distance"], lambda rows: fitted.transform(rows).min(axis=1, keepdims=True))
    if not is_classifier(fitted):
        return Extra([])
    classes = [str(name) for name in fitted.classes_]
    if hasattr(fitted, "predict_proba"):
        return Extra(class_headings("probability", classes, len(classes)), fitted.predict_proba)
    if not hasattr(fitted, "decision_function"):
        return Extra([])
    count = len(classes) if len(classes) > 2 else 1
    return Extra(class_headings("score", classes, count), fitted.decision_function)


def _predicted(fitted: Any, rows: Any, ids: Ids, extra: Extra) -> Iterator[list[list[Any]]]:
    """Block by block: row number in the table, ids, prediction, and the extra columns."""
    import numpy as np

    from separatrix.messages import SeparatrixWarning
    from separatrix.rows.rows import InMemory
    from separatrix.study.document import plain
    from separatrix.threads import one_blas_thread

    done = 0
    shown: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)
        for block in rows.blocks():
            numbers = np.arange(done + 1, done + block.n + 1)
            piece = InMemory(rows.schema, block, numbers)
            with one_blas_thread():  # the same bits whatever the number of processors
                columns = [plain(numbers), *ids.take(block.n), plain(fitted.predict(piece))]
                if extra.values is not None:
                    values = np.asarray(extra.values(piece), dtype=float).reshape(block.n, -1)
                    columns += [plain(column) for column in values.T]
            done += block.n
            yield columns
            for text in {str(w.message) for w in caught} - shown:
                shown.add(text)
                say(f"! {text}")
            caught.clear()


def _remarks(rows: Any, copied: list[str]) -> list[str]:
    """What differs between the columns of the new table and those of training."""
    remarks = []
    unused = [name for name in rows.ignored if name not in copied]
    if unused:
        shown = ", ".join(unused[:6]) + (", …" if len(unused) > 6 else "")
        remarks.append(f"Columns that the model does not use: {shown} (to copy one: --keep NAME).")
    if copied:
        remarks.append(f"Columns copied beside the predictions: {', '.join(copied)}.")
    wanted = rows.schema.names
    found = [name for name in rows.source.arrow.names if name in wanted]
    if found != list(wanted):
        remarks.append(
            "The columns are in a different order than in training; they are matched by name."
        )
    return remarks

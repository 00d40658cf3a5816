"""``separatrix predict``: predictions for new rows, in their order and with their ids."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from separatrix.cli.distributed.option import cluster_option, travel_document, traveled
from separatrix.cli.ids import ALL, Ids, copied_columns
from separatrix.cli.models.beside import Extra, guaranteed_columns, own_columns
from separatrix.cli.options import (
    as_written,
    json_option,
    level_option,
    table_at,
    text_options,
    with_flags,
)
from separatrix.cli.output import print_json, say
from separatrix.cli.places import MODEL
from separatrix.cli.prediction_file import file_at, rows_to
from separatrix.messages import InputError


@click.command(short_help="Apply a stored model to new rows.")
@click.argument("model")
@click.argument("table")
@click.option(
    "--out",
    metavar="FILE",
    help="CSV or Parquet file (by its name), or a directory, instead of standard output.",
)
@click.option(
    "--keep",
    multiple=True,
    is_flag=False,
    flag_value=ALL,
    metavar="[COLUMN]",
    help="Copy this column beside the predictions; without a name, every column. Repeatable.",
)
@click.option(
    "--unseen",
    type=click.Choice(["missing", "zeros", "error"]),
    help="A level that training did not have; else as the model was fitted (missing).",
)
@level_option
@text_options
@cluster_option
@json_option
def predict(
    model: str,
    table: str,
    out: str | None,
    keep: tuple[str, ...],
    unseen: str | None,
    level: float,
    cluster: str | None,
    as_json: bool,
    **written: Any,
) -> None:
    """Predict every row of TABLE with MODEL, a model.sx file or the directory that contains it.

    CSV to standard output, or to a file. Columns are matched by name: their order does not matter,
    other columns are ignored, and a missing one is an error. Columns called id, or ending in it,
    are copied beside the predictions. Models with predictive distributions (bayes, gp) add the
    lower and the upper end of an interval. With --level every model that separatrix fit wrote adds
    a guaranteed interval, or set of labels ("a|b"), from the test rows of its study. Numbers, dates
    and missing values are read as they were written in training.

    \b
    Try:
      separatrix predict diabetes-separatrix sample:diabetes
      separatrix predict diabetes-separatrix new.csv --out predicted.csv
      separatrix predict diabetes-separatrix new.csv --level 0.9
      separatrix predict diabetes-separatrix new.csv --out predicted.parquet --keep
    """
    try:
        file = file_at(out)
        fitted, schema = stored_model(model)
        from separatrix.rows.notations.options import text_options as checked
        from separatrix.rows.scan import rows_like

        text = checked(**as_written(written))
        rows: Any = rows_like(table_at(table), schema, unseen=unseen, text=text)
        if cluster is not None:
            from separatrix.rows.distributed.files import read_by_workers

            rows = read_by_workers(rows, cluster)
        extra = own_columns(fitted, level)
        if click.get_current_context().get_parameter_source("level") is ParameterSource.COMMANDLINE:
            extra = extra.joined(guaranteed_columns(model, fitted, level, quiet=as_json))
        _predict(fitted, rows, file, keep, extra, as_json)
    except InputError as problem:
        if problem.remedy is None or "kinds=" not in problem.remedy:
            raise
        place: Any = {"file": problem.file, "row": problem.row, "column": problem.column}
        raise InputError(  # how a column is read was fixed in training
            problem.what, **place, remedy="Correct the value, or leave the cell empty."
        ) from problem


def _predict(
    fitted: Any, rows: Any, out: Path | None, keep: tuple[str, ...], extra: Extra, as_json: bool
) -> None:
    from sklearn.base import is_clusterer

    answer = "cluster" if is_clusterer(fitted) else "predicted"
    before, after = ["row"], [answer, *extra.all_headings]
    names = rows.source.arrow.names
    ids = Ids(rows.source, copied_columns(names, keep, taken=[*before, *after]))
    for remark in _remarks(rows, ids.columns, everything=ALL in keep):
        say(f"· {remark}", quiet=as_json)
    warned: list[str] = []
    predicted = _predicted(fitted, rows, extra, warned, quiet=as_json)
    if as_json and out is None:
        found: list[Any] = [[] for _ in (*before, *ids.columns, *after)]
        for first, last, n in predicted:
            for column, values in zip(found, _plain(first, ids.take(n), last), strict=True):
                column += values
        named = dict(zip([*before, *ids.columns, *after], found, strict=True))
        about = {"predictions": named, "warnings": warned, **travel_document(rows)}
        print_json({"model": type(fitted).__name__, **about})
        return
    count = 0
    with rows_to(out, before, ids, after) as write:
        for first, last, n in predicted:
            write(first, last, n)
            count += n
    if as_json:
        about = {"out": str(out), "rows": count, "warnings": warned, **travel_document(rows)}
        print_json({"model": type(fitted).__name__, **about})
        return
    for sentence in traveled(rows):
        say(f"· {sentence}")
    if out is not None:
        say(f"Wrote {count:,} predictions to {out}")


def _plain(first: list[Any], copied: list[list[Any]], last: list[Any]) -> list[list[Any]]:
    from separatrix.study.document import plain

    return [*map(plain, first), *copied, *map(plain, last)]


def stored_model(model: str) -> tuple[Any, Any]:
    """A stored model that predicts from tables, and the schema of its training rows."""
    from separatrix.estimators.wrapped import schema_of
    from separatrix.storage import load

    file = Path(model)
    if file.is_dir():
        file = file / MODEL
        if not file.exists():
            raise InputError(
                f"contains no {MODEL}.",
                file=model,
                remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
            )
    fitted = load(file)
    schema = schema_of(fitted)
    if hasattr(fitted, "dendrogram_"):
        raise InputError(
            "holds a dendrogram, which does not assign new rows.",
            file=str(file),
            remedy="Cluster again with --method kmeans, kmedoids or kernel.",
        )
    if not hasattr(fitted, "predict") or schema is None:
        raise InputError(
            f"holds a {type(fitted).__name__}, which does not predict from tables.",
            file=str(file),
            remedy=f"Name a {MODEL} file that separatrix fit or cluster wrote.",
        )
    return fitted, schema


def _predicted(
    fitted: Any, rows: Any, extra: Extra, warned: list[str], *, quiet: bool
) -> Iterator[tuple[list[Any], list[Any], int]]:
    """Block by block: row numbers in the table, then prediction and extra columns, and how many.

    Warnings are said once each, as they come, and added to ``warned``.
    """
    import numpy as np

    from separatrix.messages import SeparatrixWarning

    done = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)

        def say_new() -> None:
            for text in dict.fromkeys(str(w.message) for w in caught):
                if text not in warned:
                    warned.append(text)
                    say(f"! {with_flags(text)}", quiet=quiet)
            caught.clear()

        for n, last in rows.each(_answer(fitted, rows.schema, extra)):
            done += n
            yield [np.arange(done - n + 1, done + 1)], last, n
            say_new()
        say_new()  # some come after the last row


def _answer(fitted: Any, schema: Any, extra: Extra) -> Callable[[Any], tuple[int, list[Any]]]:
    """Predictions for a batch where it is read: how many rows, and their columns."""

    def answer(decoded: Any) -> tuple[int, list[Any]]:
        from separatrix.rows.rows import InMemory
        from separatrix.threads import one_blas_thread

        n, piece = decoded.block.n, InMemory(schema, decoded.block)
        with one_blas_thread():  # the same bits whatever the number of processors
            last = [fitted.predict(piece), *extra.columns(piece)]
        return n, last

    return answer


def _remarks(rows: Any, copied: list[str], *, everything: bool) -> list[str]:
    """What differs between the columns of the new table and those of training."""
    remarks = []
    names = rows.source.arrow.names
    if everything:
        taken = [repr(name) for name in names if name not in copied]
        if taken:
            remarks.append(f"Not copied, as the result has a column so named: {', '.join(taken)}.")
    else:
        unused = [name for name in rows.ignored if name not in copied]
        if unused:
            shown = ", ".join(unused[:6]) + (", …" if len(unused) > 6 else "")
            remarks.append(f"Columns that the model does not use: {shown} (to copy all: --keep).")
        if copied:
            remarks.append(f"Columns copied beside the predictions: {', '.join(copied)}.")
    wanted = rows.schema.names
    found = [name for name in names if name in wanted]
    if found != list(wanted):
        remarks.append(
            "The columns are in a different order than in training; they are matched by name."
        )
    return remarks

"""``separatrix predict`` and ``query``: answers of a stored model, and the rows worth a label."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from separatrix.cli import options, output, places
from separatrix.cli.ids import ALL, Ids, choose_copied
from separatrix.messages import InputError

if TYPE_CHECKING:
    from separatrix.study.answers import AnswerColumns


@click.command(short_help="Apply a stored model to new rows.")
@click.argument("model")
@click.argument("table")
@click.option(
    "--out",
    metavar="FILE",
    help="CSV or Parquet file (by its name), or a directory, instead of standard output. With "
    "--cluster, a directory or an address as s3://bucket/new/: workers write Parquet files there.",
)
@options.keep_option("predictions")
@options.unseen_option
@click.option(
    "--extrapolation",
    is_flag=True,
    help="Mark rows beyond the ranges or levels of the training rows.",
)
@options.explain_option
@options.level_option
@options.text_options
@options.cluster_option
@options.json_option
def predict(
    model: str,
    table: str,
    out: str | None,
    keep: tuple[str, ...],
    unseen: str | None,
    extrapolation: bool,
    effects: int | None,
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
    a conformal interval, or set of labels ("a|b"), from the test rows of its study. Rows beyond the
    ranges of the training rows are counted; --extrapolation marks them. --explain adds the columns
    that moved each prediction most. Numbers, dates and missing values are read as in training.

    \b
    Try:
      separatrix predict diabetes-separatrix sample:diabetes
      separatrix predict diabetes-separatrix new.csv --out predicted.csv
      separatrix predict diabetes-separatrix new.csv --level 0.9
      separatrix predict diabetes-separatrix sample:diabetes --explain
      separatrix predict diabetes-separatrix new.csv --out predicted.parquet --keep
    """
    try:
        from separatrix.cli.partitions import is_folder
        from separatrix.cli.targets import studies_in
        from separatrix.rows.notations import text_options as checked
        from separatrix.rows.scan import rows_like
        from separatrix.study.answers import answer_columns, load_predictor

        studies = studies_in(model)
        folder = out if cluster is not None and is_folder(out) else None
        file = None if folder else file_at(out)
        text = checked(**options.as_written(written))
        source = click.get_current_context().get_parameter_source("level")
        wanted: dict[str, Any] = {
            "level": level,
            "conformal": source is ParameterSource.COMMANDLINE,
            "extrapolation": extrapolation,
            "effects": effects or 0,
        }
        if studies:
            if cluster is not None:
                raise InputError("the models of several targets predict without --cluster.")
            reading = {"unseen": unseen, "text": text}
            _predict_targets(studies, table, reading, wanted, file, keep, as_json)
            return
        fitted, schema = load_predictor(model)
        rows: Any = rows_like(options.table_at(table), schema, unseen=unseen, text=text)
        if cluster is not None:
            from separatrix.rows.distributed import read_by_workers

            rows = read_by_workers(rows, cluster)
        answers = answer_columns(model, fitted, schema, **wanted)
        for remark in answers.all_remarks:
            output.say(f"· {remark}", quiet=as_json)
        if folder:
            _predict_parts(fitted, rows, folder, keep, answers, as_json)
        else:
            _predict(fitted, rows, file, keep, answers, as_json)
    except InputError as problem:
        if problem.remedy is None or "kinds=" not in problem.remedy:
            raise
        place: Any = {"file": problem.file, "row": problem.row, "column": problem.column}
        raise InputError(  # how a column is read was fixed in training
            problem.what, **place, remedy="Correct the value, or leave the cell empty."
        ) from problem


def _predict(
    fitted: Any,
    rows: Any,
    out: Path | None,
    keep: tuple[str, ...],
    answers: AnswerColumns,
    as_json: bool,
) -> None:
    before, after = ["row"], answers.all_headings
    names = rows.source.arrow.names
    ids = Ids(rows.source, choose_copied(names, keep, taken=[*before, *after]))
    for remark in _remarks(rows, ids.columns, everything=ALL in keep):
        output.say(f"· {remark}", quiet=as_json)
    warned: list[str] = []
    beyond: Counter[str] = Counter()
    predicted = _predict_batches(fitted, rows, answers, warned, beyond, quiet=as_json)
    if as_json and out is None:
        columns: list[Any] = [[] for _ in (*before, *ids.columns, *after)]
        for first, last, n in predicted:
            for column, values in zip(columns, _plain(first, ids.take(n), last), strict=True):
                column += values
        named = dict(zip([*before, *ids.columns, *after], columns, strict=True))
        about = {
            "predictions": named,
            "warnings": warned,
            **_beyond_document(fitted, beyond),
            **options.travel_document(rows),
        }
        output.print_json({"model": type(fitted).__name__, **about})
        return
    count = 0
    with rows_to(out, before, ids, after) as write:
        for first, last, n in predicted:
            write(first, last, n)
            count += n
    if as_json:
        about = {
            "out": str(out),
            "rows": count,
            "warnings": warned,
            **_beyond_document(fitted, beyond),
            **options.travel_document(rows),
        }
        output.print_json({"model": type(fitted).__name__, **about})
        return
    if beyond:
        output.say(f"! {_describe_beyond(beyond, answers)}")
    for sentence in options.describe_travel(rows):
        output.say(f"· {sentence}")
    if out is not None:
        output.say(f"Wrote {count:,} predictions to {out}")


def _predict_parts(
    fitted: Any,
    rows: Any,
    folder: str,
    keep: tuple[str, ...],
    answers: AnswerColumns,
    as_json: bool,
) -> None:
    """Let the workers of a cluster write the predictions of the rows that they read."""
    from separatrix.cli.partitions import write_parts
    from separatrix.formatting import plural

    names = answers.all_headings
    ids = choose_copied(rows.source.arrow.names, keep, taken=names)
    for remark in _remarks(rows, ids, everything=ALL in keep):
        output.say(f"· {remark}", quiet=as_json)
    answer, model = _answer(fitted, rows.schema, answers), type(fitted).__name__

    def all_rows(decoded: Any) -> tuple[Any, int, list[Any], dict[str, int]]:
        n, columns, outside = answer(decoded)
        return range(n), n, columns, outside

    parts = write_parts(rows, folder, all_rows, ids, names, {"model": model})
    beyond = sum((part.counts for part in parts), Counter[str]())
    count = sum(part.rows for part in parts)
    warned = list(dict.fromkeys(text for part in parts for text in part.warnings))
    if as_json:
        about = {"out": folder, "rows": count, "parts": len(parts), "warnings": warned}
        about |= {**_beyond_document(fitted, beyond), **options.travel_document(rows)}
        output.print_json({"model": model, **about})
        return
    for text in warned:
        output.say(f"! {options.with_flags(text)}")
    if beyond:
        output.say(f"! {_describe_beyond(beyond, answers)}")
    for sentence in options.describe_travel(rows):
        output.say(f"· {sentence}")
    output.say(f"Wrote {count:,} predictions in {plural(len(parts), 'file')} to {folder}")


def _predict_targets(
    studies: dict[str, Path],
    table: str,
    reading: dict[str, Any],
    wanted: dict[str, Any],
    out: Path | None,
    keep: tuple[str, ...],
    as_json: bool,
) -> None:
    """The answers of the models of several targets, side by side."""
    import numpy as np

    from separatrix.rows.scan import rows_like
    from separatrix.study.answers import answer_columns, load_predictor

    columns: dict[str, list[Any]] = {}
    warned: list[str] = []
    n, rows = 0, None
    for target, place in studies.items():
        fitted, schema = load_predictor(place)
        answers = answer_columns(place, fitted, schema, **wanted)
        for remark in answers.all_remarks:
            output.say(f"· {target}: {remark}", quiet=as_json)
        rows = rows_like(options.table_at(table), schema, **reading)
        beyond: Counter[str] = Counter()
        headings = [f"{heading} {target}" for heading in answers.all_headings]
        n = 0
        for _, last, count in _predict_batches(
            fitted, rows, answers, warned, beyond, quiet=as_json
        ):
            for heading, values in zip(headings, last, strict=True):
                columns.setdefault(heading, []).append(np.asarray(values))
            n += count
        if beyond:
            output.say(f"! {target}: {_describe_beyond(beyond, answers)}", quiet=as_json)
    whole = {heading: np.concatenate(parts) for heading, parts in columns.items()}
    source: Any = rows.source  # type: ignore[union-attr]
    ids = Ids(source, choose_copied(source.arrow.names, keep, taken=["row", *whole]))
    first, last = [np.arange(1, n + 1)], list(whole.values())
    if as_json and out is None:
        names = ["row", *ids.columns, *whole]
        named = dict(zip(names, _plain(first, ids.take(n), last), strict=True))
        output.print_json({"targets": list(studies), "predictions": named, "warnings": warned})
        return
    with rows_to(out, ["row"], ids, list(whole)) as write:
        write(first, last, n)
    if as_json:
        output.print_json(
            {"targets": list(studies), "out": str(out), "rows": n, "warnings": warned}
        )
    elif out is not None:
        output.say(f"Wrote {n:,} predictions of {len(studies)} targets to {out}")


def _plain(first: list[Any], copied: list[list[Any]], last: list[Any]) -> list[list[Any]]:
    from separatrix.study.document import plain

    return [*map(plain, first), *copied, *map(plain, last)]


def _beyond_document(fitted: Any, beyond: Counter[str]) -> dict[str, Any]:
    """Rows beyond the training rows, for the document; nothing of a model without ranges."""
    from separatrix.estimators.extrapolation import keeps_ranges
    from separatrix.study.answers import ANY

    if not keeps_ranges(fitted):
        return {}
    columns = {name: count for name, count in beyond.most_common() if name != ANY}
    return {"extrapolation": {"rows": beyond[ANY], "columns": columns}}


def _describe_beyond(beyond: Counter[str], answers: AnswerColumns) -> str:
    from separatrix.estimators.extrapolation import count_columns
    from separatrix.formatting import plural
    from separatrix.study.answers import ANY

    columns = {name: count for name, count in beyond.most_common() if name != ANY}
    marked = "extrapolates" in answers.all_headings
    where = "Marked in the column extrapolates" if marked else "To mark them: --extrapolation"
    return (
        f"{plural(beyond[ANY], 'row')} beyond the ranges or levels of the training rows: "
        f"{count_columns(columns)}. {where}."
    )


def _predict_batches(
    fitted: Any,
    rows: Any,
    answers: AnswerColumns,
    warned: list[str],
    beyond: Counter[str],
    *,
    quiet: bool,
) -> Iterator[tuple[list[Any], list[Any], int]]:
    """Block by block: row numbers in the table, then prediction and extra columns, and how many.

    Warnings are said once each, as they come, and added to ``warned``; rows that extrapolate are
    counted in ``beyond``.
    """
    import numpy as np

    from separatrix.messages import SeparatrixWarning

    n_done = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)

        def say_new() -> None:
            for text in dict.fromkeys(str(w.message) for w in caught):
                if text not in warned:
                    warned.append(text)
                    output.say(f"! {options.with_flags(text)}", quiet=quiet)
            caught.clear()

        for n, last, outside in rows.each(_answer(fitted, rows.schema, answers)):
            n_done += n
            beyond.update(outside)
            yield [np.arange(n_done - n + 1, n_done + 1)], last, n
            say_new()
        say_new()  # some come after the last row


def _answer(
    fitted: Any, schema: Any, answers: AnswerColumns
) -> Callable[[Any], tuple[int, list[Any], dict[str, int]]]:
    """Answers for a batch where it is read: how many rows, their columns, and which are new."""

    def answer(decoded: Any) -> tuple[int, list[Any], dict[str, int]]:
        from separatrix.rows.rows import InMemory
        from separatrix.study.answers import count_extrapolating
        from separatrix.threads import one_blas_thread

        n, piece = decoded.block.n, InMemory(schema, decoded.block)
        with one_blas_thread():  # the same bits whatever the number of processors
            last = answers.columns(piece)
        return n, last, count_extrapolating(fitted, piece)

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
    wanted = rows.schema.read_names
    present = [name for name in names if name in wanted]
    if present != list(wanted):
        remarks.append(
            "The columns are in a different order than in training; they are matched by name."
        )
    return remarks


# -------------------------------------------------------------------------------------------------
# Where predictions go: standard output, a CSV file, or a Parquet file, whole or not at all.


INFINITY = float("inf")
PARQUET = (".parquet", ".pq")
#: Ends of names that promise a format other than CSV and Parquet.
OTHERS = (
    *(".xlsx", ".xls", ".ods", ".json", ".jsonl", ".feather", ".arrow", ".orc"),
    *(".gz", ".zip", ".zst", ".sx", ".html"),
)

#: Writes some rows: the columns before the copied ones, those after, and the number of rows.
Write = Callable[[list[Any], list[Any], int], None]


def file_at(out: str | None) -> Path | None:
    """The file behind ``--out``, which can be a directory; refused now if it cannot be written."""
    from separatrix.rows.sources.places import is_remote

    if out is None:
        return None
    if is_remote(out):
        raise InputError(
            "only the workers of a cluster write predictions to storage.",
            file=out,
            remedy="Write them to a file here and copy it, or give --cluster.",
        )
    path = Path(out)
    if path.is_dir() or out.endswith("/"):
        if (path / places.RESULT).exists():
            raise InputError(
                f"holds a study with the {places.PREDICTIONS} of its test set.",
                file=str(path),
                remedy=f"Name a file, as --out {path / 'new.csv'}.",
            )
        path = path / places.PREDICTIONS
    if path.suffix.lower() in OTHERS:
        raise InputError(
            f"predictions are written as CSV or Parquet, not as {path.suffix}.",
            file=str(path),
            remedy="Let the name end in .csv or .parquet.",
        )
    return places.ready_file(path)


@contextmanager
def rows_to(out: Path | None, before: list[str], ids: Ids, after: list[str]) -> Iterator[Write]:
    """A function that writes rows; a file appears when all of them are written."""
    if out is None:
        yield _text(lambda text: click.echo(text, nl=False), before, ids, after)
        return
    from separatrix.storage.files import atomic_file

    with atomic_file(out) as file:
        if out.suffix.lower() not in PARQUET:
            yield _text(lambda text: file.write(text.encode()), before, ids, after)
            return
        with _parquet(file, before, ids, after) as write:
            yield write


def _text(
    print_: Callable[[str], Any], before: Sequence[str], ids: Ids, after: Sequence[str]
) -> Write:
    from separatrix.cli.results import as_csv

    header: list[str] | None = [*before, *ids.columns, *after]

    def write(first: list[Any], last: list[Any], n: int) -> None:
        nonlocal header
        columns = [*map(_cells, first), *ids.take(n), *map(_cells, last)]
        print_(as_csv(columns, header=header))
        header = None

    return write


def _cells(values: Any) -> list[Any]:
    """Values as text can hold them: an end of an interval may be infinite."""
    from separatrix.study.document import plain

    cells: list[Any] = list(values)
    return [float(v) if v in (INFINITY, -INFINITY) else plain(v) for v in cells]


@contextmanager
def _parquet(file: Any, before: list[str], ids: Ids, after: list[str]) -> Iterator[Write]:
    """Copied columns have the types of their table; those of a text file are recognized."""
    import pyarrow as pa

    from separatrix.cli.partitions import array, parquet

    names = [*before, *ids.columns, *after]
    with parquet(file) as write_table:

        def write(first: list[Any], last: list[Any], n: int) -> None:
            columns = [*map(array, first), *ids.take_arrow(n), *map(array, last)]
            write_table(pa.table(columns, names=names))

        yield write


# -------------------------------------------------------------------------------------------------
# ``separatrix query``: the rows whose labels would tell a model most.


HEADINGS = ["predicted", "score"]


@click.command(short_help="Find the rows worth labeling next.")
@click.argument("model")
@click.argument("table")
@click.option(
    "-k", "count", type=click.IntRange(min=1), default=20, show_default=True, metavar="ROWS",
    help="How many rows.",
)  # fmt: skip
@click.option(
    "--strategy",
    type=click.Choice(["auto", "version_space", "margin"]),
    default="auto",
    show_default=True,
    help="Between the most specific and most general boxes, or where two classes are close.",
)
@click.option(
    "--out", metavar="FILE", help="CSV or Parquet file (by its name) instead of standard output."
)
@options.keep_option("rows")
@options.text_options
@options.json_option
def query(
    model: str,
    table: str,
    count: int,
    strategy: str,
    out: str | None,
    keep: tuple[str, ...],
    as_json: bool,
    **written: Any,
) -> None:
    """Choose the rows of TABLE, which has no labels, whose labels would tell MODEL most.

    MODEL is a model.sx file or the directory that contains it, of classes. Rows come the most
    telling first, by their number in the table, and are far from one another: rows alike tell the
    same. Label them, add them to the training table, and fit again.

    \b
    Try:
      separatrix fit sample:wine --target cultivar --out wine
      separatrix query wine sample:wine -k 5 --keep
    """
    file = file_at(out)
    from separatrix.rows.notations import text_options as checked
    from separatrix.rows.scan import rows_like
    from separatrix.study.answers import load_predictor

    fitted, schema = load_predictor(model)

    rows: Any = rows_like(
        options.table_at(table), schema, text=checked(**options.as_written(written))
    )
    queried, predicted, n = _query_classifier(fitted, rows.read(), count, strategy)
    copied = choose_copied(rows.source.arrow.names, keep, taken=["row", *HEADINGS])
    ids = CopiedColumns(Ids(rows.source, copied), queried.rows, n)
    reason = queried.note or f"Chosen of {n:,} rows: {queried.reason}."
    output.say(f"· {reason}", quiet=as_json)
    first, last = [queried.rows + 1], [predicted, queried.scores]
    if as_json:
        names = ["row", *copied, *HEADINGS]
        _print_queried(
            dict(zip(names, [*first, *ids.take(len(queried)), *last], strict=True)), queried, fitted
        )
        return
    with rows_to(file, ["row"], ids, HEADINGS) as write:  # type: ignore[arg-type]
        write(first, last, len(queried))
    if file is not None:
        output.say(f"Wrote {len(queried):,} rows to {file}")


def _query_classifier(fitted: Any, rows: Any, count: int, strategy: str) -> tuple[Any, Any, int]:
    """The rows worth labeling, the classes predicted for them, and how many rows there are."""
    import numpy as np
    from sklearn.base import is_classifier

    from separatrix.hypotheses.query import query as choose
    from separatrix.threads import one_blas_thread

    if not is_classifier(fitted):
        raise InputError(
            f"the model is a {type(fitted).__name__}: rows are chosen for models of classes.",
            remedy="Fit a table whose target holds classes.",
        )
    with one_blas_thread():
        chosen = choose(fitted, rows, count, strategy=strategy)
        predicted = np.asarray(fitted.predict(rows))[chosen.rows]
    return chosen, predicted, len(rows)


class CopiedColumns:
    """The copied columns at some rows, in their order, read in one pass over the table."""

    def __init__(self, ids: Ids, rows: Any, n: int) -> None:
        self.columns = ids.columns
        self._ids, self._rows, self._n = ids, rows, n

    def take(self, _: int) -> list[list[Any]]:
        """The values of each column at the rows."""
        return [[values[i] for i in self._rows.tolist()] for values in self._ids.take(self._n)]

    def take_arrow(self, _: int) -> list[Any]:
        """The same as Arrow columns."""
        return [values.take(self._rows) for values in self._ids.take_arrow(self._n)]


def _print_queried(columns: dict[str, Any], document: Any, fitted: Any) -> None:
    from separatrix.study.document import plain

    output.print_json(
        {
            "model": type(fitted).__name__,
            "strategy": document.strategy,
            "reason": document.reason,
            "note": document.note,
            "rows": {name: plain(values) for name, values in columns.items()},
        }
    )

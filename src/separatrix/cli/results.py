"""What commands write (all files or none, under a temporary name) and what they print."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.cli import options, output, places
from separatrix.cli.failure import SCHEMA_VERSION, Interrupted, ignore_interrupts
from separatrix.cli.ids import Ids
from separatrix.formatting import score_info, score_text
from separatrix.messages import InputError
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Schema
from separatrix.storage import save
from separatrix.storage.files import atomic_file, cannot_write, write_text
from separatrix.study.answers import class_headings, interval_headings
from separatrix.study.document import plain
from separatrix.study.result import ColumnImportance, Entry, Predictions, Study
from separatrix.study.summary import CHOSEN, leaderboard, scheme_text, verdict
from separatrix.temporary import lock, remove_leftovers, temporary

if TYPE_CHECKING:
    from separatrix.study.cluster.result import Assignments, ClusterStudy
    from separatrix.study.curves import CurveStudy


def write_all(study: Study, place: Path, ids: Ids, invocation: str) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``.

    ``invocation`` is the content of ``study.toml``, which gives the study again.

    Files of an earlier study in the same directory are replaced, any others are left alone.
    """
    from separatrix.report import write as write_report
    from separatrix.study.document import document_of

    def write(partial: Path) -> None:
        # names of rows, which may be those of people, are not in the model
        save(study.model, partial / places.MODEL, study=replace(study, model=None, row_names={}))
        write_report(study, partial / places.REPORT)
        write_text(partial / places.INVOCATION, invocation)
        if study.test_predictions is not None:
            write_text(
                partial / places.PREDICTIONS, predictions(study, study.test_predictions, ids)
            )
        if study.importance is not None:
            write_text(partial / places.IMPORTANCE, importance_csv(study.importance))

    return _write_with_result(document_of(study), place, write)


def write_curves(study: CurveStudy, place: Path) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``."""
    from separatrix import report
    from separatrix.study.curves import document_of

    return _write_with_result(
        document_of(study),
        place,
        lambda partial: report.write_curves(study, partial / places.REPORT),
    )


def write_clusters(
    study: ClusterStudy, place: Path, ids: Ids, rows: Any, folder: str | None = None
) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``.

    Where the study has no list of all ``rows``, they are read once more, and written as they come:
    here, or by the workers that read them, to a ``folder`` of parts.
    """
    from separatrix import report
    from separatrix.study.cluster.result import document_of

    def write(partial: Path) -> None:
        save(study.model, partial / places.MODEL, study=stored_study(study))
        report.write_clusters(study, partial / places.REPORT)
        if study.assignments is not None:
            write_text(partial / places.ASSIGNMENTS, assignments(study.assignments, ids))
        elif folder is not None:
            from separatrix.cli.partitions import write_parts

            answer, about = _assign_parts(study.model, rows.schema), {"k": study.k}
            write_parts(rows, folder, answer, ids.columns, ["cluster", "distance"], about)
        else:
            stream_assignments(study.model, rows, partial / places.ASSIGNMENTS, ids)

    return _write_with_result(document_of(study), place, write)


def _write_with_result(
    result: dict[str, Any], place: Path, write: Callable[[Path], None]
) -> dict[str, Any]:
    """The files of ``write`` and ``result.json``, all or none; its content."""
    document = {"schema_version": SCHEMA_VERSION, **result}

    def write_both(partial: Path) -> None:
        write(partial)
        write_text(
            partial / places.RESULT, json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        )

    all_or_nothing(place, write_both)
    return document


def all_or_nothing(place: Path, write: Callable[[Path], None]) -> None:
    """``write`` fills a directory under a temporary name; its files move to ``place`` together."""
    remove_leftovers(place)
    partial = temporary(place)
    complete = False
    try:
        partial.mkdir()
        with lock(partial):
            write(partial)
            with ignore_interrupts():
                _move(partial, place)
                complete = True
    except KeyboardInterrupt as end:
        if complete:
            raise Interrupted(f"Interrupted; the results in {place}/ are complete.") from end
        raise
    except OSError as problem:
        raise cannot_write(place, problem) from problem
    except InputError as problem:  # the temporary name means nothing to the user
        raise _rename_place(problem, partial, place) from problem
    finally:
        with ignore_interrupts():
            shutil.rmtree(partial, ignore_errors=True)


def _move(partial: Path, place: Path) -> None:
    if not place.exists():
        partial.rename(place)
        return
    for name in (
        places.PREDICTIONS,
        places.ASSIGNMENTS,
        places.IMPORTANCE,
    ):  # those of an earlier study would be wrong
        (place / name).unlink(missing_ok=True)
    for file in sorted(partial.iterdir()):
        file.replace(place / file.name)


def _rename_place(problem: InputError, partial: Path, place: Path) -> InputError:
    if problem.file is None:
        return problem
    file = problem.file.replace(str(partial), str(place))
    return InputError(problem.what, file=file, remedy=problem.remedy)


def predictions(study: Study, test: Predictions, ids: Ids) -> str:
    """The test set as CSV: row number in the table, ids, target, prediction and what belongs to it.

    That is, lower and upper ends of predictive intervals, or scores or probabilities of classes.
    A sample of a stream has neither row numbers nor ids.
    """
    header, columns = [study.target, "predicted"], [plain(test.truth), plain(test.predicted)]
    if test.rows is not None:
        rows = plain(test.rows)
        copied = [[values[row - 1] for row in rows] for values in ids.take(max(rows, default=0))]
        header, columns = ["row", *ids.columns, *header], [rows, *copied, *columns]
    if test.intervals is not None and study.uncertainty is not None:
        header += interval_headings(study.uncertainty.level)
        columns += [plain(end) for end in test.intervals.T]
    kind = "score" if test.probabilities is None else "probability"
    numbers = test.scores if test.probabilities is None else test.probabilities
    if numbers is not None:
        table = np.asarray(numbers, dtype=float).reshape(len(test.truth), -1)
        header += class_headings(kind, study.classes, table.shape[1])
        columns += [plain(column) for column in table.T]
    return as_csv(columns, header=header)


def importance_csv(importance: ColumnImportance) -> str:
    """Columns as CSV, the most important first; ``matters`` where the whole interval is above 0."""
    low = plain(importance.low)
    columns = [
        list(importance.columns),
        plain(importance.increase),
        low,
        plain(importance.high),
        [str(end > 0.0).lower() for end in low],
    ]
    loss = importance.loss.replace("_", " ")
    header = ["column", f"increase of {loss}", *interval_headings(0.95), "matters"]
    return as_csv(columns, header=header)


def as_csv(columns: list[list[Any]], *, header: list[str] | None) -> str:
    """Columns as CSV text; numbers are written so that reading them gives the same bits."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    if header is not None:
        out.writerow(header)
    out.writerows(zip(*columns, strict=True))
    return text.getvalue()


# What is printed at the end
# --------------------------


def print_summary(study: Study, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error.

    Messages that were ``announced`` before the work are not repeated.
    """
    later = [text for text in study.messages if text not in announced]
    warnings = [options.with_flags(text) for text in study.warnings]
    output.print_messages(later, [text for text in warnings if text not in announced])
    print_leaderboard(study.leaderboard, study.winner, scheme_text(study))
    # Other lines may hold columns and levels that are named like options.
    lines = verdict(study)
    output.print_lines(
        [options.with_flags(line) if line.startswith(CHOSEN) else line for line in lines]
    )
    stored = [places.PREDICTIONS] if study.test_predictions is not None else []
    stored += [places.IMPORTANCE] if study.importance is not None else []
    files = [places.MODEL, places.REPORT, *stored, places.RESULT, places.INVOCATION]
    output.print_next(files, place, place / places.MODEL, python)


def print_leaderboard(entries: Sequence[Entry], winner: str, scheme: str = "") -> None:
    """Cross-validated errors, the chosen model marked."""
    grid = leaderboard(entries, winner, scheme)
    *numbers, method = grid.heads
    columns = [
        output.OutputColumn(head, right=j not in grid.left) for j, head in enumerate(numbers)
    ]
    columns.append(output.OutputColumn(method, cut=True))
    output.print_table(columns, grid.lines, strong=grid.strong, caption=grid.caption)


def print_curves(study: CurveStudy, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error."""
    output.print_messages(
        [text for text in study.messages if text not in announced], study.warnings
    )
    curves = study.curves
    mean, best = curves.mean, curves.best
    output.print_table(
        [
            output.OutputColumn("training rows", right=True),
            *(output.OutputColumn(name, right=True) for name in curves.names),
        ],
        [
            (
                f"{size:,.0f}",
                *(_cell(mean[i, j], curves.metric, j == best[i]) for j in range(mean.shape[1])),
            )
            for i, size in enumerate(curves.sizes)
        ],
        caption=f"{score_info(curves.metric).short} on rows left out; * least of its line",
    )
    output.print_lines([study.summary, *(advice.sentence for advice in study.advice)])
    output.print_next([places.REPORT, places.RESULT], place, None, python)
    fit = study.command.replace("separatrix curve", "separatrix fit", 1)
    output.say(f"Next: {fit or 'separatrix fit ' + shlex.quote(study.source)}")


def _cell(value: float, metric: str, least: bool) -> str:
    text = score_text(value, metric) if np.isfinite(value) else "–"
    return f"{text}*" if least else f"{text} "


def print_clusters(
    study: ClusterStudy,
    place: Path,
    python: str,
    announced: Sequence[str],
    folder: str | None = None,
) -> None:
    """Results to standard output; messages, files and next steps to standard error.

    Messages that were ``announced`` before the work are not repeated.
    """
    from separatrix.study.cluster.result import cluster_grid

    output.print_messages(
        [text for text in study.messages if text not in announced], study.warnings
    )
    output.print_lines([study.verdict.summary])
    grid = cluster_grid(study)
    columns = [
        output.OutputColumn(head, right=j not in grid.left) for j, head in enumerate(grid.heads)
    ]
    output.print_table(columns, grid.lines)
    output.print_lines([study.reason, f"Certificate: {study.certificate}"])
    model = None if study.hierarchical else place / places.MODEL
    files = (
        [places.MODEL, places.REPORT, places.RESULT]
        if folder
        else [places.MODEL, places.REPORT, places.ASSIGNMENTS, places.RESULT]
    )
    if folder:
        output.print_lines([f"The workers wrote the cluster of every row to {folder}"])
    output.print_next(files, place, model, python)


# Assignments of clusters
# -----------------------


def stored_study(study: ClusterStudy) -> ClusterStudy:
    """What is stored in the model file beside the model: no list of all rows."""
    return replace(study, model=None, assignments=None)


def assignments(result: Assignments, ids: Ids) -> str:
    """Every row as CSV: its number in the table, ids, cluster, silhouette, distance."""
    rows = plain(result.row_ids)
    beside = [[values[row - 1] for row in rows] for values in ids.take(max(rows, default=0))]
    header, columns = ["row", *ids.columns, "cluster"], [rows, *beside, plain(result.clusters)]
    for name, values in (("silhouette", result.silhouettes), ("distance", result.distances)):
        if values is not None:
            header.append(name)
            columns.append(plain(values))
    return as_csv(columns, header=header)


#: Rows of a batch that are there, all rows of the batch, clusters, distances to the centers.
Found = tuple[Ints, int, Ints, Floats]


def stream_assignments(model: Any, rows: Any, path: Path, ids: Ids) -> None:
    """Write number, ids, cluster and distance of every row, in the order of the table.

    Rows are numbered from 1 over all files; those that are left out have a number and no line.
    """
    import pyarrow as pa
    from pyarrow import csv

    n_done, names = 0, ["row", *ids.columns, "cluster", "distance"]
    plain = csv.WriteOptions(include_header=False, quoting_style="needed")
    with atomic_file(path) as file:
        file.write(as_csv([[] for _ in names], header=names).encode())
        for at, n, clusters, distances in rows.each(_assign(model, rows.schema)):
            beside = [values.take(pa.array(at)) for values in ids.take_arrow(n)]
            table = pa.table([n_done + 1 + at, *beside, clusters, distances], names=names)
            csv.write_csv(table, file, plain)
            n_done += n


def _assign(model: Any, schema: Schema) -> Callable[[Any], Found]:
    """Clusters of a batch where it is read."""

    def assign(decoded: Any) -> Found:
        piece = InMemory(schema, decoded.block)
        at = decoded.row_ids - decoded.start - 1
        if not len(at):
            return at, decoded.dropped, at, np.zeros(0)
        labels = np.asarray(model.predict(piece), dtype=np.int64)
        distances = model.transform(piece)[np.arange(len(at)), labels]
        return at, len(at) + decoded.dropped, labels, distances

    return assign


def _assign_parts(
    model: Any, schema: Schema
) -> Callable[[Any], tuple[Any, int, list[Any], dict[str, int]]]:
    """The same as the columns of a part."""
    assign = _assign(model, schema)

    def answer(decoded: Any) -> tuple[Any, int, list[Any], dict[str, int]]:
        at, n, clusters, distances = assign(decoded)
        return at, n, [clusters, distances], {}

    return answer

"""The files of a cluster analysis: all of them or none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.cli.failure import SCHEMA_VERSION
from separatrix.cli.ids import Ids
from separatrix.cli.output import OutputColumn, print_lines, print_messages, print_next, print_table
from separatrix.cli.places import ASSIGNMENTS, MODEL, REPORT, RESULT
from separatrix.cli.results import all_or_nothing, as_csv
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Schema
from separatrix.storage import save
from separatrix.storage.files import atomic_file, write_text
from separatrix.study.cluster.result import (
    Assignments,
    ClusterStudy,
    cluster_grid,
    document_of,
)
from separatrix.study.document import plain


def write_clusters(study: ClusterStudy, place: Path, ids: Ids, rows: Any) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``.

    Where the study has no list of all ``rows``, they are read once more, and written as they come.
    """
    from separatrix import report

    document = {"schema_version": SCHEMA_VERSION, **document_of(study)}

    def write(partial: Path) -> None:
        save(study.model, partial / MODEL, study=stored_study(study))
        report.write_clusters(study, partial / REPORT)
        if study.assignments is not None:
            write_text(partial / ASSIGNMENTS, assignments(study.assignments, ids))
        else:
            stream_assignments(study.model, rows, partial / ASSIGNMENTS, ids)
        write_text(partial / RESULT, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    all_or_nothing(place, write)
    return document


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


# -------------------------------------------------------------------------------------------------
# What ``cluster`` prints when it is done: the clusters, the verdict, and what to type next.


def print_clusters(study: ClusterStudy, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error.

    Messages that were ``announced`` before the work are not repeated.
    """
    print_messages([text for text in study.messages if text not in announced], study.warnings)
    print_lines([study.verdict.summary])
    grid = cluster_grid(study)
    columns = [OutputColumn(head, right=j not in grid.left) for j, head in enumerate(grid.heads)]
    print_table(columns, grid.lines)
    print_lines([study.reason, f"Certificate: {study.certificate}"])
    model = None if study.hierarchical else place / MODEL
    print_next([MODEL, REPORT, ASSIGNMENTS, RESULT], place, model, python)


# -------------------------------------------------------------------------------------------------
# The clusters of all rows of a table that is not in memory, written as they are found.


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

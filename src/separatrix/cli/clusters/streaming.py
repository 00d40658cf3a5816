"""The clusters of all rows of a table that is not in memory, written as they are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.cli.ids import Ids
from separatrix.cli.results import as_csv
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Schema
from separatrix.storage.files import atomic_file

#: Rows of a batch that are there, all rows of the batch, clusters, distances to the centers.
Found = tuple[Ints, int, Ints, Floats]


def stream_assignments(model: Any, rows: Any, path: Path, ids: Ids) -> None:
    """Write number, ids, cluster and distance of every row, in the order of the table.

    Rows are numbered from 1 over all files; those that are left out have a number and no line.
    """
    import pyarrow as pa
    from pyarrow import csv

    done, names = 0, ["row", *ids.columns, "cluster", "distance"]
    plain = csv.WriteOptions(include_header=False, quoting_style="needed")
    with atomic_file(path) as file:
        file.write(as_csv([[] for _ in names], header=names).encode())
        for at, n, clusters, distances in rows.each(_assign(model, rows.schema)):
            beside = [values.take(pa.array(at)) for values in ids.take_arrow(n)]
            table = pa.table([done + 1 + at, *beside, clusters, distances], names=names)
            csv.write_csv(table, file, plain)
            done += n


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

"""The files of a cluster analysis: all of them or none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.cli.clusters.streaming import stream_assignments
from separatrix.cli.failure import SCHEMA_VERSION
from separatrix.cli.ids import Ids
from separatrix.cli.places import ASSIGNMENTS, MODEL, REPORT, RESULT
from separatrix.cli.results import all_or_nothing, as_csv
from separatrix.storage import save
from separatrix.storage.files import write_text
from separatrix.study.clustering.result import Assignments, ClusterStudy, document_of
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


def assignments(found: Assignments, ids: Ids) -> str:
    """Every row as CSV: its number in the table, ids, cluster, silhouette, distance."""
    rows = plain(found.row_ids)
    beside = [[values[row - 1] for row in rows] for values in ids.take(max(rows, default=0))]
    header, columns = ["row", *ids.columns, "cluster"], [rows, *beside, plain(found.clusters)]
    for name, values in (("silhouette", found.silhouettes), ("distance", found.distances)):
        if values is not None:
            header.append(name)
            columns.append(plain(values))
    return as_csv(columns, header=header)

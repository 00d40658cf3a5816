"""``separatrix cluster``: cluster analysis of a table without a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from separatrix.cli import options, output
from separatrix.cli.ids import TAKEN_BY_CLUSTERS, Ids, choose_copied
from separatrix.cli.progress import progress
from separatrix.messages import InputError


@click.command(short_help="Cluster a table, and say whether there are groups.")
@click.argument("table")
@click.option("-k", "number", metavar="N|auto", default="auto", help="How many clusters.")
@click.option(
    "--max-clusters",
    type=click.IntRange(2),
    metavar="N",
    default=10,
    show_default=True,
    help="Largest number of clusters that -k auto tries.",
)
@click.option(
    "--method",
    metavar="NAME",
    default="kmeans",
    show_default=True,
    help="kmeans, kmedoids, kernel, or a linkage: single, complete, average, centroid, ward.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Distance for kmedoids and linkages: euclidean (default), manhattan, chebyshev, cosine, "
    "mahalanobis, gower (mixed columns).",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory for the results.")
@click.option(
    "--assignments",
    "folder",
    metavar="FOLDER",
    help="With --cluster: workers write the cluster of every row there, as Parquet files.",
)
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="COLUMN",
    help="This column names rows: copy it, do not compare by it. Repeatable.",
)
@click.option("--no-standardize", is_flag=True, help="Compare columns in their own units.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the starts."
)
@options.column_options
@options.cluster_option
@options.json_option
@click.pass_context
def cluster(
    context: click.Context,
    /,
    table: str,
    number: str,
    max_clusters: int,
    method: str,
    metric: str | None,
    out: Path | None,
    folder: str | None,
    ids: tuple[str, ...],
    no_standardize: bool,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Cluster the rows of TABLE: how many clusters, whether they are groups, what is in them.

    TABLE is a file, a glob, a folder, FILE::NAME (as for fit), sample:NAME, or - for standard
    input. Columns called id, or ending in it, are copied beside the clusters and not compared.

    \b
    Try:
      separatrix cluster sample:wine --kind cultivar=ignore
      separatrix cluster sample:diabetes -k 3 --method ward
      separatrix cluster sample:houses --method kmedoids --metric gower
    """
    from separatrix.cli.places import ASSIGNMENTS, ready
    from separatrix.cli.results import write_clusters

    if folder and not reading["cluster"]:
        raise InputError(
            "--assignments names a folder that workers write to, and there are none.",
            remedy=f"Leave it out (clusters of the rows are written to --out, as {ASSIGNMENTS}), "
            "or give --cluster.",
        )
    wanted = _number(number)
    place = ready(out if out is not None else Path(f"{options.stem_of(table)}-clusters"))
    rows, beside = _without_ids(options.scan_table(table, None, weight=None, **reading), ids)
    from separatrix.study.cluster.run import run_clusters
    from separatrix.threads import one_blas_thread

    with one_blas_thread(), progress(quiet=as_json) as report:
        try:
            study = run_clusters(
                rows,
                k=wanted,
                max_clusters=max_clusters,
                method=method,
                metric=metric,
                standardize=not no_standardize,
                seed=seed,
                progress=report,
                source=options.name_of(table),
                command=options.command_line(context),
            )
        except InputError as problem:
            raise options.with_file(problem, table) from problem
        report("writing the report", 0, 1)
        messages = (*_id_messages(beside), *map(options.with_flags, study.messages))
        study = replace(study, messages=messages, reason=options.with_flags(study.reason))
        document = write_clusters(study, place, beside, rows, folder)
    if as_json:
        output.print_json({**document, "directory": str(place), **options.travel_document(rows)})
        return
    from separatrix.cli.results import print_clusters

    for sentence in options.describe_travel(rows):
        output.say(f"· {sentence}")
    print_clusters(study, place, _in_python(context, beside.columns), report.announced, folder)


def _id_messages(ids: Ids) -> tuple[str, ...]:
    names = ", ".join(ids.columns)
    return (f"Copied beside the clusters, not compared: {names}.",) if names else ()


def _number(text: str) -> int | None:
    """``-k auto`` leaves the number to the silhouette."""
    if text.strip().lower() == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"-k {text!r} is not a number.", remedy="Write it as -k 3, or -k auto."
        ) from None


def _without_ids(rows: Any, id_columns: tuple[str, ...]) -> tuple[Any, Ids]:
    """The rows without the columns that name them, and those columns."""
    names = list(rows.source.arrow.names)
    columns = choose_copied(names, id_columns, option="--id", taken=TAKEN_BY_CLUSTERS)
    remaining = tuple(column for column in rows.schema.columns if column.name not in columns)
    schema = replace(rows.schema, columns=remaining)
    notes = tuple(note for note in rows.notes if getattr(note, "column", None) not in columns)
    bare = rows.under(schema, notes)
    single_path = len(rows.source.paths) == 1  # rows are counted anew in each of several files
    return bare, Ids(rows.source, columns if single_path else [])


def _in_python(context: click.Context, ids: list[str]) -> str:
    """The same thing in Python, to be pasted."""
    chosen = context.params
    wanted = _number(chosen["number"])
    study = [] if wanted is None else [f"k={wanted}"]
    given = [
        n for n in ("max_clusters", "method", "metric", "seed") if options.was_given(context, n)
    ]
    study += [f"{name}={chosen[name]!r}" for name in given]
    if chosen["no_standardize"]:
        study.append("standardize=False")
    return options.python_code(context, "run_clusters", study, ignored=ids)

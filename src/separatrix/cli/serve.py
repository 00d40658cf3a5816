"""``separatrix serve`` and ``explore``: what listens on 127.0.0.1, for this computer alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from separatrix.cli import options, output, places
from separatrix.cli.progress import progress
from separatrix.messages import InputError, SeparatrixWarning


@click.command(short_help="Serve predictions of a stored model over HTTP.")
@click.argument("model")
@options.port_option(8765)
@click.option("--conformal", is_flag=True, help="Add conformal intervals, or sets of labels.")
@click.option("--extrapolation", is_flag=True, help="Mark rows beyond the training rows.")
@options.explain_option
@options.unseen_option
@options.level_option
@options.json_option
def serve(
    model: str,
    port: int,
    conformal: bool,
    extrapolation: bool,
    effects: int | None,
    unseen: str | None,
    level: float,
    as_json: bool,
) -> None:
    """Answer questions for predictions of MODEL, a model.sx file or the directory that contains it.

    GET /health, GET /schema and POST /predict, with rows as JSON or as a stream of Arrow. It
    listens on 127.0.0.1 alone: programs of this computer can ask, others reach it through a proxy
    that lets them in. Ctrl-C ends it.

    \b
    Try:
      separatrix fit sample:diabetes --target progression
      separatrix serve diabetes-separatrix
      curl http://127.0.0.1:8765/schema
    """
    from separatrix.serving.predictions import PredictionServer, Predictor

    predictor = Predictor.of_file(
        model,
        unseen=unseen,
        level=level,
        conformal=conformal,
        extrapolation=extrapolation,
        effects=effects or 0,
    )
    server = PredictionServer(predictor, port).start()
    try:
        if as_json:
            output.print_json({"address": server.address, **predictor.describe()})
        else:
            for remark in predictor.answers.all_remarks:
                output.say(f"· {options.with_flags(remark)}")
            output.say("For programs of this computer alone. Ctrl-C ends it.")
            output.say(f"Next: curl {server.address}schema")
            click.echo(server.address)
        server.wait()
    except KeyboardInterrupt:  # the usual end
        output.say(f"Ended after {predictor.n_predicted:,} predicted rows.", quiet=as_json)
    finally:
        server.close()


# -------------------------------------------------------------------------------------------------
# ``separatrix explore``: a page about a table, and a model of it, in the browser.


@click.command(short_help="Play with models of a table in the browser.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="The column to predict; the page can change it.")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="A model file or the folder of a study, to look at beside the table.",
)
@click.option(
    "--rows",
    type=click.IntRange(2),
    default=2_000,
    show_default=True,
    help="Rows of the page: a larger table is sampled.",
)
@click.option(
    "--id", "ids", multiple=True, metavar="COLUMN", help="A column that names rows. Repeatable."
)
@options.port_option(0)
@click.option(
    "--browser/--no-browser", default=True, help="Whether to open the page in the browser."
)
@options.column_options
@options.json_option
def explore(
    table: str,
    target: str | None,
    model: Path | None,
    rows: int,
    ids: tuple[str, ...],
    port: int,
    browser: bool,
    as_json: bool,
    kinds: tuple[str, ...],
    **reading: Any,
) -> None:
    """Open a page where models of TABLE follow the hand: boundaries, lines, decisions, groups,
    descents.

    TABLE is a file, a glob, a folder, FILE::NAME (as for fit), sample:NAME, or - for standard
    input; or a model file, or the folder of a study, which the page takes apart.

    The page is served on 127.0.0.1 alone, under an address with a random token. Ctrl-C ends it.

    \b
    Try:
      separatrix explore sample:wine --target cultivar
      separatrix explore sample:diabetes --target progression
      separatrix explore diabetes-separatrix
    """
    from separatrix.exploration.serve import Page, describe_table
    from separatrix.exploration.session import Session, stored_at

    # what a fit has to say stands on the page, in its certificate
    warnings.filterwarnings("ignore", category=SeparatrixWarning)
    stored = stored_at(table)
    with progress(quiet=as_json) as report:
        shown = None
        if stored is not None:
            shown = _table_of_study(stored, rows)
        else:
            report("reading the table", 0, 1)
            how = {"kinds": options.kinds_of(kinds), "id": ids, **_given(reading)}
            for name in ("columns", "drop"):
                how |= {name: options.names_of(reading[name])} if reading[name] else {}
            try:
                shown = describe_table(options.table_at(table), target, rows, how)
            except InputError as problem:
                raise options.with_file(problem, table) from problem
        model = stored if model is None else model
        page = Page(Session(shown, None if model is None else str(model)), port).start()
    try:
        if as_json:
            output.print_json({"address": page.address, "rows": 0 if shown is None else len(shown)})
        else:
            _announce(page.address, shown)
        if browser:
            page.open()
        page.wait()
    except KeyboardInterrupt:  # the usual end
        output.say("Ended.", quiet=as_json)
    finally:
        page.close()


def _table_of_study(stored: Path, rows: int) -> Any:
    """The table of a stored study, if it is still where it was: rows for its model."""
    from separatrix.cli.invocation import read_invocation
    from separatrix.exploration.serve import describe_table

    file = stored / places.INVOCATION if stored.is_dir() else stored.with_name(places.INVOCATION)
    if not file.is_file():
        return None
    try:
        table, given = read_invocation(file)
        kinds = given.get("kind", [])
        reading = {"kinds": options.kinds_of(tuple(kinds)), "id": tuple(given.get("id", ()))}
        return describe_table(options.table_at(table), given.get("target"), rows, reading)
    except (InputError, OSError):  # moved, changed, or read by other options: there is the model
        return None


def _announce(address: str, shown: Any) -> None:
    if shown is not None and shown.total is not None:
        output.say(f"The page shows a sample of {len(shown):,} of {shown.total:,} rows (--rows).")
    output.say("For this computer alone; whoever has the address can look. Ctrl-C ends it.")
    click.echo(address)


def _given(reading: dict[str, Any]) -> dict[str, Any]:
    """Options of reading that were typed; a page leaves missing values out row by row."""
    return {name: value for name, value in options.as_written(reading).items() if value is not None}

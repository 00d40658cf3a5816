"""``separatrix serve``: predictions of a stored model over HTTP, for this computer alone."""

from __future__ import annotations

import click

from separatrix.cli.options import json_option, level_option, port_option, with_flags
from separatrix.cli.output import print_json, say


@click.command(short_help="Serve predictions of a stored model over HTTP.")
@click.argument("model")
@port_option(8765)
@click.option("--conformal", is_flag=True, help="Add conformal intervals, or sets of labels.")
@click.option("--extrapolation", is_flag=True, help="Mark rows beyond the training rows.")
@click.option(
    "--explain",
    "effects",
    type=click.IntRange(1, 50),
    is_flag=False,
    flag_value="3",
    metavar="[K]",
    help="Add the K columns with the largest effects on each prediction, and these (3).",
)
@click.option(
    "--unseen",
    type=click.Choice(["missing", "zeros", "error"]),
    help="A level that training did not have; else as the model was fitted (missing).",
)
@level_option
@json_option
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
            print_json({"address": server.address, **predictor.describe()})
        else:
            for remark in predictor.answers.all_remarks:
                say(f"· {with_flags(remark)}")
            say("For programs of this computer alone. Ctrl-C ends it.")
            say(f"Next: curl {server.address}schema")
            click.echo(server.address)
        server.wait()
    except KeyboardInterrupt:  # the usual end
        say(f"Ended after {predictor.n_predicted:,} predicted rows.", quiet=as_json)
    finally:
        server.close()

"""``--cluster ADDRESS``: the workers of a Dask scheduler read the table; what traveled is said."""

from __future__ import annotations

from typing import Any

import click

cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler read the table (tcp://HOST:PORT); only statistics "
    "come back.",
)


def traveled(rows: Any) -> tuple[str, ...]:
    """What traveled, as a message; none for a table that is read here."""
    travel = getattr(rows, "travel", None)
    return () if travel is None else (travel.sentence(),)


def travel_document(rows: Any) -> dict[str, Any]:
    """The same for JSON; empty for a table that is read here."""
    travel = getattr(rows, "travel", None)
    return {} if travel is None else {"cluster": travel.document()}

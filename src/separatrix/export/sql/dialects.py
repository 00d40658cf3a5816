"""The dialects of SQL that models are written in, and where they differ for our purposes."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.messages import InputError, did_you_mean


@dataclass(frozen=True)
class Dialect:
    """A dialect by its name on the command line, in words, and for sqlglot.

    ``exact_decimals``: plain decimals are DECIMAL there, so that constants are written with an
    exponent. ``small_powers``: e to a very negative power is an error. ``has_nan``: columns can
    hold NaN. ``inlines``: subqueries are inlined wherever they are used, which doubles the work
    with every stage unless they are materialized. ``runs`` says where an export is run to check
    it, if it can be run here.
    """

    name: str
    words: str
    sqlglot: str
    exact_decimals: bool = False
    small_powers: bool = False
    has_nan: bool = True
    inlines: bool = False
    runs: str = ""


DIALECTS = {
    one.name: one
    for one in (
        Dialect("duckdb", "DuckDB", "duckdb", exact_decimals=True, runs="DuckDB"),
        Dialect(
            "postgres",
            "PostgreSQL",
            "postgres",
            exact_decimals=True,
            small_powers=True,
            inlines=True,
        ),
        Dialect("sqlite", "SQLite", "sqlite", has_nan=False, inlines=True, runs="SQLite"),
        Dialect("bigquery", "BigQuery", "bigquery"),
        Dialect("spark", "Spark SQL", "spark", exact_decimals=True),
    )
}
#: Other names of the same.
ALIASES = {"postgresql": "postgres", "sparksql": "spark", "databricks": "spark"}


def dialect_named(name: str) -> Dialect:
    """The dialect called ``name``, in any case."""
    lower = name.lower()
    found = DIALECTS.get(ALIASES.get(lower, lower))
    if found is None:
        raise InputError(
            f"There is no dialect {name!r} of SQL here.", remedy=did_you_mean(lower, DIALECTS)
        )
    return found

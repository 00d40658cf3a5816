"""What is meant inside of a database: a table by name, or one query."""

from __future__ import annotations

import re
from dataclasses import dataclass

from separatrix.messages import InputError, did_you_mean

_QUERY = re.compile(r"\s*(?:\(\s*)*(select|with|values|from)\b", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(--|/\*)")
#: Statements that are no query.
_OTHER = re.compile(
    r"\s*(insert|update|delete|replace|drop|create|alter|attach|detach|pragma|copy|install|load"
    r"|set|reset|call|export|import|vacuum|analyze|reindex|begin|commit|rollback|savepoint"
    r"|explain|describe|show|use|checkpoint|execute|prepare|truncate|merge|grant)\s",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Selection:
    """A table of a database, or a query; ``relation`` stands after FROM.

    ``computed`` says that its rows are not stored: a query or a view.
    """

    relation: str
    query: str | None = None
    note: str | None = None
    computed: bool = False


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def selection(inside: str | None, tables: list[str], file: str) -> Selection:
    """What is meant: a table, a query, or the only table there is."""
    if inside is None or not inside:
        return _only(tables, file)
    if inside in tables:
        return Selection(quoted(inside))
    folded = [name for name in tables if name.casefold() == inside.casefold()]
    if len(folded) == 1:  # SQL does not tell capitals from small letters
        return Selection(quoted(folded[0]))
    if _QUERY.match(inside):
        query = inside.strip().rstrip(";").rstrip()
        return Selection(f"(\n{query}\n)", query, computed=True)
    if _OTHER.match(inside) or _COMMENT.match(inside) or ";" in inside:
        raise not_a_query(file)
    raise InputError(
        f"there is no table {inside!r}.",
        file=file,
        remedy=did_you_mean(inside, tables) if tables else "The database has no tables.",
    )


def not_a_query(file: str) -> InputError:
    """The refusal of statements that are not one SELECT."""
    return InputError(
        "a database is read by one query that begins with SELECT or WITH, and nothing else.",
        file=file,
        remedy=f"Give a table, {file}::name, or a query, '{file}::SELECT * FROM name'.",
    )


def failed_query(reason: BaseException, file: str) -> InputError:
    """The refusal of a query that the database does not answer."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"the database does not answer ({detail}).",
        file=file,
        remedy="Check the names in the query; it can read this one file and nothing else.",
    )


def _only(tables: list[str], file: str) -> Selection:
    if not tables:
        raise InputError("The database has no tables.", file=file, remedy="Check the file.")
    if len(tables) > 1:
        raise InputError(
            f"The database has {len(tables)} tables, and one is read.",
            file=file,
            remedy=f"Name one: {file}::{tables[0]}. {did_you_mean('', tables)}",
        )
    return Selection(
        quoted(tables[0]), note=f"The only table of the database is read: {tables[0]!r}."
    )

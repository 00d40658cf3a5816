"""The functions of an exported module that read a row: only those that it needs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from separatrix.export.inputs import InputColumn
from separatrix.rows.notations.missing import AMONG_NUMBERS, SILENT
from separatrix.rows.schema import Kind

_NUMBER = '''
def _number(row, name, missing=()):
    """A number of the row, None where it is missing."""
    value = row[name]
    if isinstance(value, str):
        value = value.strip()
        value = None if value in _NO_NUMBERS else value
    if value is None:
        return None
    value = float(value)
    if math.isinf(value):
        raise ValueError(f"column {name!r} holds an infinite value")
    return None if math.isnan(value) or value in missing else value
'''
_DAYS = '''
def _days(row, name, missing=()):
    """Days since 1970-01-01 of a date, a time, or ISO text; a number is as many days."""
    value = row[name]
    if isinstance(value, str) and value.strip() not in _NO_NUMBERS:
        value = datetime.datetime.fromisoformat(value.strip())
    if isinstance(value, datetime.datetime):
        start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return (moment - start) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    return _number(row, name, missing)
'''
_TRUTH = '''
def _truth(row, name):
    """1.0 for true, 0.0 for false, None where it is missing."""
    value = row[name]
    if isinstance(value, str):
        texts = {"true": 1.0, "false": 0.0}
        value = texts.get(value.strip().lower(), value)
    number = _number({name: value}, name)
    if number not in (None, 0.0, 1.0):
        raise ValueError(f"column {name!r} holds {number}, and not true or false")
    return number
'''
_LEVEL = '''
def _level(row, name, missing):
    """A level of the row as text, None where it is missing; 3.0 is the level '3'."""
    value = row[name]
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return None if not text or text in missing else text
'''


def readers_for(columns: Sequence[InputColumn]) -> str:
    """Imports, and the functions that read these columns."""
    kinds = {column.kind for column in columns}
    dates = any(column.display in ("date", "datetime") for column in columns)
    numbers = kinds & {Kind.NUMERIC, Kind.BOOLEAN}
    parts = ["import datetime\nimport math" if dates else "import math"]
    if numbers:
        texts = ", ".join(ascii(text) for text in sorted(AMONG_NUMBERS | SILENT))
        lines = "\n".join(
            textwrap.wrap(texts, 90, initial_indent=" " * 8, subsequent_indent=" " * 8)
        )
        parts.append(f"\n_NO_NUMBERS = frozenset(\n    [\n{lines},\n    ]\n)\n\n{_NUMBER}")
    if dates:
        parts.append(_DAYS)
    if Kind.BOOLEAN in kinds:
        parts.append(_TRUTH)
    if Kind.DISCRETE in kinds:
        parts.append(_LEVEL)
    return "\n".join(parts)

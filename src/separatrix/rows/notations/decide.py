"""The notation of a column from its tally, or a refusal that names the row."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.messages import InputError
from separatrix.rows.notations.numbers import Separators
from separatrix.rows.notations.tally import MAX_CODES, Place, Tally
from separatrix.rows.schema import Notation
from separatrix.rows.sources.columns import text_in_dates, text_in_numbers

#: From this part of its texts on, a column of numbers with other texts is refused.
NUMERIC_FRACTION = 0.7
#: With fewer texts than this, dates with other texts among them are levels.
MIN_DATES = 10


@dataclass(frozen=True)
class Hints:
    """What the other columns say about texts with two readings (1,234 and 3/4/2021)."""

    decimal: str | None = None
    dates: str | None = None


def promising(tally: Tally) -> bool:
    """Whether the first rows may be numbers or dates; other columns hold levels."""
    return not tally.present or 2 * tally.best.fitting >= tally.present


def decide(tally: Tally, hints: Hints, *, forced: bool) -> Notation | None:
    """How the column is written; None if it holds levels.

    ``forced`` says that the caller declared it numeric: then no text is tolerated.
    """
    if tally.forms:
        form = _preferred(tally, hints)
        given = tally.options.na is not None
        na = tuple(sorted(tally.na))
        if not isinstance(form, Separators):
            return Notation(dates=form, na=na, na_given=given)
        return Notation(form.decimal, form.thousands, _unit(tally), na=na, na_given=given)
    best = tally.best
    if best.misfit is None:
        return None
    if not isinstance(best.form, Separators):
        if forced or (
            tally.present >= MIN_DATES and best.fitting >= NUMERIC_FRACTION * tally.present
        ):
            raise text_in_dates(*_where(tally, best.misfit), best.form)
        return None
    few = len(tally.codes) <= MAX_CODES and 2 * len(tally.codes) <= best.fitting
    few = few and all(code.isdigit() for code in tally.codes)  # such as 0, 1, 2, 3+
    if forced or (best.fitting >= NUMERIC_FRACTION * tally.present and not few):
        raise text_in_numbers(*_where(tally, best.misfit))
    return None


def _where(tally: Tally, place: Place) -> tuple[str, str, str | None, int]:
    return place.text, tally.name, place.file, place.row


def _preferred(tally: Tally, hints: Hints) -> Separators | str:
    """One of the notations that fit all texts: as the other columns, else the most usual one."""
    numbers = [form for form in tally.forms if isinstance(form, Separators)]
    if numbers:
        like = [form for form in numbers if form.decimal == hints.decimal]
        return (like or numbers)[0]
    orders = [form for form in tally.forms if isinstance(form, str)]
    if "year-first" in orders:
        return "year-first"
    return hints.dates if hints.dates in orders else orders[-1]


def _unit(tally: Tally) -> str:
    """The one unit of a column of numbers; two of them are refused."""
    signs = [sign for sign in tally.units if sign]
    if not signs:
        return ""
    if len(signs) > 1:
        place = tally.units[signs[1]]
        raise InputError(
            f"{place.text!r} has the unit {signs[1]!r}, but others have {signs[0]!r}.",
            file=place.file,
            row=place.row,
            column=tally.name,
            remedy="Convert the values to one unit, or read the column as levels with "
            f"kinds={{{tally.name!r}: 'discrete'}}.",
        )
    if signs == ["%"] and "" in tally.units:
        place = tally.units[""]
        raise InputError(
            f"{place.text!r} has no % sign, but other values have one.",
            file=place.file,
            row=place.row,
            column=tally.name,
            remedy="Write all values with %, or none.",
        )
    return signs[0]

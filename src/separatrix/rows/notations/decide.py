"""The notation of a column from its tally, or a refusal that names the row."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.messages import InputError
from separatrix.rows.notations.numbers import Separators
from separatrix.rows.notations.tally import MAX_CODES, MAX_MISFITS, Place, Tally
from separatrix.rows.schema import Notation
from separatrix.rows.sources.columns import text_in_dates, text_in_numbers

#: From this part of its texts on, a column of numbers with other texts is refused.
NUMERIC_FRACTION = 0.7
#: Up to this part of its texts, those that are not numbers or dates are slips, and read as missing;
#: of more, another way of writing is likelier.
SLIPS = 0.05
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

    ``forced`` says that the caller declared it numeric. A few texts that do not fit are missing
    values of the notation.
    """
    if tally.forms:
        return _written(tally, _preferred(tally.forms, hints), ())
    best = tally.best
    if best.misfit is None:
        return None
    if isinstance(best.form, Separators):
        levels = len(tally.codes) <= MAX_CODES and 2 * len(tally.codes) <= best.fitting
        levels = levels and all(code.isdigit() for code in tally.codes)  # such as 0, 1, 2, 3+
    else:
        levels = tally.present < MIN_DATES
    if not forced and (levels or best.fitting < NUMERIC_FRACTION * tally.present):
        return None
    slips = slips_of(tally)
    if slips:
        return _written(tally, _preferred([guess.form for guess in tally.guesses], hints), slips)
    if isinstance(best.form, Separators):
        raise text_in_numbers(*_where(tally, best.misfit))
    raise text_in_dates(*_where(tally, best.misfit), best.form)


def slips_of(tally: Tally) -> tuple[str, ...]:
    """The texts of a column of numbers or dates that are neither, if they are few enough.

    Numbers with other separators and dates in another order are no slips: the column is written in
    two ways.
    """
    best, strict = tally.best, tally.options.strict or tally.options.na is not None
    few = tally.present - best.fitting <= SLIPS * tally.present
    if strict or best.misfit is None or not few or len(best.misfits) > MAX_MISFITS:
        return ()
    texts = sorted(best.misfits)
    return () if tally.fits_otherwise(texts, best.form) else tuple(texts)


def _written(tally: Tally, form: Separators | str, slips: tuple[str, ...]) -> Notation:
    na, given = tuple(sorted({*tally.na, *slips})), tally.options.na is not None
    if not isinstance(form, Separators):
        return Notation(dates=form, na=na, na_given=given)
    return Notation(form.decimal, form.thousands, _unit(tally), na=na, na_given=given)


def _where(tally: Tally, place: Place) -> tuple[str, str, str | None, int]:
    return place.text, tally.name, place.file, place.row


def _preferred(forms: list[Separators | str], hints: Hints) -> Separators | str:
    """One of the notations that fit equally: as the other columns, else the most usual one."""
    numbers = [form for form in forms if isinstance(form, Separators)]
    if numbers:
        like = [form for form in numbers if form.decimal == hints.decimal]
        return (like or numbers)[0]
    orders = [form for form in forms if isinstance(form, str)]
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

"""Which notations fit every text of a column so far; one pass over the column decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.notations import dates
from separatrix.rows.notations.missing import AMONG_NUMBERS, SILENT
from separatrix.rows.notations.numbers import SEPARATORS, Parts, Separators, cleaned, taken_apart
from separatrix.rows.notations.numbers import fits as number_fits
from separatrix.rows.notations.options import DATES, TextOptions
from separatrix.rows.sources.columns import Location

if TYPE_CHECKING:
    import pyarrow as pa

#: Distinct numbers are counted up to one more than this: so few may be codes of levels.
MAX_CODES = 10
#: Distinct texts that a notation does not fit are kept up to one more than this: a column with more
#: is not one of numbers with a few slips.
MAX_MISFITS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A text, and where it stands."""

    text: str
    file: str | None
    row: int


@dataclass
class Guess:
    """A notation, the number of texts that it fits, the first that it does not, and the others."""

    form: Separators | str
    fitting: int = 0
    misfit: Place | None = None
    misfits: set[str] = field(default_factory=set)


@dataclass
class Tally:
    """Counts of one text column: missing values, units, and texts that each notation fits."""

    name: str
    options: TextOptions
    present: int = 0
    na: dict[str, int] = field(default_factory=dict)
    units: dict[str, Place] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    guesses: list[Guess] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.options
        self.guesses = [
            Guess(s)
            for s in SEPARATORS
            if given.decimal in (None, s.decimal) and given.thousands in (None, s.thousands)
        ]
        free = ("year-first", dates.CLOCK)
        orders = [d for d in (*DATES, dates.CLOCK) if given.dates in (None, d) or d in free]
        self.guesses += [Guess(order) for order in orders]

    def update(self, array: pa.Array, location: Location) -> None:
        """Add the texts of a batch; notations that fit no longer are dropped."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = cleaned(array)
        tokens = (AMONG_NUMBERS | SILENT) if self.options.na is None else {"", *self.options.na}
        missing = pc.is_in(text, pa.array(sorted(tokens)))
        here = pc.and_(pc.invert(missing), pc.is_valid(text))
        for found in pc.value_counts(text.filter(missing)).to_pylist():
            token = found["values"]
            if token is not None and token not in SILENT:
                self.na[token] = self.na.get(token, 0) + found["counts"]
        rows = np.flatnonzero(np.asarray(here))
        if not len(rows):
            return
        texts = text.filter(here)
        parts = taken_apart(texts)
        self.present += len(rows)
        self._count_units(texts, parts, rows, location)
        for guess in self.guesses:
            fits = self._fits(texts, parts, guess.form)
            guess.fitting += int(fits.sum())
            if fits.all():
                continue
            others = pc.unique(texts.filter(pa.array(~fits)))
            guess.misfits.update(others[: MAX_MISFITS + 1 - len(guess.misfits)].to_pylist())
            if guess.misfit is None:
                guess.misfit = _place(texts, rows, int(fits.argmin()), location)
        alive = [guess for guess in self.guesses if guess.misfit is None]
        most = self.best.fitting
        self.guesses = alive or [guess for guess in self.guesses if guess.fitting == most]

    def _fits(self, texts: pa.Array, parts: Parts, form: Separators | str) -> NDArray[np.bool_]:
        if isinstance(form, Separators):
            return np.asarray(number_fits(parts, form), dtype=bool)
        distinct = texts.dictionary_encode()
        is_date = ~np.isnan(dates.to_days(distinct.dictionary, form))
        return np.asarray(is_date[np.asarray(distinct.indices)], dtype=bool)

    def fits_otherwise(self, texts: list[str], form: Separators | str) -> bool:
        """Whether some texts are numbers as well, or dates as well, in another notation."""
        import pyarrow as pa

        array = pa.array(texts, pa.string())
        parts = taken_apart(array)
        others = SEPARATORS if isinstance(form, Separators) else DATES
        return any(self._fits(array, parts, other).any() for other in others)

    def _count_units(
        self, texts: pa.Array, parts: Parts, rows: NDArray[np.intp], location: Location
    ) -> None:
        import pyarrow.compute as pc

        if len(self.codes) <= MAX_CODES:
            self.codes.update(pc.unique(parts.body.drop_null())[: MAX_CODES + 1].to_pylist())
        number = pc.is_valid(parts.body)
        unit = pc.fill_null(parts.unit, "").filter(number)
        where = np.flatnonzero(np.asarray(number))
        for sign in pc.unique(unit).to_pylist():
            if sign not in self.units:
                i = int(where[pc.index(unit, sign).as_py()])
                self.units[sign] = _place(texts, rows, i, location)

    @property
    def best(self) -> Guess:
        """The notation that fits the most texts."""
        return max(self.guesses, key=lambda guess: guess.fitting)

    @property
    def forms(self) -> list[Separators | str]:
        """The notations that fit every text."""
        return [guess.form for guess in self.guesses if guess.misfit is None]

    @property
    def decimal(self) -> str | None:
        """The decimal separator, if only one is possible."""
        found = {form.decimal for form in self.forms if isinstance(form, Separators)}
        return found.pop() if len(found) == 1 and self.present else None

    @property
    def order(self) -> str | None:
        """The order of dates, if only one is possible."""
        if self.decimal is not None or any(isinstance(f, Separators) for f in self.forms):
            return None
        found = {str(form) for form in self.forms}
        return found.pop() if len(found) == 1 and self.present else None


def _place(texts: pa.Array, rows: NDArray[np.intp], i: int, location: Location) -> Place:
    return Place(texts[i].as_py(), location.file, location.row(int(rows[i])))

"""Verdicts on claims, and on a model as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any

from separatrix.notebook import BAD, GOOD, MUTED, Grid, Item, Sentence, Shown
from separatrix.verification.arithmetic import as_float, digits

PROVED, CONSISTENT, REFUTED, UNCHECKED = "proved", "consistent", "refuted", "not checked"
#: Digits that a recorded number must share with the exact one.
RECORDED_DIGITS = 9.0


@dataclass(frozen=True)
class Claim:
    """What a model claims, the verdict on it, and the figures in one sentence.

    ``digits`` are those to which recorded numbers agree with the recomputed ones, where numbers are
    compared.
    """

    name: str
    verdict: str
    sentence: str
    digits: float | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.words}. {self.sentence}"

    @property
    def words(self) -> str:
        """The verdict, with the digits to which numbers agree."""
        return f"consistent to {self.digits:.0f} digits" if self._counted else self.verdict

    @property
    def _counted(self) -> bool:
        return self.verdict == CONSISTENT and self.digits is not None


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """The outcome of :func:`separatrix.verify`.

    Parameters
    ----------
    model : str
        The class of the model.
    n_rows : int
        Number of rows from which the claims were recomputed.
    claims : tuple of Claim
        Every claim with its verdict ("proved", "consistent", "refuted", "not checked").
    notes : tuple of str, default=()
        What was taken from separatrix itself and not recomputed.

    Attributes
    ----------
    model, n_rows, claims, notes : object
        As given.
    verdict : str
        The total: "refuted" if any claim is; "proved" if all are proved; else "consistent".
    holds : bool
        Whether nothing was refuted and something was checked.

    See Also
    --------
    verify : Recompute the certificate of a model from its table.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.LinearRegression().fit([[1.0], [2.0], [4.0]], [1.0, 3.0, 4.0])
    >>> found = sx.verify(model, [[1.0], [2.0], [4.0]], [1.0, 3.0, 4.0])
    >>> found.verdict, found.holds
    ('proved', True)
    """

    model: str
    n_rows: int
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The total verdict."""
        verdicts = {claim.verdict for claim in self.claims}
        if REFUTED in verdicts:
            return REFUTED
        if UNCHECKED in verdicts or not verdicts:
            return CONSISTENT if verdicts & {PROVED, CONSISTENT} else UNCHECKED
        return PROVED if verdicts == {PROVED} else CONSISTENT

    @property
    def digits(self) -> float | None:
        """The fewest digits to which compared numbers agree; None where none were compared."""
        exact_digits = [claim.digits for claim in self.claims if claim.digits is not None]
        return min(exact_digits, default=None)

    @property
    def holds(self) -> bool:
        """Whether nothing was refuted and something was checked."""
        return self.verdict in (PROVED, CONSISTENT)

    @property
    def headline(self) -> str:
        """The total verdict in words."""
        if self.verdict != CONSISTENT:
            return self.verdict
        part = any(claim.verdict == UNCHECKED for claim in self.claims)
        to = "" if self.digits is None else f" to {self.digits:.0f} digits"
        return f"consistent{to}{', in the part that was checked' if part else ''}"

    @property
    def lines(self) -> list[Claim]:
        """The claims to be shown: proved ones of one name are one line, and say a fact once."""
        shown: dict[object, Claim] = {}
        for i, claim in enumerate(self.claims):
            key = claim.name if claim.verdict == PROVED else i
            before = shown.get(key)
            if before is None:
                shown[key] = claim
            elif claim.sentence not in before.sentence:
                shown[key] = replace(before, sentence=f"{before.sentence} {claim.sentence}")
        return list(shown.values())

    def __str__(self) -> str:
        lines = [f"{self.headline}: {self.model}, {self.n_rows:,} rows"]
        return "\n".join([*lines, *(f"  {c}" for c in self.lines), *(f"  {n}" for n in self.notes)])

    def _display(self) -> list[Item]:
        """The total verdict, then a line for each claim."""
        tone = GOOD if self.holds else BAD
        lines = [(c.name, c.words, c.sentence) for c in self.lines]
        return [
            Sentence(f"{self.model}, {self.n_rows:,} rows", tone, self.headline),
            Grid(("claim", "verdict", "figures"), lines, left=frozenset({0, 1, 2})),
            *(Sentence(note, MUTED) for note in self.notes),
        ]

    def document(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        claims = [
            {"claim": c.name, "verdict": c.verdict, "digits": c.digits, "sentence": c.sentence}
            for c in self.claims
        ]
        return {
            "verdict": self.verdict,
            "digits": self.digits,
            "model": self.model,
            "rows": self.n_rows,
            "claims": claims,
            "notes": list(self.notes),
        }


def bound(name: str, what: str, value: Fraction, limit: Fraction | float, against: str) -> Claim:
    """The claim that an exact value is at most a limit."""
    holds = limit == limit and value <= limit  # NaN is no limit
    relation = "at most" if holds else "more than"
    sentence = f"{what} is {as_float(value):.2g}, {relation} {against} {float(limit):.2g}."
    return Claim(name, PROVED if holds else REFUTED, sentence)


def claim_recorded(
    name: str,
    what: str,
    stored: Any,
    exact: Fraction,
    size: Fraction,
    least: float = RECORDED_DIGITS,
    *,
    error: Fraction = Fraction(0),
) -> Claim:
    """The claim that a recorded number is the exact one, to ``least`` digits of ``size``.

    Where they are nearer than the ``error`` to which it could be recomputed it is consistent.
    """
    if not isinstance(stored, int | float) or not isfinite(stored):
        return Claim(
            name, REFUTED, f"{what} is recorded as {stored}, and is {as_float(exact):.10g}."
        )
    n_digits = digits(Fraction(stored) - exact, max(abs(exact), abs(size)))
    if n_digits < least and abs(Fraction(stored) - exact) <= error:
        sentence = (
            f"{what} is {as_float(exact):.10g}, and {stored:.10g} is recorded: within the errors "
            f"of its terms, {as_float(error):.1g}."
        )
        return Claim(name, CONSISTENT, sentence, n_digits)
    if n_digits < least:
        sentence = f"{what} is recorded as {stored:.10g}, and is {as_float(exact):.10g}."
        return Claim(name, REFUTED, sentence, n_digits)
    sentence = f"{what} is {as_float(exact):.10g}, as recorded, to {n_digits:.0f} digits."
    if digits(Fraction(stored) - exact, exact) < least:
        sentence = (
            f"{what} is {as_float(exact):.10g}, and {stored:.10g} is recorded: a difference "
            f"of rounding, the same to {n_digits:.0f} digits of {as_float(abs(size)):.3g}."
        )
    return Claim(name, PROVED, sentence, n_digits)


def equal(name: str, what: str, stored: Any, exact: Any) -> Claim:
    """The claim that a recorded count or name is the one found."""
    if stored == exact:
        return Claim(name, PROVED, f"{what}: {_shown(exact)}, as recorded.")
    return Claim(name, REFUTED, f"{what}: {_shown(stored)} recorded, {_shown(exact)} found.")


def worst(claims: Sequence[Claim]) -> Claim:
    """The one claim that stands for several of a kind: a refuted one, or that of fewest digits."""
    return min(claims, key=lambda c: (c.verdict != REFUTED, 99.0 if c.digits is None else c.digits))


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)

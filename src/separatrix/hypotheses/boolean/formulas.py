"""Formulas in disjunctive normal form: an OR of terms, each an AND of inputs or their negations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.hypotheses.classes.base import Hypothesis, Labels


@dataclass(frozen=True, order=True)
class Term:
    """The inputs with x & care = value; bit j of both is input j (the first is bit 0)."""

    care: int
    value: int

    @property
    def n_literals(self) -> int:
        """Number of inputs that the term names."""
        return self.care.bit_count()

    def holds(self, x: int) -> bool:
        """Whether the input x, as bits, fulfils the term."""
        return x & self.care == self.value

    def text(self, names: Sequence[str]) -> str:
        """Inputs joined by ∧, negated ones with ¬."""
        literals = [
            name if self.value >> j & 1 else f"¬{name}"
            for j, name in enumerate(names)
            if self.care >> j & 1
        ]
        return " ∧ ".join(literals) or "true"


@dataclass(frozen=True)
class Formula(Hypothesis):
    """An OR of terms, with the names of the inputs.

    ``proved`` says whether no formula of fewer literals, or as many and fewer terms, agrees with
    the same examples.
    """

    terms: tuple[Term, ...]
    names: tuple[str, ...]
    proved: bool = True

    @property
    def n_literals(self) -> int:
        """Number of inputs named, counted as often as they are."""
        return sum(term.n_literals for term in self.terms)

    def contains(self, points: Any) -> Labels:
        """Which of the inputs (n x d values of 0 and 1) fulfil the formula."""
        x = np.asarray(points)
        found = np.zeros(len(x), dtype=bool)
        for term in self.terms:
            cared = [j for j in range(len(self.names)) if term.care >> j & 1]
            values = [term.value >> j & 1 for j in cared]
            found |= (x[:, cared] == values).all(axis=1)
        return found

    def __str__(self) -> str:
        texts = [term.text(self.names) for term in self.terms]
        if len(texts) > 1:
            texts = [
                f"({text})" if term.n_literals > 1 else text
                for term, text in zip(self.terms, texts, strict=True)
            ]
        return " ∨ ".join(texts) or "false"


def prime_terms(positive: Sequence[int], negative: Sequence[int]) -> list[Term]:
    """Terms that hold for a positive example and for no negative one, and name no input in vain.

    A term that holds for p excludes the negative example n if it names an input in which they
    differ. So the prime terms of p are the minimal sets of inputs that meet all these differences:
    the prime implicants of Quine and McCluskey, examples that were not seen taken as either.
    """
    found: dict[Term, None] = {}
    for p in positive:
        for care in minimal_transversals(p ^ n for n in negative):
            found[Term(care, p & care)] = None
    return list(found)


def minimal_transversals(sets: Iterable[int]) -> list[int]:
    """The minimal sets that meet every given set, all as bits (Berge)."""
    found = [0]
    for one in sorted(set(sets), key=int.bit_count):
        meet = [t for t in found if t & one]
        bits = [1 << j for j in range(one.bit_length()) if one >> j & 1]
        wider = {t | bit for t in found if not t & one for bit in bits}
        found = meet + [t for t in wider if not any(m & ~t == 0 for m in meet)]
    return found

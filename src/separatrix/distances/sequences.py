"""Distances between strings and other sequences, letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.base import Metric, vectors
from separatrix.distances.loops import distances as loops
from separatrix.distances.loops.edit_distance import edit_distances
from separatrix.messages import InputError
from separatrix.rows.block import Floats


class Letters(NamedTuple):
    """Sequences one after another as codes, with the position at which each starts."""

    codes: NDArray[np.int64]
    starts: NDArray[np.int64]
    alphabet: dict[Any, int]


@dataclass(frozen=True)
class Edit(Metric):
    """Levenshtein: the fewest letters to insert, delete or replace to turn one into the other."""

    of_vectors: ClassVar[bool] = False

    def validate(self, x: Any) -> list[Any]:
        """A list of strings, or of other sequences of hashable letters."""
        return sequences(x)

    def precompute(self, z: list[Any]) -> Letters:
        """Letters as numbers."""
        return _spelt(z, {})

    def fill(self, x: list[Any], prepared: Letters, out: Floats) -> None:
        """The table of edits."""
        mine = _spelt(x, dict(prepared.alphabet))
        size = max(1, len(mine.alphabet))
        edit_distances(mine.codes, mine.starts, prepared.codes, prepared.starts, size, out)


@dataclass(frozen=True)
class Hamming(Metric):
    """How many positions differ, of rows of numbers or of sequences of one length."""

    of_vectors: ClassVar[bool] = False

    def validate(self, x: Any) -> Any:
        """Rows of a matrix, or sequences of one length."""
        if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
            return vectors(x)
        x = sequences(x)
        if len({len(s) for s in x}) > 1:
            raise InputError(
                "Hamming's distance compares sequences of one length.",
                remedy="Use Edit() for strings of different lengths.",
            )
        return x

    def precompute(self, z: Any) -> tuple[Floats, dict[Any, int]]:
        """Letters as columns."""
        codes, alphabet = _columns(z, {})
        return np.ascontiguousarray(codes.T), alphabet

    def fill(self, x: Any, prepared: tuple[Floats, dict[Any, int]], out: Floats) -> None:
        """Positions that differ."""
        columns, alphabet = prepared
        codes, _ = _columns(x, dict(alphabet))
        if codes.shape[1] != columns.shape[0]:
            raise InputError(
                f"Sequences of {codes.shape[1]} and of {columns.shape[0]} letters were given."
            )
        loops.differing(codes, columns, out)


def sequences(x: Any) -> list[Any]:
    """A list of sequences, checked."""
    if isinstance(x, str):
        raise InputError("A list of strings is expected, and one string was given.")
    items = x.tolist() if isinstance(x, np.ndarray) and x.ndim == 1 else list(x)
    for i, item in enumerate(items):
        if not isinstance(item, Sequence | np.ndarray):
            raise InputError(
                f"Item {i} is {item!r}: this distance is between strings or sequences."
            )
    return items


def _columns(x: Any, alphabet: dict[Any, int]) -> tuple[Floats, dict[Any, int]]:
    if isinstance(x, np.ndarray):
        return x, alphabet
    spelt = _spelt(x, alphabet)
    width = len(x[0]) if x else 0
    return spelt.codes.reshape(len(x), width).astype(float), spelt.alphabet


def _spelt(x: list[Any], alphabet: dict[Any, int]) -> Letters:
    """Codes of all letters; a letter that is new gets the next number."""
    codes = [alphabet.setdefault(letter, len(alphabet)) for item in x for letter in item]
    starts = np.concatenate([[0], np.cumsum([len(item) for item in x], dtype=np.int64)])
    return Letters(np.array(codes, dtype=np.int64), starts.astype(np.int64), alphabet)

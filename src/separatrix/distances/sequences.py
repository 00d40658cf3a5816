"""Distances between strings and other sequences: edit distance and Hamming distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.distances import loops
from separatrix.distances.loops import edit_distances
from separatrix.distances.metrics import Metric, as_dense_matrix
from separatrix.messages import InputError


class EncodedSequences(NamedTuple):
    """Sequences concatenated as integer codes; sequence i is ``codes[starts[i]:starts[i + 1]]``."""

    codes: Ints
    starts: Ints
    alphabet: dict[Any, int]


@dataclass(frozen=True)
class Edit(Metric):
    """Edit (Levenshtein) distance between strings or other sequences.

    The fewest insertions, deletions and substitutions of single symbols that turn one into the
    other.

    See Also
    --------
    Hamming : substitutions only, of sequences of one length.
    Spectrum : a kernel of strings.

    References
    ----------
    G. Myers, A fast bit-vector algorithm for approximate string matching, 1999.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Edit()("kitten", "sitting")
    3.0
    """

    of_vectors: ClassVar[bool] = False

    def validate(self, x: Any) -> list[Any]:
        """A list of strings, or of other sequences of hashable symbols."""
        return as_sequences(x)

    def precompute(self, z: list[Any]) -> EncodedSequences:
        """Symbols as integer codes."""
        return _encode(z, {})

    def fill(self, x: list[Any], precomputed: EncodedSequences, out: Floats) -> None:
        """Edit distances by dynamic programming."""
        encoded = _encode(x, dict(precomputed.alphabet))
        size = max(1, len(encoded.alphabet))
        edit_distances(
            encoded.codes, encoded.starts, precomputed.codes, precomputed.starts, size, out
        )


@dataclass(frozen=True)
class Hamming(Metric):
    """Hamming distance: the number of positions that differ.

        d(x, z) = Σ 1{xⱼ ≠ zⱼ}

    Of rows of numbers, or of strings and other sequences of one length.

    Parameters
    ----------
    relative : bool, default=False
        Divide by the number of positions, as ``metric="hamming"`` does by name, in SciPy and
        scikit-learn as well.

    See Also
    --------
    Edit : allows insertions and deletions, too.
    Gower : averages over columns, numeric ones included.

    References
    ----------
    R. W. Hamming, Error detecting and error correcting codes, Bell System Technical Journal 29,
    1950.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Hamming()("karolin", "kathrin")
    3.0
    """

    relative: bool = False
    of_vectors: ClassVar[bool] = False

    def validate(self, x: Any) -> Any:
        """Rows of a matrix, or sequences of one length."""
        if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
            return as_dense_matrix(x)
        x = as_sequences(x)
        if len({len(s) for s in x}) > 1:
            raise InputError(
                "The Hamming distance compares sequences of one length.",
                remedy="Use Edit() for strings of different lengths.",
            )
        return x

    def precompute(self, z: Any) -> tuple[Floats, dict[Any, int]]:
        """The points as columns of codes, and the code of every symbol."""
        codes, alphabet = _code_matrix(z, {})
        return np.ascontiguousarray(codes.T), alphabet

    def fill(self, x: Any, precomputed: tuple[Floats, dict[Any, int]], out: Floats) -> None:
        """The number of positions that differ."""
        columns, alphabet = precomputed
        codes, _ = _code_matrix(x, dict(alphabet))
        if codes.shape[1] != columns.shape[0]:
            raise InputError(
                f"Sequences of lengths {codes.shape[1]} and {columns.shape[0]} were given.",
                remedy="Use Edit() for strings of different lengths.",
            )
        loops.hamming(codes, columns, out)
        if self.relative and codes.shape[1]:
            out /= codes.shape[1]


def as_sequences(x: Any) -> list[Any]:
    """A list of sequences, checked."""
    if isinstance(x, str):
        raise InputError(
            "A list of strings is expected, and one string was given.", remedy="Put it in a list."
        )
    items = x.tolist() if isinstance(x, np.ndarray) and x.ndim == 1 else list(x)
    for i, item in enumerate(items):
        if not isinstance(item, Sequence | np.ndarray):
            raise InputError(
                f"Item {i} is {item!r}: this distance is between strings or sequences."
            )
    return items


def _code_matrix(x: Any, alphabet: dict[Any, int]) -> tuple[Floats, dict[Any, int]]:
    if isinstance(x, np.ndarray):
        return x, alphabet
    encoded = _encode(x, alphabet)
    length = len(x[0]) if x else 0
    return encoded.codes.reshape(len(x), length).astype(float), encoded.alphabet


def _encode(x: list[Any], alphabet: dict[Any, int]) -> EncodedSequences:
    """Integer codes of all symbols; new symbols extend ``alphabet``."""
    codes = [alphabet.setdefault(symbol, len(alphabet)) for item in x for symbol in item]
    starts = np.concatenate([[0], np.cumsum([len(item) for item in x], dtype=np.int64)])
    return EncodedSequences(np.array(codes, dtype=np.int64), starts.astype(np.int64), alphabet)

"""Kernels of strings, or of any sequences of comparable symbols (words, events).

Spectrum       common substrings of one length
Subsequence    common subsequences, with gaps discounted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items
from separatrix.kernels.features import FeatureKernel, as_list
from separatrix.kernels.pairs import Encoding, PairwiseKernel, check_decay
from separatrix.kernels.parameters.hyperparameters import check_integer, hyperparameter
from separatrix.messages import InputError


@dataclass(frozen=True)
class Spectrum(FeatureKernel):
    """Spectrum kernel of strings: common substrings of a fixed length.

        κ(s, t) = Σ_u count_u(s) · count_u(t),    over all substrings u of ``length`` letters

    Mercer: the counts are the feature map. A string shorter than ``length`` has no features.

    Parameters
    ----------
    length : int, default=3
        Length of the substrings, a positive integer.

    See Also
    --------
    Subsequence : subsequences with gaps.
    Edit : edit distance of strings.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble, The spectrum kernel: a string kernel for SVM protein
    classification, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Spectrum(2).gram(["abab", "abba"])
    array([[5., 3.],
           [3., 3.]])
    """

    length: int = hyperparameter(3, 1, 20, continuous=False)

    def __post_init__(self) -> None:
        check_integer(self.length, "The length of Spectrum", 1)

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The substrings with their counts."""
        s, k = as_sequence(item, "Spectrum"), int(self.length)
        return Counter(s[i : i + k] for i in range(len(s) - k + 1))

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return _serializable_sequences(items)


@dataclass(frozen=True)
class Subsequence(PairwiseKernel):
    """Subsequence kernel of strings: common subsequences, with gaps discounted.

        κ(s, t) = Σ_u Σ_{i: s[i]=u} Σ_{j: t[j]=u} λ^(span(i) + span(j)),    over all u of n letters

    The index tuples i and j are increasing, not necessarily contiguous; their span counts the
    letters from the first to the last. Mercer: φ_u(s) = Σ_{i: s[i]=u} λ^span(i) is the feature
    map. Values are of the order λ^2n and grow with the strings: use ``.normalized()``.

    Parameters
    ----------
    length : int, default=3
        n, a positive integer.
    decay : float, default=0.5
        λ, above 0 and at most 1.

    See Also
    --------
    Spectrum : contiguous substrings.
    Edit : edit distance of strings.

    Notes
    -----
    Computed in n·|s|·|t| steps by dynamic programming.

    References
    ----------
    H. Lodhi et al., Text classification using string kernels, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Subsequence(2, decay=0.5).gram(["cat"], ["car"])
    array([[0.0625]])
    """

    length: int = hyperparameter(3, 1, 20, continuous=False)
    decay: float = hyperparameter(0.5, 1e-3, 1.0)

    def __post_init__(self) -> None:
        check_integer(self.length, "The length of Subsequence", 1)
        check_decay(self.decay)

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return _serializable_sequences(items)

    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> Encoding:
        """Concatenated codes of the letters, and the ends of the strings."""
        texts = [as_sequence(item, "Subsequence") for item in items]
        if extend:
            for text in texts:
                for letter in text:
                    vocabulary.setdefault(letter, len(vocabulary))
        codes = [vocabulary.get(letter, -1) for text in texts for letter in text]
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Encoding(vocabulary, (np.array(codes, dtype=np.int64), ends), sizes)

    def fill(
        self, x: Encoding, z: Encoding, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Dynamic programming for every pair."""
        from separatrix.kernels.loops.strings import subsequence_kernel

        work = np.zeros((self.length, z.max_size + 1), dtype=out.dtype)
        decay = out.dtype.type(decay)
        subsequence_kernel(*x.arrays, *z.arrays, rows.start, rows.stop, part, decay, work, out)


def as_sequence(item: Any, kernel: str) -> Any:
    """A string, or another sequence as a tuple."""
    if isinstance(item, str):
        return item
    if isinstance(item, list | tuple | np.ndarray):
        return tuple(item)
    raise InputError(
        f"{kernel} compares strings or sequences; this is {type(item).__name__}: {item!r:.60}."
    )


def _serializable_sequences(items: Items) -> list[Any]:
    return [str(item) if isinstance(item, str) else tuple(item) for item in as_list(items)]

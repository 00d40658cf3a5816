"""Kernels of strings, or of any sequences of things that can be told apart (words, events).

Spectrum       pieces of one length that both hold
Subsequence    letters in the same order, with gaps at a price
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.kernels.base import Array, Items, Kernel, hyper
from separatrix.kernels.features import FeatureKernel, objects, sequence
from separatrix.kernels.pairs import STEP, Encoded, PairRows, pairs_with_themselves
from separatrix.messages import InputError


@dataclass(frozen=True)
class Spectrum(FeatureKernel):
    """κ(s, t) = Σ_u count_u(s) · count_u(t), over all pieces u of ``length`` letters.

    Mercer: the counts are the feature map. A string shorter than ``length`` has no features.
    """

    length: int = hyper(3, 1, 20, smooth=False)

    def __post_init__(self) -> None:
        check_length(self.length, "Spectrum")

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The pieces and how often they occur."""
        s, k = sequence(item, "Spectrum"), int(self.length)
        return Counter(s[i : i + k] for i in range(len(s) - k + 1))

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return [plain_sequence(item) for item in objects(items)]


@dataclass(frozen=True)
class Subsequence(Kernel):
    """κ(s, t) = Σ_u Σ_{i: s[i]=u} Σ_{j: t[j]=u} λ^(span of i + span of j), over all u of n letters.

    n is the ``length``, λ the ``decay``, and i the places in s where the letters of u stand, in
    order but not side by side; their span counts the letters from the first to the last. Mercer:
    φ_u(s) = Σ_{i: s[i]=u} λ^span is the feature map. Computed in n·|s|·|t| steps. The numbers are
    of the order λ^2n and grow with the strings: ``Subsequence(3, 0.5).normalised()`` is the usual
    form.
    """

    length: int = hyper(3, 1, 20, smooth=False)
    decay: float = hyper(0.5, 1e-3, 1.0)
    of_vectors = False

    def __post_init__(self) -> None:
        check_length(self.length, "Subsequence")
        check_decay(self.decay)

    def prepare(self, z: Items) -> PairRows:
        """Centers as numbered letters."""
        return PairRows(self, objects(z), _Letters)

    def diagonal(self, x: Items) -> Array:
        """Every string with itself."""
        return pairs_with_themselves(objects(x), _Letters, self)

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return [plain_sequence(item) for item in objects(items)]

    def _fill(self, x: Encoded, z: Encoded, top: int, bottom: int, out: Array, **how: Any) -> None:
        """Rows top … bottom of ``out``; complex numbers carry the derivative along."""
        from separatrix.kernels.loops.strings import subsequences

        decay = how.get("decay", self.decay)
        work = np.zeros((self.length, z.largest + 1), dtype=out.dtype)
        subsequences(
            *x.arrays, *z.arrays, top, bottom, how["part"], out.dtype.type(decay), work, out
        )

    def _slopes(self, x: Items) -> list[Array]:
        complexes = self.prepare(x)._square(np.complex128, decay=complex(self.decay, STEP))
        return [complexes.imag / STEP]


class _Letters(Encoded):
    """Strings one after the other as numbers, the same letter as the same number."""

    def __init__(self, items: list[Any], known: dict[Any, int], *, learn: bool) -> None:
        texts = [sequence(item, "Subsequence") for item in items]
        if learn:
            for text in texts:
                for letter in text:
                    known.setdefault(letter, len(known))
        codes = [known.get(letter, -1) for text in texts for letter in text]
        ends = np.cumsum([0, *(len(text) for text in texts)])
        super().__init__(known, (np.array(codes, dtype=np.int64), ends.astype(np.int64)))
        self.largest = max((len(text) for text in texts), default=0)

    def __len__(self) -> int:
        return len(self.arrays[1]) - 1

    @property
    def costs(self) -> NDArray[np.int64]:
        """Letters of every string."""
        return np.diff(self.arrays[1])


def plain_sequence(item: Any) -> Any:
    """A string as str, another sequence as a tuple."""
    return str(item) if isinstance(item, str) else tuple(item)


def check_length(length: float, kernel: str) -> None:
    """Refuse anything but a whole number of one or more letters."""
    if length != int(length) or length < 1:
        raise InputError(
            f"The length of {kernel} is {length!r}.", remedy="It is a whole number, 1 or more."
        )


def check_decay(decay: float) -> None:
    """Refuse a price that is no price."""
    if not 0.0 < decay <= 1.0:
        raise InputError(
            f"The decay is {decay!r}.", remedy="Take a number above 0, up to 1 (no price)."
        )

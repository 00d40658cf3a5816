"""Distances between rows of truth values, from how often they agree.

With a the number of columns true in both rows, b and c in one of them, e in neither:

    jaccard         (b + c) / (a + b + c)
    dice            (b + c) / (2a + b + c)
    matching        (b + c) / (a + b + c + e)
    rogerstanimoto  2(b + c) / (a + 2(b + c) + e)
    sokalsneath     2(b + c) / (a + 2(b + c))
    russellrao      (b + c + e) / (a + b + c + e)
    yule            2bc / (ae + bc)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.distances.base import Metric, as_dense_matrix
from separatrix.messages import check_option
from separatrix.rows.block import Floats

#: (a, b, c, e) → numerator and denominator.
_Ratio = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Floats]]

_RATIOS: dict[str, _Ratio] = {
    "jaccard": lambda a, b, c, _: (b + c, a + b + c),
    "dice": lambda a, b, c, _: (b + c, 2.0 * a + b + c),
    "matching": lambda a, b, c, e: (b + c, a + b + c + e),
    "rogerstanimoto": lambda a, b, c, e: (2.0 * (b + c), a + 2.0 * (b + c) + e),
    "sokalmichener": lambda a, b, c, e: (2.0 * (b + c), a + 2.0 * (b + c) + e),
    "sokalsneath": lambda a, b, c, _: (2.0 * (b + c), a + 2.0 * (b + c)),
    "russellrao": lambda a, b, c, e: (b + c + e, a + b + c + e),
    "yule": lambda a, b, c, e: (2.0 * b * c, a * e + b * c),
}
#: Those that violate an axiom: the triangle inequality, or d(x, x) = 0 (russellrao).
_NO_METRICS = ("dice", "russellrao", "yule")


@dataclass(frozen=True)
class BooleanDistance(Metric):
    """Distance between rows of truth values, from how often they agree.

    With a the number of columns true in both rows, b and c in one of them, e in neither::

        dice            (b + c) / (2a + b + c)
        matching        (b + c) / (a + b + c + e)
        rogerstanimoto  2(b + c) / (a + 2(b + c) + e), also named sokalmichener
        sokalsneath     2(b + c) / (a + 2(b + c))
        russellrao      (b + c + e) / (a + b + c + e)
        yule            2bc / (ae + bc)

    Numbers are true unless they are zero; 0/0 is 0. Counts come from one matrix product.

    Parameters
    ----------
    kind : str, default="matching"
        One of these names, or "jaccard". "dice", "russellrao" and "yule" violate an axiom of a
        metric.

    See Also
    --------
    JaccardDistance : Of all columns true in either row, the fraction true in one only.
    Hamming : Columns that differ, of any values.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.BooleanDistance("dice")([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    >>> sx.BooleanDistance("dice").is_metric
    False
    """

    kind: str = "matching"

    def __post_init__(self) -> None:
        check_option("kind", self.kind, _RATIOS)

    @property
    def is_metric(self) -> bool:
        """Whether the axioms hold, as those of rows of truth values."""
        return self.kind not in _NO_METRICS

    def validate(self, x: Any) -> Floats:
        """Zeros and ones."""
        return np.asarray(as_dense_matrix(x) != 0.0, dtype=np.float64)

    def precompute(self, z: Floats) -> tuple[Floats, Floats]:
        """The points as columns, and how many of their values are true."""
        return np.ascontiguousarray(z.T), z.sum(axis=1)

    def fill(self, x: Floats, precomputed: tuple[Floats, Floats], out: Floats) -> None:
        """The ratio of counts."""
        columns, of_points = precomputed
        both = x @ columns
        first = x.sum(axis=1)[:, None] - both
        second = of_points - both
        neither = x.shape[1] - both - first - second
        above, below = _RATIOS[self.kind](both, first, second, neither)
        np.divide(above, np.where(below > 0.0, below, 1.0), out=out)


@dataclass(frozen=True)
class JaccardDistance(BooleanDistance):
    """Jaccard distance of rows of truth values.

        d(x, z) = 1 − |x ∧ z| / |x ∨ z|

    Of all columns true in either row, the fraction true in only one. Two rows without a true value
    have distance zero. Numbers are true unless they are zero.

    Attributes
    ----------
    kind : str
        "jaccard".

    See Also
    --------
    Jaccard : The similarity of sets, as a kernel.
    BooleanDistance : Others of the kind.

    References
    ----------
    P. Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11, 1912.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.JaccardDistance()([1, 1, 0, 0], [1, 0, 0, 1]) * 3
    2.0
    """

    kind: str = field(default="jaccard", init=False)

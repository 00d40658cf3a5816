"""Coverage on rows that the model has not seen: a proportion with its exact interval.

Clopper and Pearson: of k covered rows among n, the lower end is the p under which k or more are
covered with a probability of α/2, and the upper end that under which k or fewer are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Coverage:
    """How many of some rows were covered, at which level they should be.

    Parameters
    ----------
    level : float
        What was asked for.
    covered, rows : float
        The weight of the rows whose target is in its interval or set, and of all rows.
    interval : tuple of float
        Clopper–Pearson interval of the proportion, at a confidence of 95 %.
    size : float
        Mean width of the intervals (∞ where one is unbounded), or mean number of labels.
    by_category : dict
        The same for each category, if there are any; of classes for each class.

    See Also
    --------
    ConformalRegressor : Intervals.
    ConformalClassifier : Sets of labels.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, Springer, 2005.

    Examples
    --------
    >>> from separatrix.conformal.coverage import Coverage, coverage_of
    >>> import numpy as np
    >>> found = coverage_of(0.9, np.arange(20) < 19, np.ones(20))
    >>> found.proportion, [round(end, 3) for end in found.interval]
    (0.95, [0.751, 0.999])
    """

    level: float
    covered: float
    rows: float
    interval: tuple[float, float]
    size: float
    by_category: dict[Any, Coverage] = field(default_factory=dict)

    @property
    def proportion(self) -> float:
        """Covered rows of all rows."""
        return self.covered / self.rows if self.rows else float("nan")

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"{100 * self.proportion:.1f} % of {self.rows:g} rows covered "
            f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %; level {100 * self.level:g} %), "
            f"mean size {self.size:.4g}"
        ]
        lines += [f"  {name}: {part}" for name, part in self.by_category.items()]
        return "\n".join(lines)


def clopper_pearson(covered: float, rows: float, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a proportion; [0, 1] of no rows."""
    if rows <= 0:
        return 0.0, 1.0
    tail = 0.5 * (1.0 - confidence)
    low = 0.0 if covered <= 0 else float(betaincinv(covered, rows - covered + 1.0, tail))
    high = 1.0 if covered >= rows else float(betaincinv(covered + 1.0, rows - covered, 1.0 - tail))
    return low, high


def coverage_of(
    level: float,
    inside: NDArray[np.bool_],
    size: Floats,
    w: Floats | None = None,
    categories: NDArray[Any] | None = None,
) -> Coverage:
    """Coverage of rows, all together and by category."""
    weights = np.ones(len(inside)) if w is None else np.asarray(w, dtype=float)
    total, covered = float(weights.sum()), float(weights @ inside)
    mean = float(np.average(size, weights=weights)) if total else float("nan")
    parts = {}
    if categories is not None:
        for name in dict.fromkeys(categories.tolist()):
            at = categories == name
            parts[name] = coverage_of(level, inside[at], size[at], weights[at])
    parts = dict(sorted(parts.items(), key=lambda item: str(item[0])))
    return Coverage(float(level), covered, total, clopper_pearson(covered, total), mean, parts)

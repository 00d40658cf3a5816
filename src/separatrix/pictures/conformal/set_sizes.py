"""How many labels conformal sets hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.bayes.inputs import level_text
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.style import BLUE, percent_axis, style_axes
from separatrix.rows.block import Floats

#: Sizes of sets that get a tick each.
MANY = 12


@dataclass(eq=False)
class SetSizeDisplay(Display):
    """Histogram of the numbers of labels in sets of a guaranteed coverage.

    Sets of one label are decisions; larger ones say which labels cannot be told apart. An empty set
    is a row that resembles none of the classes enough.

    Parameters
    ----------
    counts : ndarray of shape (K + 1,)
        The number of sets with 0, 1, …, K labels.
    level : float, default=0.9
        The level of the sets.

    Attributes
    ----------
    mean : float
        Mean number of labels.

    See Also
    --------
    CategoryCoverageDisplay : How often the sets hold the label, by class.

    Examples
    --------
    >>> from separatrix.pictures import SetSizeDisplay
    >>> SetSizeDisplay([1, 90, 9, 0]).description
    'Labels in a set at the level 90 %: 1 empty, 90 of one label, 9 of more. 1.08 labels on average over 100 rows.'
    """  # noqa: E501

    counts: Floats
    level: float = 0.9

    title: ClassVar[str] = "Labels in a set"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=float).ravel()
        if len(self.counts) < 2 or not self.counts.sum() > 0:
            raise InputError("There is no set whose labels could be counted.")

    @classmethod
    def from_sets(cls, sets: Any, *, level: float = 0.9) -> Self:
        """From which labels are in the set of every row (n x K)."""
        inside = np.asarray(sets, dtype=bool)
        counts = np.bincount(inside.sum(axis=1), minlength=inside.shape[1] + 1)
        return cls(counts.astype(float), level)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, level: float = 0.9) -> Self:
        """From a conformal classifier and rows that it has not seen."""
        return cls.from_sets(model.predict_set(X, level=level), level=level)

    @property
    def mean(self) -> float:
        """Mean number of labels."""
        return float(np.average(np.arange(len(self.counts)), weights=self.counts))

    @property
    def description(self) -> str:
        """The caption, after how many sets are empty, of one label, and larger."""
        more = self.counts[2:].sum()
        return (
            f"Labels in a set at the level {level_text(self.level)}: {self.counts[0]:g} empty, "
            f"{self.counts[1]:g} of one label, {more:g} of more. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """The mean."""
        rows = plural(round(float(self.counts.sum())), "row")
        return f"{self.mean:.3g} labels on average over {rows}."

    def _draw(self, ax: Any) -> None:
        used = int(np.flatnonzero(self.counts)[-1]) + 1
        sizes = np.arange(max(used, 2))
        ax.bar(sizes, self.counts[: len(sizes)] / self.counts.sum(), width=0.7, color=BLUE)
        style_axes(ax, grid="y")
        if len(sizes) <= MANY:
            ax.set_xticks(sizes)
        percent_axis(ax.yaxis)
        ax.set_xlabel(f"labels in the set at the level {level_text(self.level)}")
        ax.set_ylabel("rows")

"""How many clusters? The scatter that is left and the mean silhouette, over the number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.style import BLUE, ORANGE, PAPER, style_axes
from separatrix.pictures.training.path import mark_penalty
from separatrix.rows.block import Floats

#: Rows whose silhouettes are measured, against one another.
MEASURED = 10_000


@dataclass(eq=False)
class ElbowDisplay(Display):
    """``scatter`` within ``counts`` clusters as a share of the whole, ``silhouette`` of each.

    One cluster has no silhouette: NaN. ``chosen`` is marked; by default the number with the
    highest silhouette. ``measured`` says of how many rows the silhouettes are, if not of all.
    """

    counts: Any
    scatter: Floats
    silhouette: Floats
    chosen: int | None = None
    measured: int | None = None

    title: ClassVar[str] = "Scatter and silhouette over the number of clusters"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=np.int64)
        self.scatter = np.asarray(self.scatter, dtype=float)
        self.silhouette = np.asarray(self.silhouette, dtype=float)
        if not self.counts.size or not (
            self.counts.shape == self.scatter.shape == self.silhouette.shape
        ):
            raise InputError(
                "Give one scatter and one silhouette for each number of clusters.",
                remedy="NaN is the silhouette of one cluster.",
            )
        if self.chosen is None and np.isfinite(self.silhouette).any():
            self.chosen = self.suggested

    @classmethod
    def from_rows(
        cls, X: Any, counts: Iterable[int] = range(1, 11), *, model: Any = None, **settings: Any
    ) -> Self:
        """Cluster rows of numbers into each number; ``model`` is any clusterer, KMeans if None.

        ``settings`` go to :class:`~separatrix.KMeans`. Silhouettes are Euclidean; of more than
        10 000 rows an even selection has them. Numbers above that of the rows are left out.
        """
        from sklearn.base import clone

        from separatrix.cluster.kmeans import KMeans
        from separatrix.cluster.scatter import scatter_decomposition
        from separatrix.cluster.silhouette import silhouette

        x = np.asarray(X, dtype=float)
        model = KMeans(**{"n_init": 5, "random_state": 0, **settings}) if model is None else model
        some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MEASURED)).round().astype(int))
        tried, share, score = sorted(k for k in set(counts) if k <= len(x)), [], []
        for k in tried:
            labels = clone(model).set_params(n_clusters=k).fit(x).labels_
            split = scatter_decomposition(x, labels)
            share.append(1 - split.explained if split.total > 0 else 0.0)
            there = len(np.unique(labels[some]))
            told = 2 <= there < len(some)
            score.append(silhouette(x[some], labels[some]).score if told else np.nan)
        measured = None if len(some) == len(x) else len(some)
        return cls(tried, np.array(share), np.array(score), measured=measured)

    @property
    def suggested(self) -> int | None:
        """The number with the highest silhouette; of equals the smallest."""
        if not np.isfinite(self.silhouette).any():
            return None
        return int(self.counts[int(np.nanargmax(self.silhouette))])

    @property
    def description(self) -> str:
        """Both ends of the scatter, the best silhouette, and the number chosen."""
        text = (
            f"From {self.counts[0]} to {self.counts[-1]} clusters the scatter within them falls "
            f"from {100 * self.scatter[0]:.0f} to {100 * self.scatter[-1]:.0f} % of the whole."
        )
        if self.suggested is not None:
            best = float(np.nanmax(self.silhouette))
            text += f" The mean silhouette is highest, {number(best, 3)}, for {self.suggested}"
            text += f" (of {self.measured:,} rows)." if self.measured else "."
        if self.chosen is not None and self.chosen in self.counts:
            at = int(np.flatnonzero(self.counts == self.chosen)[0])
            text += f" Chosen: {self.chosen}, with {100 * self.scatter[at]:.0f} % within"
            if self.chosen != self.suggested:
                text += f" and silhouette {number(float(self.silhouette[at]), 3)}"
            text += "."
        return text

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        look = {"marker": "o", "ms": 4.5}
        ax.plot(self.counts, self.scatter, color=BLUE, label="scatter within, share", **look)
        ax.plot(
            self.counts,
            self.silhouette,
            color=ORANGE,
            linestyle=(0, (5, 2)),
            label="mean silhouette",
            mfc=PAPER,
            **look,
        )
        style_axes(ax)
        if self.chosen is not None:
            mark_penalty(ax, self.chosen, "chosen")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        low = float(np.nanmin([0.0, *self.silhouette]))
        ax.set_ylim(1.1 * low - 0.03, 1.05)
        ax.set_xlabel("clusters")
        ax.set_ylabel("share of the scatter; silhouette")
        ax.legend(frameon=False, fontsize=9, loc="best")

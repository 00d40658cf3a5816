"""Clusters as they lie on the plane in which their means are farthest apart: a projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.scatter import cluster_projection
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed
from separatrix.pictures.scatter import MANY, scatter
from separatrix.pictures.style import PAPER, SERIES, ink, plain, style_axes
from separatrix.rows.block import Floats

_NAMED, _HEAVY = 12, 2


@dataclass(eq=False)
class ClusterProjectionDisplay(Display):
    """``dots`` (n x 2) along two ``directions`` (d x 2), the cluster ``codes`` and their names.

    ``between`` and ``total`` are the shares of the scatter between clusters, and of all scatter,
    that the plane shows.
    """

    dots: Floats
    codes: NDArray[np.int64]
    clusters: Sequence[str]
    directions: Floats
    between: float
    total: float
    names: Sequence[str]
    many: int = MANY

    title: ClassVar[str] = "Clusters, in projection"

    @classmethod
    def from_rows(
        cls,
        X: Any,
        labels: Any,
        *,
        standardize: bool = False,
        names: Sequence[str] | None = None,
        many: int = MANY,
    ) -> Self:
        """Along the two directions in which the means of the clusters scatter most.

        Two clusters lie on one line: across it, the widest scatter that remains. With
        ``standardize`` columns are measured in deviations, so that units do not matter.
        """
        x, given = np.asarray(X, dtype=float), np.asarray(labels)
        if x.ndim != 2 or given.shape != (len(x),) or not x.size:
            raise InputError(f"Rows of shape {x.shape} and labels of shape {given.shape}.")
        if names is None:
            columns = getattr(X, "columns", None)
            names = [f"x{j}" for j in range(x.shape[1])] if columns is None else list(columns)
        z = x - x.mean(axis=0)
        if standardize:
            spread = z.std(axis=0)
            z = z / np.where(spread > 0, spread, np.inf)
        clusters, code = np.unique(given, return_inverse=True)
        plane = cluster_projection(z, code)
        return cls(
            plane.coordinates,
            code,
            [str(c) for c in clusters],
            plane.directions,
            plane.between,
            plane.total,
            [str(name) for name in names],
            many,
        )

    def heaviest(self, axis: int) -> list[str]:
        """The columns that weigh most in a direction."""
        weight = np.abs(self.directions[:, axis])
        order = np.argsort(-weight, kind="stable")[:_HEAVY]
        return [str(self.names[j]) for j in order if weight[j] > 0.2 * weight.max() > 0]

    @property
    def description(self) -> str:
        """What the axes are, and how much of the truth they show."""
        across, up = (
            listed([plain(name, 20) for name in self.heaviest(i)]) or "nothing" for i in (0, 1)
        )
        share = f"{100 * self.total:.0f} % of all scatter"
        if len(self.clusters) > 1 and np.isfinite(self.between):
            share = f"{100 * self.between:.0f} % of the scatter between clusters and {share}"
        sizes = np.bincount(self.codes, minlength=len(self.clusters))
        order = np.argsort(-sizes, kind="stable")[:6]
        told = ", ".join(f"{self.clusters[i]} with {counted(int(sizes[i]), 'row')}" for i in order)
        lead = "the largest are " if len(sizes) > 6 else ""
        return (
            f"A projection that shows {share}: across mostly {across}, up mostly {up}. "
            f"{counted(len(sizes), 'cluster')}: {lead}{told}."
        )

    @property
    def size(self) -> tuple[float, float]:
        """A little taller than others."""
        return 4.9, 3.9

    def _draw(self, ax: Any) -> None:
        k = len(self.clusters)
        for i in range(k):
            own = self.dots[self.codes == i]
            if not len(own):
                continue
            many = 0 if len(self.dots) > self.many else len(own)
            colour = SERIES[i % len(SERIES)]
            scatter(ax, own[:, 0], own[:, 1], many=many, color=colour, clouds=k)
        if k <= _NAMED:
            for i in np.unique(self.codes).tolist():
                ax.text(
                    *self.dots[self.codes == i].mean(axis=0),
                    plain(self.clusters[i], 12),
                    ha="center",
                    va="center",
                    fontsize=9,
                    fontweight="bold",
                    color=ink(ax),
                    bbox={"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 1.5},
                )
        style_axes(ax)
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 12))):
            most = ", ".join(plain(name, limit) for name in self.heaviest(i)) or "nothing"
            axis.set_label_text(f"direction {i + 1}: mostly {most}")

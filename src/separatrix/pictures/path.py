"""Every coefficient over the whole path of the penalty, with the point that was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.cloud import rule
from separatrix.pictures.display import Display
from separatrix.pictures.inference import names_of
from separatrix.pictures.labels import spread
from separatrix.pictures.style import MUTED, SERIES, dress, ink, log_ticks, plain
from separatrix.pictures.wording import listed, number
from separatrix.rows.block import Floats

#: Lines beyond the named ones are grey, and at most so many.
BACKGROUND = 60


@dataclass(eq=False)
class PathDisplay(Display):
    """Coefficients (penalties x columns) against the penalty, from strong to weak.

    ``scale`` multiplies each coefficient, so that lines of different units compare.
    """

    alphas: Floats
    coefs: Floats
    names: tuple[str, ...]
    chosen: float | None = None
    scale: Floats | None = None

    title: ClassVar[str] = "Path over the penalty"

    def __post_init__(self) -> None:
        alphas, coefs = np.asarray(self.alphas, dtype=float), np.asarray(self.coefs, dtype=float)
        if coefs.shape != (alphas.size, len(self.names)):
            raise InputError(
                f"coefs has shape {coefs.shape}; {alphas.size} penalties and {len(self.names)} "
                f"names ask for {(alphas.size, len(self.names))}."
            )
        order = np.argsort(alphas)[np.sort(alphas) > 0]
        self.alphas, self.coefs = alphas[order], coefs[order]

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None) -> Self:
        """Of a model with ``alphas_``, ``coefs_`` and ``alpha_``; ``X`` gives the scale."""
        alphas = getattr(model, "alphas_", None)
        coefs = getattr(model, "coefs_", None)
        if alphas is None or coefs is None:
            raise InputError(f"{type(model).__name__} keeps no path (alphas_ and coefs_).")
        alphas, coefs = np.ravel(alphas), np.squeeze(np.asarray(coefs, dtype=float))
        if coefs.ndim == 1:
            coefs = coefs.reshape(alphas.size, -1)
        if coefs.ndim != 2:
            raise InputError("The path of several outputs cannot be drawn as one picture.")
        if coefs.shape[0] != alphas.size:
            coefs = coefs.T
        scale = None if X is None else np.std(np.asarray(X, dtype=float), axis=0)
        chosen = getattr(model, "alpha_", None)
        return cls(
            alphas,
            coefs,
            names_of(model, coefs.shape[1]),
            None if chosen is None else float(np.ravel(chosen)[0]),
            scale,
        )

    @property
    def lines(self) -> Floats:
        """The coefficients as drawn."""
        return self.coefs if self.scale is None else np.asarray(self.coefs * self.scale)

    @property
    def at(self) -> int:
        """Position of the chosen penalty, or of the weakest."""
        if self.chosen is None or self.chosen <= 0:
            return 0
        return int(np.argmin(np.abs(np.log(self.alphas / self.chosen))))

    @property
    def named(self) -> list[int]:
        """The columns with the longest coefficients at the chosen point."""
        length = np.abs(self.lines[self.at]) + 1e-9 * np.abs(self.lines).max(axis=0)
        top = np.argsort(-length, kind="stable")[: len(SERIES)]
        return [int(j) for j in top if length[j] > 0]

    @property
    def description(self) -> str:
        """The span of the path, how many columns are in, and who leads at the chosen point."""
        inside = np.count_nonzero(self.coefs, axis=1)
        text = (
            f"{self.alphas.size} penalties from {number(self.alphas[-1], 3)} (strong) down to "
            f"{number(self.alphas[0], 3)} (weak); {int(inside[-1])} to {int(inside[0])} of "
            f"{len(self.names)} coefficients are not zero."
        )
        if self.chosen is not None:
            lead = [f"{self.names[j]} {number(self.lines[self.at, j], 3)}" for j in self.named[:3]]
            text += (
                f" At the chosen penalty {number(self.chosen, 3)}, {int(inside[self.at])} are not "
                f"zero" + (f"; the longest are {listed(lead)}." if lead else ".")
            )
        return text

    def _draw(self, ax: Any) -> None:
        lines, named = self.lines, self.named
        rule(ax, 0.0)
        rest = [j for j in np.argsort(-np.abs(lines).max(axis=0)) if j not in named][:BACKGROUND]
        if rest:
            ax.plot(self.alphas, lines[:, rest], color=MUTED, alpha=0.4, linewidth=0.9, zorder=1)
        for colour, j in zip(SERIES, named, strict=False):
            ax.plot(self.alphas, lines[:, j], color=colour)
        ax.set_xscale("log")
        ax.invert_xaxis()
        log_ticks(ax)
        dress(ax, grid=None)
        if self.chosen is not None and self.chosen > 0:
            ax.axvline(self.chosen, color=ink(ax), linewidth=1, linestyle=(0, (4, 3)))
            ax.annotate(
                "chosen",
                (self.chosen, 1),
                xytext=(0, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
            )
        self._label(ax, named)
        ax.set_xlabel("penalty, strong to weak")
        ax.set_ylabel("coefficient" if self.scale is None else "standardised coefficient")

    def _label(self, ax: Any, named: list[int]) -> None:
        """The name of each coloured line at its right end, moved apart where they would collide."""
        low, high = ax.get_ylim()
        ends = np.array([self.lines[0, j] for j in named])
        for colour, j, y in zip(SERIES, named, spread(ends, 0.062 * (high - low)), strict=False):
            ax.annotate(
                plain(self.names[j], 18),
                (1, y),
                xytext=(5, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=8.5,
                annotation_clip=False,
            )

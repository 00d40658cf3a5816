"""Every coefficient over the whole path of the penalty, with the point that was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.estimators.coefficient_inference import names_of
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed, number
from separatrix.pictures.labels import spread
from separatrix.pictures.scatter import rule
from separatrix.pictures.style import MUTED, SERIES, ink, log_ticks, plain, style_axes
from separatrix.rows.block import Floats

#: Lines beyond the named ones are grey, and at most so many.
BACKGROUND = 60
#: Share of the longest coefficient below which two models are drawn, and called, the same.
SAME = 0.01


@dataclass(eq=False)
class RegularizationPathDisplay(Display):
    """Coefficients (penalties x columns) against the penalty, from strong to weak.

    ``scale`` multiplies each coefficient, so that lines of different units compare. A model that
    has no penalty stands beside the path of one that has: ``beside`` are its coefficients, drawn
    as dots past the weak end, and ``called`` says what it is.
    """

    alphas: Floats
    coefs: Floats
    names: tuple[str, ...]
    chosen: float | None = None
    scale: Floats | None = None
    beside: Floats | None = None
    called: str = "least squares, no penalty"

    title: ClassVar[str] = "Path over the penalty"

    def __post_init__(self) -> None:
        alphas, coefs = np.asarray(self.alphas, dtype=float), np.asarray(self.coefs, dtype=float)
        if coefs.shape != (alphas.size, len(self.names)):
            raise InputError(
                f"coefs has shape {coefs.shape}; {alphas.size} penalties and {len(self.names)} "
                f"names ask for {(alphas.size, len(self.names))}."
            )
        if self.beside is not None and np.shape(self.beside) != (len(self.names),):
            raise InputError(f"beside must hold {len(self.names)} coefficients, one per name.")
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
        return np.asarray(self.coefs * self.unit)

    @property
    def unit(self) -> Floats:
        """What each coefficient is multiplied by before it is drawn."""
        return np.ones(len(self.names)) if self.scale is None else np.asarray(self.scale)

    @property
    def dots(self) -> Floats | None:
        """The coefficients of the model beside the path, as drawn."""
        return None if self.beside is None else np.asarray(self.beside * self.unit)

    @property
    def at(self) -> int:
        """Position of the chosen penalty, or of the weakest."""
        if self.chosen is None or self.chosen <= 0:
            return 0
        return int(np.argmin(np.abs(np.log(self.alphas / self.chosen))))

    @property
    def named(self) -> list[int]:
        """The columns with the longest coefficients at the chosen point."""
        taken = self.lines[self.at] if self.dots is None else self.dots
        length = np.abs(taken) + 1e-9 * np.abs(self.lines).max(axis=0)
        top = np.argsort(-length, kind="stable")[: len(SERIES)]
        return [int(j) for j in top if length[j] > 0]

    @property
    def description(self) -> str:
        """The span of the path, how many columns are in, and who leads at the chosen point."""
        inside = np.count_nonzero(self.coefs, axis=1)
        text = (
            f"{self.alphas.size} penalties from {number(self.alphas[-1], 3)} (strong) down to "
            f"{number(self.alphas[0], 3)} (weak); "
        )
        all_in = bool(inside.min() == len(self.names))
        if all_in:
            text += "no coefficient is ever exactly zero."
        else:
            span = f"{int(inside[-1])} to {int(inside[0])}"
            text += f"{span} of {len(self.names)} coefficients are not zero."
        if self.dots is not None:
            return f"{text} {self._aside(self.dots)}"
        if self.chosen is None:
            return text
        left = "" if all_in else f"{int(inside[self.at])} are not zero"
        longest = self._longest(self.lines[self.at])
        told = (left + longest if left else longest.removeprefix("; ")) or "all are zero"
        return f"{text} At the chosen penalty {number(self.chosen, 3)}, {told}."

    def _aside(self, dots: Floats) -> str:
        """How far the model beside the path is from the path's weak end."""
        apart = np.abs(dots - self.lines[0])
        if apart.max(initial=0) <= SAME * np.abs(dots).max(initial=0):
            return (
                f"The chosen model ({self.called}) is where the path ends{self._longest(dots)}. "
                "The path shows what a ridge penalty would have done."
            )
        most = int(np.argmax(apart))
        return (
            f"The path is that of ridge; the chosen model ({self.called}) stands beside it"
            f"{self._longest(dots)}. It differs most from the path's weak end in "
            f"{self.names[most]}, by {number(apart[most], 2)}."
        )

    def _longest(self, at: Floats) -> str:
        lead = [f"{self.names[j]} {number(at[j], 3)}" for j in self.named[:3]]
        return f"; the longest {'is' if len(lead) == 1 else 'are'} {listed(lead)}" if lead else ""

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
        style_axes(ax, grid=None)
        if self.dots is not None:
            self._stand(ax, self.dots)
        elif self.chosen is not None and self.chosen > 0:
            mark_penalty(ax, self.chosen, "chosen")
        self._label(ax, named)
        ax.set_xlabel("penalty, strong to weak")
        ax.set_ylabel("coefficient" if self.scale is None else "standardised coefficient")

    def _stand(self, ax: Any, dots: Floats) -> None:
        """The model without penalty, as dots past the weak end, each joined to its line."""
        weak = float(self.alphas[0])
        past = weak * (weak / self.alphas[-1]) ** 0.06
        coloured = dict(zip(self.named, SERIES, strict=False))
        for j, value in enumerate(dots):
            colour = coloured.get(j, MUTED)
            if j not in coloured and self.lines.shape[1] > BACKGROUND:
                continue
            look = {"color": colour, "zorder": 2 if j in coloured else 1}
            ax.plot([weak, past], [self.lines[0, j], value], linewidth=0.8, **look)
            ax.plot([past], [value], "o", ms=4.5 if j in coloured else 3, mew=0, **look)
        mark_penalty(ax, past, f"chosen: {self.called}", ha="right")
        left, _ = ax.get_xlim()
        # No penalty has no place on a logarithmic axis: nothing is numbered past the weak end.
        ticks = [tick for tick in ax.get_xticks() if weak <= tick <= left]
        ax.set_xticks(ticks[:: 2 if len(ticks) > 6 else 1])
        ax.set_xlim(left, past * (weak / self.alphas[-1]) ** 0.02)

    def _label(self, ax: Any, named: list[int]) -> None:
        """The name of each coloured line at its right end, moved apart where they would collide."""
        low, high = ax.get_ylim()
        ends = (self.lines[0] if self.dots is None else self.dots)[named]
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


def mark_penalty(ax: Any, alpha: float, text: str, *, ha: str = "center") -> None:
    """A dashed line at a penalty, with a word above it."""
    ax.axvline(alpha, color=ink(ax), linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
    ax.annotate(
        text,
        (alpha, 1),
        xytext=(0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha=ha,
        fontsize=8.5,
    )

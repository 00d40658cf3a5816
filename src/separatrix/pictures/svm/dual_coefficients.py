"""Multipliers of a support vector machine: which rows hold its boundary, and how hard.

α = 0: the row is beyond its margin and could be removed. 0 < α < C: it lies on the margin.
α = C: it lies inside the margin or on the wrong side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed
from separatrix.pictures.style import MUTED, SERIES, plain, style_axes
from separatrix.rows.block import Floats

#: Points of a line, and how near a bound counts as the bound.
POINTS = 240
_NEAR = 1e-6


@dataclass(eq=False)
class DualCoefficientDisplay(Display):
    """``alpha`` of every training row, the ``bound`` C of each (or one of all), and its class."""

    alpha: Floats
    bound: Any
    y: Any
    labels: Sequence[str]

    title: ClassVar[str] = "Multipliers by class"

    def __post_init__(self) -> None:
        self.alpha = np.abs(np.asarray(self.alpha, dtype=float)).ravel()
        self.bound = np.broadcast_to(np.asarray(self.bound, dtype=float), self.alpha.shape)
        self.y = np.array([str(label) for label in self.y])
        if self.y.shape != self.alpha.shape:
            raise InputError(f"{self.alpha.size} multipliers for {self.y.size} labels.")

    @classmethod
    def from_estimator(cls, model: Any, y: Any) -> Self:
        """Of a fitted machine with ``support_``, ``dual_coef_`` (one row) and ``C`` or ``C_``."""
        dual = np.atleast_2d(np.asarray(model.dual_coef_, dtype=float))
        if dual.shape[0] != 1:
            raise InputError(
                "Multipliers are drawn for two classes.",
                remedy="Draw one of the machines of two classes by itself.",
            )
        alpha = np.zeros(len(y))
        alpha[np.asarray(model.support_)] = np.abs(dual[0])
        return cls(
            alpha, getattr(model, "C_", None) or model.C, y, [str(c) for c in model.classes_]
        )

    @property
    def share(self) -> Floats:
        """α/C of each row; 0 where the bound is infinite."""
        finite = np.isfinite(self.bound) & (self.bound > 0)
        if finite.all():
            return np.asarray(self.alpha / self.bound)
        return np.asarray(self.alpha / max(float(self.alpha.max(initial=0.0)), 1e-300))

    def groups(self, label: str) -> tuple[int, int, int]:
        """Rows of a class with α = 0, with 0 < α < C, and with α = C."""
        own = self.y == label
        alpha, bound = self.alpha[own], self.bound[own]
        top = np.isfinite(bound) & (alpha >= (1 - _NEAR) * bound)
        # A hard margin has no bound: nothing is at it, and zero is judged by the largest.
        zero = alpha <= _NEAR * np.where(np.isfinite(bound), bound, alpha.max(initial=0.0))
        return int(zero.sum()), int((~zero & ~top).sum()), int((top & ~zero).sum())

    @property
    def description(self) -> str:
        """The three groups of each class, and the part of the rows that holds the boundary."""
        told = []
        for label in self.labels:
            zero, free, top = self.groups(label)
            told.append(f"{label}: {zero:,} at 0, {free:,} between, {top:,} at C")
        support = sum(sum(self.groups(label)[1:]) for label in self.labels)
        text = f"{support:,} of {counted(self.alpha.size, 'row')} hold the boundary"
        return f"{text} ({100 * support / max(self.alpha.size, 1):.0f} %). {listed(told)}."

    def _draw(self, ax: Any) -> None:
        share = self.share
        for i, label in enumerate(self.labels):
            own = np.sort(share[self.y == label])[::-1]
            if not own.size:
                continue
            rank = np.arange(1, own.size + 1)
            some = np.unique(np.linspace(0, own.size - 1, POINTS).round().astype(int))
            zero, free, top = self.groups(label)
            ax.step(
                np.append(0, rank[some]),
                np.append(own[0], own[some]),
                where="pre",
                color=SERIES[i % len(SERIES)],
                linestyle="-" if i % 2 == 0 else (0, (5, 2)),
                label=f"{plain(label, 16)}: {top:,} at C, {free:,} between, {zero:,} at 0",
            )
        ax.axhline(1.0, color=MUTED, linewidth=0.9)
        style_axes(ax)
        ax.set_ylim(-0.03, 1.2)
        ax.set_xlabel("rows of the class, largest multiplier first")
        finite = bool(np.isfinite(self.bound).all())
        ax.set_ylabel("α / C" if finite else "α / largest α")
        ax.legend(frameon=False, fontsize=8.5, loc="upper right")

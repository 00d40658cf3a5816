"""Dual coefficients α of a support vector machine.

α = 0       outside the margin: not a support vector
0 < α < C   on the margin: a free support vector
α = C       inside the margin or misclassified: a bounded support vector
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural
from separatrix.pictures.style import MUTED, SERIES, label_text, style_axes
from separatrix.rows.block import Floats, to_array

#: Points of a line, and the relative distance within which α counts as equal to a bound.
_POINTS = 240
_TOLERANCE = 1e-6


@dataclass(eq=False)
class DualCoefficientDisplay(Display):
    """Dual coefficients α of a binary SVM, sorted, by class.

    Parameters
    ----------
    alpha : array-like of shape (n,)
        Dual coefficient of each training row; signs are ignored.
    C : float or array-like of shape (n,)
        Upper bound of α, for all rows or for each; infinite for a hard margin.
    y : array-like of shape (n,)
        Class of each row.
    labels : sequence of str
        Names of the classes.

    See Also
    --------
    SupportVectorDisplay : Support vectors and margins on a plane.
    SVMPathDisplay : Support vectors and score over C.

    Examples
    --------
    >>> from separatrix.pictures import DualCoefficientDisplay
    >>> display = DualCoefficientDisplay([0.0, 0.5, 1.0], 1.0, ["a", "a", "b"], ["a", "b"])
    >>> display.groups("a"), display.groups("b")
    ((1, 1, 0), (0, 0, 1))
    """

    alpha: Floats
    C: Any
    y: Any
    labels: Sequence[str]

    title: ClassVar[str] = "Dual coefficients by class"

    def __post_init__(self) -> None:
        self.alpha = np.abs(np.asarray(self.alpha, dtype=float)).ravel()
        self.C = np.broadcast_to(np.asarray(self.C, dtype=float), self.alpha.shape)
        self.y = np.array([str(label) for label in self.y])
        if self.y.shape != self.alpha.shape:
            raise InputError(f"{self.alpha.size} dual coefficients for {self.y.size} labels.")

    @classmethod
    def from_estimator(cls, model: Any, y: Any) -> Self:
        """From a fitted binary SVM with ``support_`` and ``dual_coef_``, and its classes."""
        from separatrix.svm.search import SVCSearch

        dual = np.atleast_2d(to_array(model.dual_coef_))
        if dual.shape[0] != 1:
            raise InputError(
                "Dual coefficients are drawn for two classes.",
                remedy="Draw one of the binary SVMs by itself.",
            )
        alpha = np.zeros(len(y))
        alpha[np.asarray(model.support_)] = np.abs(dual[0])
        C = model.C_ if isinstance(model, SVCSearch) else model.C
        return cls(alpha, C, y, [str(c) for c in model.classes_])

    @property
    def relative(self) -> Floats:
        """α/C of each row; α over its maximum for a hard margin."""
        if self._bounded:
            return np.asarray(self.alpha / self.C)
        return np.asarray(self.alpha / max(float(self.alpha.max(initial=0.0)), 1e-300))

    @property
    def _bounded(self) -> bool:
        return bool((np.isfinite(self.C) & (self.C > 0)).all())

    def groups(self, label: str) -> tuple[int, int, int]:
        """Numbers of rows of a class with α = 0, with 0 < α < C, and with α = C."""
        own = self.y == label
        alpha, bound = self.alpha[own], self.C[own]
        at_bound = np.isfinite(bound) & (alpha >= (1 - _TOLERANCE) * bound)
        # Without a bound, zero is judged by the largest coefficient.
        scale = np.where(np.isfinite(bound), bound, alpha.max(initial=0.0))
        zero = alpha <= _TOLERANCE * scale
        return int(zero.sum()), int((~zero & ~at_bound).sum()), int((at_bound & ~zero).sum())

    @property
    def description(self) -> str:
        """Number of support vectors, and the three groups of each class."""
        parts = []
        for label in self.labels:
            zero, free, bounded = self.groups(label)
            parts.append(f"{label}: {zero:,} with α = 0, {free:,} free, {bounded:,} with α = C")
        support = sum(sum(self.groups(label)[1:]) for label in self.labels)
        percent = f"{100 * support / max(self.alpha.size, 1):.0f} %"
        rows = plural(self.alpha.size, "row")
        return f"{support:,} of {rows} ({percent}) are support vectors. {join_words(parts)}."

    def _draw(self, ax: Any) -> None:
        relative = self.relative
        for i, label in enumerate(self.labels):
            own = np.sort(relative[self.y == label])[::-1]
            if not own.size:
                continue
            rank = np.arange(1, own.size + 1)
            some = np.unique(np.linspace(0, own.size - 1, _POINTS).round().astype(int))
            zero, free, bounded = self.groups(label)
            ax.step(
                np.append(0, rank[some]),
                np.append(own[0], own[some]),
                where="pre",
                color=SERIES[i % len(SERIES)],
                linestyle="-" if i % 2 == 0 else (0, (5, 2)),
                label=f"{label_text(label, 16)}: {bounded:,} at C, {free:,} free, {zero:,} zero",
            )
        ax.axhline(1.0, color=MUTED, linewidth=0.9)
        style_axes(ax)
        ax.set_ylim(-0.03, 1.2)
        ax.set_xlabel("rows of the class, sorted by dual coefficient")
        ax.set_ylabel("α / C" if self._bounded else "α / largest α")
        ax.legend(frameon=False, fontsize=8.5, loc="upper right")

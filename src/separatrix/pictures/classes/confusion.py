"""What each class was taken for: counts, and per cent of the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.style import BLUE, GRID, MUTED, WIDTH, plain
from separatrix.rows.block import Floats

#: With more classes than this the cells are shaded but not written into.
WRITTEN = 9


@dataclass(eq=False)
class ConfusionMatrixDisplay(Display):
    """``counts[i, j]``: rows (or weight) of class i that were called j.

    Where the answer may be ``doubt``, the last column counts it: no class, and no mistake.
    """

    counts: Floats
    labels: Sequence[str]
    reject: str | None = None

    title: ClassVar[str] = "Confusion"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        reject: str | None = None,
    ) -> Self:
        """From the true and the predicted labels; ``labels`` sets the order."""
        truth, called = np.asarray(y), np.asarray(predicted)
        met = np.unique(np.concatenate([truth, called]).astype(str)).tolist()
        met = [label for label in met if label != reject]
        classes = [str(label) for label in (met if labels is None else labels)]
        classes += [label for label in met if label not in classes]  # met in the test part only
        place = {str(label): i for i, label in enumerate(classes)}
        counts = np.zeros((len(place), len(place) + (reject is not None)))
        if reject is not None:
            place[reject] = len(classes)
        row = [place[str(label)] for label in truth]
        column = [place[str(label)] for label in called]
        np.add.at(counts, (row, column), 1.0 if sample_weight is None else sample_weight)
        return cls(counts, classes, reject)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier on some rows."""
        return cls.from_predictions(y, model.predict(X), labels=model.classes_)

    @property
    def shares(self) -> Floats:
        """Each cell as a share of its row; an absent class has a row of zeros."""
        total = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(self.counts / np.where(total > 0, total, 1.0))

    @property
    def description(self) -> str:
        """Rows right in all, each class's share, and the most frequent mistakes."""
        k = len(self.labels)
        total, right = self.counts.sum(), np.trace(self.counts)
        told = [
            f"{label}: {self.counts[i, i]:,.0f} of {self.counts[i].sum():,.0f} "
            f"({100 * self.shares[i, i]:.0f} %)"
            for i, label in enumerate(self.labels)
        ]
        order = np.argsort([self.shares[i, i] for i in range(len(told))], kind="stable")
        kept = told if len(told) <= 6 else [told[i] for i in order[:6]]
        lead = "By class" if len(told) <= 6 else "The classes least often right"
        wrong = self.counts[:, :k] - np.diag(np.diag(self.counts))
        unsure = ""
        if self.reject is not None:
            unsure = f", {self.counts[:, k].sum():,.0f} in doubt"
        text = f"{right:,.0f} of {total:,.0f} rows are right{unsure}. {lead}, {'; '.join(kept)}."
        if wrong.max(initial=0) > 0:
            i, j = divmod(int(np.argmax(wrong)), wrong.shape[1])
            text += (
                f" The most frequent mistake: {self.labels[i]} taken for {self.labels[j]}, "
                f"{wrong[i, j]:,.0f} times."
            )
        return text

    @property
    def size(self) -> tuple[float, float]:
        """Square cells, within reason."""
        return WIDTH, float(np.clip(1.0 + 0.55 * len(self.labels), 2.4, 4.6))

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        (k, answers), shares = self.counts.shape, self.shares
        for i in range(k):
            for j in range(answers):
                # Shades stay pale enough for the letters to be read on light and dark paper.
                shade = {"facecolor": BLUE if j < k else MUTED, "alpha": 0.04 + 0.46 * shares[i, j]}
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=0, **shade))
                if k <= WRITTEN:
                    self._write(ax, i, j)
        for edge in np.arange(k - 1) + 0.5:
            ax.axhline(edge, color=GRID, linewidth=0.7)
        for edge in np.arange(answers - 1) + 0.5:
            ax.axvline(edge, color=GRID, linewidth=0.7)
        ax.set_xlim(-0.5, answers - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        step = max(1, k // 12)
        names = [plain(label, 12 if k > 3 else 18) for label in self.labels]
        ax.set_yticks(range(0, k, step), names[::step])
        if self.reject is not None:
            names.append(plain(self.reject, 12))
        ax.set_xticks(range(0, answers, step), names[::step], rotation=0 if answers <= 5 else 45)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")

    def _write(self, ax: Any, i: int, j: int) -> None:
        big = 12 if len(self.labels) <= 4 else 9
        ax.annotate(
            f"{self.counts[i, j]:,.0f}",
            (j, i),
            ha="center",
            va="bottom",
            xytext=(0, -1),
            textcoords="offset points",
            fontsize=big,
            fontweight="bold" if i == j else "normal",
        )
        ax.annotate(
            f"{100 * self.shares[i, j]:.0f} %",
            (j, i),
            ha="center",
            va="top",
            xytext=(0, -2),
            textcoords="offset points",
            fontsize=min(big - 1.5, 8.5),
        )

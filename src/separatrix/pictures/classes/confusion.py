"""Confusion matrix: counts of true against predicted classes, and per cent of the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.style import BLUE, GRID, MUTED, WIDTH, label_text
from separatrix.rows.block import Floats

#: With more classes than this the cells are shaded but have no numbers.
_NUMBERED = 9
_DESCRIBED = 6


@dataclass(eq=False)
class ConfusionMatrixDisplay(Display):
    """Confusion matrix in counts and per cent of the true class.

    Parameters
    ----------
    counts : ndarray of shape (k, k) or (k, k + 1)
        Rows (or their weight) of true class i that were predicted as class j; a further column
        counts rejected rows.
    labels : sequence of str
        Names of the classes.
    reject_label : str or None, default=None
        Name of the rejection column, if there is one.

    Attributes
    ----------
    proportions : ndarray
        Each count divided by the total of its row.

    See Also
    --------
    DecisionBoundaryDisplay : The decision regions on a plane.
    CoverageRiskDisplay : Error against the proportion of rows answered.

    Examples
    --------
    >>> from separatrix.pictures import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.counts.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> display.description
    '2 of 3 rows are correct. Recall by class, a: 1 of 2 (50 %); b: 1 of 1 (100 %). The most
    frequent error: a predicted as b, 1 times.'
    """

    counts: Floats
    labels: Sequence[str]
    reject_label: str | None = None

    title: ClassVar[str] = "Confusion matrix"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        reject_label: str | None = None,
    ) -> Self:
        """From the true and the predicted labels; ``labels`` sets the order."""
        truth, answers = np.asarray(y), np.asarray(predicted)
        present = np.unique(np.concatenate([truth, answers]).astype(str)).tolist()
        present = [label for label in present if label != reject_label]
        classes = [str(label) for label in (present if labels is None else labels)]
        classes += [label for label in present if label not in classes]  # in the test part only
        code = {label: i for i, label in enumerate(classes)}
        counts = np.zeros((len(classes), len(classes) + (reject_label is not None)))
        if reject_label is not None:
            code[reject_label] = len(classes)
        row = [code[str(label)] for label in truth]
        column = [code[str(label)] for label in answers]
        np.add.at(counts, (row, column), 1.0 if sample_weight is None else sample_weight)
        return cls(counts, classes, reject_label)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From a fitted classifier and rows with their classes."""
        answers = model.predict(X)
        label = _reject_label(model)
        label = label if label in np.unique(answers).astype(str) else None
        return cls.from_predictions(y, answers, labels=model.classes_, reject_label=label)

    @property
    def proportions(self) -> Floats:
        """Each count divided by the total of its row; zeros for a class without rows."""
        total = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(self.counts / np.where(total > 0, total, 1.0))

    @property
    def description(self) -> str:
        """Correct rows, the recall of each class (of many, the lowest), the commonest error."""
        k, total, correct = len(self.labels), self.counts.sum(), np.trace(self.counts)
        recall = np.diag(self.proportions[:, :k])
        parts = [
            f"{label}: {self.counts[i, i]:,.0f} of {self.counts[i].sum():,.0f} "
            f"({100 * recall[i]:.0f} %)"
            for i, label in enumerate(self.labels)
        ]
        lead = "Recall by class"
        if k > _DESCRIBED:
            lead = "Lowest recall"
            parts = [parts[i] for i in np.argsort(recall, kind="stable")[:_DESCRIBED]]
        rejected = ""
        if self.reject_label is not None:
            rejected = f", {self.counts[:, k].sum():,.0f} rejected"
        text = f"{correct:,.0f} of {total:,.0f} rows are correct{rejected}. "
        text += f"{lead}, {'; '.join(parts)}."
        wrong = self.counts[:, :k] - np.diag(np.diag(self.counts))
        if wrong.max(initial=0) > 0:
            i, j = divmod(int(np.argmax(wrong)), k)
            text += (
                f" The most frequent error: {self.labels[i]} predicted as {self.labels[j]}, "
                f"{wrong[i, j]:,.0f} times."
            )
        return text

    @property
    def size(self) -> tuple[float, float]:
        """Square cells, within limits."""
        return WIDTH, float(np.clip(1.0 + 0.55 * len(self.labels), 2.4, 4.6))

    def _draw(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        ax.grid(visible=False)  # whatever the settings of matplotlib: cells are the grid
        (k, answers), proportions = self.counts.shape, self.proportions
        for i in range(k):
            for j in range(answers):
                # Light enough for text on light and dark pages.
                shade = {
                    "facecolor": BLUE if j < k else MUTED,
                    "alpha": 0.04 + 0.46 * proportions[i, j],
                }
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=0, **shade))
                if k <= _NUMBERED:
                    self._write(ax, i, j)
        for edge in np.arange(k - 1) + 0.5:
            ax.axhline(edge, color=GRID, linewidth=0.7)
        for edge in np.arange(answers - 1) + 0.5:
            ax.axvline(edge, color=GRID, linewidth=0.7)
        ax.set_xlim(-0.5, answers - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        step = max(1, k // 12)
        names = [label_text(label, 12 if k > 3 else 18) for label in self.labels]
        ax.set_yticks(range(0, k, step), names[::step])
        if self.reject_label is not None:
            names.append(label_text(self.reject_label, 12))
        ax.set_xticks(range(0, answers, step), names[::step], rotation=0 if answers <= 5 else 45)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")

    def _write(self, ax: Any, i: int, j: int) -> None:
        large = 12 if len(self.labels) <= 4 else 9
        look = {"ha": "center", "textcoords": "offset points"}
        ax.annotate(
            f"{self.counts[i, j]:,.0f}",
            (j, i),
            va="bottom",
            xytext=(0, -1),
            fontsize=large,
            fontweight="bold" if i == j else "normal",
            **look,
        )
        percent = f"{100 * self.proportions[i, j]:.0f} %"
        size = min(large - 1.5, 8.5)
        ax.annotate(percent, (j, i), va="top", xytext=(0, -2), fontsize=size, **look)


def _reject_label(model: Any) -> str | None:
    """What a classifier answers where it abstains; None if it never does."""
    if not hasattr(model, "reject_label") or not getattr(model, "reject", True):
        return None
    from separatrix.probability.reject import reject_label_of

    return str(reject_label_of(model.classes_, model.reject_label))

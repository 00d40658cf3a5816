"""Correlations of numeric columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.columns.values import short_name
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words
from separatrix.pictures.inputs import column_names
from separatrix.pictures.points import fill_boxes
from separatrix.pictures.style import BLUE, ORANGE, WIDTH, label_text
from separatrix.rows.block import Floats, Ints

#: Columns drawn at most, and those whose cells have room for two digits and a sign.
MAX_COLUMNS, _ROOMY = 16, 9
#: Shades of either color; the darkest is for ±1.
_SHADES = 10


@dataclass(eq=False)
class CorrelationDisplay(Display):
    """Pearson correlations of every pair of columns, similar columns side by side.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    matrix : array-like of shape (k, k)
        Correlations; NaN where one is not defined.
    n_columns : int or None, default=None
        Number of numeric columns of the table; None: as many as there are names.

    Attributes
    ----------
    order : ndarray of int
        Columns in the order in which they are drawn.

    See Also
    --------
    ColumnDistributionDisplay : Histogram of one column.
    PermutationImportanceDisplay : Which columns matter to a model.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import CorrelationDisplay
    >>> X = np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 3.0], [3.0, 7.0, 4.0], [4.0, 8.0, 0.0]])
    >>> CorrelationDisplay.from_rows(X, names=["a", "b", "c"]).description
    'Correlations of 3 columns. Largest: a and b 0.98, a and c −0.84 and b and c −0.73.'
    """

    names: Sequence[str]
    matrix: Floats
    n_columns: int | None = None

    title: ClassVar[str] = "Correlations of columns"

    def __post_init__(self) -> None:
        self.matrix = np.asarray(self.matrix, dtype=float)
        if self.matrix.shape != (len(self.names),) * 2 or len(self.names) < 2:
            raise InputError(f"Correlations need two columns; there are {len(self.names)}.")

    @classmethod
    def from_rows(cls, X: Any, *, names: Sequence[str] | None = None) -> Self:
        """From numeric rows; a data frame provides its names. NaN is a missing value."""
        from separatrix.statistics.correlation import pairwise_correlations

        x = np.asarray(X, dtype=float)
        present = np.isfinite(x).astype(float)
        matrix = pairwise_correlations(np.nan_to_num(x), present, np.ones(len(x)))
        return cls(column_names(X, names), matrix)

    @property
    def _shown(self) -> Ints:
        """Columns drawn: all, or those of the largest correlations, in their order."""
        count = len(self.names)
        if count <= MAX_COLUMNS:
            return np.arange(count)
        others = np.abs(np.nan_to_num(self.matrix)) - np.eye(count)
        return np.sort(np.argsort(-others.max(axis=1), kind="stable")[:MAX_COLUMNS])

    @property
    def order(self) -> Ints:
        """Columns as they are drawn: leaves of average linkage, so that similar ones meet."""
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        shown = self._shown
        r = np.nan_to_num(self.matrix[np.ix_(shown, shown)])
        distance = 1.0 - np.abs((r + r.T) / 2)
        np.fill_diagonal(distance, 0.0)
        tree = linkage(
            squareform(distance, checks=False), "average", optimal_ordering=len(shown) > 2
        )
        return np.asarray(shown[leaves_list(tree)])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Correlations of {len(self._shown)} columns. {self.caption}"

    @property
    def caption(self) -> str:
        """The three largest correlations, and how many columns are not drawn."""
        i, j = np.triu_indices(len(self.names), 1)
        r = self.matrix[i, j]
        order = np.argsort(-np.abs(np.nan_to_num(r)), kind="stable")[:3]
        pairs = [
            f"{short_name(self.names[i[p]])} and {short_name(self.names[j[p]])} {_two_digits(r[p])}"
            for p in order
            if np.isfinite(r[p])
        ]
        text = f"Largest: {join_words(pairs)}." if pairs else "None of them varies."
        whole = self.n_columns or len(self.names)
        if whole > len(self._shown):
            text += f" {len(self._shown)} of {whole:,} numeric columns are drawn."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """Nearly square cells."""
        return WIDTH, float(np.clip(1.2 + 0.27 * len(self._shown), 2.2, 5.2))

    def _draw(self, ax: Any) -> None:
        order = self.order
        k = len(order)
        r = self.matrix[np.ix_(order, order)]
        below = np.tril(np.ones((k, k), dtype=bool), -1) & np.isfinite(r)
        shade = np.where(below, np.ceil(_SHADES * np.abs(r)) * np.sign(r), 0.0)
        for level in np.unique(shade[shade != 0]):
            # Light enough for text on light and dark pages.
            alpha = 0.6 * abs(level) / _SHADES
            at = np.argwhere(shade == level)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            fill_boxes(ax, at, ORANGE if level > 0 else BLUE, alpha)
        font = 8.5 if k <= _ROOMY else 6.5
        for row, column in np.argwhere(below):
            text = _two_digits(r[row, column])
            text = text if k <= _ROOMY else text.replace("0.", ".")
            ax.text(column, row, text, ha="center", va="center", fontsize=font)
        ax.set_xlim(-0.5, k - 1.5)
        ax.set_ylim(k - 0.5, 0.5)
        names = [label_text(self.names[j], 18) for j in order]
        ax.set_yticks(range(1, k), names[1:])
        ax.set_xticks(range(k - 1), names[:-1], rotation=40, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0, pad=2)
        ax.spines[:].set_visible(False)


def _two_digits(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")

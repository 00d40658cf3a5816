"""Classifiers with one hypothesis for each class: scores, and rejection where claims conflict."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.arrays import Floats
from separatrix.probability.reject import labels_with_reject
from separatrix.threads import on_one_blas_thread


class Claims:
    """Predictions from the margins by which hypotheses claim a row, positive inside.

    A classifier has one hypothesis for each class, or one alone, of the class in ``concepts_``.
    """

    classes_: NDArray[Any]
    concepts_: NDArray[Any]
    labels_: NDArray[Any]
    counts_: Floats
    reject: bool
    reject_label: Any

    @abstractmethod
    def _margins(self, X: Any) -> Floats:
        """The margin of each row to each hypothesis, positive inside (n x K, or n x 1)."""

    @abstractmethod
    def _claimed(self, X: Any) -> NDArray[np.bool_]:
        """Whether each hypothesis contains each row."""

    def _uncertain(self, X: Any) -> NDArray[np.bool_]:
        """Rows that no hypothesis or several claim."""
        return np.asarray(self._claimed(X).sum(axis=1) != 1)

    @abstractmethod
    def _texts(self) -> list[str]:
        """The hypotheses in words."""

    def describe(self) -> str:
        """One line for each hypothesis: its words, and the rows of its class and others inside."""
        return "\n".join(
            f"{label}: {text} ({own:g} of {weight:g} rows, {other:g} of other classes)"
            for label, text, (own, weight, other) in zip(
                self.concepts_.tolist(), self._texts(), self.counts_.tolist(), strict=True
            )
        )

    def _set_labels(self) -> None:
        """Set ``labels_``, the classes and, with ``reject``, the label of a rejection."""
        self.labels_ = (
            labels_with_reject(self.classes_, self.reject_label) if self.reject else self.classes_
        )

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Margins by which each class claims the row, positive inside.

        Of two classes, the margin of the second minus that of the first.
        """
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return margins[:, 0] if self.concepts_[0] == self.classes_[1] else -margins[:, 0]
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest margin; with ``reject``, ``reject_label`` where in doubt."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        if not self.reject:
            return np.asarray(self.classes_[codes])
        return np.asarray(self.labels_[np.where(self._uncertain(X), len(self.classes_), codes)])

"""Rows in memory to which models are refitted, and their losses: for folds and learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import column_or_1d

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.parts import Hashes
from separatrix.rows.rows import Rows
from separatrix.selection.folds import copies_of

#: A probability below this counts as this.
SMALLEST = float(np.finfo(float).eps)


@dataclass(frozen=True)
class RefitRows:
    """Rows: ``take(positions)`` for X, targets, weights (None: all one), and what to average.

    ``loss`` is "squared error", "log loss" or "error rate"; ``codes`` are those of classes.
    """

    take: Callable[[Any], Any]
    y: Any
    w: Floats | None
    loss: str
    codes: Ints | None = None

    @classmethod
    def of(cls, models: Sequence[Any], X: Any, y: Any, sample_weight: Any) -> RefitRows:
        """For models of one task; the log loss if all classifiers have probabilities."""
        classes = same_task(models)
        if isinstance(X, Rows):
            raise InputError(
                "Models that are refitted to rows take X and y here, and a table was given.",
                remedy="Give X and y.",
            )
        if y is None:
            raise InputError("y is needed to refit models.", remedy="Give X and y.")
        target = np.asarray(column_or_1d(y) if classes else column_or_1d(y, dtype=np.float64))
        check_consistent_length(X, target)
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        probable = all(hasattr(model, "predict_proba") for model in models)
        loss = "squared error" if not classes else "log loss" if probable else "error rate"
        codes = np.unique(target, return_inverse=True)[1] if classes else None
        return cls(lambda at: _safe_indexing(X, at), target, w, loss, codes)

    def copies(self, at: Ints | None = None) -> Hashes | None:
        """A key that rows share with their copies; see :func:`separatrix.selection.folds`."""
        every = np.arange(len(self.y)) if at is None else at
        y = self.y[every] if self.codes is None else self.codes[every].astype(str)
        return copies_of(self.take(every), y)

    def with_loss(self, loss: str) -> RefitRows:
        """The same rows, judged by another loss."""
        return replace(self, loss=loss)

    @property
    def positive_weight(self) -> Ints:
        """Positions of the rows with positive weight."""
        return np.arange(len(self.y)) if self.w is None else np.flatnonzero(self.w > 0.0)

    def fitted(self, model: Any, at: Ints) -> Any:
        """A copy of the model, fitted to some rows."""
        given = {} if self.w is None else {"sample_weight": self.w[at]}
        return clone(model).fit(self.take(at), self.y[at], **given)

    def mean_loss(self, model: Any, at: Ints) -> float:
        """The mean loss of a fitted model on some rows."""
        w = None if self.w is None else self.w[at]
        return float(np.average(self._losses(model, self.take(at), self.y[at]), weights=w))

    def _losses(self, model: Any, x: Any, y: Any) -> Floats:
        if self.loss == "squared error":
            return np.asarray((y - np.ravel(model.predict(x))) ** 2)
        if self.loss == "error rate":
            return np.asarray(model.predict(x) != y, dtype=float)
        place = {label: j for j, label in enumerate(model.classes_.tolist())}
        p = np.column_stack([model.predict_proba(x), np.zeros(len(y))])
        own = np.array([place.get(label, len(place)) for label in y.tolist()])
        return np.asarray(-np.log(np.maximum(p[np.arange(len(own)), own], SMALLEST)))


def same_task(models: Sequence[Any]) -> bool:
    """Whether these are classifiers; refuses some of each, and models of neither."""
    classes = bool(is_classifier(models[0]))
    if not all(is_classifier(m) if classes else is_regressor(m) for m in models):
        raise InputError(
            "These models are not all classifiers, or not all regression models.",
            remedy="Compare models of the same target.",
        )
    return classes

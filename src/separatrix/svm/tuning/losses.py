"""Loss by fold of out-of-fold scores: what a search minimizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.messages import check_option
from separatrix.rows.block import Floats, Ints
from separatrix.svm.tuning.log_loss import sigmoid_losses, softmax_losses

#: Weight of the log loss beside the error rate: it decides between equal rates.
TIES = 1e-3


class Loss(Protocol):
    """Mean loss by fold of the scores of all rows."""

    def by_fold(self, scores: Floats) -> Floats:
        """One number for each fold."""


@dataclass(frozen=True)
class ClassLoss:
    """Log loss of a sigmoid or a temperature fitted to scores (n or n x K), or the error rate."""

    codes: Ints
    w: Floats
    fold: Ints
    kind: str = "log_loss"

    def __post_init__(self) -> None:
        check_option("loss", self.kind, ("log_loss", "error"))

    def by_fold(self, scores: Floats) -> Floats:
        """−log of the probability of the true class; or errors, equal ones decided by that."""
        if scores.ndim == 1:
            loss = sigmoid_losses(scores, self.codes, self.w)
            chosen = (scores > 0).astype(np.int64)
        else:
            loss = softmax_losses(scores, self.codes, self.w)
            chosen = scores.argmax(axis=1)
        if self.kind == "error":
            loss = (chosen != self.codes) + TIES * loss
        return mean_by_fold(loss, self.w, self.fold)


@dataclass(frozen=True)
class NumberLoss:
    """Squared or absolute error of predictions (n x 1)."""

    y: Floats
    w: Floats
    fold: Ints
    kind: str = "squared"

    def __post_init__(self) -> None:
        check_option("loss", self.kind, ("squared", "absolute"))

    def by_fold(self, scores: Floats) -> Floats:
        """Mean error by fold."""
        away = np.abs(self.y - scores)
        return mean_by_fold(away**2 if self.kind == "squared" else away, self.w, self.fold)


def mean_by_fold(loss: Floats, w: Floats, fold: Ints) -> Floats:
    """Weighted means; zero for a fold without weight."""
    total = np.bincount(fold, w)
    return np.asarray(np.bincount(fold, w * loss) / np.where(total > 0, total, 1.0))

"""How many calibration rows have a lower score than a label of a new row.

A group is the calibration rows that count for a label: all of them, those of a category, or those
of its class. By one model a search in their sorted scores suffices; where the models without a row
differ, the score of the label by each of them is compared with that of the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.conformal.base import row_blocks
from separatrix.conformal.class_scores import ClassScore
from separatrix.conformal.quantiles import BLOCK_NUMBERS
from separatrix.rows.block import Floats, Ints

#: Rows and labels that a group counts for, as indices that broadcast.
Cells = tuple[Any, Any]


@dataclass(frozen=True)
class SortedScores:
    """Scores in order, and the weight up to each."""

    ordered: Floats
    reached: Floats

    @classmethod
    def of(cls, scores: Floats, w: Floats | None) -> SortedScores:
        """Scores with their weights."""
        order = np.argsort(scores, kind="stable")
        each = np.ones(len(scores)) if w is None else w[order]
        return cls(scores[order], np.concatenate([[0.0], np.cumsum(each)]))

    def below(self, values: Floats) -> Floats:
        """The weight of the scores below each value."""
        return np.asarray(self.reached[np.searchsorted(self.ordered, values, side="left")])


@dataclass(frozen=True)
class Group:
    """Calibration rows that are compared with one another, and the fold of each."""

    rows: Ints
    scores: Floats
    w: Floats | None
    folds: Ints
    total: float
    _sorted: dict[int, SortedScores] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, rows: Ints) -> Group:
        """Some of the calibration rows of a conformal model."""
        w = None if model.weights_ is None else model.weights_[rows]
        total = float(len(rows) if w is None else w.sum())
        return cls(rows, model.scores_[rows], w, model.folds_[rows], total)

    def by_fold(self, fold: int) -> SortedScores:
        """The scores of one fold in order."""
        if fold not in self._sorted:
            at = np.flatnonzero(self.folds == fold)
            w = None if self.w is None else self.w[at]
            self._sorted[fold] = SortedScores.of(self.scores[at], w)
        return self._sorted[fold]

    @property
    def weights(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.rows)) if self.w is None else self.w


def label_counts(model: Any, score: ClassScore, X: Any) -> Iterator[tuple[Floats, Floats]]:
    """Block by block: the weight of scores below s(x, k), and of all that count (m x K)."""
    k = len(model.classes_)
    dense = model.fits_ is not None and not hasattr(model.fits_, "changes")
    size = BLOCK_NUMBERS // (len(model.scores_) * k) + 1 if dense else 1 << 14
    if model.fits_ is None:
        count = counts_of_folds
    else:
        count = counts_of_fits if dense else counts_of_changes
    groups, done = _groups(model), 0
    for rows, part in row_blocks(X, size):
        m = rows.stop - rows.start
        u = model._uniform(done + m, 1)
        u, done = None if u is None else u[done:], done + m
        below, total = np.zeros((2, m, k))
        codes = model._category_codes(part, m)
        pairs = [(group, _cells(model, g, codes)) for g, group in enumerate(groups)]
        for group, cells in pairs:
            total[cells] = group.total
        count(model, score, part, u, pairs, below)
        yield below, total


def _groups(model: Any) -> list[Group]:
    """Calibration rows that are compared with a label of a row: by class or by category."""
    levels = 1 if model.categories_ is None else len(model.categories_.levels)
    count = len(model.classes_) if model._by_class else levels
    of = model.labels_ if model._by_class else model.category_codes_
    return [Group.of(model, np.flatnonzero(of == g)) for g in range(count)]


def _cells(model: Any, g: int, codes: Ints) -> Cells:
    """Rows and labels that a group counts for."""
    if model._by_class:
        return np.arange(len(codes))[:, None], np.array([[g]])
    return np.flatnonzero(codes == g)[:, None], np.arange(len(model.classes_))[None]


def counts_of_folds(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """By one model for each fold: a search among the scores of its fold."""
    for fold, models in enumerate(model.models_):
        s = score.of(model._values(models[0], X, score), u)
        for group, cells in groups:
            below[cells] += group.by_fold(fold).below(s[cells])


def counts_of_fits(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """By the model without each row: the scores (m x n x K) are compared with those of the rows."""
    s = score.of(model.fits_.at(model.estimator_, X), u)
    for group, (rows, labels) in groups:
        part = s[rows.ravel()][:, group.rows][:, :, labels.ravel()]
        lower = group.scores[None, :, None] < part
        below[rows, labels] = np.einsum("ijk,j->ik", lower, group.weights)


def counts_of_changes(
    model: Any,
    score: ClassScore,
    X: Any,
    u: Floats | None,
    groups: list[tuple[Group, Cells]],
    below: Floats,
) -> None:
    """Where all but k of the models agree about a row: one search, corrected for those k."""
    base, indices, changed = model.fits_.changes(model.estimator_, X)
    s = score.of(base, u)
    s_changed = score.of(changed, u)
    own = model.scores_[indices][:, :, None]
    weight = 1.0 if model.weights_ is None else model.weights_[indices][:, :, None]
    correction = weight * ((own < s_changed).astype(float) - (own < s[:, None, :]))
    for group, (rows, labels) in groups:
        inside = np.zeros(len(model.scores_), dtype=bool)
        inside[group.rows] = True
        counted = (inside[indices][:, :, None] * correction).sum(axis=1)
        whole = SortedScores.of(group.scores, group.w)
        below[rows, labels] = whole.below(s[rows, labels]) + counted[rows, labels]

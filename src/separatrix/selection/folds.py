"""Folds from one pass: every fold's moments, and the moments of all the others together.

    train(f) = Σ_{g ≠ f} moments(g),     test(f) = moments(f)

The training side is merged from the other folds, never taken as the total minus the fold: a
difference of two large scatters would lose the digits that the merge keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare, prepare_parts

#: scikit-learn's ``cv``: None (5 folds), a number of folds, a splitter, or (train, test) pairs.
CV = Any
#: Moments of the training rows and of the held-out rows of one fold.
FoldMoments = tuple[Moments, Moments]

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Folds:
    """(train, test) row numbers of every fold; ``labels`` when the test parts tile the table."""

    pairs: tuple[tuple[Ints, Ints], ...]
    labels: Ints | None

    def __len__(self) -> int:
        return len(self.pairs)


def folds_of(cv: CV, n: int, y: Any = None, groups: Any = None) -> Folds:
    """What scikit-learn's ``cv`` means for ``n`` rows.

    A whole number k gives k contiguous folds in row order, as scikit-learn does for regression.
    """
    from sklearn.model_selection import check_cv

    cv = DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        cv = list(cv)
    if isinstance(cv, int | np.integer) and not 2 <= cv <= n:
        raise InputError(
            f"cv={cv} folds cannot be made of n_samples={n} rows.",
            remedy=f"Choose cv between 2 and {n}." if n >= 2 else "Give at least two rows.",
        )
    splitter = check_cv(cv, y, classifier=False)
    pairs = tuple(
        (_row_numbers(train, n), _row_numbers(test, n))
        for train, test in splitter.split(np.empty((n, 1)), y, groups)
    )
    return Folds(pairs, _labels(pairs, n))


def folding(w: Floats | None, cv: CV) -> slice | NDArray[np.bool_]:
    """Which rows a number of folds is made of: one without weight is as good as absent.

    A splitter or a list of (train, test) names rows as they were given, and keeps them all.
    """
    named = not (cv is None or isinstance(cv, int | np.integer))
    return slice(None) if named or w is None or (w > 0).all() else w > 0


def _row_numbers(index: Any, n: int) -> Ints:
    """Row numbers, also where a fold is given as a mask of rows."""
    rows = np.asarray(index)
    if rows.dtype == bool and rows.shape == (n,):
        return np.asarray(np.flatnonzero(rows), dtype=np.int64)
    return np.asarray(rows, dtype=np.int64)


def _labels(pairs: tuple[tuple[Ints, Ints], ...], n: int) -> Ints | None:
    """The fold of each row, if every row is tested once and trains every other fold."""
    tests = [test for _, test in pairs]
    if sum(map(len, tests)) != n or not all(len(a) + len(b) == n for a, b in pairs):
        return None
    labels = np.full(n, -1, dtype=np.int64)
    for fold, test in enumerate(tests):
        labels[test] = fold
    if (labels < 0).any():
        return None
    for fold, (train, _) in enumerate(pairs):
        seen = np.zeros(n, dtype=bool)
        seen[train] = True
        if not np.array_equal(seen, labels != fold):
            return None
    return labels


@dataclass(frozen=True)
class Folded:
    """``moments`` of all rows over the design of ``encoding``, and both sides of every fold.

    Each fold's sides are over a design that was learned from its training rows alone.
    """

    encoding: Encoding
    moments: Moments
    halves: list[FoldMoments]


def fold_moments(rows: Rows, cv: CV = None) -> list[FoldMoments]:
    """Training and held-out moments of every fold; one pass when the folds tile the table."""
    return folded(rows, cv).halves


def folded(rows: Rows, cv: CV = None) -> Folded:
    """Moments of the table and of its folds; one pass when the folds tile the table.

    A table that is read as a stream has no row numbers: its folds go by the content of the rows.
    """
    if not isinstance(rows, InMemory):
        found = _by_part(rows.with_parts(Parts(seed=0, test=0.0, folds=_number(cv))))
    else:
        rows = rows.take(folding(rows.block.w, cv))
        folds = folds_of(cv, len(rows), rows.block.y[:, 0])
        if folds.labels is None:
            prepared = prepare(rows)
            halves = [_overlapping(rows, train, test) for train, test in folds.pairs]
            found = Folded(prepared.encoding, prepared.moments, halves)
        elif isinstance(rows, ArrayRows):
            found = _of_arrays(rows.with_parts(folds.labels), len(folds))
        else:
            found = _by_part(rows.with_parts(folds.labels))
    _refuse_weightless(found.halves)
    return found


def _of_arrays(rows: ArrayRows, k: int) -> Folded:
    """Rows that are a matrix already: before the fold plus after the fold, k merges each way."""
    by_fold = rows.reduce(Grouped(Moments())).parts
    parts = [by_fold.get(fold, Moments()) for fold in range(k)]
    before = list(accumulate(parts, initial=Moments()))
    after = list(accumulate(reversed(parts), initial=Moments()))[::-1]
    halves = [(before[f] + after[f + 1], part) for f, part in enumerate(parts)]
    return Folded(identity(rows.schema), before[-1], halves)


def _by_part(rows: Rows) -> Folded:
    """Folds of a table with levels and gaps, each design learned from its training rows."""
    prepared = prepare_parts(rows)
    whole = prepared.training()
    sides = [prepared.training(without=fold) for fold in prepared.folds]
    return Folded(whole.encoding, whole.moments, [(s.moments, s.left) for s in sides])


def _overlapping(rows: InMemory, train: Ints, test: Ints) -> FoldMoments:
    """One fold whose rows are listed: a row may train twice, or not at all."""
    index = np.concatenate([train, test])
    labels = np.repeat(np.array([0, 1], dtype=np.int64), [len(train), len(test)])
    side = prepare_parts(rows.take(index).with_parts(labels)).training(without=1)
    return side.moments, side.left


def _number(cv: CV) -> int:
    if cv is None:
        return DEFAULT_FOLDS
    if not isinstance(cv, int | np.integer) or cv < 2:
        raise InputError(
            "A table that is read as a stream has no row numbers for cv to name.",
            remedy="Give cv as a number of folds, at least 2.",
        )
    return int(cv)


def _refuse_weightless(halves: list[FoldMoments]) -> None:
    for fold, (train, test) in enumerate(halves):
        if not train.weight or not test.weight:
            side = "held-out" if train.weight else "training"
            raise InputError(
                f"The {side} rows of fold {fold} have no weight.",
                remedy="Use fewer folds, or folds that spread the weighted rows.",
            )

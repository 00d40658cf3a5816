"""Cross-validation folds: from ``cv`` to row numbers, and to the moments of both sides.

    train(f) = Σ_{g ≠ f} moments(g),     test(f) = moments(f)

The training moments are merged from the other folds, never computed as the total minus the fold: a
difference of two large scatter matrices would lose the digits that the merge preserves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, Ints
from separatrix.rows.copies import TOGETHER, Copies
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.rows import ArrayRows, InMemory, Rows, S
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare, prepare_parts

#: scikit-learn's ``cv``: None (5 folds), a number of folds, a splitter, or (train, test) pairs.
CV = Any
#: Moments of the training rows and of the test rows of one fold.
FoldMoments = tuple[Moments, Moments]
Result = TypeVar("Result")
Array = TypeVar("Array", bound=NDArray[Any])

DEFAULT_FOLDS = 5
#: Rows among which copies are looked for that folds may part: a few milliseconds.
CHECKED_ROWS = 4_000
#: What copies mean to a number of folds that are those of scikit-learn.
PARTED = (
    "A number of folds means the folds of scikit-learn here, which part copies: what is chosen may "
    "be what remembers rows best. Remove copies, or give cv as (train, test) pairs that keep them "
    "together (GroupKFold)."
)


@dataclass(frozen=True)
class Folds:
    """(train, test) row numbers of every fold; ``labels`` if the folds partition the rows."""

    pairs: tuple[tuple[Ints, Ints], ...]
    labels: Ints | None

    @classmethod
    def from_labels(cls, labels: Ints) -> Folds:
        """The partition that a fold number for each row describes."""
        folds = range(int(labels.max()) + 1)
        pairs = ((np.flatnonzero(labels != f), np.flatnonzero(labels == f)) for f in folds)
        return cls(tuple(pairs), labels)

    def __len__(self) -> int:
        return len(self.pairs)

    def map(self, function: Callable[[Ints, Ints], Result]) -> list[Result]:
        """``function(train, test)`` for every fold: the one loop of cross-validation."""
        return [function(train, test) for train, test in self.pairs]

    def out_of_fold(self, parts: Sequence[Array]) -> Array:
        """Predictions for the test rows of every fold, assembled in the order of the rows."""
        tests = np.concatenate([test for _, test in self.pairs])
        if len(np.unique(tests)) < len(tests):
            raise InputError(
                "A row is in two test folds.", remedy="Use folds whose test rows do not overlap."
            )
        if len(tests) <= max(int(max(a.max(), b.max())) for a, b in self.pairs):
            raise InputError("A row is in no test fold.", remedy="Use folds that test every row.")
        return cast(Array, np.concatenate(parts)[np.argsort(tests)])


def default_folds(most: int) -> int:
    """The number of folds unless one is named: 5, but no more than ``most``, and 2 at least."""
    return max(2, min(DEFAULT_FOLDS, int(most)))


def folds_of(
    cv: CV,
    n: int,
    y: Any = None,
    groups: Any = None,
    *,
    rows: Ints | None = None,
    codes: Ints | None = None,
    copied: Callable[[], Hashes | None] = lambda: None,
) -> Folds:
    """What scikit-learn's ``cv`` means for ``n`` rows.

    A whole number k gives k contiguous folds in row order, as scikit-learn does for regression; if
    ``codes`` (the classes of the rows) are given, k stratified folds. ``rows`` are the numbers of
    the rows that take part, those of positive weight for example: folds are then positions among
    them, while a splitter or a list of (train, test) still refers to all ``n`` rows. ``copied``
    gives :func:`copies_of` those rows, which are dealt together to a number of folds.
    """
    cv = DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, int | np.integer):
        n = n if rows is None else len(rows)
        if not 2 <= cv <= n:
            raise InputError(
                f"cv={cv} folds cannot be made of n_samples={n} rows.",
                remedy=f"Choose cv between 2 and {n}." if n >= 2 else "Give at least two rows.",
            )
        keys = copied()
        if keys is not None:
            return Folds.from_labels(deal_copies(keys, int(cv), codes))
        if codes is not None:
            return Folds.from_labels(stratified_labels(codes, int(cv)))
        rows = None
    elif codes is not None and y is None:
        y = np.zeros(n, dtype=np.int64)
        y[slice(None) if rows is None else rows] = codes
    pairs = _split(cv, n, y, groups)
    if rows is not None:
        pairs, n = _positions(pairs, rows, n), len(rows)
    return Folds(pairs, _labels(pairs, n))


def stratified_labels(codes: Ints, k: int) -> Ints:
    """A fold for every row: the rows of each class are assigned to the k folds in turn."""
    labels = np.empty(len(codes), dtype=np.int64)
    labels[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % k
    return labels


def copies_of(X: Any, y: Any, consequence: str = TOGETHER) -> Hashes | None:
    """A key for each row, the same for its copies, if there are more than chance explains.

    Rows are copies where all columns and the target are equal (:mod:`separatrix.rows.copies`). A
    model that is tested on a row which it was fitted to seems to predict what it remembers: folds
    that we draw keep copies together, and warning SEP009 says so, or another ``consequence``. None
    where nothing is copied, and for rows that are no table, such as strings or graphs.
    """
    from separatrix.rows.scan import scan

    try:
        rows = (X if isinstance(X, InMemory) else scan(X, y)).read()
    except (ValueError, TypeError):
        return None
    keys, suspicion = _copied(rows)
    if not suspicion:
        return None
    warn("SEP009", f"{suspicion} {consequence}")
    return keys


def _copied(rows: InMemory) -> tuple[Hashes, str]:
    from separatrix.rows.split import unit_keys, varying_content

    suspicion = Copies(rows.block, varying_content(rows.block, rows.hashes)).suspicion
    return unit_keys(rows.block, rows.hashes, rows.keys), suspicion


def warn_of_parted_copies(rows: InMemory, folds: Folds, cv: CV) -> None:
    """Warn where a number of folds, made as scikit-learn makes them, parts copies of rows.

    Looked for among some rows, drawn at random once for all: the check must cost nothing beside a
    fit, and of copies that matter some are there.
    """
    if folds.labels is None or not (cv is None or isinstance(cv, int | np.integer)):
        return
    n = len(rows)
    at = (
        np.sort(np.random.default_rng(0).permutation(n)[:CHECKED_ROWS])
        if n > CHECKED_ROWS
        else None
    )
    keys, suspicion = _copied(rows if at is None else rows.take(at))
    if not suspicion:
        return
    unit, labels = (
        np.unique(keys, return_inverse=True)[1],
        folds.labels[slice(None) if at is None else at],
    )
    first = np.full(int(unit.max()) + 1, -1, dtype=np.int64)
    first[unit] = labels
    if (first[unit] != labels).any():
        warn("SEP009", f"{suspicion if at is None else 'Of some rows, ' + suspicion} {PARTED}")


def deal_copies(copied: Hashes, k: int, codes: Ints | None = None, seed: int = 0) -> Ints:
    """A fold for each row, the same for its copies; class by class if ``codes`` are given."""
    from separatrix.rows.split import deal_again

    distinct = len(np.unique(copied))
    if distinct < k:
        raise InputError(
            f"{k} folds cannot be made of {distinct} distinct rows, whose copies stay together.",
            remedy=f"Use {distinct} folds or fewer, or give more rows.",
        )
    return deal_again(Parts(seed, 0.0, k), "copies together", copied, codes)


def _split(cv: CV, n: int, y: Any, groups: Any) -> tuple[tuple[Ints, Ints], ...]:
    from sklearn.model_selection import check_cv

    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        cv = list(cv)
    splits = check_cv(cv, y, classifier=False).split(np.empty((n, 1)), y, groups)
    return require_rows((_row_numbers(train, n), _row_numbers(test, n)) for train, test in splits)


def require_rows(pairs: Iterable[tuple[Ints, Ints]]) -> tuple[tuple[Ints, Ints], ...]:
    """The folds, refused where there is none or one without rows to train or to test on."""
    folds = tuple(pairs)
    if not folds or not all(len(train) and len(test) for train, test in folds):
        what = "A fold of cv has no rows to train or to test on." if folds else "cv has no folds."
        raise InputError(what, remedy="Give pairs of row numbers (train, test), none empty.")
    return folds


def _positions(
    pairs: tuple[tuple[Ints, Ints], ...], rows: Ints, n: int
) -> tuple[tuple[Ints, Ints], ...]:
    """Folds of ``n`` rows as positions among ``rows``; folds without test rows are dropped."""
    place = np.full(n, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    found = [(place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in pairs]
    found = [(train, test) for train, test in found if len(test)]
    if not found or not all(len(train) for train, _ in found):
        raise InputError(
            "The training rows or the test rows of a fold have no weight.",
            remedy="Use fewer folds, or folds that spread the weighted rows.",
        )
    return tuple(found)


def folding(w: Floats | None, cv: CV) -> slice | NDArray[np.bool_]:
    """Index of the rows that a number of folds is made of: those of positive weight.

    A splitter or a list of (train, test) refers to all rows given, so that all of them are used.
    """
    named = not (cv is None or isinstance(cv, int | np.integer))
    return slice(None) if named or w is None or (w > 0).all() else w > 0


def _row_numbers(index: Any, n: int) -> Ints:
    """Row numbers from row numbers or from a boolean mask."""
    rows = np.asarray(index)
    if rows.dtype == bool and rows.shape == (n,):
        return np.asarray(np.flatnonzero(rows), dtype=np.int64)
    return np.asarray(rows, dtype=np.int64)


def _labels(pairs: tuple[tuple[Ints, Ints], ...], n: int) -> Ints | None:
    """The fold of each row, if every row is tested once and trains all other folds."""
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
    """Moments of all rows in the design of ``encoding``, and training and test moments by fold.

    The design of each fold was fitted to its training rows alone.
    """

    encoding: Encoding
    moments: Moments
    halves: list[FoldMoments]


def folded(rows: Rows, cv: CV = None) -> Folded:
    """Moments of the table and of its folds; one pass if the folds partition the rows.

    Rows that are read as a stream have no row numbers: their folds are hashes of their content.
    """
    if not isinstance(rows, InMemory):
        found = _by_part(rows.with_parts(Parts(seed=0, test=0.0, folds=_number(cv))))
    else:
        rows = rows.take(folding(rows.block.w, cv))
        folds = folds_of(cv, len(rows), rows.block.y[:, 0])
        warn_of_parted_copies(rows, folds, cv)
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
    """Folds of a matrix: moments before the fold plus moments after it, k merges each way."""
    by_fold = rows.reduce(Grouped(Moments())).parts
    parts = [by_fold.get(fold, Moments()) for fold in range(k)]
    training, whole = leave_each_out(parts, Moments())
    return Folded(identity(rows.schema), whole, list(zip(training, parts, strict=True)))


def leave_each_out(parts: Sequence[S], empty: S) -> tuple[list[S], S]:
    """The sum of all other parts, for each part; and the sum of all: k merges each way."""
    before = list(accumulate(parts, add, initial=empty))
    after = list(accumulate(reversed(parts), add, initial=empty))[::-1]
    return [before[f] + after[f + 1] for f in range(len(parts))], before[-1]


def _by_part(rows: Rows) -> Folded:
    """Folds of a table with levels and missing values, each design fitted to its training rows."""
    prepared = prepare_parts(rows)
    whole = prepared.split()
    sides = [prepared.split(fold) for fold in prepared.folds]
    return Folded(whole.encoding, whole.train, [(s.train, s.test) for s in sides])


def _overlapping(rows: InMemory, train: Ints, test: Ints) -> FoldMoments:
    """One fold given by row numbers, in which a row may occur twice or not at all."""
    index = np.concatenate([train, test])
    labels = np.repeat(np.array([0, 1], dtype=np.int64), [len(train), len(test)])
    side = prepare_parts(rows.take(index).with_parts(labels)).split(test=1)
    return side.train, side.test


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
            side = "test" if train.weight else "training"
            raise InputError(
                f"The {side} rows of fold {fold} have no weight.",
                remedy="Use fewer folds, or folds that spread the weighted rows.",
            )

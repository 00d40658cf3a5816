"""Cross-validation folds: from ``cv`` to row numbers, and to the moments of both sides.

    train(f) = Σ_{g ≠ f} moments(g),     test(f) = moments(f)

The training moments are merged from the other folds, never computed as the total minus the fold: a
difference of two large scatter matrices would lose the digits that the merge preserves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import add
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import column_or_1d

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError, warn
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.rows import ArrayRows, InMemory, Rows, S
from separatrix.rows.schema import Encoding, identity
from separatrix.rows.split import TOGETHER, Copies
from separatrix.statistics.moments import Grouped, Moments, prepare, prepare_parts

#: scikit-learn's ``cv``: None (5 folds), a number of folds, a splitter, or (train, test) pairs.
CV = Any
#: Moments of the training rows and of the test rows of one fold.
FoldMoments = tuple[Moments, Moments]
Result = TypeVar("Result")
Array = TypeVar("Array", bound=NDArray[Any])

DEFAULT_FOLDS = 5
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

    Rows are copies where all columns and the target are equal (:mod:`separatrix.rows.split`). A
    model that is tested on a row which it was fitted to seems to predict what it remembers: folds
    that we draw keep copies together, and warning SEP009 says so, or another ``consequence``. None
    where nothing is copied, and for rows that are not a table, such as strings or graphs.
    """
    from separatrix.rows.scan import scan

    try:
        rows = (X if isinstance(X, InMemory) else scan(X, y)).read()
    except (ValueError, TypeError):
        return None
    keys, suspicion = _find_copies(rows)
    if not suspicion:
        return None
    warn("SEP009", f"{suspicion} {consequence}")
    return keys


def _find_copies(rows: InMemory) -> tuple[Hashes, str]:
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
    n, target = len(rows), np.sort(rows.block.y, axis=0)
    if not (target[1:] == target[:-1]).all(axis=1).any() and target.size:
        return  # as always with a continuous target
    # Rows among which copies are looked for that folds may part: a few milliseconds.
    checked_rows = 4_000
    at = (
        np.sort(np.random.default_rng(0).permutation(n)[:checked_rows])
        if n > checked_rows
        else None
    )
    keys, suspicion = _find_copies(rows if at is None else rows.take(at))
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
    positions = [(place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in pairs]
    positions = [(train, test) for train, test in positions if len(test)]
    if not positions or not all(len(train) for train, _ in positions):
        raise InputError(
            "The training rows or the test rows of a fold have no weight.",
            remedy="Use fewer folds, or folds that spread the weighted rows.",
        )
    return tuple(positions)


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


def fold_rows(rows: Rows, cv: CV = None) -> Folded:
    """Moments of the table and of its folds; one pass if the folds partition the rows.

    Rows that are read as a stream have no row numbers: their folds are hashes of their content.
    """
    if not isinstance(rows, InMemory):
        folded = _by_part(rows.with_parts(Parts(seed=0, test=0.0, folds=_number(cv))))
    else:
        rows = rows.take(folding(rows.block.w, cv))
        folds = folds_of(cv, len(rows), rows.block.y[:, 0])
        warn_of_parted_copies(rows, folds, cv)
        if folds.labels is None:
            prepared = prepare(rows)
            halves = [_overlapping(rows, train, test) for train, test in folds.pairs]
            folded = Folded(prepared.encoding, prepared.moments, halves)
        elif isinstance(rows, ArrayRows):
            folded = _of_arrays(rows.with_parts(folds.labels), len(folds))
        else:
            folded = _by_part(rows.with_parts(folds.labels))
    _refuse_weightless(folded.halves)
    return folded


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


# -------------------------------------------------------------------------------------------------
# Metadata of cross-validated models (``groups`` …), routed by scikit-learn's rules.


def fold_router(model: Any, *, scores: bool = False, **others: Any) -> MetadataRouter:
    """The router of a model whose ``fit`` splits rows by ``cv``, and scores by ``others``.

    With ``scores`` its method ``score`` uses them too.
    """
    router = MetadataRouter(owner=model).add_self_request(model)
    for name, other in others.items():
        mapping = MethodMapping().add(caller="fit", callee="score")
        if scores:
            mapping.add(caller="score", callee="score")
        router.add(**{name: other}, method_mapping=mapping)
    splitting = MethodMapping().add(caller="fit", callee="split")
    return router.add(splitter=check_cv(model.cv), method_mapping=splitting)


def route_params(
    model: Any, params: Mapping[str, Any], sample_weight: Any
) -> dict[str, dict[str, Any]]:
    """What of ``fit``'s extra arguments goes to the splitter and to the scorer.

    Without scikit-learn's metadata routing there are none to take.
    """
    if not get_config().get("enable_metadata_routing", False):
        if params:
            raise ValueError(
                f"Passing extra keyword arguments to {type(model).__name__}.fit is only supported "
                "if enable_metadata_routing=True, which you can set using `sklearn.set_config`. "
                f"Extra parameters passed are: {', '.join(sorted(params))}."
            )
        return {"split": {}, "score": {}}
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not weights and not params:  # what scikit-learn returns then cannot be searched
        return {"split": {}, "score": {}}
    routed = process_routing(model, "fit", **weights, **params)
    scorer = routed["scorer"]["score"] if "scorer" in routed else {}
    return {"split": dict(routed["splitter"]["split"]), "score": dict(scorer)}


def named_folds(cv: Any, X: Any, y: Any, split: Mapping[str, Any]) -> Any:
    """``cv``, as (train, test) row numbers where it splits by metadata."""
    if not split:
        return cv
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return list(check_cv(cv).split(np.empty((n, 1)) if y is None else X, y, **split))


@contextmanager
def folds_of_fit(
    model: Any, X: Any, y: Any, params: Mapping[str, Any], sample_weight: Any
) -> Iterator[None]:
    """``model._folds`` and ``model._score_arguments`` for the time of a fit, from its arguments."""
    found = route_params(model, params, sample_weight)
    model._folds = named_folds(model.cv, X, y, found["split"])
    model._score_arguments = found["score"]
    try:
        yield
    finally:
        del model._folds, model._score_arguments


def of_rows(params: Mapping[str, Any], n: int, rows: Ints) -> dict[str, Any]:
    """Metadata of some of the n rows; what is not one value for each row is passed on whole."""
    return {
        name: np.asarray(value)[rows] if np.ndim(value) and len(value) == n else value
        for name, value in params.items()
    }


# -------------------------------------------------------------------------------------------------
# Rows in memory to which models are refitted, and their losses: for folds and learning curves.


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

    def fitted(self, model: Any, indices: Ints) -> Any:
        """A copy of the model, fitted to some rows."""
        given = {} if self.w is None else {"sample_weight": self.w[indices]}
        return clone(model).fit(self.take(indices), self.y[indices], **given)

    def mean_loss(self, model: Any, indices: Ints) -> float:
        """The mean loss of a fitted model on some rows."""
        w = None if self.w is None else self.w[indices]
        return float(
            np.average(self._losses(model, self.take(indices), self.y[indices]), weights=w)
        )

    def _losses(self, model: Any, x: Any, y: Any) -> Floats:
        if self.loss == "squared error":
            return np.asarray((y - np.ravel(model.predict(x))) ** 2)
        if self.loss == "error rate":
            return np.asarray(model.predict(x) != y, dtype=float)
        place = {label: j for j, label in enumerate(model.classes_.tolist())}
        p = np.column_stack([model.predict_proba(x), np.zeros(len(y))])
        codes = np.array([place.get(label, len(place)) for label in y.tolist()])
        return np.asarray(-np.log(np.maximum(p[np.arange(len(codes)), codes], SMALLEST)))


def same_task(models: Sequence[Any]) -> bool:
    """Whether these are classifiers; refuses some of each, and models of neither."""
    classes = bool(is_classifier(models[0]))
    if not all(is_classifier(m) if classes else is_regressor(m) for m in models):
        raise InputError(
            "These models are not all classifiers, or not all regression models.",
            remedy="Compare models of the same target.",
        )
    return classes

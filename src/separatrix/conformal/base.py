"""What conformal regressors and classifiers share: splits, folds, refits and their scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.wrapped import LabeledRows, Wrapper, is_pairwise, joint_certificate
from separatrix.messages import InputError, check_option
from separatrix.notebook import Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.rows import InMemory, Rows
from separatrix.selection.folds import DEFAULT_FOLDS, folds_of
from separatrix.selection.leave_one_out import LeaveOneOutFits

METHODS = ("split", "cv+", "cross-conformal", "jackknife+", "jackknife-minmax")
JACKKNIFE = ("jackknife+", "jackknife-minmax")


@dataclass(frozen=True)
class ConformityScores:
    """Scores of rows by models that were not fitted to them.

    ``models`` are those of every fold (one without folds) and ``folds`` (n) which of them each row
    was scored by; ``fits`` stand for the models of all folds of one row where there is a closed
    form. ``rows`` are the positions of the rows that were scored.
    """

    scores: Floats
    folds: Ints
    rows: Ints
    models: list[list[Any]]
    fits: LeaveOneOutFits | None = None


class ConformalModel(Wrapper):
    """An estimator with calibration scores: ``scores_``, of weight ``weights_``, by fold."""

    estimator: Any
    method: str
    cv: Any
    calibration: float
    by: Any
    random_state: Any
    estimator_: Any
    models_: list[Any]
    fits_: Any
    scores_: Floats
    weights_: Floats | None
    folds_: Ints
    category_codes_: Ints
    categories_: Categories | None
    certificate_: Certificate

    # -- fitting -------------------------------------------------------------------------------

    def _check_method(self) -> None:
        check_option("method", self.method, METHODS)
        if not hasattr(self.estimator, "fit"):
            raise InputError(
                f"{type(self.estimator).__name__} is not a model.", remedy="Give one as estimator."
            )
        if is_pairwise(self.estimator):
            raise InputError(
                "Conformal prediction refits to parts of the rows, and X compares all rows with "
                "one another.",
                remedy="Give rows and a kernel or metric, not a matrix of them.",
            )

    def _split(self, rows: LabeledRows) -> tuple[Ints, Ints]:
        """Positions of training and calibration rows, at random; copies are on one side."""
        unit = _units(rows)
        n = int(unit.max(initial=-1)) + 1
        share = float(self.calibration)
        if not 0.0 < share < 1.0:
            raise InputError(f"calibration={self.calibration!r} must be between 0 and 1.")
        if n < 2:
            raise InputError(
                f"n_samples={n}: one row to fit to and one to calibrate by are needed at least.",
                remedy="Give more rows.",
            )
        count = min(max(1, round(share * n)), n - 1)
        order = check_random_state(self.random_state).permutation(n)
        calibrates = np.isin(unit, order[:count])
        return np.flatnonzero(~calibrates), np.flatnonzero(calibrates)

    def _labels(self, given: LabeledRows, codes: Ints | None = None) -> Ints:
        """The fold of every row that counts: dealt at random, whatever its target; or by ``cv``.

        Copies of a row are in one fold, and left out together.
        """
        counting = given.positive_weight
        n = len(counting)
        if self.method in JACKKNIFE:
            unit = _units(given.take(counting))
            distinct = int(unit.max(initial=-1)) + 1
            if distinct < 2:
                alike = ", which are equal" if n > 1 else ""
                raise InputError(
                    f"n_samples={n}{alike}: two rows that differ are needed to leave one out.",
                    remedy="Give more rows.",
                )
            return unit
        cv = DEFAULT_FOLDS if self.cv is None else self.cv
        if isinstance(cv, int | np.integer):
            if not 2 <= cv <= n:
                raise InputError(
                    f"cv={cv} folds cannot be made of n_samples={n} rows.",
                    remedy=f"Choose cv between 2 and {n}." if n >= 2 else "Give two rows or more.",
                )
            unit = _units(given.take(counting))
            distinct = int(unit.max()) + 1
            if distinct < cv:
                raise InputError(
                    f"cv={cv} folds cannot be made of {distinct} distinct rows, whose copies stay "
                    "together.",
                    remedy="Use fewer folds, or give more rows.",
                )
            order = check_random_state(self.random_state).permutation(distinct)
            return np.asarray((order % int(cv))[unit], dtype=np.int64)
        labels = folds_of(cv, len(given.y), rows=counting, codes=codes).labels
        if labels is None:
            raise InputError(
                "Every row must be in the test rows of one fold, and train all others.",
                remedy="Give cv as a number of folds.",
            )
        return labels

    def _accept(self, rows: LabeledRows, conformity_scores: ConformityScores, model: Any) -> Self:
        """Set the fitted attributes."""
        self._expose(model)
        self.models_, self.fits_ = conformity_scores.models, conformity_scores.fits
        self.scores_, self.folds_ = (
            conformity_scores.scores,
            np.asarray(conformity_scores.folds, dtype=np.int64),
        )
        part = rows.take(conformity_scores.rows)
        self.weights_ = part.w
        self.categories_ = None
        self.category_codes_ = np.zeros(len(conformity_scores.scores), dtype=np.int64)
        if self.by is not None and not self._by_class:
            self.categories_ = categories_of(part.x, self.by)
            self.category_codes_ = self.categories_.codes_of(part.x)
        self.certificate_ = self._certificate()
        return self

    @property
    def _by_class(self) -> bool:
        """Whether every class has a quantile of its own."""
        return False

    def _expose(self, model: Any) -> None:
        """Expose the columns of the fitted estimator."""
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_", "encoding_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _certificate(self) -> Certificate:
        how = "left out in turn, in closed form" if self.fits_ is not None else "scored unseen"
        claim = f"Calibrated by {self._total:g} rows that were {how} ({self.method})"
        return joint_certificate(claim, [self.estimator_], str(self.guarantee(0.9)))

    # -- what is known about it ----------------------------------------------------------------

    @property
    def _total(self) -> float:
        """The weight of all calibration rows."""
        return float(len(self.scores_) if self.weights_ is None else self.weights_.sum())

    def guarantee(self, level: float = 0.9) -> Guarantee:
        """The coverage that is certain at a level, and under which condition."""
        check_is_fitted(self, "scores_")
        check_level(level)
        folds = int(self.folds_.max(initial=0)) + 1
        sizes = self._category_sizes()
        return guarantee_of(
            self.method, float(level), float(sizes.min()), folds, by_category=self.by is not None
        )

    def _category_sizes(self) -> Floats:
        """The weight of the calibration rows of each category; of all, without categories."""
        return np.bincount(self.category_codes_, self.weights_).astype(float)

    def _category_codes(self, X: Any, n: int) -> Ints:
        """The category of each new row; −1 for one that calibration did not have."""
        if self.categories_ is None:
            return np.zeros(n, dtype=np.int64)
        return self.categories_.codes_of(X)


def _units(rows: LabeledRows) -> Ints:
    """The number of what is dealt together: a row, or all copies of one."""
    every = np.arange(len(rows.y))
    copied = rows.copies(every)
    return every if copied is None else np.unique(copied, return_inverse=True)[1]


def positive_rows(rows: LabeledRows) -> LabeledRows:
    """The rows that count; weights that are all one are none."""
    some = rows if rows.w is None else rows.take(rows.positive_weight)
    plain = some.w is not None and bool((some.w == 1.0).all())
    return replace(some, w=None) if plain else some


def row_blocks(X: Any, size: int) -> Iterator[tuple[slice, Any]]:
    """Rows of any kind, some at a time."""
    if isinstance(X, Rows):
        X = X.read()  # InMemory, which can be cut
    elif not hasattr(X, "shape") and not isinstance(X, list):
        X = np.asarray(X)
    n = len(X) if not hasattr(X, "shape") else X.shape[0]
    if n <= size:
        yield slice(0, n), X
        return
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        at: NDArray[np.int64] = np.arange(rows.start, rows.stop)
        yield rows, X.take(at) if isinstance(X, InMemory) else _safe_indexing(X, at)


# -------------------------------------------------------------------------------------------------
# Mondrian categories: rows that are calibrated among themselves, by a quantile of their own.


@dataclass(frozen=True)
class Categories:
    """The levels of a column; each calibration row has the position of its own."""

    column: Any
    levels: NDArray[Any]

    def codes_of(self, X: Any) -> Ints:
        """The category of each row; −1 where calibration had no row of it."""
        at = {level: i for i, level in enumerate(self.levels.tolist())}
        values = column_of(X, self.column)
        return np.array([at.get(value, -1) for value in values.tolist()], dtype=np.int64)


def column_of(X: Any, column: Any) -> NDArray[Any]:
    """The values of one column, by name of a data frame or by position."""
    if isinstance(X, Rows):
        raise InputError(
            "Categories by a column need a data frame or a matrix, and a table was given.",
            remedy="Give X and y.",
        )
    matrix = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    try:
        values = _safe_indexing(matrix, column, axis=1)
    except (ValueError, KeyError, IndexError, TypeError) as problem:
        raise InputError(f"There is no column {column!r} to take categories from.") from problem
    array = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    return array.ravel()


def categories_of(X: Any, column: Any) -> Categories:
    """The levels of a column of calibration rows."""
    values = column_of(X, column)
    try:
        levels = np.unique(values)
    except TypeError:  # texts beside numbers or missing values
        levels = np.array(sorted(set(values.tolist()), key=str), dtype=object)
    if levels.dtype.kind == "f" and np.isnan(levels).any():
        raise InputError(
            f"Column {column!r} has missing values, which are not a category.",
            remedy="Fill them in with a level of their own.",
        )
    return Categories(column, levels)


# -------------------------------------------------------------------------------------------------
# What coverage each method guarantees, for a new row that is exchangeable with those given.
#
#     split                          ≥ level              (and ≤ level + 1/(n + 1) without ties)
#     jackknife-minmax               ≥ level
#     jackknife+                     ≥ 1 − 2α
#     cv+, cross-conformal, K folds  ≥ 1 − 2α − min{2(1 − α)(K − 1)/(n + K), (1 − K/n)/(K + 1)}
#
# with α = 1 − level. The second half of the list is the worst case: models that change little when
# a row is left out cover about the level. All are averages over the rows that calibrate and over
# new rows, not promises about any one of them. The last term is that of folds of equal size. The
# one before it holds for any folds, and so within categories: fold by fold a p value is valid, and
# twice a weighted mean of p values is one too.
#
# V. Vovk and R. Wang, Combining p-values via averaging, 2020.
# R. Barber, E. Candès, A. Ramdas and R. Tibshirani, Predictive inference with the jackknife+, 2021.
# Y. Romano, M. Sesia and E. Candès, Classification with valid and adaptive coverage, 2020.


@dataclass(frozen=True)
class Guarantee:
    """The coverage that is certain: ``at_least``, and in words.

    Attributes
    ----------
    level : float
        What is asked for.
    at_least : float
        The coverage that holds whatever the model and the distribution.
    sentence : str
        The same in words, with its condition.
    """

    level: float
    at_least: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


CONDITION = "if it is exchangeable with the rows given (no trend in time, no rows of one group)"


def guarantee_of(
    method: str, level: float, n: float, folds: int, *, by_category: bool = False
) -> Guarantee:
    """The guarantee of a method with n calibration rows (of the smallest category) in folds."""
    alpha = 1.0 - level
    subject = "A new row of any category" if by_category else "A new row"
    if method in ("split", "jackknife-minmax"):
        return Guarantee(
            level,
            level,
            f"{subject} is covered with a probability of at least {100 * level:g} % {CONDITION}.",
        )
    loss = 0.0
    if method != "jackknife+" and n > 0:
        k = float(folds)
        loss = 2.0 * (1.0 - alpha) * (k - 1.0) / (n + k)
        if not by_category and (n / k).is_integer():
            loss = min(loss, (1.0 - k / n) / (k + 1.0))
    least = max(0.0, 1.0 - 2.0 * alpha - loss)
    return Guarantee(
        level,
        least,
        f"{subject} is covered with a probability of at least {100 * least:.4g} % {CONDITION}; "
        f"of about {100 * level:g} % where leaving rows out changes the model little.",
    )


# -------------------------------------------------------------------------------------------------
# Quantiles with the finite-sample correction of conformal prediction.
#
#     q = the ⌈level (n + 1)⌉-th smallest of n scores,     ∞ where that exceeds n
#
# A new score is as likely as each of the n to be in any place of their order, so that it is at most
# q with a probability of at least the level. The level counts as it is written: 0.9 (9 + 1) is 9,
# not the float above it. A score of weight w counts w times.


#: Numbers that are in memory at a time for selections.
BLOCK_NUMBERS = 2_000_000


def check_level(level: float) -> Fraction:
    """The level as a fraction, as it is written in decimals."""
    number = float(level)
    if not 0.0 < number < 1.0:
        raise InputError(
            f"level={level!r} must be between 0 and 1.", remedy="Use 0.9 for intervals of 90 %."
        )
    return Fraction(repr(number))


def needed_rank(level: Fraction, total: float) -> float:
    """The weight that scores up to the quantile must reach, of a total weight of the scores.

    ⌈level (n + 1)⌉ of n scores; level (Σw + 1) where weights are not whole.
    """
    whole = float(total).is_integer()
    exact = level * ((int(total) if whole else Fraction(total)) + 1)
    return float(ceil(exact)) if whole else float(exact)


def rows_needed(level: float) -> int:
    """The number of calibration rows from which intervals of this level are finite."""
    fraction = check_level(level)
    return ceil(fraction / (1 - fraction))


def upper_quantile(scores: Floats, w: Floats | None, level: Fraction) -> float:
    """The quantile of the scores; ∞ where there are too few."""
    if w is None or bool((w == 1.0).all()):
        rank = int(needed_rank(level, len(scores)))
        if rank > len(scores):
            return np.inf
        return float(np.partition(scores, rank - 1)[rank - 1])
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(w[order])
    rank_ = needed_rank(level, float(reached[-1]) if len(reached) else 0.0)
    position = int(np.searchsorted(reached, rank_ * (1.0 - 1e-14), side="left"))
    return float(scores[order[position]]) if position < len(scores) else np.inf


def category_quantiles(
    scores: Floats, w: Floats | None, codes: Ints, count: int, level: Fraction
) -> Floats:
    """The quantile of each category; the last, of a category without rows, is infinite."""
    quantiles = np.full(count + 1, np.inf)
    for c in range(count):
        at = codes == c
        quantiles[c] = upper_quantile(scores[at], None if w is None else w[at], level)
    return quantiles


def upper_quantiles(values: Floats, w: Floats | None, level: Fraction) -> Floats:
    """The quantile of each row of ``values`` (m x n), which is overwritten."""
    m, n = values.shape
    if w is None or bool((w == 1.0).all()):
        rank = int(needed_rank(level, n))
        if rank > n:
            return np.full(m, np.inf)
        values.partition(rank - 1, axis=1)
        return values[:, rank - 1].copy()
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(w[order], axis=1)
    rank_ = needed_rank(level, float(w.sum())) * (1.0 - 1e-14)
    at = np.count_nonzero(reached < rank_, axis=1)
    inside = at < n
    quantiles = np.full(m, np.inf)
    rows = np.flatnonzero(inside)
    quantiles[rows] = values[rows, order[rows, at[rows]]]
    return quantiles


def shifted_quantiles(
    base: Floats, indices: Ints, changed: Floats, ordered: Floats, place: Ints, rank: int
) -> Floats:
    """The rank-th smallest of bᵢ + Rᵢ, where bᵢ is ``base`` but for k of the n: in O(k log k).

    ``base`` (m) is common to all rows but those at ``indices`` (m x k), where ``changed`` replaces
    it; ``ordered`` are the scores R in order and ``place`` the position of each row in that order.
    At most k of the n values leave their places and k come in, so that the answer is among those
    2 k + 1 places around the rank, or among the k.
    """
    n, k = len(ordered), indices.shape[1]
    first, last = max(0, rank - 1 - k), min(n, rank + k)
    moved = place[indices]
    window = np.broadcast_to(ordered[first:last], (len(base), last - first)).copy()
    window += base[:, None]
    inside = (moved >= first) & (moved < last)
    rows = np.broadcast_to(np.arange(len(base))[:, None], moved.shape)[inside]
    window[rows, moved[inside] - first] = np.inf
    below = first - np.count_nonzero(moved < first, axis=1)
    added = changed + ordered[moved]
    candidates = np.sort(np.concatenate([window, added], axis=1), axis=1)
    return np.asarray(candidates[np.arange(len(base)), rank - 1 - below])


# -------------------------------------------------------------------------------------------------
# Coverage on rows that the model has not seen: a proportion with its exact interval.
#
# Clopper and Pearson: of k covered rows among n, the lower end is the p under which k or more are
# covered with a probability of α/2, and the upper end that under which k or fewer are.


@dataclass(frozen=True, repr=False)
class Coverage(Shown):
    """How many of some rows were covered, at which level they should be.

    Parameters
    ----------
    level : float
        What was asked for.
    covered, rows : float
        The weight of the rows whose target is in its interval or set, and of all rows.
    interval : tuple of float
        Clopper–Pearson interval of the proportion, at a confidence of 95 %.
    size : float
        Mean width of the intervals (∞ where one is unbounded), or mean number of labels.
    by_category : dict
        The same for each category, if there are any; of classes for each class.

    See Also
    --------
    ConformalRegressor : Intervals.
    ConformalClassifier : Sets of labels.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, Springer, 2005.

    Examples
    --------
    >>> from separatrix.conformal.base import Coverage, coverage_of
    >>> import numpy as np
    >>> found = coverage_of(0.9, np.arange(20) < 19, np.ones(20))
    >>> found.proportion, [round(end, 3) for end in found.interval]
    (0.95, [0.751, 0.999])
    """

    level: float
    covered: float
    rows: float
    interval: tuple[float, float]
    size: float
    by_category: dict[Any, Coverage] = field(default_factory=dict)

    @property
    def proportion(self) -> float:
        """Covered rows of all rows."""
        return self.covered / self.rows if self.rows else float("nan")

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"{100 * self.proportion:.1f} % of {self.rows:g} rows covered "
            f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %; level {100 * self.level:g} %), "
            f"mean size {self.size:.4g}"
        ]
        lines += [f"  {name}: {part}" for name, part in self.by_category.items()]
        return "\n".join(lines)


def clopper_pearson(covered: float, rows: float, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a proportion; [0, 1] of no rows."""
    if rows <= 0:
        return 0.0, 1.0
    tail = 0.5 * (1.0 - confidence)
    low = 0.0 if covered <= 0 else float(betaincinv(covered, rows - covered + 1.0, tail))
    high = 1.0 if covered >= rows else float(betaincinv(covered + 1.0, rows - covered, 1.0 - tail))
    return low, high


def coverage_of(
    level: float,
    inside: NDArray[np.bool_],
    size: Floats,
    w: Floats | None = None,
    categories: NDArray[Any] | None = None,
) -> Coverage:
    """Coverage of rows, all together and by category."""
    weights = np.ones(len(inside)) if w is None else np.asarray(w, dtype=float)
    total, covered = float(weights.sum()), float(weights @ inside)
    mean = float(np.average(size, weights=weights)) if total else float("nan")
    parts = {}
    if categories is not None:
        for name in dict.fromkeys(categories.tolist()):
            at = categories == name
            parts[name] = coverage_of(level, inside[at], size[at], weights[at])
    parts = dict(sorted(parts.items(), key=lambda item: str(item[0])))
    return Coverage(float(level), covered, total, clopper_pearson(covered, total), mean, parts)

"""What conformal regressors and classifiers share: splits, folds, refits and their scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.conformal.categories import Categories, categories_of
from separatrix.conformal.guarantee import Guarantee, guarantee_of
from separatrix.conformal.quantiles import checked_level
from separatrix.estimators.wrapped import (
    LabeledRows,
    Wrapper,
    is_pairwise,
    joint_certificate,
)
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import InMemory, Rows
from separatrix.selection.folds import DEFAULT_FOLDS, folds_of
from separatrix.selection.leave_one_out import LeaveOneOutFits

METHODS = ("split", "cv+", "cross-conformal", "jackknife+", "jackknife-minmax")
JACKKNIFE = ("jackknife+", "jackknife-minmax")
#: What copies mean where each row is left out alone.
ONE_BY_ONE = (
    "Rows are left out one by one, so that the others of a row's copies predict it, and the "
    "guarantee is for new rows that are copies as often; method='cv+' leaves copies out together."
)


@dataclass(frozen=True)
class Calibrated:
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
                f"{type(self.estimator).__name__} is no model.", remedy="Give one as estimator."
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

        Copies of a row are in one fold; where rows are left out one by one, as of w rows that a
        weight stands for, the others stay, and a warning says so.
        """
        counting = given.positive_weight
        n = len(counting)
        if self.method in JACKKNIFE:
            if n < 2:
                raise InputError(f"n_samples={n}: two rows are needed to leave one out.")
            given.copies(counting, ONE_BY_ONE)
            return np.arange(n)
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
        found = folds_of(cv, len(given.y), rows=counting, codes=codes).labels
        if found is None:
            raise InputError(
                "Every row must be in the test rows of one fold, and train all others.",
                remedy="Give cv as a number of folds.",
            )
        return found

    def _without(self, rows: LabeledRows, labels: Ints, fold: int) -> LabeledRows:
        """The rows of the other folds; of a row of weight w that is left out, w − 1 copies."""
        if self.method not in JACKKNIFE or rows.w is None:
            return rows.take(np.flatnonzero(labels != fold))
        w = rows.w.copy()
        w[fold] = max(w[fold] - 1.0, 0.0)
        some = rows.take(np.flatnonzero(w > 0))
        return replace(some, w=w[w > 0])

    def _accept(self, rows: LabeledRows, found: Calibrated, model: Any) -> Self:
        """Set the fitted attributes."""
        self._expose(model)
        self.models_, self.fits_ = found.models, found.fits
        self.scores_, self.folds_ = found.scores, np.asarray(found.folds, dtype=np.int64)
        part = rows.take(found.rows)
        self.weights_ = part.w
        self.categories_ = None
        self.category_codes_ = np.zeros(len(found.scores), dtype=np.int64)
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
        checked_level(level)
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

"""Intervals with a guaranteed coverage, over any regression model."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from separatrix.conformal.base import (
    JACKKNIFE,
    Calibrated,
    ConformalModel,
    positive_rows,
    row_blocks,
)
from separatrix.conformal.closed_forms import closed_form
from separatrix.conformal.coverage import Coverage, coverage_of
from separatrix.conformal.intervals import RULES, by_quantile, few_changes, tidy
from separatrix.conformal.number_scores import (
    AbsoluteScore,
    Anchors,
    NormalizedScore,
    NumberScore,
    QuantileScore,
    number_score,
    quantile_parameter,
)
from separatrix.conformal.quantiles import BLOCK_NUMBERS, category_quantiles, checked_level
from separatrix.estimators.wrapped import (
    LabeledRows,
    fitted_to_numbers,
    numbered_rows,
    warn_once,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.threads import on_one_blas_thread


class ConformalRegressor(RegressorMixin, ConformalModel):
    """Intervals with a guaranteed coverage around any regression model.

        P(y ∈ [ŷ(x) − q, ŷ(x) + q]) ≥ level,     q = the ⌈level (n + 1)⌉-th least |yᵢ − ŷ(xᵢ)|

    over n rows that the model was not fitted to, whatever the model and the distribution, as long
    as old and new rows are exchangeable. Intervals of any level follow from one fit. A row of
    weight w counts as w equal rows. Where n is too small for the level (below level/(1 − level))
    intervals are infinite: nothing shorter is certain.

    Parameters
    ----------
    estimator : regressor
        Any regression model, of this library or with scikit-learn's interface.
    method : str, default="split"
        "split" fits to a part of the rows and calibrates by the others: coverage ≥ level.
        "jackknife+" leaves out every row in turn, in closed form where the model has one (least
        squares, ridge, neighbors, Gaussian processes of fixed kernel), else by n fits: coverage
        ≥ 1 − 2(1 − level), in practice about the level. "jackknife-minmax" is wider: ≥ level.
        Copies of a row, where chance does not explain them, are on one side of a split and in one
        fold; leaving rows out one by one warns of them (SEP009).
        "cv+" and "cross-conformal" leave out folds; the second is never wider.
    conformity : {"absolute", "normalized", "quantile"}, default="absolute"
        The score: |y − ŷ|; |y − ŷ| over a standard deviation, that of the model or of
        ``scale_estimator``; or the distance beyond two conditional quantiles, to which the
        estimator is fitted.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of "cv+" and "cross-conformal"; a number of them is dealt at random.
    calibration : float, default=0.25
        The share of the rows that "split" calibrates by.
    by : int, str or None, default=None
        A column of ``X`` whose every value has a quantile of its own (mondrian): the coverage then
        holds for each of them. A value with too few rows, or none, has infinite intervals.
    scale_estimator : regressor or None, default=None
        A model of |y − ŷ|, for ``conformity="normalized"``; None takes the model's own.
    quantiles : tuple of float, default=(0.05, 0.95)
        What the estimator is fitted to, for ``conformity="quantile"``.
    random_state : int, RandomState or None, default=0
        Which rows calibrate, and which are in which fold.

    Attributes
    ----------
    estimator_ : regressor
        The model of ``predict``: fitted to all rows, of "split" to those that do not calibrate.
    scores_ : ndarray of shape (n,)
        The scores of the calibration rows.
    weights_ : ndarray of shape (n,) or None
        Their weights.
    folds_ : ndarray of shape (n,)
        Which of ``models_`` scored them.
    models_ : list
        The models of each fold; none where leaving out has a closed form.
    fits_ : LeaveOneOutFits or None
        The closed form of the models without each row.
    categories_ : Categories or None
        The values of the column ``by``, and in ``category_codes_`` those of the calibration rows.
    certificate_ : Certificate
        That of the estimator, with the guarantee.

    See Also
    --------
    ConformalClassifier : Sets of labels.
    GaussianProcessRegressor : Intervals that are right if the model is.

    References
    ----------
    - J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani and L. Wasserman, Distribution-free predictive
      inference for regression, 2018.
    - R. Barber, E. Candès, A. Ramdas and R. Tibshirani, Predictive inference with the jackknife+,
      2021.
    - Y. Romano, E. Patterson and E. Candès, Conformalized quantile regression, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (200, 1))
    >>> y = 3 * X[:, 0] + rng.standard_normal(200)
    >>> model = sx.ConformalRegressor(sx.LinearRegression(), method="jackknife+").fit(X, y)
    >>> model.predict_interval([[5.0]], level=0.9).round(1)
    array([[13.4, 16.4]])
    >>> model.guarantee(0.9).at_least
    0.8
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        conformity: str = "absolute",
        cv: Any = 5,
        calibration: float = 0.25,
        by: Any = None,
        scale_estimator: Any = None,
        quantiles: tuple[float, float] = (0.05, 0.95),
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.conformity = conformity
        self.cv = cv
        self.calibration = calibration
        self.by = by
        self.scale_estimator = scale_estimator
        self.quantiles = quantiles
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit and calibrate by ``X`` and numbers ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        self._check_method()
        score = self._score()
        given = numbered_rows(self, X, y, sample_weight)
        rows = positive_rows(given)
        with warn_once():
            if self.method == "split":
                train, test = self._split(rows)
                part = rows.take(train)
                models = score.fit(self.estimator, part)
                found = self._calibrated(score, models, rows.take(test), test)
                model = self._center(score, models, part)
            else:
                model = fitted_to_numbers(self._plain_estimator(score), rows)
                found = self._left_out(score, model, rows, self._labels(given))
        return self._accept(rows, found, model)

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Calibrate an estimator that is fitted already, by rows that it was not fitted to."""
        self._check_method()
        score = self._score()
        check_is_fitted(self.estimator)
        if self.method != "split" or not isinstance(score, AbsoluteScore | NormalizedScore):
            raise InputError(
                "A model that is fitted already is calibrated by other rows: method='split'.",
                remedy="Use conformity='absolute' or 'normalized', or call fit.",
            )
        rows = positive_rows(numbered_rows(self, X, y, sample_weight))
        models = [self.estimator]
        found = self._calibrated(score, models, rows, np.arange(len(rows.y)))
        return self._accept(rows, found, self.estimator)

    def _score(self) -> NumberScore:
        return number_score(self.conformity, self.scale_estimator, self.quantiles)

    def _plain_estimator(self, score: NumberScore) -> Any:
        """What ``predict`` is by: of a model of quantiles, the median."""
        if not isinstance(score, QuantileScore):
            return self.estimator
        return clone(self.estimator).set_params(**{quantile_parameter(self.estimator): 0.5})

    def _center(self, score: NumberScore, models: list[Any], rows: LabeledRows) -> Any:
        if not isinstance(score, QuantileScore):
            return models[0]
        return fitted_to_numbers(self._plain_estimator(score), rows)

    def _calibrated(
        self, score: NumberScore, models: list[Any], part: LabeledRows, rows: Ints
    ) -> Calibrated:
        """Rows scored by one fit."""
        scores = score.anchors(models, part.x).scores(part.y)
        return Calibrated(scores, np.zeros(len(scores), dtype=np.int64), rows, [models])

    def _left_out(
        self, score: NumberScore, model: Any, rows: LabeledRows, labels: Ints
    ) -> Calibrated:
        """Rows scored by the fits without them: in closed form, or by one fit for each fold."""
        n = len(rows.y)
        every = np.arange(n)
        if self.method in JACKKNIFE and isinstance(score, AbsoluteScore):
            fits = closed_form(model, rows.x, rows.y, rows.w)
            if fits is not None:
                return Calibrated(np.abs(rows.y - fits.own), labels, every, [], fits)
        scores, models = np.empty(n), []
        for fold in range(int(labels.max()) + 1):
            test = np.flatnonzero(labels == fold)
            models.append(score.fit(self.estimator, self._without(rows, labels, fold)))
            part = rows.take(test)
            scores[test] = score.anchors(models[-1], part.x).scores(part.y)
        return Calibrated(scores, labels, every, models)

    # -- predictions ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """The prediction of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @on_one_blas_thread
    def predict_interval(self, X: Any, *, level: float = 0.9) -> Floats:
        """Lower and upper ends (m x 2) for every row; −∞ and ∞ where rows are too few."""
        check_is_fitted(self, "scores_")
        exact = checked_level(level)
        if hasattr(self.fits_, "changes") and self.method == "jackknife+" and self._plain:
            found = (
                self.fits_.changes(self.estimator_, part) for _, part in row_blocks(X, 1 << 14)
            )
            return np.concatenate([few_changes(a, i, b, self.scores_, exact) for a, i, b in found])
        size = BLOCK_NUMBERS // max(1, len(self.scores_)) + 1
        size = 1 << 16 if self.method == "split" else size
        parts = [self._intervals(part, exact) for _, part in row_blocks(X, size)]
        return np.concatenate(parts)

    @property
    def _plain(self) -> bool:
        """Whether all calibration rows count once, for every new row."""
        return self.weights_ is None and self.categories_ is None

    def _intervals(self, X: Any, level: Fraction) -> Floats:
        """Intervals of some rows, category by category."""
        count = 1 if self.categories_ is None else len(self.categories_.levels)
        score = self._score()
        if self.method == "split":
            anchors = score.anchors(self.models_[0], X)
            codes = self._category_codes(X, len(anchors.lower))
            q = category_quantiles(self.scores_, self.weights_, self.category_codes_, count, level)
            return by_quantile(anchors, q[codes])
        by_model = self._anchors_by_row(score, X)
        codes = self._category_codes(X, len(by_model.lower))
        if self.method == "jackknife-minmax":
            q = category_quantiles(self.scores_, self.weights_, self.category_codes_, count, level)
            reach = q[codes][:, None] * by_model.scale
        else:
            reach = self.scores_ * by_model.scale
        reach = np.broadcast_to(reach, by_model.lower.shape)
        ends = np.full((len(codes), 2), [-np.inf, np.inf])
        for c in range(count):
            rows, mine = np.flatnonzero(codes == c), np.flatnonzero(self.category_codes_ == c)
            if not len(rows):
                continue
            at = (slice(None), slice(None)) if self.categories_ is None else np.ix_(rows, mine)
            w = None if self.weights_ is None else self.weights_[mine]
            low, high = by_model.lower[at] - reach[at], by_model.upper[at] + reach[at]
            ends[rows] = tidy(*RULES[self.method](low, high, w, level))
        return ends

    def _anchors_by_row(self, score: NumberScore, X: Any) -> Anchors:
        """Anchors (m x n) of new rows by the model without each calibration row."""
        if self.fits_ is not None:
            found = self.fits_.at(self.estimator_, X)
            return Anchors(found, found, np.ones((1, 1)))
        parts = [score.anchors(models, X) for models in self.models_]
        lower = np.stack([part.lower for part in parts], axis=1)[:, self.folds_]
        upper = np.stack([part.upper for part in parts], axis=1)[:, self.folds_]
        return Anchors(lower, upper, np.stack([part.scale for part in parts], 1)[:, self.folds_])

    def coverage(
        self, X: Any, y: Any = None, *, level: float = 0.9, sample_weight: Any = None
    ) -> Coverage:
        """The proportion of new rows in their intervals, with its exact interval; by category."""
        rows = positive_rows(numbered_rows(self, X, y, sample_weight))
        low, high = self.predict_interval(rows.x, level=level).T
        inside = (rows.y >= low) & (rows.y <= high)
        named = None
        if self.categories_ is not None:
            codes = self.categories_.codes_of(rows.x)
            labels = np.array([*self.categories_.levels.tolist(), "others"], dtype=object)
            named = labels[codes]
        return coverage_of(float(level), inside, high - low, rows.w, named)

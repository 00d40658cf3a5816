"""Intervals with a guaranteed coverage, over any regression model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints
from separatrix.conformal.base import (
    BLOCK_NUMBERS,
    JACKKNIFE,
    ConformalModel,
    ConformityScores,
    Coverage,
    category_quantiles,
    check_level,
    coverage_of,
    needed_rank,
    positive_rows,
    row_blocks,
    shifted_quantiles,
    upper_quantile,
    upper_quantiles,
)
from separatrix.estimators.wrapped import LabeledRows, fit_to_numbers, numbered_rows, warn_once
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula, concat
from separatrix.messages import InputError, check_option
from separatrix.mixins import RegressorMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import unit_weights
from separatrix.selection.leave_one_out import LeaveOneOutFits, affine_fits, leave_one_out_fits
from separatrix.threads import on_one_blas_thread, parallel_map, pieces

NO_INTERVALS = (
    "The intervals are not part of the export: they need a model for each fold or row left out; "
    "those of method='split' are."
)


@declare_parameters
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
        "cv+" and "cross-conformal" leave out folds; the second is never wider. Copies of a row,
        where chance does not explain them (SEP009), and the w rows that a weight stands for are on
        one side of a split, in one fold, and left out together.
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

    estimator: Any
    _: KW_ONLY
    method: str = "split"
    conformity: str = "absolute"
    cv: Any = 5
    calibration: float = 0.25
    by: Any = None
    scale_estimator: Any = None
    quantiles: tuple[float, float] = (0.05, 0.95)
    random_state: Any = 0

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
                conformity_scores = self._calibrate_score(score, models, rows.take(test), test)
                model = self._center(score, models, part)
            else:
                model = fit_to_numbers(self._plain_estimator(score), rows)
                conformity_scores = self._left_out(score, model, rows, self._labels(given))
        return self._accept(rows, conformity_scores, model)

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
        conformity_scores = self._calibrate_score(score, models, rows, np.arange(len(rows.y)))
        return self._accept(rows, conformity_scores, self.estimator)

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
        return fit_to_numbers(self._plain_estimator(score), rows)

    def _calibrate_score(
        self, score: NumberScore, models: list[Any], part: LabeledRows, rows: Ints
    ) -> ConformityScores:
        """Rows scored by one fit."""
        scores = score.anchors(models, part.x).scores(part.y)
        return ConformityScores(scores, np.zeros(len(scores), dtype=np.int64), rows, [models])

    def _left_out(
        self, score: NumberScore, model: Any, rows: LabeledRows, labels: Ints
    ) -> ConformityScores:
        """Rows scored by the fits without them: in closed form, or by one fit for each fold."""
        n = len(rows.y)
        every = np.arange(n)
        if self.method in JACKKNIFE and isinstance(score, AbsoluteScore):
            fits = closed_form(model, rows.x, rows.y, rows.w, labels)
            if fits is not None:
                return ConformityScores(np.abs(rows.y - fits.own), labels, every, [], fits)
        scores, models = np.empty(n), []
        for fold in range(int(labels.max()) + 1):
            test = np.flatnonzero(labels == fold)
            models.append(score.fit(self.estimator, rows.take(np.flatnonzero(labels != fold))))
            part = rows.take(test)
            scores[test] = score.anchors(models[-1], part.x).scores(part.y)
        return ConformityScores(scores, labels, every, models)

    # -- predictions ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """The prediction of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @on_one_blas_thread
    def predict_interval(self, X: Any, *, level: float = 0.9) -> Floats:
        """Lower and upper ends (m x 2) for every row; −∞ and ∞ where rows are too few."""
        check_is_fitted(self, "scores_")
        exact = check_level(level)
        if hasattr(self.fits_, "changes") and self.method == "jackknife+" and self._plain:
            changes = (
                self.fits_.changes(self.estimator_, part) for _, part in row_blocks(X, 1 << 14)
            )
            return np.concatenate(
                [few_changes(a, i, b, self.scores_, exact) for a, i, b in changes]
            )
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
            anchors = self.fits_.at(self.estimator_, X)
            return Anchors(anchors, anchors, np.ones((1, 1)))
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

    def formula(self) -> nodes.NumberFormula:
        """The prediction of the model inside, and its conformal interval by ``method="split"``."""
        inner = nodes.number_formula_of(self.estimator_)
        plain = replace(inner, deviation=None, interval=None, notes=())
        if self.method != "split" or self.categories_ is not None:
            return replace(plain, notes=(NO_INTERVALS,))
        lower, upper, scale = self._anchor_nodes()
        interval = ConformalInterval(lower, upper, scale, self.scores_, self.weights_)
        return replace(plain, interval=interval)

    def _anchor_nodes(self) -> tuple[nodes.Node, nodes.Node, nodes.Node | None]:
        """a(x), b(x) and s(x), which is None for 1."""
        models = self.models_[0]
        first = nodes.number_formula_of(models[0])
        if isinstance(self._score(), QuantileScore):
            second = nodes.number_formula_of(models[1])
            return first.mean, second.mean, None
        if self.conformity == "absolute":
            return first.mean, first.mean, None
        if len(models) > 1:
            scale = nodes.AtLeast(nodes.number_formula_of(models[1]).mean, float(models[2]))
        elif first.deviation is None:
            raise NoFormula(
                "Intervals in units of a standard deviation, and the model's has no export."
            )
        else:
            scale = nodes.AtLeast(first.deviation, float(np.finfo(float).tiny))
        return first.mean, first.mean, scale


# -------------------------------------------------------------------------------------------------
# Scores of numbers: how far a target is from what a model expected, in units that it may choose.
#
# R = max(a(x) − y, y − b(x)) / s(x),     so that  R ≤ q  is  y ∈ [a(x) − q s(x), b(x) + q s(x)]
#
# absolute     a = b = ŷ(x),  s = 1
# normalized   a = b = ŷ(x),  s = the model's own standard deviation, or a model of |y − ŷ|
# quantile     a, b = two conditional quantiles,  s = 1


SCORES = ("absolute", "normalized", "quantile")


@dataclass(frozen=True)
class Anchors:
    """a(x), b(x) and s(x) of some rows."""

    lower: Floats
    upper: Floats
    scale: Floats

    def scores(self, y: Floats) -> Floats:
        """R of targets of the same rows."""
        return np.asarray(np.maximum(self.lower - y, y - self.upper) / self.scale)


class NumberScore(Protocol):
    """A score: the models that it needs, fitted to rows, and what they say about others."""

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The models, fitted to the rows."""

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """a, b and s of new rows."""


def around(mean: Any) -> Anchors:
    """Anchors at a prediction, with a scale of one."""
    center = np.asarray(mean, dtype=float)
    return Anchors(center, center, np.ones(len(center)))


class AbsoluteScore:
    """|y − ŷ(x)|."""

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The model itself."""
        return [fit_to_numbers(estimator, rows)]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The prediction."""
        return around(np.ravel(models[0].predict(X)))


@dataclass(frozen=True)
class NormalizedScore:
    """|y − ŷ(x)| / s(x), with the model's own s, or with a second model of |y − ŷ|."""

    scale_estimator: Any = None

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The model, and that of the size of its residuals on the same rows."""
        model = fit_to_numbers(estimator, rows)
        if self.scale_estimator is None:
            return [model]
        size = np.abs(rows.y - np.ravel(model.predict(rows.x)))
        # The least scale, relative to the mean absolute residual: a model of it may say zero or
        # less.
        least = 1e-3 * float(np.average(size, weights=rows.w))
        if not isinstance(rows.x, np.ndarray) and hasattr(rows.x, "schema"):
            raise InputError(
                "A scale_estimator is fitted to X and |y − ŷ|, and a table was given.",
                remedy="Give X and y, or a model with a standard deviation of its own.",
            )
        scale = fit_to_numbers(self.scale_estimator, LabeledRows(rows.x, size, rows.w))
        return [model, scale, least if least > 0.0 else 1.0]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The prediction, and the size of residuals that is expected there."""
        if len(models) == 1:
            return Anchors(*_with_deviation(models[0], X))
        center = np.ravel(np.asarray(models[0].predict(X), dtype=float))
        scale = np.ravel(np.asarray(models[1].predict(X), dtype=float))
        return Anchors(center, center, np.maximum(scale, models[2]))


def _with_deviation(model: Any, X: Any) -> tuple[Floats, Floats, Floats]:
    """ŷ twice, and the model's own standard deviation."""
    if hasattr(model, "predictive"):
        predictive_distribution = model.predictive(X)
        mean, deviation = predictive_distribution.mean, predictive_distribution.scale
    else:
        try:
            mean, deviation = model.predict(X, return_std=True)
        except TypeError as problem:
            raise InputError(
                f"{type(model).__name__} has no standard deviation of its own.",
                remedy="Give scale_estimator, a regression model of |y − ŷ|.",
            ) from problem
    mean = np.ravel(np.asarray(mean, dtype=float))
    deviation = np.ravel(np.asarray(deviation, dtype=float))
    return mean, mean, np.maximum(deviation, np.finfo(float).tiny)


@dataclass(frozen=True)
class QuantileScore:
    """Max(a(x) − y, y − b(x)) with a and b models of two conditional quantiles."""

    quantiles: tuple[float, float]

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The estimator at the two quantiles."""
        name = quantile_parameter(estimator)
        return [
            fit_to_numbers(clone(estimator).set_params(**{name: q}), rows) for q in self.quantiles
        ]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The two quantiles, in order where they cross."""
        low, high = (np.ravel(np.asarray(model.predict(X), dtype=float)) for model in models)
        return Anchors(np.minimum(low, high), np.maximum(low, high), np.ones(len(low)))


def quantile_parameter(estimator: Any) -> str:
    """The parameter of an estimator that names its quantile: ``quantile``, else ``alpha``."""
    parameters = estimator.get_params(deep=False)
    if "quantile" in parameters:
        return "quantile"
    if parameters.get("loss") == "quantile" and "alpha" in parameters:
        return "alpha"
    raise InputError(
        f"{type(estimator).__name__} has no parameter for a quantile.",
        remedy="Give a model of conditional quantiles, as QuantileRegressor.",
    )


def number_score(score: str, scale_estimator: Any, quantiles: Any) -> NumberScore:
    """The score by its name."""
    check_option("conformity", score, SCORES)
    if score == "absolute":
        return AbsoluteScore()
    if score == "normalized":
        return NormalizedScore(scale_estimator)
    low, high = (float(q) for q in quantiles)
    if not 0.0 < low < high < 1.0:
        raise InputError(f"quantiles={quantiles!r} must be two numbers, 0 < low < high < 1.")
    return QuantileScore((low, high))


# -------------------------------------------------------------------------------------------------
# From calibration scores to intervals: by one quantile, or by one model for each row left out.
#
#     split          [a(x) − q s(x), b(x) + q s(x)]
#     jackknife+     quantiles of a₋ᵢ(x) − Rᵢ s₋ᵢ(x) and of b₋ᵢ(x) + Rᵢ s₋ᵢ(x) over the rows i
#     minmax         from the least a₋ᵢ(x) − q s₋ᵢ(x) to the largest b₋ᵢ(x) + q s₋ᵢ(x)
#     cross          the hull of all y within Rᵢ of ŷ₋ᵢ(x) for more than α (n + 1) − 1 rows i
#
# cv+ is jackknife+ with folds in place of rows.


#: Ends of intervals with and against the order of numbers.
Ends = tuple[Floats, Floats]


def tidy(lower: Floats, upper: Floats) -> Floats:
    """Intervals (m x 2); one that is empty shrinks to its middle."""
    crossed = lower > upper
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (lower + upper)
    return np.stack([np.where(crossed, middle, lower), np.where(crossed, middle, upper)], axis=1)


def by_quantile(anchors: Anchors, q: Floats) -> Floats:
    """Intervals about the anchors, with the quantile of each row's category."""
    with np.errstate(invalid="ignore"):
        reach = np.where(np.isinf(q), np.inf, q * anchors.scale)
    return tidy(anchors.lower - reach, anchors.upper + reach)


def jackknife_plus(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """Quantiles of the ends (m x n) that the rows left out give, which are overwritten."""

    def ends(rows: slice) -> Ends:
        low = np.negative(lower[rows], out=lower[rows])
        return -upper_quantiles(low, w, level), upper_quantiles(upper[rows], w, level)

    parts = parallel_map(ends, pieces(len(lower), 16))
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def minmax(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """The least and the largest end; the ends have one quantile for all rows."""
    del w, level
    return lower.min(axis=1), upper.max(axis=1)


def cross_conformal(lower: Floats, upper: Floats, w: Floats | None, level: Fraction) -> Ends:
    """The hull of all y in enough of the n intervals (m x n) of each row."""
    m, n = lower.shape
    weights = np.ones(n) if w is None else w
    total = float(weights.sum())
    needed = total + 1.0 - needed_rank(level, total)  # ⌊α (n + 1)⌋ of whole weights
    if needed < 1.0:
        return np.full(m, -np.inf), np.full(m, np.inf)
    events = np.concatenate([lower, upper], axis=1)
    order = np.argsort(events, axis=1, kind="stable")  # of equals, beginnings first
    steps = np.concatenate([weights, -weights])[order]
    inside = np.cumsum(steps, axis=1) >= needed * (1.0 - 1e-12)
    rows, places = np.arange(m), np.take_along_axis(events, order, axis=1)
    first = inside.argmax(axis=1)
    last = 2 * n - 1 - inside[:, ::-1].argmax(axis=1)  # the event after it ends the last piece
    low, high = places[rows, first], places[rows, np.minimum(last + 1, 2 * n - 1)]
    middle = np.median(places, axis=1)
    none = ~inside.any(axis=1)
    return np.where(none, middle, low), np.where(none, middle, high)


#: Rules for the ends that all rows left out give.
RULES: dict[str, Callable[[Floats, Floats, Floats | None, Fraction], Ends]] = {
    "cv+": jackknife_plus,
    "jackknife+": jackknife_plus,
    "jackknife-minmax": minmax,
    "cross-conformal": cross_conformal,
}


def few_changes(
    base: Floats, indices: Ints, changed: Floats, scores: Floats, level: Fraction
) -> Floats:
    """Jackknife+ where all but a few models agree about a row: (m x 2) in O(k log k) a row."""
    n = len(scores)
    rank = int(needed_rank(level, n))
    if rank > n:
        return np.tile([-np.inf, np.inf], (len(base), 1))
    order = np.argsort(scores, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    ordered = scores[order]
    upper = shifted_quantiles(base, indices, changed, ordered, place, rank)
    lower = -shifted_quantiles(-base, indices, -changed, ordered, place, rank)
    return tidy(lower, upper)


# -------------------------------------------------------------------------------------------------
# Fits without each row in closed form: those a model knows itself, and scikit-learn's lines.


#: Solvers of scikit-learn's ridge regression whose answers are exact.
EXACT = ("auto", "svd", "cholesky")


def closed_form(
    model: Any, X: Any, y: Floats, w: Floats | None, units: Ints
) -> LeaveOneOutFits | None:
    """The fits of a model without each of its rows; None where only refits give them."""
    if type(model) not in (LinearRegression, Ridge):
        return leave_one_out_fits(model, X, y, w, units)
    penalty = getattr(model, "alpha", 0.0)
    refused = model.positive or np.ndim(penalty) or np.ndim(model.coef_) != 1
    if refused or getattr(model, "solver", "auto") not in EXACT:
        return None
    if isinstance(X, Rows) or sparse.issparse(X):
        return None
    x = np.asarray(X, dtype=float)
    return affine_fits(model, x, y, unit_weights(w, len(y)), float(penalty), units)


@dataclass(frozen=True, eq=False)
class ConformalInterval(nodes.Node):
    """[a − q s, b + q s] with q the quantile of calibration scores at the level asked for.

    a and b are the lesser and the greater of two numbers; an empty interval is its middle.
    """

    one: nodes.Node
    other: nodes.Node
    scale: nodes.Node | None
    scores: Floats
    weights: Floats | None
    stage: ClassVar[str] = "intervals"

    def compute(self, of: nodes.Evaluation) -> Any:
        """The ends (n x 2)."""
        one, other = of(self.one), of(self.other)
        q = float(upper_quantile(self.scores, self.weights, check_level(of.level)))
        lower, upper = one, other
        if self.one is not self.other:
            lower, upper = one.apply("Min", other), one.apply("Max", other)
        if np.isinf(q):
            return concat([lower.fill(-np.inf, 1), upper.fill(np.inf, 1)])
        reach = q if self.scale is None else of(self.scale) * q
        low, high = lower - reach, upper + reach
        if q >= 0.0:
            return concat([low, high])
        middle, empty = (low + high) * 0.5, low > high
        return concat([empty.where(middle, low), empty.where(middle, high)])

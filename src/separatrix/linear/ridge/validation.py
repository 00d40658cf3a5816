"""Errors and scores of a ridge path on rows that were left out, one by one or in folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from separatrix.estimators.additive import Source, TrainingData
from separatrix.linear.ridge.implicit import by_products
from separatrix.linear.ridge.leave_one_out import LeaveOneOut
from separatrix.linear.ridge.row_spectrum import fold_predictions
from separatrix.linear.ridge.spectrum import RidgeOptions, RidgeTrace
from separatrix.linear.ridge.trace import path_coefs
from separatrix.linear.ridge.wide import CenteredRows
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.copies import merge_copies
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.selection import rules
from separatrix.selection.folds import folding
from separatrix.statistics.moments import Moments
from separatrix.threads import parallel_map

#: Rows from which leave-one-out errors average over the rounding of float32.
MANY_ROWS = 50_000
#: scikit-learn's scores that squared errors determine, from (MSE, variance of the test rows).
FROM_SQUARES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "neg_mean_squared_error": lambda mse, _: -mse,
    "neg_root_mean_squared_error": lambda mse, _: -np.sqrt(mse),
    "r2": lambda mse, variance: _r_squared(mse, variance),
}


@dataclass(frozen=True)
class FoldErrors:
    """Mean squared errors ``mse`` and ``scores`` of the test rows (m x folds, mean of targets)."""

    mse: Floats
    scores: Floats


class FixedRegressor(RegressorMixin, BaseEstimator):
    """Predictions with coefficients that are known, for scorers; None predicts X itself."""

    def __init__(self, coef: Any = None, intercept: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept

    def fit(self, X: Any, y: Any = None) -> FixedRegressor:  # noqa: ARG002
        """Nothing is learned."""
        return self

    def predict(self, X: Any) -> Any:
        """coef·x + intercept."""
        return X if self.coef is None else X @ self.coef + self.intercept

    def __sklearn_is_fitted__(self) -> bool:
        return True


def leave_one_out_errors(path: RidgeTrace, rows: Rows, *, fit_intercept: bool) -> Floats:
    """Mean squared errors of rows left out (m x k).

    Copies are left out together, unless the rows are a stream. In float32 where that cannot
    matter: many rows, and residuals that are not tiny.
    """
    s = path.spectrum
    source = rows.rows if isinstance(rows, EncodedRows) else rows
    if path.coordinates is not None or isinstance(source, InMemory):
        block = rows.collect()
        if path.coordinates is not None or _nearly_square(block):
            errors = left_out_residuals(path, block, fit_intercept=fit_intercept)
            return np.asarray(np.average(errors**2, axis=0, weights=block.w).T)
        distinct, which = merge_copies(block)
        if which is not None:
            rows = InMemory(rows.schema, distinct)
    unexplained = float(np.min(s.rss(path.alphas).sum(axis=1) / max(s.yy.sum(), 1e-300)))
    if s.weight >= MANY_ROWS and unexplained > 1e-3:
        single = rows.reduce(_statistic(path, fit_intercept, np.float32))
        if single.least > 1e-2:  # no row has a leverage close to 1
            return np.asarray(single.total.T / s.weight)
    double = rows.reduce(_statistic(path, fit_intercept, np.float64))
    return np.asarray(double.total.T / s.weight)


def left_out_residuals(path: RidgeTrace, block: Block, *, fit_intercept: bool) -> Floats:
    """y − prediction by the rows that differ, by row, target and penalty (n x k x m)."""
    distinct, which = merge_copies(block)
    u, statistic = path.coordinates, None
    if u is None:
        statistic = _statistic(path, fit_intercept, np.float64)
        if _nearly_square(block):
            u = np.zeros((block.n, len(path.spectrum.values)))
            nonzero = path.spectrum.values > path.spectrum.floor
            u[:, nonzero] = (block.dense() - statistic.x_mean) @ statistic.rotation
    if u is not None:
        w = distinct.weights if which is None else distinct.weights[which]
        independent = int(np.count_nonzero(distinct.weights))
        return _from_coordinates(path, block.y, w, u, independent, fit_intercept=fit_intercept)
    assert statistic is not None
    found = np.empty((distinct.n, block.y.shape[1], len(path.alphas)))
    for rows, k, error in statistic.errors(distinct):
        found[rows, k] = error
    return found if which is None else found[which]


def _nearly_square(block: Block) -> bool:
    """Whether the rows may be independent of one another: no more than one beyond the columns."""
    return bool(block.n <= block.x.shape[1] + 1)


def _from_coordinates(
    path: RidgeTrace, y: Floats, w: Floats, u: Floats, distinct: int, *, fit_intercept: bool
) -> Floats:
    """The same from the coordinates of the rows, which are not read again.

    ``w`` is the weight of each row with all its copies. Where the distinct rows are independent the
    fit could reach every target: residual and 1 − w h are both multiples of α, which cancels,

        e₍ᵢ₎ = Σⱼ uᵢⱼ cⱼ/(λⱼ + α) / (w Σⱼ uᵢⱼ²/(λⱼ + α))
    """
    s = path.spectrum
    nonzero, most = s.values > s.floor, distinct - int(fit_intercept)
    if np.count_nonzero(nonzero) > most:  # the direction of the mean, left by rounding
        nonzero[np.argsort(s.values)[: len(s.values) - most]] = False
    u, inverse = u[:, nonzero], s.inverse_eigenvalues(path.alphas)[nonzero]
    shrink = s.values[nonzero, None] * inverse
    cross = s.cross[nonzero] / np.sqrt(s.values[nonzero])[:, None]
    rest = 1.0 - w[:, None] * ((1.0 / s.weight if fit_intercept else 0.0) + u**2 @ shrink)
    fitted = np.einsum("nr,rm,rk->nkm", u, shrink, cross, optimize=True)
    errors = ((y - s.y_mean)[:, :, None] - fitted) / np.maximum(rest, 1e-12)[:, None]
    if np.count_nonzero(nonzero) == most:
        counted = w > 0.0
        u, w = u[counted], w[counted]
        residual = np.einsum("nr,rm,rk->nkm", u, inverse, cross, optimize=True)
        errors[counted] = residual / (w[:, None] * (u**2 @ inverse))[:, None]
    return np.asarray(errors)


def _statistic(path: RidgeTrace, fit_intercept: bool, precision: Any) -> LeaveOneOut:
    s = path.spectrum
    assert s.directions is not None
    nonzero = s.values > s.floor
    root = np.sqrt(s.values[nonzero])
    return LeaveOneOut(
        s.directions[:, nonzero] / s.scale[:, None] / root,
        (s.values[:, None] * s.inverse_eigenvalues(path.alphas))[nonzero],
        s.cross[nonzero] / root[:, None],
        s.x_mean,
        s.y_mean,
        1.0 / s.weight if fit_intercept else 0.0,
        precision,
    )


def fold_errors(
    folds: Sequence[tuple[Source, Source]], alphas: Floats, options: RidgeOptions, scoring: Any
) -> FoldErrors:
    """Errors by fold, and the scores that follow from them."""
    errors, variances = [], []
    for train, test in folds:
        coefs, intercepts = path_coefs(train, alphas, options)
        errors.append(
            [
                rules.validation_error(test, coefs[:, :, k], intercepts[:, k], k)
                for k in range(coefs.shape[2])
            ]
        )
        variances.append(_variances(test))
    mse, variance = np.moveaxis(np.array(errors), 2, 0), np.array(variances)  # m x folds x k
    return _with_scores(mse, variance, scoring)


def wide_fold_errors(
    data: TrainingData, cv: Any, alphas: Floats, options: RidgeOptions, scoring: Any
) -> FoldErrors:
    """The same for few rows of many columns, all folds from one n x n matrix."""
    assert data.block is not None
    whole = data.block.take(folding(data.block.w, cv))
    pairs = data.row_folds(cv)[1].pairs
    gram = CenteredRows.of(whole, options.fit_intercept, False).unweighted_gram()

    def errors(fold: tuple[Ints, Ints]) -> tuple[Floats, Floats]:
        found = fold_predictions(
            gram, whole.y, whole.weights, fold, alphas, fit_intercept=options.fit_intercept
        )
        test = whole.take(fold[1])
        squares = (test.y[:, None, :] - found) ** 2
        return np.average(squares, axis=0, weights=test.w), _variances(test)

    found = parallel_map(errors, pairs)
    mse = np.stack([error for error, _ in found], axis=1)
    return _with_scores(mse, np.array([variance for _, variance in found]), scoring)


def _with_scores(mse: Floats, variance: Floats, scoring: Any) -> FoldErrors:
    """The scores that follow from errors (m x folds x k) and variances of test rows."""
    if scoring is None:  # R² of a fold with a constant target is not defined
        scoring = "r2" if variance.all() else "neg_mean_squared_error"
    scores = FROM_SQUARES[scoring](mse, variance)
    return FoldErrors(mse.mean(axis=2), scores.mean(axis=2))


def fold_scores(
    data: TrainingData,
    cv: Any,
    alphas: Floats,
    options: RidgeOptions,
    scorer: Callable[..., float],
    arguments: Mapping[str, Any],
) -> FoldErrors:
    """Errors by fold, and what a scorer makes of the predictions for the test rows."""
    errors, scores = [], []
    for train, test in data.folds(cv):
        assert isinstance(train, Block)
        assert isinstance(test, Block)
        coefs, intercepts = path_coefs(_smaller(train), alphas, options)
        own = dict(arguments) if test.w is None else {**arguments, "sample_weight": test.w}
        y, one = (test.y[:, 0], 0) if test.y.shape[1] == 1 else (test.y, slice(None))
        mse, score = np.empty(len(alphas)), np.empty(len(alphas))
        for i, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            model = FixedRegressor(coef[:, one], intercept[one])
            mse[i] = np.average((y - model.predict(test.x)) ** 2, axis=0, weights=test.w).mean()
            score[i] = scorer(model, test.x, y, **own)
        errors.append(mse)
        scores.append(score)
    return FoldErrors(np.stack(errors, axis=1), np.stack(scores, axis=1))


def _smaller(block: Block) -> Source:
    """The moments of rows that outnumber their columns."""
    if block.n <= block.x.shape[1] or by_products(block):
        return block
    return ArrayRows(block.x, block.y, block.w, targets=list(block.targets)).reduce(Moments())


def _variances(test: Source) -> Floats:
    """Variance of each target in the test rows."""
    if isinstance(test, Moments):
        return np.asarray(np.diag(test.yy) / test.weight)
    mean = np.average(test.y, axis=0, weights=test.w)
    return np.asarray(np.average((test.y - mean) ** 2, axis=0, weights=test.w))


def _r_squared(mse: Floats, variance: Floats) -> Floats:
    """1 − MSE/variance; for a constant target 1 where the fit is exact, else 0."""
    constant = np.where(mse > 0.0, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0.0, 1.0 - mse / variance, constant)

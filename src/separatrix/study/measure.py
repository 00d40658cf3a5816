"""Scores on the test set with 95 % intervals.

Regression: percentile bootstrap (seeded). Proportions: Wilson's interval. Area under the ROC curve:
DeLong's variance, from the placement values of each class among the other.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from separatrix.arrays import Floats, NDArray
from separatrix.probability.reliability import effective_size, wilson
from separatrix.rows.schema import unit_weights
from separatrix.statistics.moments import Moments
from separatrix.study.result import Score

Z95 = float(stats.norm.isf(0.025))
#: Metrics that are larger for better models: their losses are one minus them.
LARGER_IS_BETTER = ("auc", "f1", "r2")
RESAMPLES = 1000
#: Rows are resampled in at most so many groups, formed at random: the cost does not grow with n.
GROUPS = 2000


def regression_scores(
    truth: Floats, predicted: Floats, weight: Floats | None, seed: int
) -> tuple[Score, ...]:
    """RMSE, R² = 1 − Σe²/Σ(y − ȳ)², MAE."""
    w = unit_weights(weight, len(truth))
    error = truth - predicted
    center = np.average(truth, weights=w)  # shifts y before squaring: no digits are lost
    y = truth - center
    sums = np.stack([w, w * error**2, w * np.abs(error), w * y, w * y**2], axis=1)
    point = _from_sums(sums.sum(axis=0)[None])
    drawn = _from_sums(resample(sums, seed))
    low, high = np.nanpercentile(drawn, [2.5, 97.5], axis=0)
    names = ("rmse", "r2", "mae")
    return tuple(
        Score(name, float(v), float(a), float(b))
        for name, v, a, b in zip(names, point[0], low, high, strict=True)
    )


def resample(sums: Floats, seed: int) -> Floats:
    """Sums over resampled rows, from their terms row by row."""
    rng = np.random.default_rng(seed)
    n = len(sums)
    if n > GROUPS:
        group = rng.permutation(n) * GROUPS // n
        sums = np.stack([np.bincount(group, column, GROUPS) for column in sums.T], axis=1)
    counts = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=RESAMPLES)
    return np.asarray(counts @ sums)


def _from_sums(sums: Floats) -> Floats:
    w, squares, absolute, y, yy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        total = yy - y**2 / w
        r2 = np.where(total > 0, 1.0 - squares / total, np.nan)
        return np.stack([np.sqrt(squares / w), r2, absolute / w], axis=1)


def scores_from_moments(test: Moments, mse: float) -> tuple[Score, ...]:
    """RMSE and R² from moments; the intervals assume normal errors.

    n·MSE/σ² is then χ² with n degrees of freedom; R² inherits the interval of its numerator.
    """
    n = test.weight
    spread = float(test.yy[0, 0]) / n
    low, high = (float(mse * n / stats.chi2.ppf(q, n)) for q in (0.975, 0.025))
    rmse = Score("rmse", mse**0.5, low**0.5, high**0.5)
    if spread <= 0:
        return (rmse,)
    return rmse, Score("r2", 1 - mse / spread, 1 - high / spread, 1 - low / spread)


def row_losses(metric: str, truth: Floats, predicted: Floats, w: Floats) -> Floats:
    """Values by row whose weighted mean is the loss of a regression model; smaller is better.

    For "rmse" they are squared errors, whose mean is RMSE² (:func:`metric_value` takes the root:
    the order of models is that of their mean squared errors). For "mae" they are absolute errors.
    For "r2" their mean is L = 1 − R² = Σe² / Σ(y − ȳ)², each being L plus the influence of its row,
    (e² − L (y − ȳ)²) W / Σ(y − ȳ)²; NaN where the target does not vary.
    """
    error = truth - predicted
    if metric == "mae":
        return np.asarray(np.abs(error))
    squares = np.asarray(error**2)
    if metric == "rmse":
        return squares
    spread = (truth - average(truth, w)) ** 2
    total = w @ spread
    if total <= 0:
        return np.full(len(truth), np.nan)
    loss = w @ squares / total
    return np.asarray(loss + (squares - loss * spread) * w.sum() / total)


def metric_value(metric: str, losses: Floats, w: Floats) -> float:
    """A metric of classes or numbers from its losses by row."""
    mean = average(losses, w)
    if metric == "rmse":
        return float(np.sqrt(mean))
    return 1.0 - mean if metric in LARGER_IS_BETTER else mean


def average(values: Floats, w: Floats) -> float:
    """The weighted mean."""
    return float(np.average(values, weights=w))


def standard_error(values: Floats, w: Floats) -> float:
    """The standard error of the weighted mean; of differences of losses for a paired comparison."""
    mean = average(values, w)
    variance = average((values - mean) ** 2, w)
    return float((variance / max(effective_size(w) - 1, 1)) ** 0.5)


def mean_score(metric: str, values: Floats, w: Floats) -> Score:
    """A mean with its normal interval, never below zero if no value is."""
    mean, half = average(values, w), Z95 * standard_error(values, w)
    low = max(0.0, mean - half) if values.min() >= 0 else mean - half
    return Score(metric, mean, low, mean + half)


def rate_score(metric: str, values: Floats, w: Floats) -> Score:
    """A mean of influences with its normal interval, within [0, 1]."""
    mean, half = average(values, w), Z95 * standard_error(values, w)
    return Score(metric, mean, max(0.0, mean - half), min(1.0, mean + half))


def proportion_score(metric: str, hit: NDArray[np.bool_], w: Floats) -> Score:
    """A proportion with Wilson's interval."""
    proportion = float(w @ hit / w.sum())
    return Score(metric, proportion, *wilson(proportion, effective_size(w)).tolist())


def auc_score(positive: NDArray[np.bool_], score: Floats, w: Floats) -> Score:
    """AUC: the proportion of pairs in the right order, ties counting one half; DeLong's interval.

    NaN where there are rows of one class alone.
    """
    mine, others = positive & (w > 0), ~positive & (w > 0)
    if not mine.any() or not others.any():
        return Score("auc", np.nan, np.nan, np.nan)
    up, down, w_up, w_down = score[mine], score[others], w[mine], w[others]
    up_placement = placements(up, down, w_down)
    down_placement = 1.0 - placements(down, up, w_up)
    area = average(up_placement, w_up)
    variance = sum(
        average((place - area) ** 2, weights) / max(effective_size(weights) - 1, 1)
        for place, weights in ((up_placement, w_up), (down_placement, w_down))
    )
    if variance == 0.0 and area in (0.0, 1.0):  # every pair in order, on so few rows
        return Score("auc", area, *wilson(area, min(map(effective_size, (w_up, w_down)))).tolist())
    half = Z95 * variance**0.5
    return Score("auc", area, max(0.0, area - half), min(1.0, area + half))


def placements(values: Floats, others: Floats, w: Floats) -> Floats:
    """The proportion of ``others`` below each value, half of those that equal it."""
    order = np.argsort(others)
    cumulative = np.append(0.0, np.cumsum(w[order]))
    ranked = others[order]
    below, upto = (cumulative[np.searchsorted(ranked, values, side)] for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * cumulative[-1]))

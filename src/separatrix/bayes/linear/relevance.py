"""Evidence maximized over a precision for every column (automatic relevance determination).

    y = X b + ε,    bⱼ ~ N(0, λⱼ⁻¹),    ε ~ N(0, α⁻¹)

    log p(y | α, λ) as a function of one λ:   ½ [log λ − log(λ + s) + q²/(λ + s)] + const.

Its maximum is s²/(q² − s) where q² > s and infinite otherwise: a column that explains less than
chance leaves the model (Tipping and Faul, 2003). Columns are changed one at a time, the one with
the most to gain first, then in turn; the last digits come from Newton's method on all logarithms at
once. Many columns are searched by working sets: those in the model and those with the most to gain,
until none outside has any. Gamma hyperpriors add λ₁ log λ − λ₂ λ to every such function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, isinf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.bayes.linear.relevance_fit import Fit, Rates, derivatives, score
from separatrix.bayes.linear.relevance_state import RelevanceState, UnitColumns
from separatrix.rows.block import Floats

#: Rounds of sweeps over the columns and Newton's method; sweeps in a round; Newton steps.
ROUNDS, SWEEPS, NEWTON = 12, 30, 25
#: Change of log λ in a sweep below which Newton's method takes over; its last step.
SMALL, TINY = 1e-3, 1e-11
#: Columns up to which a search has all of them, and starts from all of them, too.
FEW = 500
#: Working sets, columns that each may add, and the gain that is worth another.
SETS, MOST_NEW, LEAST_GAIN = 60, 100, 1e-9
#: A column of which the others leave less than this part is a copy of them.
COPY = 1e-11


@dataclass(frozen=True)
class Relevance:
    """Precisions of noise and columns (infinite: left out), their score and its history."""

    alpha: float
    lam: Floats
    score: float
    history: tuple[float, ...]
    steps: int


def maximize_relevance(columns: UnitColumns, rates: Rates) -> Relevance:
    """The best of two searches: from no column at all, and from all of them if they are few."""
    d, copies = len(columns.xy), columns.copies(rates.threshold)
    # the evidence does not say how copies divide a coefficient: the first has all of it
    rates = replace(rates, threshold=np.where(copies, 0.0, rates.threshold))
    alpha = (columns.weight + 2.0 * rates.alpha_1) / (columns.yy + 2.0 * rates.alpha_2)
    if columns.gram is None or d > FEW:
        return _by_working_sets(columns, rates, alpha)
    starts = [np.full(d, np.inf)]
    if d <= columns.weight:
        starts.append(np.where(copies, np.inf, float(d)))
    found = [_search(RelevanceState(columns, alpha, lam), rates) for lam in starts]
    return max(found, key=lambda r: r.score)


def _by_working_sets(columns: UnitColumns, rates: Rates, alpha: float) -> Relevance:
    """Searches over some columns, each from where the last one ended."""
    lam = np.full(len(columns.xy), np.inf)
    found, exact = Relevance(alpha, lam, score(columns, rates, alpha, lam), (), 0), False
    for _ in range(SETS):
        new = _candidates(columns, rates, found)
        if not len(new) and exact:
            break
        exact = not len(new)
        index = np.union1d(np.flatnonzero(np.isfinite(lam)), new)
        start = RelevanceState(columns.subset(index), found.alpha, lam[index])
        own = (_search if exact else _approach)(start, rates.subset(index))
        lam[:] = np.inf
        lam[index] = own.lam
        history, steps = found.history + own.history, found.steps + own.steps
        found = Relevance(own.alpha, lam, own.score, history, steps)
    return found


def _candidates(columns: UnitColumns, rates: Rates, found: Relevance) -> NDArray[np.int64]:
    """Columns left out that have the most to gain."""
    s, q = columns.strengths(found.alpha, found.lam)
    gains = np.where(_enters(s, q, rates), _gain(s, q, _precisions(s, q)), 0.0)
    gains[np.isfinite(found.lam) | (s <= COPY * found.alpha)] = 0.0
    most = np.argsort(-gains, kind="stable")[:MOST_NEW]
    real = [gains[j] > LEAST_GAIN and choice(s[j], q[j], j, rates) < np.inf for j in most]
    return np.asarray(most[np.array(real, dtype=bool)])


def _approach(state: RelevanceState, rates: Rates, sweeps: int = 4) -> Relevance:
    """Columns with the most to gain, then some sweeps over all, and the noise after each."""
    history = [score(state.columns, rates, state.alpha, state.lam)]
    if np.isinf(state.lam).any():
        _greedy(state, rates)
    for _ in range(sweeps):
        moved = max(_sweep(state, rates), _set_noise(state, rates))
        history.append(score(state.columns, rates, state.alpha, state.lam))
        if moved < SMALL:
            break
    return Relevance(state.alpha, state.lam, history[-1], tuple(history), len(history) - 1)


def _search(state: RelevanceState, rates: Rates) -> Relevance:
    """The same with as many sweeps as it takes, and Newton's method at the end."""
    history, steps = list[float](), 0
    for _ in range(ROUNDS):
        found = _approach(state, rates, SWEEPS)
        newton = _newton(state, rates)
        steps += found.steps + newton
        history += [*found.history, score(state.columns, rates, state.alpha, state.lam)]
        left_out = np.isfinite(state.lam) & (state.lam >= rates.threshold)
        state.lam[left_out] = np.inf
        state.refresh()
        ended = newton < NEWTON and not left_out.any()
        if ended and _sweep(state, rates, change=False) < SMALL:
            break
    return Relevance(state.alpha, state.lam, history[-1], tuple(history), steps)


# -- one column ----------------------------------------------------------------------------------


def best_precision(s: float, q: float, lambda_1: float, lambda_2: float) -> float:
    """The λ that maximizes the evidence in one column, hyperpriors included; infinite if none does.

    The derivative by log λ, ½ (s/(λ + s) − q²λ/(λ + s)²) + λ₁ − λ₂λ, is positive at 0; its root is
    found by Newton's method in log λ within a bracket.
    """
    gain = q * q - s
    if not lambda_1 and not lambda_2:
        return s * s / gain if gain > 0.0 else np.inf
    low, high = 0.0, (lambda_1 + 0.5) / lambda_2 * 1.01 if lambda_2 else 1e300
    lam = s * s / gain if gain > 0.0 else np.inf
    if not low < lam < high:
        lam = sqrt((lambda_1 + sqrt(max(-0.5 * gain * lambda_2, 0.0))) * high) or 1.0
        lam = min(lam, 0.5 * high)
    for _ in range(200):
        share = s / (lam + s)
        pull = q * q * lam / (lam + s) ** 2
        slope = 0.5 * (share - pull) + lambda_1 - lambda_2 * lam
        if slope > 0.0:
            low = lam
        else:
            high = lam
        bend = -0.5 * share * (1.0 - share) - 0.5 * pull * (2.0 * share - 1.0) - lambda_2 * lam
        step = -slope / bend if bend < 0.0 else (1.0 if slope > 0.0 else -1.0)
        new = lam * exp(max(min(step, 5.0), -5.0))
        if not low < new < high:
            new = sqrt(low * high) if low else 0.01 * high
        if abs(new - lam) <= 1e-13 * lam:
            return new
        lam = new
        if lam > 1e250:
            return np.inf
    return lam


def gain(s: float, q: float, lam: float) -> float:
    """What a column adds to the log evidence at a precision, over leaving it out."""
    return 0.0 if isinf(lam) else 0.5 * (q * q / (lam + s) - log1p(s / lam))


def choice(s: float, q: float, j: int, rates: Rates) -> float:
    """The best precision of column j; infinite where that leaves it out or adds no evidence.

    Without the last condition the hyperpriors would hold useless columns below the threshold.
    """
    if q * q <= s:  # no λ has a gain
        return np.inf
    lam = best_precision(s, q, rates.lambda_1, float(rates.lambda_2[j]))
    return lam if lam < rates.threshold[j] and gain(s, q, lam) > 0.0 else np.inf


def _copies(state: RelevanceState) -> NDArray[np.bool_]:
    """Columns of which the active ones leave nothing but rounding; constant ones too."""
    return np.asarray(state.s <= COPY * state.alpha)


def _greedy(state: RelevanceState, rates: Rates) -> None:
    """Change the column with the most to gain, until little is left; noise now and then."""
    most = 3 * min(len(state.s), int(state.columns.weight)) + 10
    for step in range(most):
        s, q = state.all_own()
        lam = np.where(_enters(s, q, rates), _precisions(s, q), np.inf)
        lam[np.isinf(state.lam) & _copies(state)] = np.inf
        gains = _gain(s, q, lam) - _gain(s, q, state.lam)
        j = int(np.argmax(gains))
        if not gains[j] > 1e-2:
            break
        state.set(j, float(lam[j]))
        if step % 5 == 4:
            _set_noise(state, rates)
    _set_noise(state, rates)


def _enters(s: Floats, q: Floats, rates: Rates) -> NDArray[np.bool_]:
    """Columns whose best precision is below the threshold: where the derivative is negative."""
    at = np.minimum(rates.threshold, 1e300)
    share, pull = s / (at + s), q**2 * (at / (at + s)) / (at + s)
    slope = 0.5 * (share - pull) + rates.lambda_1 - rates.lambda_2 * at
    return np.asarray((q**2 > s) & (at > 0.0) & ((slope < 0.0) | np.isinf(rates.threshold)))


def _precisions(s: Floats, q: Floats) -> Floats:
    """The best precision of every column without hyperpriors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q**2 > s, s**2 / (q**2 - s), np.inf)


def _gain(s: Floats, q: Floats, lam: Floats) -> Floats:
    """The gain of every column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 0.5 * (q**2 / (lam + s) - np.log1p(s / lam))
    return np.where(np.isfinite(lam), found, 0.0)


def _sweep(state: RelevanceState, rates: Rates, *, change: bool = True) -> float:
    """Every column in turn; returns the largest change of log λ, made or only wished."""
    moved, (s, q) = 0.0, state.all_own()
    for j in np.flatnonzero(np.isfinite(state.lam) | ((q**2 > s) & ~_copies(state))).tolist():
        before = float(state.lam[j])
        lam = choice(*state.own(j), j, rates)
        size = _change(before, lam)
        if change and size > 0.1 * SMALL:
            state.set(j, lam)
        moved = max(moved, size)
    return moved


def _change(before: float, after: float) -> float:
    if isinf(before) or isinf(after):
        return 0.0 if before == after else 1.0
    return abs(log(after / before))


# -- the noise -----------------------------------------------------------------------------------


def _set_noise(state: RelevanceState, rates: Rates) -> float:
    """MacKay's step of the noise precision; S and Q afresh."""
    active = np.flatnonzero(np.isfinite(state.lam))
    fit = Fit.at(state.columns, state.alpha, state.lam, active)
    freedom = state.columns.weight - float((1.0 - state.lam[active] * fit.variances).sum())
    alpha = (freedom + 2.0 * rates.alpha_1) / (fit.residual + 2.0 * rates.alpha_2)
    change = abs(float(np.log(alpha / state.alpha)))
    state.alpha = alpha
    state.refresh()
    return change


# -- all logarithms at once ------------------------------------------------------------------------


def _newton(state: RelevanceState, rates: Rates) -> int:
    """Newton's method in log α and log λ of the active columns; returns the steps taken."""
    columns, active = state.columns, np.flatnonzero(np.isfinite(state.lam))
    value = score(columns, rates, state.alpha, state.lam)
    gradient, hessian = derivatives(columns, rates, state.alpha, state.lam, active)
    for step in range(NEWTON):
        direction = _ascent(gradient, hessian)
        longest = float(np.abs(direction).max(initial=0.0))
        size = min(1.0, 2.0 / max(longest, 1e-300))
        while True:
            alpha = state.alpha * float(np.exp(size * direction[0]))
            lam = state.lam.copy()
            lam[active] *= np.exp(size * direction[1:])
            new = score(columns, rates, alpha, lam)
            if longest < SMALL or new >= value - 1e-12 * abs(value):
                break
            size *= 0.5
            if size < 1e-4:
                return step
        largest = np.abs(gradient).max()
        gradient, hessian = derivatives(columns, rates, alpha, lam, active)
        # of the last digits the derivatives tell, and no longer the score
        if longest < SMALL and not np.abs(gradient).max() < largest:
            return step
        state.alpha, state.lam, value = alpha, lam, new
        if size * longest < TINY:
            return step + 1
    return NEWTON


def _ascent(gradient: Floats, hessian: Floats) -> Floats:
    """−H⁻¹g, with curvature made negative where it is not."""
    values, vectors = linalg.eigh(-hessian, check_finite=False)
    floor = 1e-10 * float(np.abs(values).max(initial=0.0)) + 1e-300
    return np.asarray(vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), floor)))

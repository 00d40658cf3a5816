"""Evidence maximized over a precision for every column (automatic relevance determination).

    y = X b + ε,    bⱼ ~ N(0, λⱼ⁻¹),    ε ~ N(0, α⁻¹)

    log p(y | α, λ) as a function of one λ:   ½ [log λ − log(λ + s) + q²/(λ + s)] + const.

Its maximum is s²/(q² − s) where q² > s and infinite otherwise: a column that explains less than
chance leaves the model (Tipping and Faul, 2003). Columns are changed one at a time, the one with
the most to gain first, then in turn; the last digits come from Newton's method on all logarithms at
once. Gamma hyperpriors add λ₁ log λ − λ₂ λ to every such function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, isinf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.bayes.linear.relevance_fit import Fit, Rates, derivatives, score
from separatrix.bayes.linear.relevance_state import (
    ColumnState,
    RelevanceState,
    RowState,
    UnitColumns,
)
from separatrix.rows.block import Floats

#: Rounds of sweeps over the columns and Newton's method; sweeps in a round; Newton steps.
ROUNDS, SWEEPS, NEWTON = 12, 30, 25
#: Change of log λ in a sweep below which Newton's method takes over; its last step.
SMALL, TINY = 1e-3, 1e-11
#: Columns up to which a search starts from all of them, too.
FEW = 500
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
    d, copies = len(columns.xy), columns.copies()
    # the evidence does not say how copies divide a coefficient: the first has all of it
    rates = replace(rates, threshold=np.where(copies, 0.0, rates.threshold))
    starts = [np.full(d, np.inf)]
    if columns.gram is not None and d <= min(columns.weight, FEW):
        starts.append(np.where(copies, np.inf, float(d)))
    return max((_search(columns, rates, start) for start in starts), key=lambda r: r.score)


def _search(columns: UnitColumns, rates: Rates, start: Floats) -> Relevance:
    alpha = (columns.weight + 2.0 * rates.alpha_1) / (columns.yy + 2.0 * rates.alpha_2)
    kind: type[RelevanceState] = RowState if columns.gram is None else ColumnState
    state = kind(columns, alpha, start)
    history = [score(columns, rates, state.alpha, state.lam)]
    if not np.isfinite(start).any():
        _greedy(state, rates)
    steps = 0
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            moved = _sweep(state, rates)
            moved = max(moved, _set_noise(state, rates))
            steps += 1
            history.append(score(columns, rates, state.alpha, state.lam))
            if moved < SMALL:
                break
        steps += _newton(state, rates)
        history.append(score(columns, rates, state.alpha, state.lam))
        left_out = np.isfinite(state.lam) & (state.lam >= rates.threshold)
        state.lam[left_out] = np.inf
        state.refresh()
        if not left_out.any() and _sweep(state, rates, change=False) < SMALL:
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
        with np.errstate(divide="ignore", invalid="ignore"):
            lam = np.where(q**2 > s, s**2 / (q**2 - s), np.inf)
            out = (lam >= rates.threshold) | (~np.isfinite(state.lam) & _copies(state))
            lam = np.where(out, np.inf, lam)
            gains = 0.5 * (_gain(s, q, lam) - _gain(s, q, state.lam))
        j = int(np.argmax(gains))
        if not gains[j] > 1e-2:
            break
        state.set(j, float(lam[j]))
        if step % 5 == 4:
            _set_noise(state, rates)
    _set_noise(state, rates)


def _gain(s: Floats, q: Floats, lam: Floats) -> Floats:
    """Twice the gain of every column."""
    return np.where(np.isfinite(lam), q**2 / (lam + s) - np.log1p(s / lam), 0.0)


def _sweep(state: RelevanceState, rates: Rates, *, change: bool = True) -> float:
    """Every column in turn; returns the largest change of log λ, made or only wished."""
    moved, copies = 0.0, _copies(state).tolist()
    for j in range(len(copies)):
        before = float(state.lam[j])
        if isinf(before) and copies[j]:
            continue
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
    for step in range(NEWTON):
        gradient, hessian = derivatives(columns, rates, state.alpha, state.lam, active)
        direction = _ascent(gradient, hessian)
        size = min(1.0, 2.0 / max(float(np.abs(direction).max(initial=0.0)), 1e-300))
        while True:
            alpha = state.alpha * float(np.exp(size * direction[0]))
            lam = state.lam.copy()
            lam[active] *= np.exp(size * direction[1:])
            new = score(columns, rates, alpha, lam)
            if new >= value - 1e-12 * abs(value) or size < 1e-4:
                break
            size *= 0.5
        if new < value - 1e-12 * abs(value):
            return step
        state.alpha, state.lam, value = alpha, lam, new
        if size * float(np.abs(direction).max(initial=0.0)) < TINY:
            return step + 1
    return NEWTON


def _ascent(gradient: Floats, hessian: Floats) -> Floats:
    """−H⁻¹g, with curvature made negative where it is not."""
    values, vectors = linalg.eigh(-hessian, check_finite=False)
    floor = 1e-10 * float(np.abs(values).max(initial=0.0)) + 1e-300
    return np.asarray(vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), floor)))

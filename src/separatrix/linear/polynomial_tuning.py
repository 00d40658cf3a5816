"""Degree and penalty of polynomial regression, from one spectrum a degree and fold.

    min over b, a of Σ w (y − a − b·t)² + λ n ‖b‖²,     t the standardized terms of the polynomial

The scatter of the terms is summed by fold; that of the training rows of a fold is the sum over the
others, and its eigenvectors serve every penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import linalg

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.expansion import Expansion, exponents_of
from separatrix.rows.schema import Term
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold
from separatrix.statistics.standardizer import Standardizer

#: Penalties for each row, largest first: of standardized terms, so that no unit matters.
PENALTIES = 10.0 ** np.arange(1.0, -6.25, -0.5)
DEGREES = (2, 3, 4)
#: Terms that a polynomial may have: in all, and for each training row.
MAX_TERMS, TERMS_A_ROW = 1_500, 2.0


@dataclass(frozen=True)
class _Candidate:
    """One degree: predictions out of fold (rows x penalties), and losses (penalties x folds)."""

    degree: int
    predictions: Floats
    losses: Floats


def tune_polynomial(data: TuningData) -> Tuning:
    """Compare degrees and penalties on the folds of ``data``."""
    degrees = [degree for degree in DEGREES if _affordable(data, degree)]
    if not degrees:
        d = data.x.shape[1]
        raise InputError(
            f"A polynomial of {d} columns has {_terms(d, 2)} terms.",
            remedy="Use fewer columns, or a model with a kernel.",
        )
    found: list[_Candidate] = []
    for degree in degrees:
        found.append(_cross_validated(data, degree))
        if len(found) > 1 and _least(found[-1]) > _least(found[-2]):
            break  # a higher degree did not help
    losses = np.concatenate([c.losses for c in found])
    grid = [(c.degree, penalty) for c in found for penalty in PENALTIES]
    best, by_fold = best_by_fold(losses, np.bincount(data.fold[data.fold >= 0]).astype(float))
    predictions = np.concatenate([c.predictions for c in found], axis=1)
    rows = np.flatnonzero(data.fold >= 0)
    degree, penalty = grid[best]
    return Tuning(
        {"degree": degree, "alpha": float(penalty * data.w.sum())},
        tuple({"degree": degree, "alpha": float(p * data.w.sum())} for degree, p in grid),
        losses,
        by_fold,
        rows,
        predictions[rows, by_fold[data.fold[rows]]],
        "values",
    )


def _least(candidate: _Candidate) -> float:
    return float(candidate.losses.mean(axis=1).min())


def _terms(d: int, degree: int) -> int:
    return comb(d + degree, degree) - 1


def _affordable(data: TuningData, degree: int) -> bool:
    """Scatter of the terms, and one eigendecomposition a fold, within the work allowed."""
    terms, folds = _terms(data.x.shape[1], degree), len(data.folds)
    work = 2.0 * data.n * terms**2 + folds * 15.0 * terms**3
    limit = min(MAX_TERMS, TERMS_A_ROW * data.n)
    return terms <= limit and work <= data.work


def _cross_validated(data: TuningData, degree: int) -> _Candidate:
    """All penalties of one degree."""
    t = _standardized_terms(data, degree)
    predictions = np.full((data.n, len(PENALTIES)), np.nan)
    parts = _moments_by_part(t, data)
    losses = np.empty((len(PENALTIES), len(data.folds)))
    for fold, (train, test) in enumerate(data.folds.pairs):
        predictions[test] = _predicted(t, _total(parts, t, data, fold, train), test)
        error = predictions[test] - data.y[test, None]
        loss = np.abs(error) if data.loss == "absolute" else error**2
        losses[:, fold] = data.w[test] @ loss / data.w[test].sum()
    return _Candidate(degree, predictions, losses)


def _standardized_terms(data: TuningData, degree: int) -> Floats:
    """Products of Chebyshev polynomials of the columns, standardized; indicators have no powers."""
    x = np.asarray(data.x, dtype=float)
    low, high = x.min(axis=0), x.max(axis=0)
    indicator = ((x == 0.0) | (x == 1.0)).all(axis=0)
    names = [Term(f"x{j}") for j in range(x.shape[1])]
    highest = np.where(indicator, 1, degree).tolist()
    exponents = exponents_of(names, highest, degree, interaction_only=False)
    half = np.where(indicator | (high == low), 1.0, (high - low) / 2)
    center = np.where(indicator, 0.0, (high + low) / 2)
    terms = Expansion(exponents, center, half, ("",) * len(exponents)).transform(x)
    return np.asarray(Standardizer.from_rows(terms, data.w).transform(terms))


@dataclass(frozen=True)
class _Moments:
    """Σw, Σw t, Σw y, Σw ttᵀ, Σw t y."""

    weight: float
    t: Floats
    y: float
    tt: Floats
    ty: Floats

    @classmethod
    def of(cls, t: Floats, y: Floats, w: Floats) -> _Moments:
        weighted = t * w[:, None]
        return cls(
            float(w.sum()), weighted.sum(axis=0), float(w @ y), weighted.T @ t, weighted.T @ y
        )

    def __add__(self, other: _Moments) -> _Moments:
        return _Moments(
            self.weight + other.weight,
            self.t + other.t,
            self.y + other.y,
            self.tt + other.tt,
            self.ty + other.ty,
        )


def _moments_by_part(t: Floats, data: TuningData) -> list[_Moments]:
    """Moments of the rows of every fold, if the folds partition the rows."""
    if data.folds.labels is None:
        return []
    tests = (test for _, test in data.folds.pairs)
    return [_Moments.of(t[test], data.y[test], data.w[test]) for test in tests]


def _total(parts: list[_Moments], t: Floats, data: TuningData, fold: int, train: Ints) -> _Moments:
    """Moments of the training rows of a fold."""
    if not parts:
        return _Moments.of(t[train], data.y[train], data.w[train])
    others = [part for number, part in enumerate(parts) if number != fold]
    return sum(others[1:], start=others[0])


def _predicted(t: Floats, m: _Moments, test: Ints) -> Floats:
    """Predictions of the test rows by every penalty (rows x penalties)."""
    center, mean = m.t / m.weight, m.y / m.weight
    scatter = m.tt - np.outer(m.t, center)
    values, directions = linalg.eigh(scatter, check_finite=False, overwrite_a=True)
    cross = directions.T @ (m.ty - m.t * mean)
    shrunk = cross[:, None] / (np.maximum(values, 0.0)[:, None] + PENALTIES * m.weight)
    return np.asarray(((t[test] - center) @ directions) @ shrunk + mean)

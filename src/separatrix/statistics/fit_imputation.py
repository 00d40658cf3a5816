"""Estimation of the Gaussian behind regression imputation: impute, take moments, repeat.

    (μ, Σ) of the completed table → imputed values → (μ, Σ) …      until (μ, Σ) is stable

Each iteration is one pass over the rows. At the fixed point every missing value is its regression
on the other columns. :class:`separatrix.rows.imputation.Imputation` applies the result to rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from separatrix.messages import warn
from separatrix.rows.block import Floats
from separatrix.rows.imputation import Imputation, without_missing
from separatrix.rows.mapped import MappedStatistic
from separatrix.rows.schema import Kind, Schema, Term
from separatrix.statistics.means import Means
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import Standardizer

#: Convergence: no mean moves by more standard deviations, no correlation by more.
TOL = 1e-6
MAX_ITER = 100

#: Eigenvalues of the correlation matrix below this are rounding errors.
MIN_EIGENVALUE = 1e-10

Pass = Callable[[MappedStatistic[Moments]], MappedStatistic[Moments]]


def fit_imputation(run: Pass, schema: Schema, raw: Moments) -> tuple[Imputation, Moments]:
    """The imputation at the fixed point, and the moments of the completed table.

    ``run`` passes a statistic over the training rows; ``raw`` are their raw moments.
    """
    current = _initial(schema, raw)
    if not any(term.missing for term in raw.terms):
        return replace(current, precision=_precision(raw), last_change=0.0), raw
    moments = run(MappedStatistic(Moments(), current)).inner
    change = np.inf
    for n_iter in range(1, MAX_ITER + 1):
        current = replace(
            current, mean=moments.x_mean, precision=_precision(moments), n_iter=n_iter
        )
        before, moments = moments, run(MappedStatistic(Moments(), current)).inner
        change = _change(before, moments)
        if change <= TOL:
            break
    else:
        warn(
            "SEP003",
            f"regression imputation still changed by {change:.1e} standard deviations "
            f"after {MAX_ITER} iterations.",
        )
    return replace(current, last_change=float(change)), moments


def _initial(schema: Schema, raw: Moments) -> Imputation:
    """Means of the observed values; columns without any value take no part."""
    empty = {t.column for t in raw.terms if t.missing and observed_fraction(raw, t.column) <= 0}
    terms = schema.ordered(t for t in without_missing(raw.terms) if t.column not in empty)
    columns = schema.by_name
    mean = np.array([observed_mean(raw, t, columns[t.column].placeholder) for t in terms])
    categorical = tuple(c.name for c in schema.columns if c.kind is not Kind.NUMERIC)
    return Imputation(terms, mean, np.eye(len(terms)), categorical)


def observed_fraction(raw: Moments | Means, column: str) -> float:
    """The fraction of the weight whose value in this column is observed."""
    missing = raw.terms.position.get(Term(column, missing=True))
    fraction = 1.0 if missing is None else 1.0 - float(raw.mean[missing])
    return fraction if fraction > 1e-12 else 0.0


def observed_mean(raw: Moments | Means, term: Term, placeholder: float) -> float:
    """Mean of the observed values: placeholder + (mean − placeholder) / observed fraction.

    Where the value is missing, the indicator of a level is 0 and a number is ``placeholder``.
    """
    origin = 0.0 if term.level is not None else placeholder
    mean = float(raw.mean[raw.terms.position[term]])
    return origin + (mean - origin) / observed_fraction(raw, term.column)


def _scales(moments: Moments) -> Floats:
    """Standard deviations, 1 for a constant column."""
    scale = Standardizer.from_moments(moments).scale
    return np.where(scale > 0, scale, 1.0)


def _precision(moments: Moments) -> Floats:
    """Inverse covariance, the eigenvalues of the correlation matrix bounded away from 0."""
    scale = _scales(moments)
    values, vectors = np.linalg.eigh(moments.xx / moments.weight / np.outer(scale, scale))
    bounded = np.maximum(values, MIN_EIGENVALUE * max(float(values[-1]), 1.0))
    return np.asarray((vectors / bounded) @ vectors.T / np.outer(scale, scale))


def _change(before: Moments, after: Moments) -> float:
    """The largest change of a mean (in standard deviations) or of a correlation."""
    scale = _scales(after)
    means = np.abs(after.x_mean - before.x_mean) / scale
    correlations = np.abs(after.xx - before.xx) / after.weight / np.outer(scale, scale)
    return float(max(means.max(initial=0.0), correlations.max(initial=0.0)))

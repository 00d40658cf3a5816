"""All criteria of complexity for the models along a path, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection import rules
from separatrix.selection.criteria import measures
from separatrix.selection.criteria.figures import PathFigures
from separatrix.selection.criteria.models import figures_of_models
from separatrix.selection.criteria.table import CriteriaTable, Criterion

#: Criteria that choose from the losses of folds, by name.
BY_FOLDS = {
    "cross-validation": rules.minimum,
    "one standard error": rules.one_standard_error,
    "elbow": rules.elbow,
}
NO_FOLDS = (
    "no losses of folds: give the training rows, criteria(path, X, y), or fit a path with cv."
)
NO_FREEDOM = "the models have no likelihood with degrees of freedom."


def criteria(
    path: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, cv: Any = None
) -> CriteriaTable:
    """Choose the complexity of a model by every criterion that applies, in one table.

        AIC, BIC = −2 log L + {2, log n} k        evidence = log p(y | model)
        MDL, structural risk, cross-validated loss: see the guide

    Each criterion chooses a point of the path; of equals the simplest. One that does not apply
    says why.

    Parameters
    ----------
    path : fitted path, or list of models
        RidgePath, RidgeCV, LassoPath, LassoCV, LogisticPath, LogisticCV or SVMPath; or models from
        the simplest to the most complex, such as polynomials of several degrees, fitted or not.
    X : array-like, data frame or Rows, default=None
        The training rows, needed for what the path does not store: losses of folds, fractions of
        errors, fits of a list of models.
    y : array-like, default=None
        Their targets.
    sample_weight : array-like, default=None
        Their weights.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn; None is 5, or those that the path was fitted with.

    Returns
    -------
    CriteriaTable
        Values and choices; prints as a table.

    See Also
    --------
    ModelAverage : Averages models by such criteria in place of choosing one.

    References
    ----------
    - Rissanen, MDL denoising, IEEE Transactions on Information Theory 46, 2000.
    - Hurvich and Tsai, Regression and time series model selection in small samples, 1989.
    - Cherkassky and Mulier, Learning from Data, 1998, chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 5, (60, 1))
    >>> y = 2 * np.sin(1.5 * x[:, 0]) + rng.standard_normal(60)
    >>> table = sx.criteria([sx.PolynomialRegression(k) for k in range(1, 9)], x, y)
    >>> {name: table.choices[name] for name in ("AICc", "BIC", "MDL", "elbow")}
    {'AICc': 6, 'BIC': 4, 'MDL': 4, 'elbow': 4}
    """
    if isinstance(path, list | tuple):
        figures = figures_of_models(list(path), X, y, sample_weight, cv)
    elif hasattr(path, "path_figures"):
        figures = path.path_figures(X, y, sample_weight, cv)
    else:
        raise InputError(
            f"{type(path).__name__} has no path of models.",
            remedy="Give a path such as LassoPath, or a list of models, the simplest first.",
        )
    return table_of(figures)


def table_of(figures: PathFigures) -> CriteriaTable:
    """The table, from what a path says of its points."""
    by_name: dict[str, Callable[[PathFigures], Floats | None]] = {
        "AIC": _aic,
        "AICc": _corrected_aic,
        "BIC": _bic,
        "MDL": _description_length,
        "structural risk": _structural_risk,
        "evidence": lambda f: f.log_evidence,
    }
    found = [_chosen(name, values(figures), figures) for name, values in by_name.items()]
    return CriteriaTable(figures, (*found, *_by_folds(figures)))


def _aic(f: PathFigures) -> Floats | None:
    return _information(f, 2.0)


def _bic(f: PathFigures) -> Floats | None:
    return _information(f, float(np.log(f.n)))


def _information(f: PathFigures, penalty: float) -> Floats | None:
    if f.freedom is None or f.log_likelihood is None:
        return None
    if f.squares is not None:
        return rules.information(f.squares, f.freedom, f.n, penalty)
    return np.asarray(penalty * f.freedom - 2.0 * f.log_likelihood)


def _corrected_aic(f: PathFigures) -> Floats | None:
    if f.freedom is None or f.log_likelihood is None:
        return None
    return measures.corrected_aic(f.log_likelihood, f.freedom + f.others, f.n)


def _description_length(f: PathFigures) -> Floats | None:
    return None if f.subsets is None else measures.description_length(f.subsets)


def _structural_risk(f: PathFigures) -> Floats | None:
    capacity = f.freedom if f.capacity is None else f.capacity
    if capacity is None:
        return None
    if f.errors is not None:
        return measures.classification_risk(f.errors, capacity, f.n)
    return None if f.squares is None else measures.squared_risk(f.squares, capacity, f.n)


def _chosen(name: str, values: Floats | None, f: PathFigures) -> Criterion:
    """The choice of a criterion, or why there is none."""
    note = f.reasons.get(name, "")
    if values is None:
        return Criterion(name, note=note or NO_FREEDOM)
    lost = -values if name == "evidence" else values
    if not np.isfinite(lost).any():
        return Criterion(name, values, note=note or "no point of the path is within its range.")
    lost = np.where(np.isneginf(lost), np.nan, lost)
    return Criterion(name, values, rules.minimum(f.simplicity, lost), note)


def _by_folds(f: PathFigures) -> list[Criterion]:
    if f.fold_losses is None:
        why = f.reasons.get("cross-validation", NO_FOLDS)
        return [Criterion(name, note=why) for name in BY_FOLDS]
    mean = f.fold_losses.mean(axis=1)
    found = []
    for name, rule in BY_FOLDS.items():
        if f.fold_losses.shape[1] < 2 and rule is not rules.minimum:
            found.append(Criterion(name, note="one mean for all rows has no spread over folds."))
            continue
        shown = mean if name == "cross-validation" else None
        note = f"mean {f.loss} of {f.fold_losses.shape[1]} folds." if shown is not None else ""
        found.append(Criterion(name, shown, rule(f.simplicity, f.fold_losses), note))
    return found

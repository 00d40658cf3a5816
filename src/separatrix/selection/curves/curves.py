"""Learning curves of any models: linear ones from one pass over the rows, others by refits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.scan import scan
from separatrix.selection.criteria.models import names_of
from separatrix.selection.curves.losses import (
    Designed,
    Losses,
    Step,
    losses_from_moments,
    losses_from_refits,
)
from separatrix.selection.curves.nesting import Nesting
from separatrix.selection.curves.result import LearningCurves
from separatrix.selection.folds import DEFAULT_FOLDS
from separatrix.selection.refits import RefitRows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments, learn_encoding


def learning_curves(
    models: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    folds: int = DEFAULT_FOLDS,
    seed: int = 0,
) -> LearningCurves:
    """Error over complexity and amount of data, with folds for intervals.

        e(n, m) = mean loss, on rows left out, of model m fitted to n rows

    Training sets of one fold are nested, and all are tested on the same rows. Linear models that
    fit moments (LinearRegression, Ridge, Lasso, RidgePath, LassoPath, BayesianRidge …) take all
    sizes and complexities from one pass: moments of parts of the rows add up to every training
    set. Other models are refitted to the rows of each.

    Parameters
    ----------
    models : estimator, list of estimators, or path
        From the simplest to the most complex. RidgePath and LassoPath count as a model for each
        penalty; without ``alphas`` of its own, those of all rows.
    X : array-like, data frame or Rows
        The rows.
    y : array-like, default=None
        Their targets; Rows bring their own.
    sample_weight : array-like, default=None
        Weights of the rows.
    folds : int, default=5
        Number of folds.
    seed : int, default=0
        Seed of the split.

    Returns
    -------
    LearningCurves
        Errors by size, complexity and fold; prints as a table, and extrapolates.

    See Also
    --------
    criteria : Chooses complexity at the size there is.
    run_curve : Learning curves of a table, and what would help, in words.

    References
    ----------
    Cortes, Jackel, Solla, Vapnik and Denker, Learning curves: asymptotic values and rate of
    convergence, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 5, (300, 1))
    >>> y = 2 * np.sin(1.5 * x[:, 0]) + rng.standard_normal(300)
    >>> curves = sx.learning_curves([sx.PolynomialRegression(k) for k in (1, 3, 5)], x, y)
    >>> curves.names[curves.best[-1]], curves.validation.shape
    ('5', (8, 3, 5))
    """
    ladder = list(models) if isinstance(models, list | tuple) else [models]
    if not ladder:
        raise InputError("learning_curves needs one model or more.", remedy="Give a list of them.")
    names = _names(ladder)
    if all(getattr(model, "fits_moments", False) for model in ladder):
        rows = X if isinstance(X, Rows) else scan(X, y, sample_weight)
        return _from_moments(ladder, names, rows, folds, seed)
    data = RefitRows.of(ladder, X, y, sample_weight)
    copied = data.copies()
    nesting = Nesting.of(len(data.y if copied is None else np.unique(copied)), folds)
    labels = nesting.dealt(len(data.y), data.codes, seed, copied)
    found = losses_from_refits(data, labels, nesting, ladder)
    return _curves(found, names, data.loss, 0)


def _names(ladder: list[Any]) -> list[str]:
    values = names_of(ladder)[1]
    return [str(value) for value in values]


def _curves(found: Losses, names: list[str], loss: str, passes: int) -> LearningCurves:
    return LearningCurves(found.sizes, tuple(names), found.validation, found.training, loss, passes)


def _from_moments(
    ladder: list[Any], names: list[str], rows: Rows, folds: int, seed: int
) -> LearningCurves:
    nesting = Nesting.of(_count(rows), folds)
    parts = nesting.labels(rows, seed) if isinstance(rows, InMemory) else nesting.parts(seed)
    raw = rows.with_parts(parts).reduce(Grouped(Moments()))
    steps, labels = [], []
    for model, name in zip(ladder, names, strict=True):
        alphas = _penalties(model, raw, rows)
        if alphas is None:
            steps.append(Step(name, model))
            labels.append(name)
            continue
        whole = clone(model).set_params(alphas=alphas)
        steps.append(Step(name, whole, points=len(alphas)))
        labels += [f"{alpha:.4g}" for alpha in alphas]
    found = losses_from_moments(raw.parts, nesting, steps, design_of_training(rows))
    return _curves(found, labels, "squared error", 1)


def _count(rows: Rows) -> int:
    """Rows in memory are counted; of a stream there are taken to be enough."""
    return len(rows) if isinstance(rows, InMemory) else 10**6


def design_of_training(rows: Rows) -> Designed | None:
    """Levels and means of missing values, learned from the training rows alone."""
    schema = rows.schema
    if isinstance(rows, ArrayRows):
        return None
    if schema.missing == "regress":
        raise InputError(
            "missing='regress' imputes row by row, which moments cannot.",
            remedy="Use missing='mean'.",
        )

    def designed(train: Moments, test: Moments) -> tuple[Moments, Moments]:
        encoding = learn_encoding(schema, train)
        return design_moments(encoding, train), design_moments(encoding, test)

    return designed


def _penalties(model: Any, raw: Grouped[Moments], rows: Rows) -> Any:
    """Penalties of a path, in its order; None for a single model."""
    if not hasattr(model, "path_figures"):
        return None
    whole = raw.total()
    design = design_of_training(rows)
    return clone(model).fit(whole if design is None else design(whole, whole)[0]).alphas_

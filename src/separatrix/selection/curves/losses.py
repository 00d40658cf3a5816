"""Mean losses of models on nested training sets: from moments by part, or by refits on rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.selection.curves.nesting import Nesting, some_terms
from separatrix.selection.refits import RefitRows
from separatrix.selection.rules import validation_error
from separatrix.statistics.moments import Moments

#: A training set and the test rows of its fold, as moments of one design.
Designed = Callable[[Moments, Moments], tuple[Moments, Moments]]


@dataclass(frozen=True)
class Step:
    """One complexity: a model, on some of the terms (None: all).

    A path (``coefs_`` at many penalties) is as many complexities as it has points.
    """

    name: str
    model: Any
    terms: Ints | None = None
    points: int = 1


@dataclass(frozen=True)
class Losses:
    """Mean losses (sizes x complexities x folds) on test and on training rows, and the sizes."""

    sizes: Floats
    validation: Floats
    training: Floats


def losses_from_moments(
    parts: Mapping[int, Moments],
    nesting: Nesting,
    steps: Sequence[Step],
    design: Designed | None = None,
) -> Losses:
    """Squared errors of linear models, all from one pass: the moments of every part."""
    k, levels = nesting.folds, len(nesting.levels)
    count = sum(step.points for step in steps)
    validation = np.full((levels, count, k), np.nan)
    training, weights = validation.copy(), np.empty((levels, k))
    refusals: list[Exception] = []
    for fold in range(k):
        outside = nesting.left_out(parts, fold)
        if not outside.weight:
            raise InputError(f"Fold {fold} has no rows of positive weight.", remedy="Use fewer.")
        for level, inside in enumerate(nesting.growing(parts, fold)):
            weights[level, fold] = inside.weight
            if not inside.weight:  # few large groups: the smallest sets may be empty
                continue
            sides = (inside, outside) if design is None else design(inside, outside)
            with _unwarned():
                found = [step_errors(step, *sides, refusals) for step in steps]
            validation[level, :, fold] = np.concatenate([test for test, _ in found])
            training[level, :, fold] = np.concatenate([train for _, train in found])
    _refuse_nothing(validation, refusals)
    return Losses(weights.mean(axis=1), validation, training)


def step_errors(
    step: Step, train: Moments, test: Moments, refusals: list[Exception] | None = None
) -> tuple[Floats, Floats]:
    """Squared errors on test and training rows of every point of a step; NaN if it has no fit.

    Why it has none is appended to ``refusals``.
    """
    if step.terms is not None:
        train, test = some_terms(train, step.terms), some_terms(test, step.terms)
    try:
        model = clone(step.model).fit(train)
    except ValueError as why:  # too few rows for this model: its curve starts further right
        if refusals is not None:
            refusals.append(why)
        return np.full(step.points, np.nan), np.full(step.points, np.nan)
    many = step.points > 1
    coefs = np.atleast_2d(model.coefs_ if many else model.coef_)
    intercepts = np.atleast_1d(model.intercepts_ if many else model.intercept_)
    test_errors = validation_error(test, coefs, intercepts)
    return test_errors, validation_error(train, coefs, intercepts)


def losses_from_refits(
    rows: RefitRows,
    labels: Ints,
    nesting: Nesting,
    models: Sequence[Any],
    tick: Callable[[], None] = lambda: None,
) -> Losses:
    """Losses of any models, each refitted to every training set; ``tick`` after each fold.

    A model may need more rows than the smallest sets have; where no model can be fitted to any set,
    its own refusal says why.
    """
    k, levels = nesting.folds, len(nesting.levels)
    validation = np.full((levels, len(models), k), np.nan)
    training, weights = validation.copy(), np.empty((levels, k))
    refusals: list[Exception] = []
    for fold in range(k):
        test = nesting.test(labels, fold)
        for i, level in enumerate(nesting.levels):
            train = nesting.train(labels, fold, level)
            weights[i, fold] = len(train) if rows.w is None else rows.w[train].sum()
            with _unwarned():
                for j, model in enumerate(models):
                    try:
                        fitted = rows.fitted(model, train)
                        found = rows.mean_loss(fitted, test), rows.mean_loss(fitted, train)
                        validation[i, j, fold], training[i, j, fold] = found
                    except (ValueError, ZeroDivisionError) as why:
                        refusals.append(why)
        tick()
    _refuse_nothing(validation, refusals)
    return Losses(weights.mean(axis=1), validation, training)


def _refuse_nothing(validation: Floats, refusals: list[Exception]) -> None:
    """Where no model can be fitted to any training set, the last refusal says why."""
    if refusals and np.isnan(validation).all():
        raise refusals[-1]


@contextmanager
def _unwarned() -> Iterator[None]:
    """Without the warnings that small training sets give: dependent columns, rare classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

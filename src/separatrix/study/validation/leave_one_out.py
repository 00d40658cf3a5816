"""Every row predicted by a model of all others: by a closed form where there is one, else n fits.

    θ̂_f = argmin_θ of the losses on all folds but f       tunes the models that predict fold f
    ŷᵢ  = prediction by the model with θ̂_f fitted to all rows but i,     i in fold f

The losses of a row have no say in the parameters that predict it. Copies of a row, and the rows of
a group, are left out together. Closed forms (``leave_one_out_fits`` of an estimator) are for rows
that stand alone and have no weights; they encode and standardize columns by all training rows,
which uses no target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.selection.leave_one_out import leave_one_out_fits
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.standardizer import Standardizer
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.comparison.cross_validation import cross_validate, muted
from separatrix.study.folds import RowFolds

T = TypeVar("T")

#: Operations of one fit besides its arithmetic: checks, encoding, certificate; and of models whose
#: iterations are many and small.
OVERHEAD, SEARCHES = 1e7, {"BayesianLogisticRegression": 1e8, "GaussianProcessClassifier": 3e8}
#: Passes over n rows of d columns, d² operations a row, that a fit takes at most.
PASSES = {"linear": 2.0, "ridge": 5.0, "bayes": 10.0, "polynomial": 5.0}
USUAL_PASSES = 30.0
#: Operations for a pair of rows and column; a Gaussian process solves systems besides.
KERNELS = {"svm": 30.0, "svr": 30.0, "linear_svm": 10.0, "gp": 30.0}
NEIGHBORS = "neighbors"
#: Models that tune a penalty within a fit, and the same with a given one.
PENALIZED = {"RidgeCV": "Ridge", "LassoCV": "Lasso"}


@dataclass(frozen=True)
class FoldModels:
    """The models that predict the rows of each fold: a candidate, and its search if it has one."""

    candidates: tuple[Candidate, ...]
    tuning: Tuning | None
    hyperparameters: dict[str, tuple[Any, ...]]

    def fitted(self, folds: RowFolds, rows: Ints, fold: int) -> Any:
        """The model of a fold, fitted to some rows."""
        return folds.fitted(
            self.candidates[fold], rows, None if self.tuning is None else self.tuning.without(fold)
        )


def fold_models(candidate: Candidate, folds: RowFolds, data: TuningData) -> FoldModels:
    """What each fold is predicted with: parameters that were tuned without it."""
    with muted():
        if candidate.tunable:
            tuning = candidate.make(folds.k).tune(data.with_share(candidate.share))
            return FoldModels((candidate,) * folds.k, tuning, tuning.parameters_by_fold)
        if candidate.model not in PENALIZED:
            return FoldModels((candidate,) * folds.k, None, {})
        alphas = cross_validate(candidate, folds, lambda model, _: float(model.alpha_))[0]
    known = {"standardize": True, **_given(candidate, "max_iter")}
    fixed = tuple(
        replace(
            candidate,
            model=PENALIZED[candidate.model],
            options={**known, "alpha": alpha},
            tuned=(),
            folds=False,
        )
        for alpha in alphas
    )
    return FoldModels(fixed, None, {"alpha": tuple(alphas)})


def _given(candidate: Candidate, name: str) -> dict[str, Any]:
    return {name: candidate.options[name]} if name in candidate.options else {}


def leave_out(
    models: FoldModels, folds: RowFolds, data: TuningData, answer: Callable[[Any, Ints, int], T]
) -> list[T]:
    """``answer(model, rows, fold)`` of a model of all rows but these, unit by unit."""
    units = [folds.training[at] for at in _units(folds)]
    refuse_work(models.candidates[0], data, len(units))
    fold_of = np.full(len(folds.labels), -1, dtype=np.int64)
    fold_of[folds.training] = data.fold
    results = []
    with muted():
        for rows in units:
            fold = int(fold_of[rows[0]])
            others = np.setdiff1d(folds.training, rows, assume_unique=True)
            results.append(answer(models.fitted(folds, others, fold), rows, fold))
    return results


def closed_form(models: FoldModels, folds: RowFolds, data: TuningData) -> Floats | None:
    """Numbers, or probabilities, in order of training rows, from one fit for each fold.

    None where there is no such form.
    """
    first = models.candidates[0]
    if first.name == BASELINE:
        return _baseline(folds, data)
    alone = folds.units is None and bool((data.w == 1.0).all())
    if first.raw or not alone or not isinstance(data.x, np.ndarray):
        return None
    found: list[tuple[Any, Floats | None]] = []
    own: Floats | None = None
    with muted():
        for fold, candidate in enumerate(models.candidates):
            theta = {**candidate.options, **_parameters(models.tuning, fold)}
            known = next((answers for other, answers in found if other == theta), None)
            answers = _own(candidate, data, theta) if known is None else known
            if answers is None:
                return None
            found.append((theta, answers))
            own = np.empty_like(answers) if own is None else own
            own[data.fold == fold] = answers[data.fold == fold]
    return own


def _parameters(tuning: Tuning | None, fold: int) -> dict[str, Any]:
    return {} if tuning is None else dict(tuning.without(fold).parameters)


def _own(candidate: Candidate, data: TuningData, theta: dict[str, Any]) -> Floats | None:
    """Answers about every row by the model of all others, at fixed parameters."""
    model = candidate.make(2)
    if not hasattr(model, "leave_one_out_fits") or set(theta) - set(model.get_params(deep=False)):
        return None
    x = data.x
    if theta.get("standardize"):  # once for all fits
        x, theta = Standardizer.from_rows(x, data.w).transform(x), {**theta, "standardize": False}
    fits = leave_one_out_fits(model.set_params(**theta).fit(x, data.y), x, data.y, None)
    if fits is None:
        return None
    own = np.asarray(fits.own, dtype=float)
    expected = (data.n, data.n_classes) if data.n_classes else (data.n,)
    return own if own.shape == expected and np.isfinite(own).all() else None


def _units(folds: RowFolds) -> list[Ints]:
    """Positions among the training rows of what is left out together, in order of its key."""
    _, unit = np.unique(folds.unit_keys[folds.training], return_inverse=True)
    order = np.argsort(unit, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(unit[order])) + 1)


def _baseline(folds: RowFolds, data: TuningData) -> Floats:
    """The mean of the target over all other units."""
    _, unit = np.unique(folds.unit_keys[folds.training], return_inverse=True)
    k, w = int(unit.max()) + 1, data.w
    sums, weight = np.bincount(unit, w * data.y, k), np.bincount(unit, w, k)
    rest = weight.sum() - weight
    if (rest <= 0).any():
        raise InputError("All weight is in one row or group, which cannot be left out.")
    return np.asarray(((sums.sum() - sums) / rest)[unit])


def refuse_work(candidate: Candidate, data: TuningData, fits: int) -> None:
    """Refuse so many fits where they take more operations than a candidate may."""
    work, limit = fits * fit_work(candidate, data), candidate.share * data.work
    if work <= limit:
        return
    raise InputError(
        f"leave-one-out takes {fits} fits of {candidate.name}, about {work / limit:.2g} times the "
        f"{limit:.2g} operations that are allowed.",
        remedy="Give a number of `folds`, or a larger `effort`.",
    )


def fit_work(candidate: Candidate, data: TuningData) -> float:
    """Operations of one fit with given parameters, roughly and rather too many than too few."""
    n, d = float(data.x.shape[0]), float(data.x.shape[1])
    base = OVERHEAD + SEARCHES.get(candidate.model, 0.0)
    pairs = KERNELS.get(candidate.name)
    if pairs is not None:
        return base + pairs * n**2 * (d + 1) + (10.0 * n**3 if candidate.name == "gp" else 0.0)
    if candidate.name == NEIGHBORS:
        return base + 2.0 * n * d
    if candidate.name == "polynomial":  # products of three columns at most
        d = (d + 1) * (d + 2) * (d + 3) / 6
    passes = PASSES.get(candidate.name, USUAL_PASSES)
    return base + passes * n * (d + 1) * min(n, d + 1) * max(1, data.n_classes)

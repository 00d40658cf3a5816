"""A list of models, the simplest first, as a path: what criteria read of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection.criteria.figures import FitFigures, PathFigures, Subsets
from separatrix.selection.folds import folds_of
from separatrix.selection.refits import RefitRows, same_task


def figures_of_models(
    models: list[Any], X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
) -> PathFigures:
    """Figures of models of the same rows, from the simplest to the most complex."""
    if not models:
        raise InputError("criteria needs one model or more.", remedy="Give a list of models.")
    classes = same_task(models)
    data = None if X is None else RefitRows.of(models, X, y, sample_weight)
    fitted = [_fitted(model, data) for model in models]
    figures = [fit_figures_of(model) for model in fitted]
    parameter, values = names_of(models)
    known = next((f for f in figures if f is not None), None)
    evidence = np.array([float(getattr(m, "log_evidence_", np.nan)) for m in fitted])
    n = known.n if known is not None else _weight(data)
    reasons = {
        "evidence": "" if np.isfinite(evidence).any() else "the models have no log_evidence_.",
        "MDL": "" if _least_squares(figures) else "the closed form is that of least squares.",
        "structural risk": "" if known is not None else "the models do not state their capacity.",
    }
    folds, loss = (None, "") if data is None else _fold_losses(models, data, cv)
    freedom = _column(figures, "freedom")
    return PathFigures(
        parameter,
        values,
        -np.arange(len(models), dtype=float),
        float(n),
        freedom=None if known is None else freedom,
        log_likelihood=None if known is None else _column(figures, "log_likelihood"),
        others=0 if known is None else known.others,
        squares=None if known is None or classes else _column(figures, "squares"),
        errors=_errors(fitted, data) if classes and data is not None else None,
        subsets=_subsets(figures),
        log_evidence=evidence if np.isfinite(evidence).any() else None,
        fold_losses=folds,
        loss=loss,
        reasons={name: text for name, text in reasons.items() if text},
    )


def _fitted(model: Any, data: RefitRows | None) -> Any:
    if data is not None:
        return data.fitted(model, data.positive_weight)
    if not hasattr(model, "n_features_in_"):
        raise InputError(
            f"This {type(model).__name__} is not fitted yet.", remedy="Give the rows as X and y."
        )
    return model


def fit_figures_of(model: Any) -> FitFigures | None:
    """What a fitted model says of itself, or its path of the chosen point; None if neither."""
    if hasattr(model, "fit_figures"):
        found: FitFigures | None = model.fit_figures()
        return found
    if not hasattr(model, "path_figures"):
        return None
    path: PathFigures = model.path_figures()
    chosen = float(getattr(model, f"{path.parameter}_"))
    if path.freedom is None or path.log_likelihood is None or chosen not in path.values:
        return None
    at = path.values.index(chosen)
    squares = None if path.squares is None else float(path.squares[at])
    likelihood = float(path.log_likelihood[at])
    return FitFigures(path.n, float(path.freedom[at]), likelihood, path.others, squares)


def _weight(data: RefitRows | None) -> float:
    if data is None:
        return np.nan
    return float(len(data.y) if data.w is None else data.w.sum())


def _errors(models: list[Any], data: RefitRows) -> Floats:
    rows = data.with_loss("error rate")
    return np.array([rows.mean_loss(model, data.positive_weight) for model in models])


def _column(figures: list[FitFigures | None], name: str) -> Floats:
    values = (None if f is None else getattr(f, name) for f in figures)
    return np.array([np.nan if value is None else float(value) for value in values])


def _least_squares(figures: list[FitFigures | None]) -> bool:
    return any(f is not None and f.explained is not None for f in figures)


def _subsets(figures: list[FitFigures | None]) -> Subsets | None:
    if not _least_squares(figures):
        return None
    known = next(f for f in figures if f is not None)
    one = float(known.intercept)
    return Subsets(
        _column(figures, "freedom") - one,
        _column(figures, "squares"),
        _column(figures, "explained"),
        known.n - one,
    )


def _fold_losses(models: list[Any], data: RefitRows, cv: Any) -> tuple[Floats, str]:
    used = data.positive_weight
    codes = None if data.codes is None else data.codes[used]
    folds = folds_of(cv, len(data.y), rows=used, codes=codes, copied=lambda: data.copies(used))

    def losses(train: Any, test: Any) -> Floats:
        fits = (data.fitted(model, used[train]) for model in models)
        return np.array([data.mean_loss(fit, used[test]) for fit in fits])

    return np.stack(folds.map(losses), axis=1), data.loss


def names_of(models: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The one parameter in which models of one class differ, and its values; else class names."""
    kinds = [type(model).__name__ for model in models]
    if len(set(kinds)) == 1 and len(models) > 1:
        parameters = [model.get_params(deep=False) for model in models]
        differ = [name for name in parameters[0] if len({repr(p[name]) for p in parameters}) > 1]
        if len(differ) == 1:
            return differ[0], tuple(p[differ[0]] for p in parameters)
    if len(set(kinds)) == len(kinds):
        return "model", tuple(kinds)
    return "model", tuple(f"{kind} {i}" for i, kind in enumerate(kinds, start=1))

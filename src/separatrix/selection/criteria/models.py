"""A list of models, the simplest first, as a path: what criteria read of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.selection.criteria.figures import FitFigures, PathFigures, Subsets
from separatrix.selection.folds import folds_of

#: A probability below this counts as this.
SMALLEST = float(np.finfo(float).eps)


def figures_of_models(
    models: list[Any], X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
) -> PathFigures:
    """Figures of models of the same rows, from the simplest to the most complex."""
    if not models:
        raise InputError("criteria needs one model or more.", remedy="Give a list of models.")
    classes = is_classifier(models[0])
    if not all(is_classifier(m) if classes else is_regressor(m) for m in models):
        raise InputError(
            "These models are not all classifiers, or not all regression models.",
            remedy="Compare models of the same target.",
        )
    data = None if X is None else _Rows.of(X, y, sample_weight, classes)
    fitted = [_fitted(model, data) for model in models]
    figures = [fit_figures_of(model) for model in fitted]
    parameter, values = names_of(models)
    known = next((f for f in figures if f is not None), None)
    evidence = np.array([float(getattr(m, "log_evidence_", np.nan)) for m in fitted])
    n = known.n if known is not None else (np.nan if data is None else float(data.weights.sum()))
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


class _Rows:
    """Rows, targets and weights, and losses of models on them."""

    def __init__(self, x: Any, y: Any, w: Floats | None, classes: bool) -> None:
        self.x, self.y, self.w, self.classes = x, y, w, classes

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, classes: bool) -> _Rows:
        if y is None:
            raise InputError("A list of models is compared on X and y.", remedy="Give y too.")
        target = column_or_1d(y) if classes else column_or_1d(y, dtype=np.float64)
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return cls(X, np.asarray(target), w, classes)

    @property
    def weights(self) -> Floats:
        return unit_weights(self.w, len(self.y))

    def take(self, index: Any) -> _Rows:
        w = None if self.w is None else self.w[index]
        return _Rows(_safe_indexing(self.x, index), self.y[index], w, self.classes)

    def fit(self, model: Any) -> Any:
        given = {} if self.w is None else {"sample_weight": self.w}
        return clone(model).fit(self.x, self.y, **given)

    def losses(self, model: Any) -> Floats:
        """Squared error of each row, or −log p of its class."""
        if not self.classes:
            return np.asarray((self.y - np.ravel(model.predict(self.x))) ** 2)
        place = {label: j for j, label in enumerate(model.classes_.tolist())}
        p = np.column_stack([model.predict_proba(self.x), np.zeros(len(self.y))])
        own = np.array([place.get(label, len(place)) for label in self.y.tolist()])
        return np.asarray(-np.log(np.maximum(p[np.arange(len(own)), own], SMALLEST)))

    def wrong(self, model: Any) -> Floats:
        """1 for each row that is classified wrong."""
        return np.asarray(model.predict(self.x) != self.y, dtype=float)

    def mean(self, values: Floats) -> float:
        return float(np.average(values, weights=self.w))


def _fitted(model: Any, data: _Rows | None) -> Any:
    fitted = hasattr(model, "n_features_in_")
    if data is not None:
        return data.fit(model)
    if not fitted:
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


def _errors(models: list[Any], data: _Rows) -> Floats:
    return np.array([data.mean(data.wrong(model)) for model in models])


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


def _fold_losses(models: list[Any], data: _Rows, cv: Any) -> tuple[Floats, str]:
    used = np.flatnonzero(data.weights > 0.0)
    codes = np.unique(data.y[used], return_inverse=True)[1] if data.classes else None
    folds = folds_of(cv, len(data.y), rows=used, codes=codes)

    rates = data.classes and not all(hasattr(model, "predict_proba") for model in models)

    def losses(train: Any, test: Any) -> Floats:
        own, outside = data.take(used[train]), data.take(used[test])
        loss = outside.wrong if rates else outside.losses
        return np.array([outside.mean(loss(own.fit(model))) for model in models])

    loss = "error rate" if rates else "log loss" if data.classes else "squared error"
    return np.stack(folds.map(losses), axis=1), loss


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

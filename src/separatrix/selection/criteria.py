"""All criteria of complexity for the models along a path, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.special import gammaln

from separatrix.arrays import Floats, Ints
from separatrix.messages import InputError
from separatrix.notebook import Grid, Item, Shown
from separatrix.selection import rules
from separatrix.selection.folds import RefitRows, folds_of, same_task

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
    criteria = [_chosen(name, values(figures), figures) for name, values in by_name.items()]
    return CriteriaTable(figures, (*criteria, *_by_folds(figures)))


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
    return corrected_aic(f.log_likelihood, f.freedom + f.others, f.n)


def _description_length(f: PathFigures) -> Floats | None:
    return None if f.subsets is None else description_length(f.subsets)


def _structural_risk(f: PathFigures) -> Floats | None:
    capacity = f.freedom if f.capacity is None else f.capacity
    if capacity is None:
        return None
    if f.errors is not None:
        return classification_risk(f.errors, capacity, f.n)
    return None if f.squares is None else squared_risk(f.squares, capacity, f.n)


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
    scores = []
    for name, rule in BY_FOLDS.items():
        if f.fold_losses.shape[1] < 2 and rule is not rules.minimum:
            scores.append(Criterion(name, note="one mean for all rows has no spread over folds."))
            continue
        shown = mean if name == "cross-validation" else None
        note = f"mean {f.loss} of {f.fold_losses.shape[1]} folds." if shown is not None else ""
        scores.append(Criterion(name, shown, rule(f.simplicity, f.fold_losses), note))
    return scores


# -------------------------------------------------------------------------------------------------
# Criteria as functions of a path's figures; smaller is better, except for evidence.
#
# AICc = −2 log L + 2k + 2k(k + 1)/(n − k − 1)
# MDL  = (n−k)/2 log τ̂ + k/2 log R̂ − log Γ((n−k)/2) − log Γ(k/2) + n/2 log πn,
#        τ̂ = RSS/n,  R̂ = ‖ŷ‖²/n,  0 < k < n
# VC   = RSS/n / (1 − √(p − p log p + log n/2n))₊,    p = h/n         of squared errors
# VC   = e + √((h (log 2n/h + 1) + log 4/δ)/n)                        of classification errors


def corrected_aic(log_likelihood: Floats, freedom: Floats, n: float) -> Floats:
    """AIC for few rows; k counts every parameter, that of the noise too. +∞ where n ≤ k + 1."""
    left = n - freedom - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 2.0 * (freedom - log_likelihood) + 2.0 * freedom * (freedom + 1.0) / left
    return np.where(left <= 0.0, np.inf, value)


def description_length(subsets: Subsets) -> Floats:
    """Code length, in nats, of the normalized maximum likelihood of linear regression.

    The normalizer of the maximum likelihood is finite on τ̂ ≥ τ₀ and R̂ ≤ R₀ alone. Normalizing
    once more over these two bounds, within ranges τ₁ … τ₂ and R₁ … R₂, leaves them in a term
    log(log(τ₂/τ₁) log(R₂/R₁)) that all models share and that is left out here. Models outside of
    the ranges get NaN: without coefficients R̂ is 0, without residuals τ̂ is.
    """
    k, n = subsets.coefficients, subsets.rows
    total = subsets.squares + subsets.explained
    # Explained or residual sums of squares below this fraction of the total are rounding.
    inside = (k > 0.0) & (k < n) & (np.minimum(subsets.squares, subsets.explained) > 1e-13 * total)
    k = np.where(inside, k, 1.0)
    rest = np.where(inside, n - k, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 0.5 * (rest * np.log(subsets.squares / n) + k * np.log(subsets.explained / n))
    value = value - gammaln(0.5 * rest) - gammaln(0.5 * k) + 0.5 * n * np.log(np.pi * n)
    return np.where(inside, value, np.nan)


def squared_risk(squares: Floats, capacity: Floats, n: float) -> Floats:
    """Vapnik's bound on the mean squared error of new rows, its constants set to 1.

    +∞ where it says nothing: from about h = 0.8 n on. With these constants, chosen for their
    success (Cherkassky and Mulier), it ranks models and guarantees nothing.
    """
    p = np.clip(capacity / n, np.finfo(float).tiny, 1.0)
    shrunk = 1.0 - np.sqrt(p - p * np.log(p) + np.log(n) / (2.0 * n))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((shrunk > 0.0) & (capacity < n), squares / n / shrunk, np.inf)


def classification_risk(errors: Floats, capacity: Floats, n: float, delta: float = 0.05) -> Floats:
    """Vapnik's bound on the error rate of new rows, which holds with probability 1 − δ."""
    h = np.clip(capacity, 1e-9, n)
    return np.asarray(errors + np.sqrt((h * (np.log(2.0 * n / h) + 1.0) + np.log(4.0 / delta)) / n))


# -------------------------------------------------------------------------------------------------
# What criteria read of the models along a path: the contract between paths and criteria.
#
# A path (ridge, lasso, logistic, SVM …) has a method ``path_figures``, a single model has
# ``fit_figures``: families say what they know, and why they do not know the rest. No criterion
# inspects an estimator.


@dataclass(frozen=True)
class Subsets:
    """Least squares on subsets of the columns, one for each point of a path.

    ``coefficients`` counts them without the intercept, ``squares`` are residual sums of squares,
    ``explained`` the sums of squares of the fitted values, and ``rows`` the number of rows less
    the intercept: all about the mean where there is an intercept.
    """

    coefficients: Floats
    squares: Floats
    explained: Floats
    rows: float


@dataclass(frozen=True)
class PathFigures:
    """The models along a path of m points; None for what they do not have.

    ``values`` of ``parameter`` name the points, ``simplicity`` (m) orders them: the largest belongs
    to the simplest model. ``n`` is the number of rows, Σw.

    ``freedom`` (m) are effective degrees of freedom, intercepts included; ``others`` counts the
    parameters that all points share and ``freedom`` does not count (1 for the variance of the
    noise). ``capacity`` are VC dimensions, or what stands for them, as ``capacity_note`` says;
    ``squares`` are residual sums of squares and ``errors`` fractions of training rows that are
    classified wrong. ``fold_losses`` (m x folds) are mean losses of test rows. ``reasons`` say by
    criterion why a figure is None, or what it stands for.
    """

    parameter: str
    values: tuple[Any, ...]
    simplicity: Floats
    n: float
    freedom: Floats | None = None
    log_likelihood: Floats | None = None
    others: int = 0
    squares: Floats | None = None
    errors: Floats | None = None
    capacity: Floats | None = None
    subsets: Subsets | None = None
    log_evidence: Floats | None = None
    fold_losses: Floats | None = None
    loss: str = "squared error"
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FitFigures:
    """One fitted model: Σw, log-likelihood, degrees of freedom, and sums of squares if it has any.

    ``squares`` and ``explained`` are those of least squares, about the mean where ``intercept``.
    """

    n: float
    freedom: float
    log_likelihood: float
    others: int = 0
    squares: float | None = None
    explained: float | None = None
    intercept: bool = True


# -------------------------------------------------------------------------------------------------
# A list of models, the simplest first, as a path: what criteria read of it.


def figures_of_models(
    models: list[Any], X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
) -> PathFigures:
    """Figures of models of the same rows, from the simplest to the most complex."""
    if not models:
        raise InputError("criteria needs one model or more.", remedy="Give a list of models.")
    classes = same_task(models)
    data = None if X is None else RefitRows.of(models, X, y, sample_weight)
    fitted = [_fit_again(model, data) for model in models]
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


def _fit_again(model: Any, data: RefitRows | None) -> Any:
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
        fit_figures: FitFigures | None = model.fit_figures()
        return fit_figures
    if not hasattr(model, "path_figures"):
        return None
    path: PathFigures = model.path_figures()
    chosen = float(getattr(model, f"{path.parameter}_"))
    if path.freedom is None or path.log_likelihood is None or chosen not in path.values:
        return None
    index = path.values.index(chosen)
    squares = None if path.squares is None else float(path.squares[index])
    likelihood = float(path.log_likelihood[index])
    return FitFigures(path.n, float(path.freedom[index]), likelihood, path.others, squares)


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
    intercept = float(known.intercept)
    return Subsets(
        _column(figures, "freedom") - intercept,
        _column(figures, "squares"),
        _column(figures, "explained"),
        known.n - intercept,
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


# -------------------------------------------------------------------------------------------------
# The table of criteria: their values along a path, what each chooses, and why some do not.


@dataclass(frozen=True)
class Criterion:
    """One criterion: ``values`` along the path, the ``chosen`` point, and a note in words.

    ``values`` and ``chosen`` are None where the criterion does not apply; ``note`` says why, or
    what the values stand for.
    """

    name: str
    values: Floats | None = None
    chosen: int | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class CriteriaTable(Shown):
    """Criteria of complexity along a path, with the choice of each; prints as a table.

    Parameters
    ----------
    figures : PathFigures
        What the path says of its points: degrees of freedom, likelihoods, losses of folds.
    criteria : tuple of Criterion
        Name, values, chosen point and note of each.

    Attributes
    ----------
    choices : dict of str
        By criterion the chosen value of the parameter; None where the criterion does not apply.
    reasons : dict of str
        By criterion why it does not apply, or what its values stand for.

    See Also
    --------
    criteria : Makes one.

    References
    ----------
    K. P. Burnham and D. R. Anderson, Model Selection and Multimodel Inference, 2nd edition,
    Springer, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((60, 5))
    >>> y = x[:, 0] + 0.5 * rng.standard_normal(60)
    >>> table = sx.criteria(sx.LassoPath([0.5, 0.1, 0.02]).fit(x, y))
    >>> table.choices["BIC"], table.choices["elbow"]
    (0.1, None)
    >>> table.reasons["evidence"]
    'the prior of the lasso has no evidence in closed form.'
    """

    figures: PathFigures
    criteria: tuple[Criterion, ...]

    def __getitem__(self, name: str) -> Criterion:
        """A criterion by name."""
        return next(c for c in self.criteria if c.name == name)

    @property
    def choices(self) -> dict[str, Any]:
        """By criterion the chosen value of the parameter."""
        values = self.figures.values
        return {c.name: None if c.chosen is None else values[c.chosen] for c in self.criteria}

    @property
    def reasons(self) -> dict[str, str]:
        """By criterion why it does not apply, or what its values stand for."""
        return {c.name: c.note for c in self.criteria if c.note}

    def to_frame(self, backend: Any = None) -> Any:
        """One line a point of the path, as a dataframe (pandas if installed, else PyArrow)."""
        import narwhals as nw

        columns: dict[str, Any] = {self.figures.parameter: list(self.figures.values)}
        if self.figures.freedom is not None:
            columns["degrees_of_freedom"] = self.figures.freedom
        columns |= {c.name: c.values for c in self._valued}
        if backend is None:
            backend = "pandas" if find_spec("pandas") is not None else "pyarrow"
        return nw.from_dict(columns, backend=backend).to_native()

    @property
    def _valued(self) -> list[Criterion]:
        return [c for c in self.criteria if c.values is not None]

    def _display(self) -> list[Item]:
        """The values along the path, and the choice of each criterion."""
        chosen = [
            (c.name, "–" if c.chosen is None else self._label_of(c.chosen), c.note)
            for c in self.criteria
        ]
        heads = ("criterion", self.figures.parameter, "")
        return [self._grid(), Grid(heads, chosen, left=frozenset({0, 2}))]

    def _label_of(self, point: int) -> str:
        return _label(self.figures.values[point])

    def _grid(self) -> Grid:
        valued, shown = self._valued, self._shown()
        heads = [self.figures.parameter, "df", *(c.name for c in valued)]
        freedom = self.figures.freedom
        lines = []
        for i in shown:
            df = "–" if freedom is None else _number(freedom[i])
            marks = ["*" if c.chosen == i else "" for c in valued]
            cells = [_number(_values(c)[i]) for c in valued]
            cells_marked = [f"{cell}{mark}" for cell, mark in zip(cells, marks, strict=True)]
            lines.append([_label(self.figures.values[i]), df, *cells_marked])
        return Grid(heads, lines)

    def __str__(self) -> str:
        grid, shown = self._grid(), self._shown()
        text = _align_table([list(line) for line in (grid.heads, *grid.lines)])
        if len(shown) < len(self.figures.values):
            text.append(f"{len(self.figures.values) - len(shown)} points between are not shown.")
        return "\n".join([*text, "", *self._choices()])

    def _shown(self) -> Ints:
        m = len(self.figures.values)
        # Points of a long path that are printed, beside those that are chosen.
        evenly = np.linspace(0, m - 1, min(m, 12)).round().astype(np.int64)
        chosen = [c.chosen for c in self.criteria if c.chosen is not None]
        order = np.argsort(-self.figures.simplicity, kind="stable")
        place = np.empty(m, dtype=np.int64)
        place[order] = np.arange(m)
        return np.asarray(order[np.unique(np.concatenate([evenly, place[chosen]]).astype(int))])

    def _choices(self) -> list[str]:
        from textwrap import fill

        width = max(len(c.name) for c in self.criteria) + 2
        lines = []
        for c in self.criteria:
            what = "–"
            if c.chosen is not None:
                what = f"{self.figures.parameter} = {self._label_of(c.chosen)}"
            sentence = f"{what}   {c.note}".rstrip()
            # Columns of the printed text.
            lines.append(
                fill(
                    f"{c.name:<{width}}{sentence}",
                    100,
                    subsequent_indent=" " * width,
                    drop_whitespace=True,
                )
            )
        return lines


def _values(criterion: Criterion) -> Floats:
    assert criterion.values is not None
    return criterion.values


def _number(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "∞" if np.isposinf(value) else f"{value:.5g}"


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _align_table(rows: list[list[str]]) -> list[str]:
    # a mark of the choice does not move the digits above and below it
    padded = [[cell if cell.endswith("*") else f"{cell} " for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*padded, strict=True)]
    lines = (
        "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in padded
    )
    return list(lines)

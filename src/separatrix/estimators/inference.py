"""Wald inference on coefficients, shared by least squares and maximum likelihood.

    statistic = b / se,    p = 2 P(law > |statistic|),    interval = b ± quantile · se

The law is Student's for least squares and the normal one for maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.notebook import Grid, Item, Sentence, Shown
from separatrix.rows.schema import Encoding


@dataclass(frozen=True)
class ModelQuality:
    """The whole of a fit: R² adjusted for its parameters, the F test of all of them, AIC and BIC.

    ``degrees_of_freedom`` are those of the residuals.
    """

    adjusted_r_squared: float
    f_statistic: float
    f_p_value: float
    degrees_of_freedom: float
    aic: float
    bic: float


@dataclass(frozen=True)
class Diagnostics:
    """Goodness of fit of a regression, and one number per training row where those are known."""

    r_squared: float | None = None
    sigma: float | None = None
    residuals: Floats | None = None
    fitted: Floats | None = None
    leverage: Floats | None = None
    cooks_distance: Floats | None = None
    quality: ModelQuality | None = None


@dataclass(frozen=True, repr=False)
class CoefficientTable(Shown):
    """Estimates with standard errors, test statistics, p values and confidence intervals.

    Vectors start with the intercept where there is one. Coefficients that linearly dependent
    columns leave undetermined have NaN for a standard error. ``letter`` names the statistic.
    """

    letter: ClassVar[str] = "t"

    names: tuple[str, ...]
    estimates: Floats
    standard_errors: Floats
    law: Any = field(repr=False, compare=False)
    level: float

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level={self.level!r} must be between 0 and 1.")

    @cached_property
    def statistics(self) -> Floats:
        """b / se."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.estimates / self.standard_errors

    @cached_property
    def p_values(self) -> Floats:
        """Two-sided p values of b = 0."""
        return np.asarray(2 * self.law.sf(np.abs(self.statistics)))

    @cached_property
    def intervals(self) -> Floats:
        """Confidence intervals (p x 2)."""
        half = self.law.isf((1 - self.level) / 2) * self.standard_errors
        return np.stack([self.estimates - half, self.estimates + half], axis=1)

    def extra_columns(self) -> dict[str, Floats]:
        """Further columns of the table by name; none unless a subclass has them."""
        return {}

    def diagnostics(self) -> Diagnostics:
        """Diagnostics of the fit; none unless a subclass has them."""
        return Diagnostics()

    def to_frame(self, backend: Any = None) -> Any:
        """One line per coefficient, as a dataframe (pandas if installed, else PyArrow)."""
        import narwhals as nw

        columns: dict[str, Any] = {
            "term": list(self.names),
            "estimate": self.estimates,
            "standard_error": self.standard_errors,
            self.letter: self.statistics,
            "p": self.p_values,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            **self.extra_columns(),
        }
        if backend is None:
            backend = "pandas" if find_spec("pandas") is not None else "pyarrow"
        return nw.from_dict(columns, backend=backend).to_native()

    def fit_lines(self) -> list[str]:
        """Sentences on the whole fit, below the table; none unless a subclass has them."""
        return []

    def grid(self) -> Grid:
        """The table: one line per coefficient."""
        extra = {name.replace("_", " "): column for name, column in self.extra_columns().items()}
        heads = ("term", "estimate", "std error", self.letter, "p", *extra, self._interval_head)
        lines = []
        for i, name in enumerate(self.names):
            low, high = self.intervals[i]
            cells = [
                name,
                f"{self.estimates[i]:.6g}",
                _or_dash(self.standard_errors[i], ".6g"),
                _or_dash(self.statistics[i], ".3f"),
                p_text(self.p_values[i]),
                *(_or_dash(column[i], ".5g") for column in extra.values()),
                "–" if np.isnan(low) else f"[{low:.6g}, {high:.6g}]",
            ]
            lines.append(cells)
        return Grid(heads, lines, left=frozenset({0, len(heads) - 1}))

    @property
    def _interval_head(self) -> str:
        return f"{100 * self.level:g} % interval"

    def _display(self) -> list[Item]:
        """The table, and the sentences on the fit."""
        return [self.grid(), *(Sentence(line) for line in self.fit_lines())]

    def __str__(self) -> str:
        grid = self.grid()
        names = max([len(name) for name in self.names] + [4])
        extra = [max(len(head), 7) + 1 for head in grid.heads[5:-1]]
        widths = [12, 12, 9, 9, *extra]
        lines = []
        for first, *cells, interval in (grid.heads, *grid.lines):
            middle = "".join(f" {c:>{w}}" for c, w in zip(cells, widths, strict=True))
            lines.append(f"{first:<{names}}{middle}   {interval}")
        return "\n".join([*lines, "", *self.fit_lines()])


def _or_dash(value: float, layout: str) -> str:
    """A number, or a dash where it is not defined."""
    return "–" if np.isnan(value) else format(value, layout)


def no_summary(reason: str) -> NoReturn:
    """Refuse inference where its theory does not hold, and say why."""
    raise InputError(f"No summary: {reason}")


def p_text(p: float) -> str:
    """A p value as a table shows it: never zero."""
    if np.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_phrase(p: float) -> str:
    """A p value in a sentence: ``p = 0.012``, ``p < 0.001``."""
    return f"p {p_text(p)}" if p < 0.001 else f"p = {p_text(p)}"


# -------------------------------------------------------------------------------------------------
# Coefficients of a fitted model with their inference, or the reason why there is none.


@dataclass(frozen=True)
class Inference(Diagnostics):
    """Coefficients by name, without the intercept, each with its 95 % interval if there is one.

    ``t_values`` are estimates by their standard errors, called by the ``letter`` of their law.
    ``variance_inflation`` are those factors of least squares, ``quality`` its tests as a whole.
    ``reason`` says why intervals are missing; arrays with one number per training row are None
    where the model does not keep its rows.
    """

    _: KW_ONLY
    names: tuple[str, ...]
    estimates: Floats
    intercept: float | None = None
    intervals: Floats | None = None
    standard_errors: Floats | None = None
    t_values: Floats | None = None
    p_values: Floats | None = None
    intercept_row: tuple[float, ...] | None = None
    reason: str = ""
    letter: str = "t"
    variance_inflation: Floats | None = None


@runtime_checkable
class FittedLinearModel(Protocol):
    """A fitted linear model, of this library or of scikit-learn."""

    coef_: Floats
    intercept_: Any


@runtime_checkable
class SupportsSummary(Protocol):
    """A model with inference: ``summary`` raises InputError where its theory does not hold."""

    def summary(self) -> CoefficientTable:
        """Estimates, standard errors, tests and confidence intervals."""


@runtime_checkable
class SupportsTermNames(Protocol):
    """A model of functions of the columns, each with a name."""

    term_names_: tuple[str, ...]


@runtime_checkable
class SupportsEncoding(Protocol):
    """A model that stores how it encodes the columns of a table."""

    encoding_: Encoding


@runtime_checkable
class SupportsFeatureNames(Protocol):
    """A model fitted to a table with column names, by scikit-learn's convention."""

    feature_names_in_: NDArray[Any]


def inference(model: object) -> Inference | None:
    """The summary of a linear model; where it refuses, the bare coefficients and the reason.

    None where the model has no coefficient vector, or one for each of several outputs.
    """
    if not isinstance(model, FittedLinearModel):
        return None
    coef = np.asarray(model.coef_, dtype=float)
    if coef.ndim == 2 and coef.shape[0] == 1:
        coef = coef[0]
    if coef.ndim != 1:
        return None
    constant = np.ravel(model.intercept_)
    intercept = float(constant[0]) if constant.size == 1 else None
    bare = Inference(names=names_of(model, coef.size), estimates=coef, intercept=intercept)
    if not isinstance(model, SupportsSummary):
        kind = type(model).__name__
        return replace(bare, reason=f"No theory of standard errors is offered for {kind}.")
    try:
        return _from_summary(model.summary(), bare)
    except InputError as refusal:
        return replace(bare, reason=str(refusal))


def names_of(model: object, count: int) -> tuple[str, ...]:
    """The names of ``count`` coefficients: terms, columns of the design, or x0, x1, …."""
    names: Sequence[str] | NDArray[Any] = ()
    if isinstance(model, SupportsTermNames):
        names = model.term_names_
    elif isinstance(model, SupportsEncoding):
        names = model.encoding_.names
    elif isinstance(model, SupportsFeatureNames):
        names = model.feature_names_in_
    if len(names) != count:
        return tuple(f"x{j}" for j in range(count))
    return tuple(str(name) for name in names)


def _from_summary(summary: CoefficientTable, bare: Inference) -> Inference:
    """Split the intercept, which comes first where there is one, from the rest."""
    skip = summary.estimates.size - bare.estimates.size
    columns = (
        summary.estimates,
        summary.standard_errors,
        summary.statistics,
        summary.p_values,
        summary.intervals[:, 0],
        summary.intervals[:, 1],
    )
    names = summary.names[skip:]
    vif = summary.extra_columns().get("VIF")
    return Inference(
        **vars(summary.diagnostics()),
        names=names if len(names) == bare.estimates.size else bare.names,
        estimates=summary.estimates[skip:],
        intercept=float(summary.estimates[0]) if skip else None,
        intervals=summary.intervals[skip:],
        standard_errors=summary.standard_errors[skip:],
        t_values=summary.statistics[skip:],
        p_values=summary.p_values[skip:],
        intercept_row=tuple(float(column[0]) for column in columns) if skip else None,
        letter=summary.letter,
        variance_inflation=None if vif is None else vif[skip:],
    )

"""Wald inference on coefficients, shared by least squares and maximum likelihood.

    statistic = b / se,    p = 2 P(law > |statistic|),    interval = b ± quantile · se

The law is Student's for least squares and the normal one for maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, NoReturn

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats


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


@dataclass(frozen=True)
class CoefficientTable:
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

    def table_lines(self) -> list[str]:
        """The table as text: a line of headings, then one line per coefficient."""
        width = max([len(name) for name in self.names] + [4])
        extra = {name.replace("_", " "): column for name, column in self.extra_columns().items()}
        heads = "".join(f" {name:>{max(len(name), 7) + 1}}" for name in extra)
        lines = [
            f"{'term':<{width}} {'estimate':>12} {'std error':>12} {self.letter:>9} {'p':>9}"
            f"{heads}   {100 * self.level:g} % interval"
        ]
        for i, name in enumerate(self.names):
            low, high = self.intervals[i]
            cells = "".join(
                f" {_or_dash(column[i], '.5g'):>{max(len(head), 7) + 1}}"
                for head, column in extra.items()
            )
            error, statistic = self.standard_errors[i], self.statistics[i]
            lines.append(
                f"{name:<{width}} {self.estimates[i]:>12.6g} {_or_dash(error, '.6g'):>12} "
                f"{_or_dash(statistic, '.3f'):>9} {p_text(self.p_values[i]):>9}{cells}"
                f"   {'–' if np.isnan(low) else f'[{low:.6g}, {high:.6g}]'}"
            )
        return lines


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

"""Inference on the coefficients of least squares: standard errors, tests, intervals, influence.

    Var b = σ²(XᵀX)⁻¹,    σ̂² = Σ w r² / (Σ w − p),    t = b / se ~ Student(Σ w − p)

A weight counts as that many equal rows, here as everywhere in the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.inference import (
    CoefficientTable,
    Diagnostics,
    ModelQuality,
    no_summary,
    p_phrase,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, LeastSquares
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class FitStatistics:
    """Sufficient statistics of a least-squares fit for inference on its coefficients.

    ``inverse`` is a generalized inverse of XᵀX over (1, x) or x; ``total`` is Σ w (y − ȳ)² per
    target (about 0 where there is no intercept) and ``scatter`` Σ w (x − x̄)² per column, empty
    where the columns of the table are not those of the fit.
    """

    inverse: Floats
    identified: NDArray[np.bool_]
    rss: Floats
    total: Floats
    center: Floats
    weight: float
    parameters: int
    scatter: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_solution(
        cls, solution: LeastSquares, m: Moments, *, fit_intercept: bool
    ) -> FitStatistics:
        """From a solution and the moments of its rows."""
        about = m if fit_intercept else m.about_origin()
        return cls(
            solution.inverse,
            solution.identified,
            solution.rss,
            np.diag(about.yy).copy(),
            m.x_mean.copy(),
            m.weight,
            solution.rank + int(fit_intercept),
            np.diag(about.xx).copy(),
        )


@dataclass(frozen=True)
class Summary(CoefficientTable):
    """Coefficients of least squares with their inference; prints as a table.

    ``variance_inflation`` of a coefficient is 1 / (1 − R²) of its column on the others: the factor
    by which they inflate its variance (VIF); NaN for the intercept.
    """

    r_squared: float
    adjusted_r_squared: float
    sigma: float
    degrees_of_freedom: float
    observations: float
    condition: float
    log_likelihood: float
    aic: float
    bic: float
    f_statistic: float
    f_p_value: float
    certificate: str
    variance_inflation: Floats
    _influence: Influence | None = field(default=None, repr=False, compare=False)

    @property
    def t_values(self) -> Floats:
        """b / se."""
        return self.statistics

    @property
    def residuals(self) -> Floats:
        """y − ŷ of the training rows."""
        return self._rows().residuals

    @property
    def fitted(self) -> Floats:
        """ŷ of the training rows."""
        return self._rows().fitted

    @property
    def leverage(self) -> Floats:
        """hᵢ = wᵢ xᵢᵀ(XᵀX)⁻¹xᵢ, the derivative of ŷᵢ with respect to yᵢ (0 to 1)."""
        return self._rows().leverage

    @property
    def cooks_distance(self) -> Floats:
        """How far all fitted values move when row i is left out, in units of p·σ̂²."""
        return self._rows().cooks_distance

    def extra_columns(self) -> dict[str, Floats]:
        """Variance inflation factors."""
        known = np.isfinite(self.variance_inflation).any()
        return {"VIF": self.variance_inflation} if known else {}

    def diagnostics(self) -> Diagnostics:
        """R², σ̂, tests of the whole model, and what belongs to rows if those are known."""
        rows, quality = self._influence, self._quality()
        if rows is None:
            return Diagnostics(self.r_squared, self.sigma, quality=quality)
        each = (rows.residuals, rows.fitted, rows.leverage, rows.cooks_distance)
        return Diagnostics(self.r_squared, self.sigma, *each, quality)

    def _quality(self) -> ModelQuality:
        return ModelQuality(
            self.adjusted_r_squared,
            self.f_statistic,
            self.f_p_value,
            self.degrees_of_freedom,
            self.aic,
            self.bic,
        )

    def _rows(self) -> Influence:
        if self._influence is None:
            raise InputError(
                "Leverage, Cook's distance and residuals belong to rows, and this model no longer "
                "has its training rows.",
                remedy="Call summary(X, y) with them.",
            )
        return self._influence

    def __str__(self) -> str:
        lines = [
            *self.table_lines(),
            "",
            f"R² {self.r_squared:.6g} (adjusted {self.adjusted_r_squared:.6g}), "
            f"σ̂ {self.sigma:.6g} on {self.degrees_of_freedom:g} degrees of freedom, "
            f"F {self.f_statistic:.6g} ({p_phrase(self.f_p_value)})",
            f"AIC {self.aic:.6g}, BIC {self.bic:.6g}, condition number {self.condition:.3g}",
            self.certificate,
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Influence:
    """Influence of single rows on the fit: residuals, leverage, Cook's distance."""

    block: Block
    coef: Floats
    intercept: float
    output: int
    statistics: FitStatistics
    sigma2: float

    @cached_property
    def fitted(self) -> Floats:
        """ŷ."""
        return self.block.matvec(self.coef) + self.intercept

    @cached_property
    def residuals(self) -> Floats:
        """y − ŷ."""
        return np.asarray(self.block.y[:, self.output] - self.fitted)

    @cached_property
    def leverage(self) -> Floats:
        """Diagonal of the hat matrix, in blocks."""
        d = self.block.x.shape[1]
        with_intercept = len(self.statistics.inverse) > d
        inverse = self.statistics.inverse[-d:, -d:] if d else np.zeros((0, 0))
        h = np.empty(self.block.n)
        for start in range(0, self.block.n, 8192):
            z = self.block.dense(start, start + 8192)
            if with_intercept:
                z = z - self.statistics.center
            h[start : start + 8192] = np.einsum("ij,ij->i", z @ inverse, z)
        if with_intercept:
            h += 1.0 / self.statistics.weight
        return np.clip(h if self.block.w is None else h * self.block.w, 0.0, 1.0)

    @cached_property
    def cooks_distance(self) -> Floats:
        """D = w r² h / (p σ̂² (1 − h)²)."""
        w = 1.0 if self.block.w is None else self.block.w
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = w * self.residuals**2 * self.leverage / (1.0 - self.leverage) ** 2
            return np.asarray(ratio / (self.statistics.parameters * self.sigma2))


class InferenceMixin:
    """``summary()`` for models that are least squares in their coefficients."""

    coef_: Floats
    intercept_: Any
    certificate_: Certificate
    encoding_: Encoding
    fit_statistics_: FitStatistics | None
    positive: bool = False
    _rows: Rows | None = None

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        level: float = 0.95,
        output: int = 0,
    ) -> Summary:
        """Estimates, standard errors, t, p, intervals and fit; ``output`` selects one of several.

        Leverage and Cook's distance need the training rows: those of the last ``fit`` in this
        process, or ``X, y`` given here.
        """
        check_is_fitted(self)
        rows = self._rows if X is None else self._summary_rows(X, y, sample_weight)
        return summarize(self, rows, level, output)

    def _summary_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows over which leverages are computed."""
        return self._training_rows(X, y, sample_weight, reset=False)  # type: ignore[attr-defined,no-any-return]

    def _influence(self, rows: Rows, output: int, sigma2: float) -> Influence | None:
        """The influence of the rows on one output."""
        assert self.fit_statistics_ is not None
        coef, intercept = np.atleast_2d(self.coef_)[output], np.atleast_1d(self.intercept_)[output]
        return Influence(
            rows.collect(), coef, float(intercept), output, self.fit_statistics_, sigma2
        )

    def _term_names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return tuple(self.encoding_.names)


def summarize(model: InferenceMixin, rows: Rows | None, level: float, output: int) -> Summary:
    """Build the :class:`Summary` of one output of a fitted model."""
    if model.positive:
        no_summary("estimates of coefficients constrained to be ≥ 0 are not normally distributed.")
    e = model.fit_statistics_
    if e is None:
        no_summary("with fewer rows than columns there are no residual degrees of freedom.")
    coef, intercept = np.atleast_2d(model.coef_)[output], np.atleast_1d(model.intercept_)[output]
    freedom = e.weight - e.parameters
    if freedom <= 0:
        raise InputError(
            f"{e.weight:g} rows (weights counted as rows) leave no degrees of freedom "
            f"for {e.parameters} coefficients: their standard errors are not defined.",
            remedy="Use more rows, fewer columns, or weights that sum to the number of rows.",
        )
    with_intercept = len(e.inverse) > len(coef)
    estimates = np.append(intercept, coef) if with_intercept else coef.copy()
    rss, total = e.rss[output], e.total[output]
    sigma2 = float(rss / freedom)
    error = np.where(e.identified, np.sqrt(np.maximum(np.diag(e.inverse), 0) * sigma2), np.nan)
    regressors = max(e.parameters - int(with_intercept), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1.0 - rss / total
        f = (total - rss) / regressors / sigma2
        likelihood = -0.5 * e.weight * (np.log(2 * np.pi * rss / e.weight) + 1)
    return Summary(
        names=("intercept",) * with_intercept + model._term_names(),
        estimates=estimates,
        standard_errors=error,
        law=stats.t(freedom),
        level=level,
        r_squared=float(r2),
        adjusted_r_squared=float(1 - (1 - r2) * (e.weight - with_intercept) / freedom),
        sigma=float(np.sqrt(sigma2)),
        degrees_of_freedom=float(freedom),
        observations=e.weight,
        condition=model.certificate_.condition,
        log_likelihood=float(likelihood),
        aic=float(-2 * likelihood + 2 * e.parameters),
        bic=float(-2 * likelihood + np.log(e.weight) * e.parameters),
        f_statistic=float(f),
        f_p_value=float(stats.f.sf(f, regressors, freedom)),
        certificate=str(model.certificate_),
        variance_inflation=_variance_inflation(e, with_intercept),
        _influence=None if rows is None else model._influence(rows, output, sigma2),
    )


def _variance_inflation(e: FitStatistics, with_intercept: bool) -> Floats:
    """Σ w (x − x̄)² [(XᵀX)⁻¹]ⱼⱼ = 1 / (1 − Rⱼ²), the first entry being that of the intercept."""
    first = int(with_intercept)
    vif = np.full(len(e.inverse), np.nan)
    if e.scatter.size == len(e.inverse) - first:
        vif[first:] = np.diag(e.inverse)[first:] * e.scatter
    return np.where(e.identified, vif, np.nan)

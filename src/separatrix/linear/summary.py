"""Inference on the coefficients of least squares: standard errors, tests, intervals, influence.

    Var b = σ²(XᵀX)⁻¹,    σ̂² = Σ w r² / (Σ w − p),    t = b / se ~ Student(Σ w − p)

A weight counts as that many equal rows, here as everywhere in the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.inference import (
    CoefficientTable,
    Diagnostics,
    ModelQuality,
    no_summary,
    p_phrase,
)
from separatrix.linear.influence import COVARIANCES, FitStatistics, Influence
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.selection.criteria.figures import FitFigures
from separatrix.selection.rules import gaussian_log_likelihood


class FTest(NamedTuple):
    """F statistic of nested models, its p value, and the degrees of freedom of both sums."""

    statistic: float
    p_value: float
    degrees_of_freedom: tuple[float, float]


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

    @property
    def studentized_residuals(self) -> Floats:
        """r / (σ̂ √(1 − h)), of variance one (internally studentized)."""
        return self._rows().studentized

    @property
    def external_residuals(self) -> Floats:
        """Externally studentized residuals, with the σ̂ of the other rows: Student's t."""
        return self._rows().externally_studentized

    @property
    def dffits(self) -> Floats:
        """By how many standard errors ŷᵢ moves when row i is left out."""
        return self._rows().dffits

    def f_test(self, smaller: Summary) -> FTest:
        """Whether this model explains more than ``smaller``, one with some of its columns.

        F = (RSS₀ − RSS₁)/q / σ̂², with q coefficients fewer in the smaller model of the same rows.
        """
        if not isinstance(smaller, Summary):
            raise InputError(
                f"f_test compares summaries, and {type(smaller).__name__} is none.",
                remedy="Call larger.summary().f_test(smaller.summary()).",
            )
        q = smaller.degrees_of_freedom - self.degrees_of_freedom
        rss, larger_rss = (m.sigma**2 * m.degrees_of_freedom for m in (self, smaller))
        same = np.isclose(self.observations, smaller.observations, rtol=1e-12)
        if not (q > 0 and same and larger_rss >= rss * (1 - 1e-9)):
            raise InputError(
                "The models are not nested: the other one must have fewer coefficients, and the "
                "same rows.",
                remedy="Call larger.summary().f_test(smaller.summary()).",
            )
        statistic = max(larger_rss - rss, 0.0) / q / self.sigma**2
        p = float(stats.f.sf(statistic, q, self.degrees_of_freedom))
        return FTest(float(statistic), p, (float(q), self.degrees_of_freedom))

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


class InferenceMixin:
    """``summary()`` for models that are least squares in their coefficients."""

    coef_: Floats
    intercept_: Any
    certificate_: Certificate
    encoding_: Encoding
    fit_statistics_: FitStatistics | None
    positive: bool = False
    _rows: Rows | None = None
    _has_robust_errors = True

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        level: float = 0.95,
        output: int = 0,
        covariance: str = "classical",
    ) -> Summary:
        """Estimates, standard errors, t, p, intervals and fit; ``output`` selects one of several.

        Leverage, Cook's distance, studentized residuals and DFFITS need the training rows: those
        of the last ``fit`` in this process, or ``X, y`` given here. So do standard errors that
        hold if the rows have different variances: ``covariance`` is "classical" or "HC0" to "HC3"
        (White; MacKinnon and White), compared with Student's t as the classical ones are.
        """
        check_is_fitted(self)
        rows = self._rows if X is None else self._summary_rows(X, y, sample_weight)
        found = summarize(self, rows, level, output, as_fitted=X is None)
        check_option("covariance", covariance, COVARIANCES)
        if covariance == "classical":
            return found
        if not self._has_robust_errors:
            no_summary(f"covariance={covariance!r} is that of LinearRegression.")
        errors = found._rows().robust_errors(covariance)
        known = np.isfinite(found.standard_errors)
        return replace(found, standard_errors=np.where(known, errors, np.nan))

    def predict_interval(
        self, X: Any, *, level: float = 0.95, kind: str = "prediction", output: int = 0
    ) -> Floats:
        """Intervals (n x 2) for new rows, under normal errors of equal variance.

        ŷ ± t σ̂ √(h + 1) covers the target of a new row with probability ``level`` ("prediction"),
        ŷ ± t σ̂ √h its expectation ("confidence"), h = xᵀ(XᵀX)⁻¹x.
        """
        check_option("kind", kind, ("prediction", "confidence"))
        check_is_fitted(self)
        found = summarize(self, None, level, output)
        if not np.isfinite(found.standard_errors).all():
            no_summary(
                "the columns are linearly dependent, and a new row need not share the dependence. "
                "Leave out the dependent columns."
            )
        rows = self._new_rows(X)
        new = self._influence(rows, output, found.sigma**2, as_fitted=False)
        if new is None:
            no_summary("this model keeps no statistics for intervals.")
        half = found.law.isf((1 - level) / 2) * found.sigma
        half = half * np.sqrt(np.maximum(new.single_leverage, 0.0) + (kind == "prediction"))
        return np.stack([new.fitted - half, new.fitted + half], axis=1)

    def fit_figures(self) -> FitFigures | None:
        """What :func:`criteria` reads of a fit of one target; None where it has no likelihood."""
        e = self.fit_statistics_
        if e is None or self.positive or len(e.rss) != 1:
            return None
        rss = float(e.rss[0])
        return FitFigures(
            e.weight,
            float(e.parameters),
            float(gaussian_log_likelihood(e.rss, e.weight)[0]),
            others=1,
            squares=rss,
            explained=max(float(e.total[0]) - rss, 0.0),
            intercept=len(e.inverse) > np.atleast_2d(self.coef_).shape[1],
        )

    def _summary_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows over which leverages are computed."""
        return self._training_rows(X, y, sample_weight, reset=False)  # type: ignore[attr-defined,no-any-return]

    def _new_rows(self, X: Any) -> Rows:
        """New rows in the columns of the fit, with targets of zero."""
        x = self._design(X)  # type: ignore[attr-defined]
        return ArrayRows(x, np.zeros((x.shape[0], len(np.atleast_2d(self.coef_)))), None)

    def _influence(
        self, rows: Rows, output: int, sigma2: float, *, as_fitted: bool
    ) -> Influence | None:
        """The influence of the rows on one output."""
        e = self.fit_statistics_
        assert e is not None
        coef, intercept = np.atleast_2d(self.coef_)[output], np.atleast_1d(self.intercept_)[output]
        block = rows.collect()
        return Influence(block, coef, float(intercept), output, e, sigma2, as_fitted)

    def _term_names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return tuple(self.encoding_.names)


def summarize(
    model: InferenceMixin, rows: Rows | None, level: float, output: int, *, as_fitted: bool = False
) -> Summary:
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
        _influence=None
        if rows is None
        else model._influence(rows, output, sigma2, as_fitted=as_fitted),
    )


def _variance_inflation(e: FitStatistics, with_intercept: bool) -> Floats:
    """Σ w (x − x̄)² [(XᵀX)⁻¹]ⱼⱼ = 1 / (1 − Rⱼ²), the first entry being that of the intercept."""
    first = int(with_intercept)
    vif = np.full(len(e.inverse), np.nan)
    if e.scatter.size == len(e.inverse) - first:
        vif[first:] = np.diag(e.inverse)[first:] * e.scatter
    return np.where(e.identified, vif, np.nan)

"""Inference on least squares: standard errors, tests, and the influence of single rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import inference
from separatrix.messages import InputError, check_option
from separatrix.optimize.convex import Certificate, LeastSquares
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Block, Encoding, unit_weights
from separatrix.selection.criteria import FitFigures
from separatrix.selection.leave_one_out import AffineFits, affine_fits
from separatrix.selection.rules import gaussian_log_likelihood
from separatrix.statistics.moments import Moments
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Inference on the coefficients of least squares: standard errors, tests, intervals, influence.
#
#     Var b = σ²(XᵀX)⁻¹,    σ̂² = Σ w r² / (Σ w − p),    t = b / se ~ Student(Σ w − p)
#
# A weight counts as that many equal rows, here as everywhere in the library.


class FTest(NamedTuple):
    """F statistic of nested models, its p value, and the degrees of freedom of both sums."""

    statistic: float
    p_value: float
    degrees_of_freedom: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Summary(inference.CoefficientTable):
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
        """r / (σ̂ √(1 − h)), of variance one (internally studentized).

        h is the leverage of one of the w rows that a weight stands for: their errors are not one.
        """
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

    def diagnostics(self) -> inference.Diagnostics:
        """R², σ̂, tests of the whole model, and what belongs to rows if those are known."""
        rows, quality = self._influence, self._quality()
        if rows is None:
            return inference.Diagnostics(self.r_squared, self.sigma, quality=quality)
        each = (rows.residuals, rows.fitted, rows.leverage, rows.cooks_distance)
        return inference.Diagnostics(self.r_squared, self.sigma, *each, quality)

    def _quality(self) -> inference.ModelQuality:
        return inference.ModelQuality(
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

    def fit_lines(self) -> list[str]:
        """Quality of the fit, and its certificate."""
        return [
            f"R² {self.r_squared:.6g} (adjusted {self.adjusted_r_squared:.6g}), "
            f"σ̂ {self.sigma:.6g} on {self.degrees_of_freedom:g} degrees of freedom, "
            f"F {self.f_statistic:.6g} ({inference.p_phrase(self.f_p_value)})",
            f"AIC {self.aic:.6g}, BIC {self.bic:.6g}, condition number {self.condition:.3g}",
            self.certificate,
        ]


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
        (White; MacKinnon and White), compared with Student's t as the classical ones are. A row of
        weight w is w rows with errors of their own: HC2 and HC3 leave out one of them, as least
        squares of the repeated rows does. (``freq_weights`` of statsmodels give HC0 for each.)
        """
        check_is_fitted(self)
        rows = self._rows if X is None else self._summary_rows(X, y, sample_weight)
        table = summarize(self, rows, level, output, as_fitted=X is None)
        check_option("covariance", covariance, COVARIANCES)
        if covariance == "classical":
            return table
        if not self._has_robust_errors:
            inference.no_summary(f"covariance={covariance!r} is that of LinearRegression.")
        errors = table._rows().robust_errors(covariance)
        known = np.isfinite(table.standard_errors)
        return replace(table, standard_errors=np.where(known, errors, np.nan))

    @on_one_blas_thread
    def predict_interval(
        self, X: Any, *, level: float = 0.95, kind: str = "prediction", output: int = 0
    ) -> Floats:
        """Intervals (n x 2) for new rows, under normal errors of equal variance.

        ŷ ± t σ̂ √(h + 1) covers the target of a new row with probability ``level`` ("prediction"),
        ŷ ± t σ̂ √h its expectation ("confidence"), h = xᵀ(XᵀX)⁻¹x.
        """
        check_option("kind", kind, ("prediction", "confidence"))
        check_is_fitted(self)
        table = summarize(self, None, level, output)
        if not np.isfinite(table.standard_errors).all():
            inference.no_summary(
                "the columns are linearly dependent, and a new row need not share the dependence. "
                "Leave out the dependent columns."
            )
        rows = self._new_rows(X)
        new = self._influence(rows, output, table.sigma**2, as_fitted=False)
        if new is None:
            inference.no_summary("this model keeps no statistics for intervals.")
        half = table.law.isf((1 - level) / 2) * table.sigma
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
        return self._valid_rows(X, y, sample_weight, reset=False)  # type: ignore[attr-defined,no-any-return]

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
        inference.no_summary(
            "estimates of coefficients constrained to be ≥ 0 are not normally distributed."
        )
    e = model.fit_statistics_
    if e is None:
        inference.no_summary(
            "with fewer rows than columns there are no residual degrees of freedom."
        )
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


# -------------------------------------------------------------------------------------------------
# Influence of single rows on a least-squares fit, from its sufficient statistics.
#
#     h = xᵀ(XᵀX)⁻¹x,   t = r / (σ̂ √(1 − h)),   t₍ᵢ₎ = r / (σ̂₍ᵢ₎ √(1 − h)),
#     DFFITS = t₍ᵢ₎ √(h/(1 − h))
#
# A row of weight w stands for w equal rows, one of which is left out.


#: Covariances of the coefficients: the classical one, and those that hold if variances differ.
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3")


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
class Influence:
    """Influence of single rows on the fit: residuals, leverage, Cook's distance, DFFITS.

    ``as_fitted`` are rows that must still be those of the fit: they may have been changed in place.
    """

    block: Block
    coef: Floats
    intercept: float
    output: int
    statistics: FitStatistics
    sigma2: float
    as_fitted: bool = False

    @cached_property
    def fitted(self) -> Floats:
        """ŷ."""
        predictions = self.block.matvec(self.coef) + self.intercept
        if self.as_fitted:
            self._refuse_changed(predictions)
        return predictions

    def _refuse_changed(self, fitted: Floats) -> None:
        """Raise unless means and residual sum of squares are those of the fit."""
        e, w = self.statistics, unit_weights(self.block.w, self.block.n)
        rss = float(w @ (self.block.y[:, self.output] - fitted) ** 2)
        rounding = 1e-7 * e.rss[self.output] + 1e-10 * e.total[self.output]
        mean = self.block.rmatvec(w) / w.sum()
        scale = np.sqrt(np.maximum(e.scatter, 0.0) / e.weight) if e.scatter.size else np.abs(mean)
        moved = np.abs(mean - e.center) > 1e-9 * (scale + np.abs(e.center))
        if not abs(rss - e.rss[self.output]) <= rounding or moved.any():
            raise InputError(
                "The training rows were changed in place after the fit.",
                remedy="Call summary(X, y) with the rows of the fit, or fit again.",
            )

    @cached_property
    def residuals(self) -> Floats:
        """y − ŷ."""
        return np.asarray(self.block.y[:, self.output] - self.fitted)

    def _center_rows(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Chunk by chunk (rows, z, z(XᵀX)⁻¹) of the rows about the means."""
        d = self.block.x.shape[1]
        inverse = self.statistics.inverse[-d:, -d:] if d else np.zeros((0, 0))
        chunk = 8192  # rows in a chunk
        for start in range(0, self.block.n, chunk):
            z = self.block.dense(start, start + chunk)
            if self._with_intercept:
                z = z - self.statistics.center
            yield slice(start, start + len(z)), z, z @ inverse

    @property
    def _with_intercept(self) -> bool:
        return bool(len(self.statistics.inverse) > self.block.x.shape[1])

    @cached_property
    def single_leverage(self) -> Floats:
        """h = xᵀ(XᵀX)⁻¹x of one copy of each row, in blocks."""
        if self.as_fitted:
            assert self.fitted is not None  # rows changed in place are refused there
        h = np.empty(self.block.n)
        for rows, z, product in self._center_rows():
            h[rows] = np.einsum("ij,ij->i", product, z)
        return h + 1.0 / self.statistics.weight if self._with_intercept else h

    @cached_property
    def leverage(self) -> Floats:
        """Diagonal of the hat matrix: that of a row with all its copies."""
        h, w = self.single_leverage, self.block.w
        return np.clip(h if w is None else h * w, 0.0, 1.0)

    @cached_property
    def cooks_distance(self) -> Floats:
        """D = w r² h / (p σ̂² (1 − h)²)."""
        w = 1.0 if self.block.w is None else self.block.w
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = w * self.residuals**2 * self.leverage / (1.0 - self.leverage) ** 2
            return np.asarray(ratio / (self.statistics.parameters * self.sigma2))

    @cached_property
    def _left(self) -> Floats:
        """1 − h, NaN for a row that the fit goes through whatever its target."""
        left = 1.0 - np.clip(self.single_leverage, 0.0, 1.0)
        return np.where(left > 1e-12, left, np.nan)

    @cached_property
    def studentized(self) -> Floats:
        """Internally studentized residuals, r / (σ̂ √(1 − h))."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.residuals / np.sqrt(self.sigma2 * self._left))

    @cached_property
    def externally_studentized(self) -> Floats:
        """R / (σ̂₍ᵢ₎ √(1 − h)), with the σ̂ of the other rows: Student's t, one degree fewer."""
        freedom = self.statistics.weight - self.statistics.parameters
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (freedom - self.studentized**2) / (freedom - 1.0)
            return np.asarray(self.studentized / np.sqrt(np.maximum(others, 0.0)))

    @cached_property
    def dffits(self) -> Floats:
        """By how many standard errors ŷᵢ moves when row i is left out."""
        ratio = np.clip(self.single_leverage, 0.0, 1.0) / self._left
        return np.asarray(self.externally_studentized * np.sqrt(ratio))

    def robust_errors(self, covariance: str) -> Floats:
        """Standard errors that hold if the variances of the rows differ: HC0 to HC3.

        Σ w ω r² g gᵀ with g = (XᵀX)⁻¹x, and ω = 1, n/(n − p), 1/(1 − h) or 1/(1 − h)²: h of one
        copy of a row, n = Σ w.
        """
        check_option("covariance", covariance, COVARIANCES)
        e, w = self.statistics, unit_weights(self.block.w, self.block.n)
        omega = w * self.residuals**2
        if covariance in ("HC2", "HC3"):
            omega = omega / self._left ** (1 if covariance == "HC2" else 2)
            omega = np.where(w * self.residuals**2 > 0.0, omega, 0.0)
        if covariance == "HC1":
            omega = omega * e.weight / (e.weight - e.parameters)
        total = np.zeros(len(e.inverse))
        for rows, _, g in self._center_rows():
            if self._with_intercept:
                g = np.column_stack([1.0 / e.weight - g @ e.center, g])
            total += omega[rows] @ g**2
        return np.asarray(np.sqrt(total))


# -------------------------------------------------------------------------------------------------
# Least squares and ridge regression without each of their rows, from the one fit.
#
#     b₋ᵢ = b − (ZᵀWZ + αI)⁻¹ zᵢ wᵢ eᵢ / (1 − wᵢ hᵢ)
#
# with z the rows about their mean, e the residuals, h the leverage of one copy of a row and w its
# weight with all copies.


def lines_without_each_row(
    model: Any, X: Any, y: Any, sample_weight: Any, penalty: float, units: Ints | None
) -> AffineFits | None:
    """The fits without each row; None where columns are encoded from the rows, or too large."""
    if not model.encoding_.is_identity or np.ndim(model.coef_) != 1:
        return None
    if isinstance(X, Rows):
        block = X.collect()
        design, y, sample_weight = block.x, block.y[:, 0], block.w
    else:
        design = model._design(X)
    y = np.asarray(y, dtype=float).ravel()
    w = unit_weights(None if sample_weight is None else np.asarray(sample_weight, float), len(y))
    return affine_fits(model, design, y, w, penalty, units)

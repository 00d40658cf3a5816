"""Inference on the coefficients of logistic regression by maximum likelihood.

    Var b = H⁻¹,    z = b / se ~ Normal,    2 (log L − log L₀) ~ χ²(coefficients)

A weight counts as that many equal rows, here as everywhere in the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from separatrix.estimators.inference import CoefficientTable, no_summary, p_phrase
from separatrix.logistic.fit import LogisticSolution
from separatrix.logistic.parameters import penalty_of
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class LogisticFitStatistics:
    """What a maximum likelihood fit stores for inference, without its rows.

    ``covariance`` is over (score, coefficients, intercept), scores outermost; ``null`` is the
    log-likelihood without columns. ``estimates`` and ``infinite`` are those of :class:`Limit` where
    classes are quasi-completely separable, empty elsewhere.
    """

    covariance: Floats
    identified: NDArray[np.bool_]
    log_likelihood: float
    null: float
    weight: float
    rank: int
    estimates: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    infinite: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, solution: LogisticSolution, fit_intercept: bool) -> LogisticFitStatistics | None:
        """None where no inference is possible."""
        limit = solution.limit
        if not solution.covariance.size and limit is None:
            return None
        p = solution.priors
        null = float(np.sum(p * np.log(p))) if fit_intercept else -np.log(len(p))
        known = (solution.weight * null, solution.weight, solution.rank)
        if limit is None:
            return cls(solution.covariance, solution.identified, -solution.loss, *known)
        return cls(
            limit.covariance,
            solution.identified,
            -limit.loss,
            *known,
            limit.estimates,
            limit.infinite,
        )


@dataclass(frozen=True)
class LogisticSummary(CoefficientTable):
    """Coefficients of logistic regression with their inference; prints as a table.

    With more than two classes, estimates compare each class with ``reference``. The terms of
    ``no_finite_estimate`` separate some rows of a class from all others: their likelihood has no
    maximum, and they have the coefficients of the last iteration, without a standard error.
    """

    letter: ClassVar[str] = "z"

    odds_ratios: Floats
    reference: str
    observations: float
    log_likelihood: float
    null_log_likelihood: float
    likelihood_ratio: float
    degrees_of_freedom: int
    likelihood_ratio_p: float
    pseudo_r_squared: float
    aic: float
    bic: float
    certificate: str
    no_finite_estimate: tuple[str, ...] = ()

    @property
    def z_values(self) -> Floats:
        """b / se."""
        return self.statistics

    def extra_columns(self) -> dict[str, Floats]:
        """Odds ratios e^b."""
        return {"odds_ratio": self.odds_ratios}

    def __str__(self) -> str:
        lines = [
            *self.table_lines(),
            "",
            f"Compared with class {self.reference}. Log-likelihood {self.log_likelihood:.6g} "
            f"(constant model {self.null_log_likelihood:.6g}); likelihood ratio "
            f"{self.likelihood_ratio:.6g} on {self.degrees_of_freedom} degrees of freedom "
            f"({p_phrase(self.likelihood_ratio_p)}), pseudo R² {self.pseudo_r_squared:.4g}",
            f"AIC {self.aic:.6g}, BIC {self.bic:.6g}",
            *self._infinite(),
            self.certificate,
        ]
        return "\n".join(lines)

    def _infinite(self) -> list[str]:
        """A line on the terms without a finite estimate."""
        if not self.no_finite_estimate:
            return []
        return [f"No finite estimate (separable classes): {', '.join(self.no_finite_estimate)}"]


def summarize(model: Any, level: float) -> LogisticSummary:
    """Build the :class:`LogisticSummary` of a fitted model with ``fit_statistics_``."""
    _refuse(model)
    e: LogisticFitStatistics = model.fit_statistics_
    d, k = model.coef_.shape[1], model.coef_.shape[0]
    contrast, labels, reference = _contrasts(model)
    estimates = contrast @ np.column_stack([model.coef_, model.intercept_])
    infinite = _infinite(e, contrast, d)
    if e.estimates.size:
        estimates = np.where(infinite, estimates, contrast @ e.estimates)
    covariance = e.covariance.reshape(k, d + 1, k, d + 1)
    variance = np.einsum("ck,kjlj,cl->cj", contrast, covariance, contrast)
    order = [d, *range(d)] if model.fit_intercept else list(range(d))
    names = tuple(["intercept"] * model.fit_intercept + list(model.encoding_.names))
    names = tuple(f"{label}: {name}" if k > 1 else name for label in labels for name in names)
    infinite = infinite[:, order].ravel()
    estimates, variance = estimates[:, order].ravel(), variance[:, order].ravel()
    unique = np.tile(e.identified[order], len(contrast)) & ~infinite
    errors = np.where(unique, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    with np.errstate(over="ignore"):
        odds = np.exp(estimates)
    coefficients, compared = e.rank * len(contrast), len(contrast)
    ratio = max(2.0 * (e.log_likelihood - e.null), 0.0)
    parameters = coefficients + compared * int(model.fit_intercept)
    return LogisticSummary(
        names=names,
        estimates=estimates,
        standard_errors=errors,
        law=stats.norm,
        level=level,
        odds_ratios=odds,
        reference=str(reference),
        observations=e.weight,
        log_likelihood=e.log_likelihood,
        null_log_likelihood=e.null,
        likelihood_ratio=ratio,
        degrees_of_freedom=coefficients,
        likelihood_ratio_p=float(stats.chi2.sf(ratio, coefficients)) if coefficients else 1.0,
        pseudo_r_squared=1.0 - e.log_likelihood / e.null if e.null else np.nan,
        aic=2.0 * (parameters - e.log_likelihood),
        bic=float(np.log(e.weight) * parameters - 2.0 * e.log_likelihood),
        certificate=str(model.certificate_),
        no_finite_estimate=tuple(name for name, far in zip(names, infinite, strict=True) if far),
    )


def _infinite(e: LogisticFitStatistics, contrast: Floats, d: int) -> NDArray[np.bool_]:
    """Which coefficients (classes compared x terms) change along a direction of recession."""
    if not e.infinite.size:
        return np.zeros((len(contrast), d + 1), dtype=bool)
    along = e.infinite.reshape(contrast.shape[1], d + 1, -1)
    moved = np.abs(np.einsum("ck,kjm->cjm", contrast, along))
    size = np.einsum("ck,kjm->cjm", np.abs(contrast), np.abs(along))
    return np.asarray((moved > 1e-6 * size).any(axis=2))


def _contrasts(model: Any) -> tuple[Floats, list[Any], Any]:
    """The contrasts of the scores with the reference class, and the classes compared."""
    classes = model.classes_.tolist()
    if len(classes) == 2:
        return np.ones((1, 1)), [classes[1]], classes[0]
    at = 0 if model.reference is None else classes.index(model.reference)
    contrast = np.eye(len(classes))
    contrast[:, at] -= 1.0
    others = [j for j in range(len(classes)) if j != at]
    return contrast[others], [classes[j] for j in others], classes[at]


def _refuse(model: Any) -> None:
    if np.isfinite(penalty_of(model)[0]):
        no_summary(
            "the penalty shrinks the coefficients on purpose, and standard errors of maximum "
            "likelihood do not hold for them. Fit with C=inf."
        )
    if model.separation_ is not None and model.fit_statistics_ is None:
        no_summary(
            "the classes are separable, so the maximum likelihood estimate does not exist. Use "
            "more rows or fewer columns."
        )
    if model.fit_statistics_ is None:
        no_summary("the model has too many coefficients for their covariance matrix.")

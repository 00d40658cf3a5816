"""How sure logistic coefficients are: the classical inference of maximum likelihood.

    Var b = H⁻¹,    z = b / se ~ Normal,    2 (log L − log L₀) ~ χ²(slopes)

A weight counts as that many equal rows, here as everywhere in the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from separatrix.estimators.inference import as_frame, no_summary, p_text
from separatrix.logistic.fit import LogisticSolution
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class LogisticEvidence:
    """What a fit by maximum likelihood leaves for inference, without its rows.

    ``covariance`` is over (score, coefficients, intercept), scores outermost.
    """

    covariance: Floats
    identified: NDArray[np.bool_]
    log_likelihood: float
    null: float
    weight: float
    rank: int

    @classmethod
    def of(
        cls, solution: LogisticSolution, weight: float, share: Floats, fit_intercept: bool
    ) -> LogisticEvidence | None:
        """None where no inference is possible."""
        if not solution.covariance.size:
            return None
        null = float(np.sum(share * np.log(share))) if fit_intercept else -np.log(len(share))
        return cls(
            solution.covariance,
            solution.identified,
            -solution.loss,
            weight * null,
            weight,
            solution.rank,
        )


@dataclass(frozen=True)
class LogisticSummary:
    """Estimates with their doubt. Prints as a table; ``to_frame()`` gives the same as a dataframe.

    With more than two classes, estimates compare each class with ``reference``. Coefficients that
    dependent columns leave open have NaN for a standard error.
    """

    names: tuple[str, ...]
    estimates: Floats
    standard_errors: Floats
    z_values: Floats
    p_values: Floats
    intervals: Floats
    odds_ratios: Floats
    level: float
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

    def to_frame(self, backend: Any = None) -> Any:
        """One line per coefficient, as a dataframe (pandas if installed, else PyArrow)."""
        columns: dict[str, Any] = {
            "term": list(self.names),
            "estimate": self.estimates,
            "standard_error": self.standard_errors,
            "z": self.z_values,
            "p": self.p_values,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            "odds_ratio": self.odds_ratios,
        }
        return as_frame(columns, backend)

    def __str__(self) -> str:
        width = max([len(name) for name in self.names] + [4])
        percent = f"{100 * self.level:g} % interval"
        lines = [
            f"{'term':<{width}} {'estimate':>12} {'std error':>12} {'z':>9} {'p':>9} "
            f"{'odds ratio':>11}   {percent}"
        ]
        for i, name in enumerate(self.names):
            low, high = self.intervals[i]
            lines.append(
                f"{name:<{width}} {self.estimates[i]:>12.6g} {self.standard_errors[i]:>12.6g} "
                f"{self.z_values[i]:>9.3f} {p_text(self.p_values[i]):>9} "
                f"{self.odds_ratios[i]:>11.5g}   [{low:.6g}, {high:.6g}]"
            )
        lines += [
            "",
            f"Compared with class {self.reference}. Log-likelihood {self.log_likelihood:.6g} "
            f"(constant model {self.null_log_likelihood:.6g}); likelihood ratio "
            f"{self.likelihood_ratio:.6g} on {self.degrees_of_freedom} degrees of freedom "
            f"(p {p_text(self.likelihood_ratio_p)}), pseudo R² {self.pseudo_r_squared:.4g}",
            f"AIC {self.aic:.6g}, BIC {self.bic:.6g}",
            self.certificate,
        ]
        return "\n".join(lines)


def summarise(model: Any, level: float) -> LogisticSummary:
    """Build the :class:`LogisticSummary` of a fitted model with ``evidence_``."""
    _refuse(model, level)
    e: LogisticEvidence = model.evidence_
    d, k = model.coef_.shape[1], model.coef_.shape[0]
    contrast, labels, reference = _contrasts(model)
    whole = np.column_stack([model.coef_, model.intercept_])
    estimates = contrast @ whole
    spread = e.covariance.reshape(k, d + 1, k, d + 1)
    variance = np.einsum("ck,kjlj,cl->cj", contrast, spread, contrast)
    order = [d, *range(d)] if model.fit_intercept else list(range(d))
    names = tuple(["intercept"] * model.fit_intercept + list(model.encoding_.names))
    estimates, variance = estimates[:, order].ravel(), variance[:, order].ravel()
    unique = np.tile(e.identified[order], len(contrast))
    error = np.where(unique, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = estimates / error
        odds = np.exp(estimates)
    half = stats.norm.isf((1 - level) / 2) * error
    slopes, classes = e.rank * len(contrast), len(contrast)
    ratio = max(2.0 * (e.log_likelihood - e.null), 0.0)
    parameters = slopes + classes * int(model.fit_intercept)
    many = k > 1
    return LogisticSummary(
        names=tuple(f"{label}: {name}" if many else name for label in labels for name in names),
        estimates=estimates,
        standard_errors=error,
        z_values=z,
        p_values=2 * stats.norm.sf(np.abs(z)),
        intervals=np.stack([estimates - half, estimates + half], axis=1),
        odds_ratios=odds,
        level=level,
        reference=str(reference),
        observations=e.weight,
        log_likelihood=e.log_likelihood,
        null_log_likelihood=e.null,
        likelihood_ratio=ratio,
        degrees_of_freedom=slopes,
        likelihood_ratio_p=float(stats.chi2.sf(ratio, slopes)) if slopes else 1.0,
        pseudo_r_squared=1.0 - e.log_likelihood / e.null if e.null else np.nan,
        aic=2.0 * (parameters - e.log_likelihood),
        bic=float(np.log(e.weight) * parameters - 2.0 * e.log_likelihood),
        certificate=str(model.certificate_),
    )


def _contrasts(model: Any) -> tuple[Floats, list[Any], Any]:
    """How scores combine to comparisons with the reference class, and the classes compared."""
    classes = model.classes_.tolist()
    if len(classes) == 2:
        return np.ones((1, 1)), [classes[1]], classes[0]
    at = 0 if model.reference is None else classes.index(model.reference)
    contrast = np.eye(len(classes))
    contrast[:, at] -= 1.0
    others = [j for j in range(len(classes)) if j != at]
    return contrast[others], [classes[j] for j in others], classes[at]


def _refuse(model: Any, level: float) -> None:
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be between 0 and 1.")
    if np.isfinite(model.C):
        no_summary(
            "the penalty shrinks the coefficients on purpose, and standard errors of maximum "
            "likelihood do not hold for them. Fit with C=inf."
        )
    if model.separation_ is not None:
        no_summary(
            "the classes are separable, so the likelihood has no maximum to judge coefficients "
            "by. Use more rows or fewer columns."
        )
    if model.evidence_ is None:
        no_summary("the model has too many coefficients to judge each by itself.")

"""What the Bayesian linear models share: predictions with their distribution, and the posterior."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.linear.posterior import Posterior
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.estimators.inference import CoefficientTable, Diagnostics
from separatrix.estimators.targets import one_number
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.threads import on_one_blas_thread


@dataclass(frozen=True)
class PosteriorTable(CoefficientTable):
    """Posterior means and standard deviations of the coefficients, with credible intervals.

    ``p_values`` are twice the posterior probability of the other sign.
    """

    letter: ClassVar[str] = "z"

    noise: float
    log_evidence: float
    r_squared: float
    certificate: str

    def diagnostics(self) -> Diagnostics:
        """R² of the posterior mean, and the standard deviation of the noise."""
        return Diagnostics(self.r_squared, self.noise)

    def __str__(self) -> str:
        lines = [
            *self.table_lines(),
            "",
            f"R² {self.r_squared:.6g}, noise {self.noise:.6g}, "
            f"log evidence {self.log_evidence:.6g}",
            self.certificate,
        ]
        return "\n".join(lines)


class BayesianLinearModel(PartialFitMixin, RegressorMixin, MomentEstimator):
    """A linear model with a normal posterior: y | x ~ N(a + m·x, α⁻¹ + (x − x̄)ᵀΣ(x − x̄))."""

    _keeps_float32 = True
    _column_is_vector = True
    fit_intercept: bool
    alpha_: float
    posterior_: Posterior | None
    log_evidence_: float
    r_squared_: float
    n_rows_: float
    X_offset_: Floats
    X_scale_: Floats

    @abstractmethod
    def _infer(self, data: TrainingData) -> Solution:
        """Posterior, precisions and evidence, from moments or rows of one target."""

    @abstractmethod
    def _rebuilt(self, block: Block) -> Posterior | None:
        """The posterior from the training rows, however many numbers it has."""

    def _solve(self, data: TrainingData) -> Solution:
        one_number(data.source.targets)
        source = data.block or data.source
        self.n_rows_ = float(source.weight)
        if not self.n_rows_ > 0.0:
            raise InputError("There are no rows to fit.", remedy="Give rows of positive weight.")
        return self._infer(data)

    def _place(self, mean: Floats) -> None:
        """Set scikit-learn's names of what is subtracted from the columns."""
        self.X_offset_, self.X_scale_ = mean, np.ones(len(mean))

    def _posterior(self) -> Posterior:
        """The posterior, made from the training rows where it was too large to be stored."""
        check_is_fitted(self)
        if self.posterior_ is not None:
            return self.posterior_
        if self._rows is None:
            raise InputError(
                "The posterior of this many columns is not stored with the model, and its training "
                "rows are gone.",
                remedy="Fit again for standard deviations; predict needs no rows.",
            )
        found = self._rebuilt(self._rows.collect())
        assert found is not None
        return found

    @property
    @on_one_blas_thread
    def sigma_(self) -> Floats:
        """Covariance matrix Σ (d x d) of the coefficients, computed when asked for."""
        return self._posterior().covariance.astype(self.coef_.dtype, copy=False)

    def predict(self, X: Any, return_std: bool = False, *, return_cov: bool = False) -> Any:
        """Mean of every row's target; with its standard deviation, or the covariance of all."""
        mean = super().predict(X)
        if return_cov:
            covariance = self._posterior().covariance_of(self._design(X))
            covariance[np.diag_indices_from(covariance)] += 1.0 / self.alpha_
            return mean, covariance
        if not return_std:
            return mean
        return mean, self.predictive(X).scale.astype(self.coef_.dtype, copy=False)

    def predictive(self, X: Any, *, include_noise: bool = True) -> PredictiveDistribution:
        """Distribution of the target of new rows, or of a + b·x without the noise."""
        variance = self._posterior().variance_of(self._design(X))
        if include_noise:
            variance = variance + 1.0 / self.alpha_
        mean = np.asarray(super().predict(X), dtype=float)
        return PredictiveDistribution(mean, np.sqrt(variance))

    def predict_interval(self, X: Any, *, level: float = 0.95, kind: str = "prediction") -> Floats:
        """Central intervals (n x 2) of the target ("prediction") or of a + b·x ("confidence")."""
        check_option("kind", kind, ("prediction", "confidence"))
        return self.predictive(X, include_noise=kind == "prediction").interval(level)

    def sample_posterior(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[Floats, Floats]:
        """Draws of the coefficients (n_samples x d) and of the intercept (n_samples)."""
        rng, own = np.random.default_rng(random_state), self._posterior()
        coefs = self.coef_ + own.draws(int(n_samples), rng)
        middle = self.intercept_ + float(self.X_offset_ @ self.coef_)
        noise = np.sqrt(own.intercept_variance) * rng.standard_normal(int(n_samples))
        return coefs, middle - coefs @ self.X_offset_ + noise

    def summary(self, *, level: float = 0.95) -> PosteriorTable:  # type: ignore[override]
        """Posterior means, standard deviations and credible intervals of the coefficients."""
        own = self._posterior()
        errors = np.sqrt(own.column_variances)
        names, estimates = tuple(self.encoding_.names), np.asarray(self.coef_, dtype=float)
        if self.fit_intercept:
            # under a flat prior the mean of the target has the variance 1/(α n)
            at_zero = own.variance_of(np.zeros((1, len(errors)))) - own.intercept_variance
            at_zero = at_zero + 1.0 / (self.alpha_ * self.n_rows_)
            names, estimates = ("intercept", *names), np.append(self.intercept_, estimates)
            errors = np.append(np.sqrt(at_zero), errors)
        return PosteriorTable(
            names,
            estimates,
            errors,
            stats.norm,
            level,
            noise=float(1.0 / np.sqrt(self.alpha_)),
            log_evidence=self.log_evidence_,
            r_squared=self.r_squared_,
            certificate=str(self.certificate_),
        )

"""Predictions of a Gaussian process: of the prior before ``fit``, of the posterior after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.bayes.process.evidence import Factored
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.options import (
    check_noise,
    given_kernel,
    kernel_of,
    prior_kernel,
    width,
)
from separatrix.bayes.process.posterior import Posterior, draws, posterior_mean
from separatrix.bayes.process.trend import TrendBasis
from separatrix.estimators.base import RowsEstimator
from separatrix.kernels import Kernel
from separatrix.kernels.features import as_list
from separatrix.messages import InputError
from separatrix.rows.block import Floats, to_array


class ProcessPredictions(RowsEstimator):
    """Means, standard deviations, covariances and draws of f and of y."""

    kernel: Any
    noise: Any
    n_targets: int | None
    kernel_: Kernel
    X_train_: Any
    alpha_: Floats
    basis_: TrendBasis
    trend_coef_: Floats
    target_mean_: Floats
    target_scale_: Floats

    @property
    def _structures(self) -> bool:
        """Whether the kernel compares Python objects: strings, sets, trees, graphs."""
        return self.kernel is not None and not kernel_of(self.kernel).of_vectors

    def _use_of_frames(self) -> str:
        return "objects" if self._structures else "encode"

    def _items(self, X: Any) -> Any:
        """New rows as a matrix, or Python objects in a list."""
        return as_list(X) if self._structures else to_array(self._design(X))

    @property
    def _factored(self) -> Factored:
        """The factored covariance of the training rows."""
        raise NotImplementedError

    def _posterior(self) -> Any:
        """Variances and covariances of f and of y."""
        return Posterior(self.X_train_, self._factored, self.basis_)

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = True,
    ) -> Any:
        """Mean of the posterior at new rows, with standard deviations or the joint covariance.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New rows.
        return_std, return_cov : bool, default=False
            Whether to return the standard deviations, or the covariance, too.
        include_noise : bool, default=True
            Whether they are those of y, which include the noise of the kernel, or those of f.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "kernel_"):
            return self._prior(X, return_std, return_cov, include_noise)
        x = self._items(X)
        k = len(self.target_scale_)
        alpha = self.alpha_.reshape(-1, k)
        split = SplitKernel(self.kernel_)
        mean = posterior_mean(split, self.X_train_, alpha, self.basis_, self.trend_coef_, x)
        mean = self.target_scale_ * mean + self.target_mean_
        mean = mean[:, 0] if k == 1 else mean
        if not (return_std or return_cov):
            return mean
        posterior = self._posterior()
        given = check_noise(self.noise) if include_noise else 0.0
        if return_std:
            variance = posterior.variance(x, noise=include_noise) + given
            return mean, _per_output(np.sqrt(variance), self.target_scale_)
        covariance = posterior.covariance(x, noise=include_noise)
        covariance[np.diag_indices(len(x))] += given
        return mean, _per_output(covariance, self.target_scale_**2)

    def _prior(self, X: Any, return_std: bool, return_cov: bool, include_noise: bool) -> Any:
        """Mean and covariance before any row was seen."""
        x = as_list(X) if self._structures else check_array(X, dtype=np.float64)
        given = self.kernel is not None or isinstance(self.noise, str)
        kernel = given_kernel(self.kernel, self.noise, width(x)) if given else prior_kernel()
        split, k = SplitKernel(kernel), self.n_targets or 1
        noise = split.noise_variance(x) + check_noise(self.noise) if include_noise else 0.0
        mean = np.zeros(len(x)) if k == 1 else np.zeros((len(x), k))
        if return_std:
            return mean, _per_output(np.sqrt(split.function_variance(x) + noise), np.ones(k))
        if not return_cov:
            return mean
        covariance = split.gram(x, np.empty((len(x), len(x))))
        covariance[np.diag_indices(len(x))] += noise
        return mean, _per_output(covariance, np.ones(k))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, include_noise: bool = True
    ) -> Floats:
        """Joint draws of y at these rows, or of f without noise: (n, n_samples).

        Before ``fit`` they are draws of the prior. Several outputs are (n, k, n_samples).
        """
        mean, covariance = self.predict(X, return_cov=True, include_noise=include_noise)
        rng = check_random_state(random_state)
        if mean.ndim == 1:
            return draws(mean, covariance, n_samples, rng)
        outputs = range(mean.shape[1])
        return np.stack([draws(mean[:, i], covariance[..., i], n_samples, rng) for i in outputs], 1)

    def predictive(self, X: Any, *, include_noise: bool = True) -> PredictiveDistribution:
        """The predictive distribution of y (or of f, without noise) at every row."""
        check_is_fitted(self)
        mean, std = self.predict(X, return_std=True, include_noise=include_noise)
        if mean.ndim > 1:
            raise InputError(
                f"There are {mean.shape[1]} outputs.", remedy="Fit one process for each of them."
            )
        return PredictiveDistribution(mean, std)


def _per_output(values: Floats, factors: Floats) -> Floats:
    """Values of unit scale for every output, as the last axis; one output has none."""
    if len(factors) == 1:
        return np.asarray(values * factors[0])
    return np.asarray(values[..., None] * factors)

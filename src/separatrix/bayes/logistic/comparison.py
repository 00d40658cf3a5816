"""The Laplace approximation beside draws from the exact posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from separatrix.bayes.logistic.samples import LogisticSamples
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.rows import InMemory, Rows

if TYPE_CHECKING:
    from separatrix.bayes.logistic.bayesian_logistic_regression import BayesianLogisticRegression

#: Rows whose probabilities are compared at most.
MAX_ROWS = 1000


@dataclass(frozen=True)
class PosteriorComparison:
    """Means and standard deviations of the Laplace approximation and of posterior draws.

        difference = (mean of draws − mean of approximation) / Monte Carlo standard error

    A difference of a few standard errors is one of the approximation, not of the draws; what it
    matters is measured by ``relative_shift``, in standard deviations of the posterior, and by the
    probabilities of the compared rows.

    Parameters
    ----------
    labels : tuple of str
        The quantities: intercept and columns, for each score.
    laplace_mean, laplace_std : ndarray
        Of the approximation.
    sample_mean, sample_std : ndarray
        Of the draws.
    sample_interval : ndarray of shape (quantities, 2)
        Central 95% intervals of the draws.
    standard_error : ndarray
        Monte Carlo standard errors of ``sample_mean``.
    laplace_proba, sample_proba : ndarray of shape (rows, n_classes)
        Predictive probabilities.
    mixed : bool
        Whether the certificate of the draws holds.

    See Also
    --------
    BayesianLogisticRegression : Its ``compare`` returns one.
    LaplaceComparisonDisplay : The picture of it.

    References
    ----------
    L. Tierney and J. B. Kadane, Accurate approximations for posterior moments and marginal
    densities, Journal of the American Statistical Association 81, 1986.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> comparison = model.compare(model.sample(2000, random_state=0))
    >>> comparison.labels
    ('intercept', 'x0')
    >>> bool(comparison.relative_shift[1] > 0.1)  # the posterior is skewed
    True
    >>> comparison.largest_probability_difference < 0.1
    True
    """

    labels: tuple[str, ...]
    laplace_mean: Floats
    laplace_std: Floats
    sample_mean: Floats
    sample_std: Floats
    sample_interval: Floats
    standard_error: Floats
    laplace_proba: Floats
    sample_proba: Floats
    mixed: bool

    @property
    def differences(self) -> Floats:
        """Differences of the means in Monte Carlo standard errors; 0 where nothing varies."""
        return _ratio(self.sample_mean - self.laplace_mean, self.standard_error)

    @property
    def relative_shift(self) -> Floats:
        """Differences of the means in standard deviations of the draws."""
        return _ratio(self.sample_mean - self.laplace_mean, self.sample_std)

    @property
    def std_ratio(self) -> Floats:
        """Standard deviations of the approximation by those of the draws; 1 where both are 0."""
        same = (self.sample_std == 0.0) & (self.laplace_std == 0.0)
        return np.where(same, 1.0, _ratio(self.laplace_std, self.sample_std))

    @property
    def laplace_interval(self) -> Floats:
        """Central 95% intervals of the approximation."""
        half = float(ndtri(0.975)) * self.laplace_std
        return np.stack([self.laplace_mean - half, self.laplace_mean + half], axis=1)

    @property
    def largest_probability_difference(self) -> float:
        """Largest difference of a predictive probability over the compared rows."""
        return float(np.abs(self.laplace_proba - self.sample_proba).max(initial=0.0))

    def __str__(self) -> str:
        at = int(np.argmax(np.abs(self.relative_shift)))
        spread = int(np.argmax(np.abs(np.log(np.maximum(self.std_ratio, 1e-300)))))
        text = (
            f"Laplace approximation against draws: the mean of {self.labels[at]} differs most, by "
            f"{abs(self.relative_shift[at]):.2f} standard deviations "
            f"({abs(self.differences[at]):.1f} Monte Carlo standard errors); the standard "
            f"deviation of {self.labels[spread]} is {self.std_ratio[spread]:.2f} times that of the "
            f"draws; probabilities of {len(self.laplace_proba)} rows differ by at most "
            f"{self.largest_probability_difference:.3f}."
        )
        return text if self.mixed else f"{text} The chains have not mixed: draw more samples."


def training_design(rows: Rows) -> Matrix:
    """Evenly spaced training rows, encoded; of a stream the first."""
    x = rows.collect().x if isinstance(rows, InMemory) else next(iter(rows.blocks())).x
    at = np.linspace(0, x.shape[0] - 1, min(MAX_ROWS, x.shape[0])).astype(np.intp)
    return x[at]


def _ratio(a: Floats, b: Floats) -> Floats:
    """a/b, and 0 where b is 0."""
    positive: NDArray[np.bool_] = b > 0.0
    return np.where(positive, a / np.where(positive, b, 1.0), 0.0)


def compare_posteriors(
    model: BayesianLogisticRegression, samples: LogisticSamples, x: Matrix
) -> PosteriorComparison:
    """The comparison over encoded rows."""
    if samples.coef.shape[2:] != model.coef_.shape:
        raise InputError(
            f"The samples have coefficients of shape {samples.coef.shape[2:]}, and the model of "
            f"{model.coef_.shape}.",
            remedy="Compare samples of this model: model.sample(…).",
        )
    mean = np.column_stack([model.intercept_, model.coef_]).ravel()
    std = np.column_stack([model.intercept_std_, model.coef_std_]).ravel()
    spread, size = samples.std, samples.diagnostics.ess_bulk
    error = np.where(np.isfinite(size), spread / np.sqrt(np.where(size > 0.0, size, 1.0)), 0.0)
    return PosteriorComparison(
        samples.labels,
        mean,
        std,
        samples.mean,
        spread,
        samples.interval(0.95),
        error,
        model._probabilities(x),
        samples.probabilities(x),
        samples.certificate_.holds,
    )

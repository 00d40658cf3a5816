"""Predictive distributions against SciPy's, and their draws against their quantiles."""

import numpy as np
import pytest
from scipy import integrate, stats

from separatrix import InputError, PredictiveDistribution

MEAN, SCALE = np.array([1.0, -2.0, 30.0]), np.array([0.5, 2.0, 1e-3])


@pytest.mark.parametrize("degrees", [np.inf, 5.0])
def test_agrees_with_scipy(degrees):
    predictive = PredictiveDistribution(MEAN, SCALE, degrees)
    law = stats.norm(MEAN, SCALE) if np.isinf(degrees) else stats.t(degrees, MEAN, SCALE)
    y = MEAN + np.array([0.3, -4.0, 2e-3])
    np.testing.assert_allclose(predictive.log_density(y), law.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(predictive.pit(y), law.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(predictive.std, law.std(), rtol=1e-12)
    np.testing.assert_allclose(predictive.interval(0.8), np.transpose(law.interval(0.8)))
    np.testing.assert_allclose(predictive.quantile(0.3), law.ppf(0.3), rtol=1e-12)


def test_density_integrates_to_one():
    one = PredictiveDistribution(np.array([2.0]), np.array([0.7]), 4.0)
    total, _ = integrate.quad(lambda y: float(np.exp(one.log_density(y)[0])), -np.inf, np.inf)
    assert total == pytest.approx(1.0, abs=1e-8)


def test_draws_cover_their_intervals():
    predictive = PredictiveDistribution(MEAN, SCALE)
    drawn = predictive.sample(20_000, random_state=0)
    low, high = predictive.interval(0.9).T
    inside = ((drawn > low[:, None]) & (drawn < high[:, None])).mean(axis=1)
    np.testing.assert_allclose(inside, 0.9, atol=5 * np.sqrt(0.09 / 20_000))


def test_a_level_outside_its_range_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        PredictiveDistribution(MEAN, SCALE).interval(1.0)

"""R̂ and effective sample sizes on chains of known correlation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayes.sampling import diagnose, effective_size, scale_reduction


def autoregressive(phi: float, chains: int, n: int, seed: int = 0) -> np.ndarray:
    """x' = φ x + √(1 − φ²) e, from its stationary distribution."""
    rng = np.random.default_rng(seed)
    x = np.empty((chains, n))
    x[:, 0] = rng.standard_normal(chains)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1.0 - phi**2) * rng.standard_normal(chains)
    return x


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.4])
def test_the_effective_size_of_autoregressive_chains_is_known(phi: float) -> None:
    """n (1 − φ)/(1 + φ) draws; the estimate has a standard error of about 10% at most here."""
    chains, n = 4, 10_000
    expected = chains * n * (1.0 - phi) / (1.0 + phi)
    assert_allclose(effective_size(autoregressive(phi, chains, n)), expected, rtol=0.2)
    found = diagnose(autoregressive(phi, chains, n)[:, :, None])
    assert_allclose(found.ess_bulk[0], expected, rtol=0.2)
    assert found.rhat[0] < 1.005


def test_the_scale_reduction_is_its_formula() -> None:
    x = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 8.0]])
    within = (x[0].var(ddof=1) + x[1].var(ddof=1)) / 2.0
    between = 4.0 * np.var([2.5, 5.0], ddof=1)
    expected = np.sqrt((0.75 * within + between / 4.0) / within)
    assert_allclose(scale_reduction(x), expected)


@pytest.mark.parametrize("kind", ["shifted", "wider", "trend"])
def test_chains_that_have_not_mixed_are_found(kind: str) -> None:
    x = np.random.default_rng(1).standard_normal((4, 500))
    if kind == "shifted":
        x[0] += 1.0
    elif kind == "wider":
        x[0] *= 3.0
    else:
        x += np.linspace(0.0, 2.0, 500)
    assert diagnose(x[:, :, None]).rhat[0] > 1.01


def test_heavy_tails_and_increasing_maps_change_nothing_of_the_bulk() -> None:
    x = autoregressive(0.3, 4, 1000)[:, :, None]
    a, b = diagnose(x), diagnose(np.exp(3.0 * x))
    assert_allclose(a.ess_bulk, b.ess_bulk)
    assert_allclose(a.ess_tail, b.ess_tail)


def test_what_does_not_vary_or_is_too_short_has_no_diagnostics() -> None:
    assert np.isnan(diagnose(np.ones((4, 100, 1))).rhat[0])
    assert np.isnan(diagnose(np.random.default_rng(0).random((4, 3, 1))).ess_bulk[0])


def test_against_arviz() -> None:
    arviz = pytest.importorskip("arviz")
    x = autoregressive(0.6, 4, 800)
    found = diagnose(x[:, :, None])
    assert_allclose(found.rhat[0], float(arviz.rhat(x)), rtol=1e-6)
    assert_allclose(found.ess_bulk[0], float(arviz.ess(x)), rtol=0.02)
    assert_allclose(found.ess_tail[0], float(arviz.ess(x, method="tail")), rtol=0.02)

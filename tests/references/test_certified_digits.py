"""Correct digits on sets whose answers are certified to fifteen."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from tests.references.strd import FILIP, FILIP_INPUT, REFERENCES, Reference

each = pytest.mark.parametrize("reference", REFERENCES, ids=lambda r: r.name)


def digits(measured: np.ndarray, certified: np.ndarray, scale: float = 0.0) -> float:
    """The number of correct digits of the worst entry (``scale`` judges a certified zero)."""
    size = np.where(certified == 0, max(scale, 1e-300), np.abs(certified))
    error = np.max(np.abs(measured - certified) / size)
    return float(-np.log10(max(error, 1e-16)))


@each
def test_coefficients(reference: Reference) -> None:
    model = sx.LinearRegression(fit_intercept=reference.fit_intercept)
    model.fit(reference.x, reference.y)
    estimates = model.summary().estimates
    assert digits(estimates, reference.certified[:, 0]) >= reference.digits


@each
def test_standard_errors(reference: Reference) -> None:
    model = sx.LinearRegression(fit_intercept=reference.fit_intercept)
    summary = model.fit(reference.x, reference.y).summary()
    size = float(np.abs(reference.y).max())
    certified = reference.certified[:, 1]
    assert digits(summary.standard_errors, certified, size) >= reference.digits
    deviation = np.array([reference.residual_deviation])
    assert digits(np.array([summary.sigma]), deviation, size) >= reference.digits


def test_the_certificate_names_the_statistic_that_reached_the_digits() -> None:
    easy = sx.LinearRegression().fit(*_plain())
    assert easy.certificate_.statistic == "moments"
    hard = sx.LinearRegression().fit(FILIP.x, FILIP.y)
    assert hard.certificate_.statistic == "moments in double-double"
    assert hard.certificate_.condition > 1e6
    assert hard.certificate_.digits >= 9


def _plain() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 3))
    return x, x @ [1.0, 2.0, 3.0] + rng.standard_normal(50)


def test_a_polynomial_of_degree_ten_from_its_input() -> None:
    model = sx.PolynomialRegression(10).fit(FILIP_INPUT[:, None], FILIP.y)
    estimates = np.append(model.intercept_, model.coef_)
    assert digits(estimates, FILIP.certified[:, 0]) >= 7

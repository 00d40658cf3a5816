"""Many columns: covariances in tiles and by Cholesky, and fewer rows than columns."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.discriminant_analysis as theirs
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix import threads
from separatrix.discriminant import shared_cholesky
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.class_moments import ClassMoments


def classes(n: int, d: int, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in a few columns, in units of any size and far from the origin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    x = rng.standard_normal((n, d))
    x[:, :5] += 1.5 * rng.standard_normal((k, 5))[y]
    return x * 10.0 ** rng.integers(-3, 4, d) + 3.0, y


@pytest.mark.parametrize("structure", ["pooled", "full"])
def test_scatter_in_tiles_is_that_of_the_definition(structure: str) -> None:
    x, y = classes(900, 180)
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    rows = ArrayRows(x, None, w).with_parts(y)
    found, alone = (ClassMoments.empty(structure, 4, 180) for _ in range(2))
    found.update(rows.block)
    with threads.thread_limit(1):
        alone.update(rows.block)
    assert np.array_equal(found.scatter, alone.scatter)
    centered = [
        np.repeat(x, w.astype(int), axis=0)[np.repeat(y, w.astype(int)) == c] for c in range(3)
    ]
    centered = [part - part.mean(axis=0) for part in centered]
    expected = np.array([*(part.T @ part for part in centered), np.zeros((180, 180))])
    expected = expected.sum(axis=0) if structure == "pooled" else expected
    scale = x.std(axis=0)
    assert_allclose(
        found.scatter / np.outer(scale, scale), expected / np.outer(scale, scale), atol=1e-9
    )


def test_a_cholesky_factor_gives_what_eigenvectors_give(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = classes(700, 120)
    x[:, 7] = 2.0  # constant, and left out
    fast = sx.LinearDiscriminantAnalysis().fit(x, y)
    monkeypatch.setattr(shared_cholesky, "MIN_COLUMNS", 10**6)
    plain = sx.LinearDiscriminantAnalysis().fit(x, y)
    unit = x.std(axis=0)
    assert_allclose(fast.coef_ * unit, plain.coef_ * unit, atol=1e-9)
    assert_allclose(fast.intercept_, plain.intercept_, atol=1e-8)
    assert fast.certificate_.rank == plain.certificate_.rank == 119
    assert_allclose(fast.certificate_.condition, plain.certificate_.condition, rtol=0.05)
    assert fast.certificate_.kkt < 1e-10
    x[:, 9] = x[:, 8]  # a direction in which no class varies: eigenvectors decide
    twice = sx.LinearDiscriminantAnalysis().fit(x, y)
    other = theirs.LinearDiscriminantAnalysis().fit(x, y)
    assert_allclose(twice.predict_proba(x), other.predict_proba(x), atol=1e-6)

"""Many columns: covariances in tiles and by Cholesky, and fewer rows than columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.discriminant_analysis as theirs
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

import separatrix as sx
from separatrix import threads
from separatrix.discriminant import covariances as row_span
from separatrix.discriminant import covariances as shared_cholesky
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


# -- fewer rows than columns -------------------------------------------------------------------


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables take the routes of wide ones."""
    monkeypatch.setattr(row_span, "FEW_COLUMNS", 20)


def both(monkeypatch: pytest.MonkeyPatch, model: Any, x: Any, y: Any, w: Any = None) -> Any:
    """The model through the rows, and through products of the columns."""
    wide = clone(model).fit(x, y, w)
    monkeypatch.setattr(row_span, "FEW_COLUMNS", 10**6)
    return wide, clone(model).fit(x, y, w)


@pytest.mark.parametrize("weighted", [False, True])
def test_linear_discriminants_of_genes(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    x, y = classes(40, 90)
    x[:, 3] = 1.0
    w = np.random.default_rng(5).integers(0, 3, 40).astype(float) if weighted else None
    wide, plain = both(monkeypatch, sx.LinearDiscriminantAnalysis(), x, y, w)
    unit = x.std(axis=0)
    assert_allclose(wide.coef_ * unit, plain.coef_ * unit, atol=1e-8)
    assert_allclose(wide.intercept_, plain.intercept_, atol=1e-7)
    assert wide.certificate_.rank == plain.certificate_.rank
    assert wide.certificate_.kkt < 1e-8
    assert_allclose(np.abs(wide.transform(x)), np.abs(plain.transform(x)), rtol=1e-5, atol=1e-6)
    if not weighted:
        other = theirs.LinearDiscriminantAnalysis().fit(x, y)
        assert_allclose(wide.predict_proba(x), other.predict_proba(x), atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        sx.GaussianDiscriminant("full", alpha=0.3, beta=0.2),
        sx.GaussianDiscriminant("shared", alpha=0.1),
        sx.QuadraticDiscriminantAnalysis(reg_param=0.2),
        sx.RegularizedDiscriminantAnalysis(3, 3, cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shrunk_covariances_in_the_span(
    monkeypatch: pytest.MonkeyPatch, model: Any, tmp_path: Path
) -> None:
    x, y = classes(36, 60)
    if isinstance(model, sx.QuadraticDiscriminantAnalysis):
        x /= x.std(axis=0)  # its ridge is meant in the units of the columns
    wide, plain = both(monkeypatch, model, x[:30], y[:30])
    assert_allclose(wide.predict_proba(x), plain.predict_proba(x), atol=1e-6)
    assert wide.certificate_.holds
    sx.save(wide, tmp_path / "a.sx")
    assert np.array_equal(sx.load(tmp_path / "a.sx").predict_proba(x), wide.predict_proba(x))
    assert not hasattr(wide, "covariance_")
    with pytest.raises(sx.InputError, match="no covariance of 60 x 60"):
        _ = wide.normals_


def test_what_is_undefined_with_fewer_rows_than_columns_says_so() -> None:
    x, y = classes(30, 50)
    for model in (sx.QuadraticDiscriminantAnalysis(), sx.GaussianDiscriminant()):
        with pytest.raises(sx.InputError, match="its own covariance is singular"):
            model.fit(x, y)
    linear = sx.LinearDiscriminantAnalysis().fit(x, y)
    with pytest.raises(sx.InputError, match="nor can rows"):
        linear.partial_fit(x, y)
    few = np.repeat(x[:, :2], 25, axis=1)  # copies of two columns: nothing is singular
    model = sx.QuadraticDiscriminantAnalysis().fit(few, y)
    plain = sx.QuadraticDiscriminantAnalysis().fit(few[:, [0, 25]], y)
    assert_allclose(model.predict_proba(few), plain.predict_proba(few[:, [0, 25]]), atol=1e-7)


def test_sparse_rows_are_not_filled_in_for_one_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = classes(30, 50)
    x[np.abs(x - 3.0) < np.median(np.abs(x - 3.0))] = 0.0
    w = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    rows = sparse.csr_array(x)
    shrunk = sx.GaussianDiscriminant(alpha=0.5)
    plain = shrunk.fit(x, y).predict_proba(x)
    assert_allclose(shrunk.fit(rows, y).predict_proba(rows), plain, atol=1e-9)
    monkeypatch.setattr(row_span, "MAX_FILLED", 10)
    for weights in (None, w):
        dense = sx.LinearDiscriminantAnalysis().fit(x, y, weights)
        found = sx.LinearDiscriminantAnalysis().fit(rows, y, weights)
        unit = x.std(axis=0)
        assert_allclose(found.coef_ * unit, dense.coef_ * unit, atol=1e-8)
        assert_allclose(found.predict_proba(rows), dense.predict_proba(x), atol=1e-9)
    with pytest.raises(sx.InputError, match="would have to be filled in"):
        shrunk.fit(rows, y)


def test_covariances_that_would_not_fit_are_refused_by_their_size() -> None:
    x, y = np.ones((4, 30_000)), [0, 0, 1, 1]
    x[::2] = 0.0
    with pytest.raises(sx.InputError, match=r"2 x 30000 x 30000 products .* 14 GB"):
        sx.LinearDiscriminantAnalysis(solver="eigen").fit(x, y)

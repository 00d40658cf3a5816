"""Logistic regression on wide and sparse rows: references, units, weights, separation, threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

import separatrix as sx
from separatrix.logistic import fit as routes
from separatrix.logistic import wide


def text(n: int = 400, d: int = 900, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts by Zipf's law, with empty rows and columns, and classes that overlap."""
    rng = np.random.default_rng(seed)
    rate = 3.0 / np.arange(1, d + 1) ** 0.8
    x = rng.poisson(rate, (n, d)).astype(float)
    x[5] = 0.0
    x[:, 7] = 0.0
    score = x[:, :40] @ rng.standard_normal(40) + 2.0 * rng.standard_normal(n)
    return sparse.csr_array(x), (score > np.median(score)).astype(int)


def reference(x, y, w, C, intercept=True, scale=1.0):
    """Coefficients and intercept by SciPy, in standardized units."""
    x = x.toarray() if sparse.issparse(x) else x
    unit = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    z, d, sign = x / unit, x.shape[1], np.where(y == 1, 1.0, -1.0)

    def f(b):
        s = z @ b[:d] + (b[d] if intercept else 0.0)
        p = w * -sign / (1 + np.exp(sign * s))
        ridge = (scale / unit) ** 2 * b[:d] / C
        value = w @ np.logaddexp(0, -sign * s) + 0.5 * b[:d] @ ridge
        return value, np.append(z.T @ p + ridge, p.sum() if intercept else 0.0)

    options = {"maxiter": 5000, "maxfun": 9000, "ftol": 1e-15, "gtol": 1e-9}
    found = optimize.minimize(f, np.zeros(d + 1), jac=True, method="L-BFGS-B", options=options)
    return found.x[:d] / unit, found.x[d], found.fun


@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_have_the_minimum(intercept: bool) -> None:
    x, y = text()
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    model = sx.LogisticRegression(C=2.0, tol=1e-8, fit_intercept=intercept).fit(x, y, w)
    coef, constant, value = reference(x, y, w, 2.0, intercept)
    np.testing.assert_allclose(model.coef_[0], coef, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, constant, atol=2e-4)
    assert model.certificate_.holds
    assert model.certificate_.primal / 2.0 == pytest.approx(value, rel=1e-8)
    dense = sx.LogisticRegression(C=2.0, tol=1e-8, fit_intercept=intercept).fit(x.toarray(), y, w)
    np.testing.assert_allclose(dense.coef_, model.coef_, atol=1e-4)


def test_entries_given_twice_and_out_of_order_are_one_matrix() -> None:
    x, y = text()
    entries = x.tocoo()
    half = np.concatenate([entries.data, entries.data]) / 2
    rows, columns = np.tile(entries.row, 2), np.tile(entries.col, 2)
    order = np.lexsort((-columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(len(y) + 1))
    again = sparse.csr_array((half[order], columns[order], indptr), x.shape)
    first = sx.LogisticRegression(C=2.0).fit(x, y)
    np.testing.assert_allclose(sx.LogisticRegression(C=2.0).fit(again, y).coef_, first.coef_)


@pytest.mark.parametrize("single", [True, False])
def test_dense_columns_of_any_units(single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "MIN_SINGLE", 0 if single else 10**9)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((900, 620))
    y = (x[:, :20].sum(axis=1) + 3 * rng.standard_normal(900) > 0).astype(int)
    units = 10.0 ** rng.integers(-8, 9, 620)
    plain = sx.LogisticRegression(C=0.1, standardize=True, tol=1e-8).fit(x, y)
    scaled = sx.LogisticRegression(C=0.1, standardize=True, tol=1e-8).fit(x * units + units, y)
    assert plain.certificate_.holds
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, atol=1e-5)
    coef, *_ = reference(x, y, np.ones(900), 0.1, scale=x.std(axis=0))
    np.testing.assert_allclose(plain.coef_[0], coef, atol=1e-4)


def test_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = text(1500, 1200)
    found = []
    for count in (1, 16):
        monkeypatch.setattr("separatrix.threads.available_threads", lambda count=count: count)
        found += [sx.LogisticRegression().fit(table, y).coef_ for table in (x, x.toarray())]
    assert found[0].tobytes() == found[2].tobytes()
    assert found[1].tobytes() == found[3].tobytes()


@pytest.mark.filterwarnings("ignore:SEP006")
def test_without_penalty_separable_classes_are_found() -> None:
    x, y = text(700, 1500)
    model = sx.LogisticRegression(C=np.inf).fit(x, y)
    assert model.separation_ is not None
    assert model.separation_.smallest_margin >= 0.0
    assert not model.certificate_.holds
    word = sparse.csr_array(np.column_stack([np.repeat([0.0, 1.0], [600, 100]), x.toarray()]))
    labels = np.where(np.arange(700) >= 600, 1, y)  # a word that one class alone has
    by_word = sx.LogisticRegression(C=np.inf).fit(word, labels)
    assert by_word.separation_ is not None


def test_several_classes_sparse_and_dense_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_HESSIAN", 50)
    x, _ = text(500, 120)
    rng = np.random.default_rng(3)
    y = (x[:, :6] @ rng.standard_normal((6, 4)) + rng.gumbel(size=(500, 4))).argmax(axis=1)
    w = rng.integers(1, 3, 500)
    models = [sx.LogisticRegression(C=0.5, tol=1e-9).fit(t, y, w) for t in (x, x.toarray())]
    monkeypatch.undo()
    exact = sx.LogisticRegression(C=0.5, tol=1e-9).fit(x.toarray(), y, w)
    for model in models:
        assert model.certificate_.holds
        np.testing.assert_allclose(model.predict_proba(x), exact.predict_proba(x), atol=1e-5)
        assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-7)

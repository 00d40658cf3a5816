"""GaussianProcessRegressor with inducing points against the exact one, streams and weights."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=(200, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.normal(size=200)


@pytest.fixture(scope="module")
def exact(rows):
    return sx.GaussianProcessRegressor().fit(*rows)


@pytest.fixture(scope="module")
def automatic(rows):
    return sx.GaussianProcessRegressor(n_inducing="auto").fit(*rows)


def test_bounds_contain_the_evidence_and_meet(automatic, exact):
    lower, upper = automatic.evidence_bounds_
    assert lower <= exact.log_evidence_ + 1e-6
    assert exact.log_evidence_ <= upper + 1e-3
    assert upper - lower <= 1e-3 * 200
    assert automatic.log_evidence_ == lower
    assert "stand for all rows" in str(automatic.certificate_)
    assert f"{lower:.8g}" in str(automatic.certificate_)


def test_predictions_are_those_of_the_exact_process(rows, automatic, exact):
    new = rows[0][:30] + 0.05
    for ours, theirs in zip(
        automatic.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    ours, theirs = (m.predict(new, return_cov=True)[1] for m in (automatic, exact))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert automatic.sample_y(new, 3).shape == (30, 3)


def test_few_points_are_reported_as_few_and_still_bound(rows, exact):
    model = sx.GaussianProcessRegressor(n_inducing=8).fit(*rows)
    assert model.evidence_bounds_[0] < exact.log_evidence_ < model.evidence_bounds_[1]
    assert len(model.X_train_) == 8
    assert "variance that the points leave" in str(model.certificate_)


@pytest.mark.parametrize("points", [8, 60])
def test_units_change_nothing(rows, points):
    x, y, unit = rows[0][:90], rows[1][:90], np.array([1e8, 1e-8])
    first = sx.GaussianProcessRegressor(n_inducing=points).fit(x, y)
    other = sx.GaussianProcessRegressor(alpha=1e2, n_inducing=points).fit(x * unit, 1e6 * y)
    np.testing.assert_allclose(other.predict(x * unit), 1e6 * first.predict(x), atol=0.1)
    assert other.log_evidence_ + 90 * np.log(1e6) == pytest.approx(first.log_evidence_, abs=1e-7)


KERNEL = 2.0 * sx.Gaussian(1.5) + sx.White(0.05)


def test_partial_fit_adds_rows_and_weights_are_copies(rows):
    x, y = rows
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), w.astype(int))
    options = {"optimizer": None, "n_inducing": 20, "trend": "constant"}
    weighted = sx.GaussianProcessRegressor(KERNEL, **options).fit(x, y, w)
    repeated = sx.GaussianProcessRegressor(KERNEL, **options).fit(x[copies], y[copies])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), atol=1e-9)
    half = sx.GaussianProcessRegressor(KERNEL, **options).fit(x, y)
    half.partial_fit(x, y)
    doubled = sx.GaussianProcessRegressor(KERNEL, **options).fit(x, y, np.full(len(y), 2.0))
    assert half.log_evidence_ == pytest.approx(doubled.log_evidence_, rel=1e-10)
    assert not hasattr(sx.GaussianProcessRegressor(), "partial_fit")


def test_files_are_read_block_by_block(rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    x, y = rows
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), path, row_group_size=50)
    table = sx.scan(path, target="y", block_rows=37)
    streamed = sx.GaussianProcessRegressor(KERNEL, optimizer=None, n_inducing=20).fit(table)
    memory = sx.GaussianProcessRegressor(KERNEL, optimizer=None, n_inducing=20).fit(x, y)
    assert streamed.log_evidence_ == pytest.approx(memory.log_evidence_, rel=1e-10)


def test_what_there_is_not_is_refused_in_words(rows):
    x, y = rows
    model = sx.GaussianProcessRegressor(KERNEL, optimizer=None, n_inducing=5).fit(x, y)
    with pytest.raises(InputError, match="no leave-one-out"):
        model.leave_one_out()
    for bad in (0, 2.5, "many", True):
        with pytest.raises(InputError, match="not a number of inducing points"):
            sx.GaussianProcessRegressor(n_inducing=bad).fit(x, y)
    with pytest.raises(InputError, match="need rows of numbers"):
        sx.GaussianProcessRegressor(optimizer=lambda *_: None, n_inducing=5).fit(x, y)
    with pytest.raises(InputError, match="alpha differs"):
        sx.GaussianProcessRegressor(alpha=np.ones(len(y)), n_inducing=5).fit(x, y)

"""What holds for interpolation in one column: points, units, order, weights, files, formulas."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.export.export import json_text
from separatrix.export.program import program_of
from tests.export.evaluator import evaluate
from tests.laws.data import stored_and_loaded
from tests.registry import INTERPOLATIONS, Row

every = pytest.mark.parametrize("row", INTERPOLATIONS, ids=lambda row: row.name)
NEW = np.linspace(-1.3, 2.4, 41)[:, None]


def table(n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Points of Chebyshev in another order, and a smooth target."""
    x = sx.PolynomialInterpolation.chebyshev_points(n, -1.0, 2.0)
    x = np.random.default_rng(0).permutation(x)
    return x[:, None], np.exp(np.sin(2.0 * x)) + 3.0


@every
def test_every_point_is_met_exactly(row: Row) -> None:
    x, y = table()
    model = row.make().fit(x, y)
    assert_array_equal(model.predict(x), y)
    assert model.score(x, y) == 1.0
    assert model.certificate_.holds, str(model.certificate_)
    two = row.make().fit(x, np.stack([y, -y], axis=1))
    assert_allclose(two.predict(NEW)[:, 0], model.predict(NEW), rtol=1e-9)


@every
@pytest.mark.parametrize("factor", [1e-8, 1e8, 1e100])
def test_units_and_origin_do_not_matter(row: Row, factor: float) -> None:
    x, y = table()
    expected = row.make().fit(x, y).predict(x + 0.01)
    # shifted by a power of two times the range: no point loses a digit that tells it apart
    for other, new in ((factor * x, factor * (x + 0.01)), (x + 4.0, x + 4.01)):
        assert_allclose(row.make().fit(other, y).predict(new), expected, rtol=1e-10)
    scaled = row.make().fit(x, factor * y)
    assert_allclose(scaled.predict(x + 0.01), factor * expected, rtol=1e-12)


@every
def test_order_and_weights_of_rows_do_not_matter_but_zero_ones(row: Row) -> None:
    x, y = table()
    plain = row.make().fit(x, y).predict(NEW)
    order = np.random.default_rng(1).permutation(len(x))
    assert_array_equal(row.make().fit(x[order], y[order]).predict(NEW), plain)
    w = np.random.default_rng(2).integers(0, 3, len(x))
    weighted = row.make().fit(x, y, sample_weight=w)
    repeated = row.make().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert_array_equal(weighted.predict(NEW), repeated.predict(NEW))


@every
def test_pickles_files_and_formulas_predict_the_same(row: Row, tmp_path) -> None:
    x, y = table()
    model = row.make().fit(x, y)
    for other in (pickle.loads(pickle.dumps(model)), stored_and_loaded(model, tmp_path)):
        assert_array_equal(other.predict(NEW), model.predict(NEW))
        assert_array_equal(other.derivative(NEW), model.derivative(NEW))
    document = json.loads(json_text(program_of(model)))
    new = np.concatenate([NEW, x[:3]])
    found = [evaluate(document, {"x0": v}) for v in new[:, 0].tolist()]
    written = [next(iter(answers.values())) for answers in found]
    # beyond the points a last digit of a term counts as often as they are far
    assert_allclose(written, model.predict(new), rtol=1e-6)
    frame = pd.DataFrame({"x0": x[:, 0], "y": y})
    named = row.make().fit(sx.scan(frame, target="y").read())
    inside = pd.DataFrame({"x0": new[5:30, 0]})
    for to in ("sql", "python", "onnx"):
        assert sx.export_model(named, to, rows=inside).content


@every
def test_frames_and_tables_are_read(row: Row) -> None:
    x, y = table()
    frame = pd.DataFrame({"time": x[:, 0], "height": y})
    model = row.make().fit(sx.scan(frame, target="height").read())
    assert_array_equal(model.predict(frame), y)
    assert model.formula().targets == ("height",)
    assert model.extrapolates(pd.DataFrame({"time": [0.5, 2.5]})).tolist() == [False, True]


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(row: Row, bad: float) -> None:
    x, y = table()
    x[3] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinit"):
        row.make().fit(x, y)


#: Checks of scikit-learn whose tables have several columns whatever the tags say, or rows of one
#: value and different targets: through these passes no function of one column.
OF_OTHER_TABLES = {
    f"check_{name}": "several columns, or rows that contradict one another"
    for name in (
        "dont_overwrite_parameters", "n_features_in_after_fitting", "positive_only_tag_during_fit",
        "estimators_dtypes", "sample_weights_pandas_series", "sample_weights_not_an_array",
        "sample_weights_shape", "sample_weights_not_overwritten", "dtype_object",
        "sample_weight_equivalence_on_dense_data", "estimator_sparse_array", "fit1d",
        "f_contiguous_array_estimator", "regressors_no_decision_function", "fit2d_1sample",
        "methods_sample_order_invariance", "methods_subset_invariance", "fit2d_1feature",
        "dict_unchanged", "n_features_in", "fit2d_predict1d",
    )
}  # fmt: skip


@parametrize_with_checks(
    [row.make() for row in INTERPOLATIONS], expected_failed_checks=lambda _: OF_OTHER_TABLES
)
def test_scikit_learn_checks(estimator, check) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random points have a large Lebesgue constant
        check(estimator)

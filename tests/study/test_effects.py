"""Effects of columns: by definition, for linear scores and for any other model."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.sources.new_rows import rows_like
from separatrix.study.answers import answer_columns, load_predictor
from separatrix.study.effects import Effects, typical_row
from separatrix.study.result import ColumnReference


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    n = 80
    a, b = rng.normal(5.0, 2.0, n), rng.normal(-1.0, 1.0, n)
    color = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    y = 3.0 * a - b + 4.0 * (color == "red") + rng.normal(0, 0.3, n)
    c = np.where(y > np.median(y), "high", "low")
    half = [None if i % 9 == 0 else float(v) for i, v in enumerate(b)]
    return {"a": a, "b": half, "color": color, "y": y, "c": c}


#: The typical row, as a study would have it.
TYPICAL = {"a": [5.0], "b": [-1.0], "color": ["green"]}
REFERENCES = (
    ColumnReference("a", "numeric", 3, 0, np.array([4.0, 5.0, 6.0]), np.array([0.3, 0.7, 1.0])),
    ColumnReference("b", "numeric", 3, 0, np.array([-1.0, 9.0]), np.array([0.6, 1.0])),
    ColumnReference(
        "color", "discrete", 3, 0, np.zeros(0), np.array([0.2, 0.5, 0.3]), ("blue", "green", "red")
    ),
)


def fit(table, model, target):
    names = ["a", "b", "color", target]
    rows = sx.scan({name: table[name] for name in names}, target=target).read()
    fitted = model.fit(rows)
    return fitted, rows.schema, rows_like({n: table[n] for n in names}, rows.schema).read()


def changed(table, name):
    """The table with one column as in the typical row."""
    return {**table, name: TYPICAL[name] * len(table["a"])}


@pytest.mark.parametrize("model", [sx.LinearRegression(), sx.KernelRidge(kernel="rbf")])
def test_effects_on_a_number_are_differences_of_predictions(table, model):
    fitted, schema, rows = fit(table, model, "y")
    effects = Effects(fitted, typical_row(schema, REFERENCES))
    found = effects.of(rows)
    total = fitted.predict(table)
    np.testing.assert_allclose(found.total, total, rtol=1e-10)
    np.testing.assert_allclose(found.base, fitted.predict(TYPICAL)[0], rtol=1e-10)
    for j, name in enumerate(effects.names):
        other = fitted.predict(changed(table, name))
        np.testing.assert_allclose(found.values[:, j], total - other, atol=1e-8)
    if effects.linear:
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), total, rtol=1e-10)


def test_effects_on_a_class_are_those_of_the_predicted_one(table):
    fitted, schema, rows = fit(table, sx.LogisticRegression(), "c")
    found = Effects(fitted, typical_row(schema, REFERENCES)).of(rows)
    f = fitted.decision_function(table)
    sign = np.where(fitted.predict(table) == fitted.classes_[1], 1.0, -1.0)
    np.testing.assert_allclose(found.total, sign * f, rtol=1e-8)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), sign * f, rtol=1e-8)


def test_effects_on_probabilities_where_the_score_is_not_linear(table):
    fitted, schema, rows = fit(table, sx.KNeighborsClassifier(7), "c")
    effects = Effects(fitted, typical_row(schema, REFERENCES))
    found = effects.of(rows)
    at = np.arange(rows.block.n), fitted.predict_proba(table).argmax(axis=1)
    total = fitted.predict_proba(table)[at]
    np.testing.assert_array_equal(found.total, total)
    other = fitted.predict_proba(changed(table, "color"))[at]
    np.testing.assert_allclose(found.values[:, effects.names.index("color")], total - other)


def test_leading_effects_and_the_others_add_up(table, tmp_path):
    rows = sx.scan({n: table[n] for n in ("a", "b", "color", "y")}, target="y").read()
    sx.save(sx.LinearRegression().fit(rows), tmp_path / "model.sx")
    fitted, schema = load_predictor(tmp_path)
    answers = answer_columns(tmp_path, fitted, schema, level=0.9, effects=2)
    columns = dict(zip(answers.all_headings, answers.columns(rows), strict=True))
    assert list(columns) == [
        "predicted", "base", "column 1", "effect 1", "column 2", "effect 2", "other effects",
    ]  # fmt: skip
    parts = ("base", "effect 1", "effect 2", "other effects")
    np.testing.assert_allclose(sum(columns[n] for n in parts), columns["predicted"], rtol=1e-12)
    assert (abs(columns["effect 1"]) >= abs(columns["effect 2"])).all()


def test_groups_and_models_without_scores_have_no_effects(table):
    rows = sx.scan({"a": table["a"], "y": table["y"]}).read()
    with pytest.raises(InputError, match="clusters"):
        Effects(sx.KMeans(2).fit(rows), typical_row(rows.schema, ()))

"""Boxes with the fewest errors against a list of all boxes; the classifier on real tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.hypotheses.box_classifier import ClassExtremes, OtherClasses
from separatrix.hypotheses.version_space import fewest_errors

X, Y = load_iris(return_X_y=True)


def fewest_by_list(x, positive, w):
    """Errors of every box with faces at positive rows."""
    ranges = []
    for j in range(x.shape[1]):
        values = np.unique(x[positive, j])
        ranges.append([(a, b) for a in values for b in values if a <= b])
    errors = []
    for faces in product(*ranges):
        low, high = np.array(faces).T
        inside = ((x >= low) & (x <= high)).all(axis=1)
        if (inside & positive).any():
            errors.append(w[inside != positive].sum())
    return min(errors)


@given(st.integers(0, 10_000), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_no_box_makes_fewer_errors(seed, d):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 12 if d < 3 else 8)
    x = rng.integers(0, 5, (n, d)).astype(float)
    positive = rng.random(n) < 0.5
    positive[0] = True
    w = rng.integers(1, 4, n).astype(float)
    found = fewest_errors(x, positive, w, 2000)
    inside = ((x >= found.lower) & (x <= found.upper)).all(axis=1)
    least = fewest_by_list(x, positive, w)
    assert found.errors == pytest.approx(least)
    assert w[inside != positive].sum() == pytest.approx(least)
    assert found.bound <= least
    assert found.exact


def test_a_class_that_is_better_off_without_a_box_is_stated():
    x, y = np.full((3, 1), 4.0), [0, 0, 1]
    for model in (sx.BoxClassifier(concept=1), sx.UnionOfBoxes(1)):
        model.fit(x, y)
        assert model.errors_[-1] == 2.0  # none at all has 1
        assert "had better have no box" in str(model.certificate_)
    assert "no box" not in str(sx.BoxClassifier().fit(X, Y).certificate_)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_a_certificate_counts_the_box_of_no_rows(seed):
    """On few places, so that rows are tied and outweighed: all boxes, and the empty one."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 10), rng.integers(1, 3)
    x = rng.integers(0, 3, (n, d)).astype(float)
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    w = rng.integers(1, 4, n).astype(float)
    model = sx.BoxClassifier(concept=1).fit(x, y, sample_weight=w)
    least, without = fewest_by_list(x, y == 1, w), w[y == 1].sum()
    assert model.certificate_.primal == model.certificate_.dual == least
    assert ("no box" in str(model.certificate_)) == (without < least)


def test_a_class_outweighed_everywhere_still_has_a_box():
    x = np.array([[0.0, 3], [0, 3], [3, 0], [3, 0], [3, 0], [1, 1], [1, 2], [2, 1]])
    y = np.array(["a", "b", "a", "b", "b", "b", "b", "b"])
    w = np.array([1.0, 2, 1, 1, 1, 1, 1, 1])
    for nodes in (1, 500):
        model = sx.BoxClassifier(max_nodes=nodes).fit(x, y, sample_weight=w)
        assert not model.spaces_[0].specific.empty
        assert model.certificate_.dual <= model.certificate_.primal
    spread = np.random.default_rng(0).standard_normal((60, 3))
    rare = np.where(np.arange(60) % 12 == 0, "rare", "usual")
    found = sx.BoxClassifier(max_nodes=1).fit(spread, rare)
    assert found.spaces_[0].specific.contains(spread[rare == "rare"]).any()


def test_too_few_nodes_are_stated():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6))
    y = np.where((np.abs(x) < 1).all(axis=1) ^ (rng.random(300) < 0.2), "in", "out")
    model = sx.BoxClassifier(max_nodes=3, concept="in").fit(x, y)
    certificate = model.certificate_
    assert not certificate.holds
    assert 0 <= certificate.dual < certificate.primal == model.errors_.sum()
    wrong = model.spaces_[0].specific.contains(x) != (y == "in")
    assert wrong.sum() == certificate.primal


def test_iris_as_rules():
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    labels = load_iris().target_names[Y]
    model = sx.BoxClassifier().fit(pd.DataFrame(X, columns=names), labels)
    assert model.rules_[0] == "petal length ≤ 2.45 and petal width ≤ 0.8"
    assert model.errors_.tolist() == model.error_bounds_.tolist() == [0, 3, 6]
    assert "versicolor" in model.describe()
    short = sx.BoxClassifier("short").fit(pd.DataFrame(X, columns=names), labels)
    assert short.rules_[0] == "petal length ≤ 2.45"
    assert short.rules_[2] == "petal width ≥ 1.75"
    assert model.score(pd.DataFrame(X, columns=names), labels) > 0.95


@pytest.mark.parametrize("hypothesis", ["specific", "short", "general"])
def test_rows_one_at_a_time_are_rows_at_once(hypothesis):
    x, y = X[::5], Y[::5]
    model = sx.BoxClassifier(hypothesis)
    for i in np.random.default_rng(0).permutation(len(x)):
        model.partial_fit(x[[i]], y[[i]], classes=[0, 1, 2])
    whole = sx.BoxClassifier(hypothesis).fit(x, y)
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))
    assert np.array_equal(model.certainty(X), whole.certainty(X))
    assert str(model.certificate_) == str(whole.certificate_)


def test_a_concept_rejects_between_its_boxes():
    x = np.array([[1.0, 1], [2, 2], [5, 1], [1, 5]])
    y = np.array(["car", "car", "other", "other"])
    model = sx.BoxClassifier(concept="car", reject=True).fit(x, y)
    new = [[1.5, 1.5], [3, 1], [4.9, 4.9], [5, 1.5], [0, 0]]
    assert model.certainty(new)[:, 0].tolist() == [1, 0, 0, -1, 0]
    expected = ["car", "reject", "reject", "other", "reject"]
    assert model.predict(new).tolist() == expected
    swapped = sx.BoxClassifier(concept="zcar", reject=True).fit(x, np.where(y == "car", "zcar", y))
    assert np.char.lstrip(swapped.predict(new).astype(str), "z").tolist() == expected
    assert (sx.BoxClassifier("specific", concept="car").fit(x, y).predict(x) == y).all()


def test_classes_reject_where_none_or_several_claim():
    x = np.array([[0.0, 0], [2, 2], [3, 3], [5, 5], [1, 8]])
    y = np.array([0, 0, 1, 1, 2])
    model = sx.BoxClassifier("specific", reject=True).fit(x, y)
    assert model.predict([[1, 1], [4, 4], [2.5, 2.5], [1, 8]]).tolist() == [0, 1, -1, 2]
    overlap = np.array([[0.0, 0], [3, 3], [2, 4], [5, 2], [6, 6], [9, 9]])
    crossed = sx.BoxClassifier("specific", reject=True).fit(overlap, [0, 0, 1, 1, 2, 2])
    assert crossed.predict([[2.5, 2.5], [1, 1], [4, 3]]).tolist() == [-1, 0, 1]


def test_any_increasing_scale_gives_the_same_boxes():
    a, b = sx.BoxClassifier("specific").fit(X, Y), sx.BoxClassifier("specific").fit(np.exp(X), Y)
    for one, other in zip(a.spaces_, b.spaces_, strict=True):
        assert np.array_equal(np.exp(one.specific.lower), other.specific.lower)
        assert np.array_equal(np.exp(one.common.upper), other.common.upper)


def test_tables_in_blocks_with_text_and_missing_values():
    frame = pd.DataFrame(X, columns=list("abcd")).iloc[:100]
    frame["color"] = np.where(Y[:100] == 0, "red", "blue")
    frame["kind"] = np.array(["s", "v"])[Y[:100]]
    frame.loc[3, "a"] = np.nan
    streamed = sx.BoxClassifier().fit(sx.scan(frame, target="kind", block_rows=7))
    whole = sx.BoxClassifier().fit(sx.scan(frame, target="kind"))
    plain = frame.drop(columns="kind")
    framed = sx.BoxClassifier().fit(plain, frame["kind"])
    assert streamed.rules_ == whole.rules_ == framed.rules_
    assert "color" in streamed.rules_[0]
    assert streamed.certificate_.primal == 0.0
    assert (framed.predict(plain) == frame["kind"]).all()


def test_statistics_of_parts_add_up():
    rows = sx.scan(
        pd.DataFrame(X[:100], columns=list("abcd")).assign(y=Y[:100].astype(str)),
        target="y",
        block_rows=9,
    )
    blocks = list(rows.blocks())
    whole = rows.reduce(ClassExtremes())
    parts = [ClassExtremes() for _ in range(2)]
    for i, block in enumerate(blocks):
        parts[i % 2].update(block)
    total = parts[0] + parts[1]
    for term, faces in whole.faces.items():
        assert np.array_equal(total.faces[term], faces)
        assert total.weight[term] == whole.weight[term]
    others = [OtherClasses(whole.faces) for _ in range(2)]
    for i, block in enumerate(blocks):
        others[i % 2].update(block)
    joined, once = others[0] + others[1], rows.reduce(OtherClasses(whole.faces))
    for term, bounds in once.rows.items():
        assert np.array_equal(joined.rows[term], bounds, equal_nan=True)
    assert not joined.inside


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hypothesis": "averge"}, "Did you mean 'average'"),
        ({"max_nodes": 0}, "above zero"),
        ({"concept": 7}, "one of two classes"),
        ({"reject": True, "reject_label": 1}, "is a class"),
    ],
)
def test_bad_options_are_one_sentence(options, message):
    with pytest.raises(sx.InputError, match=message):
        sx.BoxClassifier(**options).fit(X, Y)

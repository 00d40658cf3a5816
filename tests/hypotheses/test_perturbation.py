"""Version spaces of perturbed rows against all boxes of a grid, and all places of the rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.formula.nodes import Evaluation, GivenRows
from separatrix.hypotheses.version_space import both_faces, perturbed_space


def consistent(positive, negative, bound, corners):
    """Faces of all boxes that places of the rows within the bound make consistent."""
    steps = [np.linspace(-b, b, 5) for b in bound]  # places in a column, those of the bound too
    moves = np.array(list(product(*steps)))
    ranges = [(a, b) for a in corners for b in corners if a <= b]
    found = []
    for faces in product(ranges, repeat=len(bound)):
        low, high = np.array(faces).T
        meets = [
            ((row + moves >= low) & (row + moves <= high)).all(axis=1).any() for row in positive
        ]
        holds = [
            ((row + moves >= low) & (row + moves <= high)).all(axis=1).all() for row in negative
        ]
        if all(meets) and not any(holds):
            found.append((low, high))
    return found


@st.composite
def examples(draw):
    d = draw(st.integers(1, 2))
    rows = st.lists(st.integers(0, 5 if d == 1 else 3), min_size=d, max_size=d)
    positive = np.array(draw(st.lists(rows, min_size=1, max_size=3)), dtype=float)
    negative = np.array(draw(st.lists(rows, max_size=4)), dtype=float).reshape(-1, d)
    widths = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=d, max_size=d)
    bound = np.array(draw(widths.filter(any)))  # none at all: the version space of exact rows
    return positive, negative, bound


@given(examples())
@settings(max_examples=80, deadline=None)
def test_certain_and_possible_rows_are_those_of_all_consistent_boxes(case):
    positive, negative, bound = case
    corners = np.arange(-1.5, 6.6 if len(bound) == 1 else 4.6, 0.5)
    boxes = consistent(positive, negative, bound, corners)
    points = both_faces(positive, np.ones(len(positive), dtype=bool), bound)
    others = both_faces(negative, np.zeros(len(negative), dtype=bool), bound)
    low, high = points.min(axis=0), points.max(axis=0)
    others = others[((others < low) | (others > high)).any(axis=1)]
    if len(others) < len(negative):
        assert not boxes
        return
    space = perturbed_space(points, others, bound)
    grid = np.array(
        list(product(np.arange(-0.5, 5.6 if len(bound) == 1 else 3.6, 0.5), repeat=len(bound)))
    )
    inside = np.array([((grid >= a) & (grid <= b)).all(axis=1) for a, b in boxes])
    assert np.array_equal(space.certain(grid), inside.all(axis=0))
    assert np.array_equal(space.possible(grid), inside.any(axis=0))
    members = space.general()
    listed = np.array([box.contains(grid) for box in members])
    assert np.array_equal(listed.any(axis=0), inside.any(axis=0))
    for box in (space.average, space.short):  # both are consistent themselves
        meets = (points[:, : len(bound)] >= box.lower - bound) & (
            points[:, : len(bound)] <= box.upper + bound
        )
        assert meets.all()
        holds = (negative - bound >= box.lower) & (negative + bound <= box.upper)
        assert not holds.all(axis=1).any()


@given(examples(), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_errors_are_the_fewest_of_all_boxes(case, seed):
    positive, negative, bound = case
    x = np.concatenate([positive, negative])
    y = np.repeat([1, 0], [len(positive), len(negative)])
    assume(len(negative) > 0)
    # columns in which all rows agree are taken to be exact
    assume(np.ptp(x, axis=0)[bound > 0.0].min() > 0.0)
    model = sx.BoxClassifier(concept=1, perturbation=bound).fit(x, y)
    corners = np.arange(-1.5, 6.6 if len(bound) == 1 else 4.6, 0.5)
    fewest = len(x)
    for faces in product([(a, b) for a in corners for b in corners if a <= b], repeat=len(bound)):
        low, high = np.array(faces).T
        meets = ((positive + bound >= low) & (positive - bound <= high)).all(axis=1)
        holds = ((negative - bound >= low) & (negative + bound <= high)).all(axis=1)
        if meets.any():
            fewest = min(fewest, int((~meets).sum() + holds.sum()))
    assert model.errors_[0] == fewest
    assert model.certificate_.holds
    assert sx.verify(model, x, y).holds


def test_the_true_box_is_between_them():
    rng = np.random.default_rng(0)
    low, high, bound = np.array([0.3, -1.0]), np.array([0.7, 2.0]), np.array([0.03, 0.2])
    true = rng.uniform([0, -3], [1, 4], (300, 2))
    label = ((true >= low) & (true <= high)).all(axis=1)
    seen = true + bound * rng.uniform(-1, 1, true.shape)
    model = sx.BoxClassifier(concept=True, perturbation=bound, reject=True).fit(seen, label)
    assert model.errors_[0] == 0.0
    new = rng.uniform([0, -3], [1, 4], (5000, 2))
    inside = ((new >= low) & (new <= high)).all(axis=1)
    certainty = model.certainty(new)[:, 0]
    assert inside[certainty == 1].all()
    assert not inside[certainty == -1].any()
    assert (certainty != 0).mean() > 0.7
    assert "lies in a member of G" in str(model.certificate_)
    formula = model.formula()
    chosen = Evaluation(GivenRows(new))(formula.chosen).array[:, 0]
    assert np.array_equal(formula.labels[chosen], model.predict(new))
    assert (formula.labels[chosen] == model.labels_[-1]).sum() == (certainty == 0).sum()
    exact = sx.BoxClassifier(concept=True).fit(seen, label)
    assert exact.errors_[0] > 0.0  # taken for exact, the rows contradict every box


def test_portions_streams_and_names_give_the_same():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (60, 2))
    y = np.where((np.abs(x - 0.5) < 0.3).all(axis=1), "in", "out")
    whole = sx.BoxClassifier(concept="in", perturbation=[0.05, 0.0]).fit(x, y)
    parts = sx.BoxClassifier(concept="in", perturbation=[0.05, 0.0])
    for part in (slice(0, 20), slice(20, 60)):
        parts.partial_fit(x[part], y[part], classes=["in", "out"])
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=y)
    named = sx.BoxClassifier(concept="in", perturbation={"a": 0.05})
    named.fit(sx.scan(frame, target="y", block_rows=16))
    for other in (parts, named):
        assert np.array_equal(
            other.spaces_[0].negatives, whole.spaces_[0].negatives, equal_nan=True
        )
        assert np.array_equal(other.spaces_[0].average.lower, whole.spaces_[0].average.lower)
    for bad, message in (
        (-1.0, "below zero"),
        ([1.0, 2.0, 3.0], "2 columns"),
        ({"z": 1.0}, "no such"),
    ):
        with pytest.raises(sx.InputError, match=message):
            sx.BoxClassifier(perturbation=bad).fit(x, y)

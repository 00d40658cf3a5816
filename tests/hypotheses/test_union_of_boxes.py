"""Several boxes for each class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import separatrix as sx

X, Y = load_iris(return_X_y=True)


def test_two_boxes_learn_what_one_cannot():
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    model = sx.UnionOfBoxes(2).fit(x, y)
    assert model.certificate_.primal == 0.0
    assert model.score(x, y) == 1.0
    assert [len(boxes) for boxes in model.boxes_] == [2, 2]
    assert ") or (" in model.rules_[0]
    assert sx.BoxClassifier().fit(x, y).certificate_.primal > 60


def test_one_box_is_the_box_with_the_fewest_errors():
    one, box = sx.UnionOfBoxes(1, max_nodes=5000).fit(X, Y), sx.BoxClassifier().fit(X, Y)
    assert np.array_equal(one.decision_function(X), box.decision_function(X))
    assert one.rules_ == box.rules_


def test_more_boxes_make_no_more_errors():
    errors = [sx.UnionOfBoxes(m).fit(X, Y).errors_ for m in (1, 2, 3)]
    assert (errors[1] <= errors[0]).all()
    assert (errors[2] <= errors[1]).all()
    assert errors[2].sum() < errors[0].sum()


def test_the_errors_are_those_of_the_boxes():
    model = sx.UnionOfBoxes(2).fit(X, Y)
    claimed = model._claims(X)
    assert ((claimed != (Y[:, None] == model.classes_)).sum(axis=0) == model.errors_).all()
    for spaces, label in zip(model.spaces_, model.classes_, strict=True):
        inside = np.any([space.specific.contains(X) for space in spaces], axis=0)
        assert (inside != (label == Y)).sum() == model.errors_[label]


@pytest.mark.parametrize("seed", range(30))
def test_no_box_more_less_or_elsewhere_makes_fewer_errors(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, 12).astype(float)
    y, w = np.r_[0, 1, rng.integers(0, 2, 10)], rng.integers(1, 4, 12).astype(float)
    model = sx.UnionOfBoxes(2).fit(x[:, None], y, sample_weight=w)
    assert "in one column" not in str(model.certificate_)
    for label, spaces in enumerate(model.spaces_):
        own = x[y == label]
        every = [(x >= a) & (x <= b) for a in own for b in own if a <= b]
        boxes = [space.specific.contains(x[:, None]) for space in spaces]
        others = [boxes[:k] + boxes[k + 1 :] for k in range(len(boxes))]
        unions = [[*rest, box] for rest in others for box in every]
        unions += [rest for rest in others if rest]
        unions += [[*boxes, box] for box in every if len(boxes) < 2]
        least = min(w[np.any(union, axis=0) != (y == label)].sum() for union in unions)
        assert model.errors_[label] <= least


def test_rejects_where_none_or_several_claim():
    x = np.array([[0.0], [1], [4], [5], [8], [9]])
    model = sx.UnionOfBoxes(2, hypothesis="specific", reject=True).fit(x, [0, 0, 1, 1, 0, 0])
    assert model.predict([[0.5], [2.0], [4.5], [8.5], [20.0]]).tolist() == [0, -1, 1, 0, -1]


@pytest.mark.parametrize("options", [{"n_boxes": 0}, {"max_nodes": 1.5}, {"hypothesis": "most"}])
def test_bad_options_are_one_sentence(options):
    with pytest.raises(sx.InputError, match=next(iter(options))):
        sx.UnionOfBoxes(**options).fit(X, Y)


def test_annealing_never_has_more_errors_and_often_fewer():
    fewer = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 12, (250, 2)).astype(float)
        crosses = [([0, 4], [11, 6]), ([5, 0], [6, 11]), ([1, 8], [3, 11])]
        y = np.any([((x >= low) & (x <= high)).all(axis=1) for low, high in crosses], axis=0)
        y = np.where(rng.random(250) < 0.1, ~y, y)
        greedy = sx.UnionOfBoxes(3).fit(x, y)
        annealed = sx.UnionOfBoxes(3, solver="annealing", max_evaluations=6000).fit(x, y)
        assert (annealed.errors_ <= greedy.errors_).all()
        fewer += annealed.errors_.sum() < greedy.errors_.sum()
        for label, boxes, errors in zip(
            annealed.classes_, annealed.spaces_, annealed.errors_, strict=True
        ):
            inside = np.any([space.specific.contains(x) for space in boxes], axis=0)
            assert (inside != (y == label)).sum() == errors
    assert fewer >= 2
    assert "6,000 moves" in str(annealed.certificate_)

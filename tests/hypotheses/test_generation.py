"""Generated points: where they are claimed to be, within bounds, whole numbers and levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx


def test_asking_for_generated_points_halves_the_gap():
    truth, model = (0.2371, 0.6183), sx.BoxClassifier(concept=1)
    x, y = np.array([[0.0], [0.4], [1.0]]), np.array([0, 1, 0])
    for _ in range(24):
        generated = sx.generate_query(model.fit(x, y))
        (new,) = generated.matrix
        assert model.certainty([new]).tolist() == [[0]]
        x = np.concatenate([x, [new]])
        y = np.append(y, int(truth[0] <= new[0] <= truth[1]))
    model.fit(x, y)
    box = model.boxes_[0]  # twelve halvings of either face
    assert abs(box.lower[0] - truth[0]) < 2e-4
    assert abs(box.upper[0] - truth[1]) < 2e-4


def test_nothing_is_generated_where_all_boxes_agree():
    model = sx.BoxClassifier(concept=1).fit([[1], [2], [3], [4], [5]], [0, 1, 1, 1, 0])
    generated = sx.generate_query(model, integers=[0])
    assert len(generated) == 0
    assert "all consistent boxes agree" in str(generated)


def test_points_are_on_the_boundary_and_far_from_known_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (80, 2))
    x = x[x[:, 1] < 0.2]
    y = np.where(x[:, 0] > 0.3, "right", "left")
    model = sx.LogisticRegression(C=100.0).fit(x, y)
    generated = sx.generate_query(model, 3, bounds=[[-1, -1], [1, 1]], training=(x, y))
    assert abs(model.decision_function(generated.matrix)).max() < 1e-9
    assert generated.matrix[0, 1] > 0.9  # where no row is
    apart = np.linalg.norm(generated.matrix[:, None] - generated.matrix, axis=2)
    assert apart[~np.eye(3, dtype=bool)].min() > 0.2
    assert "changes from" in str(generated)
    again = sx.generate_query(model, 3, bounds=[[-1, -1], [1, 1]], training=(x, y))
    assert np.array_equal(again.matrix, generated.matrix)


def test_levels_and_whole_numbers_are_respected():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"town": rng.choice(["Oslo", "Rome"], 80), "rooms": rng.integers(1, 9, 80)}
    )
    y = np.where(frame.rooms + 2 * (frame.town == "Rome") > 5, "dear", "cheap")
    model = sx.LogisticRegression().fit(sx.scan(frame.assign(y=y), target="y").read())
    generated = sx.generate_query(model, 2, training=(frame, y), bounds={"rooms": (2, 7)})
    assert generated.matrix is None
    for point in generated.points:
        assert point["town"] in ("Oslo", "Rome")
        assert isinstance(point["rooms"], int)
        assert 2 <= point["rooms"] <= 7
        # the class changes to the next whole number, in one direction
        near = [model.predict(pd.DataFrame([point | {"rooms": point["rooms"] + s}]))[0]
                for s in (-1, 0, 1)]  # fmt: skip
        assert len(set(near)) == 2


def test_numbers_are_generated_where_they_are_known_least():
    x, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0.0, 0.8, 0.9, 0.4])
    process = sx.GaussianProcessRegressor(sx.Fixed(sx.Gaussian(1.0)), alpha=1e-6).fit(x, y)
    (point,) = sx.generate_query(process).matrix
    grid = np.linspace(0, 9, 2001)[:, None]
    widest = process.predictive(grid).scale.max()
    assert process.predictive(point[None]).scale[0] >= widest * (1 - 1e-3)
    # no spread of its own: far from the rows, or where fits to draws of them differ
    nearest = sx.KNeighborsRegressor(1).fit(x, y)
    committee = sx.generate_query([nearest, sx.KNeighborsRegressor(1).fit(x, -y)])
    assert "committee" in str(committee)
    whole = sx.generate_query(process, 4, integers=[0], bounds=[[0], [9]])
    assert (whole.matrix == whole.matrix.round()).all()
    assert len(np.unique(whole.matrix)) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "above zero"),
        ({"integers": ["z"]}, "no column 'z'"),
        ({"bounds": [[5.0], [1.0]]}, "no range"),
    ],
)
def test_what_cannot_be_generated_is_one_sentence(options, message):
    model = sx.LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(sx.InputError, match=message):
        sx.generate_query(model, **options)
    with pytest.raises(sx.InputError, match="does not say where"):
        sx.generate_query(sx.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))

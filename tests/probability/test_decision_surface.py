"""Decision surfaces on a plane: scores, predicted classes, points, window."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from separatrix import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    OneVsRest,
    QuadraticDiscriminantAnalysis,
    RejectOption,
)
from separatrix.messages import InputError
from separatrix.probability.decision_surface import MOST_DOTS, decision_surface, utilities


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    codes = np.arange(600) % 3
    x = rng.normal(size=(600, 4)) + 3.0 * np.eye(3, 4)[codes]
    return x, codes


def drawn(model, x, codes, classes=("0", "1", "2")):
    called = np.array(
        [classes.index(c) if c in classes else len(classes) for c in model_str(model, x)]
    )
    return decision_surface(
        (x, codes, None), (x, codes), lambda v: utilities(model, v), called, tuple(classes)
    )


def model_str(model, x):
    return [str(v) for v in model.predict(x)]


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(),
        LeastSquaresClassifier(),
        LinearSVC(),
        RejectOption(LinearDiscriminantAnalysis(), costs=0.3),
        RejectOption(LinearDiscriminantAnalysis(), costs=[[0, 5, 1], [1, 0, 1], [1, 1, 0]]),
        RejectOption(LinearDiscriminantAnalysis(), costs=[[-1, 5, 1], [1, 0, 1], [1, 1, 0]]),
        OneVsRest(LinearDiscriminantAnalysis(), reject=True),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'costs', '')}",
)
def test_the_prediction_of_largest_utility_is_that_of_the_model(model, rows):
    x, codes = rows
    labels = codes.astype(str)
    model.fit(x, labels)
    answers = np.array(["0", "1", "2", "reject"])
    assert (answers[utilities(model, x).argmax(axis=1)] == model.predict(x)).all()


def test_two_classes_by_scores_alone(rows):
    x, codes = rows
    shown = codes < 2
    model = LinearSVC().fit(x[shown], codes[shown])
    assert (utilities(model, x).argmax(axis=1) == model.predict(x)).all()


def test_a_linear_model_of_three_classes_is_drawn_exactly(rows):
    """The plane holds both discriminant directions: nothing is lost."""
    x, codes = rows
    land = drawn(LinearDiscriminantAnalysis().fit(x, codes.astype(str)), x, codes)
    assert land.agreement > 0.995
    assert land.utility.shape[2] == 3
    assert not land.rejects
    for k, normal in enumerate(land.normals):
        np.testing.assert_allclose(normal.mean, land.dots[codes == k].mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(normal.covariance, np.cov(land.dots[codes == k].T), atol=1e-4)


def test_the_boundary_is_where_the_model_has_it(rows):
    """Along the plane the class of the largest score changes where the prediction does."""
    x, codes = rows
    model = QuadraticDiscriminantAnalysis().fit(x, codes.astype(str))
    land = drawn(model, x, codes)
    grid = np.stack(np.meshgrid(land.x, land.y), axis=-1).reshape(-1, 2)
    called = model.predict(land.plane.inverse_transform(grid)).astype(int)
    assert (land.utility.argmax(axis=2).ravel() == called).all()
    assert len(np.unique(called)) == 3


def test_rejection_is_a_prediction(rows):
    x, codes = rows
    land = drawn(
        RejectOption(LinearDiscriminantAnalysis(), costs=0.1).fit(x, codes.astype(str)), x, codes
    )
    assert land.rejects
    assert (land.utility.argmax(axis=2) == 3).any()
    assert land.rejected == pytest.approx(np.mean(land.called == 3))


def test_many_dots_are_thinned_and_unknown_classes_left_out(rows):
    x, codes = rows
    model = LinearDiscriminantAnalysis().fit(x, codes.astype(str))
    shown = np.tile(x, (12, 1)), np.tile(codes, 12)
    shown[1][:600] = 3  # met in the test part only
    called = np.zeros(7200, dtype=int)
    land = decision_surface(
        (x, codes, None), shown, lambda v: utilities(model, v), called, ("0", "1", "2")
    )
    assert len(land.dots) == MOST_DOTS
    assert land.truth.max() == 2


def test_too_many_classes_or_too_few_rows_are_refused(rows):
    x, codes = rows
    with pytest.raises(InputError, match="2 to 10 classes; there are 11"):
        decision_surface((x, codes, None), (x, codes), lambda v: v, codes, tuple("abcdefghijk"))
    with pytest.raises(InputError, match="too few rows"):
        decision_surface(
            (x[:3], codes[:3], None), (x[:0], codes[:0]), lambda v: v, codes[:0], tuple("abc")
        )

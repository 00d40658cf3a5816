"""The plane that tells classes apart: against discriminant analysis, and its own laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from separatrix.geometry.discriminant_plane import MAX_COLUMNS, discriminant_plane
from separatrix.messages import InputError


def three_classes(n=3000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    mix = rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mix + rng.normal(size=(3, d))[codes] * 2, codes


def within_covariance(c, codes):
    means = np.array([c[codes == k].mean(axis=0) for k in np.unique(codes)])
    rest = c - means[codes]
    return rest.T @ rest / len(c)


def test_axes_are_the_discriminant_directions():
    x, codes = three_classes()
    plane = discriminant_plane(x, codes)
    other = LinearDiscriminantAnalysis(solver="eigen").fit(x, codes).transform(x)
    c = plane.transform(x)
    assert plane.n_discriminant == 2
    for i in range(2):
        assert abs(np.corrcoef(c[:, i], other[:, i])[0, 1]) == pytest.approx(1, abs=1e-7)
    np.testing.assert_allclose(within_covariance(c, codes), np.eye(2), atol=1e-4)


def test_inverse_transform_is_the_inverse_on_the_plane():
    x, codes = three_classes(seed=1)
    plane = discriminant_plane(x, codes)
    np.testing.assert_allclose(plane.inverse_axes @ plane.axes, np.eye(2), atol=1e-10)
    c = np.array([[0.0, 0.0], [1.5, -2.0]])
    np.testing.assert_allclose(plane.transform(plane.inverse_transform(c)), c, atol=1e-9)
    np.testing.assert_allclose(plane.inverse_transform(c)[0], x.mean(axis=0))


def test_two_classes_have_one_discriminant_and_the_greatest_remaining_variance():
    rng = np.random.default_rng(2)
    codes = np.arange(4000) % 2
    x = rng.normal(size=(4000, 3)) * [1, 1, 1] + codes[:, None] * [3.0, 0, 0]
    x[:, 2] = x[:, 1] + 0.05 * rng.normal(size=4000)  # the widest scatter beside the first axis
    plane = discriminant_plane(x, codes, names=("apart", "wide", "too"))
    assert plane.n_discriminant == 1
    assert plane.top_columns(0, 1) == ["apart"]
    assert set(plane.top_columns(1)) == {"wide", "too"}
    np.testing.assert_allclose(within_covariance(plane.transform(x), codes), np.eye(2), atol=1e-3)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=4, max_size=4), st.integers(0, 99))
def test_units_do_not_matter(powers, seed):
    x, codes = three_classes(200, 4, seed)
    scale = 10.0 ** np.array(powers)
    one, other = discriminant_plane(x, codes), discriminant_plane(x * scale, codes)
    a, b = one.transform(x), other.transform(x * scale)
    sign = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(b * sign, a, atol=1e-5 * np.abs(a).max())
    assert one.top_columns(0) == other.top_columns(0)


def test_weights_are_repeated_rows():
    x, codes = three_classes(300, 3, 5)
    w = np.arange(300) % 3
    once = discriminant_plane(x, codes, w.astype(float))
    again = discriminant_plane(np.repeat(x, w, axis=0), np.repeat(codes, w))
    np.testing.assert_allclose(once.transform(x), again.transform(x), atol=1e-8)


def test_degenerate_tables_have_a_plane_or_are_refused():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(12, 40)), np.arange(12) % 3  # fewer rows than columns
    assert np.isfinite(discriminant_plane(x, codes).transform(x)).all()
    x = np.column_stack([x[:, 0], np.full(12, 1e9), x[:, 0] * 2, x[:, 1]])  # constant, dependent
    plane = discriminant_plane(x, codes)
    assert np.isfinite(plane.transform(x)).all()
    assert not plane.axes[1].any()
    same = discriminant_plane(np.tile(rng.normal(size=(4, 3)), (3, 1)), np.repeat([0, 1, 2], 4))
    assert same.n_discriminant == 0  # equal means
    with pytest.raises(InputError, match="two numeric columns"):
        discriminant_plane(np.column_stack([x[:, 0], np.zeros(12)]), codes)
    with_class = np.column_stack([codes.astype(float), rng.normal(size=12)])  # the class itself
    assert np.isfinite(discriminant_plane(with_class, codes).transform(with_class)).all()


def test_of_many_columns_those_of_largest_between_class_variance_are_used():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    x = rng.normal(size=(60, MAX_COLUMNS + 100))
    x[:, 350] += 5.0 * codes
    plane = discriminant_plane(x, codes)
    assert np.count_nonzero(plane.axes.any(axis=1)) == MAX_COLUMNS
    assert plane.top_columns(0, 1) == ["x350"]


def test_wine_classes_are_separated_on_the_plane():
    x, codes = load_wine(return_X_y=True)
    c = discriminant_plane(x, codes).transform(x)
    means = np.array([c[codes == k].mean(axis=0) for k in range(3)])
    nearest = ((c[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == codes).mean() > 0.98

"""Signed distances, margins and projections of a hyperplane, by their definitions."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from separatrix.geometry.hyperplane import Hyperplane

PLANE = Hyperplane(np.array([[3.0, 4.0]]), np.array([-5.0]))


def test_signed_distance_and_margin_in_three_four_five():
    x = np.array([[3.0, 4.0], [0.0, 0.0], [3.0, -1.0]])
    assert_allclose(PLANE.signed_distance(x)[:, 0], [4.0, -1.0, 0.0])
    assert_allclose(PLANE.margin(x, np.array([1.0, 1.0, -1.0])), [4.0, -1.0, 0.0])


def test_projections_lie_on_the_hyperplane_and_no_other_point_of_it_is_nearer():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2)) * 3
    p = PLANE.projection(x)
    assert_allclose(PLANE.score(p), 0.0, atol=1e-12)
    assert_allclose(np.linalg.norm(x - p, axis=1), np.abs(PLANE.signed_distance(x)[:, 0]))
    along = np.array([4.0, -3.0]) / 5.0
    for step in (-1.0, 0.01, 2.0):
        other = p + step * along
        assert (np.linalg.norm(x - other, axis=1) > np.linalg.norm(x - p, axis=1)).all()

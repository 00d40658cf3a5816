"""Quadrics: scores, crossings with lines, and roots without cancellation."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from separatrix.geometry.hyperplane import Quadric, real_roots

CIRCLE = Quadric(np.eye(2), np.zeros(2), -4.0)


def test_a_circle():
    assert CIRCLE.kind == "ellipsoid"
    assert_allclose(CIRCLE.score(np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 0.0]])), [-4.0, 0.0, 5.0])
    assert_allclose(CIRCLE.gradient(np.array([[1.0, 2.0]])), [[2.0, 4.0]])
    hits = CIRCLE.line_intersections(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert_allclose(hits, [-np.sqrt(3), np.sqrt(3)])
    assert_allclose(CIRCLE.line_intersections(np.array([0.0, 2.0]), np.array([1.0, 0.0])), [0.0])
    assert not len(CIRCLE.line_intersections(np.array([0.0, 3.0]), np.array([1.0, 0.0])))


def test_kinds_of_quadrics():
    for values, kind in (
        ([0.0, 0.0], "plane"),
        ([1.0, -1.0], "hyperboloid"),
        ([-1.0, -2.0], "ellipsoid"),
        ([1.0, 0.0], "paraboloid or cylinder"),
    ):
        assert Quadric(np.diag(values), np.ones(2), 0.0).kind == kind


def test_roots_do_not_cancel():
    assert_allclose(real_roots(1.0, -1e8, 1.0), [1e-8, 1e8], rtol=1e-14)
    assert_allclose(real_roots(0.0, 2.0, -6.0), [3.0])
    assert not len(real_roots(0.0, 0.0, 1.0))
    assert_allclose(real_roots(1.0, 0.0, 0.0), [0.0])


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([1.0, -2.5, 1e-3]))
def test_roots_of_polynomials_with_known_roots(p, q, a):
    found = real_roots(a, -a * (p + q), a * p * q)
    if abs(p - q) > 1e-3 * (1 + abs(p) + abs(q)):
        assert_allclose(found, sorted([p, q]), rtol=1e-6, atol=1e-9)

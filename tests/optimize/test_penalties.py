"""Penalties: conjugates obey Fenchel–Young, distances vanish at optima."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from separatrix.optimize.convex import ElasticNetPenalty

vectors = arrays(float, 4, elements=st.floats(-50, 50, width=32))
weights = arrays(float, 4, elements=st.floats(0.0625, 5, width=32))
KINDS = ["l1", "l2", "both", "positive"]


def make(kind: str, l1: np.ndarray, l2: np.ndarray) -> ElasticNetPenalty:
    return {
        "l1": ElasticNetPenalty(l1, np.zeros_like(l1)),
        "l2": ElasticNetPenalty(np.zeros_like(l2), l2),
        "both": ElasticNetPenalty(l1, l2),
        "positive": ElasticNetPenalty(l1, l2, positive=True),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(weights, weights, vectors, vectors)
def test_fenchel_young(
    kind: str, l1: np.ndarray, l2: np.ndarray, b: np.ndarray, v: np.ndarray
) -> None:
    penalty = make(kind, l1, l2)
    b = np.abs(b) if kind == "positive" else b
    if kind == "l1":
        v = np.clip(v, -l1, l1)
    total = penalty.value(b) + float(penalty.conjugate(v).sum()) - float(v @ b)
    assert total >= -1e-9 * (1.0 + penalty.value(b))
    np.testing.assert_allclose(penalty.excess(b, v).sum(), max(total, 0.0), rtol=1e-9, atol=1e-7)
    # Equality at a subgradient, which is the gradient where the penalty is smooth.
    tangent = l1 * np.sign(b) * (kind != "l2") + l2 * b * (kind != "l1")
    np.testing.assert_allclose(penalty.excess(b, tangent), 0.0, atol=1e-7)
    np.testing.assert_allclose(penalty.distance(b, tangent), 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_distance_is_zero_only_at_the_gradient(kind: str) -> None:
    penalty = make(kind, np.array([1.0, 2.0]), np.array([0.5, 0.25]))
    b, h = np.array([1.5, 3.0]), 1e-6
    gradient = np.array(
        [(penalty.value(b + h * e) - penalty.value(b - h * e)) / (2 * h) for e in np.eye(2)]
    )
    np.testing.assert_allclose(penalty.distance(b, gradient), 0.0, atol=1e-8)
    np.testing.assert_allclose(
        penalty.distance(b, gradient + np.array([0.3, -0.2])), [0.3, 0.2], atol=1e-8
    )


def test_at_zero_the_subdifferential_is_an_interval() -> None:
    penalty, zero = ElasticNetPenalty(np.ones(1), np.zeros(1)), np.zeros(1)
    for v, distance in ((0.9, 0.0), (-1.0, 0.0), (1.5, 0.5), (-1.25, 0.25)):
        assert penalty.distance(zero, np.array([v]))[0] == distance
    positive = ElasticNetPenalty(np.ones(1), np.zeros(1), positive=True)
    assert positive.distance(zero, np.array([-9.0]))[0] == 0.0


def test_outside_the_thresholds_the_l1_conjugate_is_infinite() -> None:
    penalty = ElasticNetPenalty(np.ones(2), np.zeros(2))
    assert penalty.conjugate(np.array([0.5, 1.0])).tolist() == [0.0, 0.0]
    assert penalty.conjugate(np.array([0.5, 1.1])).tolist() == [0.0, np.inf]
    assert penalty.feasible_scale(np.array([0.5, -4.0])) == 0.25
    assert penalty.feasible_scale(np.zeros(2)) == 1.0


def test_a_forbidden_sign_costs_infinity() -> None:
    assert (
        ElasticNetPenalty(np.ones(1), np.ones(1), positive=True).value(np.array([-1.0])) == np.inf
    )


def test_a_coordinate_without_penalty_is_charged_for_what_rounding_leaves_of_v() -> None:
    penalty = ElasticNetPenalty(np.array([0.0, 1.0]), np.zeros(2))
    b, v = np.array([-3.0, 0.0]), np.array([1e-9, 0.5])
    np.testing.assert_allclose(penalty.excess(b, v), [3e-9, 0.0], rtol=1e-12)
    assert penalty.feasible_scale(v) == 1.0
    assert penalty.distance(b, v)[0] == 1e-9

"""Separability: every proof is checked row by row, and against linear and quadratic programming."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog

import separatrix as sx
from separatrix.geometry.separability import Separability

few = settings(max_examples=60, deadline=None, derandomize=True)
lattice = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 14), st.integers(1, 5)),
    elements=st.integers(-2, 2).map(float),
)


def separable_by_linear_program(x: np.ndarray, y: np.ndarray) -> bool:
    """max m with side (w·x + t) ≥ m, |w|, |t| ≤ 1: above zero just for separable rows."""
    n, d = x.shape
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([x, np.ones(n)])
    best = linprog(
        np.append(np.zeros(d + 1), -1.0),
        A_ub=np.column_stack([-signed, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * (d + 1) + [(0, 1)],
    )
    return -best.fun > 1e-7


def check_proof(x: np.ndarray, y: np.ndarray, found: Separability) -> None:
    """The claims of a result, from the rows alone."""
    if found.separable:
        assert found.common_point is None
        scores = found.hyperplane.score(x)[:, 0] * np.where(y == found.classes[1], 1, -1)
        assert scores.min() > 0
        distance = scores / np.linalg.norm(found.hyperplane.coef)
        assert_allclose(found.margin, distance.min(), rtol=1e-6)
        return
    assert found.hyperplane is None
    assert found.margin == 0.0
    means = []
    for k, label in enumerate(found.classes):
        assert (y[found.support[k]] == label).all()
        assert (found.weights[k] >= 0).all()
        assert_allclose(found.weights[k].sum(), 1.0, rtol=1e-12)
        means.append(found.weights[k] @ x[found.support[k]])
    size = np.maximum(np.ptp(x, axis=0), 1e-6 * np.abs(x).max(axis=0))
    size[size == 0] = 1.0
    assert (np.abs(means[0] - means[1]) / size).max() <= 1e-9
    assert (np.abs(means[0] - found.common_point) / size).max() <= 1e-9
    assert len(found.support[0]) + len(found.support[1]) <= x.shape[1] + 2


@few
@given(lattice, st.integers(0, 2**31 - 1))
def test_rows_on_a_lattice_against_linear_programming(x: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, len(x))
    if seed % 2:
        y = (x @ rng.integers(-2, 3, x.shape[1]) > 0).astype(int)
    y[:2] = 0, 1
    units = 10.0 ** rng.integers(-8, 9, x.shape[1])
    expected = separable_by_linear_program(x, y)
    for table in (x, x * units):
        found = sx.linear_separability(table, y)
        assert found.separable == expected
        check_proof(table, y, found)
        assert found.certificate.holds


def test_hulls_that_touch_in_a_point_are_not_separable() -> None:
    x = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 3.0]])
    found = sx.linear_separability(x, [0, 0, 1, 1])
    assert not found.separable
    assert_allclose(found.common_point, [1.0, 0.0], atol=1e-15)
    assert_array_equal(found.support[1], [2])
    assert_allclose(found.weights[0], [0.5, 0.5], rtol=1e-15)


def test_equal_rows_of_both_classes_and_rows_a_few_roundings_apart() -> None:
    x = np.array([[0.1, 0.3], [0.1, 0.3], [4.0, 1.0]])
    found = sx.linear_separability(x, ["b", "a", "a"])
    assert not found.separable
    assert_array_equal(found.support[0], [1])
    assert_array_equal(found.support[1], [0])
    apart = np.array([[0.1, 0.3], [0.1, 0.3 + 1e-15]])
    assert_exactly_apart(apart)


def assert_exactly_apart(x: np.ndarray) -> None:
    """The rows of class 0 first, one row each: scores in exact arithmetic."""
    found = sx.linear_separability(x, [0, 1])
    assert found.separable
    coef = [Fraction(v) for v in found.hyperplane.coef[0].tolist()]
    scores = [
        sum(Fraction(v) * c for v, c in zip(row, coef, strict=True))
        + Fraction(float(found.hyperplane.intercept[0]))
        for row in x.tolist()
    ]
    assert scores[0] < 0 < scores[1]


def test_adjacent_floats_are_separated() -> None:
    x = np.array([[0.1, 0.3], [0.1, np.nextafter(0.3, 1.0)]])
    assert_exactly_apart(x)
    assert_exactly_apart(x - 0.3)


@pytest.mark.parametrize("gap", [1e-12, 1e-14, 1e-15])
def test_gaps_and_overlaps_of_a_few_roundings(gap: float) -> None:
    below, above = 1.0, 1.0 + gap
    assert sx.linear_separability([[0.0], [below], [above], [2.0]], [0, 0, 1, 1]).separable
    found = sx.linear_separability([[0.0], [above], [below], [2.0]], [0, 0, 1, 1])
    assert found.separable is False
    assert "rounding" not in found.certificate.claim
    segment = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5 - gap], [1.0, 0.0]])
    assert sx.linear_separability(segment, [1, 1, 0, 0]).separable


@pytest.mark.parametrize("unit", [1e-300, 1e-90, 1e90, 1e300])
@pytest.mark.parametrize("other", [1.0, 1e-90, 1e90])
def test_extreme_units(unit: float, other: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    for y, separable in ((x[:, 0] > 0.0, True), (x[:, 0] + rng.normal(size=30) > 0.0, False)):
        found = sx.linear_separability(x * [unit, other], y)
        assert found.separable is separable
        if separable:
            assert 0.0 < found.margin < np.inf
            assert found.mistake_bound > 0.0


@pytest.mark.parametrize("classes", ["any", "by a plane", "none"])
def test_many_sparse_columns(classes: str) -> None:
    rng = np.random.default_rng(0)
    d = 1500 if classes == "none" else 6000
    x = sparse.random_array((4000, d), density=0.005, rng=rng, format="csr")
    y = rng.integers(0, 2, 4000)
    if classes == "by a plane":
        y = (x @ rng.standard_normal(d) > 0.0).astype(int)
    found = sx.linear_separability(x, y)
    assert found.separable is (classes != "none")
    if found.separable:
        scores = np.asarray(found.hyperplane.score(x))[:, 0]
        assert (np.where(y == 1, scores, -scores) > 0.0).all()
        return
    means = [w @ x[rows].toarray() for rows, w in zip(found.support, found.weights, strict=True)]
    assert_allclose(means[0], means[1], atol=1e-8)
    assert all(w.min() > 0.0 and abs(w.sum() - 1.0) < 1e-12 for w in found.weights)


def test_undecided_within_the_work_allowed() -> None:
    x = np.random.default_rng(0).standard_normal((400, 30))
    y = np.arange(400) % 2
    found = sx.linear_separability(x, y, max_work=1e4)
    assert found.separable is None
    assert not found.certificate.holds
    assert "Undecided" in str(found.certificate)
    assert sx.linear_separability(x, y).separable is False


def test_tiny_margins_are_found_and_zero_margins_are_not() -> None:
    rng = np.random.default_rng(3)
    flat = rng.uniform(-1, 1, (300, 4))
    y = rng.integers(0, 2, 300)
    for margin, offset in ((1e-12, 0.0), (1e-9, 1e3), (1e-6, 1e6)):
        x = np.column_stack([flat, np.where(y == 1, margin, -margin)]) + offset
        found = sx.linear_separability(x, y)
        assert found.separable, margin
        assert_allclose(found.margin, margin, rtol=1e-2)
    assert not sx.linear_separability(np.column_stack([flat, np.zeros(300)]), y).separable


@pytest.mark.parametrize("shape", [(6, 8), (9, 8), (2, 1), (2, 30)])
def test_few_rows_in_general_position_are_separable(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal(shape)
    for _ in range(5):
        y = rng.permutation(np.arange(len(x)) % 2)
        found = sx.linear_separability(x, y)
        assert found.separable
        check_proof(x, y, found)


def test_dependent_rows_fewer_than_columns_can_overlap() -> None:
    x = np.array([[1.0, 2, 3, 4], [3.0, 2, 1, 0], [2.0, 2, 2, 2]])
    found = sx.linear_separability(x, [1, 1, 0])
    assert not found.separable
    check_proof(x, np.array([1, 1, 0]), found)


def test_constant_columns_and_repeated_rows_change_nothing() -> None:
    rng = np.random.default_rng(5)
    x = np.repeat(rng.standard_normal((40, 3)), 3, axis=0)
    for y in ((x[:, 0] > 0.2).astype(int), rng.integers(0, 2, len(x))):
        wide = np.column_stack([x, np.full(len(x), 7e8), x[:, 1]])
        dense, found = sx.linear_separability(x, y), sx.linear_separability(wide, y)
        assert dense.separable == found.separable
        check_proof(wide, y, found)


@pytest.mark.parametrize("separable", [True, False])
def test_sparse_rows_are_as_dense_ones(separable: bool) -> None:
    rng = np.random.default_rng(6)
    x = sparse.random(300, 12, 0.3, random_state=6, format="csr")
    y = (x @ rng.standard_normal(12) > 0.05).astype(int)
    if not separable:
        y[7] = 1 - y[7]
    found = sx.linear_separability(x, y)
    assert found.separable == sx.linear_separability(x.toarray(), y).separable == separable
    check_proof(x.toarray(), y, found)


def test_a_hundred_thousand_rows() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((100_000, 20))
    y = (x @ rng.standard_normal(20) > 0).astype(int)
    found = sx.linear_separability(x, y)
    assert found.separable
    check_proof(x, y, found)
    inside = int(np.argmin(np.abs(x).sum(axis=1)))
    y[inside] = 1 - y[inside]
    found = sx.linear_separability(x, y)
    assert not found.separable
    check_proof(x, y, found)


def test_common_points_in_many_columns_are_combinations_of_few_rows() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((700, 200)), rng.integers(0, 2, 700)
    start = time.perf_counter()
    found = sx.linear_separability(x, y)
    assert time.perf_counter() - start < 10.0  # one decomposition, not one for each row that leaves
    check_proof(x, y, found)
    assert sum(len(rows) for rows in found.support) <= 202


def test_every_pair_of_classes() -> None:
    rng = np.random.default_rng(8)
    y = np.repeat(["low", "high", "among"], 30)
    x = rng.standard_normal((90, 2)) + 8.0 * (y == "high")[:, None]
    with pytest.raises(sx.InputError, match="pairwise_separability"):
        sx.linear_separability(x, y)
    pairs = sx.pairwise_separability(x, y)
    assert {pair: found.separable for pair, found in pairs.items()} == {
        ("among", "high"): True,
        ("among", "low"): False,
        ("high", "low"): True,
    }
    for (first, second), found in pairs.items():
        assert found.classes.tolist() == [first, second]
        rows = np.isin(y, [first, second])
        if found.separable:
            check_proof(x[rows], y[rows], found)
        else:
            assert set(y[found.support[0]]) == {first}


def test_rows_with_a_target(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,no\n2,x,no\n3,y,yes\n4,y,yes\n")
    found = sx.linear_separability(sx.scan(tmp_path / "t.csv", target="c"))
    assert found.separable
    assert found.classes.tolist() == ["no", "yes"]
    with pytest.raises(sx.InputError, match="one class"):
        sx.linear_separability([[1.0], [2.0]], [1, 1])


# -- the perceptron's bound --------------------------------------------------------------------


def test_the_mistake_bound_is_the_smallest_and_holds_for_every_order() -> None:
    rng = np.random.default_rng(9)
    x = rng.standard_normal((60, 3))
    y = np.where(x @ [1.0, -2.0, 0.5] + 0.3 > 0, 1, -1)
    x += 0.4 * y[:, None] * np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
    bound = sx.linear_separability(x, y).mistake_bound
    signed = y[:, None] * np.column_stack([np.ones(60), x])
    w = quadprog.solve_qp(np.eye(4), np.zeros(4), signed.T, np.ones(60))[0]  # γ = 1/‖w‖
    assert_allclose(bound, np.einsum("ij,ij->i", signed, signed).max() * (w @ w), rtol=1e-8)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        made = sx.Perceptron(max_epochs=1000).fit(x[order], y[order]).mistakes_.sum()
        assert 0 < made <= bound


# -- nearest points ----------------------------------------------------------------------------


def test_the_hard_margin_hyperplane() -> None:
    x = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
    found = sx.nearest_hull_points(x[2:3], x[:2])
    assert_allclose(found.hyperplane.coef, [[0.0, -0.5]], atol=1e-12)
    assert_allclose(found.hyperplane.intercept, [0.0], atol=1e-12)
    assert_allclose(found.distance, 4.0, rtol=1e-12)  # margin 2 on either side
    found = sx.nearest_hull_points(x[2:], x[:2])
    assert_allclose(found.hyperplane.coef, [[0.6, -0.8]], atol=1e-12)
    assert_allclose(found.distance / 2, 1.0, rtol=1e-12)
    assert_array_equal(found.support[1], [0])
    assert_allclose(found.weights[0], [0.2, 0.8], rtol=1e-12)  # α = (1/10, 2/5), times 2


@few
@given(st.integers(1, 5), st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6))
def test_nearest_points_against_a_quadratic_program(d: int, n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n, d)), rng.standard_normal((m, d)) + 2.5
    found = sx.nearest_hull_points(a, b)
    for k, rows in enumerate((a, b)):
        assert_allclose(found.weights[k] @ rows[found.support[k]], found.points[k], atol=1e-12)
        assert (found.weights[k] >= 0).all()
    if found.hyperplane is None:
        assert not sx.linear_separability(np.vstack([a, b]), [0] * n + [1] * m).separable
        return
    assert_allclose(np.linalg.norm(found.points[0] - found.points[1]), found.distance, rtol=1e-9)
    signed = np.vstack([np.column_stack([a, np.ones(n)]), -np.column_stack([b, np.ones(m)])])
    ridge = np.diag([1.0] * d + [1e-12])
    w = quadprog.solve_qp(ridge, np.zeros(d + 1), signed.T, np.ones(n + m))[0]
    assert_allclose(found.hyperplane.coef[0], w[:d], rtol=1e-5, atol=1e-5 * np.abs(w).max())
    assert_allclose(found.distance, 2 / np.linalg.norm(w[:d]), rtol=1e-6)
    assert found.certificate.gap <= 1e-9 * found.distance
    assert found.certificate.holds


def test_nearest_points_of_huge_tiny_and_sparse_rows() -> None:
    rng = np.random.default_rng(10)
    a, b = rng.standard_normal((50, 4)), rng.standard_normal((40, 4)) + 4.0
    dense = sx.nearest_hull_points(a, b)
    for factor in (1e-200, 1e-8, 1e8, 1e200):
        assert_allclose(
            sx.nearest_hull_points(a * factor, b * factor).distance / factor,
            dense.distance,
            rtol=1e-12,
        )
    moved = sx.nearest_hull_points(a + 1e6, b + 1e6)
    assert_allclose(moved.distance, dense.distance, rtol=1e-8)
    thin = sx.nearest_hull_points(sparse.csr_array(a), b)
    assert_allclose(thin.distance, dense.distance, rtol=1e-12)
    with pytest.raises(sx.InputError, match="columns"):
        sx.nearest_hull_points(a, b[:, :3])


def test_bounds_hold_after_few_iterations() -> None:
    from separatrix.geometry.convex_hulls import nearest_points

    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((500, 10)), rng.standard_normal((500, 10)) + 3.0
    best = nearest_points(a, b)
    early = nearest_points(a, b, max_iter=3)
    assert early.iterations == 3
    assert early.low - early.high <= best.distance <= early.distance
    assert early.duality_gap > best.duality_gap

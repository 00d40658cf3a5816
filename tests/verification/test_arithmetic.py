"""Exact sums and systems, against fractions added one by one."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from separatrix.verification.arithmetic import (
    ExactMoments,
    determinant,
    digits,
    exact_dot,
    exact_sum,
    product,
    root_above,
    root_below,
    scale_to_integers,
    solve_symmetric,
    step_bound,
)

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
doubles = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-9)


@quick
@given(st.lists(doubles, max_size=8))
def test_scaled_integers_are_the_doubles(values: list[float]) -> None:
    m, shift = scale_to_integers(values)
    assert [Fraction(v) for v in values] == [Fraction(n, 2**shift) for n in m]


@quick
@given(st.lists(st.tuples(doubles, doubles), max_size=8))
def test_sums_are_exact(pairs: list[tuple[float, float]]) -> None:
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    assert exact_dot(a, b) == sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
    assert exact_sum(a) == sum(map(Fraction, a), Fraction(0))


rows = st.lists(st.tuples(small, small, st.integers(0, 3)), min_size=1, max_size=6)


@quick
@given(rows, st.integers(0, 6))
def test_moments_do_not_depend_on_blocks(table: list[tuple[float, float, int]], cut: int) -> None:
    total = ExactMoments(2)
    for part in (table[:cut], table[cut:]):
        columns = [[float(row[j]) for row in part] for j in range(3)]
        total.add(columns[:2], columns[2])
    found = total.matrix()
    z = [(Fraction(1), Fraction(x), Fraction(y), w) for x, y, w in table]
    for j in range(3):
        for k in range(3):
            assert found[j][k] == sum((w[3] * w[j] * w[k] for w in z), Fraction(0))
    assert total.count == len(table)


@quick
@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=5))
def test_systems_of_any_rank_are_solved(x: list[list[int]]) -> None:
    gram = [[Fraction(sum(r[i] * r[j] for r in x)) for j in range(3)] for i in range(3)]
    right = [Fraction(sum(r[i] * (k + 1) for k, r in enumerate(x))) for i in range(3)]
    found = solve_symmetric(gram, [right])
    assert product(gram, found.x[0]) == right


@quick
@given(st.fractions(min_value=0))
def test_roots_enclose(value: Fraction) -> None:
    assert root_below(value) ** 2 <= value <= root_above(value) ** 2
    assert root_above(value) - root_below(value) <= Fraction(1, 2**60) * max(value, 1)


def test_digits_of_agreement() -> None:
    assert digits(Fraction(0), Fraction(0)) == 16.0
    assert round(digits(Fraction(1, 10**6), Fraction(1)), 6) == 6.0
    assert digits(Fraction(1), Fraction(0)) == 0.0
    assert digits(Fraction(1, 10**400), Fraction(1)) == 16.0


@quick
@given(st.integers(0, 10**6))
def test_steps_are_enclosed(seed: int) -> None:
    generator = Random(seed)
    x = [[generator.gauss(1.0, 10.0**j) for j in range(4)] for _ in range(9)]
    gram = [[exact_dot([r[i] for r in x], [r[j] for r in x]) for j in range(4)] for i in range(4)]
    g = [Fraction(generator.gauss(0.0, 1.0)) for _ in range(4)]
    found = step_bound(gram, g)
    assert found is not None
    steps, square = found
    exact = solve_symmetric(gram, [g]).x[0]
    assert all(abs(value) <= bound for value, bound in zip(exact, steps, strict=True))
    assert sum((a * b for a, b in zip(g, exact, strict=True)), Fraction(0)) <= square


def test_singular_matrices_are_left_to_elimination() -> None:
    one = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]]
    assert step_bound(one, [Fraction(1), Fraction(1)]) is None
    assert determinant(one) == 0
    assert determinant([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(2)]]) == 3

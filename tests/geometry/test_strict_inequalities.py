"""Strict inequalities: a solution or the proof that there is none, checked in fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from separatrix.geometry.separability import null_vector, strict_solution

matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=n, max_size=n)
)


@given(matrices)
@settings(max_examples=60, deadline=None)
def test_a_solution_or_weights_and_never_both(rows):
    z, weights = strict_solution(rows)
    assert (z is None) != (weights is None)
    if z is not None:
        assert all(sum(a * b for a, b in zip(row, z, strict=True)) > 0 for row in rows)
    else:
        assert min(weights) >= 0
        assert sum(weights) == 1
        assert all(
            sum(w * row[j] for w, row in zip(weights, rows, strict=True)) == 0 for j in range(3)
        )
    reference = linprog([0, 0, 0], -np.array(rows), -np.ones(len(rows)), bounds=(None, None))
    assert (reference.status == 0) == (z is not None)


@given(matrices)
@settings(max_examples=40, deadline=None)
def test_null_vectors_and_rank(columns):
    null = null_vector(columns)
    assert (null is None) == (np.linalg.matrix_rank(np.array(columns)) == len(columns))
    if null is not None:
        assert any(null)
        assert all(sum(v * c[j] for v, c in zip(null, columns, strict=True)) == 0 for j in range(3))


def test_a_close_call_is_decided_without_rounding():
    tiny = Fraction(1, 2**80)
    assert strict_solution([[1, tiny], [-1, tiny]])[0] is not None
    assert strict_solution([[1, tiny], [-1, -tiny]])[1] == [Fraction(1, 2)] * 2

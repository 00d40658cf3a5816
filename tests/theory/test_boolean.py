"""Boolean functions: counts, lists and shortest formulas against brute force."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import separatrix as sx


def test_the_example_of_the_textbook_removes_these_eight():
    every = {h.number for h in sx.BooleanFunctions(n_inputs=2)}
    left = {h.number for h in sx.BooleanFunctions([[0, 1]], [0])}
    assert every == set(range(1, 17))
    assert every - left == {5, 6, 7, 8, 13, 14, 15, 16}


def test_the_numbers_are_columns_of_the_printed_table():
    tables = [h.outputs for h in sx.BooleanFunctions(n_inputs=2)]
    assert tables[1] == (0, 0, 0, 1)  # AND
    assert tables[6] == (0, 1, 1, 0)  # XOR
    assert tables[7] == (0, 1, 1, 1)  # OR
    inputs = list(product((0, 1), repeat=2))
    for h in sx.BooleanFunctions(n_inputs=2):
        assert h.contains(inputs).astype(int).tolist() == list(h.outputs)


examples = st.integers(1, 3).flatmap(
    lambda d: st.tuples(
        st.just(d), st.lists(st.tuples(st.tuples(*[st.integers(0, 1)] * d), st.integers(0, 1)))
    )
)


def agreeing(d, pairs):
    """Truth tables that agree with the examples, by going through all."""
    inputs = list(product((0, 1), repeat=d))
    return [
        table
        for table in product((0, 1), repeat=2**d)
        if all(table[inputs.index(x)] == y for x, y in pairs)
    ]


def literals_of(table, d):
    """Least literals and terms of a disjunctive normal form, by going through sets of terms."""
    inputs = list(product((0, 1), repeat=d))
    on = frozenset(x for x, y in zip(inputs, table, strict=True) if y)
    terms = []
    for term in product((0, 1, None), repeat=d):
        covered = frozenset(
            x for x in inputs if all(t is None or t == v for t, v in zip(term, x, strict=True))
        )
        if covered <= on:
            terms.append((sum(t is not None for t in term), covered))
    costs = [
        (sum(c for c, _ in chosen), k)
        for k in range(len(on) + 1)
        for chosen in combinations(terms, k)
        if frozenset().union(*(s for _, s in chosen)) == on
    ]
    return min(costs)


@given(examples)
@settings(max_examples=60, deadline=None)
def test_counts_and_lists(case):
    d, pairs = case
    X, y = [x for x, _ in pairs], [v for _, v in pairs]
    left = sx.BooleanFunctions(X, y) if pairs else sx.BooleanFunctions(n_inputs=d)
    expected = agreeing(d, pairs)
    assert left.n_hypotheses == len(expected)
    assert [h.outputs for h in left] == expected
    assert all(h in left for h in left)
    if expected:
        assert left.n_hypotheses == 2 ** (2**d - len(set(X)))
        for x, v in pairs:
            assert left.shortest().contains([x]).tolist() == [bool(v)]


@given(examples)
@settings(max_examples=25, deadline=None)
def test_shortest_formulas(case):
    d, pairs = case
    expected = agreeing(min(d, 2), [(x[:2], v) for x, v in pairs])
    assume(expected)
    d, X, y = min(d, 2), [x[:2] for x, _ in pairs], [v for _, v in pairs]
    left = sx.BooleanFunctions(X, y) if pairs else sx.BooleanFunctions(n_inputs=d)
    costs = sorted(literals_of(table, d) for table in expected)
    formulas = list(left.by_formula())
    assert [(f.n_literals, len(f.terms)) for f in formulas] == costs
    inputs = list(product((0, 1), repeat=d))
    listed = [tuple(f.contains(inputs).astype(int).tolist()) for f in formulas]
    assert sorted(listed) == sorted(expected)
    best = left.shortest()
    assert best.proved
    assert (best.n_literals, len(best.terms)) == costs[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_cover_equals_the_search_over_functions(seed):
    """Two algorithms that share nothing but the language, on four inputs."""
    rng = np.random.default_rng(seed)
    X = np.array(list(product((0, 1), repeat=4)))[rng.permutation(16)[:12]]
    left = sx.BooleanFunctions(X, rng.integers(0, 2, 12))
    best, first = left.shortest(), next(left.by_formula())
    assert (best.n_literals, len(best.terms)) == (first.n_literals, len(first.terms))


def test_names_and_many_inputs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 12)), columns=[f"c{j}" for j in range(12)])
    y = ((X["c3"] == 1) & (X["c7"] == 0)) | (X["c10"] == 1)
    left = sx.BooleanFunctions(X, y)
    assert left.n_hypotheses == 2 ** (2**12 - len(X.drop_duplicates()))
    best = left.shortest()
    assert best.proved
    assert (best.contains(X.to_numpy()) == y).all()
    assert str(best) == "c10 ∨ (c3 ∧ ¬c7)"
    assert next(iter(left)).contains(X.to_numpy()).tolist() == y.tolist()


def test_a_search_that_ends_early_states_so_and_agrees_still():
    rng = np.random.default_rng(1)
    X = np.unique(rng.integers(0, 2, (90, 9)), axis=0)
    y = rng.integers(0, 2, len(X)).astype(bool)
    found = sx.BooleanFunctions(X, y).shortest(max_work=5)
    assert not found.proved
    assert (found.contains(X) == y).all()


def test_contradictions_and_bad_input():
    none = sx.BooleanFunctions([[0, 1], [1, 1], [0, 1]], [0, 1, 1])
    assert (none.n_hypotheses, none.contradiction, list(none)) == (0, (1, 3), [])
    with pytest.raises(sx.InputError, match="rows 1 and 3 have the same inputs"):
        none.shortest()
    for make, words in (
        (lambda: sx.BooleanFunctions([[0, 2]], [1]), "row 1: The inputs must be 0 or 1"),
        (lambda: sx.BooleanFunctions([[0, 1]], ["a"]), "outputs must be 0 or 1"),
        (lambda: sx.BooleanFunctions(), "Give X and y, or n_inputs"),
        (lambda: sx.BooleanFunctions([[0, 1]]), "Give both X and y"),
        (lambda: sx.BooleanFunctions(n_inputs=30), "20 inputs at most"),
        (lambda: next(sx.BooleanFunctions(n_inputs=9).by_formula()), "Use shortest"),
    ):
        with pytest.raises(sx.InputError, match=words):
            make()


def test_all_functions_shatter_every_input():
    found = sx.vc_dimension(sx.BooleanFunctions([[0, 0, 1]], [1]))
    assert (found.dimension, found.proved) == (7, True)

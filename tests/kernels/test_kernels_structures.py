"""Kernels of strings, sets, trees and graphs against their definitions, spelled out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from tests.registry.kernels import tree as random_tree

WORDS = st.lists(st.text("abc", max_size=7), min_size=1, max_size=4)


def inner(a: dict, b: dict) -> float:
    return sum(value * b.get(key, 0.0) for key, value in a.items())


def gram_from_features(features, items) -> np.ndarray:
    maps = [features(item) for item in items]
    return np.array([[inner(a, b) for b in maps] for a in maps])


# -- strings ---------------------------------------------------------------------------------------


def substring_counts(s: str, k: int) -> dict:
    return Counter(s[i : i + k] for i in range(len(s) - k + 1))


def subsequence_features(s: str, n: int, decay: float) -> dict:
    found: dict = {}
    for at in combinations(range(len(s)), n):
        u = tuple(s[i] for i in at)
        found[u] = found.get(u, 0.0) + decay ** (at[-1] - at[0] + 1)
    return found


@settings(max_examples=60, deadline=None)
@given(words=WORDS, k=st.integers(1, 4))
def test_spectrum_counts_common_substrings(words, k) -> None:
    assert (
        sx.Spectrum(k).gram(words) == gram_from_features(lambda s: substring_counts(s, k), words)
    ).all()


@settings(max_examples=60, deadline=None)
@given(words=WORDS, n=st.integers(1, 4), decay=st.sampled_from([0.3, 0.5, 1.0]))
def test_subsequences_are_discounted_by_their_span(words, n, decay) -> None:
    expected = gram_from_features(lambda s: subsequence_features(s, n, decay), words)
    assert sx.Subsequence(n, decay).gram(words) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_cat_and_car_have_one_common_subsequence() -> None:
    decay = 0.7
    kernel = sx.Subsequence(2, decay)
    assert kernel.gram(["cat"], ["car"])[0, 0] == pytest.approx(decay**4)
    assert kernel.diagonal(["cat"])[0] == pytest.approx(2 * decay**4 + decay**6)
    cosine = kernel.normalized().gram(["cat", "car"])[0, 1]
    assert cosine == pytest.approx(1 / (2 + decay**2))


def test_sequences_of_any_symbols() -> None:
    words = [["the", "cat", "sat"], ("the", "cat"), np.array(["cat", "sat"])]
    assert sx.Spectrum(2).gram(words).tolist() == [[2, 1, 1], [1, 1, 0], [1, 0, 1]]
    letters = ["abc", "ab", "bc"]
    assert sx.Subsequence(2, 0.5).gram(words) == pytest.approx(sx.Subsequence(2, 0.5).gram(letters))
    assert sx.Spectrum(1).gram(["né", "né"])[0, 1] == 2.0


def test_one_column_of_a_dataframe_is_a_list() -> None:
    import pandas as pd

    words = ["abab", "bab", "b"]
    expected = sx.Spectrum(2).gram(words)
    for form in (pd.Series(words), pd.DataFrame({"text": words}), np.array(words), tuple(words)):
        assert (sx.Spectrum(2).gram(form) == expected).all()


def test_letters_that_no_center_has_match_nothing() -> None:
    prepared = sx.Subsequence(1, 1.0).prepare(["ab"])
    assert prepared.rows(["xyx", "xax"]).tolist() == [[0.0], [1.0]]
    assert sx.Subsequence(1, 1.0).diagonal(["xyx"])[0] == 5.0


def test_long_strings_on_threads() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), 120)) for _ in range(40)]
    kernel = sx.Subsequence(4, 0.4)
    gram = kernel.gram(words)
    one_by_one = np.array([[kernel.gram([s], [t])[0, 0] for t in words[:3]] for s in words])
    assert gram[:, :3] == pytest.approx(one_by_one, rel=1e-12)


# -- sets ------------------------------------------------------------------------------------------

SETS = st.lists(st.frozensets(st.integers(0, 6)), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(groups=SETS)
def test_sets_by_intersection_and_union(groups) -> None:
    common = np.array([[len(a & b) for b in groups] for a in groups])
    jaccard = np.array(
        [[len(a & b) / len(a | b) if a | b else 1.0 for b in groups] for a in groups]
    )
    assert (sx.SetKernel().gram(groups) == common).all()
    assert sx.Jaccard().gram(groups) == pytest.approx(jaccard)
    assert sx.is_mercer(sx.Jaccard().gram(groups))
    subsets = (np.log(2.0) * sx.SetKernel()).exp().gram(groups)
    assert subsets == pytest.approx(2.0**common)


def test_sets_of_any_elements_may_be_lists() -> None:
    assert sx.SetKernel().gram([{1, "a", (2, 3)}], [["a", "a", 1]])[0, 0] == 2.0
    assert sx.SetKernel().serializable([{"b", "a", 3}]) == [(3, "a", "b")]


# -- trees -----------------------------------------------------------------------------------------


def label_and_children(node):
    return (node, ()) if not isinstance(node, tuple) else (node[0], node[1:])


def fragments_at(node) -> list[tuple[object, int]]:
    """All fragments rooted at an inner node, with the number of nodes expanded."""
    label, below = label_and_children(node)
    found: list[tuple[tuple, int]] = [((label,), 1)]
    for child in below:
        name, further = label_and_children(child)
        choices = [(name, 0)] + (fragments_at(child) if further else [])
        found = [((*f, c), n + m) for f, n in found for c, m in choices]
    return found


def subtree_at(node) -> tuple[object, int]:
    """The subtree below a node, with the number of inner nodes."""
    label, below = label_and_children(node)
    if not below:
        return label, 0
    inside = [subtree_at(child) for child in below]
    return (label, *(t for t, _ in inside)), 1 + sum(n for _, n in inside)


def nodes(node):
    yield node
    for child in label_and_children(node)[1]:
        yield from nodes(child)


def tree_features(tree, decay: float, subtrees_only: bool) -> dict:
    found: dict = {}
    for node in nodes(tree):
        if not label_and_children(node)[1]:
            named = [(("leaf", label_and_children(node)[0]), 1)]
        else:
            named = [subtree_at(node)] if subtrees_only else fragments_at(node)
        for fragment, size in named:
            found[fragment] = found.get(fragment, 0.0) + decay ** (size / 2)
    return found


@pytest.mark.parametrize(
    ("kernel", "subtrees_only"), [(sx.TreeKernel, False), (sx.SubtreeKernel, True)]
)
@pytest.mark.parametrize("seed", range(6))
def test_trees_have_common_fragments(kernel, subtrees_only, seed) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng) for _ in range(8)]
    expected = gram_from_features(lambda t: tree_features(t, 0.6, subtrees_only), trees)
    assert kernel(0.6).gram(trees) == pytest.approx(expected, rel=1e-12)
    assert kernel(0.6).gram(trees[:3], trees[3:]) == pytest.approx(expected[:3, 3:], rel=1e-12)
    assert kernel(0.6).diagonal(trees) == pytest.approx(np.diagonal(expected), rel=1e-12)


def test_a_leaf_may_be_its_label_alone_and_lists_are_trees() -> None:
    forms = [("s", "x", "y"), ("s", ("x",), ("y",)), ["s", ["x"], "y"]]
    gram = sx.TreeKernel(0.5).gram(forms)
    assert (gram == gram[0, 0]).all()
    assert sx.TreeKernel().serializable(forms) == [("s", ("x",), ("y",))] * 3


def test_a_tree_of_any_depth() -> None:
    deep: object = "end"
    for _ in range(3000):
        deep = ("a", deep)
    assert sx.SubtreeKernel(1.0).diagonal([deep])[0] == 3001.0


# -- graphs ----------------------------------------------------------------------------------------


def test_neighborhoods_counted_by_hand() -> None:
    path = (["a", "b", "a"], [(0, 1), (1, 2)])
    star = (["b", "a", "a", "a"], [(0, 1), (0, 2), (0, 3)])
    # round 0: {a: 2, b: 1} and {a: 3, b: 1}; round 1: a|b: 2 and 3, b|aa and b|aaa differ
    assert sx.GraphKernel(0).gram([path, star]).tolist() == [[5.0, 7.0], [7.0, 10.0]]
    assert sx.GraphKernel(1).gram([path, star]).tolist() == [[10.0, 13.0], [13.0, 20.0]]


def test_names_of_nodes_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    labels = rng.choice(list("xy"), 9).tolist()
    edges = [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.4]
    order = rng.permutation(9)
    place = np.argsort(order)
    moved = ([labels[i] for i in order], [(int(place[v]), int(place[u])) for u, v in edges])
    gram = sx.GraphKernel(3).gram([(labels, edges), moved])
    assert gram[0, 0] == gram[0, 1] == gram[1, 1]


class Net:
    """What a graph of NetworkX looks like from outside."""

    def __init__(self) -> None:
        self.nodes = {"u": {"label": "a"}, "v": {"label": "b"}}
        self.adj = {"u": {"v": {"label": "bond"}}, "v": {"u": {"label": "bond"}}}


def test_the_forms_of_a_graph_agree() -> None:
    forms = [
        (["a", "b"], [(0, 1, "bond")]),
        ({"p": "a", "q": "b"}, [("q", "p", "bond")]),
        ({"p": "a", "q": "b"}, {"p": {"q": "bond"}}),
        Net(),
    ]
    gram = sx.GraphKernel(2).gram(forms)
    assert (gram == 6.0).all()
    assert sx.GraphKernel(2).gram(forms, [(["a", "b"], [(0, 1, "other")])])[0, 0] == 2.0
    unlabeled = {1: [2, 3], 2: [1], 3: [1]}
    assert (
        sx.GraphKernel(1).gram([unlabeled], [(["", "", ""], [(0, 1), (0, 2)])])[0, 0] == 9.0 + 5.0
    )


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Spectrum(2).gram("one string"), "in a list"),
        (lambda: sx.Spectrum(2).gram([3.0]), "strings or sequences"),
        (lambda: sx.Spectrum(0), "positive integer"),
        (lambda: sx.Spectrum(2).gram(np.ones((3, 3))), "list of items"),
        (lambda: sx.Subsequence(2, 0.0), "decay"),
        (lambda: sx.Subsequence(2, 1.5), "decay"),
        (lambda: sx.SetKernel().gram(["text"]), "split"),
        (lambda: sx.TreeKernel().gram([()]), "label first"),
        (lambda: sx.TreeKernel().gram([(("a",), "b")]), "label first"),
        (lambda: sx.GraphKernel(-1), "rounds"),
        (lambda: sx.GraphKernel().gram([3]), "not a graph"),
        (lambda: sx.GraphKernel().gram([(["a"], [(0, 1)])]), "does not connect"),
    ],
)
def test_invalid_items_are_refused(make, message) -> None:
    with pytest.raises(sx.InputError, match=message):
        make()


@pytest.mark.parametrize("normalized", [False, True])
def test_learning_stays_within_the_domain_of_the_decay(normalized: bool) -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), size=rng.integers(3, 8))) for _ in range(40)]
    y = np.array([word.count("ab") for word in words], dtype=float)
    kernel = sx.Subsequence(2).normalized() if normalized else sx.Subsequence(2)
    for model, target in (
        (sx.GaussianProcessRegressor(kernel), y),
        (sx.GaussianProcessClassifier(kernel), y > 0),
    ):
        learned = model.fit(words, target).kernel_
        assert (learned.theta <= 0.0).all()  # the logarithm of the decay
    assert sx.Subsequence(2).with_theta([1e-3]).decay == 1.0
    with pytest.raises(sx.InputError, match="decay"):
        sx.Subsequence(2, decay=1.5)


# -- terms of logic --------------------------------------------------------------------------------


def spelled_out(item: tuple, depth: int) -> Counter:
    """Features of ``[(sign, term), …]``; terms are nested tuples, variables names in capitals."""

    def write(term, levels, names):
        if levels == 0:
            return "?"
        if isinstance(term, str):
            return f"V{names.setdefault(term, len(names))}"
        return f"{term[0]}({','.join(write(t, levels - 1, names) for t in term[1:])})"

    def subterms(term, path):
        yield term, path
        if not isinstance(term, str):
            for i, t in enumerate(term[1:]):
                yield from subterms(t, (*path, i))

    counts: Counter = Counter()
    where = []
    for i, (sign, literal) in enumerate(item):
        signed = (sign + literal[0], *literal[1:])
        for term, path in subterms(signed, ()):
            counts.update({write(term, levels, {}) for levels in range(1, depth + 1)})
            if isinstance(term, str):
                where.append((i, term, (signed[0], len(signed), path)))
    for (i, x, first), (j, z, second) in combinations(where, 2):
        if i != j and x == z:
            counts[frozenset([first, second])] += 1
    return counts


def written(item: tuple) -> str:
    def write(term):
        if isinstance(term, str):
            return term
        return term[0] + (f"({', '.join(map(write, term[1:]))})" if len(term) > 1 else "")

    return ", ".join(sign + write(literal) for sign, literal in item)


TERMS = st.recursive(
    st.sampled_from(["X", "Y", ("a",), ("b",)]),
    lambda t: st.tuples(st.sampled_from(["f", "g"]), t) | st.tuples(st.just("f"), t, t),
    max_leaves=6,
)
CONJUNCTIONS = st.lists(
    st.tuples(st.sampled_from(["", "not "]), st.tuples(st.sampled_from(["p", "q"]), TERMS, TERMS)),
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(items=st.lists(CONJUNCTIONS, min_size=1, max_size=3), depth=st.integers(1, 5))
def test_term_kernel_counts_common_subterms(items, depth) -> None:
    expected = gram_from_features(lambda item: spelled_out(item, depth), items)
    assert (sx.TermKernel(depth).gram([written(item) for item in items]) == expected).all()


def test_names_of_variables_and_the_order_of_literals_do_not_count() -> None:
    kernel = sx.TermKernel().normalized()
    same = ["p(X, g(Y)), not q(X)", r"\+ q(Who),p( Who , g(_1) )", "p(A,g(_)) ∧ ¬q(A)"]
    assert kernel.gram(same) == pytest.approx(np.ones((3, 3)), abs=1e-12)
    others = ["p(X, g(Y)), not q(Y)", "p(X, g(Y)), q(X)", "p(X, g(X)), not q(X)", "p(x, g(Y))"]
    assert kernel.gram(others, same[:1]).max() < 1.0
    quoted = sx.TermKernel().gram(["p('New York')"], ["p('New York')", "p(New)", "p(new)"])
    assert quoted.tolist() == [[3.0, 1.0, 1.0]]  # a variable, and another constant


@pytest.mark.parametrize(
    "text", ["p(", "p(a", "p(a))", "p(a,)", "p a", ", p", "f(not p)", "p()", "[a]", "p,", "3a"]
)
def test_what_is_not_a_term_is_refused_with_its_place(text) -> None:
    with pytest.raises(sx.InputError, match="is not a term or conjunction"):
        sx.TermKernel().gram([text])


def test_terms_are_strings() -> None:
    with pytest.raises(sx.InputError, match="written as strings"):
        sx.TermKernel().gram([("f", "a")])
    assert sx.TermKernel().gram(["", "p"]).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    number = "s(" * 300 + "z" + ")" * 300
    assert sx.TermKernel(2).gram([number])[0, 0] == 300**2 + 299**2 + 1 + 1

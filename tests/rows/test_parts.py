"""A row's part follows from its content and the seed, from nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix import InputError, scan
from separatrix.rows.parts import Parts, duplicate_ordinals

from .tables import mixed


def parts_of(source, split, **options):
    return scan(source, target="price", **options).with_parts(split).collect().parts


def test_a_stream_has_about_the_proportions_requested():
    x = np.random.default_rng(0).normal(size=(40_000, 2))
    frame = pd.DataFrame(x, columns=["a", "price"])
    labels = parts_of(frame, Parts(seed=3, test=0.25, folds=4))
    counts = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    assert set(counts) == {-1, 0, 1, 2, 3}
    sd = 4 * np.sqrt(40_000 * 0.25 * 0.75)
    assert abs(counts[-1] - 10_000) < sd
    assert all(abs(counts[k] - 7_500) < sd for k in range(4))


def test_neither_order_nor_layout_nor_block_size_matters():
    frame = mixed().dropna(subset="price").reset_index(drop=True)
    split = Parts(seed=7)
    expected = parts_of(frame, split)
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(parts_of(frame.iloc[order], split), expected[order])
    np.testing.assert_array_equal(parts_of(frame[frame.columns[::-1]], split), expected)
    np.testing.assert_array_equal(parts_of(frame, split, block_rows=17), expected)
    np.testing.assert_array_equal(parts_of(frame[:100], split), expected[:100])
    np.testing.assert_array_equal(parts_of(frame, split, missing="indicator"), expected)
    whole = frame.assign(rooms=frame["rooms"].astype("float32"))
    np.testing.assert_array_equal(parts_of(whole, split), expected)


def test_the_seed_matters_and_weights_do_not():
    frame = mixed().dropna(subset="price").assign(w=1.0)
    expected = parts_of(frame, Parts(seed=0), weight="w")
    other = frame.assign(w=np.arange(len(frame)))
    np.testing.assert_array_equal(parts_of(other, Parts(seed=0), weight="w"), expected)
    assert (parts_of(frame, Parts(seed=1), weight="w") != expected).mean() > 0.5


def test_memory_differs_from_a_stream_only_where_it_cuts():
    """Both order rows by the same hash; in memory the cut is where the sizes are exact."""
    x = np.random.default_rng(0).normal(size=(4000, 2))
    rows = scan(pd.DataFrame(x, columns=["x", "price"]), target="price")
    split = Parts(seed=2)
    stream, memory = rows.with_parts(split).collect().parts, rows.read().with_parts(split)
    np.testing.assert_array_equal(rows.with_parts(split).read().block.parts, memory.block.parts)
    assert (stream != memory.block.parts).mean() < 0.05
    assert not ((stream == -1) & (memory.block.parts > 0)).any()


def test_dense_sparse_and_table_hash_alike():
    x = np.round(np.random.default_rng(0).normal(size=(200, 5)), 0)
    y = np.arange(200.0)
    split = Parts(seed=5)
    dense = scan(x, target=y).with_parts(split).block.parts
    thin = scan(sparse.csr_array(x), target=y).with_parts(split).block.parts
    fortran = scan(np.asfortranarray(x), target=y).with_parts(split).block.parts
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(5)]).assign(y=y)
    table = scan(frame, target="y").read().with_parts(split).block.parts
    for other in (thin, fortran, table):
        np.testing.assert_array_equal(other, dense)


def test_signs_of_zero_and_kinds_of_nothing_do_not_count():
    split = Parts(seed=1)
    a = pd.DataFrame({"x": [0.0, None, 1.0], "price": [1.0, 2.0, 3.0]})
    b = pd.DataFrame({"x": [-0.0, -np.nan, 1.0], "price": [1.0, 2.0, 3.0]})
    for seed in range(10):
        split = Parts(seed=seed)
        np.testing.assert_array_equal(parts_of(a, split), parts_of(b, split))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_ordinals_count_equal_rows_before(values):
    content = np.array(values, dtype=np.uint64)
    expected = [values[:i].count(v) for i, v in enumerate(values)]
    assert duplicate_ordinals(content).tolist() == expected


def test_every_level_has_a_word_of_its_own():
    """A hash that looked like NaN would make thousands of levels one and the same."""
    levels = [f"level {i}" for i in range(4000)]
    frame = pd.DataFrame({"t": levels, "price": 1.0})
    rows = scan(frame, target="price", kinds={"t": "discrete"}).read()
    assert len(set(rows.hashes.tolist())) == 4000


def test_impossible_splits_are_refused():
    for bad in ({"test": 1.0}, {"test": -0.1}, {"folds": 0}):
        with pytest.raises(InputError):
            Parts(**bad)

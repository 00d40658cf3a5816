"""Version spaces against all boxes of a small grid, listed one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.hypotheses.version_space import bounding, version_space, within_bounds

#: Points of a grid, by its number of columns.
GRIDS = {d: np.array(list(product(range(m), repeat=d)), dtype=float) for d, m in ((1, 6), (2, 4))}
GRIDS[3] = np.array(list(product(range(3), repeat=3)), dtype=float)


def consistent(grid, positive, negative):
    """The grid points of every consistent box with corners on the grid."""
    sides = int(grid.max()) + 1
    ranges = [(a, b) for a in range(sides) for b in range(a, sides)]
    found = set()
    for faces in product(ranges, repeat=grid.shape[1]):
        low, high = np.array(faces).T

        def inside(x, low=low, high=high):
            return ((x >= low) & (x <= high)).all(axis=1)

        if inside(positive).all() and not inside(negative).any():
            found.add(frozenset(np.flatnonzero(inside(grid)).tolist()))
    return found


@st.composite
def examples(draw):
    """A grid, some of its points positive, and others, outside of their box, negative."""
    grid = GRIDS[draw(st.integers(1, 3))]
    order = draw(st.permutations(range(len(grid))))
    k, m = draw(st.integers(1, 3)), draw(st.integers(0, 6))
    positive, negative = grid[list(order[:k])], grid[list(order[k : k + m])]
    low, high = positive.min(axis=0), positive.max(axis=0)
    return grid, positive, negative[((negative < low) | (negative > high)).any(axis=1)]


@given(examples())
@settings(max_examples=60, deadline=None)
def test_every_consistent_box_is_between_the_most_specific_and_a_most_general_one(case):
    grid, positive, negative = case
    space, boxes = version_space(positive, negative), consistent(*case)
    members = [frozenset(np.flatnonzero(g.contains(grid)).tolist()) for g in space.general()]
    specific = frozenset(np.flatnonzero(space.specific.contains(grid)).tolist())
    assert specific in boxes
    assert all(specific <= box for box in boxes)
    assert all(any(box <= member for member in members) for box in boxes)
    assert set(members) <= boxes
    largest = {box for box in boxes if not any(box < other for other in boxes)}
    assert largest <= set(members)


@given(examples())
@settings(max_examples=60, deadline=None)
def test_membership_agrees_with_the_list_of_most_general_boxes(case):
    grid, positive, negative = case
    space = version_space(positive, negative)
    points = np.concatenate([grid, grid + 0.5, grid - 2.0])
    inside = np.array([box.contains(points) for box in space.general()])
    assert np.array_equal(space.possible(points), inside.any(axis=0))
    assert np.array_equal(space.common.contains(points), inside.all(axis=0))
    average = space.average.contains(points)
    assert (average <= inside.all(axis=0)).all()
    assert (space.specific.contains(points) <= average).all()
    short = space.short
    assert not short.contains(negative).any()
    assert (average <= short.contains(points)).all()


@given(examples(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_rows_in_any_order_and_in_portions_give_the_same(case, random):
    _, positive, negative = case
    space = version_space(positive, negative)
    order = list(range(len(negative)))
    random.shuffle(order)
    again = version_space(positive[::-1], negative[order])
    assert np.array_equal(space.negatives, again.negatives, equal_nan=True)
    first = version_space(positive[:1], negative[: len(negative) // 2])
    low, high = space.specific.lower, space.specific.upper
    # Rows bounded before the box has grown are bounded again with the rest.
    parts = np.concatenate([first.negatives, negative[len(negative) // 2 :]])
    later = within_bounds(np.stack([low, high]), bounding(parts, low, high))
    assert np.array_equal(space.negatives, later.negatives, equal_nan=True)
    assert np.array_equal(space.common.lower, later.common.lower)


def test_a_set_too_large_to_list_still_answers():
    rng = np.random.default_rng(0)
    space = version_space(np.zeros((1, 8)), rng.standard_normal((300, 8)))
    assert space.general(most=50) is None
    assert space.possible(np.zeros((1, 8))).all()
    assert not space.possible(np.full((1, 8), 9.0)).any()

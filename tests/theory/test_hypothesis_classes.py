"""Each hypothesis class against brute force on small grids of whole numbers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import separatrix as sx

GRID = st.integers(0, 4)


def labeled(d, most=6):
    """Points on a small grid, with labels."""
    return st.integers(1, most).flatmap(
        lambda n: st.tuples(
            st.lists(st.tuples(*[GRID] * d), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n),
        )
    )


def check(hypotheses, points, labels, exists):
    x, y = np.array(points, dtype=float), np.array(labels)
    found = hypotheses.consistent(x, y)
    assert (found is not None) == exists
    if exists:
        assert (found.contains(x) == y).all()
    else:
        assert hypotheses.why_none(x, y).endswith(".")


@given(labeled(2))
@settings(max_examples=50, deadline=None)
def test_boxes(case):
    points, labels = case
    x, y = np.array(points), np.array(labels)
    ends = [(a, b) for a, b in product(range(-1, 6), repeat=2) if a <= b]
    exists = any(
        (((x >= (a, c)) & (x <= (b, d))).all(axis=1) == y).all()
        for (a, b), (c, d) in product(ends, repeat=2)
    )
    check(sx.Boxes(2), points, labels, exists)


@given(labeled(1, 7), st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_unions_of_intervals(case, m):
    points, labels = case
    x, y = np.array(points)[:, 0], np.array(labels)
    agree = all(len(set(y[x == v].tolist())) == 1 for v in x)
    by_value = [bool(y[x == v][0]) for v in np.unique(x)]
    runs = sum(a and not b for a, b in zip(by_value, [False, *by_value], strict=False))
    check(sx.UnionsOfIntervals(m), points, labels, agree and runs <= m)


def separable(features, y, extra=()):
    """Whether a margin of one is feasible, by another solver."""
    rows = np.where(y, -1.0, 1.0)[:, None] * features
    rows = np.vstack([rows, *extra])
    limits = np.append(-np.ones(len(y)), np.zeros(len(extra)))
    return linprog(np.zeros(rows.shape[1]), rows, limits, bounds=(None, None)).status == 0


@given(labeled(2))
@settings(max_examples=50, deadline=None)
def test_hyperplanes(case):
    points, labels = case
    x, y = np.array(points, dtype=float), np.array(labels)
    check(sx.Hyperplanes(2), points, labels, separable(np.c_[x, np.ones(len(x))], y))


@given(labeled(2))
@settings(max_examples=50, deadline=None)
def test_balls(case):
    points, labels = case
    x, y = np.array(points, dtype=float), np.array(labels)
    features = np.c_[x, -(x**2).sum(axis=1), np.ones(len(x))]
    check(sx.Balls(2), points, labels, separable(features, y, ([[0.0, 0.0, -1.0, 0.0]],)))


def triangle_exists(x, y):
    """All triples among three directions of every cell between normals of pairs of points."""
    if not y.any() or y.all():
        return True
    differences = (x[:, None] - x[None]).reshape(-1, 2)
    normals = differences[np.abs(differences).any(axis=1)] @ np.array([[0, 1], [-1, 0]])
    critical = np.append(np.arctan2(normals[:, 1], normals[:, 0]), [0, np.pi / 2])
    critical = np.unique(np.round(np.append(critical, critical + np.pi) % (2 * np.pi), 12))
    gaps = np.diff(np.append(critical, critical[0] + 2 * np.pi))
    angles = (critical[:, None] + gaps[:, None] * np.array([0.3, 0.5, 0.7])).ravel()
    scores = x @ np.array([np.cos(angles), np.sin(angles)])
    cut = scores[~y] > scores[y].max(axis=0) + 1e-9
    i, j, k = np.array([t for t in product(range(len(angles)), repeat=3) if t[0] <= t[1] <= t[2]]).T
    every = (cut[:, i] | cut[:, j] | cut[:, k]).all(axis=0)
    widest = np.maximum.reduce(
        [angles[j] - angles[i], angles[k] - angles[j], angles[i] + 2 * np.pi - angles[k]]
    )
    return bool((every & (widest < np.pi - 1e-9)).any())


@given(labeled(2, 4))
@settings(max_examples=25, deadline=None)
def test_triangles(case):
    points, labels = case
    x, y = np.array(points, dtype=float), np.array(labels)
    check(sx.Triangles(), points, labels, triangle_exists(x, y))


def test_polygons_use_no_more_sides_than_allowed():
    angles = 2 * np.pi * np.arange(9) / 9
    x = np.c_[np.cos(angles), np.sin(angles)]
    alternating = np.arange(9) % 2 == 0
    assert sx.ConvexPolygons(3).consistent(x, alternating) is None
    assert "4 sides" in sx.ConvexPolygons(3).why_none(x, alternating)
    found = sx.ConvexPolygons(4).consistent(x, alternating)
    assert len(found.normals) == len(found.vertices) == 4


def test_the_triangle_has_to_be_closed():
    """Cutting off the second, fourth and sixth point of a short arc leaves it open."""
    for width, shattered in ((2 * np.pi * 6 / 7, True), (1.0, False)):
        angles = np.linspace(0.0, width, 7)
        found = sx.shatters(sx.Triangles(), np.c_[np.cos(angles), np.sin(angles)])
        assert found.shattered is shattered
    assert found.reason == "4 sides are needed to cut off every negative point."


@pytest.mark.parametrize("scale", [2.0**-1000, 1e8, 2.0**1000])
def test_units_do_not_matter(scale):
    x = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.25]])
    for hypotheses in (sx.Boxes(2), sx.Triangles(), sx.Hyperplanes(2), sx.Balls(2)):
        one, other = sx.shatters(hypotheses, x), sx.shatters(hypotheses, x * scale)
        wide = sx.shatters(hypotheses, x * scale * np.array([1.0, 2.0**-60]))
        assert isinstance(wide.shattered, bool)
        assert one.shattered == other.shattered
        if not one.shattered:
            assert (one.failing == other.failing).all()


def test_membership_on_the_boundary_is_exact():
    tenth = sx.shatters(sx.Hyperplanes(2), [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
    assert not tenth.shattered  # on one line, whatever the rounding of a tenth
    center, edge = [[0.5, 0.5]], [[0.5, 0.5 + 2**-53], [0.5, 0.5 - 2**-54]]
    ball = sx.Balls(2).consistent(np.array(center + edge), np.array([True, False, False]))
    assert ball.contains(center + edge).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sx.Boxes(0), "dimension must be a whole number of at least 1"),
        (lambda: sx.ConvexPolygons(2), "sides must be a whole number of at least 3"),
        (lambda: sx.Predicates([], [[1]]), "at least one predicate"),
        (lambda: sx.Predicates([lambda x: True], [[1]]), "Predicate 1 returned shape"),
        (lambda: sx.shatters(sx.Boxes(3), [[1, 2]]), "Boxes are sets of points with 3 coordinates"),
        (lambda: sx.shatters(sx.Boxes(2), [[1, np.nan]]), "row 1: A coordinate is missing"),
        (lambda: sx.shatters(sx.Boxes(9), np.vstack([np.eye(9), -np.eye(9)])), "2^18 labelings"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(sx.InputError, match=words.replace("^", r"\^")):
        make()


class Ends(sx.Hypothesis):
    """Points at one end of the first column."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def contains(self, points):
        return np.asarray(points)[:, 0] >= self.threshold


class OwnClass(sx.HypothesisClass):
    """A class with the one method that a class needs."""

    def consistent(self, points, labels):
        inside = points[labels, 0]
        found = Ends(inside.min() if len(inside) else points.max() + 1.0)
        return found if (found.contains(points) == labels).all() else None


def test_a_class_of_ones_own_needs_consistent_alone():
    assert sx.shatters(OwnClass(), [1.0]).shattered
    assert not sx.shatters(OwnClass(), [1.0, 2.0]).shattered
    assert not sx.shatters(OwnClass(), [[1.0, 5.0], [2.0, 3.0]]).shattered
    with pytest.raises(sx.InputError, match=r"how many columns its points have.*dimension"):
        sx.vc_dimension(OwnClass())


def test_a_class_that_says_its_columns_is_searched():
    class InThePlane(OwnClass):
        dimension = 2

    assert sx.vc_dimension(InThePlane()).dimension == 1

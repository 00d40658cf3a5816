"""VC dimensions are found by search, with proofs that are checked here."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.theory import vc_dimension as module

FACTS = [
    (sx.Boxes(2), 4),
    (sx.Hyperplanes(2), 3),
    (sx.Triangles(), 7),
    (sx.Boxes(3), 6),
    (sx.Hyperplanes(3), 4),
    (sx.Balls(2), 3),
    (sx.Intervals(), 2),
    (sx.UnionsOfIntervals(4), 8),
]


@pytest.mark.parametrize(("hypotheses", "dimension"), FACTS, ids=lambda v: repr(v))
def test_facts_with_their_proofs(hypotheses, dimension):
    found = sx.vc_dimension(hypotheses, n_arrangements=12)
    assert found.dimension == dimension
    assert found.proved
    assert found.argument
    assert found.status == "complete"
    below, above = found.shattered, found.last_refuted
    assert len(below.points) == dimension
    assert len(below.hypotheses) == 2**dimension
    for labels, h in zip(below.labelings, below.hypotheses, strict=True):
        assert (h.contains(below.points) == labels).all()
    assert len(above.points) == dimension + 1
    assert hypotheses.consistent(above.points, above.failing) is None


def test_the_search_does_not_read_the_bound():
    """Without what the class knows, the search finds the same and claims less."""

    class Plain(sx.HypothesisClass):
        dimension, name = 2, "triangles"

        def consistent(self, points, labels):
            return sx.Triangles().consistent(points, labels)

    found = sx.vc_dimension(Plain(), n_arrangements=2)
    assert found.dimension == 7
    assert found.refuted == 2
    assert not found.proved
    assert "searched, not proved" in str(found)


def test_a_bound_that_equals_the_limit_of_points_is_seen_to_hold():
    found = sx.vc_dimension(sx.Boxes(3), max_points=6, n_arrangements=3)
    assert (found.dimension, found.status, found.refuted) == (6, "complete", 3)


def test_every_order_of_five_points_is_searched():
    found = sx.vc_dimension(sx.Boxes(2))
    assert found.exhaustive
    assert found.refuted == 120


class AllSets(sx.HypothesisClass):
    """Every finite set: no finite VC dimension."""

    dimension, name = 1, "sets"

    def consistent(self, points, labels):
        class Finite(sx.Hypothesis):
            def contains(self, x):
                return np.isin(np.asarray(x)[:, 0], points[labels, 0])

        return Finite()


def test_limits_are_stated():
    found = sx.vc_dimension(AllSets(), max_points=5)
    assert (found.dimension, found.status, found.proved) == (5, "limit of points", False)
    assert "is at least 5" in str(found)
    found = sx.vc_dimension(AllSets(), max_work=40)
    assert (found.dimension, found.status) == (4, "limit of work")
    assert "The search ended early: limit of work." in str(found)


def test_an_interruption_returns_what_is_found(monkeypatch):
    decide = module.decide

    def interrupted(hypotheses, points, max_work):
        if len(points) == 3:
            raise KeyboardInterrupt
        return decide(hypotheses, points, max_work)

    monkeypatch.setattr(module, "decide", interrupted)
    found = sx.vc_dimension(sx.Boxes(2))
    assert (found.dimension, found.status, found.proved) == (2, "interrupted", False)


def test_predicates_are_listed():
    """Thresholds in one of two columns, on a 4 x 4 grid; brute force over all subsets."""
    grid = np.array([[i, j] for i in range(4) for j in range(4)], dtype=float)
    predicates = [lambda x, j=j, t=t: x[:, j] > t for j in (0, 1) for t in range(-1, 4)]
    table = np.array([p(grid) for p in predicates])
    pairs = [(a, b) for a in range(16) for b in range(a)]
    assert any(len(np.unique(table[:, p], axis=0)) == 4 for p in pairs)
    triples = [(*p, c) for p in pairs for c in range(p[1])]
    assert not any(len(np.unique(table[:, t], axis=0)) == 8 for t in triples)
    found = sx.vc_dimension(sx.Predicates(predicates, grid))
    assert (found.dimension, found.exhaustive, found.refuted) == (2, True, 560)
    constant = sx.vc_dimension(sx.Predicates([lambda x: x[:, 0] > 9], grid))
    assert (constant.dimension, constant.shattered) == (0, None)
    assert "0" in str(constant)


def test_a_wrong_hypothesis_is_not_accepted():
    class Wrong(sx.HypothesisClass):
        dimension = 2

        def consistent(self, points, labels):
            return sx.Boxes(2).tightest(points, labels)

    with pytest.raises(sx.InputError, match="consistent must return None"):
        sx.shatters(Wrong(), [[0, 0], [1, 1], [2, 2]])

"""What the pictures of learning theory show is what was found."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.pictures import BiasVarianceDisplay, FitsDisplay, PACDisplay, ShatteringDisplay
from separatrix.pictures.theory import outlines


def inside(point, curve):
    """Whether a convex curve goes around a point."""
    edges = np.roll(curve, -1, axis=0) - curve
    away = point - curve
    turns = edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]
    return bool((turns > -1e-9).all() or (turns < 1e-9).all())


@pytest.mark.parametrize(
    ("hypotheses", "n"),
    [(sx.Boxes(2), 4), (sx.Hyperplanes(2), 3), (sx.Balls(2), 3), (sx.Triangles(), 6)],
)
def test_outlines_go_around_the_positive_points_alone(hypotheses, n):
    angles = 2 * np.pi * np.arange(n) / n + 0.1
    found = sx.shatters(hypotheses, np.c_[np.cos(angles), np.sin(angles)])
    assert found.shattered
    window = (np.full(2, -1.6), np.full(2, 1.6))
    for labels, h in zip(found.labelings, found.hypotheses, strict=True):
        curves = [c for c in outlines(h, window) if len(c)]
        drawn = [any(inside(x, c) for c in curves) for x in found.points]
        assert drawn == labels.tolist()


def test_labelings_drawn():
    every = ShatteringDisplay.from_hypotheses(sx.Boxes(2), [[0, 1], [1, 0]])
    assert every.shown == [0, 1, 2, 3]
    some = ShatteringDisplay(sx.vc_dimension(sx.Triangles()).shattered, "triangles", max_shown=9)
    assert len(set(some.shown)) == 9
    failing = ShatteringDisplay.from_hypotheses(sx.Intervals(), [1.0, 2.0, 3.0])
    assert failing.shown == [0b101]
    assert "+ − +" in failing.description
    with pytest.raises(sx.InputError, match="in the plane or on a line"):
        ShatteringDisplay.from_hypotheses(sx.Boxes(3), [[0, 0, 0]])


def test_failures_and_fits():
    simulations = [sx.pac_simulation(sx.Boxes(1), 0.2, 0.1, n=n, repeats=30) for n in (40, 5)]
    display = PACDisplay(simulations)
    assert [one.n for one in display.simulations] == [5, 40]
    assert f"{100 * simulations[1].failure_rate:.3g} % with 5 rows" in display.description
    with pytest.raises(sx.InputError, match="2 pairs"):
        PACDisplay([simulations[0], sx.pac_simulation(sx.Boxes(1), 0.1, 0.1, repeats=2)])
    found = sx.polynomial_bias_variance([0, 2], lambda x: x[:, 0] ** 2, 0.1, x=np.arange(9.0))
    display = BiasVarianceDisplay([0, 2], found)
    assert display.best == 1
    with pytest.raises(sx.InputError, match="1 labels for 2 results"):
        BiasVarianceDisplay([0], found)
    assert "1 fit to 9 rows" in FitsDisplay(found[0]).description

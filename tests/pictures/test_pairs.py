"""Pairs of columns: ellipses stay in their cells, names break where words end."""

import numpy as np

from separatrix.pictures.columns import ellipse
from separatrix.pictures.style import wrapped_label


def test_an_ellipse_is_cut_at_its_cell(rng: np.random.Generator) -> None:
    x = np.clip(rng.normal([0.5, 0.1], [0.1, 0.1], (200, 2)), 0.0, 1.0)
    points = ellipse(x)
    drawn = points[np.isfinite(points).all(axis=1)]
    assert 10 < len(drawn) < len(points)
    assert drawn.min() >= 0.0
    # two standard deviations from the mean
    away = drawn - x.mean(axis=0)
    distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(np.cov(x.T)), away)
    np.testing.assert_allclose(distance, 4.0)


def test_long_names_break_at_underscores() -> None:
    assert wrapped_label("alcalinity_of_ash", 15) == "alcalinity_of_\nash"
    assert wrapped_label("malic_acid", 15) == "malic_acid"

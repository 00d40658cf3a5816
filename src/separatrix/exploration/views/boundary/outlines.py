"""Lines of the picture that the grid does not give: ellipses, boxes, cells, exemplars."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.exploration.state import packed
from separatrix.geometry.normal import MultivariateNormal
from separatrix.hypotheses.boxes.box import Box
from separatrix.rows.block import Floats, Ints

#: Probabilities of the ellipses at one and two standard deviations.
DEVIATIONS = tuple(1.0 - float(np.exp(-0.5 * r**2)) for r in (1.0, 2.0))
#: Members of G that are drawn of a class.
GENERAL = 40
#: How far beyond the points the outermost cells reach, in spreads of the points.
FAR = 30.0


def ellipses(normals: tuple[MultivariateNormal, ...]) -> list[Any]:
    """The ellipses of each class at one and at two standard deviations."""
    return [
        [packed(normal.ellipse(probability=p, n_points=73)) for p in DEVIATIONS]
        for normal in normals
    ]


def boxes(model: Any, window: Floats) -> list[dict[str, Any]]:
    """S and the members of G of each class, cut at the window; None where G is too long a list."""
    found = []
    for space, box in zip(model.spaces_, model.boxes_, strict=True):
        general = space.general(GENERAL)
        found.append(
            {
                "S": _faces(space.specific, window),
                "G": None if general is None else [_faces(g, window) for g in general],
                "box": _faces(box, window),
            }
        )
    return found


def _faces(box: Box, window: Floats) -> list[float] | None:
    """[x0, y0, x1, y1], or None for the empty box; faces at infinity are beyond the window."""
    if box.empty:
        return None
    span = window[:, 1] - window[:, 0]
    low, high = window[:, 0] - span, window[:, 1] + span
    return [*np.clip(box.lower, low, high).tolist(), *np.clip(box.upper, low, high).tolist()]


def cells(z: Floats, codes: Ints, mean: Floats, scale: Floats) -> dict[str, Any]:
    """Sides of the cells of the points ``z``, and whether the classes of a side differ.

    The cell of a point is where no other is nearer. Of equal points the first counts.
    """
    from scipy.spatial import Voronoi

    distinct, first = np.unique(z, axis=0, return_index=True)
    corners = FAR * max(float(np.ptp(z)), 1.0) * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    found = Voronoi(np.vstack([distinct, corners]))
    inner = (found.ridge_points < len(distinct)).all(axis=1)
    ends = np.array(found.ridge_vertices)[inner]
    pairs = codes[first][found.ridge_points[inner]]
    sides = found.vertices[ends] * scale + mean
    return {
        "sides": packed(sides.reshape(-1, 4)),
        "differ": packed(np.diff(pairs)[:, 0] != 0, "uint8"),
    }

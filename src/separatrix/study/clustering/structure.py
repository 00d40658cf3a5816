"""Test for cluster structure: does the same search do as well in tables without clusters?

T = max over k of the silhouette; p = how often T of a table without groups reaches this one's.

Two families of such tables are drawn (:mod:`.references`), and groups count as real only if neither
can do as well: p is the larger of the two. Draws stop at the second table that does as well, for
then p cannot be 0.05 or less any more; so a table without clusters is rejected quickly.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.study.clustering.choice import Numbers, best_silhouette
from separatrix.study.clustering.methods import Method
from separatrix.study.clustering.references import Draw, references
from separatrix.study.clustering.result import FAMILIES, Reference, Structure

#: Tables drawn of each family, and how many may do as well before p is beyond the level.
DRAWS, ALLOWED, LEVEL = 39, 1, 0.05
#: Rows that the test looks at, at most.
TEST_ROWS = 400


def structure(
    method: Method,
    x: Floats,
    discrete: list[list[int]],
    numbers: Numbers,
    rng: np.random.Generator,
) -> Structure:
    """Compare the best silhouette of the rows with those of tables without groups."""
    found = best_silhouette(method.search(x), numbers, rng, 1)
    seen: list[Reference] = []
    for name, draw in references(x, discrete).items():
        seen.append(_compared(name, draw, method, numbers, found, rng))
        if seen[-1].p_value > LEVEL:
            break
    p = max(one.p_value for one in seen)
    real = p <= LEVEL
    return Structure(real, p, found, len(x), tuple(seen), _words(real, p, found, seen))


def _compared(
    name: str,
    draw: Draw,
    method: Method,
    numbers: Numbers,
    found: float,
    rng: np.random.Generator,
) -> Reference:
    drawn: list[float] = []
    as_good = 0
    while len(drawn) < DRAWS and as_good <= ALLOWED:
        drawn.append(best_silhouette(method.search(draw(rng)), numbers, rng, 1))
        as_good += drawn[-1] >= found
    stopped = as_good > ALLOWED
    p = as_good / len(drawn) if stopped else (as_good + 1) / (len(drawn) + 1)
    return Reference(name, tuple(drawn), p)


def _words(real: bool, p: float, found: float, seen: list[Reference]) -> str:
    nearest = max(seen, key=lambda one: (one.p_value, float(np.mean(one.silhouettes))))
    usual, most = float(np.mean(nearest.silhouettes)), max(max(one.silhouettes) for one in seen)
    if found <= -1:
        return (
            "No significant cluster structure: all clusters but one have a few rows each, which "
            "are outliers rather than clusters."
        )
    if real:
        many = sum(len(one.silhouettes) for one in seen)
        return (
            f"Significant cluster structure: the silhouette of {found:.2f} exceeds what the same "
            f"search finds in reference tables without clusters (at most {most:.2f} in {many}; "
            f"p = {p:.3f})."
        )
    return (
        f"No significant cluster structure: the same search does as well in reference tables "
        f"without clusters ({FAMILIES[nearest.name]}; mean silhouette {usual:.2f} there, "
        f"{found:.2f} here; p = {p:.2f})."
    )

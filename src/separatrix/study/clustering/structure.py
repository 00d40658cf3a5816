"""Whether groups are real: does the same search do as well in tables that have none?

T = max over k of the silhouette; p = how often T of a table without groups reaches this one's.

Two families of such tables are drawn (:mod:`.references`), and groups count as real only if neither
can do as well: p is the larger of the two. Draws stop at the second table that does as well, for
then p cannot be 0.05 or less any more; so a table without groups is told quickly.
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
            "No real groups: all clusters but one hold a few rows each, and those are outliers "
            "rather than a group."
        )
    if real:
        many = sum(len(one.silhouettes) for one in seen)
        return (
            f"The groups are real: their silhouette of {found:.2f} is beyond what the same search "
            f"finds in tables like this one without groups (at most {most:.2f} in {many}; "
            f"p = {p:.3f})."
        )
    return (
        f"No real groups: the same search finds as much in tables like this one that have none "
        f"({FAMILIES[nearest.name]}; silhouette {usual:.2f} there on average, {found:.2f} here; "
        f"p = {p:.2f})."
    )

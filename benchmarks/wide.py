"""Tables with more columns than are worth a square matrix."""

from __future__ import annotations

from collections.abc import Callable

import penalized
from neighbors import nearest


def neighbors(quick: bool) -> None:
    """The ten nearest of points in many columns, in the order of double precision."""
    for queries, n, d in ((5_000, 200_000, 256), (10_000, 100_000, 64)):
        shrink = 10 if quick else 1
        nearest(n // shrink, d, queries // shrink, 1.5)


def ridge(quick: bool) -> None:
    for n, d in ((300, 50_000), (2_000, 20_000), (100, 20_000)):
        x, y = penalized.dense_table(n, d // 10 if quick else d)
        penalized.ridge(x, y, (("auto", 1e-4), ("cholesky", 1e-4)))


def lasso_path(quick: bool) -> None:
    for n, d in ((500, 10_000), (100, 20_000)):
        x, y = penalized.dense_table(n, d // 10 if quick else d)
        penalized.lasso_path(x, y, 100, 1e-2)


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (
    neighbors,
    ridge,
    lasso_path,
)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()

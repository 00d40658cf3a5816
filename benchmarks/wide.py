"""Tables with more columns than are worth a square matrix."""

from __future__ import annotations

from collections.abc import Callable

from neighbors import nearest


def neighbors(quick: bool) -> None:
    """The ten nearest of points in many columns, in the order of double precision."""
    for queries, n, d in ((5_000, 200_000, 256), (10_000, 100_000, 64)):
        shrink = 10 if quick else 1
        nearest(n // shrink, d, queries // shrink, 1.5)


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (neighbors,)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()

"""Many classes."""

from __future__ import annotations

from collections.abc import Callable

#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = ()


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()

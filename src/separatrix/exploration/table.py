"""The rows that a page shows: all of a small table, a sample of a large one, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.parts import column_of, distinguish_copies, hash_block, salted_words
from separatrix.rows.rows import Rows
from separatrix.rows.scan import scan
from separatrix.rows.schema import Block, Kind, concatenate
from separatrix.rows.sources.columns import Levels
from separatrix.rows.split import column_positions

#: Rows of a page, where no other number is given.
ROWS = 2_000

#: A column of at most so many distinct whole numbers may also be a target of classes.
CLASSES = 20


@dataclass(frozen=True)
class PageTable:
    """The rows of a page: numbers with NaN, and levels as text with ``""``, where none is known.

    Parameters
    ----------
    columns : dict of str to array
        Columns in their order: numbers as float64, levels as text.
    target : str, default=None
        The column that models predict, unless the page chooses another.
    name : str, default="table"
        What the page calls the table.
    source : str, default="table"
        The table as an expression of Python, for the code that the page shows.
    total : int, default=None
        Rows of the whole table; None if all are here.
    words : tuple of str, default=()
        The table and how it is read, as words of the command line; none for one in memory.
    options : dict, default=None
        The parameters of :func:`separatrix.scan` that read all of these rows, with the table as an
        expression under ``""``; None for a sample, which ``scan`` does not draw.
    booleans : frozenset of str, default=frozenset()
        Columns of true (1) and false (0).
    """

    columns: Mapping[str, NDArray[Any]]
    target: str | None = None
    name: str = "table"
    source: str = "table"
    total: int | None = None
    words: tuple[str, ...] = ()
    options: Mapping[str, Any] | None = None
    booleans: frozenset[str] = frozenset()
    rows: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of numbers that are not constant."""
        return tuple(n for n, c in self.columns.items() if c.dtype.kind == "f" and _varies(c))

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """Columns that may hold classes, with their labels in order."""
        found = {name: _labels(self._column_named(name)) for name in self.columns}
        return {name: labels for name, labels in found.items() if 2 <= len(labels) <= CLASSES}

    def column(self, name: Any) -> NDArray[Any]:
        """A column by name; an unknown name is refused with the closest one."""
        if name not in self.columns:
            raise InputError(
                f"there is no column {name!r}.", remedy=did_you_mean(str(name), self.columns)
            )
        return self.columns[name]

    def labels(self, name: str) -> NDArray[Any]:
        """A column of classes as texts; ``""`` where none is known."""
        column = self._column_named(name)
        return _texts(column) if column.dtype.kind == "f" else column

    def _column_named(self, name: str) -> NDArray[Any]:
        """A column; true and false by their names."""
        column = self.column(name)
        if name not in self.booleans:
            return column
        return np.where(np.isnan(column), "", np.where(column == 1.0, "True", "False"))

    def matrix(self, names: Sequence[str]) -> Floats:
        """Columns of numbers side by side (n × k), with NaN for missing values."""
        for name in names:
            if self.column(name).dtype.kind != "f":
                raise InputError(f"column {name!r} does not hold numbers.")
            # A sum of squares of so large numbers is still a number, whatever the number of rows.
            if (np.abs(self.columns[name]) > 1e150).any():
                raise InputError(
                    "holds numbers so large that their squares overflow.",
                    column=name,
                    remedy="Choose another column, or divide it by a power of ten.",
                )
        return np.column_stack([self.columns[name] for name in names])

    def arrays(self, names: Sequence[str], target: str) -> tuple[Floats, NDArray[Any]]:
        """``X, y`` of the rows in which these columns and the target are known.

        The target is labels (text) where it is among :attr:`classes`, and numbers otherwise.
        """
        at = self.complete(names, target)
        return self.matrix(names)[at], self._target(target)[at]

    def complete(self, names: Sequence[str], target: str | None = None) -> Ints:
        """Numbers of the rows in which these columns, and the target, are known."""
        known = ~np.isnan(self.matrix(names)).any(axis=1)
        if target is not None:
            y = self._target(target)
            known &= ~np.isnan(y) if y.dtype.kind == "f" else y != ""
        return np.flatnonzero(known)

    def _target(self, name: str) -> NDArray[Any]:
        return self.labels(name) if name in self.classes else self.column(name)

    def scan(self, target: str | None, names: Sequence[str] | None = None) -> Rows:
        """These rows as ``Rows``, with all columns or the named ones as features."""
        key = (target, None if names is None else tuple(names))
        if key not in self.rows:
            named = list(self.columns if names is None else dict.fromkeys([*names, *_one(target)]))
            frame = {name: _values(self.column(name)) for name in named}
            if target is not None and target in self.classes:
                frame[target] = [label or None for label in self.labels(target)]
            self.rows[key] = scan(frame, target=target).read()
        rows: Rows = self.rows[key]
        return rows


def read_table(
    source: Any, target: str | None = None, rows: int = ROWS, **options: Any
) -> PageTable:
    """Read the rows that a page shows: all, or a sample by hash that every reading repeats.

    Parameters
    ----------
    source : table
        Whatever :func:`separatrix.scan` takes.
    target : str, default=None
        The column that models predict.
    rows : int, default=2000
        Rows of the sample, where the table has more.
    **options
        Further parameters of :func:`separatrix.scan`.

    Returns
    -------
    PageTable
        The rows.

    See Also
    --------
    separatrix.explore : The page.

    Examples
    --------
    >>> from separatrix.exploration import read_table
    >>> table = read_table({"x": [1.0, 2.0, 4.0], "y": ["a", "b", None]}, target="y")
    >>> X, y = table.arrays(["x"], "y")
    >>> X.tolist(), y.tolist()
    ([[1.0], [2.0]], ['a', 'b'])
    """
    scanned = scan(source, **options)
    block, total = _sample(scanned, rows)
    columns = _columns(block, [column.name for column in scanned.schema.columns])
    kinds = {column.name: column.kind for column in scanned.schema.columns}
    booleans = frozenset(name for name in columns if kinds[name] is Kind.BOOLEAN)
    table = PageTable(columns, total=total if total > block.n else None, booleans=booleans)
    if target is not None:
        table.column(target)
    return replace(table, target=target)


def _sample(rows: Rows, size: int) -> tuple[Block, int]:
    """The rows of smallest hash in the order of the table, and the number of all."""
    parts: list[Block] = []
    words, numbers = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    total = 0
    for block in rows.blocks():
        numbers = np.concatenate([numbers, total + np.arange(block.n)])
        total += block.n
        words = np.concatenate([words, salted_words(distinguish_copies(hash_block(block)), "page")])
        whole = concatenate([*parts, block])
        first = np.sort(np.argsort(words, kind="stable")[:size])
        parts, words, numbers = [whole.take(first)], words[first], numbers[first]
    if not parts:
        raise InputError("the table has no rows.")
    return parts[0].take(np.argsort(numbers, kind="stable")), total


def _columns(block: Block, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns as arrays, from their terms."""
    positions = column_positions(block.terms)
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        at = positions.get(name, [])
        column = column_of(block.dense()[:, at], block.terms, at) if at else None
        if column is None:
            continue
        if isinstance(column, Levels):
            columns[name] = np.array([*column.names, ""])[column.codes]
        else:
            columns[name] = np.asarray(column.values, dtype=float)
    return columns


def _labels(column: NDArray[Any]) -> tuple[str, ...]:
    """Labels of a column of few levels or few whole numbers, in their order; else none."""
    if column.dtype.kind != "f":
        return tuple(level for level in np.unique(column).tolist() if level)
    known = np.unique(column[~np.isnan(column)])
    # Up to here, floating-point numbers tell all whole numbers apart.
    if len(known) > CLASSES or (known != np.round(known)).any() or (abs(known) > 2.0**53).any():
        return ()
    return tuple(f"{value:.0f}" for value in known)


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    return np.array(["" if np.isnan(value) else f"{value:.0f}" for value in column])


def _values(column: NDArray[Any]) -> list[Any]:
    """A column as ``scan`` takes it: None for missing values, whole numbers as such."""
    if column.dtype.kind != "f":
        return [value or None for value in column.tolist()]
    whole = bool((column[~np.isnan(column)] % 1 == 0).all())
    return [None if np.isnan(v) else int(v) if whole else float(v) for v in column]


def _varies(column: Floats) -> bool:
    known = column[~np.isnan(column)]
    return bool(len(known) and known.min() < known.max())


def _one(target: str | None) -> list[str]:
    return [] if target is None else [target]

"""The rows that a model saw, column by column as Python floats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.messages import InputError
from separatrix.verification.stored import Record

Columns = list[list[float]]


@dataclass(frozen=True)
class Design:
    """Columns of the design, targets and weights of some rows.

    ``levels`` are the classes of indicator targets in order; empty where targets are numbers.
    ``labels`` are given instead of targets where they came as an array.
    """

    columns: Columns
    targets: Columns = field(default_factory=list)
    weights: list[float] | None = None
    levels: tuple[str, ...] = ()
    labels: list[Any] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        first = self.columns or self.targets
        return len(first[0]) if first else len(self.labels or ())

    @property
    def rows(self) -> list[list[float]]:
        """The design row by row."""
        return [list(row) for row in zip(*self.columns, strict=True)]

    def classes(self, known: Sequence[Any]) -> list[int]:
        """The position of every row's class among the known ones."""
        place = class_positions(known)
        places = {label: place(label) for label in dict.fromkeys(self._labels())}
        for label, position in places.items():
            if position is None:
                raise InputError(
                    f"the table has class {_text(label)!r}, which the model does not know.",
                    remedy="Give the table of training.",
                )
        return [places[label] for label in self._labels()]  # type: ignore[misc]

    def _labels(self) -> list[Any]:
        if self.labels is not None:
            return self.labels
        if not self.levels:
            return self.targets[0]
        rows = zip(*self.targets, strict=True)
        return [self.levels[row.index(1.0)] if 1.0 in row else None for row in rows]


class Blocks:
    """Blocks of rows, counted as they pass; ``tell`` reports progress."""

    def __init__(self, blocks: Iterable[Design], progress: Any = None) -> None:
        self.blocks, self.n, self._progress = blocks, 0, progress
        self._last = time.monotonic()

    def __iter__(self) -> Iterator[Design]:
        for block in self.blocks:
            self.n += block.n
            yield block

    def tell(self, stage: str, n_done: int, total: int) -> None:
        """Say how much is done, at most every other second."""
        now = time.monotonic()
        if self._progress is not None and now - self._last > 2.0:
            self._last = now
            self._progress(stage, n_done, total)


def class_positions(known: Sequence[Any]) -> Callable[[Any], int | None]:
    """The position of a label among the known ones; None for another.

    Two truth values may be written in any way: True, "true", 1 or "1".
    """
    place = {_text(label): k for k, label in enumerate(known)}
    truth = {_TRUTH.get(text.lower()): k for text, k in place.items()}
    if None in truth or len(truth) < len(place):
        return lambda label: place.get(_text(label))

    def find(label: Any) -> int | None:
        text = _text(label)
        return place.get(text, truth.get(_TRUTH.get(text.lower(), "")))

    return find


#: Truth values as tables and files write them.
_TRUTH = {"true": "1", "1": "1", "false": "0", "0": "0"}


def _text(label: Any) -> str:
    """Labels as text: 1, 1.0 and "1" are the same class, as are True and "True"."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label)


def gather(designs: Iterable[Design]) -> Design:
    """Several blocks of rows as one."""
    blocks = [design for design in designs if design.n]
    if not blocks:
        raise InputError("no row of the table is left.", remedy="Give the table of training.")
    first = blocks[0]
    width, targets = len(first.columns), len(first.targets)
    weights = [w for block in blocks for w in block.weights or ()]
    return Design(
        [[v for block in blocks for v in block.columns[j]] for j in range(width)],
        [[v for block in blocks for v in block.targets[j]] for j in range(targets)],
        weights if first.weights is not None else None,
        first.levels,
        None if first.labels is None else [v for block in blocks for v in block.labels or ()],
    )


def encode_blocks(blocks: Iterable[Any], encoding: Record | None) -> Iterator[Design]:
    """Raw blocks as the model saw them: indicators of levels, missing values filled in."""
    for block in blocks:
        raw = {_term(term): j for j, term in enumerate(block.terms)}
        x = block.x.toarray() if hasattr(block.x, "toarray") else block.x
        columns_raw = x.T.tolist()
        yield Design(
            columns_raw if encoding is None else _encode_term(columns_raw, raw, block.n, encoding),
            *_targets(block, encoding),
        )


def _targets(block: Any, encoding: Record | None) -> tuple[Columns, list[float] | None, Any]:
    columns = {
        _term(term): column for term, column in zip(block.targets, block.y.T.tolist(), strict=True)
    }
    terms = [] if encoding is None else [_read_term(t) for t in encoding["targets"]["items"]]
    if terms and set(columns) <= set(terms):  # classes in the order of training
        columns = {term: columns.get(term, [0.0] * block.n) for term in terms}
    levels = tuple(str(level) for _, level, _ in columns if level is not None)
    weights = None if block.w is None else block.w.tolist()
    return list(columns.values()), weights, levels


def _encode_term(
    raw: Columns, position: dict[tuple[str, Any, bool], int], n: int, encoding: Record
) -> Columns:
    fill = encoding.get("fill_values") or {}
    columns = []
    for stored in encoding["terms"]["items"]:
        term = _read_term(stored)
        at = position.get(term)
        column = [0.0] * n if at is None else raw[at]
        lacking = position.get((term[0], None, True))
        if lacking is not None and term[0] in fill and not term[2]:
            value = fill[term[0]]
            column = [value if m else v for v, m in zip(column, raw[lacking], strict=True)]
        columns.append(column)
    return columns


def _term(term: Any) -> tuple[str, Any, bool]:
    return term.column, term.level, bool(term.missing)


def _read_term(term: Record) -> tuple[str, Any, bool]:
    return term["column"], term["level"], bool(term["missing"])

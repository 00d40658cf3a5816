"""The chosen costs: read from the state, as Python, and as words of the command line."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.exploration.state import State
from separatrix.messages import InputError

#: The dearest error.
MOST = 1e6

#: Signs that separate the parts of ``--costs``; names with one go into a file.
SIGNS = ",:="


@dataclass(frozen=True)
class Chosen:
    """``matrix[i][j]``: cost of predicting j where i is true; ``reject``: None if no row may be."""

    matrix: tuple[tuple[float, ...], ...]
    reject: float | None

    @classmethod
    def of(cls, state: State, k: int) -> Chosen:
        """The costs of the state: 1 for every error, where it has none."""
        reject = state.number("reject", 0.2, 0.0, MOST) if state.flag("abstain", True) else None
        given = state.items("costs") or [[float(i != j) for j in range(k)] for i in range(k)]
        rows = tuple(tuple(row) if isinstance(row, list) else () for row in given)
        if len(rows) != k or not all(len(row) == k and all(map(_cost, row)) for row in rows):
            raise InputError(
                f"costs are not {k} rows of {k} numbers from 0 to {MOST:g}.",
                remedy="A row for each true class, a column for each prediction.",
            )
        return cls(tuple(tuple(map(float, row)) for row in rows), reject)

    @property
    def plain(self) -> bool:
        """Whether every error costs 1."""
        return all(c == (i != j) for i, row in enumerate(self.matrix) for j, c in enumerate(row))

    def python(self) -> str:
        """``costs`` of ``RejectOption``: the cost of a rejection, or a matrix."""
        if self.plain and self.reject is not None:
            return repr(self.reject)
        last = [] if self.reject is None else [self.reject]
        return repr([[*row, *last] for row in self.matrix])

    def options(self, labels: Sequence[str]) -> tuple[list[str], str]:
        """Options of ``separatrix fit``, and a line that writes ``costs.json`` where needed."""
        words = [] if self.reject is None else ["--reject", f"{self.reject:.12g}"]
        named: dict[str, dict[str, float]] = {}
        for truth, row in zip(labels, self.matrix, strict=True):
            for answer, cost in zip(labels, row, strict=True):
                if cost != (truth != answer):
                    named.setdefault(truth, {})[answer] = cost
        if not named:
            return words, ""
        if any(sign in label or label != label.strip() for label in labels for sign in SIGNS):
            text = shlex.quote(json.dumps(named, ensure_ascii=False))
            return ["--costs", "costs.json", *words], f"printf %s {text} > costs.json\n"
        pairs = ((t, a, cost) for t, row in named.items() for a, cost in row.items())
        return ["--costs", ",".join(f"{t}:{a}={c:.12g}" for t, a, c in pairs), *words], ""


def _cost(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0.0 <= value <= MOST

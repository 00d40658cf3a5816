"""What a page is about: a table, a model, or both."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from separatrix.catalogue import CLASSIFICATION, REGRESSION
from separatrix.exploration import plots
from separatrix.exploration.table import PageTable
from separatrix.exploration.views import VIEWS
from separatrix.messages import InputError

T = TypeVar("T")

#: The file of a model in the folder of a study.
MODEL = "model.sx"


def stored_at(table: Any) -> Path | None:
    """The path of a model or a study that is given in place of a table; None for a table."""
    path = Path(table) if isinstance(table, str | Path) else None
    return path if path and (path.suffix == ".sx" or (path / MODEL).is_file()) else None


@dataclass
class Session:
    """A table and a stored model or study (its path), with the fits that views remember."""

    shown: PageTable | None = None
    model: str | None = None
    remembered: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    lock: Any = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        if self.model is not None and not Path(self.model).exists():
            raise InputError("there is no such file or folder.", file=self.model)

    @property
    def table(self) -> PageTable:
        """The table; a page of a model alone has none."""
        if self.shown is None:
            raise InputError(
                "this page shows a model without a table.",
                remedy="Start it as separatrix explore TABLE --model MODEL.",
            )
        return self.shown

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What ``compute`` gave for this key before, or gives now."""
        with self.lock:
            if key in self.remembered:
                self.remembered[key] = self.remembered.pop(key)
                answer: T = self.remembered[key]
                return answer
        value = compute()
        with self.lock:
            self.remembered[key] = value
            # Fits that are remembered: as many as one goes back and forth between.
            while len(self.remembered) > 24:
                del self.remembered[next(iter(self.remembered))]
        return value

    def describe(self) -> dict[str, Any]:
        """What the page must know before any view asks: names and kinds, and no values."""
        if self.shown is None:
            return {"table": None, "model": self.model is not None, "views": VIEWS, "plain": {}}
        table = self.shown
        columns = [
            {"name": name, "kind": "number" if column.dtype.kind == "f" else "level"}
            for name, column in table.columns.items()
        ]
        return {
            "table": {
                "name": table.name,
                "rows": len(table),
                "total": table.total,
                "target": table.target,
                "columns": columns,
                "numbers": table.numbers,
                "classes": table.classes,
            },
            "model": self.model is not None,
            "command": shlex.join(["separatrix", "explore", *table.words]) if table.words else "",
            "views": VIEWS,
            "plain": {task: plots.plain_models(task) for task in (REGRESSION, CLASSIFICATION)},
        }

"""A table in memory, split and with its candidates: what every study of rows starts from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.parts import Parts
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.data import RowFolds, truth_of
from separatrix.study.result import Study, TrainingRows
from separatrix.study.test_predictions import SHOWN_ROWS, thinned

#: Scores of the rows that a picture shows, at most.
SHOWN_NUMBERS = 400_000


@dataclass(frozen=True)
class StudyDesign:
    """``said`` is what has been inferred so far; ``told`` goes into the study as it is."""

    table: InMemory
    parts: Parts
    bench: RowFolds
    columns: tuple[ColumnProfile, ...]
    entrants: list[Candidate]
    said: list[str]
    told: dict[str, Any]
    progress: Any = None

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.table.schema.targets[0].name

    @property
    def baseline(self) -> Candidate:
        """The candidate that looks at no column."""
        return self.named(BASELINE)

    def named(self, name: str) -> Candidate:
        """A candidate by name."""
        return next(c for c in self.entrants if c.name == name)

    def story(self, **found: Any) -> Study:
        """The study: what is known from the start, and what was found."""
        return Study(
            target=self.target,
            test_fraction=self.parts.test,
            n_train=len(self.bench.training),
            n_test=len(self.bench.held),
            columns=self.columns,
            **found,
            **self.told,
        )


def with_warnings(fit: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """What ``fit`` returns, and the notices it gave, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)
        model = fit()
    rejects = [str(w.message) for w in caught if issubclass(w.category, SeparatrixWarning)]
    return model, tuple(dict.fromkeys(rejects))


def shown(core: Any, model: Any, bench: RowFolds) -> TrainingRows:
    """The training part for pictures: all of it, or an even selection of a large one.

    ``core`` is the model that has learned from columns, ``model`` the one that answers.
    """
    n = len(bench.training)
    answers = len(getattr(core, "classes_", ())) or 1  # numbers beside each row
    some = thinned(np.arange(n), min(SHOWN_ROWS, max(1, SHOWN_NUMBERS // answers)))
    rows = bench.table.take(bench.training[some])
    w, encoding = rows.block.w, getattr(core, "encoding_", None)
    names, scale = (), None
    if encoding is not None:
        x = encoding.apply(rows.block).dense()
        names = encoding.names
        scale = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    leverage = _leverage(core)
    return TrainingRows(
        None,
        truth_of(rows),
        w,
        names,
        model.predict(rows),
        core.decision_function(rows) if hasattr(core, "decision_function") else None,
        rows.row_ids,
        scale,
        None if leverage is None or len(leverage) != n else leverage[some],
        model.predict_proba(rows) if hasattr(model, "predict_proba") else None,
    )


def _leverage(model: Any) -> Any:
    """How far each training row pulls its own fitted value, where the model can tell."""
    try:
        return model.summary().leverage
    except (AttributeError, InputError):
        return None

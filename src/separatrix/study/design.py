"""A table in memory, split, with its candidates: what every study of rows starts from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from separatrix.linear.summary import InferenceMixin
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.parts import Parts
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.study.candidates import BASELINE, Candidate, Size
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned, truth_of
from separatrix.study.result import TrainingRows

M = TypeVar("M")

#: Scores of the rows that a picture shows, at most.
SHOWN_NUMBERS = 400_000


@dataclass(frozen=True)
class Metadata:
    """Where a study comes from: the name of the table, and the command that was typed."""

    source: str = ""
    command: str = ""


@dataclass(frozen=True)
class StudyDesign:
    """The split table, the candidates, and ``messages`` on what has been inferred so far.

    ``warnings`` are those on the table itself.
    """

    table: InMemory
    parts: Parts
    folds: RowFolds
    columns: tuple[ColumnProfile, ...]
    candidates: list[Candidate]
    messages: list[str]
    metadata: Metadata
    size: Size
    progress: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def announced(self) -> list[str]:
        """What is known before any model is fitted: messages, then warnings."""
        return [*self.messages, *self.warnings]

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.table.schema.targets[0].name

    @property
    def baseline(self) -> Candidate:
        """The candidate that uses no column."""
        return self.named(BASELINE)

    def named(self, name: str) -> Candidate:
        """A candidate by name."""
        return next(c for c in self.candidates if c.name == name)


def with_warnings(fit: Callable[[], M]) -> tuple[M, tuple[str, ...]]:
    """What ``fit`` returns, and the warnings it gave, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)
        model = fit()
    texts = [str(w.message) for w in caught if issubclass(w.category, SeparatrixWarning)]
    return model, tuple(dict.fromkeys(texts))


def scores_for(model: Any, rows: InMemory) -> Floats | None:
    """Decision function values; None where the estimator has none, which scikit-learn allows."""
    return model.decision_function(rows) if hasattr(model, "decision_function") else None


def probabilities_for(model: Any, rows: InMemory) -> Floats | None:
    """Class probabilities; None where the estimator has none, which scikit-learn allows."""
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else None


def training_rows(
    core: Any, model: Any, folds: RowFolds, encoding: Encoding | None, classes: int = 1
) -> TrainingRows:
    """The training rows for pictures: all of them, or an even selection of many.

    ``core`` was fitted to the columns, encoded by ``encoding``; ``model`` is the one that predicts.
    """
    n = len(folds.training)
    some = thinned(np.arange(n), min(SHOWN_ROWS, max(1, SHOWN_NUMBERS // classes)))
    rows = folds.table.take(folds.training[some])
    w = rows.block.w
    names: tuple[str, ...] = ()
    scale = None
    if encoding is not None:
        x = encoding.apply(rows.block).dense()
        names = encoding.names
        scale = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    leverage = _leverage(core)
    return TrainingRows(
        truth_of(rows),
        w,
        names,
        model.predict(rows),
        scores_for(core, rows),
        rows.row_ids,
        scale,
        None if leverage is None or len(leverage) != n else leverage[some],
        probabilities_for(model, rows),
    )


def _leverage(core: Any) -> Floats | None:
    """Leverage of each training row, where the theory of least squares applies."""
    if not isinstance(core, InferenceMixin):
        return None
    try:
        return core.summary().leverage
    except InputError:
        return None

"""Tables of a study that read its rows as a stream: sums over the whole test part."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.pictures.formatting import exact, number
from separatrix.report.tables import Cell, Line, Table, figure
from separatrix.rows.block import Floats
from separatrix.study.result import Study
from separatrix.study.stream_record import StreamRecord

#: Classes up to which all pairs of truth and answer are shown.
MOST_CLASSES = 12
#: A true class that the training rows do not have.
UNKNOWN = "(another class)"


def cells_of(study: Study, stream: StreamRecord) -> tuple[Any, Any, Floats]:
    """Truth, answer and weight of every pair that occurs in the test part."""
    reject = "reject" if study.decision is None else study.decision.reject_label
    truths, answers = [*study.classes, UNKNOWN], [*study.classes, reject]
    at = np.argwhere(stream.confusion > 0)
    truth, called = np.array(truths)[at[:, 0]], np.array(answers)[at[:, 1]]
    return truth, called, stream.confusion[at[:, 0], at[:, 1]]


def confusion_matrix(study: Study) -> Table | None:
    """All pairs of truth and answer, of few classes."""
    stream, names = study.stream, study.classes
    if stream is None or len(names) > MOST_CLASSES:
        return None
    counts = stream.confusion
    rejected = counts[:, -1].any() and study.decision is not None
    reject = "" if study.decision is None else study.decision.reject_label
    columns = [*names, *([reject] if rejected else [])]
    truths = [*names, *([UNKNOWN] if counts[-1].any() else [])]
    lines = tuple(
        Line(name, tuple(figure(float(v), exact(round(float(v), 2))) for v in row[: len(columns)]))
        for name, row in zip(truths, counts, strict=False)
    )
    return Table((("True class", False), *((name, True) for name in columns)), lines)


def reliability_table(study: Study) -> Table | None:
    """Probability of the predicted class against the frequency of right answers."""
    stream = study.stream
    if stream is None or not stream.reliability[2].any():
        return None
    lines = tuple(
        Line(
            f"{k / 10:.1f} to {(k + 1) / 10:.1f}",
            (
                figure(float(p), number(float(p), 3)),
                figure(float(right), number(float(right), 3)),
                Cell(exact(round(float(weight), 2)), right=True),
            ),
        )
        for k, (p, right, weight) in enumerate(stream.reliability.T)
        if weight > 0
    )
    heads = (("Probability of the answer", False), ("Mean", True), ("Right answers", True))
    return Table((*heads, ("Rows", True)), lines)

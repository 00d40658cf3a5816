"""The files of a study: written under a temporary name, moved in place at the end."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.cli.failure import SCHEMA_VERSION, Interrupted, ignore_interrupts
from separatrix.cli.ids import Ids
from separatrix.cli.places import ASSIGNMENTS, MODEL, PREDICTIONS, REPORT, RESULT
from separatrix.messages import InputError
from separatrix.storage import save
from separatrix.storage.files import cannot_write, write_text
from separatrix.study.document import document_of, plain
from separatrix.study.result import Predictions, Study
from separatrix.temporary import lock, remove_leftovers, temporary


def write_all(study: Study, place: Path, ids: Ids) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``.

    Files of an earlier study in the same directory are replaced, any others are left alone.
    """
    from separatrix.report import write as write_report

    document = {"schema_version": SCHEMA_VERSION, **document_of(study)}

    def write(partial: Path) -> None:
        save(study.model, partial / MODEL, study=replace(study, model=None))
        write_report(study, partial / REPORT)
        if study.test_predictions is not None:
            write_text(partial / PREDICTIONS, predictions(study, study.test_predictions, ids))
        write_text(partial / RESULT, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    all_or_nothing(place, write)
    return document


def all_or_nothing(place: Path, write: Callable[[Path], None]) -> None:
    """``write`` fills a directory under a temporary name; its files move to ``place`` together."""
    remove_leftovers(place)
    partial = temporary(place)
    complete = False
    try:
        partial.mkdir()
        with lock(partial):
            write(partial)
            with ignore_interrupts():
                _move(partial, place)
                complete = True
    except KeyboardInterrupt as end:
        if complete:
            raise Interrupted(f"Interrupted; the results in {place}/ are complete.") from end
        raise
    except OSError as problem:
        raise cannot_write(place, problem) from problem
    except InputError as problem:  # the temporary name means nothing to the user
        raise _rename_place(problem, partial, place) from problem
    finally:
        with ignore_interrupts():
            shutil.rmtree(partial, ignore_errors=True)


def _move(partial: Path, place: Path) -> None:
    if not place.exists():
        partial.rename(place)
        return
    for name in (PREDICTIONS, ASSIGNMENTS):  # those of an earlier study would be wrong
        (place / name).unlink(missing_ok=True)
    for file in sorted(partial.iterdir()):
        file.replace(place / file.name)


def _rename_place(problem: InputError, partial: Path, place: Path) -> InputError:
    if problem.file is None:
        return problem
    file = problem.file.replace(str(partial), str(place))
    return InputError(problem.what, file=file, remedy=problem.remedy)


def predictions(study: Study, test: Predictions, ids: Ids) -> str:
    """The test set as CSV: row number in the table, ids, target, prediction and what belongs to it.

    That is, lower and upper ends of predictive intervals, or scores or probabilities of classes.
    A sample of a stream has neither row numbers nor ids.
    """
    header, columns = [study.target, "predicted"], [plain(test.truth), plain(test.predicted)]
    if test.rows is not None:
        rows = plain(test.rows)
        copied = [[values[row - 1] for row in rows] for values in ids.take(max(rows, default=0))]
        header, columns = ["row", *ids.columns, *header], [rows, *copied, *columns]
    if test.intervals is not None and study.uncertainty is not None:
        header += interval_headings(study.uncertainty.level)
        columns += [plain(end) for end in test.intervals.T]
    kind = "score" if test.probabilities is None else "probability"
    numbers = test.scores if test.probabilities is None else test.probabilities
    if numbers is not None:
        table = np.asarray(numbers, dtype=float).reshape(len(test.truth), -1)
        header += class_headings(kind, study.classes, table.shape[1])
        columns += [plain(column) for column in table.T]
    return as_csv(columns, header=header)


def interval_headings(level: float) -> list[str]:
    """Headings of the ends of predictive intervals of this level."""
    return [f"{end} {100 * level:.6g}%" for end in ("lower", "upper")]


def class_headings(kind: str, classes: Sequence[str], count: int) -> list[str]:
    """Headings of ``count`` columns: one for each class, or for the second of two alone."""
    named = classes if count == len(classes) else classes[-1:]
    return [f"{kind} {name}" for name in named]


def as_csv(columns: list[list[Any]], *, header: list[str] | None) -> str:
    """Columns as CSV text; numbers are written so that reading them gives the same bits."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    if header is not None:
        out.writerow(header)
    out.writerows(zip(*columns, strict=True))
    return text.getvalue()

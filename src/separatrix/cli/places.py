"""Places to write to, tried before any work is done: a refusal at the end would waste it.

Trying is the only sure test. Permissions, quotas, names too long and disks mounted for reading show
when something is created, so something is, and removed again.
"""

from __future__ import annotations

from pathlib import Path

from separatrix.messages import InputError
from separatrix.temporary import remove_leftovers, temporary

MODEL, REPORT, PREDICTIONS, RESULT = "model.sx", "report.html", "predictions.csv", "result.json"
ASSIGNMENTS, INVOCATION, IMPORTANCE = "assignments.csv", "study.toml", "importance.csv"


def ready(place: Path) -> Path:
    """A directory for results: it can be written to, or made."""
    from separatrix.storage.files import cannot_write

    try:
        _refuse_lacking(place.parent)
        _refuse_taken(place)
        remove_leftovers(place)
        trial = temporary(place)
        trial.mkdir()
        trial.rmdir()
    except OSError as problem:
        raise cannot_write(place, problem) from problem
    return place


def ready_file(path: Path) -> Path:
    """A file for results: it can be written, or replaced."""
    from separatrix.storage.files import cannot_write, check_writable

    try:
        _refuse_lacking(path.parent)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    check_writable(path)
    return path


def _refuse_lacking(parent: Path) -> None:
    """The first directory on the way that is missing, or is a file."""
    for step in (*reversed(parent.parents), parent):
        if step.is_dir():
            continue
        there = step.exists()
        raise InputError(
            "is a file, not a directory." if there else "does not exist.",
            file=str(step),
            remedy="Choose another --out." if there else "Create it, or choose another --out.",
        )


def _refuse_taken(place: Path) -> None:
    """Something that is in the way of a directory, or of a file in it."""
    if place.exists() and not place.is_dir():
        raise InputError(
            "exists and is not a directory.", file=str(place), remedy="Choose another --out."
        )
    if place.is_symlink() and not place.exists():
        raise InputError(
            "is a link to a place that does not exist.",
            file=str(place),
            remedy="Create that place, or choose another --out.",
        )
    for name in (MODEL, REPORT, PREDICTIONS, ASSIGNMENTS, RESULT, INVOCATION, IMPORTANCE):
        if (place / name).is_dir():
            raise InputError(
                "is a directory, where a file of the results belongs.",
                file=str(place / name),
                remedy="Rename it, or choose another --out.",
            )

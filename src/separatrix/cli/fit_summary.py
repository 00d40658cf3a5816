"""What ``fit`` prints at the end: the leaderboard, the test scores, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from separatrix.cli.options import with_flags
from separatrix.cli.output import OutputColumn, print_lines, print_messages, print_next, print_table
from separatrix.cli.places import MODEL, PREDICTIONS, REPORT, RESULT
from separatrix.study.result import Entry, Study
from separatrix.study.summary import CHOSEN, leaderboard, scheme_text, verdict


def print_summary(study: Study, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error.

    Messages that were ``announced`` before the work are not repeated.
    """
    later = [text for text in study.messages if text not in announced]
    warnings = [with_flags(text) for text in study.warnings]
    print_messages(later, [text for text in warnings if text not in announced])
    print_leaderboard(study.leaderboard, study.winner, scheme_text(study))
    # Other lines may hold columns and levels that are named like options.
    lines = verdict(study)
    print_lines([with_flags(line) if line.startswith(CHOSEN) else line for line in lines])
    stored = [PREDICTIONS] if study.test_predictions is not None else []
    print_next([MODEL, REPORT, *stored, RESULT], place, place / MODEL, python)


def print_leaderboard(entries: Sequence[Entry], winner: str, scheme: str = "") -> None:
    """Cross-validated errors, the chosen model marked."""
    grid = leaderboard(entries, winner, scheme)
    *numbers, method = grid.heads
    columns = [OutputColumn(head, right=j not in grid.left) for j, head in enumerate(numbers)]
    columns.append(OutputColumn(method, cut=True))
    print_table(columns, grid.lines, strong=grid.strong, caption=grid.caption)

"""What ``curve`` writes and prints: all files or none, then the table and the advice."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.cli import output
from separatrix.cli.failure import SCHEMA_VERSION
from separatrix.cli.places import REPORT, RESULT
from separatrix.cli.results import all_or_nothing
from separatrix.formatting import score_info, score_text
from separatrix.storage.files import write_text
from separatrix.study.curves import CurveStudy, document_of


def write_curves(study: CurveStudy, place: Path) -> dict[str, Any]:
    """Write everything to ``place``; the content of ``result.json``."""
    from separatrix import report

    document = {"schema_version": SCHEMA_VERSION, **document_of(study)}

    def write(partial: Path) -> None:
        report.write_curves(study, partial / REPORT)
        write_text(partial / RESULT, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    all_or_nothing(place, write)
    return document


def print_curves(study: CurveStudy, place: Path, python: str, announced: Sequence[str]) -> None:
    """Results to standard output; messages, files and next steps to standard error."""
    output.print_messages(
        [text for text in study.messages if text not in announced], study.warnings
    )
    curves = study.curves
    mean, best = curves.mean, curves.best
    output.print_table(
        [
            output.OutputColumn("training rows", right=True),
            *(output.OutputColumn(name, right=True) for name in curves.names),
        ],
        [
            (f"{size:,.0f}", *(_cell(mean[i, j], curves.metric, j == best[i]) for j in _all(mean)))
            for i, size in enumerate(curves.sizes)
        ],
        caption=f"{score_info(curves.metric).short} on rows left out; * least of its line",
    )
    output.print_lines([study.summary, *(advice.sentence for advice in study.advice)])
    output.print_next([REPORT, RESULT], place, None, python)
    fit = study.command.replace("separatrix curve", "separatrix fit", 1)
    output.say(f"Next: {fit or 'separatrix fit ' + shlex.quote(study.source)}")


def _all(mean: Any) -> range:
    return range(mean.shape[1])


def _cell(value: float, metric: str, least: bool) -> str:
    text = score_text(value, metric) if np.isfinite(value) else "–"
    return f"{text}*" if least else f"{text} "

"""The page of learning curves: what would help first, then the curves."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any

import numpy as np

from separatrix.formatting import number, score_info, score_text
from separatrix.pictures import LearningLinesDisplay, LearningSurfaceDisplay
from separatrix.report import tables
from separatrix.report.figures import Gallery
from separatrix.report.page import draw_galleries, render_template
from separatrix.report.tables import Cell, Line, ReportTable, figure
from separatrix.report.verdict import Tile
from separatrix.storage.files import write_text
from separatrix.study.curves import CurveStudy

#: Numbers of training rows, in those there are, at which power laws are shown.
TIMES = (2.0, 4.0, 10.0, np.inf)
ANSWERS = {"yes": "Yes", "no": "No", "unclear": "Unclear"}


def render_curves(study: CurveStudy) -> str:
    """The page as text. The same study gives the same bytes."""
    return render_template("curves.html.j2", _context(study))


def write_curves(study: CurveStudy, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render_curves(study))


def _context(study: CurveStudy) -> dict[str, Any]:
    gallery = Gallery()
    gallery.add(lambda: LearningLinesDisplay(study.curves))
    gallery.add(lambda: LearningSurfaceDisplay(study.curves))
    return {
        "study": study,
        "source": PurePath(study.source).name or study.source or "the table",
        "metric": score_info(study.curves.metric).short,
        "tiles": _tiles(study),
        "errors": error_table(study),
        "beyond": beyond_table(study),
        "warned": tables.list_warnings(study.warnings),
        "galleries": draw_galleries({"curves": gallery}),
        "commands": _commands(study),
        "python": _python(study),
    }


def _tiles(study: CurveStudy) -> list[Tile]:
    curves = study.curves
    best = int(curves.best[-1])
    tiles = [
        Tile(
            score_text(float(curves.mean[-1, best]), curves.metric),
            score_info(curves.metric).short,
            f"{curves.names[best]}, {curves.sizes[-1]:,.0f} training rows",
        )
    ]
    labels = ("More rows", "More columns", "More flexible model")
    for label, advice in zip(labels, study.advice, strict=True):
        known = np.isfinite(advice.gain) and advice.gain > 0
        gain = f"gain {_short(advice.gain, curves.metric)}" if known else ""
        tiles.append(Tile(ANSWERS[advice.answer], label, gain))
    return tiles


def _short(value: float, metric: str) -> str:
    """A difference or a standard error in two digits."""
    return score_text(value, metric) if score_info(metric).is_rate else number(value, 2)


def error_table(study: CurveStudy) -> ReportTable:
    """A line for each number of training rows, a column for each model."""
    curves = study.curves
    mean, spread = curves.mean, curves.standard_error
    lines = []
    for i, size in enumerate(curves.sizes):
        cells = []
        for j in range(len(curves.names)):
            text = "–"
            if np.isfinite(mean[i, j]):
                value = score_text(float(mean[i, j]), curves.metric)
                text = f"{value} ± {_short(float(spread[i, j]), curves.metric)}"
            cells.append(figure(float(mean[i, j]), text))
        lines.append(Line(f"{size:,.0f} rows", tuple(cells)))
    heads = (("Training rows", False), *((name, True) for name in curves.names))
    return ReportTable(heads, tuple(lines))


def beyond_table(study: CurveStudy) -> ReportTable:
    """A line for each model, a column for each number of rows."""
    curves, n = study.curves, float(study.curves.sizes[-1])
    errors = {(e.name, m): e for m in TIMES for e in curves.extrapolate(m * n)}
    lines = []
    for j, name in enumerate(curves.names):
        if curves.power_laws[j] is None:
            continue
        cells = []
        for m in TIMES:
            e = errors[name, m]
            ends = f"{score_text(e.low, curves.metric)} to {score_text(e.high, curves.metric)}"
            open_end = np.isinf(m) and not e.determined
            text = (
                "not determined" if open_end else f"{score_text(e.error, curves.metric)} ({ends})"
            )
            cells.append(Cell(text, right=True))
        lines.append(Line(name, tuple(cells)))
    named = ["any number" if np.isinf(m) else f"{m * n:,.0f} rows" for m in TIMES]
    note = "" if lines else "No curve is long enough for a power law."
    return ReportTable((("Model", False), *((name, True) for name in named)), tuple(lines), note)


def _commands(study: CurveStudy) -> list[tuple[str, str]]:
    commands = []
    if study.command:
        fit = study.command.replace("separatrix curve", "separatrix fit", 1)
        commands = [("Choose and test a model", fit), ("Create this report again", study.command)]
    return commands


def _python(study: CurveStudy) -> str:
    table = repr(study.source)
    lines = ["import separatrix"]
    if study.source.startswith("sample:"):
        lines.append("from separatrix.samples import sample")
        table = f"sample({study.source.removeprefix('sample:')!r}).path"
    return "\n".join(
        [
            *lines,
            "",
            f"rows = separatrix.scan({table}, target={study.target!r})",
            f"study = separatrix.run_curve(rows, seed={study.seed})",
        ]
    )

"""Tables of the page as rows of text: data, leaderboard, test scores, warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from separatrix.estimators.inference import p_text
from separatrix.messages import WARNINGS
from separatrix.pictures.formatting import (
    join_words,
    number,
    plural,
    score_info,
    score_text,
    spread_text,
    value_text,
)
from separatrix.report.verdict import counterpart, display_name, label_of
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind
from separatrix.study.result import Entry, Score, Study

#: Measures of one class against the others.
MACRO = ("auc", "f1")
#: Longer tables are cut here, and say so.
MAX_LINES = 100


@dataclass(frozen=True)
class Cell:
    """Text as shown, the number it sorts by, and whether it is aligned right."""

    text: str
    value: float | None = None
    right: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table: its heading cell with a badge and a note, then the other cells.

    A ``fenced`` line stands apart from those above it, and stays below them when they are sorted.
    """

    name: str
    cells: tuple[Cell, ...]
    badge: str = ""
    label: str = ""
    strong: bool = False
    fenced: bool = False


@dataclass(frozen=True)
class Table:
    """Headings (text, whether aligned right), lines, and a note on what was left out."""

    headings: tuple[tuple[str, bool], ...]
    lines: tuple[Line, ...]
    note: str = ""


def figure(value: float | None, text: str | None = None) -> Cell:
    """A number aligned right, as ``text`` or in the usual format."""
    number_ = math.nan if value is None else float(value)
    return Cell(number(number_) if text is None else text, number_, right=True)


def data_table(columns: tuple[ColumnProfile, ...], target: str = "") -> Table:
    """Every column: kind, missing values, range or levels, mean and standard deviation."""
    lines = tuple(
        Line(c.name, _column_cells(c), "target" if c.name == target else "")
        for c in columns[:MAX_LINES]
    )
    note = ""
    if len(columns) > MAX_LINES:
        note = f"The first {MAX_LINES} of {len(columns):,} columns are shown."
    heads = ("Column", "Kind", "Missing", "Range or levels", "Mean", "Std. deviation")
    return Table(tuple((h, h in {"Missing", "Mean", "Std. deviation"}) for h in heads), lines, note)


def _column_cells(column: ColumnProfile) -> tuple[Cell, ...]:
    share = 100 * column.missing / column.count if column.count else 0.0
    missing = f"{column.missing:,} ({share:.1f} %)" if column.missing else "0"
    if column.kind == Kind.NUMERIC:
        display = column.display
        ends = f"{value_text(column.minimum, display)} to {value_text(column.maximum, display)}"
        unknown = "not stored" if math.isfinite(column.mean) else "no values"
        span = ends if math.isfinite(column.minimum) else unknown
        moments = (
            figure(column.mean, value_text(column.mean, display) if display else None),
            figure(column.std, spread_text(column.std, display)),
        )
    else:
        span, moments = _levels(column), (Cell("", right=True), Cell("", right=True))
    return (
        Cell(column.display or str(column.kind)),
        figure(column.missing, missing),
        Cell(span),
        *moments,
    )


def _levels(column: ColumnProfile, most: int = 5) -> str:
    if not column.levels and math.isfinite(column.mean):
        return f"true in {100 * column.mean:.1f} %"
    ordered = sorted(column.levels.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{level} ({count:,})" for level, count in ordered[:most])
    rest = (column.distinct or len(ordered)) - most
    return f"{text} and {rest:,} more" if rest > 0 else text or "no values"


def data_sentence(n: int, columns: tuple[ColumnProfile, ...], target: str = "") -> str:
    """Numbers of rows, columns and missing values."""
    features = [c for c in columns if c.name != target]
    kinds = [f"{m} {kind}" for kind in Kind if (m := sum(c.kind == kind for c in features))]
    incomplete = [c for c in columns if c.missing]
    use = "as features" if target else "to cluster by"
    text = f"{plural(n, 'row')}, {plural(len(features), 'column')} {use} ({join_words(kinds)})."
    if not incomplete:
        return f"{text} No value is missing."
    worst = max(incomplete, key=lambda c: c.missing / max(c.count, 1))
    share = 100 * worst.missing / max(worst.count, 1)
    return (
        f"{text} {plural(len(incomplete), 'column')} with missing values, most of them in "
        f"{worst.name} ({share:.1f} %)."
    )


def ordered_entries(study: Study) -> list[Entry]:
    """Candidates, best mean first; those without a score last."""

    def rank(entry: Entry) -> tuple[bool, float]:
        sign = -1 if score_info(entry.metric).higher_is_better else 1
        return not math.isfinite(entry.mean), sign * entry.mean

    return sorted(study.leaderboard, key=rank)


def leaderboard_table(study: Study) -> Table:
    """Candidates with mean over the folds, 95 % interval, and tuned hyperparameters.

    Below them, fenced off, the reference, which is no candidate.
    """
    lines = []
    other = next((e.secondary.metric for e in study.leaderboard if e.secondary is not None), None)
    fenced = [] if study.reference is None else [study.reference]
    for entry in (*ordered_entries(study), *fenced):
        tuned = [f"{key} = {_range(values)}" for key, values in entry.hyperparameters.items()]
        if entry.calibrated is not None:
            tuned.append(f"{entry.calibrated} calibration")
        won = entry.name == study.winner
        cells = (
            figure(entry.mean, score_text(entry.mean, entry.metric)),
            interval(*fold_interval(entry), entry.metric),
            *_secondary(entry, other),
            Cell(
                "" if entry in fenced else "; ".join(t for t in (", ".join(tuned), entry.note) if t)
            ),
        )
        badge = "chosen" if won else ("reference, not a candidate" if entry in fenced else "")
        name, label = display_name(entry.name), label_of(entry)
        lines.append(Line(name, cells, badge, label, strong=won, fenced=entry in fenced))
    short = score_info(study.leaderboard[0].metric).short if study.leaderboard else "Score"
    heads = [("Model", False), (f"{short}, cross-validated", True), ("95 % interval", True)]
    if other is not None:
        heads.append((score_info(other).short, True))
    return Table((*heads, ("Tuned hyperparameters", False)), tuple(lines))


def _secondary(entry: Entry, metric: str | None) -> tuple[Cell, ...]:
    """The secondary metric; an empty cell where only some candidates have it."""
    if metric is None:
        return ()
    if entry.secondary is None:
        return (Cell("", math.nan, right=True),)
    return (figure(entry.secondary.mean, score_text(entry.secondary.mean, metric)),)


def _range(values: tuple[Any, ...]) -> str:
    """A tuned value; the range of one that differs between the folds, or the names of several."""
    if any(isinstance(v, str) or v is None for v in values):
        return " or ".join(sorted({str(v) for v in values}))
    ends = dict.fromkeys(number(float(v), 2) for v in (min(values), max(values)))
    return " to ".join(ends)


def fold_interval(entry: Entry) -> tuple[float, float]:
    """Mean ± 1.96 standard errors over the rows."""
    if not entry.folds or not math.isfinite(entry.standard_error):
        return math.nan, math.nan
    reach = 1.96 * entry.standard_error
    low, high = entry.mean - reach, entry.mean + reach
    known = score_info(entry.metric)
    if not known.higher_is_better or known.is_rate:
        low = max(low, 0.0)
    return low, min(high, 1.0) if known.is_rate else high


def score_table(study: Study) -> Table:
    """Scores on the test set, of the model and of the baseline."""
    lines = [
        Line(
            _score_name(study, score.metric),
            (*score_cells(score), *score_cells(counterpart(study, score.metric))),
        )
        for score in study.test
    ]
    heads = (("Measure", False), ("Model", True), ("95 % interval", True), ("Baseline", True))
    return Table((*heads, ("95 % interval", True)), tuple(lines))


def _score_name(study: Study, metric: str) -> str:
    """A measure by name; of more than two classes F1 and AUC are means over them."""
    short = score_info(metric).short
    return f"{short}, mean over classes" if metric in MACRO and len(study.classes) > 2 else short


def score_cells(score: Score | None) -> tuple[Cell, Cell]:
    """A score and its 95 % interval."""
    if score is None:
        return Cell("–", right=True), Cell("", right=True)
    value = figure(score.value, score_text(score.value, score.metric))
    return value, interval(score.low, score.high, score.metric)


def interval(low: float, high: float, metric: str) -> Cell:
    """An interval of a metric; an empty cell where an end is not known."""
    known = math.isfinite(low) and math.isfinite(high)
    return Cell(
        f"{score_text(low, metric)} to {score_text(high, metric)}" if known else "", right=True
    )


def p_value(p: float) -> Cell:
    """A p-value."""
    return figure(p, p_text(p))


@dataclass(frozen=True)
class Warned:
    """A warning: its code, its text, and the reason for such a warning."""

    code: str
    text: str
    reason: str = ""


def warned(texts: tuple[str, ...]) -> list[Warned]:
    """Warnings with code and reason, each once."""
    found = []
    for text in dict.fromkeys(texts):
        code, _, rest = text.partition(" ")
        entry = WARNINGS.get(code.rstrip(":"))
        found.append(Warned(entry.code, rest, entry.reason) if entry else Warned("", text))
    return found

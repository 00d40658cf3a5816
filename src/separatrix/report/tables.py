"""The tables of the page as plain rows of text, so that the template only lays them out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators.coefficient_inference import Inference
from separatrix.messages import WARNINGS
from separatrix.pictures.formatting import counted, exact, listed, measure, number, scored
from separatrix.report.verdict import counterpart, gloss, spoken
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind
from separatrix.study.result import Entry, Score, Study

#: Longer tables are cut here, and say so.
MOST_ROWS = 100


@dataclass(frozen=True)
class Cell:
    """Text as shown, the number it sorts by, and whether it stands to the right."""

    text: str
    value: float | None = None
    right: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table: its heading cell with a badge and a gloss, then the other cells."""

    name: str
    cells: tuple[Cell, ...]
    badge: str = ""
    gloss: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """Headings (text, whether to the right), lines, and what was left out."""

    headings: tuple[tuple[str, bool], ...]
    lines: tuple[Line, ...]
    note: str = ""


def figure(value: float | None, text: str | None = None) -> Cell:
    """A number to the right, as ``text`` or as numbers are written."""
    number_ = math.nan if value is None else float(value)
    return Cell(number(number_) if text is None else text, number_, right=True)


def data_table(columns: tuple[ColumnProfile, ...], target: str = "") -> Table:
    """Every column: kind, gaps, range or levels, mean and spread."""
    lines = tuple(
        Line(c.name, _column_cells(c), "target" if c.name == target else "")
        for c in columns[:MOST_ROWS]
    )
    note = ""
    if len(columns) > MOST_ROWS:
        note = f"The first {MOST_ROWS} of {len(columns):,} columns are shown."
    heads = ("Column", "Kind", "Missing", "Range or levels", "Mean", "Deviation")
    return Table(tuple((h, h in {"Missing", "Mean", "Deviation"}) for h in heads), lines, note)


def _column_cells(column: ColumnProfile) -> tuple[Cell, ...]:
    share = 100 * column.missing / column.count if column.count else 0.0
    gaps = f"{column.missing:,} ({share:.1f} %)" if column.missing else "0"
    if column.kind == Kind.NUMERIC:
        ends = f"{exact(column.minimum)} to {exact(column.maximum)}"
        unknown = "not kept" if math.isfinite(column.mean) else "no values"
        span = ends if math.isfinite(column.minimum) else unknown
        moments = (figure(column.mean), figure(column.std))
    else:
        span, moments = _levels(column), (Cell("", right=True), Cell("", right=True))
    return (Cell(str(column.kind)), figure(column.missing, gaps), Cell(span), *moments)


def _levels(column: ColumnProfile, most: int = 5) -> str:
    if not column.levels and math.isfinite(column.mean):
        return f"true in {100 * column.mean:.1f} %"
    ordered = sorted(column.levels.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{level} ({count:,})" for level, count in ordered[:most])
    rest = (column.distinct or len(ordered)) - most
    return f"{text} and {rest:,} more" if rest > 0 else text or "no values"


def data_sentence(n: int, columns: tuple[ColumnProfile, ...], target: str = "") -> str:
    """The table at a glance."""
    features = [c for c in columns if c.name != target]
    kinds = [f"{m} {kind}" for kind in Kind if (m := sum(c.kind == kind for c in features))]
    gappy = [c for c in columns if c.missing]
    use = "to learn from" if target else "to compare by"
    text = f"{counted(n, 'row')}, {counted(len(features), 'column')} {use} ({listed(kinds)})."
    if not gappy:
        return f"{text} No value is missing."
    worst = max(gappy, key=lambda c: c.missing / max(c.count, 1))
    share = 100 * worst.missing / max(worst.count, 1)
    return (
        f"{text} {counted(len(gappy), 'column')} with missing values, most of them in "
        f"{worst.name} ({share:.1f} %)."
    )


def ordered_entries(study: Study) -> list[Entry]:
    """Candidates, best mean first; those without a score last."""

    def rank(entry: Entry) -> tuple[bool, float]:
        sign = -1 if measure(entry.metric).higher_is_better else 1
        return not math.isfinite(entry.mean), sign * entry.mean

    return sorted(study.leaderboard, key=rank)


def leaderboard_table(study: Study) -> Table:
    """Candidates with mean over the folds, 95 % interval, and what was chosen inside."""
    lines = []
    other = next((e.beside.metric for e in study.leaderboard if e.beside is not None), None)
    for entry in ordered_entries(study):
        low, high = fold_interval(entry)
        span = ""
        if math.isfinite(low):
            span = f"{scored(low, entry.metric)} to {scored(high, entry.metric)}"
        inside = ", ".join(f"{key} = {_setting(value)}" for key, value in entry.chosen.items())
        if entry.calibrated is not None:
            inside = ", ".join(filter(None, (inside, f"{entry.calibrated} calibration")))
        won = entry.name == study.winner
        cells = (
            figure(entry.mean, scored(entry.mean, entry.metric)),
            Cell(span, right=True),
            *_beside(entry, other),
            Cell("; ".join(text for text in (inside, entry.note) if text)),
        )
        badge = "chosen" if won else ""
        lines.append(Line(spoken(entry.name), cells, badge, gloss(entry), strong=won))
    short = measure(study.leaderboard[0].metric).short if study.leaderboard else "Score"
    heads = [("Model", False), (f"{short}, mean over folds", True), ("95 % interval", True)]
    if other is not None:
        heads.append((measure(other).short, True))
    return Table((*heads, ("Chosen inside", False)), tuple(lines))


def _beside(entry: Entry, metric: str | None) -> tuple[Cell, ...]:
    """The other measure of classes; an empty cell where only some candidates have it."""
    if metric is None:
        return ()
    if entry.beside is None:
        return (Cell("", math.nan, right=True),)
    return (figure(entry.beside.mean, scored(entry.beside.mean, metric)),)


def _setting(value: Any) -> str:
    """A number; the range of one that every fold chose anew; anything else as it is."""
    if isinstance(value, int | float | np.number):
        return number(float(value), 3)
    if isinstance(value, tuple | list) and all(isinstance(v, int | float) for v in value):
        ends = dict.fromkeys(number(float(v), 2) for v in (min(value), max(value)))
        return " to ".join(ends)
    return str(value)


def fold_interval(entry: Entry) -> tuple[float, float]:
    """mean ± t · standard error, with as many degrees of freedom as folds less one."""
    from scipy.stats import t

    if len(entry.folds) < 2 or not math.isfinite(entry.standard_error):
        return math.nan, math.nan
    reach = float(t.ppf(0.975, len(entry.folds) - 1)) * entry.standard_error
    low, high = entry.mean - reach, entry.mean + reach
    known = measure(entry.metric)
    if not known.higher_is_better or known.share:
        low = max(low, 0.0)
    return low, min(high, 1.0) if known.share else high


def score_table(study: Study) -> Table:
    """Scores on the test part, the baseline's beside them."""
    lines = []
    for score in study.test:
        base = counterpart(study, score.metric)
        lines.append(
            Line(
                measure(score.metric).short,
                (*_score_cells(score), *_score_cells(base)),
            )
        )
    heads = (("Measure", False), ("Model", True), ("95 % interval", True), ("Baseline", True))
    return Table((*heads, ("95 % interval", True)), tuple(lines))


def _score_cells(score: Score | None) -> tuple[Cell, Cell]:
    if score is None:
        return Cell("–", right=True), Cell("", right=True)
    span = ""
    if math.isfinite(score.low) and math.isfinite(score.high):
        span = f"{scored(score.low, score.metric)} to {scored(score.high, score.metric)}"
    return figure(score.value, scored(score.value, score.metric)), Cell(span, right=True)


def coefficient_table(found: Inference) -> Table:
    """Coefficients by name with standard error, t, p and interval; bare ones without theory."""
    by_size = found.estimates if found.t_values is None else np.nan_to_num(found.t_values)
    order = np.argsort(-np.abs(by_size), kind="stable")
    kept = np.sort(order[:MOST_ROWS])
    note = ""
    if kept.size < order.size:
        note = f"The {MOST_ROWS} coefficients farthest from zero, of {order.size:,}, are shown."
    if found.intervals is None:
        lines = [Line(found.names[j], (figure(found.estimates[j]),)) for j in kept]
        if found.intercept is not None:
            lines.insert(0, Line("intercept", (figure(found.intercept),)))
        return Table((("Term", False), ("Coefficient", True)), tuple(lines), note)
    lines = [Line(found.names[j], _inferred(found, int(j))) for j in kept]
    if found.intercept_row is not None:
        value, error, t_value, p_value, low, high = found.intercept_row
        lines.insert(0, Line("intercept", _estimate(value, error, t_value, p_value, low, high)))
    heads = ("Term", "Coefficient", "Standard error", "95 % interval", found.letter, "p")
    return Table(tuple((h, h != "Term") for h in heads), tuple(lines), note)


def _inferred(found: Inference, j: int) -> tuple[Cell, ...]:
    assert found.standard_errors is not None
    assert found.t_values is not None
    assert found.p_values is not None
    assert found.intervals is not None
    numbers = (found.standard_errors[j], found.t_values[j], found.p_values[j])
    return _estimate(found.estimates[j], *numbers, *found.intervals[j])


def _estimate(
    value: float, error: float, t_value: float, p_value: float, low: float, high: float
) -> tuple[Cell, ...]:
    span = f"{number(low)} to {number(high)}" if math.isfinite(low) else "not unique"
    return (
        figure(value),
        figure(error, number(error, 3)),
        Cell(span, right=True),
        figure(t_value, f"{t_value:.2f}".replace("-", "−") if math.isfinite(t_value) else "–"),
        probable(p_value),
    )


def probable(p_value: float) -> Cell:
    """A p value."""
    if not math.isfinite(p_value):
        return figure(p_value, "–")
    return figure(p_value, "< 0.001" if p_value < 0.001 else f"{p_value:.3f}")


def certificate_numbers(certificate: Any) -> list[tuple[str, str]]:
    """The numbers that the certificate has, with their names."""
    fields = (
        ("primal", "objective", "{:.8g}"),
        ("dual", "lower bound", "{:.8g}"),
        ("gap", "duality gap", "{:.2e}"),
        ("kkt", "violation of the optimality conditions", "{:.2e}"),
        ("tolerance", "tolerance", "{:.2e}"),
        ("condition", "condition number", "{:.3g}"),
        ("rank", "rank", "{:d}"),
        ("digits", "trusted digits", "{:.1f}"),
    )
    shown = []
    for field, name, layout in fields:
        value = getattr(certificate, field, None)
        if value is not None and np.isfinite(value):
            shown.append((name, layout.format(value).replace("-", "−")))
    statistic = getattr(certificate, "statistic", "")
    return [*shown, ("computed from", str(statistic))] if statistic else shown


@dataclass(frozen=True)
class Warned:
    """A warning: its code, what was said, and why such a thing is said."""

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

"""Tables and sentences on guaranteed intervals and sets."""

from __future__ import annotations

import math

from separatrix.pictures.bayes.inputs import level_text
from separatrix.report.tables import Cell, Line, Table, figure
from separatrix.study.guaranteed.records import CoverageCheck
from separatrix.study.result import Study
from separatrix.study.score import Score

#: The level of the sentence, the pictures and the coverage by class.
SHOWN = 0.9


def shown_check(study: Study) -> CoverageCheck | None:
    """The check at the level that is shown in detail, or at the next lower one."""
    found = study.guaranteed
    checks = () if found is None else found.checks
    below = [check for check in checks if check.level <= SHOWN]
    return below[-1] if below else None


def coverage_table(study: Study) -> Table | None:
    """Coverage and mean size on the test set, by level."""
    found = study.guaranteed
    if found is None or not found.checks:
        return None
    size = "Mean number of labels" if found.classes else "Mean width"
    lines = [
        Line(level_text(check.level), (*_coverage(check.coverage), figure(check.size)))
        for check in found.checks
    ]
    heads = ("Level", "Test rows within", "95 % interval of that", size)
    return Table(tuple((head, head != "Level") for head in heads), tuple(lines))


def class_table(study: Study) -> Table | None:
    """Coverage of the rows of each class at the level that is shown."""
    check = shown_check(study)
    if check is None or not check.by_class:
        return None
    lines = [Line(name, _coverage(score)) for name, score in check.by_class.items()]
    heads = ("Class", "Test rows within", "95 % interval of that")
    return Table(tuple((head, head != "Class") for head in heads), tuple(lines))


def _coverage(score: Score) -> tuple[Cell, Cell]:
    ends = f"{100 * score.low:.1f} to {100 * score.high:.1f} %"
    value = "" if math.isnan(score.value) else f"{100 * score.value:.1f} %"
    return figure(score.value, value), Cell(ends, right=True)


def guaranteed_text(study: Study) -> str:
    """What is guaranteed, how it was checked, and how to get it; or why there is nothing."""
    found = study.guaranteed
    if found is None:
        return ""
    if found.refusal:
        return f"There are no guaranteed intervals: {found.refusal}"
    what = "set of labels" if found.classes else "interval"
    text = " ".join(found.remarks(SHOWN))
    text += f" separatrix predict --level writes the {what} of new rows."
    if study.uncertainty is not None:
        text += (
            " Predictive intervals hold what they say where the model is right; these hold it "
            "whatever the model, and are as wide in units of its standard deviation as the test "
            "rows require."
        )
    if not found.checks:
        return f"{text} There are too few test rows to check it."
    return f"{text} It was checked with either half of the test rows calibrated by the other."

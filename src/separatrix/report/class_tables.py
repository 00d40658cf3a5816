"""Tables that only classifiers have: odds, covariances, calibrations, costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.discriminant.covariance_tests import MardiaTest
from separatrix.estimators.coefficient_inference import names_of
from separatrix.pictures.formatting import exact, number, scored
from separatrix.report.tables import MOST_ROWS, Cell, Line, Table, figure, probable
from separatrix.rows.block import Floats
from separatrix.study.result import CrossValidatedScore, Score, Study


def class_coefficient_table(model: Any, labels: Sequence[str]) -> Table | None:
    """Coefficients of several outputs or classes side by side; None where there are none."""
    coef = np.asarray(getattr(model, "coef_", np.zeros(0)), dtype=float)
    if coef.ndim != 2:
        return None
    heads = list(labels) if len(labels) == len(coef) else [str(k) for k in range(len(coef))]
    names = names_of(model, coef.shape[1])
    kept = np.sort(np.argsort(-np.abs(coef).max(axis=0), kind="stable")[:MOST_ROWS])
    lines = [Line(names[j], tuple(figure(v) for v in coef[:, j])) for j in kept]
    constant = np.ravel(getattr(model, "intercept_", np.zeros(0)))
    if constant.size == len(coef):
        lines.insert(0, Line("intercept", tuple(figure(float(v)) for v in constant)))
    note = "" if kept.size == len(names) else f"The {kept.size} longest of {len(names):,} rows."
    return Table((("Term", False), *((head, True) for head in heads)), tuple(lines), note)


def odds_table(study: Study) -> Table | None:
    """Coefficients of a logistic winner and what they do to the odds, by unit and by deviation.

    e^b is what one unit more of a column multiplies the odds by; e^(b·s) what one standard
    deviation more does.
    """
    found = study.odds
    if found is None:
        return None
    scale = _deviations(study, len(found.names))
    sizes = np.nan_to_num(found.z_values)
    kept = np.sort(np.argsort(-np.abs(sizes), kind="stable")[:MOST_ROWS])
    lines = tuple(Line(found.names[j], _odds_cells(found, int(j), scale[j])) for j in kept)
    note = ""
    if kept.size < sizes.size:
        note = f"The {MOST_ROWS} coefficients farthest from zero, of {sizes.size:,}, are shown."
    heads = ["Term", "Coefficient", "Standard error", "p", "Odds ratio per unit (95 %)"]
    if np.isfinite(scale).any():
        heads.append("per deviation (95 %)")
    return Table(tuple((head, head != "Term") for head in heads), lines, note)


def _odds_cells(found: Any, j: int, scale: float) -> tuple[Cell, ...]:
    known = [
        figure(found.estimates[j]),
        figure(found.standard_errors[j], number(found.standard_errors[j], 3)),
        probable(found.p_values[j]),
    ]
    for size in (1.0, scale):
        if found.names[j].endswith("intercept"):
            known.append(Cell("", math.nan, right=True))
        elif math.isfinite(size):
            known.append(_ratio_cell(found.estimates[j] * size, *found.intervals[j] * size))
    return tuple(known)


def _ratio_cell(value: float, low: float, high: float) -> Cell:
    ratio = _power(value)
    if not math.isfinite(low):
        return figure(ratio, _ratio(ratio))
    return figure(ratio, f"{_ratio(ratio)} ({_ratio(_power(low))} to {_ratio(_power(high))})")


def _ratio(value: float) -> str:
    """Three digits; more where all of them would say 1."""
    near = abs(value - 1.0)
    if near >= 0.005 or near < 1e-6:
        return number(value, 3)
    return number(value, 1 - math.floor(math.log10(near)) + (value > 1))


def _power(exponent: float) -> float:
    """e to the power, infinite where that is past all numbers."""
    return math.exp(exponent) if exponent < 709 else math.inf


def _deviations(study: Study, count: int) -> Floats:
    """The standard deviation that belongs to each line of the summary; NaN where not known."""
    names = names_of(study.core, study.core.coef_.shape[1])
    part = study.training
    scale = None if part is None else part.scale
    if scale is None or len(scale) != len(names):
        return np.full(count, math.nan)
    constant = [1.0] if count % len(names) else []
    own = np.array([*constant, *np.asarray(scale, dtype=float)])
    return np.tile(own, count // own.size) if count % own.size == 0 else np.full(count, math.nan)


def covariance_table(study: Study) -> Table | None:
    """Mardia's tests by class."""
    tests = study.covariances
    if tests is None or not (tests.normal or tests.not_tested):
        return None
    lines = [Line(label, _normal_cells(test)) for label, test in tests.normal.items()]
    empty = Cell("", right=True)
    lines += [
        Line(label, (empty, empty, empty, empty, Cell(reason)))
        for label, reason in tests.not_tested.items()
    ]
    heads = ("Class", "Skewness", "p", "Kurtosis", "p", "Verdict")
    shown = tuple(lines[:MOST_ROWS])
    note = "" if len(lines) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(lines):,} classes."
    return Table(tuple((h, h not in {"Class", "Verdict"}) for h in heads), shown, note)


def _normal_cells(test: MardiaTest) -> tuple[Cell, ...]:
    verdict = "not normal" if test.p_value < 0.05 else "no sign against normality"
    return (
        figure(test.skewness, number(test.skewness, 3)),
        probable(test.skewness_p),
        figure(test.kurtosis, number(test.kurtosis, 3)),
        probable(test.kurtosis_p),
        Cell(verdict),
    )


def calibration_table(study: Study) -> Table | None:
    """Log loss on the folds of every reading of the scores that was tried."""
    check = study.calibration
    if check is None or not check.tried:
        return None
    rows: list[tuple[str | None, CrossValidatedScore]] = [
        (None, check.before),
        *check.tried.items(),
    ]
    lines = tuple(
        Line(
            "as they are" if method is None else f"{method} calibration",
            _spread_cells(spread),
            "kept" if method == check.method else "",
            strong=method == check.method,
        )
        for method, spread in rows
    )
    heads = (("Probabilities", False), ("Log loss, mean over folds", True))
    return Table((*heads, ("Standard error", True)), lines)


def _spread_cells(spread: CrossValidatedScore) -> tuple[Cell, ...]:
    error = spread.standard_error
    return figure(spread.mean, number(spread.mean, 4)), figure(error, number(error, 2))


def cost_table(study: Study) -> Table | None:
    """What every answer costs for every true class; None where one sentence tells it."""
    if study.decision is None or len(study.classes) > 12 or cost_sentence(study):
        return None
    costs, labels = study.decision.costs, list(study.classes)
    columns = costs.matrix
    if costs.reject_cost is not None:
        columns, labels = (
            np.column_stack([columns, costs.reject_cost]),
            [*labels, study.decision.label],
        )
    lines = tuple(
        Line(label, tuple(figure(float(v), exact(float(v))) for v in row))
        for label, row in zip(study.classes, columns, strict=True)
    )
    return Table((("True class", False), *((label, True) for label in labels)), lines)


def cost_sentence(study: Study) -> str:
    """Costs that are the same for every class."""
    if study.decision is None:
        return ""
    costs = study.decision.costs
    if (costs.matrix != 1.0 - np.eye(len(costs.matrix))).any():
        return ""
    if costs.reject_cost is None:
        return "Every wrong answer costs 1."
    if np.ptp(costs.reject_cost) > 0:
        return ""
    return f"Every wrong answer costs 1, and doubt {exact(float(costs.reject_cost[0]))}."


def decision_table(study: Study) -> Table | None:
    """How the cheapest answers did on the test part."""
    made = study.decision
    if made is None:
        return None
    lines = [
        _measured("Mean cost", made.cost, made.cost.metric),
        _measured("Mean cost, always the most probable class", made.cost_without, "cost"),
    ]
    if made.costs.reject_cost is not None:
        lines += [
            _measured("Share of the rows answered", made.coverage, "accuracy"),
            _measured("Mean cost of those answered", made.risk, "cost"),
        ]
    return Table((("Measure", False), ("Value", True), ("95 % interval", True)), tuple(lines))


def _measured(name: str, score: Score, metric: str) -> Line:
    span = ""
    if math.isfinite(score.low) and math.isfinite(score.high):
        span = f"{scored(score.low, metric)} to {scored(score.high, metric)}"
    return Line(name, (figure(score.value, scored(score.value, metric)), Cell(span, right=True)))

"""Tables that only classifiers have: covariance tests, calibrations, costs."""

from __future__ import annotations

import numpy as np

from separatrix.discriminant.covariance_tests import MardiaTest
from separatrix.pictures.formatting import exact, number
from separatrix.report.tables import MAX_LINES, Cell, Line, Table, figure, p_value, score_cells
from separatrix.study.result import CrossValidatedScore, Study


def covariance_table(study: Study) -> Table | None:
    """Mardia's tests by class."""
    tests = study.covariance_tests
    if tests is None or not (tests.normality or tests.not_tested):
        return None
    lines = [Line(label, _normal_cells(test)) for label, test in tests.normality.items()]
    empty = Cell("", right=True)
    lines += [
        Line(label, (empty, empty, empty, empty, Cell(reason)))
        for label, reason in tests.not_tested.items()
    ]
    heads = ("Class", "Skewness", "p", "Kurtosis", "p", "Verdict")
    shown = tuple(lines[:MAX_LINES])
    note = "" if len(lines) <= MAX_LINES else f"The first {MAX_LINES} of {len(lines):,} classes."
    return Table(tuple((h, h not in {"Class", "Verdict"}) for h in heads), shown, note)


def _normal_cells(test: MardiaTest) -> tuple[Cell, ...]:
    verdict = "not normal" if test.p_value < 0.05 else "compatible with normality"
    return (
        figure(test.skewness, number(test.skewness, 3)),
        p_value(test.skewness_p),
        figure(test.kurtosis, number(test.kurtosis, 3)),
        p_value(test.kurtosis_p),
        Cell(verdict),
    )


def calibration_table(study: Study) -> Table | None:
    """Cross-validated log loss of every calibration method."""
    check = study.calibration
    if check is None or not check.methods:
        return None
    rows: list[tuple[str | None, CrossValidatedScore]] = [
        (None, check.before),
        *check.methods.items(),
    ]
    lines = tuple(
        Line(
            "uncalibrated" if method is None else method,
            _mean_cells(score),
            "used" if method == check.method else "",
            strong=method == check.method,
        )
        for method, score in rows
    )
    heads = (("Calibration", False), ("Log loss, mean over folds", True))
    return Table((*heads, ("Standard error", True)), lines)


def _mean_cells(score: CrossValidatedScore) -> tuple[Cell, ...]:
    error = score.standard_error
    return figure(score.mean, number(score.mean, 4)), figure(error, number(error, 2))


def cost_table(study: Study) -> Table | None:
    """The cost matrix; None where one sentence says it."""
    if study.decision is None or len(study.classes) > 12 or cost_sentence(study):
        return None
    costs, labels = study.decision.costs, list(study.classes)
    columns = costs.matrix
    if costs.reject_cost is not None:
        columns, labels = (
            np.column_stack([columns, costs.reject_cost]),
            [*labels, study.decision.reject_label],
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
        return "Every error costs 1."
    if np.ptp(costs.reject_cost) > 0:
        return ""
    return f"Every error costs 1, and a rejection {exact(float(costs.reject_cost[0]))}."


def decision_table(study: Study) -> Table | None:
    """The decisions of least expected cost on the test set."""
    made = study.decision
    if made is None:
        return None
    lines = [
        Line("Mean cost", score_cells(made.cost)),
        Line("Mean cost, most probable class predicted", score_cells(made.cost_without)),
    ]
    if made.costs.reject_cost is not None:
        lines += [
            Line("Coverage (rows not rejected)", score_cells(made.coverage)),
            Line("Risk (mean cost of those)", score_cells(made.risk)),
        ]
    return Table((("Measure", False), ("Value", True), ("95 % interval", True)), tuple(lines))

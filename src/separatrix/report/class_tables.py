"""Tables that only classifiers have: scores by class, confusions, calibrations, costs, tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.discriminant.covariance_tests import MardiaTest
from separatrix.pictures.formatting import exact, number, score_text
from separatrix.report.stream_tables import cells_of
from separatrix.report.tables import MAX_LINES, Cell, Line, Table, figure, p_value, score_cells
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.result import CrossValidatedScore, Score, Study

#: Confusions that are listed, and the number of classes from which they are.
TOP_CONFUSIONS, MANY_CLASSES = 10, 5


def class_table(study: Study) -> Table | None:
    """Precision, recall, F1 and AUC of every class on the test set."""
    if not study.class_scores:
        return None
    lines = tuple(
        Line(
            found.label,
            (
                figure(found.support, exact(found.support)),
                *(with_interval(score) for score in (found.precision, found.recall)),
                figure(found.f1.value, score_text(found.f1.value, "f1")),
                with_interval(found.auc),
            ),
        )
        for found in study.class_scores[:MAX_LINES]
    )
    heads = ("Class", "Rows", "Precision (95 %)", "Recall (95 %)", "F1", "AUC (95 %)")
    n = len(study.class_scores)
    note = f"The first {MAX_LINES} of {n:,} classes." if n > MAX_LINES else ""
    return Table(tuple((head, head != "Class") for head in heads), lines, note)


def with_interval(score: Score) -> Cell:
    """A score and, in parentheses, its interval."""
    value = score_text(score.value, score.metric)
    if not (math.isfinite(score.low) and math.isfinite(score.high)):
        return figure(score.value, value)
    low, high = (score_text(v, score.metric) for v in (score.low, score.high))
    return figure(score.value, f"{value} ({low.removesuffix(' %')} to {high.removesuffix(' %')})")


def confusion_table(study: Study) -> Table | None:
    """The most frequent confusions of many classes; None where the matrix shows them all."""
    answers = _answers(study)
    if answers is None or len(study.classes) < MANY_CLASSES:
        return None
    truth, called, w = answers
    wrong = truth != called
    if not wrong.any():
        return None
    pairs, at = np.unique(np.stack([truth[wrong], called[wrong]]), axis=1, return_inverse=True)
    counts = np.bincount(np.ravel(at), w[wrong])
    top = np.argsort(-counts, kind="stable")[:TOP_CONFUSIONS]
    lines = tuple(_confusion(pairs[0, j], pairs[1, j], counts[j], truth, w) for j in top)
    share = 100 * counts[top].sum() / counts.sum()
    note = ""
    if len(counts) > len(top):
        note = (
            f"These are {share:.0f} % of all errors; {len(counts) - len(top):,} more pairs occur."
        )
    heads = (("True class", False), ("Predicted", False), ("Rows", True))
    return Table((*heads, ("Of the true class", True)), lines, note)


def _answers(study: Study) -> tuple[Any, Any, Floats] | None:
    """Truth, answer and weight: of the test rows, or of all pairs of classes of a stream."""
    if study.stream is not None:
        return cells_of(study, study.stream)
    test = study.test_predictions
    if test is None:
        return None
    truth, called = (np.asarray(v).astype(str) for v in (test.truth, test.predicted))
    return truth, called, unit_weights(test.w, len(truth))


def _confusion(truth: str, called: str, count: float, all_truth: Any, w: Floats) -> Line:
    part = count / w[all_truth == truth].sum()
    return Line(
        truth, (Cell(called), figure(count, exact(count)), figure(part, score_text(part, "error")))
    )


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

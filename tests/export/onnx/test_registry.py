"""Every estimator has an ONNX file that gives its answers, or is refused with a reviewed reason."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.export.check import answers_of
from separatrix.export.onnx.document import build_graph
from separatrix.export.onnx.export import agreement, onnx_file, sample_matrix
from separatrix.formula.values import NoFormula
from tests.laws.test_formulas import fitted
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY, Row

pytest.importorskip("onnxruntime")

POSTERIOR = (
    "Averages of several classes over a posterior need the eigenvectors of a matrix for every row, "
    "which ONNX has no operator for; approximation='probit' does without."
)
HIERARCHY = "AgglomerativeClustering predicts nothing for new rows that a formula could."
#: Estimator and number of classes → why it has no file.
REFUSED = {
    ("BayesianLogisticRegression", 3): POSTERIOR,
    ("EvidenceAveraging of classifiers", 3): POSTERIOR,
    ("RadialBasisClassifier", 3): POSTERIOR,
    **{(row.name, 0): HIERARCHY for row in HIERARCHIES},
}
CASES = [
    (row, classes)
    for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES)
    for classes in ({"classification": (2, 3)}.get(row.task, (0,)))
]


@pytest.mark.parametrize(
    ("row", "classes"), CASES, ids=lambda case: str(getattr(case, "name", case))
)
def test_the_file_gives_the_answers_of_the_estimator(row: Row, classes: int) -> None:
    model, x = fitted(row, classes)
    if (row.name, classes) in REFUSED:
        with pytest.raises(NoFormula) as refusal:
            onnx_file(model)
        assert str(refusal.value) == REFUSED[row.name, classes]
        return
    x = np.concatenate([x, sample_matrix(model, 60)])
    answers = answers_of(model, x, 0.95)
    graph = build_graph(model)
    found = agreement(graph, {"X": x}, answers)
    assert found.holds, str(found)
    assert not found.ties
    assert graph.notes or set(answers) - {"prediction"} <= set(found.error)

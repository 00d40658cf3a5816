"""Every estimator as expressions of one row gives its answers, or is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from separatrix.export.check import answers_of
from separatrix.export.export import columns_of_answers, json_text
from separatrix.export.program import program_of
from separatrix.formula.values import NoFormula
from tests.export.evaluator import evaluate
from tests.laws.test_formulas import CASES, fitted
from tests.registry import Row

POSTERIOR = "need the eigenvectors of a matrix for every row"
QUADRATURE = r"operations, and up to .* are written out"
#: Estimator and number of classes → words of why it has no export.
REFUSED = {
    ("BayesianLogisticRegression", 2): QUADRATURE,
    ("BayesianLogisticRegression", 3): POSTERIOR,
    ("EvidenceAveraging of classifiers", 2): QUADRATURE,
    ("RadialBasisClassifier", 2): QUADRATURE,
    ("RadialBasisClassifier", 3): POSTERIOR,
    ("EvidenceAveraging of classifiers", 3): POSTERIOR,
}
#: Every so many of the rows.
STEP = 15


@pytest.mark.parametrize(
    ("row", "classes"), CASES, ids=lambda case: str(getattr(case, "name", case))
)
def test_the_document_gives_the_answers_of_the_estimator(row: Row, classes: int) -> None:
    model, x = fitted(row, classes)
    if (row.name, classes) in REFUSED:
        with pytest.raises(NoFormula, match=REFUSED[row.name, classes]):
            program_of(model)
        return
    document = json.loads(json_text(program_of(model)))
    names = [output["name"] for output in document["outputs"]]
    x = x[::STEP]
    rows: list[dict[str, Any]] = [{f"x{j}": v for j, v in enumerate(one)} for one in x.tolist()]
    found = zip(*(evaluate(document, one).values() for one in rows), strict=True)
    expected = columns_of_answers(answers_of(model, x, 0.95), names)
    for name, wanted, given in zip(names, expected, found, strict=True):
        if wanted.dtype.kind != "f":
            assert list(given) == wanted.tolist(), name
            continue
        unit = np.nanmedian(np.abs(wanted))
        np.testing.assert_allclose(
            np.array(given, dtype=float), wanted, rtol=1e-9, atol=1e-9 * unit, err_msg=name
        )

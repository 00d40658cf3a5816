"""Programs of models give their answers, by an evaluator that knows the JSON format alone."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from separatrix.export.export import json_text
from separatrix.export.program import program_of
from tests.export.evaluator import evaluate
from tests.export.models import MODELS, fitted, matrix, table

COUNTS = ("multinomial", "complement", "bernoulli")


def inputs_of(name: str) -> tuple[Any, list[dict[str, Any]]]:
    """Rows as the model takes them, and as dictionaries."""
    if name.startswith(("table", "naive bayes")):
        return table(), table().to_pylist()
    x = matrix()[0]
    if name.startswith(COUNTS):
        x = np.floor(np.abs(x / [0.5, 200, 1, 0.5]))
    return x, [{f"x{j}": v for j, v in enumerate(row)} for row in x.tolist()]


@pytest.mark.parametrize("name", MODELS)
def test_the_document_gives_the_answers_of_the_model(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows: separable classes, no convergence
        model = fitted(name)
    X, rows = inputs_of(name)
    document = json.loads(json_text(program_of(model)))
    found = [evaluate(document, row) for row in rows]
    answers = [list(one.values()) for one in found]
    predicted = model.predict(X)
    if predicted.dtype.kind == "f":
        expected = predicted.reshape(len(rows), -1)
        if "lower" in found[0]:
            conformal = not hasattr(model, "predictive")
            ends = model.predict_interval if conformal else model.predictive
            interval = ends(X, level=0.95) if conformal else ends(X).interval(0.95)
            expected = np.column_stack([expected, interval])
        np.testing.assert_allclose(np.array(answers), expected, rtol=1e-11, atol=1e-11)
        return
    assert [one[0] for one in answers] == predicted.tolist()
    if hasattr(model, "predict_proba"):
        p = np.array([one[1:] for one in answers], dtype=float)
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-12)
    if hasattr(model, "cluster_centers_"):
        distance = [one[1] for one in answers]
        np.testing.assert_allclose(distance, model.transform(X).min(axis=1), rtol=1e-12)

"""Operators of values: numbers, a graph of ONNX and expressions of one row give the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erfc, expit, log_expit, ndtr

from separatrix.export.export import json_text
from separatrix.export.onnx.document import Graph
from separatrix.export.program import Builder, Output, ScalarValue, Unrolled, _order_program
from separatrix.formula.inputs import InputColumn
from separatrix.formula.values import Numbers, Value
from tests.export.evaluator import evaluate

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(6, 4)), np.array([[1.0, 1.0, -2.0, 0.0], [0, 0, 0, 0]])])
MATRIX = RNG.normal(size=(4, 3)) * (RNG.random((4, 3)) < 0.6)
POINTS = RNG.normal(size=(5, 4))

FORMULAS: dict[str, Callable[[Value], Value]] = {
    "arithmetic": lambda x: (1.0 - x) * x / (x.square() + 2.0) - x.abs(),
    "affine": lambda x: x.affine(MATRIX, np.arange(3.0)),
    "comparison": lambda x: ((x > 0.5) | (x <= -1.0) & ~x.equals(0.0)).double(),
    "where": lambda x: (x >= 0.0).where(x, -x * 2.0),
    "bounds": lambda x: x.at_least(-0.5).at_most(0.5),
    "softmax": lambda x: x.softmax(),
    "two sigmoids": lambda x: x.column(0).two_sigmoids(),
    "sigmoid": lambda x: (x * 20.0).sigmoid(),
    "log sigmoid": lambda x: x.log_sigmoid(),
    "log odds": lambda x: x.sigmoid().log_odds(),
    "powers": lambda x: x.power(3.0) + x.abs().power(1.5),
    "hyperbolic tangent": lambda x: x.apply("Tanh"),
    "erfc": lambda x: (x * 3.0).complementary_error(),
    "normal distribution function": lambda x: x.normal_cdf(),
    "reductions": lambda x: x.sum() + x.max() * x.min(),
    "positions": lambda x: x.argmax().double() + x.argmin().double(),
    "order": lambda x: x.smallest(3)[0],
    "order of positions": lambda x: x.smallest(3)[1].double(),
    "descending": lambda x: x.smallest(2, largest=True)[0],
    "looked up": lambda x: x.smallest(2)[1].look_up(np.array([5.0, 7.0, 11.0, 13.0])),
    "rows looked up": lambda x: x.argmax().flat().look_up(POINTS),
    "entries": lambda x: x.entries(x.smallest(2)[1]),
    "running sums": lambda x: x.cumulative() - x.cumulative(reverse=True),
    "normalized": lambda x: x.at_least(0.0).normalized(4),
    "distances": lambda x: x.over_columns(
        x.fill(0.0, 5), [POINTS], lambda s, at: s + (at[0] - at[1]).square()
    ),
    "matrices": lambda x: (x.reshape(-1, 2, 2) @ x.reshape(-1, 2, 2).transpose(0, 2, 1)).reshape(
        -1, 4
    ),
    "pieces": lambda x: x.column(1).interpolate(
        np.array([-1.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0, 2.0]), np.array([1.0, 0, 0, 0])
    ),
    "tiles": lambda x: x.by_tiles(3, lambda part: [part * 2.0])[0],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_graph_gives_the_numbers(name: str) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    expected = FORMULAS[name](Numbers(X)).array
    graph = Graph()
    value = FORMULAS[name](graph.input("X", np.float64, ["N", 4]))
    graph.output("found", value, np.float64, [None, None])
    body = onnx.helper.make_graph(
        graph.nodes, "test", graph.inputs, graph.outputs, graph.initializers
    )
    document = onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 19)])
    (found,) = ReferenceEvaluator(document).run(None, {"X": X})
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_expressions_of_a_row_give_the_numbers(name: str) -> None:
    expected = np.asarray(FORMULAS[name](Numbers(X)).array).reshape(len(X), -1)
    unrolled = Unrolled(Builder())
    row = np.empty((1, 4), dtype=object)
    row[0, :] = [unrolled.builder.read(InputColumn(f"x{j}")) for j in range(4)]
    value = FORMULAS[name](ScalarValue(unrolled, row))
    outputs = [Output(f"y{j}", one) for j, one in enumerate(value.array.ravel())]
    document = json.loads(json_text(_order_program(unrolled, "test", outputs)))
    found = [
        list(evaluate(document, {f"x{j}": v for j, v in enumerate(x)}).values()) for x in X.tolist()
    ]
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-12, atol=1e-13)


REFERENCES: dict[str, tuple[Callable[[Value], Value], Callable[[Any], Any]]] = {
    "sigmoid": (Value.sigmoid, expit),
    "log sigmoid": (Value.log_sigmoid, log_expit),
    "erfc": (Value.complementary_error, erfc),
    "Φ": (Value.normal_cdf, ndtr),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_are_right_to_the_last_digits(name: str) -> None:
    x = np.linspace(-25.0, 25.0, 2001)[:, None]
    formula, reference = REFERENCES[name]
    np.testing.assert_allclose(formula(Numbers(x)).array, reference(x), rtol=2e-13, atol=1e-300)

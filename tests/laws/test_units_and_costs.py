"""Support vector machines of any unit and any cost: no unit makes a gap look small.

The objective is recomputed from public attributes by its definition, for columns in units from
10⁻⁸ to 10⁸ and costs from 10⁻⁶ to 10¹², and compared with optima in exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from tests.laws.data import stored_and_loaded
from tests.registry.row import Row, linear_parameters
from tests.registry.svm import ROWS

UNITS = (1e-8, 1e-4, 1.0, 1e4, 1e8)
COSTS = (1e-6, 1.0, 1e6, 1e12)
#: C κ(x, x) beyond which the sum Σ β κ(x, ·) of a kernel has lost digits of the scores.
RESOLVED = 1e6

quiet = pytest.mark.filterwarnings("ignore:SEP003")


def tables(row: Row) -> Iterator[tuple[str, Any, Any]]:
    """Two classes (or three) with a margin between them and with rows across it, or numbers."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((16, 2))
    if row.task == "regression":
        yield "line", x, x @ [1.0, -2.0] + 0.03 * rng.uniform(-1.0, 1.0, 16)
        yield "noise", x, x @ [1.0, -2.0] + rng.standard_normal(16)
        return
    codes = np.arange(16) % max(row.classes)
    centers = np.array([[0.0, 0.0], [6.0, 1.0], [1.0, 6.0]])
    names = np.array(["a", "b", "c"])[codes]
    yield "separable", x + centers[codes], names
    yield "overlapping", x + 0.2 * centers[codes], names


def fitted(row: Row, x: Any, y: Any, cost: float) -> Any:
    model = row.make()
    if "C" in model.get_params():
        model.set_params(C=cost)
    return model.fit(x, y)


CERTIFIED = [row for row in ROWS if row.objective is not None]


@quiet
@pytest.mark.parametrize("row", CERTIFIED, ids=lambda row: row.name)
def test_the_objective_of_what_is_returned_is_the_one_certified(row: Row, tmp_path: Path) -> None:
    parameters = row.make().get_params()
    costs = COSTS if "C" in parameters else (1.0,)
    if row.parameters is not linear_parameters:
        costs = tuple(min(cost, RESOLVED) for cost in costs)
    if parameters.get("penalty") == "l1":
        costs = costs[:-1]
    for (name, x, y), unit, cost in product(tables(row), UNITS, costs):
        if row.name == "SVMPath":  # of a linear kernel, traced with its Gram matrix
            cost = min(cost, RESOLVED / (unit**2 * float(np.max(np.sum(x**2, axis=1)))))
        model = fitted(row, unit * x, y, cost)
        proof = model.certificate_
        if np.isnan(proof.primal):  # of several parts, one falls short
            assert not proof.holds
            continue
        value = row.objective(model, *row.parameters(model, unit * x, y), unit * x, y)
        words = f"{name}, unit {unit:g}, C = {cost:g}: {proof}"
        assert_allclose(proof.primal, value, 1e-6, 4.0 * proof.rounding, err_msg=words)
        if proof.holds and proof.rounding <= proof.tolerance * proof.primal:
            assert proof.gap <= 2.0 * proof.tolerance * proof.primal, words
    loaded = stored_and_loaded(model, tmp_path)
    assert_array_equal(loaded.predict(unit * x), model.predict(unit * x))


# -- optima in exact fractions ---------------------------------------------------------------------


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """A solution of a linear system, zero where it is undetermined; None where there is none."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    pivots: list[int] = []
    for j in range(len(rows)):
        first = len(pivots)
        chosen = next((i for i in range(first, len(rows)) if rows[i][j]), None)
        if chosen is None:
            continue
        rows[first], rows[chosen] = rows[chosen], rows[first]
        rows[first] = [value / rows[first][j] for value in rows[first]]
        for i, row in enumerate(rows):
            if i != first and row[j]:
                rows[i] = [p - row[j] * q for p, q in zip(row, rows[first], strict=True)]
        pivots.append(j)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    found = [Fraction(0)] * len(rows)
    for i, j in enumerate(pivots):
        found[j] = rows[i][-1]
    return found


@dataclass(frozen=True)
class Exact:
    """½‖w‖² + c Σ loss in fractions; the intercept is free, or the coefficient of a column of ones.

    Losses are hinges of labels ±1, or errors beyond ε, or the squares of either.
    """

    x: list[list[Fraction]]
    t: list[Fraction]
    cost: Fraction
    epsilon: Fraction | None
    squared: bool
    free: bool

    def target(self, i: int, sign: int) -> Fraction:
        """The score at the kink of a row."""
        return self.t[i] if self.epsilon is None else self.t[i] - sign * self.epsilon

    def signs(self, i: int) -> tuple[int, ...]:
        """The signs that β of a row may have."""
        return (int(self.t[i]),) if self.epsilon is None else (1, -1)

    def value(self, w: list[Fraction], b: Fraction) -> Fraction:
        """The objective."""
        total = sum((v * v for v in w), Fraction(0)) / 2
        for i, row in enumerate(self.x):
            score = dot(row, w) + b
            short = max(s * (self.target(i, s) - score) for s in self.signs(i))
            total += self.cost * max(short, Fraction(0)) ** (2 if self.squared else 1)
        return total

    def optimum(self) -> Fraction:
        """The value at the first point that satisfies all KKT conditions."""
        choices = []
        for i in range(len(self.x)):
            states = ("short",) if self.squared else ("free", "short")
            choices.append([(0, "beyond"), *product(self.signs(i), states)])
        return next(v for v in map(self.of_states, product(*choices)) if v is not None)

    def of_states(self, states: tuple[tuple[int, str], ...]) -> Fraction | None:
        """The optimum if every row is in the given state, or None."""
        gram = [[dot(p, q) for q in self.x] for p in self.x]
        open_rows = [
            i for i, (s, name) in enumerate(states) if s and (self.squared or name == "free")
        ]
        beta = [
            self.cost * s if name == "short" and not self.squared else Fraction(0)
            for s, name in states
        ]
        ridge = 1 / (2 * self.cost) if self.squared else Fraction(0)
        one = [Fraction(1)] if self.free else []
        matrix = [
            [gram[i][j] + (ridge if i == j else 0) for j in open_rows] + one for i in open_rows
        ]
        right = [self.target(i, states[i][0]) - dot(gram[i], beta) for i in open_rows]
        if self.free:
            matrix.append([Fraction(1)] * len(open_rows) + [Fraction(0)])
            right.append(-sum(beta))
        found = solved(matrix, right)
        if found is None:
            return None
        for i, value in zip(open_rows, found, strict=False):
            beta[i] = value
        scores = [dot(row, beta) for row in gram]
        intercepts = self.intercepts(states, scores) if self.free and not open_rows else None
        b = found[-1] if self.free else Fraction(0)
        if intercepts is not None:
            low, high = intercepts
            b = min(max(b, low), high)
        for i, (s, name) in enumerate(states):
            short = max(v * (self.target(i, v) - scores[i] - b) for v in self.signs(i))
            own = s * (self.target(i, s) - scores[i] - b) if s else short
            fits = (
                short <= 0
                if not s
                else own >= 0
                if name == "short"
                else 0 <= s * beta[i] <= self.cost
            )
            if not fits:
                return None
        w = [dot(column, beta) for column in zip(*self.x, strict=True)]
        return self.value(w, b)

    def intercepts(
        self, states: tuple[tuple[int, str], ...], scores: list[Fraction]
    ) -> tuple[Fraction, Fraction]:
        """The interval of b in which rows that are beyond or short stay so."""
        low, high = Fraction(-(10**30)), Fraction(10**30)
        for i, (s, _) in enumerate(states):
            for sign in (s,) if s else self.signs(i):
                kink = self.target(i, sign) - scores[i]
                upper = (sign > 0) == bool(s)
                low, high = (low, min(high, kink)) if upper else (max(low, kink), high)
        return low, high


def dot(a: Any, b: Any) -> Fraction:
    """The inner product."""
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def exact(x: Any, t: Any, cost: float, *, penalized: bool, **losses: Any) -> Exact:
    """The problem of a table of floats."""
    rows = np.column_stack([x, np.ones(len(x))]) if penalized else x
    epsilon = losses.get("epsilon")
    return Exact(
        [[Fraction(float(v)) for v in row] for row in rows],
        [Fraction(float(v)) for v in t],
        Fraction(cost),
        None if epsilon is None else Fraction(epsilon),
        losses.get("squared", False),
        not penalized,
    )


LABELS = [
    ([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]], [-1.0, -1.0, 1.0, 1.0]),
    ([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.5, 3.0], [1.5, 0.25]], [1.0, -1.0, -1.0, -1.0, 1.0]),
    ([[101.0, 1002.0], [99.0, 1002.0], [99.0, 998.0], [103.0, 1001.0]], [-1.0, -1.0, 1.0, 1.0]),
]
NUMBERS = [
    ([[0.0], [1.0], [2.0], [3.0]], [0.05, 1.0, 2.1, 2.95]),
    ([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]),
]
Make = Callable[[float], Any]
KNOWN: dict[str, tuple[Make, list[Any], dict[str, Any]]] = {
    "SVC": (lambda C: sx.SVC(C=C, kernel="linear"), LABELS, {"penalized": False}),
    "LinearSVC, hinge": (lambda C: sx.LinearSVC(C=C, loss="hinge"), LABELS, {"penalized": False}),
    "LinearSVC": (lambda C: sx.LinearSVC(C=C), LABELS, {"penalized": True, "squared": True}),
    "SVR": (
        lambda C: sx.SVR(C=C, kernel="linear", epsilon=0.25),
        NUMBERS,
        {"penalized": False, "epsilon": 0.25},
    ),
    "LinearSVR": (
        lambda C: sx.LinearSVR(C=C, epsilon=0.25),
        NUMBERS,
        {"penalized": True, "epsilon": 0.25},
    ),
    "LinearSVR, squared": (
        lambda C: sx.LinearSVR(C=C, epsilon=0.25, loss="squared_epsilon_insensitive"),
        NUMBERS,
        {"penalized": True, "epsilon": 0.25, "squared": True},
    ),
}


@quiet
@pytest.mark.parametrize("name", KNOWN)
def test_no_unit_and_no_cost_ends_above_the_optimum_in_fractions(name: str) -> None:
    make, several, losses = KNOWN[name]
    for (x, t), unit, cost in product(several, (1e-8, 1.0, 1e6, 1e8), (1e-6, 1.0, 1e12)):
        rows = unit * np.array(x)
        problem = exact(rows, t, cost, **losses)
        model = make(cost).fit(rows, t)
        w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        coef = np.append(w, b) if losses["penalized"] else w
        free = Fraction(0) if losses["penalized"] else Fraction(b)
        value, least = problem.value([Fraction(v) for v in coef], free), problem.optimum()
        words = f"{x}, unit {unit:g}, C = {cost:g}: {model.certificate_}"
        assert least <= value <= least * (1 + Fraction(1, 10**4)), words
        assert_allclose(model.certificate_.primal, float(value), 1e-4, err_msg=words)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e4, 1e6, 1e8])
def test_large_costs_of_a_separable_table_give_its_hard_margin(unit: float) -> None:
    """Where no α reaches C, the soft margin is the hard one, however large C is."""
    x, t = (np.array(part) for part in LABELS[0])
    hard = sx.SVC(C=np.inf, kernel="linear").fit(unit * x, t)
    for cost in (1e3 / unit**2, 1e12 / unit**2, max(1.0, 1e6 / unit**2)):
        for model in (sx.SVC(C=cost, kernel="linear"), sx.LinearSVC(C=cost, loss="hinge")):
            model.fit(unit * x, t)
            assert model.certificate_.holds, model.certificate_
            assert_allclose(model.coef_, hard.coef_, rtol=1e-6)
            assert_allclose(model.certificate_.primal, hard.certificate_.primal, rtol=1e-6)
            assert len(model.support_) >= 2

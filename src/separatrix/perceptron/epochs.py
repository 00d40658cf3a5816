"""The perceptron: epochs over rows until none is on the wrong side, or the limit is reached.

    w ← w + η w̃ᵢ yᵢ (1, xᵢ)     for every row i with yᵢ (w·(1, xᵢ)) ≤ 0

w̃ is the weight of a row. From w = 0 the learning rate η only sets the length of w. If the rows are
separable with margin γ, and none is longer than R, at most (R/γ)² steps are made, however many rows
there are; if they are not, the steps never end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.perceptron.state import PerceptronRows, PerceptronState
from separatrix.rows.block import Floats, Ints

ORDERS = ("given", "shuffled", "random")


@dataclass(frozen=True)
class MistakeTrace:
    """Mistakes in each epoch, (epochs, outputs); ``rows`` is the number of rows in an epoch.

    ``status`` is "converged" or "limit reached". ``coef`` (epochs, outputs, d) and ``intercept``
    (epochs, outputs) are the weights after each epoch; without a wish to keep them they are empty.
    """

    mistakes: NDArray[np.int64]
    rows: int
    status: str
    coef: Floats
    intercept: Floats


@dataclass(frozen=True)
class Walk:
    """Weights to be used (outputs x (1 + d)), where the walk stands, and its history."""

    weights: Floats
    state: PerceptronState
    mistakes: NDArray[np.int64]
    status: str
    kept: list[Floats]


@dataclass(frozen=True)
class Plan:
    """How to walk: the sequence of rows, when to stop, and which weights to return."""

    order: str = "given"
    max_epochs: int = 200
    average: bool = False
    pocket: bool = False
    keep: bool = False


def plan_of(model: Any) -> Plan:
    """Order, limit and choice of weights, checked."""
    if model.order not in ORDERS:
        raise InputError(
            f"order={model.order!r} is unknown.", remedy="'given', 'shuffled' or 'random'."
        )
    if not model.max_epochs >= 1:
        raise InputError(f"max_epochs={model.max_epochs!r} must be at least 1.")
    return Plan(
        model.order,
        int(model.max_epochs),
        bool(getattr(model, "average", False)),
        bool(getattr(model, "pocket", False)),
        bool(getattr(model, "keep_weights", False)),
    )


class _Pocket:
    """The weights with the fewest rows on the wrong side, output by output."""

    def __init__(self, ground: PerceptronRows) -> None:
        self.ground = ground
        self.fewest = np.full(len(ground.own), np.inf)
        self.best = np.zeros((len(ground.own), 1 + ground.d))

    def consider(self, seen: int, outputs: list[int]) -> None:
        """Put the present weights of these outputs in the pocket where they are better."""
        weights = self.ground.state(seen).weights
        wrong = self.ground.rate @ self.ground.wrong(weights)
        for k in outputs:
            if wrong[k] < self.fewest[k]:
                self.fewest[k], self.best[k] = wrong[k], weights[k]


def walk(
    ground: PerceptronRows,
    start: PerceptronState,
    plan: Plan,
    random: np.random.RandomState | None = None,
) -> Walk:
    """Epochs from ``start`` until one is without mistake, or ``max_epochs`` are over."""
    ground.begin(start)
    outputs = len(ground.own)
    pocket = _Pocket(ground) if plan.pocket else None
    runs = np.zeros(outputs, dtype=np.int64)
    record = np.full(outputs, 0 if pocket else np.iinfo(np.int64).max, dtype=np.int64)
    at = np.array([0, 0, start.seen])
    history: list[Ints] = []
    kept: list[Floats] = []
    status = "limit reached"
    for order in epochs(plan, ground.n, random):
        mistakes = np.zeros(outputs, dtype=np.int64)
        at[:2] = 0
        while not ground.go(order, mistakes, runs, record, at):
            if pocket is not None:
                pocket.consider(int(at[2]), [int(at[1])])
        history.append(mistakes)
        if pocket is not None:
            pocket.consider(int(at[2]), list(range(outputs)))
        state = ground.state(int(at[2]))
        if plan.keep:
            kept.append(state.weights)
        if not mistakes.any() and not (
            plan.order == "random" and ground.wrong(state.weights).any()
        ):
            status = "converged"
            break
    last = state.mean if plan.average else state.weights
    weights = last if pocket is None else pocket.best
    return Walk(weights, state, np.array(history), status, kept)


def epochs(plan: Plan, n: int, random: np.random.RandomState | None) -> Iterator[Ints]:
    """The rows of each epoch. At random, a row drawn that is wrong is any wrong row, equally."""
    given = np.arange(n)
    for _ in range(plan.max_epochs):
        if plan.order == "given" or random is None:
            yield given
        elif plan.order == "shuffled":
            yield random.permutation(n)
        else:
            yield random.randint(0, n, n)


def novikoff(ground: PerceptronRows, weights: Floats) -> float:
    """(R/γ)², the largest over the outputs, with the margin γ that these weights have."""
    length = float(np.sqrt(ground.squares().max() + ground.constant))
    norms = np.linalg.norm(weights if ground.constant else weights[:, 1:], axis=1)
    gamma = (ground.sides * ground.scores(weights)).min(axis=0) / np.where(norms > 0, norms, 1.0)
    least = float(gamma.min())
    return (length / least) ** 2 if least > 0.0 else np.inf


def mean_start(ground: PerceptronRows) -> Floats:
    """Weights halfway between the mean of each output's class and the mean of the other rows."""
    outputs = len(ground.own)
    weights = np.zeros((outputs, 1 + ground.d))
    for k, code in enumerate(ground.own):
        mine = ground.codes == code
        up, down = (ground.mean(rows) for rows in (mine, ~mine))
        normal = up - down
        weights[k, 1:] = normal
        weights[k, 0] = -0.5 * float(normal @ (up + down)) * ground.constant
    return weights

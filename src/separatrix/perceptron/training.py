"""Perceptron training: epochs over the rows until none is misclassified, or the limit is reached.

    w ← w + η w̃ᵢ yᵢ (1, xᵢ)     for every row i with yᵢ (w·(1, xᵢ)) ≤ 0

w̃ is the sample weight. From w = 0 the learning rate η only sets the norm of w. If the rows are
linearly separable with margin γ, and none is longer than R, at most (R/γ)² updates are made,
whatever the number of rows (Novikoff); if they are not, updates never end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Certificate, Status
from separatrix.perceptron.training_rows import PerceptronState, TrainingRows
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.standardizer import Standardizer


@dataclass(frozen=True)
class MistakeTrace:
    """Mistakes in each epoch, (epochs, outputs); ``rows`` is the number of rows in an epoch.

    ``status`` is converged or limit reached. ``coef`` (epochs, outputs, d) and ``intercept``
    (epochs, outputs) are the weights after each epoch, empty unless they were to be stored.
    """

    mistakes: Ints
    rows: int
    status: Status
    coef: Floats
    intercept: Floats


@dataclass(frozen=True)
class TrainingResult:
    """Final weights (outputs x (1 + d)), the state to continue from, and the history."""

    weights: Floats
    state: PerceptronState
    mistakes: Ints
    status: Status
    epoch_weights: list[Floats]


@dataclass(frozen=True)
class TrainingOptions:
    """Order of the rows, number of epochs, and which weights to return; checked."""

    order: str = "given"
    max_epochs: int = 200
    average: bool = False
    pocket: bool = False
    store_weights: bool = False

    def __post_init__(self) -> None:
        check_option("order", self.order, ("given", "shuffled", "random"))
        if not self.max_epochs >= 1:
            raise InputError(f"max_epochs={self.max_epochs!r} must be at least 1.")
        if self.average and self.pocket:
            raise InputError(
                "average=True and pocket=True exclude each other.", remedy="Choose one of them."
            )


class _Pocket:
    """The weights with the fewest misclassified rows so far, output by output."""

    def __init__(self, rows: TrainingRows) -> None:
        self.rows = rows
        self.fewest = np.full(len(rows.output_class), np.inf)
        self.best = np.zeros((len(rows.output_class), 1 + rows.d))

    def compare(self, seen: int, outputs: list[int]) -> None:
        """Store the present weights of these outputs where they misclassify fewer rows."""
        weights = self.rows.state(seen).weights
        wrong = self.rows.rate @ self.rows.misclassified(weights)
        for k in outputs:
            if wrong[k] < self.fewest[k]:
                self.fewest[k], self.best[k] = wrong[k], weights[k]


def train(
    rows: TrainingRows,
    start: PerceptronState,
    options: TrainingOptions,
    random: np.random.RandomState | None = None,
) -> TrainingResult:
    """Epochs from ``start`` until one is without mistake, or ``max_epochs`` are over."""
    rows.start(start)
    outputs = len(rows.output_class)
    pocket = _Pocket(rows) if options.pocket else None
    streak = np.zeros(outputs, dtype=np.int64)
    longest = np.full(outputs, 0 if pocket else np.iinfo(np.int64).max, dtype=np.int64)
    position = np.array([0, 0, start.seen])
    history: list[Ints] = []
    epoch_weights: list[Floats] = []
    status = Status.LIMIT
    for order in epoch_orders(options, rows.n, random):
        mistakes = np.zeros(outputs, dtype=np.int64)
        position[:2] = 0
        while not rows.run_epoch(order, mistakes, streak, longest, position):
            if pocket is not None:
                pocket.compare(int(position[2]), [int(position[1])])
        history.append(mistakes)
        if pocket is not None:
            pocket.compare(int(position[2]), list(range(outputs)))
        state = rows.state(int(position[2]))
        if options.store_weights:
            epoch_weights.append(state.weights)
        if not mistakes.any() and not (
            options.order == "random" and rows.misclassified(state.weights).any()
        ):
            status = Status.CONVERGED
            break
    last = state.mean if options.average else state.weights
    weights = last if pocket is None else pocket.best
    return TrainingResult(weights, state, np.array(history), status, epoch_weights)


def epoch_orders(
    options: TrainingOptions, n: int, random: np.random.RandomState | None
) -> Iterator[Ints]:
    """The row numbers of each epoch. Drawn at random, each misclassified row is equally likely."""
    given = np.arange(n)
    for _ in range(options.max_epochs):
        if options.order == "given" or random is None:
            yield given
        elif options.order == "shuffled":
            yield random.permutation(n)
        else:
            yield random.randint(0, n, n)


def mistake_bound(rows: TrainingRows, weights: Floats) -> float:
    """Novikoff's (R/γ)², the largest over the outputs, with the margin γ of these weights."""
    radius = float(np.sqrt(rows.squared_norms().max() + rows.constant))
    norms = np.linalg.norm(weights if rows.constant else weights[:, 1:], axis=1)
    margins = (rows.signs * rows.scores(weights)).min(axis=0) / np.where(norms > 0, norms, 1.0)
    smallest = float(margins.min())
    return (radius / smallest) ** 2 if smallest > 0.0 else np.inf


def certify_mistakes(
    name: str, wrong: int, n: int, notes: list[str], bound: float, outputs: int
) -> Certificate:
    """Misclassified rows, counted. Above none no bound on the fewest possible is known."""
    claim = f"{name}: every training row is classified correctly"
    if wrong:
        claim = f"{name}: {wrong} of {n} training rows are misclassified"
    if np.isfinite(bound):
        each = "" if outputs == 1 else " for each class"
        notes.append(f"By the margin reached, at most {bound:.4g} mistakes{each} were possible.")
    gap = np.inf if wrong else np.nan
    return Certificate(claim, gap=gap, tolerance=0.0, notes=tuple(notes), promised=())


def class_mean_weights(rows: TrainingRows) -> Floats:
    """Hyperplanes halfway between the mean of each output's class and that of the other rows."""
    outputs = len(rows.output_class)
    weights = np.zeros((outputs, 1 + rows.d))
    for k, code in enumerate(rows.output_class):
        positive = rows.codes == code
        up, down = rows.mean(positive), rows.mean(~positive)
        normal = up - down
        weights[k, 1:] = normal
        weights[k, 0] = -0.5 * float(normal @ (up + down)) * rows.constant
    return weights


def training_certificate(result: TrainingResult, rows: TrainingRows, bound: float) -> Certificate:
    """The misclassified rows of a training, with notes on how it ended."""
    wrong = int(rows.misclassified(result.weights).any(axis=1).sum())
    epochs = len(result.mistakes)
    notes = [f"{int(result.mistakes.sum())} mistakes in {epochs} epoch{'s' * (epochs > 1)}."]
    if wrong:
        notes.append(
            "The limit of epochs was reached; linear_separability(X, y) proves whether any "
            "hyperplane separates these rows."
            if result.status is not Status.CONVERGED
            else "The last weights misclassified none, their average does."
        )
    return certify_mistakes("Perceptron", wrong, rows.n, notes, bound, len(rows.output_class))


def unscaled(weights: Floats, standardizer: Standardizer | None) -> tuple[Floats, Floats]:
    """Coefficients (outputs x d) and intercepts of x from the weights of (1, (x − μ)/σ)."""
    coef, intercept = weights[:, 1:], weights[:, 0]
    if standardizer is None:
        return coef.copy(), intercept.copy()
    return standardizer.unscale(coef, intercept)

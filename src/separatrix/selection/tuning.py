"""Tuning by cross-validation: the loss of every parameter on every fold, predictions out of fold.

    θ̂_f = argmin_θ Σ_{g ≠ f} loss_g(θ)     predicts the rows of fold f
    θ̂   = argmin_θ Σ_g loss_g(θ)           is for the model of all rows

The losses of a fold do not influence the parameters that predict it, and no model is fitted for
that alone: the fits of the comparison serve both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.statistics.moments import Standardizer

#: Work of one candidate, in floating-point operations: about a second on one processor each.
QUICK, NORMAL, THOROUGH = 2e9, 2e10, 2e11
#: Decimal places, in standard deviations, of the numbers that a search uses: the last digits
#: depend on the units of the columns, and the choice must not.
DECIMALS = 6


@dataclass(frozen=True)
class TuningData:
    """Encoded columns ``x``, target ``y`` (codes of classes, or numbers), weights and folds.

    ``n_classes`` is 0 for regression. ``loss`` is what is minimized: "log_loss" or "error" of
    classes, "squared" or "absolute" error of numbers. ``work`` limits the cost, in floating-point
    operations. Several searches may share one object, and with it the distances between rows.
    """

    x: Matrix
    y: Any
    w: Floats
    folds: Folds
    n_classes: int = 0
    loss: str = "log_loss"
    work: float = NORMAL
    made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What several searches on these rows need, made by the first of them."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def with_share(self, share: float) -> TuningData:
        """The same rows for a search that may do a share of the work; distances are shared."""
        if share == 1.0:
            return self
        other = copy(self)
        object.__setattr__(other, "work", share * self.work)
        return other

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.w)

    @cached_property
    def fold(self) -> Ints:
        """The fold in which each row is predicted; −1 for rows in none."""
        fold_of = np.full(self.n, -1, dtype=np.int64)
        for number, (_, test) in enumerate(self.folds.pairs):
            fold_of[test] = number
        return fold_of

    def spread(self, size: int) -> Ints:
        """So many of the rows, spread over classes (or numbers) and folds.

        The rows of a smaller size are among those of a larger one: candidates that can afford
        different numbers of rows are compared on the rows of the smallest.
        """
        return np.sort(self._by_spread[:size])

    @cached_property
    def _by_spread(self) -> Ints:
        """Rows ordered by target and fold, taken at places 0, 1/2, 1/4, 3/4, 1/8 … of the order."""
        order = np.lexsort((np.arange(self.n), self.fold, np.ravel(self.y)))
        bits = max(1, int(self.n - 1).bit_length())
        place, reverse = np.arange(self.n), np.zeros(self.n, dtype=np.int64)
        for bit in range(bits):
            reverse |= ((place >> bit) & 1) << (bits - 1 - bit)
        return np.asarray(order[np.argsort(reverse)])

    @cached_property
    def z(self) -> Matrix:
        """Standardized columns, rounded."""
        z = Standardizer.from_rows(self.x, self.w).transform(self.x)
        if hasattr(z, "data") and not isinstance(z, np.ndarray):
            z.data = z.data.round(DECIMALS)
            return z
        return np.ascontiguousarray(np.round(z, DECIMALS))

    @cached_property
    def squared_distances(self) -> Floats | None:
        """‖zᵢ − zⱼ‖² of all pairs of rows; None where there are too many."""
        if self.n > 6_000:  # rows of which all pairs of distances are stored
            return None
        z = self.z
        squares = np.asarray((z.multiply(z) if hasattr(z, "multiply") else z * z).sum(axis=1))
        products = z @ z.T
        d = np.asarray(products.todense() if hasattr(products, "todense") else products)
        d *= -2.0
        d += squares.ravel()[:, None]
        d += squares.ravel()
        np.maximum(d, 0.0, out=d)
        np.fill_diagonal(d, 0.0)
        return d


@dataclass(frozen=True)
class Tuning:
    """What a search found: ``parameters`` for the model of all rows, and its way there.

    ``grid`` holds every combination of parameters, simplest first, and ``losses`` (combinations x
    folds) their losses; ``by_fold`` is the index of the combination that predicts each fold.
    ``predictions`` of the rows at positions ``rows`` are scores, probabilities or numbers, as
    ``kind`` says ("scores", "probabilities", "values"); several outputs make several columns.
    ``deviations`` are those of normal predictive distributions about predicted numbers, None where
    the model has none; ``start`` is where the fit to all rows may begin, and ``starts`` where fits
    without each fold may, which have seen nothing of it. ``note`` says what was left out to stay
    within the work allowed.
    """

    parameters: Mapping[str, Any]
    grid: tuple[Mapping[str, Any], ...]
    losses: Floats
    by_fold: Ints
    rows: Ints
    predictions: Floats
    kind: str
    note: str = ""
    deviations: Floats | None = None
    start: Any = None
    starts: tuple[Any, ...] = ()

    def without(self, fold: int) -> Tuning:
        """The search with what it found without a fold."""
        tuning = self
        if self.starts:
            tuning = replace(tuning, start=self.starts[fold])
        if fold < len(self.by_fold):
            tuning = replace(tuning, parameters=self.grid[self.by_fold[fold]])
        return tuning

    @property
    def parameters_by_fold(self) -> dict[str, tuple[Any, ...]]:
        """Name → the value that predicts each fold."""
        chosen = [self.grid[i] for i in self.by_fold]
        return {name: tuple(theta[name] for theta in chosen) for name in chosen[0]}


class Tunable(Protocol):
    """An estimator that chooses parameters by cross-validation on folds that it is given."""

    def tune(self, data: TuningData) -> Tuning:
        """Compare parameters on the folds."""

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen."""


def best_by_fold(losses: Floats, weights: Floats | None = None) -> tuple[int, Ints]:
    """Index of the least loss over all folds, and over all folds but each; of equals the first.

    ``losses`` is combinations x folds; ``weights`` are those of the folds.
    """
    w = np.ones(losses.shape[1]) if weights is None else weights
    total = losses @ w
    others = total[:, None] - losses * w
    return int(total.argmin()), np.asarray(others.argmin(axis=0), dtype=np.int64)


def require_classes(data: TuningData) -> None:
    """Refuse folds whose training rows lack a class: nothing could be learned about it."""
    for fold, (train, _) in enumerate(data.folds.pairs):
        weight = np.bincount(data.y[train], data.w[train], data.n_classes)
        if not weight.all():
            raise InputError(
                f"The training rows of fold {fold} have no row of class {int(weight.argmin())}.",
                remedy="Use fewer folds, or folds that spread the rows of every class.",
            )


def smoothest_by_fold(losses: Floats, smoothness: Floats, weights: Floats) -> tuple[int, Ints]:
    """As :func:`best_by_fold`, but of those within one standard error of the best the smoothest.

    The standard error is that of the differences between folds. Of equally smooth ones the least
    loss is taken.
    """

    def choose(folds: Ints) -> int:
        part, w = losses[:, folds], weights[folds] / weights[folds].sum()
        means = part @ w
        apart = part - part[means.argmin()]
        mean = apart @ w
        spread = np.sqrt(((apart - mean[:, None]) ** 2 @ w) / max(len(folds) - 1, 1))
        near = np.flatnonzero(mean <= spread)
        near = near[smoothness[near] == smoothness[near].max()]
        return int(near[means[near].argmin()])

    every = np.arange(losses.shape[1])
    return choose(every), np.array([choose(np.delete(every, f)) for f in every], dtype=np.int64)

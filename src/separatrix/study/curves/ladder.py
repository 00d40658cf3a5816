"""The ladder of complexities of a table: a constant, a linear model, polynomials, neighbors.

Numbers: one pass over the rows gives moments of the terms of the highest degree, by part. Those of
a lower degree, and of any choice of columns, are among them, so that every size, degree and choice
is solved from that pass. Classes and neighbors are refitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.bayes.linear.bayesian_ridge import BayesianRidge
from separatrix.estimators.baseline import MostFrequentClassifier
from separatrix.linear.polynomial import CHUNK_VALUES, polynomial_expansion
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.neighbors.k_neighbors import KNeighborsClassifier, KNeighborsRegressor
from separatrix.rows.block import Floats, Ints
from separatrix.rows.expansion import Expansion
from separatrix.rows.mapped import EncodedRows, MappedRows
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Term
from separatrix.selection.curves.losses import (
    Losses,
    Step,
    losses_from_moments,
    losses_from_refits,
    step_errors,
)
from separatrix.selection.curves.nesting import Nesting
from separatrix.selection.refits import RefitRows
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.study.curves.result import ColumnCurve
from separatrix.study.folds import truth_of

#: Terms of a polynomial at most, its degrees, and rows for which neighbors are refitted.
MOST_TERMS, DEGREES, MOST_NEIGHBOR_ROWS = 150, (1, 2, 3), 4_000
#: Fractions of the columns, and random choices of each.
FRACTIONS, CHOICES = (0.25, 0.5, 0.75), 6
#: Columns from which on fewer of them are tried.
FEWEST_COLUMNS = 4
LINEAR = "linear"

Tick = Callable[[str], None]


class Constant(BaseEstimator):
    """The mean of the target, from moments."""

    coef_: Floats
    intercept_: float

    def fit(self, m: Moments) -> Self:
        """Zero coefficients, and the mean."""
        self.coef_, self.intercept_ = np.zeros(m.d), float(m.y_mean[0])
        return self


def linear_model() -> BayesianRidge:
    """Ridge regression with the penalty of the highest evidence of its own training rows."""
    return BayesianRidge(standardize=True)


@dataclass(frozen=True)
class Ladder:
    """A table in memory as a matrix, its parts, and the terms of its polynomials."""

    table: InMemory
    nesting: Nesting
    labels: Ints
    x: Floats
    terms: tuple[Term, ...]
    expansion: Expansion
    rows: MappedRows

    @classmethod
    def of(cls, table: InMemory, folds: int, seed: int) -> Ladder:
        """Encoded by the levels and means of all rows: no target enters them."""
        nesting = Nesting.of(len(table), folds)
        labels = nesting.labels(table, seed)
        parted = table.with_parts(labels)
        prepared = prepare(parted)
        block = prepared.rows.collect()
        terms = tuple(block.terms.items)
        degree = max(k for k in DEGREES if k == 1 or comb(len(terms) + k, k) - 1 <= MOST_TERMS)
        expansion = polynomial_expansion(prepared.rows, terms, prepared.encoding, degree)
        encoded = EncodedRows(parted, prepared.encoding)
        chunk = max(64, CHUNK_VALUES // len(expansion.exponents))
        mapped = MappedRows(encoded, expansion, chunk)
        return cls(table, nesting, labels, np.asarray(block.dense()), terms, expansion, mapped)

    @property
    def degrees(self) -> list[int]:
        """Degrees that have terms of their own: a product of indicators may be none."""
        order = self.expansion.exponents.sum(axis=1)
        return [k for k in DEGREES if (order == k).any()]

    def terms_upto(self, degree: int) -> Ints:
        """Positions of the terms up to a degree."""
        return np.flatnonzero(self.expansion.exponents.sum(axis=1) <= degree)

    @property
    def columns(self) -> dict[str, Ints]:
        """Positions of the terms of each column of the table."""
        found: dict[str, list[int]] = {}
        for j, term in enumerate(self.terms):
            found.setdefault(term.column, []).append(j)
        return {name: np.array(at) for name, at in found.items()}

    def choices(self, seed: int) -> list[tuple[int, list[Ints]]]:
        """Numbers of columns, and the terms of random choices of as many."""
        columns = list(self.columns.values())
        if len(columns) < FEWEST_COLUMNS:
            return []
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(len(columns)) for _ in range(CHOICES)]
        counts = sorted({max(1, round(f * len(columns))) for f in FRACTIONS})
        return [
            (q, [np.sort(np.concatenate([columns[j] for j in order[:q]])) for order in orders])
            for q in counts
        ]


def name_of(degree: int) -> str:
    """The name of a polynomial."""
    return LINEAR if degree == 1 else f"degree {degree}"


def numbers(
    ladder: Ladder, seed: int, step: Tick
) -> tuple[list[str], Losses, ColumnCurve | None, list[str]]:
    """Names, losses, the curve over columns, and messages, for a target of numbers."""
    step("reading moments by part")
    parts = ladder.rows.reduce(Grouped(Moments())).parts
    step("linear and polynomial models")
    steps = [Step("mean", Constant())]
    steps += [Step(name_of(k), linear_model(), ladder.terms_upto(k)) for k in ladder.degrees]
    found = losses_from_moments(parts, ladder.nesting, steps)
    names, messages = [one.name for one in steps], []
    step("nearest neighbors")
    if len(ladder.x) <= MOST_NEIGHBOR_ROWS:
        y = ladder.table.block.y[:, 0]
        rows = RefitRows(lambda at: ladder.x[at], y, ladder.table.block.w, "squared error")
        model = KNeighborsRegressor("auto", standardize=True)
        found = joined(found, losses_from_refits(rows, ladder.labels, ladder.nesting, [model]))
        names.append("neighbors")
    else:
        messages.append(f"Nearest neighbors are left out above {MOST_NEIGHBOR_ROWS:,} rows.")
    step("random choices of columns")
    return names, found, _columns_of_numbers(ladder, parts, found, seed), messages


def _columns_of_numbers(ladder: Ladder, parts: Any, found: Losses, seed: int) -> ColumnCurve | None:
    choices, k = ladder.choices(seed), ladder.nesting.folds
    if not choices:
        return None
    # the terms of degree 1 are the columns themselves, scaled
    first = ladder.terms_upto(1)
    place = {int(np.flatnonzero(ladder.expansion.exponents[i])[0]): i for i in first.tolist()}
    nesting = ladder.nesting
    sides = [(nesting.growing(parts, f)[-1], nesting.left_out(parts, f)) for f in range(k)]
    losses = np.empty((len(choices) + 1, k))
    for i, (_, some) in enumerate(choices):
        for fold, (train, test) in enumerate(sides):
            each = []
            for terms in some:
                at = np.array([place[j] for j in terms.tolist()])
                step = Step("", linear_model(), at)
                each.append(float(step_errors(step, train, test)[0][0]))
            losses[i, fold] = np.mean(each)
    losses[-1] = found.validation[-1, 1]
    counts = np.array([*(q for q, _ in choices), len(ladder.columns)], dtype=float)
    return ColumnCurve(counts, losses)


def classes(
    ladder: Ladder, seed: int, step: Tick
) -> tuple[list[str], Losses, ColumnCurve | None, list[str]]:
    """The same for a target of classes, by the error rate."""
    truth, w = truth_of(ladder.table), ladder.table.block.w

    def fitted(model: Any, x: Floats) -> Losses:
        rows = RefitRows(_taken(x), truth, w, "error rate")
        return losses_from_refits(rows, ladder.labels, ladder.nesting, [model])

    step("linear models")
    names, messages = ["most frequent class", LINEAR], []
    found = fitted(MostFrequentClassifier(), ladder.x)
    found = joined(found, fitted(linear_classifier(), ladder.x))
    step("polynomials")
    if 2 in ladder.degrees:
        x = ladder.expansion.transform(ladder.x)[:, ladder.terms_upto(2)]
        found = joined(found, fitted(linear_classifier(), x))
        names.append(name_of(2))
    step("nearest neighbors")
    if len(ladder.x) <= MOST_NEIGHBOR_ROWS:
        found = joined(found, fitted(KNeighborsClassifier("auto", standardize=True), ladder.x))
        names.append("neighbors")
    else:
        messages.append(f"Nearest neighbors are left out above {MOST_NEIGHBOR_ROWS:,} rows.")
    step("random choices of columns")
    return names, found, _columns_of_classes(ladder, truth, found, seed), messages


def linear_classifier() -> LogisticRegression:
    """Logistic regression with a weak penalty on standardized columns."""
    return LogisticRegression(standardize=True)


def _taken(x: Floats) -> Callable[[Any], Floats]:
    return lambda at: x[at]


def _columns_of_classes(ladder: Ladder, truth: Any, found: Losses, seed: int) -> ColumnCurve | None:
    choices, nesting = ladder.choices(seed), ladder.nesting
    if not choices:
        return None
    losses = np.empty((len(choices) + 1, nesting.folds))
    for i, (_, some) in enumerate(choices):
        for fold in range(nesting.folds):
            train = nesting.train(ladder.labels, fold, nesting.ranks)
            test = nesting.test(ladder.labels, fold)
            each = []
            for terms in some:
                x, w = ladder.x[:, terms], ladder.table.block.w
                rows = RefitRows(_taken(x), truth, w, "error rate")
                each.append(rows.mean_loss(rows.fitted(linear_classifier(), train), test))
            losses[i, fold] = np.mean(each)
    losses[-1] = found.validation[-1, 1]
    counts = np.array([*(q for q, _ in choices), len(ladder.columns)], dtype=float)
    return ColumnCurve(counts, losses)


def joined(first: Losses, second: Losses) -> Losses:
    """Losses of more models on the same training sets."""
    return Losses(
        first.sizes,
        np.concatenate([first.validation, second.validation], axis=1),
        np.concatenate([first.training, second.training], axis=1),
    )

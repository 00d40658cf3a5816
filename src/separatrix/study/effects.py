"""What each column contributes to a prediction, against a typical row x₀.

    linear score     f(x) = f(x₀) + Σ_j b_j (x_j − x₀_j)          the effects add up
    any other        f(x) − f(x with column j as in x₀)           one column at a time

x₀ has the median of every column of numbers and the most frequent level of every other. f is the
number that a regression predicts; of a classifier it is the score of the predicted class where that
is linear, and its probability otherwise. Columns that act together have effects that do not add up
to f(x) − f(x₀); what is left is part of the other effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_clusterer

from separatrix.arrays import Floats, Ints
from separatrix.formula import nodes
from separatrix.formula.reading import LinearScore, linear_score
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import NO_TERMS, Block, Column, Kind, Schema, Term, Terms, to_array
from separatrix.study.result import ColumnReference


def typical_row(schema: Schema, references: Sequence[ColumnReference]) -> InMemory:
    """The row of medians and most frequent levels; without references, of what the schema knows."""
    known = {reference.name: reference for reference in references}
    terms, values = [], []
    for column in schema.columns:
        reference = known.get(column.name)
        if column.kind is Kind.DISCRETE:
            level = _frequent_level(column, reference)
            terms += [Term(column.name, level=each) for each in column.levels]
            values += [float(each == level) for each in column.levels]
        else:
            terms.append(Term(column.name))
            values.append(_median(column, reference))
    block = Block(np.array([values]), np.zeros((1, 0)), None, Terms(tuple(terms)), NO_TERMS)
    return InMemory(replace(schema, targets=(), weight=None, group=None, time=None), block)


def _frequent_level(column: Column, reference: ColumnReference | None) -> str:
    if reference is None or not len(reference.proportions):
        return column.levels[0] if column.levels else ""
    frequent = reference.levels[int(np.argmax(reference.proportions))]
    return frequent if frequent in column.levels else column.pooled or column.levels[0]


def _median(column: Column, reference: ColumnReference | None) -> float:
    if reference is None or not len(reference.values):
        return column.placeholder
    at = min(int(np.searchsorted(reference.proportions, 0.5)), len(reference.values) - 1)
    return float(reference.values[at])


class RowEffects(NamedTuple):
    """f at the typical row and at each row, and the effect of every column on each row."""

    base: Floats
    total: Floats
    values: Floats


class Effects:
    """The effects of the columns of a model, against a typical row."""

    def __init__(self, model: Any, typical: InMemory) -> None:
        if is_clusterer(model):
            raise InputError(
                "effects of columns are those on a prediction, which clusters do not have.",
                remedy="Leave out --explain, or name a model that separatrix fit wrote.",
            )
        self.model, self.typical = model, typical
        self.classifier = is_classifier(model)
        self.names = tuple(column.name for column in typical.schema.columns)
        self.linear = _linear_scores(model, self.classifier)
        if not self.linear and self.classifier and not hasattr(model, "predict_proba"):
            raise InputError(
                f"{type(model).__name__} has neither a linear score nor probabilities, whose parts "
                "could be given.",
                remedy="Leave out --explain, or choose another model.",
            )

    @property
    def meaning(self) -> str:
        """What the effects are, in a sentence."""
        what = "the prediction"
        if self.classifier:
            what = f"the {'score' if self.linear else 'probability'} of the predicted class"
        adds = f"base + effects + other effects = {what}"
        one = "" if self.linear else ", one column at a time"
        return f"Effects of columns on {what}, against a typical row{one}: {adds}."

    def of(self, rows: InMemory) -> RowEffects:
        """The effects for some rows."""
        return self._of_terms(rows) if self.linear else self._of_changes(rows)

    def _of_terms(self, rows: InMemory) -> RowEffects:
        """Σ over the terms of a column of coefficient × (term − typical term)."""
        designs = [
            to_array(nodes.Evaluation(nodes.GivenRows(each))(self.linear[0].design).array)
            for each in (self.typical, rows)
        ]
        start = np.array([designs[0][0] @ s.coef + s.constant for s in self.linear])
        coef = np.stack([score.coef for score in self.linear], axis=1)
        total = designs[1] @ coef + [score.constant for score in self.linear]
        chosen, sign = self._chosen_scores(total)
        own = np.arange(len(total)), chosen
        effects = np.zeros((len(total), len(self.names)))
        place = {name: j for j, name in enumerate(self.names)}
        for t, term in enumerate(self.linear[0].design.inputs.terms):
            change = designs[1][:, t] - designs[0][0, t]
            effects[:, place[term.column]] += sign * change * coef[t, chosen]
        return RowEffects(sign * start[chosen], sign * total[own], effects)

    def _chosen_scores(self, total: Floats) -> tuple[Ints, Any]:
        """The score that belongs to each row, and its sign: one score is that of two classes."""
        first = np.zeros(len(total), dtype=np.int64)
        if not self.classifier:
            return first, 1.0
        if total.shape[1] == 1:
            return first, np.where(total[:, 0] > 0.0, 1.0, -1.0)
        return total.argmax(axis=1), 1.0

    def _of_changes(self, rows: InMemory) -> RowEffects:
        """Predictions less those with one column as in the typical row."""
        block = rows.block
        x = to_array(block.x)
        chosen = self._answers(rows).argmax(axis=1) if self.classifier else None
        total = self._values(rows, chosen)
        effects = np.empty((len(total), len(self.names)))
        terms: dict[str, list[int]] = {name: [] for name in self.names}
        for j, term in enumerate(block.terms):
            terms[term.column].append(j)
        at = self.typical.block.terms.position
        for j, name in enumerate(self.names):
            changed = x.copy()
            for t in terms[name]:
                position = at.get(block.terms.items[t])
                changed[:, t] = 0.0 if position is None else self.typical.block.x[0, position]
            other = InMemory(rows.schema, replace(block, x=changed))
            effects[:, j] = total - self._values(other, chosen)
        base = self._answers(self.typical)[0]
        start = base[np.zeros(len(total), dtype=int) if chosen is None else chosen]
        return RowEffects(start, total, effects)

    def _answers(self, rows: InMemory) -> Floats:
        """Numbers, or probabilities of the classes (rows × outputs)."""
        if self.classifier:
            return np.asarray(self.model.predict_proba(rows), dtype=float)
        return np.asarray(self.model.predict(rows), dtype=float).reshape(rows.block.n, -1)

    def _values(self, rows: InMemory, chosen: Ints | None) -> Floats:
        answers = self._answers(rows)
        return answers[:, 0] if chosen is None else answers[np.arange(len(answers)), chosen]


def _linear_scores(model: Any, classifier: bool) -> list[LinearScore]:
    """The scores of a model as linear functions of one design; empty where they are not.

    A calibrated classifier is explained by the scores inside of it, which decide alike.
    """
    while classifier and hasattr(model, "estimator_"):
        model = model.estimator_
    try:
        formula = nodes.formula_of(model)
    except NoFormula:
        return []
    node = formula.mean if isinstance(formula, nodes.NumberFormula) else formula.scores
    count = 1 if not classifier or len(model.classes_) == 2 else len(model.classes_)
    if node is None or isinstance(node, nodes.Votes):
        return []
    scores = [linear_score(node, output) for output in range(count)]
    return [score for score in scores if score is not None] if None not in scores else []

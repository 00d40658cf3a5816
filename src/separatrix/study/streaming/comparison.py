"""Losses out of fold over a stream, in one pass: their moments compare candidates as rows do.

    mean and covariance of the losses of all candidates, by fold

The variance of a difference of losses follows from their covariance, so that candidates are paired
row by row although no row is stored. Every candidate is scored as it is and under every
calibration, each fitted to out-of-fold scores of other folds in a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import codes_of
from separatrix.estimators.wrapped import decision_scores
from separatrix.geometry.class_scores import most_probable
from separatrix.messages import InputError
from separatrix.probability.costs import Costs
from separatrix.rows.rows import InMemory, merge
from separatrix.rows.schema import NO_TERMS, Block, Schema, Term, Terms
from separatrix.statistics.moments import Moments
from separatrix.study import classification
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.class_scores import row_losses
from separatrix.study.comparison import Comparison, Scored
from separatrix.study.measure import metric_value
from separatrix.study.out_of_fold import OutOfFold, aligned_probabilities
from separatrix.study.result import CalibrationCheck, CrossValidatedScore, Difference
from separatrix.study.streaming.candidates import ClassData, FoldFits, folds_in

#: The calibration of probabilities that are a model's own.
OWN = "own"
#: Equal bins of the probability of the predicted class.
BINS = 10


def sampled_predictions(fits: FoldFits, data: ClassData) -> OutOfFold:
    """Out-of-fold predictions of the sample, by the models of its folds."""
    block, classes = data.sample, data.classes
    k, n = len(classes), data.sample.n
    p, scores = np.zeros((n, k)), np.zeros((n, k) if k > 2 else n)
    predicted, has_p, complete = np.zeros(n, dtype=np.int64), True, True
    for fold, at, rows in folds_in(block, data.schema):
        model = fits.models[fold]
        probabilities = aligned_probabilities(model, rows, classes)
        has_p = has_p and probabilities is not None
        complete = complete and len(model.classes_) == k
        if probabilities is not None:
            p[at], predicted[at] = probabilities, probabilities.argmax(axis=1)
        else:
            predicted[at] = codes_of(model.predict(rows), classes)
        if complete:
            scores[at] = decision_scores(model, rows)
    return OutOfFold(
        classes,
        np.arange(n),
        np.asarray(block.parts),
        data.codes(block),
        predicted,
        block.weights,
        scores if complete else None,
        p if has_p else None,
        hyperparameters=fits.hyperparameters,
        odds=has_p,
    )


@dataclass(frozen=True)
class Calibratable:
    """A candidate with calibrations by method and fold; ``default`` is that of its answers.

    ``default`` is empty where the model has no probabilities and cannot be calibrated: ``why``.
    """

    fits: FoldFits
    sampled: OutOfFold
    maps: dict[str, dict[int, classification.CalibrationMap]]
    default: str = OWN
    why: str = ""

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return self.fits.candidate.name

    @property
    def scorer(self) -> Scorer:
        """What a pass needs of it."""
        return Scorer(self.name, self.fits.models, self.maps)


@dataclass(frozen=True)
class Scorer:
    """Models and calibrations by fold, without what cannot travel to a worker."""

    name: str
    models: dict[int, Any]
    maps: dict[str, dict[int, classification.CalibrationMap]]

    def probabilities(self, fold: int, rows: InMemory, classes: Any) -> dict[str, Floats | None]:
        """Probabilities of the rows of a fold by calibration; None where there are none."""
        model = self.models[fold]
        by_model: dict[str, Floats | None] = {OWN: aligned_probabilities(model, rows, classes)}
        if self.maps:
            scores = decision_scores(model, rows)
            by_model |= {m: by_fold[fold].probabilities(scores) for m, by_fold in self.maps.items()}
        return by_model


def calibratable(fits: FoldFits, data: ClassData) -> Calibratable:
    """The candidate with every calibration that its out-of-fold scores allow."""
    out_of_fold = sampled_predictions(fits, data)
    if fits.candidate.name == BASELINE:
        return Calibratable(fits, out_of_fold, {})
    known, maps, why = (
        classification.methods_for(len(out_of_fold.classes), len(out_of_fold.truth)),
        {},
        "",
    )
    for method in known:
        try:
            maps[method] = {
                f: classification.fitted_map(
                    out_of_fold, method, np.flatnonzero(out_of_fold.fold != f)
                )
                for f in data.folds
            }
        except InputError as refusal:
            why = f"no probabilities: {refusal.what}"
    if out_of_fold.probabilities is not None:
        return Calibratable(fits, out_of_fold, maps)
    default = known[0] if known[0] in maps else ""
    return Calibratable(fits, out_of_fold, maps, default, "" if default else why)


class OutOfFoldSums:
    """Moments of the losses of all scorers by fold, and bins of their calibration; merges by ``+``.

    A column of the losses is named by candidate, calibration and metric. ``squares`` are Σw² by
    fold; ``bins`` (3 x 10) are weight, confidence and correct answers of each calibration.
    """

    def __init__(
        self,
        schema: Schema,
        targets: Terms,
        scorers: Sequence[Scorer],
        metrics: Sequence[str],
        costs: Costs | None = None,
    ) -> None:
        self.schema, self.targets, self.scorers = schema, targets, scorers
        self.metrics, self.costs = metrics, costs
        self.moments: dict[int, Moments] = {}
        self.squares: dict[int, float] = {}
        self.bins: dict[str, Floats] = {}

    def fresh(self) -> Self:
        """An empty one for the same scorers."""
        return type(self)(self.schema, self.targets, self.scorers, self.metrics, self.costs)

    def update(self, block: Block) -> None:
        """Score the rows of a block that are not of the test part."""
        classes = np.array([str(term.level) for term in self.targets], dtype=object)
        for fold, _, rows in folds_in(block, self.schema):
            truth, w = rows.block.codes(self.targets), rows.block.weights
            columns: dict[Term, Floats] = {}
            for scorer in self.scorers:
                for method, p in scorer.probabilities(fold, rows, classes).items():
                    name = f"{scorer.name} {method}"
                    if p is None:
                        answers = codes_of(scorer.models[fold].predict(rows), classes)
                    else:
                        answers, confidence = most_probable(p)
                        self._bin(name, confidence, answers == truth, w)
                    columns |= self._losses(name, truth, p, answers, w)
            self._add(fold, columns, w)

    def _losses(
        self, name: str, truth: Ints, p: Floats | None, answers: Ints, w: Floats
    ) -> dict[Term, Floats]:
        losses = {}
        for metric in self.metrics:
            if p is None and metric != "error":
                continue
            given = answers
            if metric == "cost" and self.costs is not None and p is not None:
                given = self.costs.decide(p)
            losses[Term(name, level=metric)] = row_losses(metric, truth, p, given, w, self.costs)
        return losses

    def _bin(self, name: str, confidence: Floats, right: NDArray[np.bool_], w: Floats) -> None:
        confidence = np.clip(confidence, 0.0, 1.0)
        at = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        sums = [np.bincount(at, v, BINS) for v in (w, w * confidence, w * right)]
        self.bins[name] = self.bins.get(name, np.zeros((3, BINS))) + np.array(sums)

    def _add(self, fold: int, columns: Mapping[Term, Floats], w: Floats) -> None:
        x = np.column_stack(list(columns.values()))
        none = np.empty((len(w), 0))
        added = Moments()
        added.update(Block(x, none, w, Terms(tuple(columns)), NO_TERMS))
        self.moments[fold] = self.moments.get(fold, Moments()) + added
        self.squares[fold] = self.squares.get(fold, 0.0) + float(w @ w)

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.moments = merge(self.moments, other.moments)
        total.squares = merge(self.squares, other.squares)
        total.bins = merge(self.bins, other.bins)
        return total

    # -- finished numbers ----------------------------------------------------------------------

    def has(self, name: str, metric: str) -> bool:
        """Whether the metric of a scorer is defined on every row."""
        return Term(name, level=metric) in self.total.terms.position

    @cached_property
    def total(self) -> Moments:
        """Moments of the losses of all folds."""
        return reduce(add, (self.moments[f] for f in sorted(self.moments)), Moments())

    @property
    def effective_size(self) -> float:
        """(Σw)²/Σw²."""
        return self.total.weight**2 / sum(self.squares.values())

    def difference(self, name: str, other: str, metric: str) -> Difference:
        """The loss of one minus that of the other, with the standard error of the mean."""
        a, b = (self.total.terms.position[Term(n, level=metric)] for n in (name, other))
        s = self.total.scatter
        variance = max(float(s[a, a] + s[b, b] - 2.0 * s[a, b]) / self.total.weight, 0.0)
        mean = float(self.total.mean[a] - self.total.mean[b])
        return Difference(mean, (variance / max(self.effective_size - 1, 1)) ** 0.5)

    def score(self, name: str, metric: str) -> CrossValidatedScore:
        """The metric by fold and over all rows, with its standard error."""
        term = Term(name, level=metric)

        def value(m: Moments) -> float:
            mean = np.array([m.mean[m.terms.position[term]]])
            return metric_value(metric, mean, np.ones(1))

        folds = tuple(value(self.moments[f]) for f in sorted(self.moments))
        at = self.total.terms.position[term]
        variance = max(float(self.total.scatter[at, at]) / self.total.weight, 0.0)
        error = (variance / max(self.effective_size - 1, 1)) ** 0.5
        return CrossValidatedScore(metric, folds, value(self.total), error)

    def calibration_error(self, name: str) -> float:
        """Expected calibration error of the probability of the predicted class."""
        weight, confidence, right = self.bins[name]
        return float(np.abs(confidence - right).sum() / weight.sum())


@dataclass(frozen=True)
class PairedSums:
    """Candidates by one metric, each under the calibration that it is compared by."""

    sums: OutOfFoldSums
    metric: str
    columns: Mapping[str, str]

    @property
    def names(self) -> Sequence[str]:
        """The candidates for which the metric is defined."""
        return [n for n, column in self.columns.items() if self.sums.has(column, self.metric)]

    def mean(self, name: str) -> float:
        """The mean loss of a candidate."""
        return self.sums.score(self.columns[name], self.metric).mean

    def difference(self, name: str, other: str) -> Difference:
        """The loss of one minus that of the other."""
        return self.sums.difference(self.columns[name], self.columns[other], self.metric)

    def standard_error(self, name: str) -> float:
        """The standard error of the mean loss of a candidate."""
        return self.sums.score(self.columns[name], self.metric).standard_error


@dataclass(frozen=True)
class StreamComparison(Comparison):
    """Candidates compared by the moments of their losses, each under its best calibration.

    ``columns`` are candidate and calibration as they are compared, ``predictions`` those of the
    sample with that calibration.
    """

    sums: OutOfFoldSums = field(kw_only=True)
    columns: dict[str, str] = field(default_factory=dict)
    fits: dict[str, FoldFits] = field(default_factory=dict)
    predictions: dict[str, OutOfFold] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        wanted: Sequence[Candidate],
        known: Sequence[Calibratable],
        refused: Mapping[str, str],
        sums: OutOfFoldSums,
        metrics: tuple[str, str],
    ) -> StreamComparison:
        """Candidates in order; those not ``known`` are ``refused`` with a reason."""
        scored = {c.name: Scored(c, note=refused.get(c.name, "")) for c in wanted}
        columns, predictions, fits = {}, {}, {}
        for candidate in known:
            check = _check(candidate, sums)
            default = None if candidate.default in (OWN, "") else candidate.default
            method = default if check is None else check.method
            columns[candidate.name] = f"{candidate.name} {method or OWN}"
            predictions[candidate.name] = replace(candidate.sampled, method=method, check=check)
            fits_found = fits[candidate.name] = candidate.fits
            note = candidate.why or fits_found.note
            scored[candidate.name] = Scored(
                fits_found.candidate, None, fits_found.hyperparameters, note, method
            )
        return cls(
            [*scored.values()], *metrics,
            sums=sums, columns=columns, fits=fits, predictions=predictions,
        )  # fmt: skip

    def paired(self, metric: str) -> PairedSums:
        """Mean losses and their differences, of the candidates for which the metric is defined."""
        return PairedSums(self.sums, metric, self.columns)

    def score(self, name: str, metric: str) -> CrossValidatedScore | None:
        """The metric of a candidate by fold; None where it is not defined."""
        column = self.columns.get(name, "")
        return self.sums.score(column, metric) if self.sums.has(column, metric) else None


def _check(calibratable: Calibratable, sums: OutOfFoldSums) -> CalibrationCheck | None:
    """Whether a calibration helps; None where none could be tried."""
    default = None if calibratable.default == OWN else calibratable.default
    if not set(calibratable.maps) - {default} or default == "":
        return None

    def column(method: str | None) -> str:
        return f"{calibratable.name} {method or OWN}"

    return classification.check_calibration(
        default,
        calibratable.maps,
        lambda m: sums.score(column(m), "log_loss"),
        lambda m, other: sums.difference(column(m), column(other), "log_loss"),
        lambda m: sums.calibration_error(column(m)),
    )

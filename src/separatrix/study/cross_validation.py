"""Cross-validation of the candidates, the choice among them, and the learning curve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from separatrix.messages import InputError, SeparatrixWarning
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.folds import TEST, RowFolds, error_on
from separatrix.study.progress import Step
from separatrix.study.result import CrossValidatedScore, Entry, LearningCurve

T = TypeVar("T")

#: Standard errors by which the baseline must be beaten.
BASELINE_ERRORS = 2.0
#: What each metric is called in a sentence.
METRIC_NAMES = {"log_loss": "log loss", "error": "error rate"}
#: Fractions of the training rows of a fold.
FRACTIONS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
MIN_ROWS = 5
#: Terms, and terms times rows times classes, from which fits take so long that every other point
#: and two folds must do.
MANY_TERMS = 300
MUCH_WORK = 3e7


class Folds(Protocol):
    """Data in folds that a candidate can be fitted to without one of them."""

    @property
    def k(self) -> int:
        """Number of folds."""

    def fit_without(self, candidate: Candidate, fold: int) -> Any:
        """The candidate fitted to all folds but one."""

    def error(self, candidate: Candidate, model: Any, fold: int) -> float:
        """Error of a fitted model on one fold."""


@contextmanager
def muted() -> Iterator[None]:
    """Without warnings: they are shown once, for the model that is chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        yield


def cross_validate(
    candidate: Candidate, folds: Folds, evaluate: Callable[[Any, int], T]
) -> tuple[list[T], dict[str, tuple[float, ...]]]:
    """``evaluate(model, fold)`` of a model fitted to the other folds; tuned values by name."""
    results, tuned = [], []
    with muted():
        for fold in range(folds.k):
            model = folds.fit_without(candidate, fold)
            results.append(evaluate(model, fold))
            tuned.append([float(getattr(model, name)) for name in candidate.tuned])
    columns = zip(candidate.tuned, zip(*tuned, strict=True), strict=True)
    return results, {name.rstrip("_"): tuple(values) for name, values in columns}


def score(metric: str, values: Sequence[float]) -> CrossValidatedScore:
    """Mean over the folds, and its standard error s/√k."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return CrossValidatedScore(metric, tuple(values), float(np.mean(values)), error)


def compare(
    candidates: Sequence[Candidate],
    folds_for: Callable[[Candidate], Folds],
    metric: str,
    step: Step,
) -> tuple[Entry, ...]:
    """Cross-validated error of every candidate, simplest first."""
    entries = []
    for candidate in candidates:
        step(f"comparing {candidate.name}")
        folds = folds_for(candidate)
        try:
            errors, tuned = cross_validate(candidate, folds, partial(folds.error, candidate))
        except InputError as refusal:
            entries.append(refused(candidate, metric, refusal))
            continue
        found = score(metric, errors)
        spread = (found.folds, found.mean, found.standard_error)
        entries.append(Entry(candidate.name, candidate.label, metric, *spread, tuned))
    return tuple(entries)


def refused(candidate: Candidate, metric: str, refusal: InputError) -> Entry:
    """The line of a candidate that refuses the data; the baseline must not."""
    if candidate.name == BASELINE:
        raise refusal
    nan = float("nan")
    return Entry(candidate.name, candidate.label, metric, (), nan, nan, note=refusal.what)


def choose(entries: Sequence[Entry]) -> tuple[str, str]:
    """The simplest candidate within one standard error of the best, and the reason in words.

    ``entries`` come simplest first. The baseline wins unless something beats it by more than two
    standard errors of the differences between folds: chance alone beats it half of the time.
    """
    scored = [e for e in entries if np.isfinite(e.mean)]
    if len(scored) == 1 < len(entries):
        why = next(e.note for e in entries if e.name != BASELINE)
        return BASELINE, f"No other model could be scored on every fold: {why}"
    baseline = next(e for e in scored if e.name == BASELINE)
    better = [e for e in scored if _beats(e, baseline)]
    if not better:
        return (
            BASELINE,
            "No model beats the baseline by more than chance: the columns do not help to predict "
            "the target.",
        )
    best = min(better, key=lambda e: e.mean)
    measure = METRIC_NAMES.get(best.metric, "error")
    limit = best.mean + best.standard_error
    winner = next(e for e in better if e.mean <= limit)
    if winner.name == best.name:
        others = [e for e in scored if e.name not in (BASELINE, best.name)]
        if not others:
            return (
                winner.name,
                f"{winner.name} is the only model compared, and beats the baseline.",
            )
        return winner.name, (
            f"{winner.name} has the smallest cross-validated {measure}, and no simpler model "
            "comes within one standard error of it."
        )
    return winner.name, (
        f"{winner.name} is the simplest model whose cross-validated {measure} is within one "
        f"standard error of the best, {best.name}."
    )


def _beats(entry: Entry, baseline: Entry) -> bool:
    """Whether the baseline is worse by more than the differences between folds explain."""
    gains = np.subtract(baseline.folds, entry.folds)
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > BASELINE_ERRORS * error)


def learning_curve(
    candidate: Candidate, folds: RowFolds, metric: str, seed: int
) -> LearningCurve | None:
    """Training and validation error by number of training rows, on the folds alone.

    Each size is a prefix of one random order, so that a larger set contains the smaller ones.
    """
    order = np.random.default_rng(seed).permutation(len(folds.labels))
    parts = folds.labels[order]
    terms = len(folds.table.block.terms)
    work = terms * len(folds.training) * folds.table.block.y.shape[1]
    slow = candidate.slow or terms > MANY_TERMS or work > MUCH_WORK
    used = folds.fold_labels[:2] if slow else folds.fold_labels
    splits = [
        (order[(parts != TEST) & (parts != fold)], np.flatnonzero(folds.labels == fold))
        for fold in used
    ]
    smallest = min(len(training) for training, _ in splits)
    fractions = FRACTIONS[1::2] if slow else FRACTIONS
    sizes, train, validation = [], [], []
    source = folds.source(candidate)
    for size in sorted({max(MIN_ROWS, int(fraction * smallest)) for fraction in fractions}):
        errors = []
        try:
            with muted():
                for training, outside in splits:
                    model = folds.fitted(candidate, training[:size])
                    used_rows = (training[:size], outside)
                    errors.append([error_on(model, source.take(rows)) for rows in used_rows])
        except InputError:  # too few rows for this model: the curve starts further right
            continue
        sizes.append(size)
        train.append([a for a, _ in errors])
        validation.append([b for _, b in errors])
    if len(sizes) < 2:
        return None
    return LearningCurve(tuple(sizes), np.array(train), np.array(validation), metric)

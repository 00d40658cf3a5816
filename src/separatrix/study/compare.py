"""Cross-validation of the candidates on the folds, and the choice among them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from separatrix.messages import InputError, SeparatrixWarning
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.result import Entry


class Folding(Protocol):
    """Something that can tell the error of a candidate on a fold."""

    @property
    def k(self) -> int:
        """Number of folds."""

    def fold_error(self, candidate: Candidate, fold: int) -> tuple[float, Any]:
        """Error on the fold of the candidate fitted to the other folds, and the fitted model."""


def entry(candidate: Candidate, bench: Folding, metric: str) -> Entry:
    """One line of the leaderboard. A candidate that refuses the data says why in its note."""
    errors, chosen = [], []
    try:
        with warnings.catch_warnings():
            # shown once, for the model that is kept
            warnings.simplefilter("ignore", SeparatrixWarning)
            for fold in range(bench.k):
                error, model = bench.fold_error(candidate, fold)
                errors.append(error)
                chosen.append([float(getattr(model, name)) for name in candidate.tuned])
    except InputError as refusal:
        if candidate.name == BASELINE:
            raise
        nan = float("nan")
        return Entry(candidate.name, candidate.label, metric, (), nan, nan, note=refusal.what)
    spread = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
    columns = zip(candidate.tuned, zip(*chosen, strict=True), strict=True)
    tuned = {name.rstrip("_"): tuple(values) for name, values in columns}
    return Entry(
        candidate.name,
        candidate.label,
        metric,
        tuple(errors),
        float(np.mean(errors)),
        spread,
        tuned,
    )


#: Standard errors by which the baseline must be beaten.
SURE = 2.0
#: What each measure is called in a sentence.
CALLED = {"log_loss": "log loss", "error": "error rate"}


def choose(entries: Sequence[Entry]) -> tuple[str, str]:
    """The simplest candidate within one standard error of the best, and the reason in words.

    ``entries`` come simplest first. The baseline wins unless something beats it by more than two
    standard errors of the differences between folds: chance alone beats it half of the time.
    """
    judged = [e for e in entries if np.isfinite(e.mean)]
    if len(judged) == 1 < len(entries):
        why = next(e.note for e in entries if e.name != BASELINE)
        return BASELINE, f"No other model could be judged on every fold: {why}"
    dummy = next(e for e in judged if e.name == BASELINE)
    better = [e for e in judged if _beats(e, dummy)]
    if not better:
        return (
            BASELINE,
            "Nothing beats the baseline by more than chance: the columns do not help to predict "
            "the target.",
        )
    best = min(better, key=lambda e: e.mean)
    measure = CALLED.get(best.metric, "error")
    limit = best.mean + best.standard_error
    winner = next(e for e in better if e.mean <= limit)
    if winner.name == best.name:
        others = [e for e in judged if e.name not in (BASELINE, best.name)]
        if not others:
            return (
                winner.name,
                f"{winner.name} is the only model asked for, and beats the baseline.",
            )
        return winner.name, (
            f"{winner.name} has the smallest cross-validated {measure}, and no simpler model "
            "comes within one standard error of it."
        )
    return winner.name, (
        f"{winner.name} is the simplest model whose cross-validated {measure} is within one "
        f"standard error of the best, {best.name}."
    )


def _beats(entry: Entry, dummy: Entry) -> bool:
    """Whether the folds agree that the baseline is worse."""
    gains = np.subtract(dummy.folds, entry.folds)
    return bool(gains.mean() > SURE * np.std(gains, ddof=1) / np.sqrt(len(gains)))


def compare(
    candidates: Sequence[Candidate],
    bench_for: Callable[[Candidate], Folding],
    metric: str,
    step: Callable[[str], None],
) -> tuple[Entry, ...]:
    """Every candidate on every fold, simplest first."""
    entries = []
    for candidate in candidates:
        step(f"comparing {candidate.name}")
        entries.append(entry(candidate, bench_for(candidate), metric))
    return tuple(entries)

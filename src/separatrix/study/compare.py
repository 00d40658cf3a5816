"""Cross-validation of the candidates on the folds, and the choice among them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from separatrix.messages import InputError, Notice
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.result import Entry


class Bench(Protocol):
    """Something that can tell the error of a candidate on a fold."""

    @property
    def k(self) -> int:
        """Number of folds."""

    def fold_error(self, candidate: Candidate, fold: int) -> tuple[float, Any]:
        """Error on the fold of the candidate fitted to the other folds, and the fitted model."""


def entry(candidate: Candidate, bench: Bench, metric: str) -> Entry:
    """One line of the leaderboard. A candidate that refuses the data says why in its note."""
    errors, chosen = [], []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)  # said once, about the model that is kept
            for fold in range(bench.k):
                error, model = bench.fold_error(candidate, fold)
                errors.append(error)
                if candidate.tuned:
                    chosen.append(float(getattr(model, candidate.tuned)))
    except InputError as refusal:
        if candidate.name == BASELINE:
            raise
        nan = float("nan")
        return Entry(candidate.name, candidate.label, metric, (), nan, nan, note=str(refusal))
    spread = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
    tuned = {candidate.tuned.rstrip("_"): tuple(chosen)} if candidate.tuned else {}
    return Entry(
        candidate.name,
        candidate.label,
        metric,
        tuple(errors),
        float(np.mean(errors)),
        spread,
        tuned,
    )


def choose(entries: Sequence[Entry]) -> tuple[str, str]:
    """The simplest candidate within one standard error of the best, and the reason in words.

    ``entries`` come simplest first. The baseline wins only if nothing has a smaller error.
    """
    judged = [e for e in entries if np.isfinite(e.mean)]
    best = min(judged, key=lambda e: e.mean)
    if best.name == BASELINE:
        return (
            BASELINE,
            "Nothing beats the baseline: the columns do not help to predict the target.",
        )
    limit = best.mean + best.standard_error
    winner = next(e for e in judged if e.name != BASELINE and e.mean <= limit)
    if winner.name == best.name:
        others = [e for e in judged if e.name not in (BASELINE, best.name)]
        if not others:
            return (
                winner.name,
                f"{winner.name} is the only model asked for, and beats the baseline.",
            )
        return winner.name, (
            f"{winner.name} has the smallest cross-validated error, and no simpler model comes "
            "within one standard error of it."
        )
    return winner.name, (
        f"{winner.name} is the simplest model whose cross-validated error is within one standard "
        f"error of the best, {best.name}."
    )


def compare(
    candidates: Sequence[Candidate],
    bench_for: Callable[[Candidate], Bench],
    metric: str,
    step: Callable[[str], None],
) -> tuple[Entry, ...]:
    """Every candidate on every fold, simplest first."""
    entries = []
    for candidate in candidates:
        step(f"comparing {candidate.name}")
        entries.append(entry(candidate, bench_for(candidate), metric))
    return tuple(entries)

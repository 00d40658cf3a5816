"""Cross-validation of the candidates: fits without one fold, and lines of the leaderboard."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from separatrix.messages import SeparatrixWarning
from separatrix.study.candidates import Candidate

T = TypeVar("T")


class Folds(Protocol):
    """Data in folds that a candidate can be fitted to without one of them."""

    @property
    def k(self) -> int:
        """Number of folds."""

    def fit_without(self, candidate: Candidate, fold: int) -> Any:
        """The candidate fitted to all folds but one."""


@contextmanager
def muted() -> Iterator[None]:
    """Without warnings: they are shown once, for the model that is chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        yield


def cross_validate(
    candidate: Candidate, folds: Folds, evaluate: Callable[[Any, int], T]
) -> tuple[list[T], dict[str, tuple[Any, ...]]]:
    """``evaluate(model, fold)`` of a model fitted to the other folds; tuned values by name."""
    results, tuned = [], []
    with muted():
        for fold in range(folds.k):
            model = folds.fit_without(candidate, fold)
            results.append(evaluate(model, fold))
            tuned.append([float(getattr(model, name)) for name in candidate.tuned])
    columns = zip(candidate.tuned, zip(*tuned, strict=True), strict=True)
    return results, {name.rstrip("_"): tuple(values) for name, values in columns}

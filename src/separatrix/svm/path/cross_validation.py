"""Which C of a path predicts best: held-out errors of every fold, for all C at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Matrix
from separatrix.selection.folds import DEFAULT_FOLDS, folds_of
from separatrix.svm.path.scores import error_steps, scores_along
from separatrix.svm.path.trace import SVMTrace

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
#: The paths, one for each output, over some of the training rows.
Traces = Callable[[NDArray[np.int64]], list[SVMTrace]]

#: Deviations from zero at which inner products lose digits that matter.
FAR_AWAY = 1e3
#: Values of C that several classes are compared at.
GRID = 200


@dataclass(frozen=True)
class PathTraining:
    """What the path was made of: rows, codes, weights, and all inner products.

    Those of the linear kernel may be taken from a ``middle``: the intercept is free, so nothing but
    it changes, and columns far from zero lose no digits.
    """

    x: Matrix
    codes: NDArray[np.int64]
    w: Floats
    gram: Floats
    rows: NDArray[np.int64]
    given: int
    middle: Floats | None = None


def far_middle(x: Matrix) -> Floats | None:
    """Where to see dense rows from if zero is far from them; None if it is not.

    One deviation beside the mean: seen from the mean itself rows would sum to zero, and rounding
    would have to say which of the ties that follow come first.
    """
    if not isinstance(x, np.ndarray):
        return None
    mean, spread = x.mean(axis=0), x.std(axis=0)
    return mean + spread if (np.abs(mean) > FAR_AWAY * spread).any() else None


def folds_among(kept: PathTraining, cv: Any) -> list[Pair]:
    """(train, test) among the training rows; ``cv`` counts rows of no weight as well."""
    cv = DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, int | np.integer):
        rarest = int(np.bincount(kept.codes).min())
        if min(int(cv), rarest) < 2:
            raise InputError(
                f"cv={cv} folds cannot be made of n_samples={len(kept.codes)} rows: the rarest "
                f"class has {rarest}.",
                remedy="Give at least 2 rows of each class and 2 folds, or give C.",
            )
        folds = StratifiedKFold(min(int(cv), rarest))
        return list(folds_of(folds, len(kept.codes), kept.codes).pairs)
    codes = np.zeros(kept.given, dtype=np.int64)
    codes[kept.rows] = kept.codes
    place = np.full(kept.given, -1)
    place[kept.rows] = np.arange(len(kept.rows))
    pairs = [
        (place[a][place[a] >= 0], place[b][place[b] >= 0])
        for a, b in folds_of(cv, kept.given, codes).pairs
    ]
    if not all(len(train) and len(test) for train, test in pairs):
        raise InputError("A side of a fold has no rows of weight.", remedy="Use fewer folds.")
    return pairs


def errors_for_all(
    kept: PathTraining, pairs: list[Pair], traces: Traces, C_max: float
) -> tuple[Floats, Floats]:
    """Two classes: every step of the error, and a C between each two steps."""
    steps = []
    for train, test in pairs:
        path = traces(train)[0]
        y = np.where(kept.codes[test] == 1, 1.0, -1.0)
        steps.append(
            error_steps(
                path,
                kept.gram[np.ix_(test, train)],
                y,
                kept.w[test],
                C_max,
            )
        )
    at = np.unique(np.concatenate([step.at for step in steps]))
    at = at[(at > 0.0) & (at < C_max)]
    bounds = np.concatenate([[at[0] / 4.0 if len(at) else C_max / 4.0], at, [C_max]])
    wide = bounds[1:] > bounds[:-1] * (1.0 + 1e-7)  # steps that rounding tells apart are one
    Cs = np.sqrt(bounds[1:] * bounds[:-1])[wide]
    return Cs, np.stack([step(Cs) for step in steps], axis=1)


def errors_compared(
    kept: PathTraining, pairs: list[Pair], traces: Traces, paths: list[SVMTrace], C_max: float
) -> tuple[Floats, Floats]:
    """More classes: the error at breakpoints, evenly chosen among those of all classes."""
    found = np.unique(np.concatenate([p.breakpoints for p in paths]))
    found = found[found <= C_max] if len(found) else np.array([C_max])
    even = np.linspace(0, len(found) - 1, min(GRID, len(found))).astype(int)
    Cs, errors = found[even], []
    for train, test in pairs:
        cross = kept.gram[np.ix_(test, train)]
        scores = []
        for path in traces(train):
            points = np.minimum(Cs, path.end)
            segments = np.array([path.segment_of(C) for C in points])
            scores.append(scores_along(path, cross, points, segments))
        wrong = np.argmax(np.stack(scores), axis=0) != kept.codes[test][:, None]
        errors.append(np.average(wrong, axis=0, weights=kept.w[test]))
    return Cs, np.stack(errors, axis=1)

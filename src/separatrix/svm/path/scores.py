"""Along a path of support vector machines: scores of rows, errors for every C, gaps.

Scores are straight lines between breakpoints, so a row changes sides at most once in a segment:
the error is a step function of C, and all its steps are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.svm.path.trace import SVMTrace

#: Segments whose α are held at a time.
_CHUNK = 256


@dataclass(frozen=True)
class Steps:
    """A step function of C: ``first`` for small C, then ``values[j]`` from ``at[j]`` on."""

    at: Floats
    values: Floats
    first: float

    def __call__(self, C: Floats) -> Floats:
        """The value at each C."""
        where = np.searchsorted(self.at, C, side="right")
        return np.concatenate([[self.first], self.values])[where]


def ends_of(trace: SVMTrace, C_max: float) -> tuple[Floats, Floats]:
    """Where every segment begins and ends; the last one ends at C_max."""
    top = min(C_max, trace.end)
    starts = np.minimum(trace.starts, top)
    return starts, np.append(starts[1:], top)


def scores_along(trace: SVMTrace, cross: Floats, C: Floats, segments: NDArray[np.int64]) -> Floats:
    """Scores (rows x points) of new rows at each C by the lines of the segment given.

    ``cross`` is κ(new, training).
    """
    out = np.empty((len(cross), len(C)))
    for begin in range(0, len(C), _CHUNK):
        part = range(begin, min(begin + _CHUNK, len(C)))
        alpha = np.stack([trace.alpha(C[j], int(segments[j])) for j in part], axis=1)
        b = [trace.intercept(C[j], int(segments[j])) for j in part]
        out[:, part] = cross @ (trace.y[:, None] * alpha) + np.array(b)
    return out


def error_steps(trace: SVMTrace, cross: Floats, y: Floats, w: Floats, C_max: float) -> Steps:
    """Weighted share of the new rows, labelled y = ±1, that are on the wrong side, for every C."""
    starts, ends = ends_of(trace, C_max)
    real = np.flatnonzero(ends > starts)
    if not len(real):
        real = np.array([len(starts) - 1])
    left = y[:, None] * scores_along(trace, cross, starts[real], real)
    right = y[:, None] * scores_along(trace, cross, ends[real], real)
    wrong = [_wrong(side, y[:, None]) for side in (left, right)]
    # Within a segment a line crosses zero where its two ends say; between two segments b may jump.
    inside = np.nonzero(wrong[0] != wrong[1])
    low, high = left[inside], right[inside]
    width = (ends - starts)[real][inside[1]]
    share = np.abs(low) / np.maximum(np.abs(low) + np.abs(high), np.finfo(float).tiny)
    jump = np.nonzero(wrong[1][:, :-1] != wrong[0][:, 1:])
    at = np.concatenate([starts[real][inside[1]] + share * width, starts[real][1:][jump[1]]])
    change = np.concatenate(
        [
            w[inside[0]] * np.where(wrong[1][inside], 1.0, -1.0),
            w[jump[0]] * np.where(wrong[0][:, 1:][jump], 1.0, -1.0),
        ]
    )
    order = np.argsort(at, kind="stable")
    first = float(w @ wrong[0][:, 0])
    total = float(w.sum())
    values = np.clip((first + np.cumsum(change[order])) / total, 0.0, 1.0)
    return Steps(at[order], values, first / total)


def _wrong(lead: Floats, y: Floats) -> Floats:
    """A score of zero counts as the negative class, as in predictions."""
    return np.where(lead == 0.0, y > 0.0, lead < 0.0)


def gaps_along(trace: SVMTrace, gram: Floats, C: Floats) -> Floats:
    """Primal − dual objective at each C, from the rows and α alone, as a share of the primal."""
    gaps = np.empty(len(C))
    for j, value in enumerate(C):
        alpha = trace.alpha(value)
        scores = gram @ (trace.y * alpha)
        b = trace.intercept(value)
        square = float(scores @ (trace.y * alpha))
        loss = value * float(trace.w @ np.maximum(1.0 - trace.y * (scores + b), 0.0))
        primal = 0.5 * square + loss
        gaps[j] = (square + loss - float(alpha.sum())) / (primal or 1.0)
    return gaps


def certify_point(
    trace: SVMTrace, gram: Floats, C: float, alpha: Floats, b: float, *, tol: float
) -> Certificate:
    """The proof at one C, from the inner products, α and b alone.

    ``kkt`` is the worst of Σ y α against Σ α, and of what every row violates: the smaller of its
    distance to the margin and the share of α that is wrong for its side.
    """
    scores = gram @ (trace.y * alpha)
    square = float(scores @ (trace.y * alpha))
    short = 1.0 - trace.y * (scores + b)
    loss = C * float(trace.w @ np.maximum(short, 0.0))
    unbalanced = abs(float(trace.y @ alpha))
    gap = max(square + loss - float(alpha.sum()), 0.0) + unbalanced * abs(b)
    share = alpha / (C * trace.w)
    wrong = np.minimum(np.abs(short), np.where(short > 0.0, 1.0 - share, share))
    primal = 0.5 * square + loss
    return Certificate(
        claim=f"Support vector machine at C = {C:.6g}, one point of a path of {len(trace)} "
        "straight segments",
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=max(float(wrong.max()), unbalanced / (float(alpha.sum()) or 1.0)),
        tolerance=tol,
        scale=C * float(trace.w.sum()),
        statistic="the rows",
    )

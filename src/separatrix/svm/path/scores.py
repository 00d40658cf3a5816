"""Along a path of SVMs: scores of rows, errors for every C, certificates.

Scores are linear between breakpoints, so that a prediction changes at most once in a segment: the
error is a step function of C, and all its steps are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.svm.certificate import certify_kernel_svm
from separatrix.svm.path.trace import SVMTrace
from separatrix.svm.problem import classification_problem, clearing_factor, score_rounding

#: Rows that rounding may put across their margin, and what that may cost relative to ‖w‖².
_NEAR, _NEGLIGIBLE = 1e-6, 1e-9
#: Segments whose α are computed at a time.
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


def scores_along(trace: SVMTrace, cross: Floats, C: Floats, segments: NDArray[np.int64]) -> Floats:
    """Scores (rows x points) of new rows at each C, by the linear functions of the segment given.

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
    """Weighted error rate on new rows with labels y = ±1, as a function of C."""
    top = min(C_max, trace.end)
    starts = np.minimum(trace.starts, top)
    ends = np.append(starts[1:], top)
    real = np.flatnonzero(ends > starts)
    if not len(real):
        real = np.array([len(starts) - 1])
    left = y[:, None] * scores_along(trace, cross, starts[real], real)
    right = y[:, None] * scores_along(trace, cross, ends[real], real)
    wrong = [_wrong(side, y[:, None]) for side in (left, right)]
    # Within a segment scores are interpolated linearly; between two segments b may jump.
    crossing = np.nonzero(wrong[0] != wrong[1])
    low, high = left[crossing], right[crossing]
    width = (ends - starts)[real][crossing[1]]
    fraction = np.abs(low) / np.maximum(np.abs(low) + np.abs(high), np.finfo(float).tiny)
    jump = np.nonzero(wrong[1][:, :-1] != wrong[0][:, 1:])
    at = np.concatenate([starts[real][crossing[1]] + fraction * width, starts[real][1:][jump[1]]])
    change = np.concatenate(
        [
            w[crossing[0]] * np.where(wrong[1][crossing], 1.0, -1.0),
            w[jump[0]] * np.where(wrong[0][:, 1:][jump], 1.0, -1.0),
        ]
    )
    order = np.argsort(at, kind="stable")
    first = float(w @ wrong[0][:, 0])
    total = float(w.sum())
    values = np.clip((first + np.cumsum(change[order])) / total, 0.0, 1.0)
    return Steps(at[order], values, first / total)


def _wrong(margin: Floats, y: Floats) -> Floats:
    """Whether the prediction is wrong; a score of zero predicts the negative class."""
    return np.where(margin == 0.0, y > 0.0, margin < 0.0)


def gaps_along(trace: SVMTrace, gram: Floats, C: Floats, *, mercer: bool = True) -> Floats:
    """Duality gap relative to the objective at each C, from the rows and α alone.

    NaN without a Mercer kernel, whose dual is no bound.
    """
    found = [certify_at(trace, gram, float(value), mercer=mercer) for value in C]
    return np.array([proof.gap / (proof.primal or 1.0) for proof in found])


def certify_at(trace: SVMTrace, gram: Floats, C: float, *, mercer: bool = True) -> Certificate:
    """The certificate at one C, from the Gram matrix, β and b alone."""
    return certify_point(
        trace, gram, C, trace.y * trace.alpha(C), trace.intercept(C), mercer=mercer
    )


def certify_point(
    trace: SVMTrace, gram: Floats, C: float, beta: Floats, b: float, *, mercer: bool = True
) -> Certificate:
    """The certificate of β and b as the solution at C."""
    claim = f"Support vector machine at C = {C:.6g}, on a path of {len(trace)} linear segments"
    problem = classification_problem(trace.y, C * trace.w)
    return certify_kernel_svm(
        problem, beta, gram @ beta, b, tolerance=1e-6, claim=claim, mercer=mercer
    )


def clear_of_rounding(trace: SVMTrace, gram: Floats, C: float) -> tuple[Floats, float]:
    """β and b at C, grown where rounding of rows on the margin would cost much and β may grow."""
    alpha, b = trace.alpha(C), trace.intercept(C)
    beta, cost = trace.y * alpha, C * trace.w
    f = gram @ beta
    z, noise = trace.y * (f + b), score_rounding(np.diag(gram), beta, b)
    factor = clearing_factor(z, cost, noise)
    near = np.abs(1.0 - z) <= _NEAR
    matters = float(cost[near] @ noise[near]) > _NEGLIGIBLE * float(beta @ f)
    if matters and (factor * alpha <= cost).all():
        return factor * beta, factor * b
    return beta, b

"""What is shown of a process with inducing points: bounds on the evidence of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.bayes.process.inducing.fit import GAP, MOST_POINTS
from separatrix.bayes.process.inducing.stages import InducingFit
from separatrix.bayes.process.learning import Learned
from separatrix.kernels.base import n_items
from separatrix.optimize.solution import Certificate

#: Derivative in nats per standard error up to which an ascent has ended.
ENDED = 0.05


def certify(fit: InducingFit, at: str = "the given hyperparameters") -> Certificate:
    """Lower and upper bound, their gap a row, what was added to factor, and the slope.

    ``at`` says where hyperparameters that were not learned come from.
    """
    bound, m = fit.bound, n_items(fit.points)
    notes = [
        f"The log evidence is between {bound.lower:.8g} and {bound.upper:.8g}: "
        f"known to {fit.gap:.2g} nats a row.",
        _gap_note(fit, m),
    ]
    jitter = bound.inducing.jitter
    if jitter:
        notes.append(
            f"To factor the kernel matrix of the points, {jitter:.0e} of its mean diagonal was "
            "added to it; the bounds hold with it."
        )
    if fit.learned is not None:
        at = learned_where([fit.learned], "lower bound")
        notes.append(_learning_note(fit))
    return Certificate(
        claim=f"The posterior of a Gaussian process through {m} inducing points, at {at}",
        primal=-bound.lower,
        statistic="sums of all rows in double precision",
        notes=tuple(notes),
        promised=(),
    )


def _gap_note(fit: InducingFit, m: int) -> str:
    if fit.gap <= GAP:
        return f"That is within {GAP:g} nats a row: the points stand for all rows."
    if fit.automatic and m >= MOST_POINTS:
        return f"The budget of {MOST_POINTS} points is spent; n_inducing=… allows more."
    if fit.automatic:
        return "No other row would be a better point: the rest is noise or rounding."
    left = 0.5 * fit.bound.residual_trace / fit.bound.noise / max(fit.bound.sums.weight, 1.0)
    return (
        f"Of that the lower bound gives away {left:.2g} for variance that the points leave; the "
        "upper one has to allow for all of it in one direction, and is far off in many columns."
    )


def _learning_note(fit: InducingFit) -> str:
    assert fit.learned is not None
    rows = f"{fit.sample_rows:,} rows" + (", then of all rows" if fit.all_rows else "")
    return (
        f"They were learned on the bound of {rows}; its derivative there is at most "
        f"{largest_slope(fit.learned):.1g} nats per standard error."
    )


def largest_slope(learned: Learned) -> float:
    """The largest derivative where learning ended, in nats per standard error."""
    curvature = np.maximum(np.diagonal(learned.curvature), 1.0)
    slopes = np.abs(learned.gradient) / np.sqrt(curvature) * ~learned.at_limit
    return float(slopes.max(initial=0.0))


def learned_where(learned: Sequence[Learned], bound: str) -> str:
    """Whether hyperparameters maximize a bound, or were learned by it in few steps."""
    ended = max(largest_slope(one) for one in learned) <= ENDED
    return f"hyperparameters {'that maximize' if ended else 'learned in few steps on'} its {bound}"

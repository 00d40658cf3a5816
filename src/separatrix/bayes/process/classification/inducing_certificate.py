"""What is shown of processes of classes through inducing points: a bound, and that q is the best.

Of the best q the mean is m = Σ w (y − E σ(f)) a. Both sides, and the bound, are computed in one
more pass over the rows, with kernel values, factors and integrals of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import expit

from separatrix.bayes.process.classification.inducing import GAIN, MOST_POINTS, InducingBinary
from separatrix.bayes.process.inducing.certificate import largest_slope, learned_where
from separatrix.bayes.process.inducing.points import cross_values
from separatrix.bayes.process.inducing.sums import reduced
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block
from separatrix.rows.rows import Rows

#: Residual of the mean's equation, relative to the size of its terms.
TOLERANCE = 1e-6
#: Rows at a time; nodes of an integral reach this far, and are this far apart in units of f.
STRIP, REACH, APART = 2048, 8.0, 0.4


class MeanEquation:
    """Σ w (y − E σ(f)) a, the size of its terms, and Σ w E[y f − log(1 + eᶠ)], of some rows."""

    def __init__(self, one: InducingBinary) -> None:
        self.one = one
        m = one.stored_rows
        gram = cross_values(one.kernel, one.points, one.points)
        raised = gram + one.inducing.jitter * np.diagonal(gram).mean() * np.eye(m)
        self.factor = np.linalg.cholesky(0.5 * (raised + raised.T))
        self.covariance = np.linalg.inv(np.eye(m) + one.gram)
        self.mean = self.covariance @ one.inner
        self.total, self.size, self.likelihood = np.zeros(m), np.zeros(m), 0.0

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.one)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for start in range(0, block.n, STRIP):
            self._add(block.take(slice(start, start + STRIP)))

    def _add(self, block: Block) -> None:
        x, y, w = block.dense(), block.y[:, 0], block.weights
        kernel = self.one.kernel
        a = np.linalg.solve(self.factor, cross_values(kernel, x, self.one.points).T).T
        left = np.asarray(kernel.diagonal(x), dtype=float) - (a**2).sum(axis=1)
        center = a @ self.mean
        spread = np.sqrt(np.maximum(left, 0.0) + ((a @ self.covariance) * a).sum(axis=1))
        step = min(0.25, APART / max(float(spread.max(initial=0.0)), 1e-300))
        t = np.linspace(-REACH, REACH, 2 * int(np.ceil(REACH / step)) + 1)
        weights = np.exp(-0.5 * t**2) / np.exp(-0.5 * t**2).sum()
        slope, softplus = y.copy(), np.zeros(len(y))
        for node, weight in zip(t, weights, strict=True):
            f = center + spread * node
            slope -= weight * expit(f)
            softplus += weight * np.logaddexp(0.0, f)
        self.total += a.T @ (w * slope)
        self.size += np.abs(a).T @ (w * np.abs(slope))
        self.likelihood += float(w @ (y * center - softplus))

    def __add__(self, other: Self) -> Self:
        found = self.fresh()
        for name in ("total", "size", "likelihood"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        return found

    @property
    def residual(self) -> float:
        """The largest violation of the equation, relative to the size of its terms."""
        worst = np.abs(self.total - self.mean) / np.maximum(self.size, 1.0)
        return float(worst.max(initial=0.0))

    @property
    def bound(self) -> float:
        """F."""
        sign, log_determinant = np.linalg.slogdet(self.covariance)
        trace = float(np.trace(self.covariance)) - len(self.mean)
        divergence = 0.5 * (trace + float(self.mean @ self.mean) - float(log_determinant))
        return self.likelihood - divergence if sign > 0 else -np.inf


def certify_inducing(processes: Sequence[InducingBinary], tables: Sequence[Rows]) -> Certificate:
    """The worst of several processes, each with its rows; the mean of their bounds."""
    found = [reduced(t, MeanEquation(one)) for one, t in zip(processes, tables, strict=True)]
    bound = float(np.mean([one.bound for one in found]))
    several = len(processes) > 1
    points = max(one.stored_rows for one in processes)
    of = f"{len(processes)} processes" if several else "a process"
    learned = [one.learned for one in processes if one.learned is not None]
    by_laplace = any(one.by_laplace for one in processes)
    where = "hyperparameters that maximize Laplace's evidence of some rows"
    if not (learned and by_laplace):
        where = learned_where(learned, "bound") if learned else "the given hyperparameters"
    notes = [
        f"The {'mean ' if several else ''}log evidence is at least {bound:.8g}; "
        "no upper bound is known.",
        *_points_notes(processes, points),
    ]
    if learned and not by_laplace:
        notes.append(_learning_note(processes, max(largest_slope(one) for one in learned)))
    return Certificate(
        claim=f"The best normal approximation of {of} of two classes through {points} inducing "
        f"points, at {where}",
        kkt=max(one.residual for one in found),
        tolerance=TOLERANCE,
        primal=-bound,
        statistic="sums of all rows in double precision",
        notes=tuple(notes),
        promised=("kkt",),
    )


def _points_notes(processes: Sequence[InducingBinary], points: int) -> list[str]:
    notes = []
    gains = [one.gain for one in processes if np.isfinite(one.gain)]
    if gains:
        notes.append(f"Half as many points give {max(gains):.2g} nats a row less.")
        if max(gains) > GAIN and points >= MOST_POINTS:
            notes.append(f"The budget of {MOST_POINTS} points is spent; n_inducing=… allows more.")
    jitter = max(one.inducing.jitter for one in processes)
    if jitter:
        notes.append(
            f"To factor the kernel matrix of the points, {jitter:.0e} of its mean diagonal was "
            "added to it; the bound holds with it."
        )
    return notes


def _learning_note(processes: Sequence[InducingBinary], slope: float) -> str:
    rows = max(one.sample_rows for one in processes)
    end = ", then of all rows" if all(one.all_rows for one in processes) else ""
    return (
        f"They were learned on the bound of {rows:,} rows{end}; its derivative there is at most "
        f"{slope:.1g} nats per standard error."
    )

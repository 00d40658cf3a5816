"""Hyperparameters with intervals from the curvature of the evidence, named by column.

log ℓ ± z s,   s² = [(−∇² log p(y | θ))⁻¹]ᵢᵢ    (Laplace's approximation under a flat prior on θ)

Of a length scale that is so long that its column does not matter, the lower end is about
where the evidence has fallen by z²/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from separatrix.bayes.process.learning import Learned
from separatrix.kernels import Constant, Kernel, Scaled, White
from separatrix.kernels.parameters.constraints import Constrained
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Standard error of a logarithm above which a hyperparameter counts as not determined: by more than
#: a factor e in either direction.
UNDETERMINED = 1.0


@dataclass(frozen=True)
class HyperparameterInterval:
    """One hyperparameter: its value, an interval, and whether the data determine it.

    ``column`` is that of a length scale of one column, else None. An upper end of infinity for a
    length scale says that the column may not matter at all.
    """

    name: str
    column: str | None
    value: float
    lower: float
    upper: float
    determined: bool


@dataclass(frozen=True)
class Label:
    """What an entry of θ is: its name, and the column it belongs to."""

    name: str
    column: str | None = None

    def __str__(self) -> str:
        return self.name if self.column is None else f"{self.name} of {self.column!r}"


def theta_labels(kernel: Kernel, columns: Sequence[str]) -> list[Label]:
    """A label for every entry of θ, from left to right; repeated ones are numbered."""
    found = _labels(kernel, columns)
    texts = [str(label) for label in found]
    seen: dict[str, int] = {}
    numbered = []
    for label, text in zip(found, texts, strict=True):
        seen[text] = seen.get(text, 0) + 1
        more = f" {seen[text]}" if texts.count(text) > 1 else ""
        numbered.append(Label(label.name + more, label.column))
    return numbered


def _labels(kernel: Kernel, columns: Sequence[str]) -> list[Label]:
    if kernel._children() and not isinstance(kernel, Constrained):
        own = [_word(kernel, n) for n, p in kernel._own_hyperparameters() if p.continuous]
        parts = (_labels(child, columns) for child in kernel._children())
        return [*(Label(word) for word in own), *(label for part in parts for label in part)]
    inner = kernel
    while isinstance(inner, Constrained):
        inner = inner.kernel
    names = [name for name, p in kernel._hyperparameters() if p.continuous]
    by_column = getattr(inner, "by_column", False) and names.count("bandwidth") == len(columns)
    left = iter(columns)
    return [
        Label(_word(inner, name), next(left) if by_column and name == "bandwidth" else None)
        for name in names
    ]


def _word(kernel: Kernel, name: str) -> str:
    if isinstance(kernel, White):
        return "noise variance"
    if isinstance(kernel, Constant | Scaled):
        return "variance"
    return {"bandwidth": "length scale"}.get(name, name)


def hyperparameter_intervals(
    kernel: Kernel, learned: Learned, columns: Sequence[str], level: float
) -> tuple[HyperparameterInterval, ...]:
    """Intervals of all hyperparameters that were learned."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be between 0 and 1.")
    z = float(stats.norm.isf((1.0 - level) / 2.0))
    errors, labels = learned.standard_errors, theta_labels(kernel, columns)
    low, high = learned.theta - z * errors, learned.theta + z * errors
    for j in np.flatnonzero(learned.at_limit & (learned.gradient >= 0.0)):
        if labels[j].name.startswith("length scale"):
            low[j] = learned.theta[j] - _drop(float(learned.gradient[j]), z)
    positive = [p.positive for p in kernel._continuous()]
    with np.errstate(over="ignore"):
        ends: Floats = np.array([learned.theta, low, high])
        values = np.where(positive, np.exp(ends), ends).T.tolist()
    return tuple(
        HyperparameterInterval(
            label.name, label.column, value, lower, upper, bool(error <= UNDETERMINED)
        )
        for label, (value, lower, upper), error in zip(labels, values, errors, strict=True)
    )


def _drop(slope: float, z: float) -> float:
    """How much shorter (in logarithms) a length scale at its end may be: until z²/2 is lost.

    The evidence falls short of its plateau by c exp(−2θ), so that its slope gives c.
    """
    return max(0.0, 0.5 * float(np.log(z * z / max(slope, np.finfo(float).tiny))))

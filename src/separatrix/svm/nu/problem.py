"""The dual of ν-SVMs: sums of coefficients are fixed, group by group.

min over γ of  ½ βᵀKβ − tᵀγ      β the sums of γ by row, Σ γ of each group fixed, low ≤ γ ≤ high

ν-SVC       γ = yα, 0 ≤ α ≤ ω,    groups y = ±1,     Σα = ½νΣω of each,      t = 0
ν-SVR       γ = ±α, 0 ≤ α ≤ Cω,   groups α⁺ and α⁻,  Σα = ½νCΣω of each,     t the targets
one class   γ = α,  0 ≤ α ≤ ω,    one group,         Σα = νΣω,               t = 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.svm.problem import SVMProblem

#: Scores of this size, relative to the sum of their terms, are zero up to rounding.
_RESOLUTION = 1e-10
#: γ this close to a bound, relative to the distance of both, is at it.
_AT_BOUND = 1e-11


@dataclass(frozen=True)
class NuProblem:
    """Bounds and targets of the coefficients γ, the row and the group of each, and a start.

    ``unit`` is the least that scores are measured in: of regression the deviation of the targets,
    else what rounding leaves of them.
    """

    part: SVMProblem
    row: Ints
    group: Ints
    start: Floats
    unit: float

    @property
    def n_groups(self) -> int:
        """One or two."""
        return int(self.group.max()) + 1

    def beta(self, gamma: Floats, n: int) -> Floats:
        """β of the n rows."""
        return np.asarray(np.bincount(self.row, gamma, n), dtype=float)

    def snapped(self, gamma: Floats) -> Floats:
        """γ with coefficients within rounding of a bound set to it: they are not free."""
        low, high = self.part.low, self.part.high
        near = _AT_BOUND * (high - low)
        return np.where(gamma >= high - near, high, np.where(gamma <= low + near, low, gamma))

    def ends(self, gamma: Floats, f: Floats) -> list[tuple[float, float]]:
        """(max down, min up gradient) of each group: equal at the optimum if one is free."""
        down = self.part.down_gradient(gamma, f[self.row])
        up = self.part.up_gradient(gamma, f[self.row])
        return [
            (float(down[own].max(initial=-np.inf)), float(up[own].min(initial=np.inf)))
            for own in (self.group == g for g in range(self.n_groups))
        ]

    def violation(self, gamma: Floats, f: Floats) -> float:
        """Of the worst pair of one group: max down gradient − min up gradient."""
        return max(0.0, *(down - up for down, up in self.ends(gamma, f)))

    def level(self, gamma: Floats, f: Floats) -> list[float]:
        """The gradient that free coefficients of each group share; the middle of an interval."""
        found = []
        for ends in self.ends(gamma, f):
            finite = [end for end in ends if np.isfinite(end)]
            found.append(float(np.mean(finite)) if finite else 0.0)
        return found

    def scale(self, gamma: Floats, f: Floats) -> float:
        """The unit of scores: the margin ρ of classes, the size of f of one, or the least one."""
        if self.part.t.any():
            return self.unit
        size = abs(float(gamma @ f[self.row])) / float(np.abs(gamma).sum())
        if self.n_groups == 2:
            first, second = self.level(gamma, f)
            size = max(size, 0.5 * (first - second) - self.violation(gamma, f))
        return max(size, self.unit)


def nu_classification(
    y: Floats, w: Floats, nu: float, classes: tuple[str, str], largest: float
) -> NuProblem:
    """ν-SVC of labels ±1 with weights w; refused where a class is too small for ν.

    ``largest`` is the largest κ(x, x).
    """
    sums = np.array([w[y > 0].sum(), w[y < 0].sum()])
    half = 0.5 * nu * float(w.sum())
    if half > sums.min() * (1.0 + 1e-12):
        most = 2.0 * sums.min() / float(w.sum())
        raise InputError(
            f"nu={nu!r} is infeasible for {classes[int(sums.argmin())]}: it is at most "
            f"{most:.4g}, twice the share of the smaller class.",
            remedy="Choose a smaller nu.",
        )
    share = np.minimum(half / sums, 1.0)
    alpha = w * np.where(y > 0, share[0], share[1])
    part = SVMProblem(np.zeros(len(y)), np.where(y > 0, 0.0, -w), np.where(y > 0, w, 0.0))
    unit = _RESOLUTION * 2.0 * half * largest
    return NuProblem(part, np.arange(len(y)), (y < 0).astype(np.int64), y * alpha, unit)


def nu_regression(t: Floats, cost: Floats, nu: float) -> NuProblem:
    """ν-SVR of targets t with costs c = Cω: α⁺ and α⁻ of every row are coefficients."""
    n, zero = len(t), np.zeros(len(t))
    start = 0.5 * nu * cost
    part = SVMProblem(np.tile(t, 2), np.concatenate([zero, -cost]), np.concatenate([cost, zero]))
    mean = np.average(t, weights=cost)
    unit = float(np.sqrt(np.average((t - mean) ** 2, weights=cost))) or 1.0
    group = np.repeat([0, 1], n)
    return NuProblem(part, np.tile(np.arange(n), 2), group, np.concatenate([start, -start]), unit)


def one_class(w: Floats, nu: float, largest: float) -> NuProblem:
    """The one-class SVM of weights w; ``largest`` is the largest κ(x, x)."""
    n = len(w)
    part = SVMProblem(np.zeros(n), np.zeros(n), w.copy())
    unit = _RESOLUTION * nu * float(w.sum()) * largest
    return NuProblem(part, np.arange(n), np.zeros(n, dtype=np.int64), nu * w, unit)

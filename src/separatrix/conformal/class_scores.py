"""Scores of classes: how unlikely a label is by the probabilities p of a model.

    lac      1 − p_k                                     the smallest sets on average
    margin   max over j ≠ k of p_j − p_k
    aps      Σ p_j over the classes above k              (and + u p_k with u uniform)
    raps     aps + λ (rank of k − c)₊                    large sets are discouraged

Classes are above one another by probability, of equals the first in order. So the set of aps at a
mass τ is the fewest likely classes that have it, with the one that reaches τ (Romano et al.); the
likeliest has score 0, whatever its probability, and is in every set. Were p_k counted in whole,
labels found with near certainty would have scores next to 1, as all other labels of such rows do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats

SCORES = ("lac", "margin", "aps", "raps")


@dataclass(frozen=True)
class ClassScore:
    """A score by its name, with λ and c of ``raps`` and whether ties of mass are randomized."""

    name: str
    randomized: bool = False
    penalty: float = 0.01
    free_ranks: int = 1

    def __post_init__(self) -> None:
        check_option("conformity", self.name, SCORES)
        if not 0.0 <= float(self.penalty) < np.inf or int(self.free_ranks) < 0:
            raise InputError(
                f"penalty={self.penalty!r} and free_ranks={self.free_ranks!r} of raps must not be "
                "negative."
            )

    @property
    def by_mass(self) -> bool:
        """Whether probabilities are added up in order."""
        return self.name in ("aps", "raps")

    def of(self, p: Floats, u: Floats | None = None) -> Floats:
        """The score of every label: probabilities (… x K) to scores of the same shape.

        ``u`` holds a uniform number for each row of the leading axis.
        """
        if self.name == "lac":
            return np.asarray(1.0 - p)
        if self.name == "margin":
            return _margins(p)
        return self._masses(p, u)

    def _masses(self, p: Floats, u: Floats | None) -> Floats:
        order = np.argsort(-p, axis=-1, kind="stable")
        sorted_p = np.take_along_axis(p, order, axis=-1)
        # one minus what is not above, so that labels of no account tie at exactly one
        mass = 1.0 - np.cumsum(sorted_p[..., ::-1], axis=-1)[..., ::-1]
        mass[..., 0] = 0.0
        if self.randomized and u is not None:
            mass = mass + u.reshape(-1, *([1] * (p.ndim - 1))) * sorted_p
        if self.name == "raps":
            ranks = np.arange(1, p.shape[-1] + 1)
            mass = mass + float(self.penalty) * np.maximum(ranks - int(self.free_ranks), 0)
        found = np.empty_like(mass)
        np.put_along_axis(found, order, mass, axis=-1)
        return found


def _margins(p: Floats) -> Floats:
    """The best of the other classes minus the class itself."""
    if p.shape[-1] < 2:
        return -p
    top = np.sort(p, axis=-1)[..., -2:]
    best = np.broadcast_to(top[..., 1:], p.shape)
    second = np.broadcast_to(top[..., :1], p.shape)
    leads = np.arange(p.shape[-1]) == p.argmax(axis=-1)[..., None]
    return np.asarray(np.where(leads, second, best) - p)


def class_values(model: Any, X: Any, score: ClassScore) -> Floats:
    """Probabilities (n x K); for margins of a model without them, its decision function."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    if score.name == "margin" and hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(X), dtype=float)
        return np.column_stack([-0.5 * found, 0.5 * found]) if found.ndim == 1 else found
    raise InputError(
        f"{type(model).__name__} has no probabilities.",
        remedy="Wrap it in CalibratedClassifier, or use conformity='margin'.",
    )

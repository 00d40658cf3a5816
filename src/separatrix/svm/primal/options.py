"""What solvers of linear support vector machines are told, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Settings:
    """When to stop: relative gap, interior-point steps in one go, sweeps, and the clock."""

    tol: float = 1e-8
    max_steps: int = 200
    max_sweeps: int = 4_000
    deadline: float = np.inf


@dataclass(frozen=True)
class Answer:
    """w, b and α (m x n); ``status`` says whether it was finished; ``work`` counts the steps."""

    w: Floats
    b: float
    alpha: Floats
    status: str
    work: int

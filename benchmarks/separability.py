"""Is there a separating hyperplane? Proofs either way, against a linear program for HiGHS."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.optimize import linprog

import separatrix as sx
from race import race


def rows(n: int, d: int, separable: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = (x @ rng.standard_normal(d) > 0).astype(int)
    if not separable:
        inside = int(np.argmin(np.abs(x).sum(axis=1)))
        y[inside] = 1 - y[inside]
    return x, y


def programme(x: Any, y: Any) -> Any:
    """max m with side (w·x + t) ≥ m and |w|, |t| ≤ 1."""
    n, d = x.shape
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([x, np.ones(n)])
    return linprog(
        np.append(np.zeros(d + 1), -1.0),
        A_ub=np.column_stack([-signed, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * (d + 1) + [(0, 1)],
        method="highs",
    )


def summary(outcome: Any) -> str:
    if hasattr(outcome, "fun"):
        return f"optimum {-outcome.fun:.3e}"
    if outcome.separable:
        return f"separable, margin {outcome.margin:.3e}"
    return f"common point to {outcome.certificate.kkt:.0e} of the range"


def main(quick: bool = False) -> None:
    n, d = (10_000, 20) if quick else (100_000, 20)
    for separable in (True, False):
        x, y = rows(n, d, separable)
        race(
            f"Separability, {n:,} × {d}, {'separable' if separable else 'one row astray'}",
            ("separatrix", lambda x=x, y=y: sx.linear_separability(x, y)),
            {"linear program (HiGHS)": lambda x=x, y=y: programme(x, y)},
            peer_rounds=1,
            note=summary,
            target=2,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)

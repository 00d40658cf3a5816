"""Ridge over fifty penalties: five folds, and leave-one-out in closed form."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import RidgeCV

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, d = (30_000, 50) if quick else (300_000, 100)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    y = x @ rng.standard_normal(d) + 5 * rng.standard_normal(n)
    alphas = np.logspace(-2, 5, 50)
    scoring = "neg_mean_squared_error"
    for title, own, peer, rounds in (
        (
            "5 folds",
            lambda: sx.RidgeCV(alphas, cv=5).fit(x, y),
            lambda: RidgeCV(alphas, cv=5, scoring=scoring).fit(x, y),
            1,
        ),
        (
            "leave-one-out",
            lambda: sx.RidgeCV(alphas).fit(x, y),
            lambda: RidgeCV(alphas).fit(x, y),
            2,
        ),
    ):
        race(
            f"Ridge, {n:,} × {d}, 50 penalties, {title}",
            ("separatrix RidgeCV", own),
            {"scikit-learn RidgeCV": peer},
            rounds=4,
            peer_rounds=rounds,
            note=lambda m: f"alpha {m.alpha_:.4g}, score {m.best_score_:.8f}",
            target=50,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)

"""Naive Bayes: numbers, yes/no columns and levels, fit and probabilities."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, d = (50_000, 50) if quick else (500_000, 50)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    numbers = rng.standard_normal((n, d)) + 0.2 * y[:, None] * rng.standard_normal(d)
    yes_no = (numbers > 0).astype(float)
    levels = np.clip(np.round(1.5 * numbers + 2), 0, 4)
    size = f"{n:,} × {d}, 5 classes"
    for title, x, kinds, peer in (
        ("numbers", numbers, "numeric", GaussianNB),
        ("yes/no", yes_no, "boolean", BernoulliNB),
        ("levels", levels, "discrete", CategoricalNB),
    ):
        race(
            f"Naive Bayes, {title}, fit, {size}",
            ("separatrix", lambda x=x, kinds=kinds: sx.NaiveBayes(kinds=kinds).fit(x, y)),
            {"scikit-learn": lambda x=x, peer=peer: peer().fit(x, y)},
            note=lambda m, x=x: f"accuracy {m.score(x[:20_000], y[:20_000]):.4f}",
            target=2 if title == "numbers" else None,
        )
        own, theirs = sx.NaiveBayes(kinds=kinds).fit(x, y), peer().fit(x, y)
        race(
            f"Naive Bayes, {title}, probabilities, {size}",
            ("separatrix", lambda own=own, x=x: own.predict_proba(x)),
            {"scikit-learn": lambda theirs=theirs, x=x: theirs.predict_proba(x)},
            note=lambda p: f"mean of the largest {p.max(axis=1).mean():.8f}",
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)

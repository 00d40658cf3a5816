"""What coverage each method guarantees, for a new row that is exchangeable with those given.

    split                          ≥ level              (and ≤ level + 1/(n + 1) without ties)
    jackknife-minmax               ≥ level
    jackknife+                     ≥ 1 − 2α
    cv+, cross-conformal, K folds  ≥ 1 − 2α − min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}

with α = 1 − level. The second half of the list is the worst case: models that change little when a
row is left out cover about the level. All are averages over the rows that calibrate and over new
rows, not promises about any one of them.

R. Barber, E. Candès, A. Ramdas and R. Tibshirani, Predictive inference with the jackknife+, 2021.
Y. Romano, M. Sesia and E. Candès, Classification with valid and adaptive coverage, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """The coverage that is certain: ``at_least``, and in words.

    Attributes
    ----------
    level : float
        What is asked for.
    at_least : float
        The coverage that holds whatever the model and the distribution.
    sentence : str
        The same in words, with its condition.
    """

    level: float
    at_least: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


CONDITION = "if it is exchangeable with the rows given (no trend in time, no rows of one group)"


def guarantee_of(method: str, level: float, n: float, folds: int) -> Guarantee:
    """The guarantee of a method with n calibration rows in so many folds."""
    alpha = 1.0 - level
    if method in ("split", "jackknife-minmax"):
        return Guarantee(
            level,
            level,
            f"A new row is covered with a probability of at least {100 * level:g} % {CONDITION}.",
        )
    loss = 0.0
    if method not in ("jackknife+",) and n > 0:
        k = float(folds)
        loss = max(0.0, min(2 * (1 - 1 / k) / (n / k + 1), (1 - k / n) / (k + 1)))
    least = max(0.0, 1.0 - 2.0 * alpha - loss)
    return Guarantee(
        level,
        least,
        f"A new row is covered with a probability of at least {100 * least:.4g} % {CONDITION}; "
        f"of about {100 * level:g} % where leaving rows out changes the model little.",
    )

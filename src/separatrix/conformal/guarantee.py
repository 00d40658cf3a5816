"""What coverage each method guarantees, for a new row that is exchangeable with those given.

    split                          ≥ level              (and ≤ level + 1/(n + 1) without ties)
    jackknife-minmax               ≥ level
    jackknife+                     ≥ 1 − 2α
    cv+, cross-conformal, K folds  ≥ 1 − 2α − min{2(1 − α)(K − 1)/(n + K), (1 − K/n)/(K + 1)}

with α = 1 − level. The second half of the list is the worst case: models that change little when a
row is left out cover about the level. All are averages over the rows that calibrate and over new
rows, not promises about any one of them. The last term is that of folds of equal size. The one
before it holds for any folds, and so within categories: fold by fold a p value is valid, and twice
a weighted mean of p values is one too.

V. Vovk and R. Wang, Combining p-values via averaging, 2020.
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


def guarantee_of(
    method: str, level: float, n: float, folds: int, *, by_category: bool = False
) -> Guarantee:
    """The guarantee of a method with n calibration rows (of the smallest category) in folds."""
    alpha = 1.0 - level
    subject = "A new row of any category" if by_category else "A new row"
    if method in ("split", "jackknife-minmax"):
        return Guarantee(
            level,
            level,
            f"{subject} is covered with a probability of at least {100 * level:g} % {CONDITION}.",
        )
    loss = 0.0
    if method != "jackknife+" and n > 0:
        k = float(folds)
        loss = 2.0 * (1.0 - alpha) * (k - 1.0) / (n + k)
        if not by_category and (n / k).is_integer():
            loss = min(loss, (1.0 - k / n) / (k + 1.0))
    least = max(0.0, 1.0 - 2.0 * alpha - loss)
    return Guarantee(
        level,
        least,
        f"{subject} is covered with a probability of at least {100 * least:.4g} % {CONDITION}; "
        f"of about {100 * level:g} % where leaving rows out changes the model little.",
    )

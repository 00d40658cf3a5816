"""
Sunspots: how long is a cycle?
==============================

The number of sunspots in each year from 1700 on. In 1927 Udny Yule explained a year by the two
before it, by least squares, and read the length of the cycle off the two coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import sunspots

import separatrix as sx
from separatrix.pictures import ResidualDisplay

table = sunspots.load_pandas().data
year, spots = table["YEAR"].to_numpy(), table["SUNACTIVITY"].to_numpy()


def lags(values):
    """The two years before each year but the first two."""
    return np.column_stack([values[1:-1], values[:-2]])


# %%
# Yule had the years until 1924. If z² − b₁z − b₂ has complex roots r exp(±iω), deviations from the
# mean swing with a period of 2π/ω and die out by a factor of r a year.


def cycle(last):
    """Coefficients, period and damping from the years up to ``last``."""
    known = spots[year <= last]
    model = sx.LinearRegression().fit(lags(known), known[2:])
    root = np.roots([1.0, *-model.coef_])[0]
    return model, 2 * np.pi / abs(np.angle(root)), abs(root)


for last in (1924, 2008):
    model, period, damping = cycle(last)
    b1, b2 = model.coef_
    print(f"1700–{last}: {b1:.2f} of last year {b2:+.2f} of the year before:", end=" ")
    print(f"{period:.1f} years, damped by {damping:.2f}")

# %%
# Forecasts of the years after 1924 by Yule's own line, each from the two years before it.

yule, *_ = cycle(1924)
later = np.flatnonzero(year > 1924)
X = np.column_stack([spots[later - 1], spots[later - 2]])
low, high = yule.predict_interval(X, level=0.9).T
inside = np.mean((low <= spots[later]) & (spots[later] <= high))
print(f"{inside:.0%} of {len(later)} years lie in their 90 % interval")

plt.fill_between(year[later], low, high, alpha=0.25, color="#0f6cb0", linewidth=0)
plt.plot(year[later], spots[later], color="#c8550c", marker="o", markersize=2.5, linewidth=0.8)
plt.xlabel("year")
plt.ylabel("sunspots")

# %%

ResidualDisplay.from_predictions(spots[later], yule.predict(X), row_labels=year[later].astype(int))

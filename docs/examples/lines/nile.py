"""
Nile: when did the flow change?
===============================

A hundred years of the river's yearly volume at Aswan, from 1871 on. Let the mean have one jump, in
any year: which year explains most, and could chance do as much?
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import nile

import separatrix as sx

table = nile.load_pandas().data
year, y = table["year"].to_numpy(int), table["volume"].to_numpy()

# %%
# For every year a model with two means. A column of zeros and ones is all it takes.

breaks = year[5:-5]
fits = [sx.LinearRegression().fit((year >= b)[:, None].astype(float), y) for b in breaks]
errors = np.array([np.sum(fit.summary().residuals ** 2) for fit in fits])
first = breaks[errors.argmin()]
jump = fits[errors.argmin()]
print(f"from {first} on: {jump.intercept_:.0f} → {jump.intercept_ + jump.coef_[0]:.0f} (10⁸ m³)")

plt.plot(breaks, errors / np.sum((y - y.mean()) ** 2))
plt.axvline(first, color="#c8550c", linestyle="--")
plt.xlabel("first year of the second mean")
plt.ylabel("squares left of all squares")

# %%
# The year was chosen for its fit, so an F test of it would be too sure. Shuffled years are searched
# in the same way: how often do they yield a jump as good?


def best(values):
    """Least sum of squares with one jump."""
    total, n = np.cumsum(values), len(values)
    k = np.arange(5, n - 5)
    between = (total[k - 1] - k * total[-1] / n) ** 2 * n / (k * (n - k))
    return np.sum((values - values.mean()) ** 2) - between.max()


assert np.isclose(best(y), errors.min())
rng = np.random.default_rng(0)
chance = np.array([best(rng.permutation(y)) for _ in range(2000)])
print(f"{np.sum(chance <= errors.min())} of 2000 shuffles do as well; the best of them leaves")
print(f"{chance.min() / errors.min():.2f} times the squares that are left from {first} on")

# %%
# And nothing but a jump? A slope beside it does not explain more.

columns = np.column_stack([year >= first, year]).astype(float)
test = sx.LinearRegression().fit(columns, y).summary().f_test(jump.summary())
print(f"F = {test.statistic:.2f}, p = {test.p_value:.2f}")

"""
Does food spending grow as fast as income?
==========================================

Ernst Engel noted in 1857 what 235 Belgian households earned and what they spent on food. One line
through the middle hides that rich households differ more from each other than poor ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import engel

import separatrix as sx

table = engel.load_pandas().data
X, y = table[["income"]], table["foodexp"]

# %%
# A line for each of five quantiles of the spending, given the income: linear programs, each solved
# at a vertex.

levels = (0.1, 0.25, 0.5, 0.75, 0.9)
lines = {q: sx.QuantileRegressor(quantile=q, alpha=0.0).fit(X, y) for q in levels}
for q, line in lines.items():
    below = np.mean(y <= line.predict(X))
    print(
        f"{q:4.0%} quantile: {100 * line.coef_[0]:4.1f} of the next 100 francs go to food,", end=" "
    )
    print(f"{below:.0%} of the households spend no more")

# %%

ends = X.iloc[[X["income"].argmin(), X["income"].argmax()]]
plt.scatter(X, y, s=8, alpha=0.5)
for q, line in lines.items():
    plt.plot(ends, line.predict(ends), color="#c8550c", linewidth=1)
    plt.text(ends.iloc[1, 0], line.predict(ends)[1], f" {q:.0%}", va="center")
plt.xlabel("income (francs a year)")
plt.ylabel("spent on food")

# %%
# Engel's law is about the share: it falls with the income if the elasticity is below one.

elasticity = sx.LinearRegression().fit(np.log(X), np.log(y))
low, high = elasticity.summary().intervals[1]  # the intercept comes first
print(f"1 % more income goes with {elasticity.coef_[0]:.2f} % more food ({low:.2f} to {high:.2f})")
print("slower than income" if high < 1 else "not clearly slower than income")

"""
Does inflation fall when unemployment rises?
============================================

The Phillips curve was once drawn as a law. Fifty years of American quarters: what does the mean of
inflation at a given unemployment look like, if no shape is assumed?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import macrodata

import separatrix as sx

table = macrodata.load_pandas().data.iloc[1:]  # the first quarter has no inflation
X, y = table[["unemp"]], table["infl"]

# %%
# A mean of the quarters with a similar unemployment, weighed by a Gaussian. The bandwidth is
# the one that predicts each quarter best from all the others.

smoother = sx.NadarayaWatson("loo").fit(X, y)
line = sx.LinearRegression().fit(X, y)
low, high = line.summary().intervals[1]
print(f"bandwidth {smoother.bandwidth_:.2f} points of unemployment")
print(f"slope of a straight line {line.coef_[0]:.2f} ({low:.2f} to {high:.2f})")

grid = pd.DataFrame({"unemp": np.linspace(X["unemp"].min(), X["unemp"].max(), 200)})
plt.scatter(X, y, s=8, alpha=0.5)
plt.plot(grid, smoother.predict(grid), color="#c8550c", label="smoother")
plt.plot(grid, line.predict(grid), color="#0a8a66", linestyle="--", label="line")
plt.xlabel("unemployment (%)")
plt.ylabel("inflation (% a year)")
plt.legend()

# %%
# Perhaps the law held for a while, and the decades differ?

for start in range(1960, 2010, 10):
    decade = (table["year"] >= start) & (table["year"] < start + 10)
    part = sx.LinearRegression().fit(X[decade], y[decade])
    low, high = part.summary(covariance="HC3").intervals[1]
    answer = "cannot tell" if low < 0 < high else "falls" if high < 0 else "rises"
    print(f"{start}s: slope {part.coef_[0]:5.2f} ({low:5.2f} to {high:5.2f}): {answer}")

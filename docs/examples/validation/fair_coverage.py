"""
Ninety per cent of whom?
========================

A coverage of 90 % is an average: it may be 95 % of the old and 80 % of the young. A quantile of its
own for each group makes the promise to each.
"""

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.pictures import CategoryCoverageDisplay
from separatrix.samples import sample

table = pd.read_csv(sample("diabetes").path)
y, X = table["progression"], table.drop(columns="progression")
X["age"] = X["age"].astype(float)
X["decade"] = np.where(
    X["age"] < 40, "under 40", np.where(X["age"] < 60, "40 to 59", "60 and over")
)
half = X.index % 2 == 0

# %%
# One quantile for all ages, and one for each group of ages:

line = sx.Ridge(1.0, standardize=True)
together = sx.ConformalRegressor(line, method="cv+").fit(X[half], y[half])
own = sx.ConformalRegressor(line, method="cv+", by="decade").fit(X[half], y[half])
for decade, rows in X[~half].groupby("decade"):
    for name, model in {"together": together, "by age": own}.items():
        low, high = model.predict_interval(rows, level=0.9).T
        inside = np.mean((low <= y[rows.index]) & (y[rows.index] <= high))
        print(f"{decade:11} {name:8} {inside:.0%} of {len(rows)}, width {np.mean(high - low):.0f}")

# %%
# Exact intervals of the coverage, for groups of this size, are wide:

CategoryCoverageDisplay.from_estimator(own, X[~half], y[~half], level=0.9)

# %%

print(own.guarantee(0.9))

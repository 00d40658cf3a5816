"""
Twenty columns that overlap: how much penalty do they need?
===========================================================

303 school districts of California, the share of their pupils who passed a test in mathematics, and
twenty columns on pupils, teachers and money, eight of which are products of the others.
"""

import numpy as np
from statsmodels.datasets import star98

import separatrix as sx
from separatrix.pictures import RegularizationPathDisplay, ValidationCurveDisplay

table = star98.load_pandas().data
y = table["NABOVE"] / (table["NABOVE"] + table["NBELOW"])
X = table.drop(columns=["NABOVE", "NBELOW"])

# %%
# Ridge regression for a hundred penalties, and the error of every district predicted by all the
# others: one decomposition gives both, no model is fitted twice.

model = sx.RidgeCV(np.geomspace(1e4, 1e-2, 100), standardize=True).fit(X, y)
squares = sx.LinearRegression().fit(X, y)
leverage = squares.summary().leverage
left_out = (((y - squares.predict(X)) / (1 - leverage)) ** 2).mean()
error = 100 * (-model.best_score_) ** 0.5
print(f"penalty {model.alpha_:.2f}: root mean square {error:.2f} points")
print(f"no penalty: {100 * left_out**0.5:.2f} points")

ValidationCurveDisplay.from_estimator(model)

# %%
# Products that cancel each other shrink first; the share of poor families hardly changes.

RegularizationPathDisplay.from_estimator(model, X)

# %%

inflation = squares.summary().variance_inflation[1:]
print(f"largest variance inflation: {inflation.max():.0f} ({X.columns[inflation.argmax()]})")
print("points for a standard deviation more, without and with the penalty:")
for name in ("LOWINC", X.columns[inflation.argmax()]):
    i, scale = X.columns.get_loc(name), 100 * X[name].std()
    print(f"{name:24} {scale * squares.coef_[i]:5.1f} → {scale * model.coef_[i]:5.1f} points")

"""
Does the answer change when billions become cents?
==================================================

Real consumption of American households by quarter, explained by income, interest, unemployment,
prices and population. Units are a matter of taste; answers should not be.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import macrodata

import separatrix as sx

table = macrodata.load_pandas().data
y = table["realcons"]
X = table[["realdpi", "tbilrate", "unemp", "cpi", "pop"]]
units = {"realdpi": 1e11, "tbilrate": 1e-2, "unemp": 1e-2, "cpi": 1e-8, "pop": 1e6}
other = X * units  # income in cents, rates as fractions, people one by one

# %%
# Each model is fitted to both tables. What should not change: predictions, and which columns a
# penalty leaves out.

models = {
    "least squares": sx.LinearRegression(),
    "ridge": sx.Ridge(1.0, standardize=True),
    "lasso": sx.Lasso(20.0, standardize=True),
    "Huber": sx.HuberRegressor(),
    "median": sx.LeastAbsoluteRegressor(),
    "Bayesian ridge": sx.BayesianRidge(standardize=True),
}
for name, model in models.items():
    here, there = model.fit(X, y).predict(X), model.fit(other, y).predict(other)
    print(f"{name:15} largest relative difference {np.max(np.abs(here / there - 1)):.0e}")

# %%
# A solver that measures columns against the largest drops those with small numbers. Here columns
# are scaled before their rank is judged and digits are counted.

powers = np.arange(9)
numpy, ours, reference = [], [], sx.LinearRegression().fit(X, y).predict(X)
for power in powers:
    frame = X * [10.0**power, 1, 1, 10.0**-power, 1]
    ones = np.column_stack([np.ones(len(y)), frame])
    model = sx.LinearRegression().fit(frame, y)
    numpy.append(np.max(np.abs(ones @ np.linalg.lstsq(ones, y)[0] / reference - 1)))
    ours.append(np.max(np.abs(model.predict(frame) / reference - 1)))
print(f"k = 8: {numpy[-1]:.0e} by NumPy, {ours[-1]:.0e} here,", end=" ")
print(f"{model.certificate_.digits:.0f} digits certified")

plt.semilogy(powers, np.maximum(numpy, 1e-17), marker="o", label="numpy.linalg.lstsq")
plt.semilogy(powers, np.maximum(ours, 1e-17), marker="s", label="separatrix")
plt.xlabel("income times 10ᵏ, prices by 10ᵏ: k")
plt.ylabel("largest relative error of a prediction")
plt.legend()

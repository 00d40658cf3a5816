"""
Intervals that hold whatever the model?
=======================================

How far may the forecast of a wine's alcohol be off? Conformal intervals promise a coverage without
trusting the model: a bad model pays with width, not with truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import separatrix as sx

X = load_wine(as_frame=True).data
y = X.pop("alcohol")
rng = np.random.default_rng(0)

# %%
# Four models, from none to flexible. Each is fitted and calibrated on a random half, ten times, and
# tested on the other half.

models = {
    "mean": sx.MeanRegressor(),
    "line": sx.LinearRegression(),
    "ridge": sx.Ridge(1.0),
    "neighbors": sx.KNeighborsRegressor(5),
}
width, cover = {name: [] for name in models}, {name: [] for name in models}
for _ in range(10):
    half = rng.permutation(len(y)) < len(y) // 2
    for name, model in models.items():
        fitted = sx.ConformalRegressor(model, method="cv+").fit(X[half], y[half])
        found = fitted.coverage(X[~half], y[~half], level=0.9)
        width[name].append(found.size)
        cover[name].append(found.proportion)
for name in models:
    print(f"{name:9} covers {np.mean(cover[name]):.1%},", end=" ")
    print(f"{np.mean(width[name]):.2f} points of alcohol wide")

# %%

for name in models:
    plt.scatter(width[name], cover[name], s=14, label=name)
plt.axhline(0.9, color="#6a7280", linestyle="--")
plt.xlabel("mean width of the intervals")
plt.ylabel("test wines inside")
plt.legend()

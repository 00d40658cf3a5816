"""
Do intervals of 95 % hold 95 %?
===============================

A Bayesian model promises intervals for new patients, if the world is as it assumes: straight lines,
equal normal noise. Patients that it has not seen can tell whether the promise holds.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import separatrix as sx
from separatrix.pictures import CoverageDisplay, PITDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
train, test = X.index % 2 == 0, X.index % 2 == 1
model = sx.BayesianRidge(standardize=True).fit(X[train], y[train])

# %%

predicted = model.predictive(X[test])
for level in (0.5, 0.8, 0.95):
    low, high = predicted.interval(level).T
    inside = (low <= y[test]) & (y[test] <= high)
    print(f"{level:.0%} intervals hold {inside.mean():.1%} of {test.sum()} patients")

CoverageDisplay.from_predictions(y[test], predicted)

# %%
# Coverage looks at the middle only. Where in its distribution does each patient fall? If the model
# is right, everywhere equally often.

PITDisplay.from_predictions(y[test], predicted)

# %%
# Intervals have nearly the same width for everybody. Do patients vary alike?

high = predicted.mean > np.median(predicted.mean)
residuals = np.abs(y[test] - predicted.mean)
low, up = predicted.interval(0.9).T
inside = (low <= y[test]) & (y[test] <= up)
for name, part in {"low": ~high, "high": high}.items():
    print(f"{name:4} forecasts: mean error {residuals[part].mean():.0f},", end=" ")
    print(f"90 % intervals hold {inside[part].mean():.0%}")

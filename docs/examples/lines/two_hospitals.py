"""
Can two hospitals fit one line without showing a patient?
=========================================================

Both measured the same ten columns of people with diabetes. Least squares needs sums of products
only: counts, means and scatter leave the house, rows do not.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import separatrix as sx
from separatrix.pictures import CoefficientDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
north, south = X.index < 300, X.index >= 300

# %%
# What each hospital sends: one small object, whatever the number of its patients.

sums = [sx.scan(X[site], target=y[site]).reduce(sx.Moments()) for site in (north, south)]
both = sums[0] + sums[1]
print([part.count for part in sums], "rows become", both.scatter.shape, "numbers")

# %%
# The line from the sums, and the line that all rows would have given.

from_sums = sx.LinearRegression().fit(both)
from_rows = sx.LinearRegression().fit(X, y)
print(f"largest relative difference {np.max(np.abs(from_sums.coef_ / from_rows.coef_ - 1)):.0e}")
print(from_sums.certificate_)

# %%
# Sums serve more than one model: ridge, the lasso, whole paths, Bayesian regression.

lasso = sx.LassoPath(standardize=True).fit(both)
evidence = sx.BayesianRidge(standardize=True).fit(both)
print(f"lasso by BIC: {np.count_nonzero(lasso.coef_)} of {X.shape[1]} columns")
print(f"noise by evidence: ± {evidence.alpha_**-0.5:.1f}")

# %%
# And rows that come later are added, not fitted anew.

stream = sx.LinearRegression()
for start in range(0, len(y), 50):
    stream.partial_fit(X[start : start + 50], y[start : start + 50])
print(f"in parts of 50: difference {np.max(np.abs(stream.coef_ / from_rows.coef_ - 1)):.0e}")

CoefficientDisplay.from_estimator(from_rows, X)

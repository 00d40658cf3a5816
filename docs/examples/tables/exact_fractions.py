"""
Can a fit be proved without trusting a floating-point number?
=============================================================

A certificate is computed in floating point, as the fit was. Whoever does not believe it can compute
it again from the table in whole numbers and fractions, without NumPy and without the solver. What
does such a proof find, and does it notice a changed digit?
"""

# %%
# Least squares of the progress of diabetes on nine columns of numbers.
import copy

import pandas as pd

import separatrix as sx
from separatrix.pictures import CoefficientDisplay
from separatrix.samples import sample

table = pd.read_csv(sample("diabetes").path)
y = table.pop("progression").astype(float)
X = table.select_dtypes("number").astype(float)
model = sx.LinearRegression().fit(X, y)
CoefficientDisplay.from_estimator(model, X)

# %%
# Every number of the table is a fraction; so are the solution of the normal equations and its
# distance from the coefficients.
found = sx.verify(model, X, y)
print(found.verdict)
for claim in found.claims:
    print(f"{claim.verdict}: {claim.name}")

# %%
# Change one coefficient by a part in a million:
forged = copy.deepcopy(model)
forged.coef_ = model.coef_.copy()
forged.coef_[2] *= 1 + 1e-6
again = sx.verify(forged, X, y)
print(again.verdict)
print(next(claim for claim in again.claims if claim.verdict == "refuted"))

# %%
# Or one value of the table, by as little:
other = X.copy()
other.iloc[7, 2] *= 1 + 1e-6
print(sx.verify(model, other, y).verdict)

"""
Which measurements foretell diabetes, and in which order?
=========================================================

Ten measurements of 442 patients, and how far their illness went in the following year. The lasso
lets columns in one after the other; where to stop is a question of its own.
"""

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.pictures import CriteriaDisplay, RegularizationPathDisplay
from separatrix.samples import sample

X = pd.read_csv(sample("diabetes").path)
y = X.pop("progression")
X["sex"] = (X["sex"] == "code 2").astype(float)
path = sx.LassoPath(100, standardize=True).fit(X, y)

# %%

RegularizationPathDisplay.from_estimator(path, X)

# %%
# The order of entry. A duality gap at every penalty proves that no other coefficients do better.

entered = {}
for alpha, coef in zip(path.alphas_, path.coefs_, strict=True):
    for name in np.array(path.feature_names_in_)[coef != 0]:
        entered.setdefault(name, alpha)
for name, alpha in entered.items():
    print(f"{name:18} from a penalty of {alpha:6.2f} down")
half = y.var() / 2  # the objective without a column
print(f"largest duality gap {path.gaps_.max():.0e} of an objective of {half:.0f} without columns")

# %%
# Where to stop? The criteria differ in the penalty far more than in the error.

table = sx.criteria(path, X, y)
for name, choice in table.choices.items():
    print(f"{name:18} " + ("–" if choice is None else f"{choice:.3g}"))

CriteriaDisplay(table)

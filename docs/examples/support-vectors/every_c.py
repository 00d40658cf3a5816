"""
Which C would you take if you saw them all?
===========================================

C weighs errors against the width of the margin. A grid tries ten or twenty values; between two
breakpoints, however, the solution is linear in C, so that all of them can be had at once. What do
the values between the grid points look like?
"""

# %%
# Every third tumor of the breast cancer table, 30 measurements in standard units: the path has a
# breakpoint wherever a row reaches or leaves its margin.
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import SVMPathDisplay

tumors = load_breast_cancer()
X, y = tumors.data[::3], tumors.target_names[tumors.target[::3]]
path = sx.SVMPath(standardize=True, cv=5).fit(X, y)
first, last = path.breakpoints_[[0, -1]]
print(f"{len(path.breakpoints_)} breakpoints between C = {first:.2g} and {last:.3g}")
print(f"largest relative duality gap at any of them: {path.gaps().max():.0e}")

# %%
# The error of test rows is linear in C as well until one of them crosses the border. So the cross-
# validated error is known for every C, as a step function.
SVMPathDisplay.from_estimator(path)

# %%
# The answer: not one C but ranges of them are best, and ten values of a grid see few of the steps.
errors = path.errors_.mean(axis=1)
best = path.Cs_[errors <= errors.min() + 1e-12]
print(f"steps of the error: {len(path.Cs_)}; from {errors.max():.1%} down to {errors.min():.1%}")
print(f"equally good: {len(best)} intervals of C, from {best.min():.3g} to {best.max():.3g}")
print(f"chosen: C = {path.C_:.3g}")
careful = sx.SVMPath(standardize=True, cv=5, rule="one_se").fit(X, y)
print(f"within one standard error the smallest C is {careful.C_:.3g}")

"""
Would more patients help, or a better model?
============================================

442 patients have been measured. Before anybody measures another thousand: does the error still fall
with the number of rows, and which model gains most?
"""

from sklearn.datasets import load_diabetes

import separatrix as sx
from separatrix.pictures import LearningLinesDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)

# %%
# Models of growing flexibility on nested training sets, tested on the same rows.

models = [
    sx.MeanRegressor(),
    sx.LinearRegression(),
    sx.PolynomialRegression(2, alpha=1.0),
    sx.KNeighborsRegressor(15, standardize=True),
]
curves = sx.learning_curves(models, X, y)
print(curves)

LearningLinesDisplay(curves)

# %%
# Power laws, extended to a thousand patients; where the folds do not determine one, it is said.

for found in curves.extrapolate(1000):
    print(f"{found.name:22} {found.error:.1f}" + ("" if found.determined else "  (not determined)"))
now, then = curves.mean[-1, 1], curves.extrapolate(1000)[1].error
print(f"least squares would gain {now - then:.1f} of {now:.1f}, known to ±", end=" ")
print(f"{curves.standard_error[-1, 1]:.1f}")

"""
Iris: which line, when both sides are measured?
===============================================

Length and width of petals were both read off a ruler: neither is the cause of the other, and both
have errors. Least squares still has to choose which one to blame.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx

iris = load_iris(as_frame=True).data
length, width = iris[["petal length (cm)"]], iris["petal width (cm)"]

# %%
# Least squares of width on length, of length on width, and orthogonal distances.

up = sx.LinearRegression().fit(length, width)
back = sx.LinearRegression().fit(width.to_frame(), length.iloc[:, 0])
total = sx.TotalLeastSquares().fit(length, width)
total_back = sx.TotalLeastSquares().fit(width.to_frame(), length.iloc[:, 0])
print(f"width on length: {up.coef_[0]:.4f} cm a cm")
print(f"length on width, turned round: {1 / back.coef_[0]:.4f}")
print(f"orthogonal: {total.coef_[0]:.4f}, turned round {1 / total_back.coef_[0]:.4f}")

# %%
# Two of the three agree with themselves only in one direction; the product of the two slopes of
# least squares is R², so they meet only where all rows lie on a line.

print(f"product of slopes {up.coef_[0] * back.coef_[0]:.4f}, R² {up.score(length, width):.4f}")

grid = np.array([length.min().item(), length.max().item()])
plt.scatter(length, width, s=10, alpha=0.5)
plt.plot(grid, up.coef_[0] * grid + up.intercept_, label="width on length")
plt.plot(grid, (grid - back.intercept_) / back.coef_[0], label="length on width")
plt.plot(grid, total.coef_[0] * grid + total.intercept_, label="orthogonal", linestyle="--")
plt.xlabel("petal length (cm)")
plt.ylabel("petal width (cm)")
plt.legend()

# %%

print(total.certificate_)

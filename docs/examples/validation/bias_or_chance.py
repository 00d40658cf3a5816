"""
Are neighbors wrong by bias or by chance?
=========================================

A patient is predicted by the mean of the k most similar ones. Few neighbors follow chance, many
smooth real differences away: resampled tables separate the two.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import separatrix as sx

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)

# %%
# Forty tables drawn with replacement; rows that a table left out test its model. What differs
# from table to table is variance; the rest is bias and noise together.

counts = [1, 4, 16, 64, 128]
found = [
    sx.bootstrap_bias_variance(sx.KNeighborsRegressor(k, standardize=True), X, y, 40)
    for k in counts
]
for k, part in zip(counts, found, strict=True):
    print(f"k = {k:3}: error {part.error:.0f} = variance {part.variance:.0f}", end=" ")
    print(f"+ bias and noise {part.bias_and_noise:.0f}")
best = min(zip(counts, found, strict=True), key=lambda pair: pair[1].error)
print(f"least error with {best[0]} neighbors")

plt.plot(counts, [part.error for part in found], marker="o", markersize=4, label="error")
plt.plot(counts, [part.bias_and_noise for part in found], label="bias and noise")
plt.plot(counts, [part.variance for part in found], label="variance")
plt.xscale("log", base=2)
plt.xlabel("neighbors")
plt.ylabel("squared error")
plt.legend()

# %%
# And a line, on the same tables?

line = sx.bootstrap_bias_variance(sx.LinearRegression(), X, y, 40)
print(line)

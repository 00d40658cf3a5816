"""
How many households until the slope is known?
=============================================

Engel's table again, read household by household. A posterior is not an answer at the end of the
table but at every row of it: what one believes after five, after fifty, after all.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import engel

import separatrix as sx

table = np.log(engel.load_pandas().data).sample(frac=1.0, random_state=0)
X, y = table[["income"]], table["foodexp"]

# %%
# Logarithms on both sides: the slope is the elasticity. Before any row it is 0 ± 1, a weak opinion;
# the noise is known to be about 0.14.

model = sx.BayesianLinearRegression(prior_precision=1.0, noise_variance=0.14**2)
counts, means, deviations = [], [], []
for i in range(0, len(y), 5):
    model.partial_fit(X[i : i + 5], y[i : i + 5])
    counts.append(i + 5)
    means.append(model.coef_[0])
    deviations.append(np.sqrt(model.sigma_[0, 0]))
means, deviations = np.array(means), np.array(deviations)
for n in (5, 50, 235):
    k = counts.index(n)
    print(f"after {n:3} households: {means[k]:.2f} ± {deviations[k]:.3f}")

plt.fill_between(counts, means - 2 * deviations, means + 2 * deviations, alpha=0.3, linewidth=0)
plt.plot(counts, means)
plt.axhline(1.0, color="#6a7280", linestyle="--")
plt.xlabel("households")
plt.ylabel("elasticity of food, ± 2 deviations")

# %%
# From which household on are two standard deviations less than a tenth, and less than a twentieth?

for width in (0.1, 0.05):
    print(f"± {width}: from household {counts[np.argmax(2 * deviations < width)]} on")

# %%
# The order in which rows came does not matter for the end:

at_once = sx.BayesianLinearRegression(1.0, 0.14**2).fit(X, y)
print(f"difference to one fit: {abs(at_once.coef_[0] - model.coef_[0]):.0e}")

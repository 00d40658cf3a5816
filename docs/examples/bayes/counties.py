"""
Which county has really the most cancer?
========================================

Deaths by breast cancer in 301 counties of three southern states, and how many women lived there.
The highest rates are those of the smallest counties, and so are the lowest: chance. How far should
a rate be trusted?
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import cancer

import separatrix as sx

table = cancer.load_pandas().data
people = table["population"].to_numpy()
rate = 1000 * table["cancer"].to_numpy() / people

# %%
# Raw rates: small counties at both ends.

order = np.argsort(rate)
print("lowest rates: ", [f"{rate[i]:.1f} of {people[i]:.0f}" for i in order[:3]])
print("highest rates:", [f"{rate[i]:.1f} of {people[i]:.0f}" for i in order[-3:]])

# %%
# A rate of n women varies by about √(mean/n) by chance alone. What varies beyond that is real: it
# is the prior, and each county is drawn to the mean by as much as its own number deserves.

mean = 1000 * table["cancer"].sum() / people.sum()
chance = 1000 * mean / people  # variance of a rate per thousand
real = max(np.average((rate - mean) ** 2 - chance, weights=people), 0.0)
shrunk = sx.estimate_mean(rate, chance * people, people, prior_mean=mean, prior_variance=real)
print(f"mean {mean:.2f} by 1000, real deviation ± {np.sqrt(real):.2f}")

moved = np.abs(shrunk.value - mean) / np.abs(rate - mean)
small, large = people < np.quantile(people, 0.2), people > np.quantile(people, 0.8)
print(
    f"of its distance from the mean a small county retains {np.median(moved[small]):.0%},", end=" "
)
print(f"a large one {np.median(moved[large]):.0%}")

# %%

plt.scatter(people, rate, s=9, alpha=0.35, label="raw")
plt.scatter(people, shrunk.value, s=9, color="#c8550c", label="shrunk")
plt.axhline(mean, color="#6a7280", linewidth=0.8)
plt.xscale("log")
plt.xlabel("women in the county")
plt.ylabel("deaths by 1000 women")
plt.legend()

# %%
# The counties at the top, before and after:

for name, values in {"raw": rate, "shrunk": shrunk.value}.items():
    top = np.argsort(-values)[:3]
    print(
        f"{name:7}", ", ".join(f"county {i} ({values[i]:.1f}, {people[i]:.0f} women)" for i in top)
    )

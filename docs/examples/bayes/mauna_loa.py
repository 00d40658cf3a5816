"""
CO₂ at Mauna Loa: what will the curve do next?
==============================================

Carbon dioxide in the air of Hawaii rises from year to year and breathes with the seasons. A
Gaussian process with a kernel for each of the two learns from 1970 to 1987; the years after test
it.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import co2

import separatrix as sx

series = co2.load_pandas().data["co2"].resample("MS").mean().dropna()
time = series.index.year + (series.index.month - 0.5) / 12
X, y = np.asarray(time)[:, None], series.to_numpy()
past, later = (X[:, 0] >= 1970) & (X[:, 0] < 1988), (X[:, 0] >= 1988) & (X[:, 0] < 1997)

# %%
# A smooth rise, a season that changes slowly, irregular months, and noise. Variances and length
# scales are learned from the evidence; the year is not.

rise = sx.Constant(400.0) * sx.Gaussian(40.0)
year = sx.Fixed(sx.Periodic(1.0, 1.0), ("period",))
season = sx.Constant(4.0) * sx.Gaussian(50.0) * year
irregular = sx.Constant(0.2) * sx.Matern(1.0)
kernel = rise + season + irregular + sx.White(0.05)
process = sx.GaussianProcessRegressor(kernel, trend="constant").fit(X[past], y[past])
for found in process.hyperparameter_intervals():
    print(f"{found.name:24} {found.value:8.3g}  ({found.lower:.3g} to {found.upper:.3g})")

# %%
# Nine years ahead, month by month. The eruption of Pinatubo in June 1991 slowed the rise for a
# while; no kernel could know.

forecast = process.predictive(X[later])
low, high = forecast.interval(0.95).T
inside = (low <= y[later]) & (y[later] <= high)
for start, end in ((1988, 1992), (1992, 1997)):
    months = (X[later, 0] >= start) & (X[later, 0] < end)
    error = np.sqrt(np.mean((y[later] - forecast.mean)[months] ** 2))
    print(f"{start}–{end - 1}: root mean square error {error:.2f} ppm,", end=" ")
    print(
        f"{inside[months].mean():.0%} of {months.sum()} months inside their 95 % interval,", end=" "
    )
    print(f"± {(high - low)[months][-1] / 2:.1f} ppm at the end")

plt.fill_between(X[later, 0], low, high, alpha=0.3, color="#0f6cb0", linewidth=0)
plt.plot(X[past, 0], y[past], color="#6a7280", linewidth=0.8)
plt.plot(X[later, 0], y[later], color="#c8550c", linewidth=1)
plt.xlabel("year")
plt.ylabel("CO₂ (ppm)")

# %%

print(process.certificate_)

"""
Can a normal curve stand for what 32 students tell?
===================================================

With so few rows the likelihood of a logistic model is skewed. Laplace's approximation replaces the
posterior by a normal distribution at its top; draws from the posterior itself need no such help.
How far are they apart?
"""

# %%
# The students of the new teaching method once more, now with a prior on the coefficients whose
# scale is learned from the evidence.
from statsmodels.datasets import spector

import separatrix as sx
from separatrix.pictures import LaplaceComparisonDisplay

table = spector.load_pandas()
model = sx.BayesianLogisticRegression().fit(table.exog, table.endog == 1)
samples = model.sample(2000, random_state=0)
print(samples)

# %%
# 95 % intervals of the coefficients by both.
comparison = model.compare(samples)
LaplaceComparisonDisplay(comparison)

# %%
print(comparison)

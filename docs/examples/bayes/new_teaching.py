"""
Did the new way of teaching help?
=================================

32 students of economics, half of them taught by a new method; eleven improved. With so few rows a
maximum of the likelihood says too little: what does the whole posterior say?
"""

import numpy as np
from statsmodels.datasets import spector

import separatrix as sx
from separatrix.pictures import LaplaceComparisonDisplay

table = spector.load_pandas().data
X = table[["GPA", "TUCE", "PSI"]]
y = np.where(table["GRADE"] == 1, "improved", "as before")

# %%
# Logistic regression with a normal prior, whose width is learned too; then draws from the exact
# posterior beside the normal distribution at its maximum.

model = sx.BayesianLogisticRegression().fit(X, y)
samples = model.sample(1000, n_chains=4, random_state=0)
print(samples)

LaplaceComparisonDisplay(model.compare(samples))

# %%
# What the draws say about the method, given grade point average and the test before the course:

method = samples.coef[..., 2].ravel()
low, middle, high = np.exp(np.quantile(method, [0.05, 0.5, 0.95]))
print(f"it helps with probability {np.mean(method > 0):.3f}")
print(f"odds of improving times {middle:.1f} (90 % interval {low:.1f} to {high:.1f})")

# %%
# For a student in the middle of the other two columns:

middle = X.median()
both = X.iloc[:2].copy()
both["GPA"], both["TUCE"], both["PSI"] = middle["GPA"], middle["TUCE"], [0.0, 1.0]
old, new = model.predict_proba(both)[:, list(model.classes_).index("improved")]
print(f"probability of improving {old:.2f} by the old way, {new:.2f} by the new")

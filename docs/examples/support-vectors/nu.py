"""
How many tumors may be within the margin?
=========================================

C has no unit that a person would know. ν has one: at most this fraction of the rows is within the
margin, and at least this fraction are support vectors. Is the promise true on a real table?
"""

# %%
# 569 tumors, 30 measurements in standard units, Gaussian kernel: rows within the margin, support
# vectors, and the C with which SVC gives the same.
import numpy as np
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import MarginDisplay

tumors = load_breast_cancer()
X = (tumors.data - tumors.data.mean(axis=0)) / tumors.data.std(axis=0)
y = tumors.target_names[tumors.target]

print("   ν    within   support       C")
for nu in (0.05, 0.1, 0.2, 0.4, 0.6):
    model = sx.NuSVC(nu=nu).fit(X, y)
    margin = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    within = (margin < 1 - 1e-6).mean()
    support = len(model.support_) / len(y)
    print(f"{nu:4} {within:9.1%} {support:9.1%} {model.svms_[0].C[0]:7.3g}")

# %%
# The margins y f(x) of a tenth: negative ones are errors, those below one within the margin.
model = sx.NuSVC(nu=0.1).fit(X, y)
MarginDisplay.from_estimator(model, X, y)

# %%
# More than twice the proportion of the smaller class cannot be had, and the refusal says so.
try:
    sx.NuSVC(nu=0.9).fit(X, y)
except ValueError as refusal:
    print(refusal)

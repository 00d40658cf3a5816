"""
When does gradient descent make up its mind?
============================================

A sigmoid starts flat: every tumor is malignant with probability one half. Each step of gradient
descent tilts its line a little. After how many steps are the decisions those of the best line, and
after how many are the probabilities?
"""

# %%
# 569 tumors by the radius of their largest cells, and a small step size.
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

import separatrix as sx
from separatrix.pictures import DescentSigmoidDisplay

tumors = load_breast_cancer(as_frame=True)
radius = tumors.data[["worst radius"]]
kind = np.where(tumors.target == 0, "malignant", "benign")
descent = sx.GradientDescent(learning_rate=0.05, patience=None)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", sx.SeparatrixWarning)  # it stops after 1 000 steps
    descent.fit(radius, kind)
DescentSigmoidDisplay.from_estimator(descent, radius, kind)

# %%
# The best line without a penalty, and how far each step is from it.
best = sx.LogisticRegression(C=np.inf).fit(radius, kind)
slope, middle = best.coef_[0, 0], -best.intercept_[0] / best.coef_[0, 0]
least = log_loss(kind, best.predict_proba(radius))
trace = descent.trace_
for step in (1, 10, 100, 1000):
    w, b = trace.coef[step, 0, 0], trace.intercept[step, 0]
    print(
        f"{step:>5} steps: ½ at {-b / w:.2f}, slope {w:.3f}, "
        f"{trace.misclassified[step]:.1%} wrong, log loss {trace.objective[step]:.3f}"
    )
wrong = 1 - best.score(radius, kind)
print(f" best line: ½ at {middle:.2f}, slope {slope:.3f}, {wrong:.1%} wrong, log loss {least:.3f}")

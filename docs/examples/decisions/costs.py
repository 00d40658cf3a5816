"""
At which cost does the threshold move?
======================================

Missing a malignant tumor is worse than a false alarm. How much worse does it have to be before a
decision changes, and how many decisions are there at all?
"""

# %%
# Out-of-fold probabilities of a logistic model for all 569 tumors.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

import separatrix as sx
from separatrix.pictures import LogOddsDisplay

tumors = load_breast_cancer()
X = tumors.data[:, :3]  # mean radius, texture, perimeter
y = np.where(tumors.target == 0, "malignant", "benign")
model = sx.LogisticRegression(C=np.inf)
p = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]

# %%
# Where the tumors are on the axis of log odds. At equal costs the threshold is 0; a dearer miss
# moves it to the left.
classes = np.array(["benign", "malignant"])
LogOddsDisplay.from_probabilities(y, np.column_stack([1 - p, p]), classes)

# %%
# If a miss costs c false alarms, the optimal threshold for true probabilities is 1/(1 + c). The
# mean cost of a tumor is in the last two columns: at that threshold, and at ½.
ill = y == "malignant"
print("  c   threshold  missed   false   cost    at ½")
for c in (1, 2, 5, 10, 50):
    alarm = p > 1 / (1 + c)
    missed, false = (ill & ~alarm).sum(), (~ill & alarm).sum()
    plain = (c * (ill & (p <= 0.5)).sum() + (~ill & (p > 0.5)).sum()) / len(y)
    cost = (c * missed + false) / len(y)
    print(f"{c:3} {1 / (1 + c):11.2f} {missed:7} {false:7} {cost:6.2f} {plain:7.2f}")

# %%
# The decision cannot follow every change of c: the best thresholds are vertices of the convex hull
# of the ROC curve.
curve = sx.roc_curve(y, p, positive="malignant")
print(f"{len(curve.hull)} of {len(curve.thresholds)} thresholds are best for some cost")

# %%
# As an estimator, with costs by truth and answer:
costs = {"malignant": {"benign": 10.0}, "benign": {"malignant": 1.0}}
decided = sx.RejectOption(model, costs=costs).fit(X, y)
print(
    f"{(decided.predict(X) == 'malignant').sum()} alarms, mean cost {decided.mean_cost(X, y):.3f}"
)

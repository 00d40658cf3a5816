"""
Can two mediocre tests be one better test?
==========================================

Each measurement of a tumor is a test by itself: above a threshold, alarm. Texture and smoothness
are poor tests. What are they together, and which thresholds of the joint test should nobody use?
"""

# %%
# Two measurements, alone.
import numpy as np
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import RocDisplay

tumors = load_breast_cancer(as_frame=True)
ill = np.where(tumors.target == 0, "malignant", "benign")
train, test = slice(0, None, 2), slice(1, None, 2)
tests = ["mean texture", "mean smoothness"]
for name in tests:
    curve = sx.roc_curve(ill[test], tumors.data[name][test], positive="malignant")
    print(f"{name:>16}: area {curve.area:.3f}, under the hull {curve.hull_area:.3f}")

# %%
# Together, weighed by linear discriminant analysis of the other half of the tumors.
both = sx.LinearDiscriminantAnalysis().fit(tumors.data[tests][train], ill[train])
RocDisplay.from_estimator(both, tumors.data[tests][test], ill[test])

# %%
# Where the curve dips below its hull a threshold is never best: mixing its two neighbors at random
# does better.
curve = sx.roc_curve(
    ill[test], both.decision_function(tumors.data[tests][test]), positive="malignant"
)
print(f"        together: area {curve.area:.3f}, under the hull {curve.hull_area:.3f}")
print(f"thresholds: {len(curve.thresholds)}, on the hull: {len(curve.hull)}")

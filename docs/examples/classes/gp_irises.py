"""
How sure may one be of an iris that nobody has seen?
====================================================

A linear model is the surer the farther a flower is from its border, even where no flower has ever
been. A Gaussian process falls back to what it knows: nothing. What do both say of a strange iris?
"""

# %%
# Sepals of versicolor and virginica, which overlap.
import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import DecisionBoundaryDisplay

iris = load_iris(as_frame=True)
two = iris.target > 0
X = iris.data.loc[two, ["sepal length (cm)", "sepal width (cm)"]]
y = iris.target_names[iris.target[two]]
linear = sx.LogisticRegression(C=np.inf).fit(X, y)
process = sx.GaussianProcessClassifier().fit(X, y)
print(f"kernel learned: {process.kernel_}")

# %%
# The regions of the process; the kernel and its length scale were learned from the evidence.
DecisionBoundaryDisplay.from_estimator(process, X, y)

# %%
# A typical flower, one at the edge of the table, and two that nobody has seen.
strange = X.iloc[[0] * 4].reset_index(drop=True)
strange.iloc[:] = [[6.3, 2.9], [7.9, 3.8], [12.0, 3.0], [30.0, 8.0]]
p, q = linear.predict_proba(strange)[:, 1], process.predict_proba(strange)[:, 1]
for i in range(len(strange)):
    sepal = " × ".join(f"{value:.1f}" for value in strange.iloc[i])
    print(f"sepal {sepal:>10} cm: virginica {p[i]:6.1%} by the line, {q[i]:6.1%} by the process")

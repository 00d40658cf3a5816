"""
How much covariance do three cultivars need?
============================================

Normal classes may each have a covariance of their own, share one, or be spheres. More parameters
describe more, and are known less well. Which of six structures is right for 178 wines?
"""

# %%
# Thirteen measurements of each wine in standard units. Every structure predicts out of fold.
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_predict

import separatrix as sx
from separatrix.pictures import DecisionBoundaryDisplay

wine = load_wine(as_frame=True)
X = (wine.data - wine.data.mean()) / wine.data.std()
y = np.array(["A", "B", "C"])[wine.target]


def compare(name, model):
    """Parameters, wrong wines and log loss out of ten folds."""
    p = cross_val_predict(model, X, y, cv=10, method="predict_proba")
    wrong = (p.argmax(axis=1) != wine.target).sum()
    loss = -np.log(p[np.arange(len(y)), wine.target]).mean()
    parameters = model.fit(X, y).n_parameters_
    print(f"{name:>16}: {parameters:3} parameters, {wrong} wrong, log loss {loss:.3f}")


for name in ("full", "shared", "diagonal", "shared_diagonal", "spherical", "shared_spherical"):
    compare(name, sx.GaussianDiscriminant(name))

# %%
# Between them lies regularized discriminant analysis: α mixes own and common covariances, β shrinks
# towards spheres, and both are chosen by cross-validation, from moments alone.
between = sx.RegularizedDiscriminantAnalysis().fit(X, y)
print(f"chosen: alpha {between.alpha_:.2f}, beta {between.beta_:.2f}")
compare("regularized", sx.RegularizedDiscriminantAnalysis())

# %%
# Are the assumptions of any of them true? Box's M test compares the covariances of the classes,
# Mardia's test asks whether a class is normal.
print(sx.box_m([X[y == name] for name in "ABC"]))
for name in "ABC":
    print(name, sx.mardia(X[y == name]))

# %%
# The plane on which the classes differ most, with their ellipses.
DecisionBoundaryDisplay.from_estimator(between, X, y)

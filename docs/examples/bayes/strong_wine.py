"""
Wine: which of twelve measurements tell how strong it is?
=========================================================

178 Italian wines, thirteen chemical measurements. Can the alcohol be told from the other twelve,
and how many of them are needed? Each column gets a prior of its own, and those that explain less
than chance would are left out.
"""

import numpy as np
from sklearn.datasets import load_wine

import separatrix as sx
from separatrix.pictures import CoefficientDisplay, PredictiveIntervalDisplay

X = load_wine(as_frame=True).data
y = X.pop("alcohol")
train, test = np.arange(len(y)) % 3 != 0, np.arange(len(y)) % 3 == 0

# %%

relevance = sx.ARDRegression(standardize=True).fit(X[train], y[train])
ridge = sx.BayesianRidge(standardize=True).fit(X[train], y[train])
used = X.columns[relevance.coef_ != 0]
print(f"{len(used)} of {X.shape[1]} columns: {', '.join(used)}")

CoefficientDisplay.from_estimator(relevance, X)

# %%
# Fewer columns; what do they lose on wines that were not seen?

for name, model in {"own precisions": relevance, "one precision": ridge}.items():
    density = model.predictive(X[test]).log_density(y[test]).mean()
    print(f"{name:15} {np.count_nonzero(model.coef_):2} columns,", end=" ")
    print(
        f"log evidence {model.log_evidence_:.1f}, R² {model.score(X[test], y[test]):.3f},", end=" "
    )
    print(f"log density of a new wine {density:.3f}")

# %%

PredictiveIntervalDisplay.from_estimator(relevance, X[test], y[test])

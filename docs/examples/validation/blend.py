"""
One winner, or a blend?
=======================

Neighbors, lines and kernels make different mistakes on the same patients. Weights by errors out of
fold mix them; does the blend beat the best of them on patients that nobody has seen?
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

import separatrix as sx
from separatrix.pictures import CrossValidationDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
models = [
    sx.Ridge(1.0, standardize=True),
    sx.KNeighborsRegressor(20, standardize=True),
    sx.NadarayaWatson(1.5, standardize=True),
    sx.HuberRegressor(),
]
names = ["ridge", "neighbors", "smoother", "Huber"]

# %%

blend = sx.ModelAverage(models, "stacking").fit(X, y)
print({name: round(float(w), 2) for name, w in zip(names, blend.weights_, strict=True)})

# %%
# The blend is one more candidate: its weights are learned inside each outer fold.

scores = {name: [] for name in [*names, "blend"]}
for train, test in KFold(5, shuffle=True, random_state=1).split(X):
    for name, model in zip(scores, [*models, sx.ModelAverage(models, "stacking")], strict=True):
        fitted = clone(model).fit(X.iloc[train], y.iloc[train])
        scores[name].append(np.sqrt(np.mean((y.iloc[test] - fitted.predict(X.iloc[test])) ** 2)))
for name, errors in scores.items():
    print(f"{name:10} {np.mean(errors):.2f}")
difference = np.array(scores["blend"]) - np.array(scores["ridge"])
error = np.sqrt(difference.var(ddof=1) * (1 / 5 + 1 / 4))
print(f"blend minus ridge {difference.mean():.2f} ± {error:.2f}")

CrossValidationDisplay(list(scores), [np.array(s) for s in scores.values()], "rmse")

"""
Does shuffling flatter a forecast?
==================================

American inflation by quarter, from what was known in the quarter before. Folds at random put the
neighbours of a test quarter into training; a forecaster has no such help.
"""

import numpy as np
from sklearn.model_selection import KFold, TimeSeriesSplit
from statsmodels.datasets import macrodata

import separatrix as sx
from separatrix.pictures import CrossValidationDisplay

table = macrodata.load_pandas().data
X = table[["unemp", "tbilrate", "realgdp", "cpi", "m1", "pop"]].iloc[:-1].reset_index(drop=True)
y = table["infl"].iloc[1:].reset_index(drop=True)

# %%
# Three models, folds of two kinds, root mean square errors fold by fold.

models = {
    "line": sx.LinearRegression(),
    "neighbors": sx.KNeighborsRegressor(5, standardize=True),
    "mean": sx.MeanRegressor(),
}
folds = {"shuffled": KFold(5, shuffle=True, random_state=0), "forward": TimeSeriesSplit(5)}
scores = {}
for kind, splitter in folds.items():
    for name, model in models.items():
        errors = []
        for train, test in splitter.split(X):
            predicted = model.fit(X.iloc[train], y[train]).predict(X.iloc[test])
            errors.append(np.sqrt(np.mean((y[test] - predicted) ** 2)))
        scores[f"{name}, {kind}"] = np.array(errors)
for name, errors in scores.items():
    print(f"{name:20} {errors.mean():.2f} points of inflation")

CrossValidationDisplay(list(scores), list(scores.values()), "rmse")

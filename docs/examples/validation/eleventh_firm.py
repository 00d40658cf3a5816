"""
Does a model of ten firms know an eleventh?
===========================================

Eleven firms, twenty years each: 220 rows, but only eleven firms. With rows at random in the folds a
model is tested on firms that it knows from other years.
"""

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from statsmodels.datasets import grunfeld

import separatrix as sx
from separatrix.pictures import PredictedActualDisplay

table = grunfeld.load_pandas().data
X, y, firm = table[["value", "capital"]], table["invest"], table["firm"]

# %%
# The same models, folds of rows and folds of firms.

models = {
    "line": sx.LinearRegression(),
    "degree 2": sx.PolynomialRegression(2),
    "neighbors": sx.KNeighborsRegressor(5, standardize=True),
}
folds = {
    "year": list(KFold(11, shuffle=True, random_state=0).split(X)),
    "firm": list(GroupKFold(11).split(X, groups=firm)),
}
predicted = {
    (name, kind): cross_val_predict(model, X, y, cv=splits)
    for name, model in models.items()
    for kind, splits in folds.items()
}
for name in models:
    year, other = (np.sqrt(np.mean((y - predicted[name, kind]) ** 2)) for kind in folds)
    print(f"{name:10} {year:3.0f} million dollars off for a new year, {other:3.0f} for a new firm")

# %%
# The firm that is farthest off, when its neighbors have to come from other firms:

by_others = predicted["neighbors", "firm"]
errors = (y - by_others).abs().groupby(firm).mean()
worst = errors.idxmax()
print(f"{worst}: {errors.max():.0f} off on average, of {y[firm == worst].mean():.0f} invested")

PredictedActualDisplay.from_predictions(y, by_others, row_labels=list(firm))

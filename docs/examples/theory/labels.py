"""
How many labels can a good question save?
=========================================

Measuring a tumor is cheap, a diagnosis is not. A model that may choose which tumors are diagnosed
next should need fewer diagnoses than one that takes them as they come. Does it?
"""

# %%
# Both start from the same labeled tumors, and learn ten more at a time: those that the model asks
# for, or random ones. Five repeats.
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import ActiveCurveDisplay

tumors = load_breast_cancer(as_frame=True)
X = tumors.data[["mean texture", "mean area", "mean smoothness", "worst concavity"]]
y = tumors.target_names[tumors.target]
model = sx.LinearDiscriminantAnalysis()
curve = sx.active_curve(model, X, y, start=10, k=10, labels=90, repeats=5)
ActiveCurveDisplay(curve)

# %%
print(curve)

# %%
# Which tumors does the model choose? Those nearest to its border, and not all in one place.
known = slice(0, 20)
first = model.fit(X[known], y[known])
pool = X[20:]
found = sx.query(first, pool, 5)
p = first.predict_proba(pool.iloc[found.rows])[:, 1]
print(found.reason)
print(f"probabilities of the five: {p.round(2)}")

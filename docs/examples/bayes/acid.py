"""
Stack loss once more: does the acid matter at all?
==================================================

Three columns may explain how much ammonia is lost, alone or together: seven models. To choose one
is to bet; their evidences say how probable each is, and with them each column.
"""

from itertools import combinations

import numpy as np
from statsmodels.datasets import stackloss

import separatrix as sx
from separatrix.pictures import EvidenceWeightDisplay

table = stackloss.load_pandas()
X, y = table.exog, table.endog
X.columns = ["air", "water", "acid"]

# %%
# A model for each set of columns. Its evidence punishes columns that do not pay for themselves.

sets = [list(chosen) for size in (1, 2, 3) for chosen in combinations(X.columns, size)]
models = [sx.BayesianRidge(standardize=True).fit(X[chosen], y) for chosen in sets]
evidence = np.array([model.log_evidence_ for model in models])
weights = np.exp(evidence - evidence.max())
weights /= weights.sum()

EvidenceWeightDisplay([" + ".join(chosen) for chosen in sets], weights, evidence)

# %%
# The probability of a column is the sum over the models that use it.

for column in X.columns:
    used = sum(w for w, chosen in zip(weights, sets, strict=True) if column in chosen)
    print(f"{column:6} matters with probability {used:.2f}")

# %%
# Averages predict with what is left open between the models.

new = X.iloc[[0]]
means = np.array([m.predict(new[c])[0] for m, c in zip(models, sets, strict=True)])
probable = means[weights > 0.05].round(1).tolist()
print(f"first day: {probable} by the probable models, {weights @ means:.1f} on average")

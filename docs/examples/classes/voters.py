"""
What tells a Dole voter from a Clinton voter?
=============================================

944 voters of 1996 said how they see themselves and both candidates on a scale from left to right,
which party they feel part of, how often they watch news, and who they are. How few of these answers
are enough?
"""

# %%
# An ℓ₁ penalty lets coefficients enter one by one as it is relaxed.
import numpy as np
from sklearn.model_selection import cross_val_score
from statsmodels.datasets import anes96

import separatrix as sx
from separatrix.pictures import RegularizationPathDisplay

table = anes96.load_pandas().data
vote = np.where(table.pop("vote") == 1, "Dole", "Clinton")
X = table.drop(columns="popul")
path = sx.LogisticPath(60, l1_ratio=1.0, standardize=True).fit(X, vote)
RegularizationPathDisplay.from_estimator(path, X)

# %%
# In which order do they enter?
entered = (path.coefs_[:, 0] != 0).argmax(axis=0)
order = np.argsort(entered, kind="stable")
for j in order:
    print(f"{X.columns[j]:>8} enters at C = {path.Cs_[entered[j]]:.4f}")

# %%
# Cross-validated errors of models with the first few of them, without penalty.
for size in (1, 2, 3, 5, len(order)):
    columns = X.columns[order[:size]]
    right = cross_val_score(sx.LogisticRegression(C=np.inf), X[columns], vote, cv=10).mean()
    print(f"the first {size}: {1 - right:.1%} of votes predicted wrong")

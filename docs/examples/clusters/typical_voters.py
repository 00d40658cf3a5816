"""
Who is the typical voter?
=========================

The mean of all answers is a voter who does not exist. A medoid does: the voter whose total distance
to all others of the cluster is least. Who stands for the 944 of 1996?
"""

# %%
# Gower's distance takes answers of different scales together: each column counts by its range.
import numpy as np
from statsmodels.datasets import anes96

import separatrix as sx
from separatrix.pictures import SilhouetteDisplay

table = anes96.load_pandas().data
vote = np.where(table["vote"] == 1, "Dole", "Clinton")
X = table.drop(columns=["vote", "popul", "logpopul"])
model = sx.KMedoids(2, metric="gower", random_state=0).fit(X)
print(X.iloc[model.medoid_indices_].T.to_string(header=["voter A", "voter B"]))

# %%
# Two persons for 944. The vote itself was not among the columns: do their followers vote alike?
for cluster in range(2):
    mine = model.labels_ == cluster
    dole = (vote[mine] == "Dole").mean()
    print(f"{mine.sum()} voters like {'AB'[cluster]}: {dole:.0%} voted for Dole")
print(model.certificate_)

# %%
# Silhouettes say how much nearer voters are to their own cluster than to the other.
SilhouetteDisplay.from_rows(X, model.labels_, metric="gower")

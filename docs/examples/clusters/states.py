"""
Which American states are alike?
================================

Violent crime, murder, high school graduates, poverty, single parents, race and cities of fifty
states and the District of Columbia in 2009. A tree of merges says which are alike at every level;
where should it be cut?
"""

# %%
# Ward's linkage on standardized columns.
import numpy as np
from statsmodels.datasets import statecrime

import separatrix as sx
from separatrix.pictures import DendrogramDisplay

table = statecrime.load_pandas().data
table.index = table.index.str.strip()
X = (table - table.mean()) / table.std()
tree = sx.AgglomerativeClustering(4).fit(X)
DendrogramDisplay.from_estimator(tree, leaf_labels=table.index)

# %%
# The four clusters, from left to right.
for cluster in dict.fromkeys(tree.labels_[tree.dendrogram_.leaves]):
    print(f"{', '.join(table.index[tree.labels_ == cluster])}\n")

# %%
# How well do cuts into more or fewer clusters separate them?
for k in range(2, 8):
    labels = tree.dendrogram_.cut(k)
    shape = sx.silhouette(X, labels)
    print(f"{np.bincount(labels)} states: mean silhouette {shape.score:.2f}")

# %%
# The state that is least like any other is the one that joins last; the most alike join first.
alone = next(row for row in tree.linkage_[::-1] if row[:2].min() < len(X))
first = tree.linkage_[0, :2].astype(int)
print(f"joins last as a single state: {table.index[int(alone[:2].min())]}, at {alone[2]:.2f}")
print(f"most alike: {' and '.join(table.index[first])}, at {tree.linkage_[0, 2]:.2f}")
print(tree.certificate_)

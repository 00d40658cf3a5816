"""
Which irises lie between two species?
=====================================

Three clusters of 150 irises are nearly the three species. Nearly: where one flower is about as near
to another cluster as to its own, its silhouette is about zero. Are those the flowers that end in
the wrong cluster?
"""

# %%
# Four measurements in centimeters, three clusters.
import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import ElbowDisplay, SilhouetteDisplay

iris = load_iris(as_frame=True)
model = sx.KMeans(3, random_state=0).fit(iris.data)
SilhouetteDisplay.from_estimator(model, iris.data)

# %%
# A flower is misplaced if most of its cluster is of another species.
species = iris.target.to_numpy()
majority = np.array([np.bincount(species[model.labels_ == k]).argmax() for k in range(3)])
misplaced = majority[model.labels_] != species
widths = sx.silhouette(iris.data, model.labels_).samples
for name, flowers in {"misplaced": misplaced, "others": ~misplaced}.items():
    print(f"{name}: {flowers.sum()} flowers, median silhouette {np.median(widths[flowers]):.2f}")
edge = widths < 0.2
print(f"of {edge.sum()} flowers below 0.2, {misplaced[edge].sum()} are misplaced")

# %%
# Would the silhouettes have chosen three clusters? Two are better separated: setosa, and the rest.
ElbowDisplay.from_rows(iris.data, range(1, 8))

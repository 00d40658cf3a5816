"""
Are three wine cultivars three groups?
======================================

K-means finds three clusters in any table, one without groups included. Are those of 178 Italian
wines groups, and are they the cultivars, which it never saw?
"""

# %%
# The study chooses the number of clusters, and compares them with what the same search finds in
# tables of the same shape without groups.
import pandas as pd

import separatrix as sx
from separatrix.pictures import ClusterProfileDisplay, ClusterProjectionDisplay
from separatrix.samples import sample

wine = pd.read_csv(sample("wine").path)
cultivar = wine.pop("cultivar")
study = sx.run_clusters(sx.scan(wine), seed=0)
print(study.verdict.summary)
print(f"separated: {study.structure.effect:.2f} beyond chance (p = {study.structure.p_value:.3f})")
print(f"stable: agreement of random halves {study.stability.mean:.2f} (1 is perfect)")

# %%
# Rows on the plane of the largest scatter between clusters.
clusters = sx.KMeans(3, standardize=True, random_state=0).fit(wine).labels_
ClusterProjectionDisplay.from_rows(wine, clusters, standardize=True)

# %%
# The clusters against the names on the bottles.
print(pd.crosstab(cultivar, clusters, colnames=["cluster"]))

# %%
# What a cluster is like: means of the columns, in standard deviations of the table.
ClusterProfileDisplay.from_rows(wine, clusters)

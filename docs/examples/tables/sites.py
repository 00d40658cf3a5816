"""
Do merged sums tell tumors apart as all rows would?
===================================================

Three hospitals have tumors in their tables and may not show them to each other. Counts, means and
products of columns by class are enough for a discriminant. Is the model of the merged sums the
model of all rows?
"""

# %%
# The tumors, dealt to three sites that saw other cases: by texture.
import numpy as np
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import ConfusionMatrixDisplay
from separatrix.storage import merge_moments, summarize

tumors = load_breast_cancer(as_frame=True)
columns = ["mean texture", "mean area", "mean smoothness", "worst concavity"]
table = tumors.data[columns].assign(kind=tumors.target_names[tumors.target])
site = np.digitize(table["mean texture"], [17, 20])
sites = [table[site == s] for s in range(3)]

# %%
# What leaves a site: sums by class and part, none of them over fewer than three rows.
parts = sx.Parts(seed=0, test=0.2, folds=2)
sums = [summarize(sx.scan(one, target="kind"), parts, min_rows=3) for one in sites]
merged = merge_moments(sums, min_rows=3)
print("rows by site:", [len(one) for one in sites])

# %%
# Whoever merges them, and has seen no row, fits the discriminant to the training part.
shared = sx.run_study(merged, models=["lda"]).model

# %%
# The same from one table of all rows, which should not exist. The part of a row follows from a hash
# of its values, so that it is the same at its site and here.
training = parts.assign(sx.scan(table, target="kind").read().hashes) >= 0
everything = sx.LinearDiscriminantAnalysis().fit(
    table.loc[training, columns], table.loc[training, "kind"]
)
apart = np.abs(shared.coef_ / everything.coef_ - 1).max()
print(f"training rows: {training.sum()} of {len(table)}")
print(f"largest relative difference of a coefficient: {apart:.0e}")

# %%
# The test rows of all three sites, predicted by the shared model.
test = table[~training]
ConfusionMatrixDisplay.from_estimator(shared, test[columns], test["kind"])

# %%
# A sum over few rows would give them away, and is refused at the site.
try:
    summarize(sx.scan(sites[0].head(30), target="kind"), parts, min_rows=10)
except ValueError as refusal:
    print(refusal)

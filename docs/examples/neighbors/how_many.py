"""
How many neighbors should vote on a digit?
==========================================

One neighbor follows every smudge, a hundred are not neighbors any more. Leaving out every image in
turn tells which number is best, and one search for neighbors is enough for all of them: what does
the curve look like?
"""

# %%
# 1 797 images. ``"auto"`` searches once, and counts the votes of the nearest 1, 2, 3 … others.
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import ConfusionMatrixDisplay, NeighborCountDisplay

digits = load_digits()
model = sx.KNeighborsClassifier("auto").fit(digits.data, digits.target)
NeighborCountDisplay.from_estimator(model)

# %%
# The answer is not sharp: many numbers are within one standard error of the best.
found = model.leave_one_out_
best = found.error.argmin()
near = found.n_neighbors[found.error <= found.error[best] + found.standard_error[best]]
print(f"best: k = {model.n_neighbors_}, {found.error[best]:.2%} of the images wrong")
print(f"within one standard error: k from {near.min()} to {near.max()}")
print(f"k = {found.n_neighbors[-1]}: {found.error[-1]:.2%} wrong")

# %%
# Predictions for training rows from the others, without fitting again: which digits are confused?
guess = model.predict(None)
wrong = guess != digits.target
pairs, counts = np.unique(
    [f"{a} taken for {b}" for a, b in zip(digits.target[wrong], guess[wrong], strict=True)],
    return_counts=True,
)
for i in np.argsort(-counts, kind="stable")[:4]:
    print(f"{pairs[i]}: {counts[i]} times")
ConfusionMatrixDisplay.from_predictions(digits.target, guess)

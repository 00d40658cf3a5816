"""
When do ten digits have no winner?
==================================

One classifier for each pair of digits: 45 votes on every image. If one digit wins all of its nine
duels the answer is clear. What if none does?
"""

# %%
# Half of the images train. Each duel is a linear discriminant between two digits.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import ConfusionMatrixDisplay

digits = load_digits()
train, test = slice(0, 900), slice(900, None)
duels = sx.LinearDiscriminantAnalysis()
forced = sx.OneVsOne(duels).fit(digits.data[train], digits.target[train])
free = sx.OneVsOne(duels, reject=True).fit(digits.data[train], digits.target[train])
truth = digits.target[test]
always, sometimes = forced.predict(digits.data[test]), free.predict(digits.data[test])

# %%
# Images without a winner are answered −1, the label of a rejection.
none = sometimes == -1
print(f"always answering: {(always != truth).sum()} errors in {len(truth)} images")
print(f"free to abstain:  {(sometimes[~none] != truth[~none]).sum()} errors in {(~none).sum()}")
forced_there = (always != truth)[none].mean()
print(f"without a winner: {none.sum()}; forced answers there are {forced_there:.0%} wrong")
ConfusionMatrixDisplay.from_estimator(free, digits.data[test], truth)

# %%
# Six of the images on which it abstains: truth, and what it would answer if it had to.
figure, axes = plt.subplots(1, 6, figsize=(7, 1.6), layout="constrained")
for ax, i in zip(axes, np.flatnonzero(none)[:6], strict=True):
    ax.imshow(digits.images[test][i], cmap="gray_r")
    ax.set_title(f"{truth[i]}, forced {always[i]}", fontsize=9)
    ax.axis("off")

"""
Does a kernel see digits that K-means confuses?
===============================================

K-means compares images by the squared differences of their gray values, thick and faint strokes
included. A normalized kernel compares directions. Which of the two puts equal digits together?
"""

# %%
# Every third image, ten clusters, no labels.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import separatrix as sx

digits = load_digits()
X, y = digits.data[::3], digits.target[::3]
models = {
    "K-means": sx.KMeans(10, n_init=5, random_state=0),
    "cosine kernel": sx.KernelKMeans(10, kernel=sx.Linear().normalized(), n_init=5, random_state=0),
    "Gaussian kernel": sx.KernelKMeans(10, kernel=sx.Gaussian(25.0), n_init=5, random_state=0),
}
for name, model in models.items():
    labels = model.fit(X).labels_
    alike = sum(np.bincount(y[labels == k]).max() for k in range(10)) / len(y)
    score = adjusted_rand_score(y, labels)
    print(f"{name:>15}: adjusted Rand index {score:.2f}, {alike:.0%} agree with their cluster")

# %%
# The mean image of each cluster of the best of the three, with its most frequent digit.
best = max(models.values(), key=lambda model: adjusted_rand_score(y, model.labels_))
figure, axes = plt.subplots(1, 10, figsize=(7, 1.1))
for k, ax in enumerate(axes):
    ax.imshow(X[best.labels_ == k].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set_title(np.bincount(y[best.labels_ == k]).argmax())
    ax.axis("off")

"""
What does a typical three look like?
====================================

The mean of all threes is a blur that nobody wrote. The geometric median is less moved by odd ones,
and the medoid is a three that somebody did write. Which of them recognizes new digits best?
"""

# %%
# Mean, geometric median and medoid of the training threes.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import separatrix as sx

digits = load_digits()
train, test = slice(0, 1200), slice(1200, None)
threes = digits.data[train][digits.target[train] == 3]
median, medoid = sx.geometric_median(threes), sx.medoid(threes)
exemplars = {"mean": threes.mean(axis=0), "median": median.point, "medoid": medoid.point}
figure, axes = plt.subplots(1, 3, figsize=(4.5, 1.8))
for ax, (name, image) in zip(axes, exemplars.items(), strict=True):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set_title(name)
    ax.axis("off")

# %%
# Each is best at something: the sum of squared distances, the sum of distances, the same among the
# images themselves. The residual of the median is the length of its shortest subgradient.
for name, image in exemplars.items():
    d = sx.Euclidean().distances(image[None], threes)[0]
    print(f"{name:>6}: squared distances {(d**2).sum():,.0f}, distances {d.sum():,.1f}")
print(f"residual of the median: {median.residual:.0e}; the medoid is image {medoid.index}")

# %%
# A classifier of ten exemplars, one for each digit.
for name in exemplars:
    model = sx.NearestExemplar("euclidean", name).fit(digits.data[train], digits.target[train])
    right = model.score(digits.data[test], digits.target[test])
    print(f"ten digits by their {name}: {right:.1%} of new images right")

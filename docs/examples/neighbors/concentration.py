"""
Is the nearest digit still near in 64 columns?
==============================================

In many columns of noise all points are about equally far apart, and a nearest neighbor means
little. Images of digits have 64 columns. Do their distances concentrate?
"""

# %%
# All pairs of the images.
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import DistanceConcentrationDisplay

pixels, digit = load_digits(return_X_y=True)
pixels, digit = pixels[::2], digit[::2]
print(sx.distance_concentration(pixels))
DistanceConcentrationDisplay.from_rows(pixels)

# %%
# The same gray values, each column shuffled by itself: every pixel has its histogram, and nothing
# belongs together any more.
rng = np.random.default_rng(0)
shuffled = rng.permuted(pixels, axis=0)
print(sx.distance_concentration(shuffled))
DistanceConcentrationDisplay.from_rows(shuffled)

# %%
# So it is not the number of columns. How much nearer is the nearest than a typical image?
for name, rows in {"images": pixels, "shuffled": shuffled}.items():
    ordered = np.sort(sx.Euclidean().distances(rows), axis=1)  # the first is the image itself
    nearest = np.median(ordered[:, 1] / np.median(ordered, axis=1))
    print(f"{name}: the nearest is at {nearest:.0%} of the median distance")

"""
How many labels does a safe answer need?
========================================

At least 19 times in 20 the true digit shall be in the answer, whatever the model is like. The
answer is then a set of labels: one if the image is clear, several if it is not. How large are these
sets, and when does the promise break?
"""

# %%
# Linear discriminant analysis of 1 200 images, a quarter of which calibrate it; 597 others are
# predicted. The images are shuffled first.
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import CategoryCoverageDisplay, SetSizeDisplay

pixels, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digit))
X, y = pixels[order], digit[order]
model = sx.ConformalClassifier(sx.LinearDiscriminantAnalysis()).fit(X[:1200], y[:1200])
for level in (0.8, 0.9, 0.95, 0.99):
    sets = model.predict_set(X[1200:], level=level)
    inside = sets[np.arange(len(sets)), y[1200:]].mean()
    size = sets.sum(axis=1).mean()
    print(
        f"promised {level:.0%}: {inside:.1%} of the true digits are inside, {size:.2f} labels each"
    )

# %%
# At 95 % most answers are one digit.
SetSizeDisplay.from_estimator(model, X[1200:], level=0.95)

# %%
# The promise is about all digits together. A single digit may have less.
CategoryCoverageDisplay.from_estimator(model, X[1200:], y[1200:], level=0.95)

# %%
# What the promise needs is that old and new rows come from the same source. Calibrate on the first
# images of the file and predict the last ones, without shuffling, and it is broken: the last images
# are not like the first.
for name, (images, truth) in {"shuffled": (X, y), "in order": (pixels, digit)}.items():
    model.fit(images[:1200], truth[:1200])
    found = model.coverage(images[1200:], truth[1200:], level=0.95)
    low, high = found.interval
    print(f"{name}: {found.proportion:.1%} covered (95 % interval {low:.1%} to {high:.1%})")

"""
Does a model notice a digit that it has never seen?
===================================================

A classifier of two digits calls every other digit one of the two, and says nothing. A one-class SVM
describes where the rows of one class are; what lies outside is worth a look.
"""

# %%
# Handwritten digits, 64 gray values each. Every other eight is all that is learned from: at most
# the fraction ν = 10 % of them may lie outside of the region.
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import RocDisplay

pixels, digit = load_digits(return_X_y=True)
eights = np.flatnonzero(digit == 8)
train, fresh = eights[::2], eights[1::2]
inside = sx.OneClassSVM(nu=0.1, gamma=0.0002).fit(pixels[train])
print(f"training eights outside: {(inside.predict(pixels[train]) == -1).mean():.1%}")
print(inside.certificate_)

# %%
# ν is a promise about the training rows; of new eights more may be outside. The other digits should
# be.
print(f"new eights accepted: {(inside.predict(pixels[fresh]) == 1).mean():.0%} of {len(fresh)}")
for other in sorted(set(digit) - {8}):
    rows = pixels[digit == other]
    print(f"  {other}: {(inside.predict(rows) == -1).mean():4.0%} of {len(rows)} refused")

# %%
# The border can be moved afterwards. The curve shows every place for it at once.
rest = np.concatenate([fresh, np.flatnonzero(digit != 8)])
known = np.where(digit[rest] == 8, "eight", "other")
scores = inside.decision_function(pixels[rest])
RocDisplay.from_predictions(known, scores, positive="eight")

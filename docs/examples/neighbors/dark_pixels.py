"""
Is a digit the set of its dark pixels?
======================================

Forget the gray values: an image is the set of places where there is ink. Sets have a kernel, the
size of what two share over the size of what they cover together. Is that enough to read a digit?
"""

# %%
# Sets of pixels of every third image.
import numpy as np
from sklearn.datasets import load_digits

import separatrix as sx
from separatrix.pictures import PerceptronTraceDisplay

pixels, digit = load_digits(return_X_y=True)
pixels, digit = pixels[::3], digit[::3]
inked = [set(np.flatnonzero(image > 7).tolist()) for image in pixels]
half = len(digit) // 2
print(f"the first image is a {digit[0]}: {len(inked[0])} dark pixels, {sorted(inked[0])[:8]} …")

# %%
# A perceptron with this kernel: it stores the images on which it was mistaken, and no others.
model = sx.KernelPerceptron(kernel=sx.Jaccard(), average=True)
model.fit(inked[:half], digit[:half])
print(
    f"sets of dark pixels: {model.score(inked[half:], digit[half:]):.1%} of {half} new images right"
)
print(f"images stored: {len(model.support_)} of {half}")
PerceptronTraceDisplay.from_estimator(model)

# %%
# The same with all sixteen shades, and with a support vector machine.
gray = sx.KernelPerceptron(kernel=sx.Polynomial(3, constant=1.0, scale=0.001), average=True)
svm = sx.SVC(kernel=sx.Jaccard()).fit(inked[:half], digit[:half])
gray.fit(pixels[:half], digit[:half])
print(f"perceptron on gray values: {gray.score(pixels[half:], digit[half:]):.1%}")
print(f"SVM on sets:               {svm.score(inked[half:], digit[half:]):.1%}")

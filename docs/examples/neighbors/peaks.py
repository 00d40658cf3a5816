"""
How many kinds of iris does one ruler find?
===========================================

A histogram has as many peaks as its bins let it have. A kernel density has a bandwidth in place of
bins, and rows that are left out choose it. How many kinds are there in 150 petals, if nobody says
which flower they are from, and how many if somebody does?
"""

# %%
# Lengths of petals, in units of their standard deviation. Rules for a normal density do not know
# that there is more than one kind; the likelihood of rows left out does.
import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks
from sklearn.datasets import load_iris
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import separatrix as sx

irises = load_iris()
length = irises.data[:, [2]]
grid = np.linspace(0, 8, 801)[:, None]
mean, scale = length.mean(), length.std()
figure, axes = plt.subplots(layout="constrained")
for bandwidth in (0.05, "likelihood", "scott", 1.0):
    density = sx.KernelDensity(bandwidth=bandwidth).fit((length - mean) / scale)
    height = np.exp(density.score_samples((grid - mean) / scale)) / scale
    peaks, _ = find_peaks(height)
    axes.plot(grid[:, 0], height, label=f"{bandwidth}: {len(peaks)} peaks")
    print(f"{bandwidth!s:>10}: bandwidth {density.bandwidth_ * scale:.2f} cm, {len(peaks)} peaks")
axes.plot(length[:, 0], np.full(len(length), -0.01), "k|")
axes.set(xlabel="petal length (cm)", ylabel="density")
axes.legend(title="bandwidth")

# %%
# Two of the three species lie side by side and make one peak. With their names each has a density
# of its own, and Bayes' rule decides.
species = irises.target_names[irises.target]
parzen = sx.ParzenClassifier().fit(length, species)
figure, axes = plt.subplots(layout="constrained")
axes.plot(grid[:, 0], parzen.predict_proba(grid), label=parzen.classes_)
axes.set(xlabel="petal length (cm)", ylabel="probability")
axes.legend()

# %%
# Is what is one peak without names told apart with them?
guess = cross_val_predict(sx.ParzenClassifier(), length, species, cv=LeaveOneOut())
for name, bandwidth in zip(parzen.classes_, parzen.bandwidths_, strict=True):
    right = np.mean(guess[species == name] == name)
    print(f"{name:>10}: bandwidth {bandwidth:.2f} cm, {right:.0%} right when left out")

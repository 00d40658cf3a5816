"""
What do the support vectors of two irises look like?
====================================================

A hundred flowers of two species were measured. Most of them do not influence where the border
between the species runs: which ones do?
"""

# %%
# The table: versicolor and virginica, by the length and the width of their petals in centimeters.
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import DualCoefficientDisplay, SupportVectorDisplay

iris = load_iris(as_frame=True)
two = iris.target > 0
petals = iris.data.loc[two, ["petal length (cm)", "petal width (cm)"]]
species = iris.target_names[iris.target[two]]

# %%
# A linear support vector machine has three lines: f = 0, where it changes its mind, and f = ±1, its
# margins. Flowers beyond their margin have the dual coefficient α = 0: without them the fit would
# be the same.
svm = sx.SVC(kernel="linear", C=1.0).fit(petals, species)
SupportVectorDisplay.from_estimator(svm, petals, species)

# %%
# How much each support vector counts is bounded by C. At the bound are flowers within the margin or
# on the wrong side; in between are those that lie on a margin and fix its place.
DualCoefficientDisplay.from_estimator(svm, species)

# %%
# Is it true that the others do not matter? Fit the support vectors alone and compare.
alone = sx.SVC(kernel="linear", C=1.0).fit(petals.iloc[svm.support_], species[svm.support_])
kinds = {kind: int((svm.group_ == kind).sum()) for kind in ("non-support", "free", "bound")}
moved = abs(alone.decision_function(petals) - svm.decision_function(petals)).max()
print(f"flowers by kind: {kinds}")
print(f"misclassified: {(svm.predict(petals) != species).sum()} of {len(petals)}")
print(f"without the {kinds['non-support']} others no score moves by more than {moved:.0e}")
print(svm.certificate_)

"""
Are versicolor and virginica separable, and who proves it?
==========================================================

A perceptron that is still wrong after a thousand epochs has proved nothing: perhaps it needs one
more. A proof is either a hyperplane with every flower on its own side, or a point that both species
share.
"""

# %%
# Three pairs of species, four measurements each.
import warnings

import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import PerceptronTraceDisplay

iris = load_iris()
names = iris.target_names[iris.target]
for a, b in (("setosa", "versicolor"), ("setosa", "virginica"), ("versicolor", "virginica")):
    pair = np.isin(names, [a, b])
    found = sx.linear_separability(iris.data[pair], names[pair])
    if found.separable:
        print(f"{a}, {b}: separable, proved by a hyperplane {found.margin:.2f} cm from any flower")
    else:
        print(f"{a}, {b}: not separable, proved by {sum(map(len, found.support))} flowers")

# %%
# The last pair: a weighted mean of some versicolors *is* a weighted mean of some virginicas.
# Whoever separates the species would have to put this flower on both sides. Anyone can add it up.
pair = names != "setosa"
X, y = iris.data[pair], names[pair]
proof = sx.linear_separability(X, y)
for kind, rows, weights in zip(proof.classes, proof.support, proof.weights, strict=True):
    print(f"{kind:>10}: mean of rows {rows.tolist()} = {(weights @ X[rows]).round(9)}")

# %%
# A perceptron on these flowers never comes to rest. It says so itself, in the warning SEP003.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    wandering = sx.Perceptron(order="given", max_epochs=100, standardize=True).fit(X, y)
print(caught[0].message)
PerceptronTraceDisplay.from_estimator(wandering)

# %%
# On setosa and the others it stops, within a number of mistakes that was known before it began.
setosa = names == "setosa"
calm = sx.Perceptron(order="given", max_epochs=100).fit(iris.data, setosa)
bound = sx.linear_separability(iris.data, setosa).mistake_bound
mistakes = calm.trace_.mistakes.ravel()
print(f"mistakes by epoch: {mistakes.tolist()}, {mistakes.sum()} in all")
print(f"no order of the flowers makes more than {bound:.0f}")

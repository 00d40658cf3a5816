"""
How many irises can a rectangle label at will?
==============================================

Choose some flowers and let an opponent call each of them yes or no. If a rectangle fits whatever
the opponent says, they are shattered. The largest number for which that is possible somewhere is
the VC dimension. Which four irises are shattered, and is there a fifth?
"""

# %%
# Petals of versicolors, by length and width: the first four that every labeling leaves possible.
from itertools import combinations

import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import ShatteringDisplay

versicolor = np.unique(load_iris().data[50:100, 2:], axis=0)[::2]
four = next(
    np.array(points)
    for points in combinations(versicolor, 4)
    if sx.shatters(sx.Boxes(2), np.array(points)).shattered
)
print(f"four flowers:\n{four}")
print(sx.shatters(sx.Boxes(2), four))

# %%
# All sixteen labelings, each with a rectangle around the flowers that are called yes.
ShatteringDisplay.from_hypotheses(sx.Boxes(2), four)

# %%
# A line cannot do it with these four: the refusal names the labeling, and why.
print(sx.shatters(sx.Hyperplanes(2), four))

# %%
# And no five points in the plane are shattered by rectangles. That is searched and proved here, not
# looked up.
print(sx.vc_dimension(sx.Boxes(2)))

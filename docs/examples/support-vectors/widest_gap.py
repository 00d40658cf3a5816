"""
How wide is the gap between setosa and the other irises?
========================================================

The convex hulls of two separable classes have two nearest points. The middle between them is the
hyperplane with the widest margin: the support vector machine, without any C.
"""

# %%
# Petals of all 150 flowers, in centimeters.
import numpy as np
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.pictures import SupportVectorDisplay

iris = load_iris(as_frame=True)
petals = iris.data[["petal length (cm)", "petal width (cm)"]]
kind = np.where(iris.target == 0, "setosa", "another")
gap = sx.nearest_hull_points(petals[kind == "setosa"], petals[kind == "another"])
print(f"nearest points of the hulls: {gap.points[0].round(3)} and {gap.points[1].round(3)}")
print(f"distance: {gap.distance:.4f} cm")

# %%
# The hard margin: C = ∞ allows no error, and is refused where classes overlap. Here a handful of
# flowers carry it.
hard = sx.SVC(kernel="linear", C=np.inf).fit(petals, kind)
SupportVectorDisplay.from_estimator(hard, petals, kind)

# %%
# Both computations are about the same two points, one by geometry and one by quadratic programming.
width = 2 / np.linalg.norm(hard.coef_)
print(f"width 2/‖w‖ of the SVM: {width:.4f} cm, from {len(hard.support_)} support vectors")
print(f"difference of the two: {abs(width - gap.distance):.0e}")

# %%
# With all four measurements there is more room.
four = sx.nearest_hull_points(iris.data[kind == "setosa"], iris.data[kind == "another"])
print(f"with sepals too: {four.distance:.4f} cm")
print(four.certificate)
